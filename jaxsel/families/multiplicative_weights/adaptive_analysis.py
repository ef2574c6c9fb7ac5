"""An analyst who overfits the data adaptively, and mechanisms that prevent it.

n rows are drawn from a population on a finite universe. The analyst asks random linear
queries about the rows. Every query then votes for its cells, with the error of its answer for
the population as its weight, and the analyst asks last for the set of cells that win. With
exact answers this set overfits: its mean over the rows exceeds that over the population (the
boosting attack of Dwork et al. 2015, "The reusable holdout"). Cohen et al. 2022, Theorems 10
and 12, promise that all answers are near those of the population.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxsel.families.multiplicative_weights import hardt_rothblum, repetitive
from jaxsel.families.multiplicative_weights.parameters import Queries, Scale
from jaxsel.host.errors import InputError, check_finite, check_probability_vector
from jaxsel.kernel import noise, stream
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.domains import choice, whole
from jaxsel.language.signature import read_params

PROTECTIONS = ("none", "laplace", "gaussian", "weights", "repetitive")
_MECHANISMS = {"weights": hardt_rothblum, "repetitive": repetitive}
_BINS = 40  # bins of the last query's gap, over [-1, 1]
_ROWS_TAG, _QUERIES_TAG, _NOISE_TAG, _WEIGHTS_TAG = 0xF0, 0xF1, 0xF2, 0xF3


class Analysis(NamedTuple):
    """The result of one analysis.

    Attributes:
      answer: Float[""], the released answer to the last query.
      empirical: Float[""], the mean of the last query over the rows.
      population: Float[""], the mean of the last query over the population.
      max_error: Float[""], the largest distance of any answer from the mean over the population.
      max_sample_error: Float[""], the largest distance of any answer from the mean over the rows.
      updates: Int[""], how often the hypothesis was updated; 0 if there is none.
    """

    answer: Float[Array, ""]
    empirical: Float[Array, ""]
    population: Float[Array, ""]
    max_error: Float[Array, ""]
    max_sample_error: Float[Array, ""]
    updates: Int[Array, ""]


@factory
def adaptive_analysis(
    rows: Annotated[int, whole("n", at_least=1)],
    *,
    protection: Annotated[str, choice(PROTECTIONS)] = "none",
) -> Mechanism:
    """Asks m random queries about n rows, and a last query that their answers suggest.

    Query j is a uniformly random subset of the cells. The vote of cell x is the sum over j of
    (answer_j - population_j)(q_j(x) - 1/2), and the last query is the set of cells with a
    positive vote. With exact answers and many queries, these are the cells whose share of the
    rows exceeds their share of the population; the means of this query differ by the total
    variation distance between rows and population.

    Args:
      rows: n.
      protection: how answers are protected. "none" answers exactly; "laplace" and "gaussian"
        add noise of one scale; "weights" is the mechanism of Hardt & Rothblum 2010 (Cohen et al.
        2022, Theorem 9), "repetitive" the one with the repetitive sparse vector (Theorem 11).
        Answers of the last two are clipped to [0, 1].

    Data: Float["cells"], the shares of the population, from which n rows are drawn; or a mapping
      with these as "population", and with "table", Int["cells"], n rows that are given.
    Params: "queries", m >= 1, the number of queries before the last one; and "noise_scale"
      (for "laplace" and "gaussian"), or the settings of ``hardt_rothblum`` or ``repetitive``.
    Outcome: ``Analysis``.
    Event: which of 40 equal bins of [-1, 1] holds the last answer minus the last query's mean
      over the population.

    Formal guarantees (claims): CL-Thm9-budget and CL-Thm11-budget with respect to the
      rows; CL-Thm10-accuracy and CL-Thm12-accuracy.

    Raises:
      InputError: for shares that are no probabilities of two or more cells, or a table of
        another number of rows.
    """
    weights_of = _MECHANISMS.get(protection)
    needed = {} if protection == "none" else {"noise_scale": Scale}
    if weights_of is not None:
        needed = weights_of.SETTINGS

    def prepare(data, params):
        given = isinstance(data, Mapping)
        shares = data.get("population", ()) if given else data
        shares = check_probability_vector("the population", shares)
        if shares.size < 2:
            raise InputError("the population has 1 cell; it must have 2 or more")
        optional = None if weights_of is None else weights_of.OPTIONAL
        read = read_params(params, {"queries": Queries, **needed}, optional)
        settings: dict[str, Any] = {name: np.float64(read[name]) for name in needed}
        if weights_of is not None:
            settings = weights_of.as_arrays(read)
        settings["asked"] = np.int32(min(read["queries"], 2**31 - 2))
        if given:
            means = _given_rows(data, shares.size, rows)
            return {"shares": shares, "means": means}, settings
        total = np.cumsum(shares)
        return {"shares": shares, "cdf": total / total[-1]}, settings

    def sample(key: stream.Key, data, params) -> Analysis:
        precision = noise.widest_precision()
        cells = data["shares"].shape[0]
        if "means" in data:
            means = jnp.asarray(data["means"])
        else:
            means = _drawn(stream.fold(key, _ROWS_TAG), data["cdf"], rows)
        subsets = stream.fold(key, _QUERIES_TAG)
        noises = stream.fold(key, _NOISE_TAG)
        protected = stream.fold(key, _WEIGHTS_TAG)

        def answered(weights, query, i):
            truth = query @ means
            if weights_of is not None:
                reply = weights_of.respond(protected, weights, query, truth, params, i)
                return reply.weights, jnp.clip(reply.answer, 0, 1)
            if protection == "none":
                return None, truth
            off = noise.variate(protection, noises, i, precision)
            return None, truth + params["noise_scale"] * off

        def asked_one(seen, query, i):
            """The new state, the answer, and its signed error for the population."""
            weights, worst, off_rows = seen
            weights, answer = answered(weights, query, i)
            error = answer - query @ data["shares"]
            off = jnp.abs(answer - query @ means)
            worst = jnp.maximum(worst, jnp.abs(error))
            return (weights, worst, jnp.maximum(off_rows, off)), answer, error

        def ask(i, seen):
            state, vote = seen
            query = _subset(subsets, i, cells).astype(vote.dtype)
            state, _, error = asked_one(state, query, i)
            return state, vote + error * (query - 0.5)

        weights = None
        if weights_of is not None:
            weights = weights_of.begin(protected, cells, params)
        zero, asked = jnp.zeros_like(means[0]), params["asked"]
        start = ((weights, zero, zero), jnp.zeros_like(means))
        state, vote = lax.fori_loop(jnp.zeros_like(asked), asked, ask, start)
        last = (vote > 0).astype(means.dtype)
        (weights, worst, off_rows), answer, _ = asked_one(state, last, asked)
        return Analysis(
            answer,
            last @ means,
            last @ data["shares"],
            worst,
            off_rows,
            jnp.int32(0) if weights is None else weights.updates,
        )

    width = 2.0 / _BINS
    names = tuple(f"from {width * i - 1:.2f}" for i in range(_BINS))
    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=_gap_bin,
        labels=lambda data, params: names,
        law=None,
        resolution=2.0**-53,
    )


def _gap_bin(outcome: Analysis) -> Array:
    """The bin, from 0, that holds the last answer minus the population's: Int32[""]."""
    gap = outcome.answer - outcome.population
    found = jnp.floor((gap + 1) * (_BINS / 2)).astype(jnp.int32)
    return jnp.clip(found, 0, _BINS - 1)


def _given_rows(data: Mapping[str, Any], cells: int, rows: int) -> np.ndarray:
    """The share of the rows that each cell of a given table holds: Float64["cells"].

    Args:
      data: mapping with "population" and "table".
      cells: how many cells the universe has.
      rows: n, how many rows the table must hold.

    Raises:
      InputError: for other keys, another number of cells or of rows, or parts of rows.
    """
    table = check_finite("the table", data.get("table", ()))
    if set(data) != {"population", "table"} or table.shape != (cells,):
        raise InputError("rows are given by a population and a table, one number each a cell")
    whole = np.all(table >= 0) and np.all(table == np.floor(table))
    if not whole or table.sum() != rows:
        raise InputError(f"the table must hold whole numbers of rows, {rows} in all")
    return table / rows


def _drawn(key: stream.Key, cdf, rows: int) -> Float[Array, "cells"]:  # noqa: F821
    """The share of each cell among ``rows`` rows that are drawn from the population.

    Args:
      key: of the draws.
      cdf: Float["cells"], the cumulative shares of the population.
      rows: n.
    """
    numbers = jnp.arange(rows, dtype=jnp.uint32)
    u = noise.uniform(noise.number(key, numbers, noise.widest_precision()))
    # u lies in (0, 1]: the cell whose interval (cdf before, cdf] holds it.
    cell = jnp.searchsorted(cdf, u.astype(cdf.dtype), side="left")
    return jnp.zeros_like(cdf).at[cell].add(1.0 / rows)


def _subset(key: stream.Key, number, cells: int) -> Int[Array, "cells"]:  # noqa: F821
    """Query ``number`` of the analyst: each cell is 1 or 0 by one fair random bit of its own."""
    pairs = -(-cells // 64)
    draws = number.astype(jnp.uint32) * jnp.uint32(pairs)
    first, second = stream.words(key, draws + jnp.arange(pairs, dtype=jnp.uint32))
    bits = jnp.concatenate([first, second])[:, None] >> jnp.arange(32, dtype=jnp.uint32).reshape(
        1, 32
    )
    return (bits & jnp.uint32(1)).reshape(-1)[:cells].astype(jnp.int32)
