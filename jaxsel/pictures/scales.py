"""Scales of an axis: arithmetic or geometric, and the edges of cells around points."""

import numpy as np

_WIDE = 10.0  # ratio from which two points alone count as geometric


def is_geometric(points) -> bool:
    """Whether points are closer to a geometric progression than to an arithmetic one.

    Args:
      points: Float["points"], in any order.
    """
    sorted_points = np.unique(np.asarray(points, dtype=np.float64))
    if sorted_points.size < 2 or not sorted_points[0] > 0.0:
        return False
    if sorted_points.size == 2:
        return bool(sorted_points[1] >= _WIDE * sorted_points[0])
    return _unevenness(np.log(sorted_points)) < _unevenness(sorted_points)


def spans_decades(values, ratio: float = 1e3) -> bool:
    """Whether the finite values are positive and span decades.

    Args:
      values: Float["..."]; NaN and infinities do not count.
      ratio: ratio of the largest to the least value from which a logarithmic scale is used.
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if finite.size == 0 or not finite.min() > 0.0:
        return False
    return bool(finite.max() >= ratio * finite.min())


def cell_edges(points, geometric: bool) -> np.ndarray:
    """Edges of cells around increasing points, half-way between neighbours.

    Args:
      points: Float["points"], at least two, increasing.
      geometric: whether half-way is on a logarithmic scale.

    Returns:
      Float[np.ndarray, "points+1"].
    """
    points = np.asarray(points, dtype=np.float64)
    places = np.log(points) if geometric else points
    middle = (places[1:] + places[:-1]) / 2.0
    first, last = 2.0 * places[0] - middle[0], 2.0 * places[-1] - middle[-1]
    edges = np.concatenate([[first], middle, [last]])
    return np.exp(edges) if geometric else edges


def _unevenness(places: np.ndarray) -> float:
    """Largest deviation from even spacing, as a fraction of the range."""
    even = np.linspace(places[0], places[-1], places.size)
    return float(np.max(np.abs(places - even)) / (places[-1] - places[0]))
