"""The test before the release of a top-k set: how often it passes, and the gap that it needs.

The gap q_k is the k-th largest count minus the next, and the set is released if q-hat > 1. In Zhu &
Wang 2022, Algorithm 4, q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 log(1/delta_t)), and in Algorithm
5 q-hat = q_k + Lap(b) - b log(1/delta_t). Gaps and noise scales are in votes.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.families.top_k.parameters import AnyDelta, AnyEpsilon, AnyScale, DeltaT, Failure, Test
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated


@validated
def threshold_factor(delta_t: DeltaT, noise: Test = "gaussian", *, quantile: bool = False) -> float:
    """By how much the threshold of the test exceeds 1, in units of the noise scale.

    Args:
      delta_t: failure probability of the test.
      noise: "gaussian" for sqrt(2 log(1/delta_t)), or "laplace" for log(1/delta_t), as printed.
      quantile: whether to return the upper delta_t quantile of the noise instead, which is smaller
        and gives the same guarantee.
    """
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
    """The probability P[Z > x] for standard noise Z of this kind."""
    x = np.asarray(x, dtype=np.float64)
    if noise == "gaussian":
        return special.ndtr(-x)
    half = 0.5 * np.exp(-np.abs(x))
    return np.where(x > 0.0, half, 1.0 - half)


@validated
def needed_noise(
    gap: npt.ArrayLike,
    noise_scale: AnyScale,
    delta_t: float,
    noise: str = "gaussian",
    *,
    quantile: bool = False,
) -> np.ndarray:
    """The value that a standard variate must exceed for the test to pass at this gap.

    Args:
      gap: in votes, any shape.
      noise_scale: standard deviation, or Laplace scale, of the noise, in votes.
      delta_t, noise, quantile: as in ``threshold_factor``.

    Returns:
      Of the shape of ``gap``, in units of the noise scale.

    Raises:
      InputError: for a negative gap.
    """
    gap = np.asarray(gap, dtype=np.float64)
    if not np.all(gap >= 0.0):
        raise InputError("gaps must be >= 0; sort the histogram in descending order")
    above = np.maximum(gap, 1.0) - 1.0 if noise == "gaussian" else gap - 1.0
    return (threshold_factor(delta_t, noise, quantile=quantile) - above / noise_scale)[()]


def pass_probability(
    gap: npt.ArrayLike,
    noise_scale: float,
    delta_t: float,
    noise: str = "gaussian",
    *,
    quantile: bool = False,
) -> np.ndarray:
    """The exact probability that the set is released, of the shape of ``gap``.

    Args:
      gap: count number k minus the next, in votes, any shape.
      noise_scale: standard deviation, or Laplace scale, of the noise, in votes.
      delta_t: failure probability of the test.
      noise: "gaussian" (Algorithm 4) or "laplace" (Algorithm 5).
      quantile: whether the threshold is the quantile, see ``threshold_factor``.

    Raises:
      InputError: for a negative gap, or parameters that ``needed_noise`` refuses.
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
    """The probability that the set is not released, accurate where it is small.

    Arguments, shape and errors are those of ``pass_probability``.
    """
    needed = needed_noise(gap, noise_scale, delta_t, noise, quantile=quantile)
    return _upper_tail(-np.asarray(needed), noise)[()]


@validated
def gap_for_success(
    noise_scale: AnyScale,
    delta_t: DeltaT,
    failure: Failure,
    noise: str = "gaussian",
    *,
    quantile: bool = False,
) -> float:
    """The exact least gap, in votes, at which the set is released with chance 1 - failure.

    With s the noise scale it is 1 + s (threshold + upper ``failure`` quantile of the noise), or 0
    if the set is released so often at every gap. The threshold is ``threshold_factor``.

    Args:
      noise_scale, delta_t, noise, quantile: as in ``pass_probability``.
      failure: the chance that the set is not released.
    """
    reach = threshold_factor(delta_t, noise, quantile=quantile)
    reach += threshold_factor(failure, noise, quantile=True)
    if noise == "gaussian":
        return 1.0 + noise_scale * reach if reach > 0.0 else 0.0
    return max(0.0, 1.0 + noise_scale * reach)


@validated
def gap_for_success_printed(
    epsilon: AnyEpsilon, delta: AnyDelta, failure: Failure, noise: Test = "gaussian"
) -> float:
    """The printed gap, in votes, at which the set is released with chance 1 - failure or more.

    Zhu & Wang 2022, Theorem 20. It is 1 + 4 (log(1/delta) + log(1/failure))/epsilon for Gaussian
    noise of scale sqrt(2 log(1.25/delta))/epsilon. For Laplace noise of scale 1/epsilon it is the
    same without the factor 4.

    Args:
      epsilon: privacy parameter that sets the noise.
      delta: failure probability of the test; also delta of the Gaussian noise.
      failure: the chance that the set is not released.
      noise: "gaussian" or "laplace".
    """
    factor = 4.0 if noise == "gaussian" else 1.0
    return 1.0 - factor * (math.log(delta) + math.log(failure)) / epsilon
