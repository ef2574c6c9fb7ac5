"""Runs of equal queries, and the jump to the first noisy query above the threshold.

Given the threshold's noise, the answers are independent. The first query above is found from the
hazards -log P[below] and one standard exponential number: it is the query at which the sum of the
hazards reaches this number. Adjacent equal queries form a run and are summed at once, so that the
cost depends on the number of runs only.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxsel.families.sparse_vector.parameters import Threshold
from jaxsel.host.errors import InputError, check_finite, check_integer
from jaxsel.kernel import rows
from jaxsel.kernel.logarithm import log1p
from jaxsel.language.signature import validated

_MAX_QUERIES = 2**24


class Runs(NamedTuple):
    """The queries in order, as runs of equal ones.

    Attributes:
      levels: Float[np.ndarray, "runs"], answer minus threshold.
      lengths: Int[np.ndarray, "runs"], number of successive queries with this level.
    """

    levels: np.ndarray
    lengths: np.ndarray

    @property
    def expanded(self) -> np.ndarray:
        """Float[np.ndarray, "queries"]: the level of each query."""
        return np.repeat(self.levels, self.lengths)


@validated
def read_runs(data, threshold: Threshold) -> Runs:
    """Reads queries, which are given as a list of answers, or as runs of equal ones.

    Args:
      data: Float["queries"], or a mapping with "answers", Float["runs"], and "lengths",
        Int["runs"].
      threshold: subtracted from the answers.

    Raises:
      InputError: for data of another form, or more than 2**24 queries.
    """
    lengths: object = None
    if isinstance(data, dict):
        if set(data) != {"answers", "lengths"}:
            raise InputError(
                'queries are a list of answers, or a mapping with "answers" and "lengths"'
            )
        data, lengths = data["answers"], data["lengths"]
    answers = check_finite("answers", data)
    if answers.ndim != 1:
        raise InputError("answers must be one list of numbers, a number for each query")
    counts = np.ones(answers.size) if lengths is None else np.asarray(lengths)
    if counts.shape != answers.shape:
        raise InputError(
            f"there are {answers.size} answers and {counts.size} lengths; each run has one of both"
        )
    whole = np.array([check_integer("length", each, 1) for each in counts.tolist()])
    if whole.sum() > _MAX_QUERIES:
        raise InputError(f"there are {whole.sum()} queries; at most 2**24 are simulated")
    return Runs(answers - threshold, whole)


class Hit(NamedTuple):
    """The first query above the noisy threshold.

    Attributes:
      run: Int[""], in which run it is; the number of runs if there is none.
      step: Int[""], its place in that run, from 1, among the queries that were left.
    """

    run: Int[Array, ""]
    step: Int[Array, ""]


def hazards(
    threshold: Float[Array, ""],
    levels: Float[Array, "runs"],  # noqa: F821
    scale: Float[Array, ""],
) -> Float[Array, "runs"]:  # noqa: F821
    """Minus the log probability that one query of each run is answered "below".

    Accurate in both tails. Without query noise (scale 0) it is 0 for levels below the threshold's
    noise, and infinite for others.

    Args:
      threshold: the threshold's noise, with which the noisy levels are compared.
      levels: answer minus threshold, of each run.
      scale: of the queries' Laplace noise.
    """
    noised = scale > 0.0

    def of(level):
        distance = threshold - level
        sure = jnp.where(distance > 0.0, jnp.inf, -jnp.inf)
        gap = jnp.where(noised, distance / jnp.where(noised, scale, 1.0), sure)
        half = 0.5 * jnp.exp(-jnp.abs(gap))
        return jnp.where(gap > 0.0, -log1p(-half), jnp.abs(gap) + math.log(2.0))

    return rows.by_row(of, levels)


def first_hit(
    exponential: Float[Array, ""],
    hazard: Float[Array, "runs"],  # noqa: F821
    left: Int[Array, "runs"],  # noqa: F821
) -> Hit:
    """The first query at which the cumulative hazard reaches an exponential number.

    Args:
      exponential: a standard exponential number.
      hazard: of one query of each run, from ``hazards``.
      left: number of queries of each run that have not been asked yet.
    """
    count = left.astype(hazard.dtype)
    part = jnp.where(left > 0, count * hazard, 0.0)
    total = jnp.cumsum(part)
    run = jnp.sum(total < exponential, dtype=jnp.int32)
    inside = jnp.minimum(run, jnp.int32(hazard.shape[0] - 1))
    before = jnp.where(inside > 0, total[jnp.maximum(inside - 1, 0)], 0.0)
    step = jnp.ceil((exponential - before) / hazard[inside])
    step = jnp.clip(step, 1.0, count[inside])
    return Hit(run, step.astype(jnp.int32))
