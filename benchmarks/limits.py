"""Limit kernels: the least time of a noisy maximum on this machine.

A limit kernel makes the same random words and the same transform as the mechanism, reduced by
a plain maximum: no scores, no index, no tallies. Any additional time of a mechanism is its
overhead.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.timing import Sampler
from jaxsel.kernel import noise, stream

BLOCK = 8192
_UNROLL = 5


class Limit(NamedTuple):
    """A limit kernel.

    Attributes:
      sampler: makes "trials" of which only the running maximum is kept.
      maxima: ``seed -> Float["BLOCK"]``, the maxima of one block, to check their law.
    """

    sampler: Sampler
    maxima: Callable[[int], np.ndarray]


def limit_kernel(law: str, count: int, precision: str = "fast") -> Limit:
    """The largest of ``count`` variates of a noise law; for "exponential", minus the least.

    Args:
      law: noise law, see ``jaxsel.kernel.noise``; an exponential race keeps its least
        variate.
      count: number of variates per trial, a multiple of two.
      precision: precision of the draws.
    """
    variates = noise.variates(law, precision)
    num_hashes = count // noise.draws_per_hash(precision)
    sign = -1 if law == "exponential" else 1

    def one(key) -> Any:
        def visit(hash_number, best):
            for variate in variates(key, hash_number):
                best = jnp.maximum(best, sign * variate)
            return best

        start = jnp.float32(-jnp.inf)
        return lax.fori_loop(0, num_hashes, visit, start, unroll=_UNROLL)

    @jax.jit
    def run(seed, blocks):
        def body(block, best):
            lane = block.astype(jnp.uint32) * BLOCK + jnp.arange(BLOCK, dtype=jnp.uint32)
            key = stream.trial_key(seed, 0, 0, 0, lane)
            values = jax.vmap(lambda lane: one(key._replace(lane=lane)))(key.lane)
            return jnp.maximum(best, values)

        start = jnp.full(BLOCK, -jnp.inf, jnp.float32)
        return lax.fori_loop(0, blocks, body, start)

    seeds = itertools.count(1)
    return Limit(
        Sampler(
            lambda trials: run(np.uint32(next(seeds)), trials // BLOCK).block_until_ready(), BLOCK
        ),
        lambda seed: np.asarray(run(np.uint32(seed), 1)),
    )
