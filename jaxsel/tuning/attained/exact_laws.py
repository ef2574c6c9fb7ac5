"""Exact laws of the best of K draws, for finite bases and for noisy candidates."""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.host.errors import InputError, check_finite, check_probability_vector
from jaxsel.language.domains import choice, number
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def tuned_law(q_best_first: npt.ArrayLike, repetitions: Repetitions) -> np.ndarray:
    """Law of the best of K independent draws from a finite base law.

    The outcome i is the best with probability f(1 - better_i) - f(1 - better_i - q_i),
    f being the generating function of K and better_i the mass of better outcomes. Where
    that difference cancels, it is the integral of f' over the interval instead.

    Args:
      q_best_first: probabilities of the outcomes, best first.
      repetitions: law of K.

    Returns:
      Float[np.ndarray, "outcomes+1"], summing to 1; the last entry is P[K = 0].

    Raises:
      InputError: if q_best_first is not a probability vector.
    """
    q = check_probability_vector("q_best_first", q_best_first)
    q = q / q.sum()
    # Masses from the best down and from the worst up, each accurate where it is small.
    edges = np.minimum(np.concatenate([[0.0], np.cumsum(q)]), 1.0)
    worse = np.minimum(np.concatenate([[0.0], np.cumsum(q[::-1])]), 1.0)[::-1]
    gap = repetitions.pgf_gap(edges)
    near, far = repetitions.pgf_tail(edges), repetitions.pgf(worse)
    rest = np.where(edges < 0.5, near, far)
    law = np.where(gap[1:] < rest[:-1], np.diff(gap), -np.diff(rest))
    # The difference relative to its larger term; where it is small the integrand is smooth,
    # and 24 nodes are exact up to rounding.
    kept = law / np.maximum(np.minimum(gap[1:], rest[:-1]), 5e-324)
    for i in np.flatnonzero((kept < 0.01) & (q > 0)):
        u = np.minimum(edges[i] + q[i] * (1.0 + _NODES) / 2.0, 1.0)
        slope = repetitions.pgf_derivative_tail(u)
        law[i] = q[i] / 2.0 * float(np.sum(_WEIGHTS * slope))
    law = np.where(q > 0, np.maximum(law, 0.0), 0.0)
    return np.append(law, repetitions.probability_zero)


def _laplace(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log density and log upper tail of the standard Laplace law."""
    density = -np.abs(z) - math.log(2.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        tail = np.where(z > 0, density, np.log1p(-0.5 * np.exp(np.minimum(z, 0.0))))
    return density, tail


def _gaussian(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log density and log upper tail of the standard normal law."""
    return -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi), special.log_ndtr(-z)


_NOISES: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
}


@validated
def tuned_index_law(
    scores: npt.ArrayLike,
    noise_scale: Annotated[
        float, number("of the noise on the scores", at_least=1e-6, at_most=1e12)
    ],
    repetitions: Repetitions,
    *,
    noise: Annotated[str, choice(_NOISES)] = "laplace",
    tolerance: float = 1e-11,
) -> np.ndarray:
    """Law of the candidate chosen as the best of K noisy scores.

    Each draw is a uniform candidate with its score plus fresh noise. With F the
    distribution function of one noisy score, candidate j is chosen with probability
    integral of f'(F(y)) density_j(y)/m dy, by adaptive quadrature.

    Args:
      scores: Float[np.ndarray, "candidates"], noiseless scores.
      noise_scale: scale parameter of the noise: b of Laplace(b), standard
        deviation of the Gaussian.
      repetitions: law of K.
      noise: "laplace" or "gaussian".
      tolerance: absolute error allowed in each probability.

    Returns:
      Float[np.ndarray, "candidates+1"]; the last entry is P[K = 0].

    Raises:
      InputError: for scores that are not one list of finite numbers.
    """
    scores = check_finite("scores", scores)
    if scores.ndim != 1:
        raise InputError("scores must be a list of numbers, one a candidate")
    log_parts = _NOISES[noise]
    levels, counts = np.unique(scores / noise_scale, return_counts=True)
    share = counts / counts.sum()
    log_share = np.log(share)

    def better(y: float) -> float:
        _, tails = log_parts(y - levels)
        return min(1.0, math.exp(float(np.logaddexp.reduce(tails + log_share))))

    def density(y: float) -> np.ndarray:
        densities, _ = log_parts(y - levels)
        slope = float(repetitions.log_pgf_derivative_tail(better(y)))
        return np.exp(densities + log_share + slope)

    # The best score is outside of these ends with probability below tolerance / 100.
    low, high, step = float(levels[0]) - 1.0, float(levels[-1]) + 1.0, 1.0
    while float(repetitions.pgf_gap(better(high))) > tolerance / 100.0:
        high, step = high + step, step * 1.5
    step = 1.0
    least = repetitions.probability_zero
    while float(repetitions.pgf_tail(better(low))) - least > tolerance / 100.0:
        low, step = low - step, step * 1.5
    # The mass sits where 1 - f(1 - u) falls from 1 to 0: split at its quantiles as
    # well.
    points = sorted({*levels.tolist(), *_quantiles(better, repetitions, low, high)})
    from scipy import integrate  # imported late: it takes a fifth of a second

    law, _ = integrate.quad_vec(
        density,
        low,
        high,
        epsabs=tolerance / 10.0,
        epsrel=1e-13,
        norm="max",
        points=[y for y in points if low < y < high],
        limit=20000,
    )
    by_level = dict(zip(levels.tolist(), law / counts, strict=True))
    chosen = [by_level[value] for value in (scores / noise_scale).tolist()]
    return np.append(chosen, repetitions.probability_zero)


def _quantiles(
    better: Callable[[float], float], repetitions: Repetitions, low: float, high: float
) -> list[float]:
    """Scores above which the best of K lies with probability 0.99, ..., 0.01."""
    found = []
    for target in (0.99, 0.5, 0.01):
        left, right = low, high
        for _ in range(40):
            middle = (left + right) / 2.0
            above = float(repetitions.pgf_gap(better(middle))) > target
            left, right = (middle, right) if above else (left, middle)
        found.append(left)
    return found
