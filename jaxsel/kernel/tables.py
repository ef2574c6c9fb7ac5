"""Sampling a finite law by table look-up: one hash a draw, no loop over outcomes."""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt32

from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.kernel import look_up, stream
from jaxsel.language.base import FiniteLaw, Mechanism, outcome_itself

RESOLUTION = 2.0**-63
_WORD = 2**32


class Alias(NamedTuple):
    """Walker's alias table (Vose 1991), for two 32-bit random words.

    A cell keeps its own outcome for 64-bit fractions below its threshold; the last bits
    of the threshold name the outcome of the rest. Together a threshold and the number of
    cells resolve 2**-63, and two look-ups are enough.

    Attributes:
      high, low: UInt32["n"], the halves of ``threshold``.
    """

    high: np.ndarray
    low: np.ndarray

    @property
    def threshold(self) -> np.ndarray:
        """UInt64["n"]: cell i keeps its own outcome for fractions below it."""
        return (self.high.astype(np.uint64) << np.uint64(32)) | self.low

    @property
    def other(self) -> np.ndarray:
        """Int32["n"]: the outcome of the rest of each cell."""
        return (self.low & np.uint32(_mask(self.low.size))).astype(np.int32)


def _mask(count: int) -> int:
    """The bits that the numbers below ``count`` take."""
    return 2 ** (count - 1).bit_length() - 1


def alias_table(probabilities) -> Alias:
    """Builds the table on the host; probabilities are exact to 2**-53 of a cell.

    Raises:
      InputError: unless given at most 2**31 probabilities that sum to 1.
    """
    law = check_probability_vector("probabilities", probabilities)
    count = law.size
    if count > 2**31:
        raise InputError(f"a law of {count} outcomes is too large; at most 2**31")
    # What a random word gives each cell; not quite 1/n unless n is a power of two.
    edges = (np.arange(count + 1, dtype=np.int64) * _WORD + count - 1) // count
    cell = np.diff(edges) / _WORD
    mass = law / law.sum()
    other = np.arange(count, dtype=np.int32)
    keep = np.ones(count)
    small = [i for i in range(count) if mass[i] < cell[i]]
    large = [i for i in range(count) if mass[i] >= cell[i]]
    while small and large:
        low, high = small.pop(), large[-1]
        keep[low], other[low] = mass[low] / cell[low], high
        mass[high] -= cell[low] - mass[low]
        if mass[high] < cell[high]:
            small.append(large.pop())
    scaled = np.minimum(keep, 1.0 - 2.0**-53) * 2.0**64
    threshold = np.where(keep >= 1.0, np.uint64(2**64 - 1), scaled.astype(np.uint64))
    high = (threshold >> np.uint64(32)).astype(np.uint32)
    low = threshold.astype(np.uint32) & ~np.uint32(_mask(count))
    return Alias(high, low | other.astype(np.uint32))


def _multiply(word: UInt32[Array, "..."], count: int) -> tuple[Array, Array]:
    """The high and low 32 bits of word times count, in 32-bit arithmetic."""
    factor = jnp.uint32(count)
    upper, lower = word >> 16, word & 0xFFFF
    if count < 2**16:
        high = (upper * factor + ((lower * factor) >> 16)) >> 16
    else:
        above, below = jnp.uint32(count >> 16), jnp.uint32(count & 0xFFFF)
        middle = upper * below + ((lower * below) >> 16)
        cross = lower * above + (middle & 0xFFFF)
        high = upper * above + (middle >> 16) + (cross >> 16)
    return high, word * factor


def alias_sample(table: Alias, first, second) -> Int[Array, "..."]:
    """The outcome of two random words.

    The first word picks the cell; the second, and what is left of the first, decide
    within it. In 32-bit arithmetic throughout: XLA on CPU halves its vectors for 64 bits.
    """
    count = table.low.shape[-1]
    cell, rest = _multiply(first, count)
    high, low = look_up.pick(table.high, cell), look_up.pick(table.low, cell)
    own = (second < high) | ((second == high) & (rest < low))
    return jnp.where(own, cell, low & jnp.uint32(_mask(count))).astype(jnp.int32)


@functools.lru_cache(maxsize=256)  # one object a mechanism, hence one program
def from_law(mechanism: Mechanism) -> Mechanism:
    """A mechanism with the same law over events, sampled from its exact law.

    The shortcut of shortcuts: one hash and two look-ups a trial, whatever the mechanism
    costs. Outcome: Int[Array, ""], the event.

    Raises:
      InputError: if the mechanism has no exact law.
    """
    if mechanism.law is None:
        raise InputError(f"{mechanism.name} has no exact law to sample from")
    exact = mechanism.law

    def prepare(data, params):
        law: FiniteLaw = exact(data, params)
        return alias_table(law.probabilities), ()

    def sample(key: stream.Key, data, params):
        del params
        return alias_sample(data, *stream.words(key, 0))

    return Mechanism(
        name=f"from_law({mechanism.name})",
        prepare=prepare,
        sample=sample,
        event=outcome_itself,
        labels=mechanism.labels,
        law=mechanism.law,
        resolution=RESOLUTION,
    )
