"""Smooth sensitivity of the median (Nissim, Raskhodnikova & Smith 2007, Section
3.1)."""

import math

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import InputError, check_finite, check_positive


def _sorted(values: npt.ArrayLike, high: float) -> np.ndarray:
    values = check_finite("values", values)
    high = check_positive("high", high)
    if values.ndim != 1:
        raise InputError("values must be one list of numbers")
    if np.any((values < 0.0) | (values > high)):
        raise InputError(f"values must lie in [0, {high:g}]")
    return np.sort(values)


def median(values: npt.ArrayLike) -> float:
    """The value of rank (n+1)/2, rounded down: the lower median."""
    values = np.sort(check_finite("values", values))
    return float(values[(values.size - 1) // 2])


def _padded(values: np.ndarray, high: float, reach: int) -> tuple[np.ndarray, int]:
    """0s below and ``high``s above, and the position of the median."""
    padded = np.concatenate([np.zeros(reach), values, np.full(reach, high)])
    return padded, reach + (values.size - 1) // 2


def median_smooth_sensitivity(values: npt.ArrayLike, high: float, smoothness: float) -> float:
    """max over k of e^(-eta k) times the local sensitivity at distance k.

    The least eta-smooth bound: at least the local sensitivity, and changing by at most
    e^eta between lists that differ in one value.

    Args:
      values: in [0, high].
      high: largest value.
      smoothness: eta > 0.
    """
    ordered = _sorted(values, high)
    eta = check_positive("smoothness", smoothness)
    # Distances at which even the whole range has a smaller weight are irrelevant.
    padded, m = _padded(ordered, float(high), ordered.size + 1)
    best, k = 0.0, 0
    while k <= ordered.size and math.exp(-eta * k) * high > best:
        moved = float(np.max(padded[m : m + k + 2] - padded[m - k - 1 : m + 1]))
        best = max(best, math.exp(-eta * k) * moved)
        k += 1
    return best


def smooth_laplace_smoothness(epsilon: float, delta: float) -> float:
    """Largest eta for Laplace noise: epsilon/(2 log(2/delta)) (Corollary 2.4)."""
    epsilon, delta = check_positive("epsilon", epsilon), check_positive("delta", delta)
    return epsilon / (2.0 * math.log(2.0 / delta))


def smooth_laplace_scale(smooth_sensitivity: float, epsilon: float) -> float:
    """Scale 2 S/epsilon of (epsilon, delta)-DP Laplace noise (Corollary 2.4)."""
    return 2.0 * smooth_sensitivity / check_positive("epsilon", epsilon)
