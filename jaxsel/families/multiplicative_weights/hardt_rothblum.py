"""Private multiplicative weights of Hardt & Rothblum 2010, as Dwork & Roth 2014 state them.

They stand in Section 4.2 of Dwork & Roth, and in Cohen et al. 2022, Theorem 9 and Section 4.3.1.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxsel.families.multiplicative_weights import parameters
from jaxsel.families.multiplicative_weights.laws import hardt_rothblum_law
from jaxsel.families.multiplicative_weights.universe import (
    PARAMS,
    PATH_QUERIES,
    Interaction,
    Reply,
    event_and_labels,
    new_hypothesis,
    next_query,
    over_queries,
    prepare_universe,
    when,
)
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params

_THRESHOLD_TAG, _QUERY_TAG, _ANSWER_TAG, _ANALYST_TAG = 0xE0, 0xE1, 0xE2, 0xE3
SETTINGS = {
    "threshold": parameters.Threshold,
    "rate": parameters.Rate,
    "threshold_scale": parameters.Scale,
    "query_scale": parameters.Scale,
    "answer_scale": parameters.Scale,
    "max_updates": parameters.Updates,
}
OPTIONAL: dict[str, Any] = {}


class Weights(NamedTuple):
    """The state of the mechanism between queries.

    Attributes:
      level: Float[""], the threshold with its present noise.
      hypothesis: Float["cells"], h, the shares by which queries are answered.
      updates: Int[""], number of updates so far.
    """

    level: Float[Array, ""]
    hypothesis: Float[Array, "cells"]  # noqa: F821
    updates: Int[Array, ""]


def as_arrays(params: Mapping[str, Any]) -> dict[str, Any]:
    """The ``SETTINGS`` among parameters that have been read, as NumPy scalars by name."""
    found: dict[str, Any] = {name: np.float64(params[name]) for name in SETTINGS}
    return found | {"max_updates": np.int32(min(params["max_updates"], 2**31 - 1))}


def _laplace(key: stream.Key, tag: int, draw, scale) -> Float[Array, ""]:
    """Laplace noise number ``draw`` of the stream that ``tag`` names, with this scale."""
    precision = noise.widest_precision()
    return scale * noise.variate("laplace", stream.fold(key, tag), draw, precision)


def _level(key: stream.Key, count, params) -> Float[Array, ""]:
    """The threshold with fresh noise, after ``count`` updates."""
    off = _laplace(key, _THRESHOLD_TAG, count, params["threshold_scale"])
    return params["threshold"] + off


def begin(key: stream.Key, cells: int, params: Mapping[str, Any]) -> Weights:
    """The state before the first query: the uniform hypothesis and the first noisy threshold.

    Args:
      key: of the noises.
      cells: |X|, cells of the universe.
      params: the settings, as ``as_arrays`` makes them.
    """
    level = _level(key, jnp.int32(0), params)
    return Weights(level, jnp.full((cells,), 1.0 / cells, level.dtype), jnp.int32(0))


def respond(key: stream.Key, weights: Weights, query, truth, params: Mapping[str, Any], i) -> Reply:
    """The answer to a query, and the state after it.

    Args:
      key: of the noises.
      weights: the state before the query.
      query: Float["cells"] in [0, 1].
      truth: its true answer q(D).
      params: the settings, as ``as_arrays`` makes them.
      i: the number of the query, from 0.
    """
    guess = query @ weights.hypothesis
    noisy = jnp.abs(truth - guess) + _laplace(key, _QUERY_TAG, i, params["query_scale"])
    fires = (weights.updates < params["max_updates"]) & (noisy >= weights.level)
    value = truth + _laplace(key, _ANSWER_TAG, i, params["answer_scale"])
    below = value < guess

    def update(weights: Weights) -> Weights:
        count = weights.updates + 1
        new = new_hypothesis(weights.hypothesis, query, below, params["rate"])
        return Weights(_level(key, count, params), new, count)

    answer = jnp.where(fires, value, guess)
    return Reply(when(fires, update, weights), answer, fires, below)


@factory
def hardt_rothblum(
    queries: parameters.FewQueries,
    *,
    analyst: parameters.Analyst = "pool",
    event: parameters.Event = "updates",
) -> Mechanism:
    """Answers from the hypothesis h, or from the data where a sparse vector finds h inaccurate.

    If |q(D) - q(h)| + Lap(query_scale) reaches the threshold plus its noise Lap(threshold_scale),
    the answer to query q is v = q(D) + Lap(answer_scale), h is updated, and the threshold gets
    fresh noise. Otherwise the answer is q(h). After ``max_updates`` updates all answers are q(h).

    Args:
      queries: m, the largest number of queries.
      analyst: "pool", "random" or "worst", see ``universe.next_query``.
      event: "updates", the number of updates; or "path", at which queries h was updated and in
        which direction, for at most 8 queries.

    Data: Int["cells"], the number of rows in each cell of the universe.
    Params: "queries", Float["pool cells"]; "reference", Float["cells"]; "asked" (see
      ``universe.prepare_universe``); "threshold", "rate" (the learning rate), "max_updates",
      "threshold_scale", "query_scale" and "answer_scale", as ``settings.hardt_rothblum``
      chooses them.
    Outcome: ``universe.Interaction``.

    Formal guarantees (claims): CL-Thm9.
    """
    event_of, labels = event_and_labels(event, queries)

    def prepare(data, params):
        read = read_params(params, SETTINGS, PARAMS)
        return prepare_universe(data, read, analyst, queries), as_arrays(read)

    def sample(key: stream.Key, data, params) -> Interaction:
        choices = stream.fold(key, _ANALYST_TAG)

        def ask(seen, i):
            weights, outcome = seen
            query = next_query(analyst, data, weights.hypothesis, choices, i)
            truth = query @ data["shares"]
            reply = respond(key, weights, query, truth, params, i)
            digit = jnp.where(reply.fired, jnp.where(reply.below, 1, 2), 0)
            path = outcome.path
            now = Interaction(
                jnp.maximum(outcome.max_error, jnp.abs(reply.answer - truth)),
                reply.weights.updates,
                outcome.rejections,
                outcome.halted | (weights.updates >= params["max_updates"]),
                path * 3 + digit.astype(jnp.int32) if queries <= PATH_QUERIES else path,
                reply.weights.hypothesis,
                outcome.answers.at[i].set(reply.answer),
            )
            return reply.weights, now

        weights = begin(key, data["shares"].shape[0], params)
        zero = jnp.int32(0)
        outcome = Interaction(
            jnp.zeros_like(weights.level),
            zero,
            zero,
            jnp.asarray(False),
            zero,
            weights.hypothesis,
            jnp.zeros((queries,), weights.level.dtype),
        )
        return over_queries(ask, data, (weights, outcome))[1]

    def law(data, params) -> FiniteLaw:
        table, found = prepare(data, params)
        probabilities = hardt_rothblum_law(
            table, found, queries, analyst=analyst, paths=event == "path"
        )
        return FiniteLaw(probabilities, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=event_of,
        labels=labels,
        # The law enumerates all paths of updates.
        law=law if queries <= PATH_QUERIES and analyst != "random" else None,
        resolution=2.0**-53,
    )
