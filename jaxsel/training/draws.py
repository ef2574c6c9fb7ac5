"""What a search draws beside its noise: the seed, K, and a candidate for every run."""

import functools
import secrets
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel import noise, stream
from jaxsel.errors import InputError, check_integer
from jaxsel.repetitions import quantile
from jaxsel.training.plan import SearchPlan

_COUNT_TAG, _CHOICE_TAG = 0xC0, 0xC1
# Uniform numbers a call, however many are needed: the program must not tell K.
_BLOCK = 64
_LARGEST_SEED = 2**64 - 1


class Secrets(NamedTuple):
    """The choices of a search that depend on the seed alone.

    Attributes:
      count: K.
      choices: number of the candidate of each run.
    """

    count: int
    choices: tuple[int, ...]


def fresh_seed() -> int:
    """A seed from the operating system. A seed that others know gives no privacy."""
    return secrets.randbits(64)


def check_seed(seed: int) -> int:
    """The seed of a search.

    Raises:
      InputError: unless it is a whole number in [0, 2**64).
    """
    seed = check_integer("seed", seed, 0)
    if seed > _LARGEST_SEED:
        # The number itself is not repeated: it was meant to be secret.
        raise InputError(f"the seed is above 2**64 - 1 = {_LARGEST_SEED}")
    return seed


@functools.partial(jax.jit, static_argnames="tag")
def _numbers(low, high, tag: int, block) -> noise.Ends:
    key = stream.fold(stream.trial_key(low, high, 0, 0, 0), tag)
    draws = block * jnp.uint32(_BLOCK) + jnp.arange(_BLOCK, dtype=jnp.uint32)
    return noise.number(key, draws, "tail")


def _uniforms(seed: int, tag: int, count: int) -> np.ndarray:
    """Float64["count"] in (0, 1], exact to 2**-65 near 0."""
    words = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
    found = []
    for block in range(-(-count // _BLOCK)):
        upper, t = (
            np.asarray(part) for part in _numbers(*words, tag, np.uint32(block))
        )
        t = t.astype(np.float64)
        found.append(np.where(upper, 1.0 - t, t))
    return np.concatenate(found)[:count] if found else np.zeros(0)


def draw_secrets(plan: SearchPlan, seed: int) -> Secrets:
    """K by the inverse of its distribution function, and a uniform candidate a run."""
    seed = check_seed(seed)
    u = float(_uniforms(seed, _COUNT_TAG, 1)[0])
    count = quantile(plan.repetitions, u)
    size = len(plan.candidates)
    picks = _uniforms(seed, _CHOICE_TAG, count)
    choices = np.minimum((picks * size).astype(int), size - 1)
    return Secrets(count, tuple(choices.tolist()))
