"""An analyst who overfits, and mechanisms that do not let them.

n rows are drawn from a population on a finite universe. The analyst asks random linear
queries about the rows, weighs each by how far its answer lies from the population's, and
asks last whether a cell wins the weighted vote: a query that, if answers are exact, the
rows favour by chance (the boosting attack of Dwork et al. 2015, "The reusable holdout").
An accurate answer is near the POPULATION's (Cohen et al. 2022, Theorems 10 and 12).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxsel import noise, stream
from jaxsel.base import Mechanism, factory
from jaxsel.errors import (
    InputError,
    check_choice,
    check_integer,
    check_params,
    check_positive,
    check_probability_vector,
)
from jaxsel.families.multiplicative_weights.hardt_rothblum import (
    SETTINGS,
    Weights,
    begin,
    checked_settings,
    respond,
)

PROTECTIONS = ("none", "laplace", "gaussian", "weights")
BINS = 40  # of the last query's gap, over [-1, 1]
_ROWS_TAG, _QUERIES_TAG, _NOISE_TAG, _WEIGHTS_TAG = 0xF0, 0xF1, 0xF2, 0xF3


class Analysis(NamedTuple):
    """How one analysis ended.

    Attributes:
      answer: Float[""], the last query's, as released.
      empirical: Float[""], its true mean over the rows.
      population: Float[""], its true mean over the population.
      max_error: Float[""], the largest distance of any answer from the population's.
      updates: Int[""], of the hypothesis; 0 without one.
    """

    answer: Float[Array, ""]
    empirical: Float[Array, ""]
    population: Float[Array, ""]
    max_error: Float[Array, ""]
    updates: Int[Array, ""]


@factory
def adaptive_analysis(rows: int, *, protection: str = "none") -> Mechanism:
    """m random queries and the vote that they suggest.

    Query j is a fair random subset of the cells; the vote of cell x is the sum of
    (answer_j - population_j)(q_j(x) - 1/2), and the last query is the set of cells with a
    positive vote. With exact answers and many queries it is the set of cells that the
    rows hold too often, whose mean over the rows exceeds the population's by their total
    variation distance.

    Args:
      rows: n.
      protection: of the answers: "none", "laplace" or "gaussian" noise of one scale, or
        "weights", the multiplicative weights of Hardt & Rothblum.

    Data: Float["cells"], shares of the population.
    Params: "queries", m >= 1, how many are asked before the last one; and "noise_scale"
      (for noise), or the settings of ``hardt_rothblum``.
    Outcome: Analysis; event: in which of 40 bins of [-1, 1] the last answer minus the
      population's lies.

    Formal guarantees (claims): none of its own.

    Raises:
      InputError: for an unknown protection, or bad shares or settings.
    """
    check_choice("protection", protection, PROTECTIONS)
    rows = check_integer("rows", rows, 1)
    needed = {"none": (), "weights": SETTINGS}.get(protection, ("noise_scale",))

    def prepare(data, params):
        shares = check_probability_vector("the population", data)
        if shares.size < 2:
            raise InputError("the population has 1 cell; it must have 2 or more")
        check_params(params, required=("queries", *needed))
        asked = check_integer("queries", params["queries"], 1)
        settings: dict[str, Any] = {}
        if protection == "weights":
            settings = checked_settings(params)
        elif protection != "none":
            scale = check_positive("noise_scale", params["noise_scale"])
            settings = {"noise_scale": np.float64(scale)}
        total = np.cumsum(shares)
        settings["asked"] = np.int32(min(asked, 2**31 - 2))
        return {"shares": shares, "cdf": total / total[-1]}, settings

    def sample(key: stream.Key, data, params) -> Analysis:
        precision = noise.widest_precision()
        cells = data["shares"].shape[0]
        means = _drawn(stream.fold(key, _ROWS_TAG), data["cdf"], rows)
        subsets = stream.fold(key, _QUERIES_TAG)
        noises = stream.fold(key, _NOISE_TAG)
        protected = stream.fold(key, _WEIGHTS_TAG)

        def answered(weights: Weights | None, query, i):
            truth = query @ means
            if weights is not None:
                reply = respond(protected, weights, query, truth, params, i)
                return reply.weights, reply.answer
            if protection == "none":
                return None, truth
            off = noise.variate(protection, noises, i, precision)
            return None, truth + params["noise_scale"] * off

        def ask(i, seen):
            weights, vote, worst = seen
            query = _subset(subsets, i, cells).astype(vote.dtype)
            weights, answer = answered(weights, query, i)
            error = answer - query @ data["shares"]
            vote = vote + error * (query - 0.5)
            return weights, vote, jnp.maximum(worst, jnp.abs(error))

        weights = begin(protected, cells, params) if protection == "weights" else None
        start = (weights, jnp.zeros_like(means), jnp.zeros_like(means[0]))
        asked = params["asked"]
        weights, vote, worst = lax.fori_loop(jnp.zeros_like(asked), asked, ask, start)
        last = (vote > 0).astype(means.dtype)
        weights, answer = answered(weights, last, asked)
        population = last @ data["shares"]
        return Analysis(
            answer,
            last @ means,
            population,
            jnp.maximum(worst, jnp.abs(answer - population)),
            jnp.int32(0) if weights is None else weights.updates,
        )

    width = 2.0 / BINS
    names = tuple(f"from {width * i - 1:.2f}" for i in range(BINS))
    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=_gap_bin,
        labels=lambda data, params: names,
        law=None,
        resolution=2.0**-53,
    )


def _gap_bin(outcome: Analysis) -> Array:
    gap = outcome.answer - outcome.population
    found = jnp.floor((gap + 1) * (BINS / 2)).astype(jnp.int32)
    return jnp.clip(found, 0, BINS - 1)


def _drawn(key: stream.Key, cdf, rows: int) -> Float[Array, "cells"]:  # noqa: F821
    """Shares of ``rows`` independent rows."""
    numbers = jnp.arange(rows, dtype=jnp.uint32)
    u = noise.uniform(noise.number(key, numbers, noise.widest_precision()))
    # u lies in (0, 1]: the cell whose interval (cdf before, cdf] holds it.
    cell = jnp.searchsorted(cdf, u.astype(cdf.dtype), side="left")
    return jnp.zeros_like(cdf).at[cell].add(1.0 / rows)


def _subset(key: stream.Key, number, cells: int) -> Int[Array, "cells"]:  # noqa: F821
    """A fair random subset: bit by bit from random words."""
    pairs = -(-cells // 64)
    draws = number.astype(jnp.uint32) * jnp.uint32(pairs)
    first, second = stream.words(key, draws + jnp.arange(pairs, dtype=jnp.uint32))
    bits = jnp.concatenate([first, second])[:, None] >> jnp.arange(
        32, dtype=jnp.uint32
    ).reshape(1, 32)
    return (bits & jnp.uint32(1)).reshape(-1)[:cells].astype(jnp.int32)
