"""Exact laws shared by the errata of two papers.

Liu & Talwar 2019 and Cohen, Lyu, Nelson, Sarlos & Stemmer 2022: Laplace noise, sparse
vectors with Laplace noise, and truncated Laplace noise.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from jaxsel.errors import check_interval, check_positive

__all__ = [
    "Counts",
    "binomial_counts",
    "halting_law",
    "laplace_difference_tail",
    "one_to_infinity",
    "panels",
    "probability",
    "truncated_laplace_cdf",
    "truncated_laplace_delta",
    "truncated_laplace_support",
]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 45.0  # scales of Laplace noise beyond which it lies with chance below 1e-19


# --- Parameters -----------------------------------------------------------------------


def probability(name: str, value: float) -> float:
    """``value`` as a float in (0, 1), or InputError."""
    return check_interval(name, value, 0.0, 1.0)


def one_to_infinity(name: str, value: float) -> float:
    """``value`` as a float in (1, inf), or InputError."""
    return check_interval(name, value, 1.0, math.inf)


# --- Quadrature -----------------------------------------------------------------------


def panels(edges: npt.ArrayLike, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights, 16 on each panel.

    Args:
      edges: points where the integrand may have a kink, the ends included.
      width: widest panel; the integrand must be smooth on that scale.
    """
    edges = np.unique(np.asarray(edges, dtype=np.float64))
    pieces = np.maximum(np.ceil(np.diff(edges) / width), 1).astype(int)
    cuts = [
        np.linspace(low, high, count + 1)[:-1]
        for low, high, count in zip(edges[:-1], edges[1:], pieces, strict=True)
    ]
    cuts = np.concatenate([*cuts, edges[-1:]])
    middle, half = (cuts[1:] + cuts[:-1]) / 2.0, np.diff(cuts) / 2.0
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.ravel(), (half[:, None] * _WEIGHTS).ravel()


# --- Laplace noise and sparse vectors -------------------------------------------------


def laplace_difference_tail(
    t: npt.ArrayLike, query_scale: float, threshold_scale: float
) -> np.ndarray:
    """P[xi - nu > t], xi and nu Laplace with these two (different) scales."""
    t = np.asarray(t, dtype=np.float64)
    a, b = query_scale, threshold_scale
    far = a * a * np.exp(-np.abs(t) / a) - b * b * np.exp(-np.abs(t) / b)
    far = far / (2.0 * (a * a - b * b))
    return np.where(t >= 0.0, far, 1.0 - far)[()]


class Counts(NamedTuple):
    """The law of a number of successes, negligible values left out.

    Attributes:
      values: Float[np.ndarray, "values"], numbers of successes.
      failures: Float[np.ndarray, "values"], numbers of failures.
      weights: Float[np.ndarray, "values"], their probabilities.
    """

    values: np.ndarray
    failures: np.ndarray
    weights: np.ndarray


def binomial_counts(samples: int, share: float) -> Counts:
    """Successes among ``samples`` draws that succeed with probability ``share``.

    What is left out has probability below 1e-25. The rarer of success and failure is
    counted, so that both numbers are right where the other is near 1e17.
    """
    rare = min(share, 1.0 - share)
    mean = samples * rare
    reach = 12.0 * math.sqrt(mean * (1.0 - rare)) + 60.0
    low, high = max(0.0, mean - reach), min(float(samples), mean + reach)
    counts = np.arange(math.ceil(low), math.floor(high) + 1)
    if rare == 0.0:
        counts = np.zeros(1)
    weights = stats.binom.pmf(counts, float(samples), rare)
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
    """Law of the query at which a sparse vector halts.

    It halts at the first i with level_i + xi_i > nu, the noises being Laplace.

    Args:
      levels: of each query, in order: its value minus the threshold's, or an array of
        possible ones.
      query_scale: of each xi_i, drawn afresh.
      threshold_scale: of nu, drawn once.
      weights: of each query, the probabilities of its possible levels.

    Returns:
      Float[np.ndarray, "queries+1"]: chance to halt at each query; the last entry is
      the chance not to halt.
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
        np.concatenate([[-end, 0.0, end], inside]),
        2.0 * min(query_scale, threshold_scale),
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


# --- Truncated Laplace noise ----------------------------------------------------------


def truncated_laplace_support(epsilon: float, truncation: float) -> float:
    """Half-width log(1/truncation)/epsilon of TLap(epsilon, truncation)."""
    epsilon = check_positive("epsilon", epsilon)
    return -math.log(probability("truncation", truncation)) / epsilon


def truncated_laplace_cdf(
    x: npt.ArrayLike, epsilon: float, truncation: float
) -> np.ndarray:
    """P[X <= x], X of density proportional to exp(-epsilon |x|) on its support."""
    end = truncated_laplace_support(epsilon, truncation)
    x = np.clip(np.asarray(x, dtype=np.float64), -end, end)
    tail = (np.exp(-epsilon * np.abs(x)) - truncation) / (2.0 * (1.0 - truncation))
    return np.where(x < 0.0, tail, 1.0 - tail)[()]


def truncated_laplace_delta(
    epsilon: float,
    truncation: float,
    shift: float = 1.0,
    at_epsilon: float | None = None,
) -> float:
    """Exact delta between TLap(epsilon, truncation) and itself, moved by ``shift``.

    The privacy loss falls along the line, so the worst event is a half-line: what only
    one side can give, and from there on until the loss is ``at_epsilon`` (default:
    ``epsilon``).
    """
    level = epsilon if at_epsilon is None else at_epsilon
    end = truncated_laplace_support(epsilon, truncation)
    cut = shift - end
    if level < epsilon * shift:
        cut = max(cut, min((shift - level / epsilon) / 2.0, end))
    kept = truncated_laplace_cdf(np.array([cut, cut - shift]), epsilon, truncation)
    return float(kept[0] - math.exp(level) * kept[1])
