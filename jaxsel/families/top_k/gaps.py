"""The test before the release of a top-k set: its power, and the gap that passes it.

Zhu & Wang 2022, Algorithm 4: q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 log(1/delta_t)),
Algorithm 5: q-hat = q_k + Lap(b) - b log(1/delta_t); the set is released if q-hat > 1.
Gaps and noise scales are in votes.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.families.top_k.curves import TEST_NOISES
from jaxsel.host.errors import InputError, check_choice, check_interval, check_positive


def threshold_factor(delta_t: float, noise: str = "gaussian", *, quantile: bool = False) -> float:
    """The test's threshold above 1, in units of the noise scale.

    Args:
      delta_t: failure probability of the test, in (0, 1).
      noise: "gaussian", as printed sqrt(2 log(1/delta_t)); or "laplace", log(1/delta_t).
      quantile: the upper delta_t quantile of the noise instead: smaller, same guarantee.
    """
    check_choice("noise", noise, TEST_NOISES)
    delta_t = check_interval("delta_t", delta_t, 0.0, 1.0)
    if noise == "gaussian":
        if quantile:
            return float(-special.ndtri(delta_t))
        return math.sqrt(-2.0 * math.log(delta_t))
    if not quantile:
        return -math.log(delta_t)
    if delta_t <= 0.5:
        return -math.log(2.0 * delta_t)
    return math.log(2.0 * (1.0 - delta_t))


def _upper_tail(x: npt.ArrayLike, noise: str) -> np.ndarray:
    """P[Z > x] of standard noise."""
    x = np.asarray(x, dtype=np.float64)
    if noise == "gaussian":
        return special.ndtr(-x)
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x > 0.0, half, 1.0 - half)


def needed_noise(
    gap: npt.ArrayLike,
    noise_scale: float,
    delta_t: float,
    noise: str = "gaussian",
    *,
    quantile: bool = False,
) -> np.ndarray:
    """The value that a standard variate must exceed for the test to pass at this gap."""
    scale = check_positive("noise_scale", noise_scale)
    gap = np.asarray(gap, dtype=np.float64)
    if not np.all(gap >= 0.0):
        raise InputError("gaps must be >= 0; sort the histogram in descending order")
    above = np.maximum(gap, 1.0) - 1.0 if noise == "gaussian" else gap - 1.0
    return (threshold_factor(delta_t, noise, quantile=quantile) - above / scale)[()]


def pass_probability(
    gap: npt.ArrayLike,
    noise_scale: float,
    delta_t: float,
    noise: str = "gaussian",
    *,
    quantile: bool = False,
) -> np.ndarray:
    """Probability that the set is released, exact.

    Args:
      gap: q_k >= 0, any shape.
      noise_scale: standard deviation, or Laplace scale, of the noise, > 0.
      delta_t: failure probability of the test, in (0, 1).
      noise: "gaussian" (Algorithm 4) or "laplace" (Algorithm 5).
      quantile: see ``threshold_factor``.

    Raises:
      InputError: for a negative gap or parameters out of range.
    """
    needed = needed_noise(gap, noise_scale, delta_t, noise, quantile=quantile)
    return _upper_tail(needed, noise)[()]


def fail_probability(
    gap: npt.ArrayLike,
    noise_scale: float,
    delta_t: float,
    noise: str = "gaussian",
    *,
    quantile: bool = False,
) -> np.ndarray:
    """Probability that the set is not released: 1 - ``pass_probability``, without cancellation."""
    needed = needed_noise(gap, noise_scale, delta_t, noise, quantile=quantile)
    return _upper_tail(-np.asarray(needed), noise)[()]


def gap_for_success(
    noise_scale: float,
    delta_t: float,
    failure: float,
    noise: str = "gaussian",
    *,
    quantile: bool = False,
) -> float:
    """The least gap that is released with probability at least 1 - failure, exact.

    1 + scale (threshold + upper ``failure`` quantile of the noise), and at least 1 (for
    the Gaussian test) or 0.

    Args:
      noise_scale, delta_t, noise, quantile: as in ``pass_probability``.
      failure: in (0, 1).
    """
    scale = check_positive("noise_scale", noise_scale)
    failure = check_interval("failure", failure, 0.0, 1.0)
    reach = threshold_factor(delta_t, noise, quantile=quantile)
    reach += threshold_factor(failure, noise, quantile=True)
    if noise == "gaussian":
        return 1.0 + scale * reach if reach > 0.0 else 0.0
    return max(0.0, 1.0 + scale * reach)


def gap_for_success_printed(
    epsilon: float, delta: float, failure: float, noise: str = "gaussian"
) -> float:
    """Theorem 20 as printed, at one epsilon for both tests.

    Gaussian, with noise scale sqrt(2 log(1.25/delta))/epsilon: 1 + 4 (log(1/delta) +
    log(1/failure))/epsilon. Laplace, scale 1/epsilon: the same without the factor 4.

    Args:
      epsilon: > 0.
      delta: in (0, 1), of the test and (Gaussian) of the noise.
      failure: in (0, 1).
      noise: "gaussian" or "laplace".
    """
    check_choice("noise", noise, TEST_NOISES)
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, 1.0)
    failure = check_interval("failure", failure, 0.0, 1.0)
    factor = 4.0 if noise == "gaussian" else 1.0
    return 1.0 - factor * (math.log(delta) + math.log(failure)) / epsilon
