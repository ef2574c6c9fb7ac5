"""Exact laws of objective perturbation on the line, where each record has one feature.

The gradient without noise increases. So the minimum theta is at most t if and only if, at t, the
gradient is at least minus the noise. P[theta <= t] is therefore the normal distribution function
of the gradient at t over the noise's standard deviation.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import epsilon_at_delta


class Line(NamedTuple):
    """Records with one feature.

    Attributes:
      features, targets: Float64["kinds"], of each kind of record; for the logistic loss targets are
        the labels -1 and 1.
      counts: Float64["kinds"], how many records of each kind there are.
    """

    features: Any
    targets: Any
    counts: Any


def line(*records: tuple[float, float, float]) -> Line:
    """Records on the line, each kind given as (feature, target, count)."""
    table = np.array(records, dtype=np.float64).reshape(-1, 3)
    return Line(table[:, 0], table[:, 1], table[:, 2])


def with_one_more(known: Line, feature: float, target: float) -> Line:
    """The records, and one more of that feature and target."""
    return Line(
        np.append(known.features, feature),
        np.append(known.targets, target),
        np.append(known.counts, 1.0),
    )


def gradient(t, records: Line, loss: str, regularisation: float) -> np.ndarray:
    """The gradient of the objective without noise, which is the sum of losses plus lambda/2 t^2.

    Args:
      t: any shape, which the result has.
      records: the data.
      loss: "logistic" or "huber", of slope 1.
      regularisation: lambda.
    """
    t = np.asarray(t, dtype=np.float64)
    total = regularisation * t
    for feature, target, count in zip(*records, strict=True):
        if loss == "logistic":
            slope = -target * special.expit(-target * feature * t)
        else:
            slope = np.clip(feature * t - target, -1.0, 1.0)
        total = total + count * feature * slope
    return total


def _curvature(t: np.ndarray, records: Line, loss: str, regularisation: float) -> np.ndarray:
    """The derivative of ``gradient``, with its arguments; at least lambda."""
    total = np.full_like(t, regularisation)
    for feature, target, count in zip(*records, strict=True):
        if loss == "logistic":
            share = special.expit(-target * feature * t)
            bend = target**2 * share * (1.0 - share)
        else:
            bend = np.abs(feature * t - target) < 1.0
        total += count * feature**2 * bend
    return total


def minimum_cdf(t, records: Line, loss: str, noise: float, regularisation: float) -> np.ndarray:
    """Probability that the minimum of the noisy objective is at most t.

    Args:
      t, records, loss, regularisation: as of ``gradient``.
      noise: standard deviation of the linear term's coefficient.
    """
    return special.ndtr(gradient(t, records, loss, regularisation) / noise)


def minimum_cells(
    edges: np.ndarray, records: Line, loss: str, noise: float, regularisation: float
) -> np.ndarray:
    """The probability of each cell of the line in which the minimum may lie, Float64["edges+1"].

    Each is a difference of probabilities of the nearer tail, so that rare cells are accurate.

    Args:
      edges: Float["edges"], the ends of the cells, increasing.
      records, loss, noise, regularisation: as of ``minimum_cdf``.
    """
    at = gradient(edges, records, loss, regularisation) / noise
    low, high = np.append(-np.inf, at), np.append(at, np.inf)
    above = low + high > 0.0
    first, second = np.where(above, -high, low), np.where(above, -low, high)
    # By rounding a difference might be slightly negative.
    return np.maximum(special.ndtr(second) - special.ndtr(first), 0.0)


_REACH = 8.5  # standard deviations of the noise, with tail probability 1e-17


def fine_edges(
    records: Line, loss: str, noise: float, regularisation: float, count: int
) -> np.ndarray:
    """Edges of cells that are fine where the minimum is likely, Float64["edges"], increasing.

    They are where the minimum lies at ``count`` evenly spaced values of the noise, found by
    Newton's method between bounds; equal ones are merged. Other arguments as of ``minimum_cdf``.
    """
    wanted = noise * np.linspace(-_REACH, _REACH, count)
    slopes = float(np.sum(records.counts * np.abs(records.features)))
    reach = (slopes + _REACH * noise) / regularisation + 1.0
    low, high = np.full(count, -reach), np.full(count, reach)
    found = np.zeros(count)
    for _ in range(80):
        beyond = gradient(found, records, loss, regularisation) - wanted
        near = np.abs(beyond) <= 1e-12 * noise + 1e-14 * slopes
        if np.all(near):
            break
        below = beyond < 0.0
        low, high = np.where(below, found, low), np.where(below, high, found)
        step = found - beyond / _curvature(found, records, loss, regularisation)
        step = np.where((low < step) & (step < high), step, (low + high) / 2.0)
        found = np.where(near, found, step)
    return np.unique(found)


def pair_epsilon(
    fewer: Line,
    more: Line,
    loss: str,
    noise: float,
    regularisation: float,
    delta: float,
    count: int = 8001,
) -> float:
    """The epsilon at delta between the laws of the minimum on neighbours, by cells of the line.

    As cells are post-processing, this is a lower bound; it is exact in the limit of many cells.

    Args:
      fewer, more: the records of the neighbours, ``more`` with one more.
      loss, noise, regularisation: as of ``minimum_cdf``.
      delta: of (epsilon, delta).
      count: number of edges for each neighbour.
    """
    numbers = (loss, noise, regularisation)
    edges = np.union1d(fine_edges(fewer, *numbers, count), fine_edges(more, *numbers, count))
    first, second = (minimum_cells(edges, records, *numbers) for records in (fewer, more))
    return epsilon_at_delta(first / first.sum(), second / second.sum(), delta)


def approximate_epsilon(
    fewer: Line,
    more: Line,
    loss: str,
    noise: float,
    regularisation: float,
    step: float,
    output_noise: float,
    delta: float,
    count: int = 1201,
) -> float:
    """As ``pair_epsilon``, for minima that are moved apart and then have normal noise added.

    Args:
      fewer, more, loss, noise, regularisation, delta, count: as of ``pair_epsilon``.
      step: by which each minimum is moved, away from the other.
      output_noise: standard deviation of the normal noise.
    """
    numbers = (loss, noise, regularisation)
    ends = [fine_edges(records, *numbers, count) for records in (fewer, more)]
    lower = np.median(ends[1]) < np.median(ends[0])
    moves = (step, -step) if lower else (-step, step)
    reach = step + 7.0 * output_noise
    first, last = min(map(np.min, ends)) - reach, max(map(np.max, ends)) + reach
    seen = np.linspace(first, last, 2 * count)
    found = []
    for records, edges, move in zip((fewer, more), ends, moves, strict=True):
        # All of a cell's mass is put into its middle, with an error of second order in its width.
        inner = minimum_cells(edges, records, *numbers)[1:-1]
        middles = (edges[1:] + edges[:-1]) / 2.0 + move
        below = special.ndtr((seen[:, None] - middles) / output_noise) @ inner / inner.sum()
        found.append(np.maximum(np.diff(below, prepend=0.0, append=1.0), 0.0))
    first, second = (law / law.sum() for law in found)
    return epsilon_at_delta(first, second, delta)
