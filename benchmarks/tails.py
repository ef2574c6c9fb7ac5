"""Goal 8, second half: the accuracy of tails, by inverting the sampler instead of sampling.

For each side of the uniform, the noise is a monotone function of the integer whose digits are
its random words. The probability that the sampler gives to a tail is therefore found exactly,
by bisection over that integer.
"""

from collections.abc import Callable

import jax
import numpy as np
from scipy import stats

from benchmarks.results import GoalResult, at_most, note
from jaxsel.kernel import noise

_LAWS = {
    "gumbel": stats.gumbel_r,
    "laplace": stats.laplace,
    "exponential": stats.expon,
    "gaussian": stats.norm,
}
_BITS = {"fast": 32, "tail": 64}


def _noise_of_integers(law: str, precision: str) -> Callable[[np.ndarray], np.ndarray]:
    """The noise as a function of the integer made of its words, most significant word first."""
    transform = jax.jit(noise.from_words(law, precision))

    def of(integers: np.ndarray) -> np.ndarray:
        low = integers.astype(np.uint32)
        if precision == "fast":
            return np.asarray(transform(low, low)[0])
        return np.asarray(transform((integers >> np.uint64(32)).astype(np.uint32), low)[0])

    return of


def _share_beyond(values, points: np.ndarray, upper: bool, bits: int) -> np.ndarray:
    """The share of all integers whose variate lies beyond each point."""

    def beyond(integers):
        found = values(integers).astype(np.float64)
        return found > points if upper else found < points

    total = np.zeros(points.size)
    half = np.uint64(1) << np.uint64(bits - 1)
    for base in (np.uint64(0), half):
        start = np.full(points.size, base)
        # The integers of this half that lie beyond a point are its first ones, or its last ones.
        first = beyond(start)
        low = np.zeros(points.size, np.uint64)
        high = np.full(points.size, half)
        while np.any(low < high):
            middle = low + (high - low) // np.uint64(2)
            same = beyond(start + middle) == first
            open_ = low < high
            low = np.where(open_ & same, middle + np.uint64(1), low)
            high = np.where(open_ & ~same, middle, high)
        total += np.where(first, low, half - low).astype(np.float64)
    return total / 2.0**bits


def log_tail_errors(law: str, precision: str, upper: bool, deepest: float) -> np.ndarray:
    """log(probability that the sampler gives a tail / its true probability).

    Args:
      law: noise law, see ``jaxsel.kernel.noise``.
      precision: "fast" or "tail".
      upper: whether the tails are upper or lower ones.
      deepest: the least tail probability.

    Returns:
      Float["tails"], for tail probabilities from 0.1 downwards by factors of 10^(1/4).
    """
    wanted = 10.0 ** np.arange(-1.0, np.log10(deepest) - 1e-9, -0.25)
    exact = _LAWS[law]
    points = exact.isf(wanted) if upper else exact.ppf(wanted)
    share = _share_beyond(_noise_of_integers(law, precision), points, upper, _BITS[precision])
    with np.errstate(divide="ignore"):
        return np.log(share / wanted)


def _worst(precision: str, deepest: float) -> tuple[float, str]:
    """The largest error of a log-probability, or of a log-ratio of two in the same tail."""
    worst, where = 0.0, ""
    for law in _LAWS:
        for upper in (True, False):
            errors = log_tail_errors(law, precision, upper, deepest)
            error = max(float(np.ptp(errors)), float(np.abs(errors).max()))
            if error >= worst:
                worst, where = error, f"{law}, {'upper' if upper else 'lower'} tail"
    return worst, where


def measure() -> list[GoalResult]:
    """The bias of log-ratios of every noise in both tails, down to probability 1e-8."""
    error, where = _worst("tail", 1e-8)
    fast_error, fast_where = _worst("fast", 1e-6)
    method = "by bisection over the words"
    return [
        at_most(
            8,
            'log-ratio bias of precision "tail" down to p = 1e-8',
            error,
            1e-3,
            f"worst: {where}; {method}",
            "natural log",
        ),
        note(
            8,
            'log-ratio bias of precision "fast" down to p = 1e-6',
            fast_error,
            f"worst: {fast_where}; {method}",
        )._replace(unit="natural log"),
    ]
