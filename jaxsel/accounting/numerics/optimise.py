"""Minimisation over one variable on an interval, for a whole batch at once.

Accountants minimise over the Renyi order: a grid brackets the minimum and a search inside
the best cell refines it, so that the answer is never worse than the best of the grid.
"""

import math
from collections.abc import Callable

import numpy as np

LOG_ORDER_RANGE = (-7.0, 9.0)  # the range of log(order - 1) that is searched first
# extended as far as float64 distinguishes orders if the best one is at an end of it
_LOG_ORDER_ENDS = (-32.0, 700.0)

_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
_FEW = 16  # batches up to this size: one call costs more than the evaluation of thirty points each


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
      steps: how many times the best cell shrinks by the golden ratio (44: by 1e-9).

    Returns:
      The minimisers and the minima, both in the shape of the batch.
    """
    batch = np.ndim(objective(np.asarray((low + high) / 2)))
    grid = np.linspace(low, high, count)
    values = _values(objective, grid.reshape((-1,) + (1,) * batch))
    best = np.argmin(values, axis=0)
    point = grid[best]
    minimum = np.take_along_axis(values, best[None], axis=0)[0]

    cell = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, count - 1)]
    search = _by_sections if np.size(minimum) <= _FEW else _by_golden_section
    for x, value in search(objective, *cell, steps):
        point = np.where(value < minimum, x, point)
        minimum = np.minimum(value, minimum)
    return point, minimum


def _by_golden_section(objective, left, right, steps: int):
    """Points and values near the bottom: one evaluation a step for a whole batch."""
    inner, outer = right - _RATIO * (right - left), left + _RATIO * (right - left)
    at_inner, at_outer = _values(objective, inner), _values(objective, outer)
    for _ in range(steps):
        go_left = at_inner < at_outer
        left, right = np.where(go_left, left, inner), np.where(go_left, outer, right)
        new = np.where(go_left, right - _RATIO * (right - left), left + _RATIO * (right - left))
        at_new = _values(objective, new)
        inner, outer = np.where(go_left, new, outer), np.where(go_left, inner, new)
        at_inner, at_outer = (
            np.where(go_left, at_new, at_outer),
            np.where(go_left, at_inner, at_new),
        )
    yield inner, at_inner
    yield outer, at_outer


def _by_sections(objective, left, right, steps: int):
    """The same result in fewer calls with more points each, for small batches."""
    share = np.linspace(0.0, 1.0, 33)[1:-1].reshape((-1,) + (1,) * np.ndim(left))
    for _ in range(math.ceil(steps * math.log(_RATIO) / math.log(2.0 / 32.0))):
        points = left + (right - left) * share
        values = _values(objective, points)
        best = np.argmin(values, axis=0)[None]
        point = np.take_along_axis(points, best, axis=0)[0]
        yield point, np.take_along_axis(values, best, axis=0)[0]
        width = (right - left) / 32.0
        left, right = np.maximum(point - width, left), np.minimum(point + width, right)


def minimise_over_orders(
    objective: Callable[[np.ndarray], np.ndarray], *, count: int = 641
) -> tuple[np.ndarray, np.ndarray]:
    """Minimises over all Renyi orders 1 + exp(t): t in [-32, 700].

    The range LOG_ORDER_RANGE is searched first. While some best t is at the upper end of
    the searched range, the next range above is searched, and likewise below: an objective
    that is unimodal for each entry of the batch is minimised over all orders.

    Args:
      objective: maps orders > 1 to values, element by element (batches as in minimise).
      count: points of the grid in t for the first range; a quarter of it for the
        others, where objectives are smooth.

    Returns:
      The best orders and the minima.
    """

    def at(t: np.ndarray) -> np.ndarray:
        return objective(1.0 + np.exp(t))

    low, high = LOG_ORDER_RANGE
    width, cell = high - low, (high - low) / (count - 1)
    point, minimum = minimise(at, low, high, count=count)
    for sign, end in ((1.0, high), (-1.0, low)):
        while end not in _LOG_ORDER_ENDS:
            # The objective may be infinite at every order: then there is no range to
            # follow.
            at_end = (np.abs(point - end) < cell) & np.isfinite(minimum)
            if not np.any(at_end):
                break
            start, end = end, float(np.clip(end + sign * width, *_LOG_ORDER_ENDS))
            new, found = minimise(at, *sorted((start, end)), count=count // 4)
            # Among equally good orders the first one found is kept.
            with np.errstate(invalid="ignore"):
                better = found < minimum - 1e-12 * np.abs(minimum)
            if not np.any(better):
                break
            point = np.where(better, new, point)
            minimum = np.where(better, found, minimum)
            width = min(2.0 * width, 100.0)
    return 1.0 + np.exp(point), minimum
