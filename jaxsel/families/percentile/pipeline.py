"""Finds a threshold privately, then draws until a run reaches it.

It is Liu & Talwar 2019, Theorem 4.7 (and Theorem 1.4): Algorithm 5, then Algorithm 1. The base is
one algorithm, or every run is of a random one of K candidates.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxsel.families.percentile import parameters
from jaxsel.families.percentile.find_threshold import prepare_search, search_thresholds
from jaxsel.families.percentile.laws import threshold_grid
from jaxsel.families.percentile.pipeline_laws import (
    Pipeline,
    grid_shares,
    pipeline_law,
    run_outcomes,
)
from jaxsel.families.percentile.queries import Queries
from jaxsel.families.percentile.settings import read_test
from jaxsel.kernel import look_up, noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params

_SEARCH_TAG, _DRAW_TAG = 0xC1, 0xC2
_OWN = {
    "thresholds": parameters.FewThresholds,
    "stop_probability": parameters.Stop,
    "max_draws": parameters.Draws,
}


class Released(NamedTuple):
    """The result of the two algorithms.

    Attributes:
      label: Int[Array, ""], the released outcome; one past the last if nothing is released.
      threshold: Int[Array, ""], the threshold found; one past the last if none is.
      calls: Float[Array, ""], number of runs of the base; not released.
    """

    label: Int[Array, ""]
    threshold: Int[Array, ""]
    calls: Float[Array, ""]


def _settings(params, method: str) -> Pipeline:
    """The settings among a mechanism's parameters, checked; p_1, which is not needed, is NaN."""
    test = read_test(params, method, tuple(_OWN))
    own = read_params({name: params[name] for name in _OWN}, _OWN)
    return Pipeline(test=test, least_share=np.nan, **own)


@factory
def percentile_pipeline(*, method: parameters.CountMethod = "binomial") -> Mechanism:
    """Releases a run that reaches a threshold which Algorithm 5 has found.

    Args:
      method: "literal" makes every run of both algorithms; "binomial" draws directly how many
        of the N runs reach each threshold, how many runs Algorithm 1 makes, and its result.

    Data: {"scores", "probabilities"} of the outcomes of one run: scores, Float["outcomes"], in
      [0, 1]; probabilities, Float["outcomes"], or Float["candidates outcomes"] for K candidates.
    Params: ``pipeline_params(percentile.pipeline_laws.pipeline(...))``.
    Outcome: ``Released``. Event: the label, candidate by candidate; "none" comes last.

    Formal guarantees (claims): LT-Thm4.7(a) to (c), LT-Thm4.7(a)-sharp.

    Raises:
      InputError: for scores outside [0, 1], bad probabilities, or more runs than "literal" makes.
    """

    def prepare(data, params):
        settings = _settings(params, method)
        outcomes = run_outcomes(data["scores"], data["probabilities"])
        scores = outcomes.scores
        shares = grid_shares(outcomes, settings.thresholds)
        queries = Queries(shares, {"share": shares}, ())
        search, test = prepare_search(queries, settings.test)
        order = np.argsort(-scores, kind="stable")
        mass = outcomes.probabilities[order]
        accepted = scores[order] >= threshold_grid(settings.thresholds)[:, None] - 1e-12
        # Best outcomes first, and for each threshold the probability mass that reaches it.
        good = np.append(np.where(accepted, mass, 0.0).sum(axis=1), 0.0)
        stop = settings.stop_probability
        with np.errstate(divide="ignore"):
            log_again = np.log1p(-np.minimum(good, 1.0)) + np.log1p(-stop)
        # A run is the last one if it is good or the coin says stop. It is then good with this
        # probability.
        passes = good / -np.expm1(log_again)
        prepared = search | {
            "label": np.append(order, scores.size).astype(np.int32),
            "at_least": np.cumsum(mass),
            "last": np.append(accepted.sum(axis=1), 1).astype(np.int32) - 1,
            "good": good,
            "passes": passes,
            "log_again": log_again,
        }
        return prepared, test | {
            "base": queries.params,
            "stop": np.float64(stop),
            "max_draws": np.float64(settings.max_draws),
        }

    def sample(key, data, params) -> Released:
        search_key, draw_key = (stream.fold(key, t) for t in (_SEARCH_TAG, _DRAW_TAG))
        found = search_thresholds(None, method, search_key, data, params)
        draw = _draw_one_by_one if method == "literal" else _draw
        return draw(draw_key, found, data, params)

    def labels(data, params):
        del params
        return (*run_outcomes(data["scores"], data["probabilities"]).names, "none")

    def law(data, params) -> FiniteLaw:
        exact = pipeline_law(data["scores"], data["probabilities"], _settings(params, method))
        return FiniteLaw(exact, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=lambda outcome: outcome.label,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _draw_one_by_one(key: stream.Key, found, data, params) -> Released:
    """Algorithm 1 at the threshold found, run by run.

    Args:
      key: of its runs.
      found: the ``Halt`` of Algorithm 5.
      data, params: as ``prepare`` makes them.
    """
    at_least, labels = jnp.asarray(data["at_least"]), jnp.asarray(data["label"])
    last = jnp.asarray(data["last"])[found.query]
    none_found = found.query == jnp.asarray(data["share"]).shape[-1]

    def go_on(state):
        count, ended, _ = state
        return ~ended & (count < params["max_draws"])

    def once(state):
        count, _, _ = state
        run = stream.at_round(key, count.astype(jnp.int64))
        rank = noise.uniform(noise.number(run, 0)) * at_least[-1]
        position = look_up.position(at_least, rank)
        good = (position <= last) & (position < at_least.size)
        stopped = noise.uniform(noise.number(run, 1)) <= params["stop"]
        at = jnp.where(good, position, at_least.size)
        return count + 1.0, good | stopped, at

    start = (jnp.float64(0.0), none_found, jnp.int32(at_least.size))
    count, _, at = lax.while_loop(go_on, once, start)
    return Released(labels[at], found.query, found.calls + count)


def _draw(key: stream.Key, found, data, params) -> Released:
    """As ``_draw_one_by_one``, but the number of runs and the last run are drawn directly."""
    good, passes, log_again, last = (
        look_up.pick(data[name], found.query) for name in ("good", "passes", "log_again", "last")
    )
    # Every run is the last one with one probability, so that their number is geometric.
    count = jnp.maximum(jnp.ceil(noise.exponential(noise.number(key, 0)) / -log_again), 1.0)
    passed = noise.uniform(noise.number(key, 1)) <= passes
    none_found = found.query == jnp.asarray(data["share"]).shape[-1]
    released = passed & (count <= params["max_draws"]) & (good > 0.0) & ~none_found
    # The tail rank of a good run is uniform below the probability of being good.
    rank = noise.uniform(noise.number(key, 2)) * good
    position = look_up.position(data["at_least"], rank)
    position = jnp.minimum(position, last)
    labels = jnp.asarray(data["label"])
    label = jnp.where(released, look_up.pick(labels, jnp.maximum(position, 0)), labels[-1])
    draws = jnp.where(none_found, 0.0, jnp.minimum(count, params["max_draws"]))
    return Released(label, found.query, found.calls + draws)
