"""Dominating pairs: the worst pair of laws that a privacy profile allows.

A pair (P, P') dominates a pair of output laws if its hockey-stick divergence is at least
theirs at every real epsilon; then so is every f-divergence, and the trade-off (Blackwell
1953; Zhu, Dong & Wang 2022). As a function of the ratio r = e^epsilon the divergence
h(r) is convex, and convex piecewise linear functions are those of pairs on finitely many
outcomes. So the chords between points on or above the profile give a dominating pair
("connect the dots", Doroshenko et al. 2022): everything computed from it is a bound.

Reversed laws have g(1/r) = (h(r) - 1 + r)/r. Above r = 1 the code works with h and with
masses of large losses, below with g and with masses of small ones: both are then exact to
relative rounding, however small.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.numerics.hull import upper_hull
from jaxsel.errors import InputError, check_probability_vector


class DominatingPair(NamedTuple):
    """Two laws on finitely many outcomes, one for each value of the privacy loss.

    Attributes:
      loss: Float[np.ndarray, "atoms"], log(P/P'), strictly increasing; -inf and inf
        may stand at the ends.
      first: Float[np.ndarray, "atoms"], masses of P; 0 where the loss is -inf.
      second: Float[np.ndarray, "atoms"], masses of P'; 0 where the loss is inf.
    """

    loss: np.ndarray
    first: np.ndarray
    second: np.ndarray


def reversed_pair(pair: DominatingPair) -> DominatingPair:
    """(P', P): what dominates the two neighbours taken the other way round."""
    return DominatingPair(-pair.loss[::-1], pair.second[::-1], pair.first[::-1])


def pair_from_laws(first: npt.ArrayLike, second: npt.ArrayLike) -> DominatingPair:
    """The pair of two laws on the same finite set, outcomes of equal loss merged.

    Raises:
      InputError: if one is not a probability vector or the lengths differ.
    """
    p = check_probability_vector("first", first)
    r = check_probability_vector("second", second)
    if p.shape != r.shape:
        raise InputError(f"first has {p.size} outcomes, second {r.size}; give as many")
    seen = (p > 0) | (r > 0)
    p, r = p[seen], r[seen]
    with np.errstate(divide="ignore"):
        loss, place = np.unique(np.log(p) - np.log(r), return_inverse=True)
    return DominatingPair(loss, np.bincount(place, p), np.bincount(place, r))


def pair_delta(pair: DominatingPair, epsilon: npt.ArrayLike) -> np.ndarray:
    """Hockey-stick divergence of P from P' at any real epsilon, element by element.

    Linear in e^epsilon between losses, with the slope -P'(larger losses): a sum of
    positive terms only.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    finite = np.isfinite(pair.loss)
    loss, singular = pair.loss[finite], np.sum(pair.first[pair.loss == np.inf])
    if loss.size == 0:
        return np.full(epsilon.shape, singular)[()]
    above = np.cumsum(pair.second[finite][::-1])[::-1]  # P' of this loss and larger
    falls = np.append(
        -above[1:] * np.exp(loss[1:]) * np.expm1(-np.diff(loss)), singular
    )
    knots = np.cumsum(falls[::-1])[::-1]  # the divergence at each loss
    next_up = np.minimum(np.searchsorted(loss, epsilon), loss.size - 1)
    gap = np.minimum(epsilon - loss[next_up], 0.0)
    rest = -above[next_up] * np.exp(loss[next_up]) * np.expm1(gap)
    return (knots[next_up] + rest)[()]


def _cumulated(masses: np.ndarray) -> np.ndarray:
    """0, the sums of the first masses, and 1: from whichever end is the nearer."""
    up = np.concatenate([[0.0], np.cumsum(masses)])
    down = np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]])
    return np.where(up < 0.5, up, 1.0 - np.minimum(down, 1.0))


def pair_tradeoff(*pairs: DominatingPair) -> Callable[[np.ndarray], np.ndarray]:
    """x -> the largest P'(S) over randomised events with P(S) <= x.

    An event takes the outcomes of smallest loss first; piecewise linear and concave.

    Args:
      pairs: one, or those of both directions: then the least concave function that is at
        least the trade-off of each.
    """
    low = np.concatenate([_cumulated(pair.first) for pair in pairs])
    high = np.concatenate([_cumulated(pair.second) for pair in pairs])
    vertices = upper_hull(low, high)
    knots, values = low[vertices], high[vertices]

    def tradeoff(x: np.ndarray) -> np.ndarray:
        return np.clip(np.interp(x, knots, values), x, 1.0)[()]

    return tradeoff


def _log_moments(powers: np.ndarray, loss: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """log E[e^(power loss)] for each finite power; NaN for others."""
    found = np.full(powers.size, math.nan)
    rows = max(1, 2**20 // loss.size)  # at a time, to stay in memory
    for start in range(0, powers.size, rows):
        part = powers[start : start + rows, None]
        part = np.where(np.isfinite(part), part, math.nan)
        found[start : start + rows] = special.logsumexp(part * loss, b=mass, axis=1)
    return found


def pair_renyi(pair: DominatingPair) -> Callable[[np.ndarray], np.ndarray]:
    """order -> Renyi divergence of P from P'; inf where P has mass that P' lacks."""
    finite = np.isfinite(pair.loss) & (pair.first > 0)
    loss, mass = pair.loss[finite], pair.first[finite]
    singular = bool(np.any(pair.first[pair.loss == np.inf] > 0))

    def renyi(order: np.ndarray) -> np.ndarray:
        order = np.asarray(order, dtype=np.float64)
        flat = order.ravel()
        if singular:
            return np.full(order.shape, math.inf)[()]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = _log_moments(flat - 1.0, loss, mass) / (flat - 1.0)
        found = np.where(flat == 1.0, np.sum(mass * loss), found)
        found = np.where(np.isinf(flat), loss[-1], found)
        return found.reshape(order.shape)[()]

    return renyi


# --- From a profile -------------------------------------------------------------------


class _Tails(NamedTuple):
    """What the chord between two knots says: P and P' of losses beyond the chord.

    ``above`` are the masses of larger losses; ``below`` those of smaller ones.
    """

    above: tuple[float, float]
    below: tuple[float, float]


class _Knot(NamedTuple):
    """A point of the profile: epsilon, delta and 1 - delta.

    Of P from P' at epsilon >= 0, of P' from P below. Of delta and 1 - delta, the smaller
    may be more accurate than what the other gives.
    """

    epsilon: float
    delta: float
    rest: float


def _fall(left: _Knot, right: _Knot) -> float:
    """left.delta - right.delta, from whichever is the more accurate."""
    if left.rest + right.rest > 1.0:
        return left.delta - right.delta
    return right.rest - left.rest


def _chord(left: _Knot, right: _Knot) -> _Tails:
    # With r = e^epsilon, h = c - s r: c and s are the masses of P and P' above the chord.
    # In 1/r it is the same with P and P' exchanged and masses below the chord.
    shrink = -math.expm1(left.epsilon - right.epsilon)
    rise, drop = math.exp(right.epsilon) * shrink, math.exp(-left.epsilon) * shrink
    if left.epsilon >= 0.0:
        slope = _fall(left, right) / rise
        part = slope * math.exp(left.epsilon)
        return _Tails((left.delta + part, slope), (left.rest - part, 1.0 - slope))
    if right.epsilon <= 0.0:
        slope = _fall(right, left) / drop
        part = slope * math.exp(-right.epsilon)
        return _Tails((1.0 - slope, right.rest - part), (slope, right.delta + part))
    # h at the left end is 1 - e^epsilon (1 - delta), and the like at the right end.
    second = (_fall(left, right) - left.rest * math.expm1(left.epsilon)) / rise
    first = (_fall(right, left) - right.rest * math.expm1(-right.epsilon)) / drop
    return _Tails(
        (right.delta + second * math.exp(right.epsilon), second),
        (first, left.delta + first * math.exp(-left.epsilon)),
    )


def _between(left: _Tails, right: _Tails, epsilon: float) -> tuple[float, float]:
    """Masses (P, P') at the knot where two chords meet; negative if not convex."""
    if epsilon > 0.0:
        second = left.above[1] - right.above[1]
        return math.exp(epsilon) * second, second
    first = right.below[0] - left.below[0]
    return first, math.exp(-epsilon) * first


def _lower_hull(knots: list[_Knot]) -> tuple[list[_Knot], list[_Tails]]:
    """The knots on the lower convex hull, and the chords between them."""
    hull, chords = [knots[0]], []
    for knot in knots[1:]:
        chord = _chord(hull[-1], knot)
        while chords and _between(chords[-1], chord, hull[-1].epsilon)[1] <= 0.0:
            hull.pop()
            chords.pop()
            chord = _chord(hull[-1], knot)
        hull.append(knot)
        chords.append(chord)
    return hull, chords


LARGEST_EPSILON = 700.0  # of the epsilons: e^epsilon must be a float64


def pair_from_points(
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike,
    reversed_delta: npt.ArrayLike | None = None,
) -> DominatingPair:
    """The pair that dominates all pairs with these (epsilon, delta) guarantees.

    No convex profile through or below the points exceeds the lower convex hull of the
    points (with h(0) = 1), and the hull is the profile of the pair returned.

    Args:
      epsilon: Float["points"], >= 0, strictly increasing.
      delta: Float["points"], upper bounds on the divergence of P from P' there.
      reversed_delta: the same for P' from P; ``delta`` again if not given.

    Raises:
      InputError: if an epsilon is negative, they do not increase, a delta is outside
        [0, 1] or the deltas increase.
    """
    levels = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
    deltas = np.atleast_1d(np.asarray(delta, dtype=np.float64))
    others = deltas if reversed_delta is None else np.atleast_1d(reversed_delta)
    if levels.ndim != 1 or levels.size == 0 or levels.shape != deltas.shape:
        raise InputError("a profile needs one delta for each epsilon, and at least one")
    if not np.all(np.isfinite(levels)) or levels[0] < 0 or np.any(np.diff(levels) <= 0):
        raise InputError("the epsilons of a profile must be >= 0 and increase")
    for values in (deltas, others):
        if values.shape != levels.shape or not np.all((values >= 0) & (values <= 1)):
            raise InputError("the deltas of a profile must lie in [0, 1]")
        if np.any(np.diff(values) > 0):
            raise InputError(
                "the profile is not decreasing: a larger epsilon needs a delta that is "
                "not larger"
            )
    # Both lists bound one convex h that does not increase: each caps the other.
    caps = _cap(levels, others), _cap(levels, deltas)
    rests = np.maximum(1.0 - deltas, caps[0][1])
    other_rests = np.maximum(1.0 - others, caps[1][1])
    deltas, others = np.minimum(deltas, caps[0][0]), np.minimum(others, caps[1][0])
    ahead = zip(levels.tolist(), deltas.tolist(), rests.tolist(), strict=True)
    behind = zip((-levels).tolist(), others.tolist(), other_rests.tolist(), strict=True)
    # A point beyond e^700 is not used: less knowledge is a larger, still valid, pair.
    behind = [_Knot(*at) for at in behind if -LARGEST_EPSILON <= at[0] < 0.0]
    ahead = [_Knot(*at) for at in ahead if 0.0 < at[0] <= LARGEST_EPSILON]
    # The total variation has no direction: h(1) is at most any other value of either.
    total = _Knot(0.0, min(cap[0] for cap in caps), max(cap[1] for cap in caps))
    middle = [total] if levels[0] == 0.0 or not ahead else []
    return _assemble([*behind[::-1], *middle, *ahead])


def _cap(levels: np.ndarray, reversed_delta: np.ndarray) -> tuple[float, float]:
    """Least h at -levels, which is at least h at any epsilon >= 0; and 1 - that."""
    ratio = np.exp(-levels)
    cap = np.min(ratio * reversed_delta - np.expm1(-levels))
    return float(cap), float(np.max(ratio * (1.0 - reversed_delta)))


def _assemble(knots: list[_Knot]) -> DominatingPair:
    """The pair whose profile is the lower hull, constant beyond the last knots."""
    last, least = knots[-1], knots[0]
    # Beyond the ends only infinite losses are left.
    end = _Tails((last.delta, 0.0), (last.rest, 1.0))
    start = _Tails((1.0, least.rest), (0.0, least.delta))
    hull, chords = _lower_hull(knots)
    chords = [start, *chords, end]
    loss = [knot.epsilon for knot in hull]
    masses = [_between(chords[i], chords[i + 1], level) for i, level in enumerate(loss)]
    low, high = chords[0].below[1], chords[-1].above[0]
    if low > 0.0:
        loss, masses = [-math.inf, *loss], [(0.0, low), *masses]
    if high > 0.0:
        loss, masses = [*loss, math.inf], [*masses, (high, 0.0)]
    table = np.maximum(np.array(masses), 0.0)
    keep = (table > 0.0).any(axis=1)
    return DominatingPair(np.array(loss)[keep], table[keep, 0], table[keep, 1])


_NEGLIGIBLE = 1e-30  # a delta at which the knots may end
_FARTHEST = 500.0  # the largest epsilon searched: e^epsilon must stay finite


def _reach(profile: Callable[[np.ndarray], np.ndarray]) -> float:
    """Where a profile becomes negligible, or constant."""
    floor = max(_NEGLIGIBLE, float(profile(np.asarray(_FARTHEST))) * (1.0 + 1e-9))
    if float(profile(np.asarray(0.0))) <= floor:
        return 0.0
    low, high = 0.0, 1.0
    while float(profile(np.asarray(high))) > floor and high < _FARTHEST:
        low, high = high, min(2.0 * high, _FARTHEST)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if float(profile(np.asarray(middle))) > floor:
            low = middle
        else:
            high = middle
    return high


def pair_from_profile(
    profile: Callable[[np.ndarray], np.ndarray],
    reversed_profile: Callable[[np.ndarray], np.ndarray] | None = None,
    *,
    count: int = 4096,
) -> DominatingPair:
    """Connects the dots of a profile.

    Args:
      profile: epsilon >= 0 -> an upper bound on the divergence of P from P', element by
        element, not increasing.
      reversed_profile: the same for P' from P; ``profile`` again if not given.
      count: number of knots in each direction, equally spaced up to where both profiles
        are below 1e-30 or constant; with n the relative excess over a profile that falls
        like e^(-c epsilon) is about (c reach / n)^2 / 8.

    Raises:
      InputError: as pair_from_points.
    """
    other = profile if reversed_profile is None else reversed_profile
    reach = max(_reach(profile), _reach(other))
    knots = np.linspace(0.0, reach, count) if reach > 0.0 else np.zeros(1)
    values = [np.asarray(each(knots), dtype=np.float64) for each in (profile, other)]
    for each, one in zip(values, (profile, other), strict=True):
        ends = np.append(each, one(np.asarray(_FARTHEST)))
        if np.any(np.diff(ends) > 1e-9 * ends[:-1] + 1e-14):
            raise InputError(
                "the profile is not decreasing: a larger epsilon needs a delta that is "
                "not larger"
            )
    # Rounding may break the order by a few units in the last place: round upwards.
    values = [np.maximum.accumulate(each[::-1])[::-1] for each in values]
    return pair_from_points(knots, *values)
