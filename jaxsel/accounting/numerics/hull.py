"""The upper hull of points in the plane."""

import numpy as np


def upper_hull(second: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The concave, increasing upper-left hull of points.

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
