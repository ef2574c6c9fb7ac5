"""Samplers in plain JAX, as a user would write them."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.timing import Sampler

_BATCH = 2048


def argmax_of_gumbel(scores: np.ndarray, law: np.ndarray) -> Sampler:
    """argmax(scores + jax.random.gumbel), in batches that stay in cache."""
    levels = jnp.asarray(scores, jnp.float32)

    @jax.jit
    def tallies_of_batch(key):
        noise = jax.random.gumbel(key, (_BATCH, levels.size), jnp.float32)
        winners = jnp.argmax(levels[None] + noise, axis=1)
        return jnp.bincount(winners, length=levels.size)

    keys = itertools.count()

    def run(trials: int) -> np.ndarray:
        key = jax.random.key(next(keys))
        total = jnp.zeros(levels.size, jnp.int32)
        for i in range(trials // _BATCH):
            total = total + tallies_of_batch(jax.random.fold_in(key, i))
        return np.asarray(total, dtype=np.int64)

    return Sampler(run, _BATCH, law)


def masked_loop(base: np.ndarray, mean: float, law: np.ndarray, *, search_once: bool) -> Sampler:
    """Best of K runs, K geometric: every trial loops up to the largest K that may occur.

    Args:
      base: probabilities of the outcomes of one run, best first.
      mean: mean of K; the loop ends at the 1 - 1e-9 quantile of K.
      law: law of the best outcome, with a last entry (0) for no outcome.
      search_once: keep the least uniform and look up its outcome at the end; otherwise every
        run is looked up, as it must be if runs are not inverse cdfs.
    """
    gamma = 1.0 / mean
    longest = int(np.ceil(np.log(1e-9) / np.log1p(-gamma)))
    edges = jnp.asarray(np.cumsum(base)[:-1], jnp.float32)
    batch = 4096

    def look_up(u):
        return jnp.searchsorted(edges, u, side="right").astype(jnp.int32)

    @jax.jit
    def tallies_of_batch(key):
        key_k, key_runs = jax.random.split(key)
        u = jax.random.uniform(key_k, (batch,), jnp.float32, minval=1e-12)
        k = jnp.maximum(jnp.ceil(jnp.log(u) / jnp.log1p(-gamma)), 1).astype(jnp.int32)

        def once(i, best):
            u = jax.random.uniform(jax.random.fold_in(key_runs, i), (batch,), jnp.float32)
            fresh = u if search_once else look_up(u)
            return jnp.where(i < k, jnp.minimum(best, fresh), best)

        start = jnp.full(
            batch, 1.0 if search_once else base.size, jnp.float32 if search_once else jnp.int32
        )
        best = lax.fori_loop(0, longest, once, start)
        return jnp.bincount(look_up(best) if search_once else best, length=law.size)

    keys = itertools.count()

    def run(trials: int) -> np.ndarray:
        key = jax.random.key(next(keys))
        total = np.zeros(law.size, dtype=np.int64)
        for i in range(trials // batch):
            total += np.asarray(tallies_of_batch(jax.random.fold_in(key, i)))
        return total

    return Sampler(run, batch, law)
