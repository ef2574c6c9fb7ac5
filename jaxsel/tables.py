"""Sampling a finite law by table look-up: one hash a draw, no loop over outcomes."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxsel import stream
from jaxsel.base import FiniteLaw, Mechanism
from jaxsel.errors import InputError, check_probability_vector

__all__ = ["Alias", "alias_sample", "alias_table", "from_law"]

RESOLUTION = 2.0**-63


class Alias(NamedTuple):
    """Walker's alias table (Vose 1991).

    Attributes:
      threshold: UInt64["n"]: cell i keeps its own outcome for fractions below it.
      other: Int32["n"]: the outcome of the rest of the cell.
    """

    threshold: np.ndarray
    other: np.ndarray


def alias_table(probabilities) -> Alias:
    """Builds the table on the host; thresholds are exact to 2**-53 of a cell."""
    law = check_probability_vector("probabilities", probabilities)
    count = law.size
    mass = law * (count / law.sum())
    other = np.arange(count, dtype=np.int32)
    keep = np.ones(count)
    small = [i for i in range(count) if mass[i] < 1.0]
    large = [i for i in range(count) if mass[i] >= 1.0]
    while small and large:
        low, high = small.pop(), large[-1]
        keep[low], other[low] = mass[low], high
        mass[high] -= 1.0 - mass[low]
        if mass[high] < 1.0:
            small.append(large.pop())
    scaled = np.minimum(keep, 1.0 - 2.0**-53) * 2.0**64
    threshold = np.where(keep >= 1.0, np.uint64(2**64 - 1), scaled.astype(np.uint64))
    return Alias(threshold, other)


def alias_sample(table: Alias, first, second) -> Int[Array, ""]:
    """The outcome of two random words; needs JAX's 64-bit mode.

    The 64-bit number made of the words is multiplied by n in full: the integer part is
    the cell, the 64-bit fraction decides within it.
    """
    count = jnp.uint64(table.threshold.shape[0])
    low = second.astype(jnp.uint64) * count
    high = first.astype(jnp.uint64) * count + (low >> jnp.uint64(32))
    cell = (high >> jnp.uint64(32)).astype(jnp.int32)
    fraction = (high << jnp.uint64(32)) | (low & jnp.uint64(0xFFFFFFFF))
    own = fraction < table.threshold[cell]
    return jnp.where(own, cell, table.other[cell])


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
        event=_identity,
        labels=mechanism.labels,
        law=mechanism.law,
        resolution=RESOLUTION,
    )


def _identity(outcome):
    return outcome
