"""Uniform bounds on the ratio of slopes f'(q)/f'(q') (Koskela, Redberg & Wang 2024).

With f the generating function of K, the best of K runs has density Q f'(q), q being the
mass of the worse outputs. Where log f'(q)/f'(q') is at most a shift for all pairs (q, q')
that one event can have under the base's two laws, the tuned algorithm has
delta(epsilon) <= E[K] base(epsilon - shift) (Theorem 4.1 and f' <= E[K]). Here the shift
comes from the base's profile at one level epsilon_1, q <= e^epsilon_1 q' +
delta(epsilon_1), at its best level; in tradeoff_ratio from the whole trade-off curve.

Any decreasing profile is allowed, also one with steps or kinks: the objective is a sum of
e^epsilon_1, which increases, and a multiple of delta(epsilon_1), which decreases, so their
values at the left and at the right end bound it from below on an interval.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.accounting.single_run.conversions import Profile
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated
from jaxsel.repetitions.parameters import Eta, Gamma, Mean, Rounds
from jaxsel.tuning.parameters import ProperChance

_TOLERANCE = 1e-6  # tolerance of the branch and bound; the local search refines it
_KNOTS = 129
_MOST = 2**15  # intervals kept in the search


class SlopeRatio(NamedTuple):
    """A bound on log f'(q)/f'(q') over all events.

    Attributes:
      shift: the bound, >= 0; inf if there is none.
      level: the epsilon_1 that gives it; NaN where it comes from a trade-off curve.
    """

    shift: float
    level: float


def _least(profile: Profile, weight: float, low: float, high: float) -> tuple[float, float]:
    """Minimises log(e^level + weight delta(level)) over levels in [low, high].

    Branch and bound to _TOLERANCE, for any decreasing profile, then golden-section search
    around the best point. Any result is valid, since the theorems hold at every level.

    Returns:
      The best level and the value there.
    """
    log_weight = math.log(weight)

    def part(level: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return log_weight + np.log(np.asarray(profile(level), dtype=np.float64))

    knots = np.linspace(low, high, _KNOTS) if high > low else np.array([low, low])
    falling = part(knots)
    _check_decreasing(knots, np.exp(falling - log_weight))
    values = np.logaddexp(knots, falling)
    best = int(np.argmin(values))
    level, value = float(knots[best]), float(values[best])
    left, right, falling = knots[:-1], knots[1:], falling[1:]
    width = float(knots[1] - knots[0])
    while True:
        # The level is least at the left end of an interval, delta at the right end.
        keep = np.logaddexp(left, falling) < value - _TOLERANCE
        middle = 0.5 * (left + right)
        keep &= (middle > left) & (middle < right)
        if not np.any(keep) or np.count_nonzero(keep) > _MOST:
            break
        left, middle, right = left[keep], middle[keep], right[keep]
        width *= 0.5
        at_middle = part(middle)
        values = np.logaddexp(middle, at_middle)
        best = int(np.argmin(values))
        if values[best] < value:
            level, value = float(middle[best]), float(values[best])
        falling = np.concatenate([at_middle, falling[keep]])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    if width > 0.0:
        start, end = max(low, level - width), min(high, level + width)
        polished, least = minimise(lambda at: np.logaddexp(at, part(at)), start, end, count=5)
        if least < value - 1e-15 * max(1.0, value):  # more than rounding
            level, value = float(polished), float(least)
    return level, value


def _check_decreasing(levels: np.ndarray, delta: np.ndarray) -> None:
    if not np.all((delta >= 0.0) & (delta <= 1.0 + 1e-9)):
        raise InputError("the profile gives values outside [0, 1]; each must be a delta")
    rise = np.diff(delta) > 1e-9 * delta[1:] + 1e-14
    if np.any(rise):
        at = levels[np.flatnonzero(rise)[0]]
        raise InputError(
            f"the profile increases after epsilon = {at:.6g}; delta must not increase with epsilon"
        )


def _at_zero(profile: Profile) -> float:
    """delta(0), the bound on the total variation distance."""
    delta = float(profile(np.asarray(0.0)))
    if not 0.0 <= delta <= 1.0 + 1e-9:
        raise InputError(f"the profile is {delta} at epsilon = 0; it must lie in [0, 1]")
    return min(delta, 1.0)


@validated
def negative_binomial_ratio(profile: Profile, eta: Eta, gamma: Gamma) -> SlopeRatio:
    """The shift of epsilon for a truncated negative binomial K, by Theorem 5.2 at its best level.

    (eta + 1) min log(e^level + ((1 - gamma)/gamma) delta(level)) over level >= 0.

    Args:
      profile: real epsilon -> delta, in both directions, element by element; it must
        not increase.
      eta, gamma: of K ~ D(eta, gamma).

    Raises:
      InputError: if the profile increases.
    """
    odds = (1.0 - gamma) / gamma
    # Beyond this level e^level alone exceeds the sum at level 0.
    high = math.log1p(odds * _at_zero(profile))
    level, least = _least(profile, odds, 0.0, high)
    return SlopeRatio((eta + 1.0) * least, level)


def _feasible(profile: Profile, probability: float) -> float:
    """Least level >= log(1 + p/(1 - p) delta(level)), rounded up."""
    odds = probability / (1.0 - probability)

    def need(level: float) -> float:
        return math.log1p(odds * float(profile(np.asarray(level))))

    low, high = 0.0, math.log1p(odds * _at_zero(profile))
    if need(0.0) <= 0.0:
        return 0.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        low, high = (low, middle) if middle >= need(middle) else (middle, high)


@validated
def binomial_ratio(profile: Profile, count: Rounds, probability: ProperChance) -> SlopeRatio:
    """The shift of epsilon for a binomial K, by Theorem 5.7 at its best feasible level.

    (count - 1) log(1 + p (e^level - 1) + p delta(level)), over levels >= log(1 + p/(1 -
    p) delta(level)). For the profile of two laws the sum e^level + delta(level) does
    not decrease, and the best level is the least feasible one; a profile that is only
    an upper bound may have steps, and a better level.

    Args:
      profile: as in negative_binomial_ratio.
      count, probability: of K ~ Bin(count, probability).
    """
    low = _feasible(profile, probability)
    high = math.log(math.exp(low) + float(profile(np.asarray(low))))
    level, least = _least(profile, 1.0, low, high)
    shift = (count - 1) * math.log1p(probability * math.expm1(least))
    return SlopeRatio(shift, level)


@validated
def poisson_ratio(profile: Profile, mean: Mean) -> SlopeRatio:
    """The shift of epsilon for a Poisson K, by Corollary 5.8 at its best level.

    mean (e^level - 1 + delta(level)) over level >= 0. For the profile of two laws the
    best level is 0: mean times the total variation distance.

    Args:
      profile: as in negative_binomial_ratio.
      mean: of K ~ Poisson(mean).
    """
    level, least = _least(profile, 1.0, 0.0, math.log1p(_at_zero(profile)))
    return SlopeRatio(mean * math.expm1(least), level)
