"""The upper hull of points in the plane."""

import math

import numpy as np

_SWEEPS = 32  # vectorised passes over all points, before the loop over single points


def upper_hull(second: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The vertices of the least concave increasing function that is above all points.

    Args:
      second, first: Float[np.ndarray, "points"], abscissas and ordinates, in any order.

    Returns:
      Int[np.ndarray, "vertices"], indices by increasing abscissa. Every point lies below
      the line through the vertices or to the right of the highest.
    """
    order = np.lexsort((-first, second))
    # Only a point above all before it can be a vertex. Lists: a loop over NumPy's own
    # numbers takes four times as long.
    before = np.maximum.accumulate(np.append(-np.inf, first[order][:-1]))
    order = order[first[order] > before]
    # A point below a chord between two others is no vertex. At most every second point is
    # removed at a time, so that its neighbours stay and rounding errors do not add up.
    for sweep in range(_SWEEPS):
        b, a = np.diff(second[order]), np.diff(first[order])
        below = a[:-1] * b[1:] <= a[1:] * b[:-1]
        if not np.any(below):
            return order
        below[sweep % 2 :: 2] = False
        order = order[np.concatenate([[True], ~below, [True]])]
    x, y = second[order].tolist(), first[order].tolist()
    kept: list[int] = []
    for i, (b, a) in enumerate(zip(x, y, strict=True)):
        while len(kept) > 1:
            b0, a0 = x[kept[-2]], y[kept[-2]]
            b1, a1 = x[kept[-1]], y[kept[-1]]
            if (a1 - a0) * (b - b1) > (a - a1) * (b1 - b0):
                break
            kept.pop()
        kept.append(i)
    return order[kept]


def upper_hull_of_logs(second: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``upper_hull`` of the points (e^second, e^first), which may underflow.

    Args:
      second, first: Float[np.ndarray, "points"], logarithms; -inf is a coordinate of 0.

    Returns:
      The vertices, and the logarithms of the slopes between them, which decrease.
    """
    order = np.lexsort((-first, second))
    before = np.maximum.accumulate(np.append(-np.inf, first[order][:-1]))
    order = order[first[order] > before]
    x, y = second[order].tolist(), first[order].tolist()
    kept: list[int] = []
    slopes: list[float] = []  # logarithms of the slopes between the vertices kept

    def rise(larger: float, smaller: float) -> float:
        fall = math.expm1(smaller - larger) if smaller > -math.inf else -1.0
        return larger + math.log(-fall) if fall < 0.0 else -math.inf

    for i, (b, a) in enumerate(zip(x, y, strict=True)):
        slope = math.inf
        while kept:
            width = rise(b, x[kept[-1]])
            slope = rise(a, y[kept[-1]]) - width if width > -math.inf else math.inf
            if not slopes or slopes[-1] > slope:
                break
            kept.pop()
            slopes.pop()
        if kept:
            slopes.append(slope)
        kept.append(i)
    return order[kept], np.array(slopes)
