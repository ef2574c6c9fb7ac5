"""Runs of equal queries, and the jump to the first noisy query above the threshold.

Given the threshold's noise, each query is above with a probability of its own, and the
number of queries below before the first one above is that of a process with hazard
-log P[below] at each. One exponential finds it, however many queries there are: it falls
in the run where the summed hazard reaches it. Equal neighbouring queries are one run.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxsel.host.errors import InputError, check_finite, check_integer, check_interval
from jaxsel.kernel import rows
from jaxsel.kernel.logarithm import log1p

_MAX_QUERIES = 2**24


class Runs(NamedTuple):
    """Queries in order.

    Attributes:
      levels: Float[np.ndarray, "runs"], answer minus threshold.
      lengths: Int[np.ndarray, "runs"], how many queries in a row have this level.
    """

    levels: np.ndarray
    lengths: np.ndarray

    @property
    def expanded(self) -> np.ndarray:
        """Float[np.ndarray, "queries"]: the level of each query."""
        return np.repeat(self.levels, self.lengths)


def read_runs(data, threshold: float) -> Runs:
    """Reads queries given as a list of answers, or as runs.

    Args:
      data: Float["queries"], or a mapping with "answers" and "lengths", a run each.
      threshold: subtracted from the answers.

    Raises:
      InputError: for anything else, or more than 2**24 queries.
    """
    threshold = check_interval("threshold", threshold, -np.inf, np.inf)
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
      step: Int[""], how many queries of that run were asked, this one included.
    """

    run: Int[Array, ""]
    step: Int[Array, ""]


def hazards(
    threshold: Float[Array, ""],
    levels: Float[Array, "runs"],  # noqa: F821
    scale: Float[Array, ""],
) -> Float[Array, "runs"]:  # noqa: F821
    """-log P[level + scale Laplace < threshold], exact in both tails.

    Without query noise (scale 0): 0 below the threshold, infinite from it on.
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
    """Where the summed hazard of the queries left reaches the exponential.

    Args:
      exponential: standard exponential.
      hazard: of one query of each run.
      left: how many queries of each run are still to be asked.
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
