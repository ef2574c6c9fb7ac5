"""Smooth sensitivity of the median (Nissim, Raskhodnikova & Smith 2007, Section 3.1)."""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from jaxsel.families.score_selection.parameters import Delta, Epsilon, High, Smoothness
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.domains import number
from jaxsel.language.signature import validated


def _sorted(values: npt.ArrayLike, high: float) -> np.ndarray:
    values = check_finite("values", values)
    if values.ndim != 1:
        raise InputError("values must be one list of numbers")
    if np.any((values < 0.0) | (values > high)):
        raise InputError(f"values must lie in [0, {high:g}]")
    return np.sort(values)


def median(values: npt.ArrayLike) -> float:
    """The lower median: of n sorted values, the one of rank (n+1)/2, rounded down."""
    values = np.sort(check_finite("values", values))
    return float(values[(values.size - 1) // 2])


def _padded(values: np.ndarray, high: float, reach: int) -> tuple[np.ndarray, int]:
    """The sorted values with ``reach`` zeros before and as many ``high`` after them.

    Also returns the position of the median.
    """
    padded = np.concatenate([np.zeros(reach), values, np.full(reach, high)])
    return padded, reach + (values.size - 1) // 2


@validated
def median_smooth_sensitivity(values: npt.ArrayLike, high: High, smoothness: Smoothness) -> float:
    """The eta-smooth sensitivity of the median of a list.

    It is the largest of e^(-eta k) times the local sensitivity at distance k, over k >= 0. This is
    the least bound on the local sensitivity that changes by a factor of at most e^eta between lists
    that differ in one value.

    Args:
      values: the list, in [0, high].
      high: largest value that a list may hold.
      smoothness: eta.
    """
    ordered = _sorted(values, high)
    # The loop ends where even a sensitivity of the whole range, e^(-eta k) high, is not larger.
    padded, m = _padded(ordered, high, ordered.size + 1)
    best, k = 0.0, 0
    while k <= ordered.size and math.exp(-smoothness * k) * high > best:
        moved = float(np.max(padded[m : m + k + 2] - padded[m - k - 1 : m + 1]))
        best = max(best, math.exp(-smoothness * k) * moved)
        k += 1
    return best


@validated
def smooth_laplace_smoothness(epsilon: Epsilon, delta: Delta) -> float:
    """The largest eta at which Laplace noise scaled to an eta-smooth bound is (epsilon, delta)-DP.

    It is epsilon/(2 log(2/delta)): Nissim, Raskhodnikova & Smith 2007, Corollary 2.4.
    """
    return epsilon / (2.0 * math.log(2.0 / delta))


@validated
def smooth_laplace_scale(
    smooth_sensitivity: Annotated[float, number(at_least=0.0)], epsilon: Epsilon
) -> float:
    """The scale 2 S/epsilon of Laplace noise that is (epsilon, delta)-DP for a smooth bound S.

    Nissim, Raskhodnikova & Smith 2007, Corollary 2.4; delta limits the smoothness of S only.
    """
    return 2.0 * smooth_sensitivity / epsilon
