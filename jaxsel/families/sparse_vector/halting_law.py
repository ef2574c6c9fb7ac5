"""The exact law of the query at which a sparse vector with Laplace noise halts."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from jaxsel.accounting.numerics.quadrature import panels

_REACH = 45.0  # scales of Laplace noise, beyond which the tail is below 1e-19


def laplace_difference_tail(
    t: npt.ArrayLike, query_scale: float, threshold_scale: float
) -> np.ndarray:
    """The chance that the noise of a query exceeds that of the threshold by more than t.

    Args:
      t: any shape.
      query_scale, threshold_scale: of the two Laplace noises, not equal.
    """
    t = np.asarray(t, dtype=np.float64)
    a, b = query_scale, threshold_scale
    far = a * a * np.exp(-np.abs(t) / a) - b * b * np.exp(-np.abs(t) / b)
    far = far / (2.0 * (a * a - b * b))
    return np.where(t >= 0.0, far, 1.0 - far)[()]


class Counts(NamedTuple):
    """The law of a number of successes, without values of negligible probability.

    Attributes:
      values: Float[np.ndarray, "values"], numbers of successes.
      failures: Float[np.ndarray, "values"], numbers of failures.
      weights: Float[np.ndarray, "values"], their probabilities.
    """

    values: np.ndarray
    failures: np.ndarray
    weights: np.ndarray


def binomial_counts(samples: int, share: float) -> Counts:
    """The law of the number of successes in ``samples`` draws of success probability ``share``.

    Omitted values have total probability below 1e-25. The rarer of success and failure is
    counted, so that both numbers are accurate if the other is near 1e17.
    """
    rare = min(share, 1.0 - share)
    mean = samples * rare
    reach = 12.0 * math.sqrt(mean * (1.0 - rare)) + 60.0
    low, high = max(0.0, mean - reach), min(float(samples), mean + reach)
    counts = np.arange(math.ceil(low), math.floor(high) + 1)
    if rare == 0.0:
        counts = np.zeros(1)
    weights = scipy.stats.binom.pmf(counts, float(samples), rare)
    others = float(samples) - counts
    if share <= 0.5:
        return Counts(counts.astype(np.float64), others, weights)
    return Counts(others, counts.astype(np.float64), weights)


def halting_law(
    levels: Sequence[npt.ArrayLike],
    query_scale: float,
    threshold_scale: float,
    weights: Sequence[npt.ArrayLike] | None = None,
) -> np.ndarray:
    """The exact law of the query at which a sparse vector halts.

    It halts at the first query i with level_i + xi_i > nu, where xi_i and nu are Laplace noise.

    Args:
      levels: for each query, in order, its level, that is its answer minus the threshold; or an
        array of possible levels, if the level itself is random.
      query_scale: of xi_i, which is drawn for each query.
      threshold_scale: of nu, which is drawn once.
      weights: for each query, the probabilities of its possible levels; None if each query has
        one level.

    Returns:
      Float[np.ndarray, "queries+1"]: the chance to halt at each query; the last entry is the
      chance not to halt.
    """
    rows = [np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in levels]
    if weights is None:
        shares = [np.ones(1) for _ in rows]
    else:
        shares = [np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in weights]
    end = _REACH * threshold_scale
    # Many possible levels smooth the kinks that each of them would cause.
    kinks = np.concatenate([row for row in rows if row.size <= 8] or [np.zeros(1)])
    inside = kinks[np.abs(kinks) < end]
    nodes, step = panels(
        np.concatenate([[-end, 0.0, end], inside]), 2.0 * min(query_scale, threshold_scale)
    )
    alive = step * np.exp(-np.abs(nodes) / threshold_scale) / (2.0 * threshold_scale)
    law = []
    for row, share in zip(rows, shares, strict=True):
        gap = (nodes[:, None] - row) / query_scale
        half = 0.5 * np.exp(-np.abs(gap))
        passing = np.where(gap > 0.0, half, 1.0 - half) @ share
        failing = np.where(gap > 0.0, 1.0 - half, half) @ share
        law.append(float(np.sum(alive * passing)))
        alive = alive * failing
    return np.array([*law, float(np.sum(alive))])
