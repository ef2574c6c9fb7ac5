"""Selection and Test, the stateful object of Cohen et al. 2022, Algorithm 1.

``initialise`` draws p, with which every potential run happens, ONCE for an instance. All later
calls, Selection and Test in any adaptive order, share it: that is why c calls cost
(2 c + gamma) epsilon and not c (2 + gamma) epsilon. ``select`` and ``answers_top`` make every
potential run; ``best_rank`` and ``first_top`` draw an outcome of the same law in O(1), given p.

All functions are pure functions of a ``stream.Key`` and have fixed shapes, so that they work inside
jit, vmap, fori_loop and while_loop. Each call of an interaction needs its own stream,
``stream.at_round(key, number)``. Floats are float64 in 64-bit mode (inside ``simulate``).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxsel.families.private_tuning.bases import Draw
from jaxsel.kernel import noise, stream
from jaxsel.kernel.logarithm import log, log1p
from jaxsel.kernel.repetition_sampling import Rank

_RUN_TAG, _DRAW_TAG = 0xB0, 0xB1
_LEAST = 1e-300  # a lower bound of 1 - p chance, to avoid log 0


class State(NamedTuple):
    """The state of an instance, shared by all its calls.

    Attributes:
      log_p: Float[Array, ""], log p <= 0; exact also where p is tiny or near 1.
      p: Float[Array, ""], the chance that a potential run happens; P[p <= x] = x^gamma.
    """

    log_p: Float[Array, ""]
    p: Float[Array, ""]


class Found(NamedTuple):
    """The result of a literal Selection.

    Attributes:
      best: the best run; of order -inf if there was none.
      candidate: Int[Array, ""], its candidate.
      none: Bool[Array, ""], True if no run happened.
      count: Int[Array, ""], number of runs that happened. Not to be released.
    """

    best: Draw
    candidate: Int[Array, ""]
    none: Bool[Array, ""]
    count: Int[Array, ""]


def _number(key: stream.Key, draw) -> noise.Ends:
    return noise.number(key, draw, noise.widest_precision())


def _like(model: Array, value) -> Array:
    """The value as an array of the model's dtype."""
    return jnp.asarray(value).astype(model.dtype)


def initialise(key: stream.Key, gamma) -> State:
    """The state of a new instance: p = U^(1/gamma), as log p = -E/gamma with E exponential.

    Args:
      key: its own stream, used for nothing else.
      gamma: Float, > 0; exponent of the law of p (not a stopping probability).
    """
    waiting = noise.exponential(_number(key, 0))
    log_p = -waiting / _like(waiting, gamma)
    return State(log_p, jnp.exp(log_p))


def runs(key: stream.Key, state: State, draw) -> Bool[Array, ""]:
    """Whether potential run number ``draw`` of the stream ``key`` happens.

    It does so with probability p of the instance.
    """
    return noise.uniform(_number(key, draw)) <= state.p


def log_stay(state: State, chance) -> Float[Array, ""]:
    """The log probability that a potential run does not succeed, log(1 - p chance).

    It succeeds if it happens and its own draw does. Accurate in both tails.

    Args:
      state: of the instance.
      chance: in [0, 1], of success of a run that happens.
    """
    chance = _like(state.p, chance)
    hit = state.p * chance
    # Near p chance = 1 it is computed as (1 - p) + p (1 - chance), a sum of small terms.
    rest = -jnp.expm1(state.log_p) + state.p * (1 - chance)
    never = jnp.where(rest > 0, log(jnp.maximum(rest, _LEAST)), -jnp.inf)
    return jnp.where(hit < 0.5, log1p(-jnp.minimum(hit, 0.5)), never)


def answers_top(key: stream.Key, state: State, top_probability, draw=0) -> Bool[Array, ""]:
    """One Test, which gives the answer of H with probability p, and else bottom; True means top.

    Args:
      key: stream of the call.
      state: of the instance.
      top_probability: chance that H answers top; or a sampled answer of H (a bool).
      draw: number of this Test in the stream.
    """
    happens = runs(stream.fold(key, _RUN_TAG), state, draw)
    top = jnp.asarray(top_probability)
    if top.dtype == bool:
        return happens & top
    uniform = noise.uniform(_number(stream.fold(key, _DRAW_TAG), draw))
    return happens & (uniform <= _like(uniform, top))


def first_top(key: stream.Key, state: State, top_probability) -> Float[Array, ""]:
    """The number, from 1, of the first of many equal Tests that answers top.

    Given p it is geometric, with probability p h of a top.

    Args:
      key: its own stream; use ``stream.at_round`` for the next top.
      state: of the instance.
      top_probability: h in [0, 1], of every Test of the row.

    Returns:
      A whole number as a float, inf if p h = 0. If it exceeds tau, all of tau Tests answer bottom.
    """
    rate = -log_stay(state, top_probability)
    waiting = noise.exponential(_number(key, 0))
    # P[number > n] = (1 - p h)^n; the division by 0 is not selected.
    number = jnp.ceil(waiting / jnp.where(rate > 0, rate, 1))
    return jnp.where(rate > 0, jnp.maximum(number, 1), jnp.inf)


def best_rank(key: stream.Key, state: State, rounds) -> Rank:
    """The tail rank of the best of Bin(rounds, p) runs of a candidate, in O(1).

    The tail rank of a run is the chance that a fresh run is as good. No run has a rank below u with
    probability (1 - p u)^rounds. So the best run has the rank u = (1 - V^(1/rounds))/p for a
    uniform V; if this exceeds 1, no run happened, and ``value`` is 1. ``base.at_rank`` turns
    ``value`` into a run.

    Args:
      key: stream of this candidate in this call.
      state: of the instance.
      rounds: tau, > 0: how many potential runs the candidate has.
    """
    waiting = noise.exponential(_number(key, 0))
    rank = -jnp.expm1(-waiting / _like(waiting, rounds)) / state.p
    return Rank(jnp.minimum(rank, 1), rank > 1)


def select(
    key: stream.Key,
    state: State,
    rounds,
    candidates,
    draw: Callable[[stream.Key, Int[Array, ""]], Draw],
) -> Found:
    """Selection as in Algorithm 1: potential run j of candidate i happens with probability p.

    It loops over all potential runs, in O(1) memory.

    Args:
      key: stream of the call.
      state: of the instance.
      rounds: tau, the number of potential runs: Int, of every candidate, or Int["candidates"].
      candidates: Int, k, how many candidates there are.
      draw: ``(key, i) -> Draw``: one run of candidate i.

    Returns:
      The run of largest ``order`` among those that happened, and of equals the first.
    """
    per_candidate = jnp.asarray(rounds)
    coins, fresh_key = stream.fold(key, _RUN_TAG), stream.fold(key, _DRAW_TAG)
    shape = draw(fresh_key, jnp.int32(0))
    start = Found(
        Draw(jnp.full_like(shape.order, -jnp.inf), *(map(jnp.zeros_like, shape[1:]))),
        jnp.int32(0),
        jnp.asarray(True),
        jnp.int32(0),
    )

    def one_candidate(i, found: Found) -> Found:
        coin_stream, run_stream = (stream.at_round(stage, i) for stage in (coins, fresh_key))
        tau = per_candidate if per_candidate.ndim == 0 else per_candidate[i]

        def one_run(j, found: Found) -> Found:
            happens = runs(coin_stream, state, j)
            fresh = draw(stream.at_round(run_stream, j), i)
            better = happens & (fresh.order > found.best.order)
            return Found(
                jax.tree.map(lambda a, b: jnp.where(better, a, b), fresh, found.best),
                jnp.where(better, i, found.candidate).astype(jnp.int32),
                found.none & ~happens,
                found.count + happens.astype(jnp.int32),
            )

        return lax.fori_loop(0, tau, one_run, found)

    return lax.fori_loop(0, candidates, one_candidate, start)
