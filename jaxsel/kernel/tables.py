"""Samples a finite law by table look-up: one hash per draw, no loop over outcomes."""

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

    A cell gives its own outcome for 64-bit fractions below its threshold, and otherwise the
    alias outcome, whose index is stored in the last bits of the threshold. Probabilities
    are resolved to 2**-63, and two look-ups are enough.

    Attributes:
      high, low: UInt32["n"], the halves of ``threshold``.
    """

    high: np.ndarray
    low: np.ndarray

    @property
    def threshold(self) -> np.ndarray:
        """UInt64["n"]: cell i gives its own outcome for fractions below it."""
        return (self.high.astype(np.uint64) << np.uint64(32)) | self.low

    @property
    def other(self) -> np.ndarray:
        """Int32["n"]: the alias outcome of each cell."""
        return (self.low & np.uint32(_mask(self.low.size))).astype(np.int32)


def _mask(count: int) -> int:
    """A mask of the bits that numbers below ``count`` occupy."""
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
    # The probability of each cell given a random word; exactly 1/n only for powers of two.
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
    """Draws an outcome from an alias table: the index that two random words select.

    The first word picks the cell; the second, and the remainder of the first, decide within
    it. All arithmetic is in 32 bits: with 64 bits XLA on CPU has vectors of half the
    length.
    """
    count = table.low.shape[-1]
    cell, rest = _multiply(first, count)
    high, low = look_up.pick(table.high, cell), look_up.pick(table.low, cell)
    own = (second < high) | ((second == high) & (rest < low))
    return jnp.where(own, cell, low & jnp.uint32(_mask(count))).astype(jnp.int32)


@functools.lru_cache(maxsize=256)  # cached, so that a mechanism has one compiled program
def from_law(mechanism: Mechanism) -> Mechanism:
    """A mechanism with the same law over events, sampled from its exact law.

    A trial takes one hash and two look-ups, whatever the mechanism costs. Outcome:
    Int[Array, ""], the event.

    Raises:
      InputError: if the mechanism has no exact law.

    Example:
        >>> import jaxsel
        >>> literal = jaxsel.noisy_max()
        >>> fast = jaxsel.from_law(literal)
        >>> tallies = jaxsel.simulate(fast, [1, 1], {"epsilon": 1}, trials=100_000)
        >>> print(tallies.frequencies().value.round(1))
        [[0.5 0.5]]
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
