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
from jaxsel.host.errors import InputError, check_probability_vector

# Below it e^loss is far from the largest float64, and masses e^-loss from the least.
_LARGE_LOSS = 600.0


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
    """(P', P): dominates the output laws in the reverse order."""
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


def pair_profile(pair: DominatingPair) -> Callable[[npt.ArrayLike], np.ndarray]:
    """epsilon -> ``pair_delta``; what is the same at every epsilon is computed once."""
    finite = np.isfinite(pair.loss)
    loss, singular = pair.loss[finite], np.sum(pair.first[pair.loss == np.inf])
    if loss.size == 0:
        return lambda epsilon: np.full(np.shape(epsilon), singular)[()]
    # e^loss times P' of this loss and larger. Beyond e^709 only their product is a number, and
    # there P' is below the least one: it follows from P.
    if loss[-1] < _LARGE_LOSS:
        above = np.cumsum(pair.second[finite][::-1])[::-1] * np.exp(loss)
    else:
        with np.errstate(divide="ignore"):
            second, first = np.log(pair.second[finite]), np.log(pair.first[finite]) - loss
        masses = np.where(loss < _LARGE_LOSS, second, np.maximum(first, second))
        above = np.exp(np.logaddexp.accumulate(masses[::-1])[::-1] + loss)
    falls = np.append(-above[1:] * np.expm1(-np.diff(loss)), singular)
    knots = np.cumsum(falls[::-1])[::-1]  # the divergence at each loss

    def delta(epsilon: npt.ArrayLike) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        next_up = np.minimum(np.searchsorted(loss, epsilon), loss.size - 1)
        gap = np.minimum(epsilon - loss[next_up], 0.0)
        rest = -above[next_up] * np.expm1(gap)
        return (knots[next_up] + rest)[()]

    return delta


def pair_delta(pair: DominatingPair, epsilon: npt.ArrayLike) -> np.ndarray:
    """Hockey-stick divergence of P from P' at any real epsilon, element by element.

    Linear in e^epsilon between losses, with the slope -P'(larger losses): a sum of
    positive terms only.
    """
    return pair_profile(pair)(epsilon)


def _cumulated(masses: np.ndarray) -> np.ndarray:
    """Cumulative sums from 0 to 1, each summed from the nearer end."""
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
    """Masses of P and P' at losses above and below each chord between knots.

    Attributes:
      first_above, second_above: Float[np.ndarray, "chords"], masses at larger losses.
      first_below, second_below: likewise, at smaller losses.
    """

    first_above: np.ndarray
    second_above: np.ndarray
    first_below: np.ndarray
    second_below: np.ndarray


class _Knots(NamedTuple):
    """Points of the profile: epsilons, increasing, deltas and 1 - deltas.

    Divergences are of P from P' at epsilon >= 0, and of P' from P below 0. Both delta and 1
    - delta are stored since the smaller one may be more accurate than 1 minus the other.
    """

    epsilon: np.ndarray
    delta: np.ndarray
    rest: np.ndarray

    def at(self, places: np.ndarray | slice) -> "_Knots":
        """The knots at these indices."""
        return _Knots(self.epsilon[places], self.delta[places], self.rest[places])


def _fall(left: _Knots, right: _Knots) -> np.ndarray:
    """left.delta - right.delta, from delta or 1 - delta, whichever is more accurate."""
    return np.where(left.rest + right.rest > 1.0, left.delta - right.delta, right.rest - left.rest)


@np.errstate(over="ignore", invalid="ignore")  # overflow in branches that are not selected
def _chords(left: _Knots, right: _Knots) -> _Tails:
    """The chords from knots to others on their right."""
    # With r = e^epsilon, h = c - s r: c and s are the masses of P and P' above the chord.
    # In 1/r it is the same with P and P' exchanged and masses below the chord.
    shrink = -np.expm1(left.epsilon - right.epsilon)
    rise, drop = np.exp(right.epsilon) * shrink, np.exp(-left.epsilon) * shrink
    ahead, behind = left.epsilon >= 0.0, right.epsilon <= 0.0
    slope_ahead = _fall(left, right) / rise
    part_ahead = slope_ahead * np.exp(left.epsilon)
    slope_behind = _fall(right, left) / drop
    part_behind = slope_behind * np.exp(-right.epsilon)
    # h at the left end is 1 - e^epsilon (1 - delta), and similarly at the right end.
    second = (_fall(left, right) - left.rest * np.expm1(left.epsilon)) / rise
    first = (_fall(right, left) - right.rest * np.expm1(-right.epsilon)) / drop

    def chosen(one: np.ndarray, other: np.ndarray, across: np.ndarray) -> np.ndarray:
        return np.where(ahead, one, np.where(behind, other, across))

    return _Tails(
        chosen(
            left.delta + part_ahead,
            1.0 - slope_behind,
            right.delta + second * np.exp(right.epsilon),
        ),
        chosen(slope_ahead, right.rest - part_behind, second),
        chosen(left.rest - part_ahead, slope_behind, first),
        chosen(
            1.0 - slope_ahead, right.delta + part_behind, left.delta + first * np.exp(-left.epsilon)
        ),
    )


@np.errstate(over="ignore", invalid="ignore")
def _between(left: _Tails, right: _Tails, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masses of P and P' at the knots where chords meet; negative if not convex."""
    second = left.second_above - right.second_above
    first = right.first_below - left.first_below
    ahead = epsilon > 0.0
    return (
        np.where(ahead, np.exp(epsilon) * second, first),
        np.where(ahead, second, np.exp(-epsilon) * first),
    )


def _is_above(knots: _Knots, place: np.ndarray, left: np.ndarray, right: np.ndarray):
    """Whether knots lie on or above the chords of others on their left and right."""
    here = knots.at(place)
    chords = _chords(knots.at(left), here), _chords(here, knots.at(right))
    return ~(_between(*chords, here.epsilon)[1] > 0.0)


def _on_hull(knots: _Knots, kept: np.ndarray) -> np.ndarray:
    """Which of the knots at these places are on the lower convex hull of them."""
    sweep = 0
    while kept.size > 2:
        above = _is_above(knots, kept[1:-1], kept[:-2], kept[2:])
        if not np.any(above):
            break
        # At most every second point is removed at a time, so that rounding errors do not
        # add up.
        above[sweep % 2 :: 2] = False
        kept = kept[np.concatenate([[True], ~above, [True]])]
        sweep += 1
    return kept


_STRIDES = (64, 8)  # the hull of a few knots excludes most of the others


def _lower_hull(knots: _Knots) -> _Knots:
    """The knots on the lower convex hull."""
    kept = np.arange(knots.epsilon.size)
    for stride in _STRIDES:
        some = _on_hull(knots, np.append(kept[:-1:stride], kept[-1]))
        on_hull = np.zeros(knots.epsilon.size, dtype=bool)
        on_hull[some] = True
        others = kept[~on_hull[kept]]
        after = np.searchsorted(some, others)
        on_hull[others] = ~_is_above(knots, others, some[after - 1], some[after])
        kept = np.flatnonzero(on_hull)
    return knots.at(_on_hull(knots, kept))


LARGEST_EPSILON = 700.0  # of the epsilons: e^epsilon must be a float64


def pair_from_points(
    epsilon: npt.ArrayLike, delta: npt.ArrayLike, reversed_delta: npt.ArrayLike | None = None
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
                "the profile is not decreasing: a larger epsilon needs a delta that is not larger"
            )
    # Both lists bound one convex h that does not increase: each caps the other.
    caps = _cap(levels, others), _cap(levels, deltas)
    rests = np.maximum(1.0 - deltas, caps[0][1])
    other_rests = np.maximum(1.0 - others, caps[1][1])
    deltas, others = np.minimum(deltas, caps[0][0]), np.minimum(others, caps[1][0])
    # A point beyond e^700 is not used: less knowledge is a larger, still valid, pair.
    ahead = (0.0 < levels) & (levels <= LARGEST_EPSILON)
    # The total variation has no direction: h(1) is at most any other value of either.
    total = _Knots(
        np.zeros(1),
        np.array([min(cap[0] for cap in caps)]),
        np.array([max(cap[1] for cap in caps)]),
    )
    middle = slice(None) if levels[0] == 0.0 or not np.any(ahead) else slice(0)
    parts = (
        _Knots(-levels, others, other_rests).at(np.flatnonzero(ahead)[::-1]),
        total.at(middle),
        _Knots(levels, deltas, rests).at(ahead),
    )
    return _assemble(_Knots(*map(np.concatenate, zip(*parts, strict=True))))


def _cap(levels: np.ndarray, reversed_delta: np.ndarray) -> tuple[float, float]:
    """Least h at -levels, which is at least h at any epsilon >= 0; and 1 - that."""
    ratio = np.exp(-levels)
    cap = np.min(ratio * reversed_delta - np.expm1(-levels))
    return float(cap), float(np.max(ratio * (1.0 - reversed_delta)))


def _assemble(knots: _Knots) -> DominatingPair:
    """The pair whose profile is the lower hull, constant beyond the last knots."""
    hull = _lower_hull(knots)
    chords = _chords(hull.at(slice(None, -1)), hull.at(slice(1, None)))
    # Beyond the ends only infinite losses are left: of P' alone below, of P alone above.
    low, high = knots.delta[0], knots.delta[-1]
    ends = ((1.0, high), (knots.rest[0], 0.0), (0.0, knots.rest[-1]), (low, 1.0))
    left = [np.append(start, each) for (start, _), each in zip(ends, chords, strict=True)]
    right = [np.append(each, end) for (_, end), each in zip(ends, chords, strict=True)]
    first, second = _between(_Tails(*left), _Tails(*right), hull.epsilon)
    loss = np.concatenate([[-np.inf], hull.epsilon, [np.inf]])
    first = np.maximum(np.concatenate([[0.0], first, [high]]), 0.0)
    second = np.maximum(np.concatenate([[low], second, [0.0]]), 0.0)
    keep = (first > 0.0) | (second > 0.0)
    return DominatingPair(loss[keep], first[keep], second[keep])


_NEGLIGIBLE = 1e-30  # a delta at which the knots may end
_FARTHEST = 500.0  # the largest epsilon searched: e^epsilon must stay finite


def _reach(profile: Callable[[np.ndarray], np.ndarray]) -> float:
    """The epsilon at which a profile becomes negligible or constant."""
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
    """The dominating pair of a profile, by connecting the dots.

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
    profiles = (profile,) if reversed_profile is None else (profile, reversed_profile)
    reach = max(_reach(each) for each in profiles)
    knots = np.linspace(0.0, reach, count) if reach > 0.0 else np.zeros(1)
    values = [np.asarray(each(knots), dtype=np.float64) for each in profiles]
    for each, one in zip(values, profiles, strict=True):
        ends = np.append(each, one(np.asarray(_FARTHEST)))
        if np.any(np.diff(ends) > 1e-9 * ends[:-1] + 1e-14):
            raise InputError(
                "the profile is not decreasing: a larger epsilon needs a delta that is not larger"
            )
    # Rounding may break the order by a few units in the last place: round upwards.
    values = [np.maximum.accumulate(each[::-1])[::-1] for each in values]
    return pair_from_points(knots, values[0], values[-1])
