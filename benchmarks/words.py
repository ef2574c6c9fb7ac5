"""Goal 1: random words per second, against ``jax.random.bits``."""

import itertools

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.results import GoalResult, at_least, at_most
from benchmarks.timing import Sampler, Settings, rates, ratio, time_all
from jaxsel.kernel import stream

_BLOCK = 2**15


def measure(settings: Settings) -> list[GoalResult]:
    """Speed of the words of ``jaxsel.kernel.stream``, and their equality bit for bit."""
    times = time_all({"stream": _stream(), "jax.random.bits": _builtin()}, settings)
    detail = rates(times, "stream", "jax.random.bits")
    compared, differing = _differing_bits()
    return [
        at_least(
            1,
            "random words / jax.random.bits",
            ratio(times, "jax.random.bits", "stream"),
            2.0,
            detail,
        ),
        at_most(
            1,
            "words that differ from jax.extend.random.threefry_2x32",
            differing,
            0,
            f"{compared} words compared",
            "words",
        ),
    ]


def _consumer(use, width: int) -> Sampler:
    """A sampler that folds all blocks into one array: every word is used, none is stored."""

    @jax.jit
    def run(seed, blocks):
        start = jnp.zeros(width, jnp.uint32)
        return lax.fori_loop(0, blocks, lambda i, total: use(seed, i, total), start)

    seeds = itertools.count()
    return Sampler(
        lambda words: run(np.uint32(next(seeds)), words // _BLOCK).block_until_ready(), _BLOCK
    )


def _stream() -> Sampler:
    lane = jnp.arange(_BLOCK // 2, dtype=jnp.uint32)

    def use(seed, i, total):
        key = stream.Key(seed, jnp.uint32(0), lane)
        first, second = stream.words(key, i)
        return (total ^ first) + second

    return _consumer(use, _BLOCK // 2)


def _builtin() -> Sampler:
    def use(seed, i, total):
        key = jax.random.fold_in(jax.random.key(seed), i)
        return total ^ jax.random.bits(key, (_BLOCK,), jnp.uint32)

    return _consumer(use, _BLOCK)


def _differing_bits(count: int = 2**16) -> tuple[int, int]:
    random = np.random.default_rng(0)
    differing = 0
    for _ in range(8):
        key = random.integers(0, 2**32, 2, dtype=np.uint32)
        counter = random.integers(0, 2**32, count, dtype=np.uint32)
        ours = stream.threefry_2x32(*key, *np.split(counter, 2))
        theirs = jax.extend.random.threefry_2x32(jnp.asarray(key), jnp.asarray(counter))
        differing += int(np.sum(np.concatenate(ours) != np.asarray(theirs)))
    return 8 * count, differing
