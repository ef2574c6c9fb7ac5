"""Minimisation over one variable on an interval, for a whole batch at once.

Every accountant here ends in "take the best order": a grid finds the valley and a
golden-section search inside the best cell finds its bottom, so that the answer is never
worse than the grid's.
"""

import math
from collections.abc import Callable

import numpy as np

LOG_ORDER_RANGE = (-7.0, 9.0)  # the range of log(order - 1) that is searched

_RATIO = (math.sqrt(5.0) - 1.0) / 2.0


def _values(objective: Callable[[np.ndarray], np.ndarray], points) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = np.asarray(objective(points), dtype=np.float64)
    return np.where(np.isnan(values), np.inf, values)


def minimise(
    objective: Callable[[np.ndarray], np.ndarray],
    low: float,
    high: float,
    *,
    count: int = 641,
    steps: int = 44,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimises a function of one variable on ``[low, high]``.

    Args:
      objective: maps points to values, element by element; an objective that carries a
        batch broadcasts the points against the batch (points come with a new leading
        axis or in the shape of the batch). NaN counts as infinite.
      low, high: ends of the interval.
      count: points of the grid, both ends among them.
      steps: golden-section steps inside the best cell (44 shrink it by 1e-9).

    Returns:
      The minimisers and the minima, both in the shape of the batch.
    """
    batch = np.ndim(objective(np.asarray((low + high) / 2)))
    grid = np.linspace(low, high, count)
    values = _values(objective, grid.reshape((-1,) + (1,) * batch))
    best = np.argmin(values, axis=0)
    point = grid[best]
    minimum = np.take_along_axis(values, best[None], axis=0)[0]

    left, right = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, count - 1)]
    inner, outer = right - _RATIO * (right - left), left + _RATIO * (right - left)
    at_inner, at_outer = _values(objective, inner), _values(objective, outer)
    for _ in range(steps):
        go_left = at_inner < at_outer
        left, right = np.where(go_left, left, inner), np.where(go_left, outer, right)
        new = np.where(
            go_left, right - _RATIO * (right - left), left + _RATIO * (right - left)
        )
        at_new = _values(objective, new)
        inner, outer = np.where(go_left, new, outer), np.where(go_left, inner, new)
        at_inner, at_outer = (
            np.where(go_left, at_new, at_outer),
            np.where(go_left, at_inner, at_new),
        )
    for x, value in ((inner, at_inner), (outer, at_outer)):
        point = np.where(value < minimum, x, point)
        minimum = np.minimum(value, minimum)
    return point, minimum


def minimise_over_orders(
    objective: Callable[[np.ndarray], np.ndarray], *, count: int = 641
) -> tuple[np.ndarray, np.ndarray]:
    """Minimises over Renyi orders 1 + exp(t), with t in LOG_ORDER_RANGE.

    Args:
      objective: maps orders > 1 to values, element by element (batches as in minimise).
      count: points of the grid in t.

    Returns:
      The best orders and the minima.
    """
    point, minimum = minimise(
        lambda t: objective(1.0 + np.exp(t)), *LOG_ORDER_RANGE, count=count
    )
    return 1.0 + np.exp(point), minimum
