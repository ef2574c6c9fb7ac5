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
    kept: list[int] = []
    for i in order.tolist():
        b, a = second[i], first[i]
        if kept and a <= first[kept[-1]]:
            continue
        while len(kept) > 1:
            b0, a0 = second[kept[-2]], first[kept[-2]]
            b1, a1 = second[kept[-1]], first[kept[-1]]
            if (a1 - a0) * (b - b1) > (a - a1) * (b1 - b0):
                break
            kept.pop()
        if len(kept) == 1 and b == second[kept[0]]:
            kept.pop()
        kept.append(i)
    return np.array(kept)
