"""Random choices of a search besides its noise: the seed, K, and a candidate for every run."""

import functools
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.host.errors import InputError, check_integer
from jaxsel.kernel import noise, stream
from jaxsel.repetitions import quantile
from jaxsel.training.plan import SearchPlan

_COUNT_TAG, _CHOICE_TAG = 0xC0, 0xC1
# Uniform numbers are drawn in blocks of this size, so that the program does not reveal K.
_BLOCK = 64
_LARGEST_SEED = 2**64 - 1


class Secrets(NamedTuple):
    """The choices of a search that depend on the seed alone.

    Attributes:
      count: K.
      choices: index of the candidate of each run.
    """

    count: int
    choices: tuple[int, ...]


def fresh_seed() -> int:
    """A seed from the operating system. A seed that others know gives no privacy."""
    return secrets.randbits(64)


def check_seed(seed: int) -> int:
    """Returns the seed of a search if it is valid.

    Raises:
      InputError: unless it is a whole number in [0, 2**64).
    """
    seed = check_integer("seed", seed, 0)
    if seed > _LARGEST_SEED:
        # The message does not repeat the number, which was meant to be secret.
        raise InputError(f"the seed is above 2**64 - 1 = {_LARGEST_SEED}")
    return seed


@functools.partial(jax.jit, static_argnames="tag")
def _numbers(low, high, tag: int, block) -> noise.Ends:
    draws = block * jnp.uint32(_BLOCK) + jnp.arange(_BLOCK, dtype=jnp.uint32)

    def one(low, high):
        key = stream.fold(stream.trial_key(low, high, 0, 0, 0), tag)
        return noise.number(key, draws, "tail")

    return jax.vmap(one)(low, high)


def _uniforms(seeds: np.ndarray, tag: int, count: int) -> np.ndarray:
    """Float64["seeds numbers"] in (0, 1], exact to 2**-65 near 0; at least ``count``."""
    low = (seeds & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    high = (seeds >> np.uint64(32)).astype(np.uint32)
    found = []
    for block in range(max(1, -(-count // _BLOCK))):
        ends = _numbers(low, high, tag, np.uint32(block))
        upper, t = (np.asarray(part) for part in ends)
        t = t.astype(np.float64)
        found.append(np.where(upper, 1.0 - t, t))
    return np.concatenate(found, axis=1)


def draw_secrets(plan: SearchPlan, seeds: Sequence[int]) -> list[Secrets]:
    """Draws K by inverting its distribution function, and a uniform candidate for each run.

    Args:
      plan: of the search.
      seeds: one seed in [0, 2**64) for each search.
    """
    words = np.array([check_seed(seed) for seed in seeds], dtype=np.uint64)
    counts = [quantile(plan.repetitions, float(u)) for u in _uniforms(words, _COUNT_TAG, 1)[:, 0]]
    size = len(plan.candidates)
    picks = _uniforms(words, _CHOICE_TAG, max(counts, default=0))
    choices = np.minimum((picks * size).astype(int), size - 1)
    return [
        Secrets(count, tuple(row[:count].tolist()))
        for count, row in zip(counts, choices, strict=True)
    ]
