"""Rigorous bounds on slopes of the generating function of K along a trade-off curve.

An event of mass x under Q has mass at most T(x) under Q'. Every bound here on the best of
K runs is a supremum over x that grows with a(x) = f'(1 - x) and falls with
b(x) = f'(1 - T(x)), f being the generating function of K. Both are convex and do not
increase: f' is a power series with coefficients >= 0, and T is concave. So between grid
points a is at most its chord, and b at least the extended chords of the neighbouring cells;
the bounds give one vertex per cell. The points of a cover, joined by
straight lines, thus lie to the upper left of the curve (b, a): a supremum over the cover
bounds the one over all x, and exceeds it by O(1/count^2).
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from scipy import special

from jaxsel.accounting.numerics.hull import upper_hull
from jaxsel.language.domains import whole
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.parameters import check_finite_mean

COUNT = 32768  # grid points for the mass x of an event
_LOGIT_END = 40.0  # logit of the largest x; the least is e^-40 / E[K]
_SPREAD = 0.3  # weight of the logit of x itself in the spacing of the grid
# Ranges of log slopes relative to E[K], with their weights in the spacing; very small
# slopes matter only for delta = 0 and for Renyi bounds.
_DEPTHS = ((-70.0, 0.7), (-250.0, 0.3), (-700.0, 0.05))
_FAR = 60.0  # total weight of still smaller slopes
_LINEAR = -600.0  # slopes above this are handled without logarithms
_FEW = 2000  # up to so many kinks of a trade-off become grid points


class SlopeCover(NamedTuple):
    """Points to the upper left of the curve (b(x), a(x)), ordered along it.

    Attributes:
      log_first: Float[np.ndarray, "points"], bounds on log a(x)/E[K] from above, not
        increasing.
      log_second: Float[np.ndarray, "points"], bounds on log b(x)/E[K] from below.
      log_mean: log E[K].
    """

    log_first: np.ndarray
    log_second: np.ndarray
    log_mean: float


def _logits(
    slopes: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], mean: float, count: int
) -> np.ndarray:
    """Logits of x, dense where the log slopes change."""
    trial = np.linspace(-_LOGIT_END - math.log(max(mean, 1.0)), _LOGIT_END, 2048)
    steps = _SPREAD * np.diff(trial)
    for log_slope in slopes(special.expit(trial)):
        for least, weight in _DEPTHS:
            steps += weight * np.abs(np.diff(np.maximum(log_slope, least)))
        deep = np.clip(log_slope, -1e300, _DEPTHS[-1][0])
        fall = float(deep[0] - deep[-1])
        steps += min(_DEPTHS[-1][1], _FAR / max(fall, 1.0)) * np.abs(np.diff(deep))
    travelled = np.append(0.0, np.cumsum(steps))
    return np.interp(np.linspace(0.0, travelled[-1], count), travelled, trial)


def _grid(logits: np.ndarray, kinks: np.ndarray) -> np.ndarray:
    """Masses x in [0, 1] with these logits and, if few, the kinks of T."""
    kinks = kinks[(kinks > 0.0) & (kinks < 1.0)]
    if 0 < kinks.size < _FEW:
        step = np.diff(logits).min()
        # Kinks closer than this are merged; the code uses their chord anyway.
        kinks = np.unique(np.round(special.logit(kinks) / step, 6)) * step
        kinks = kinks[(kinks > logits[0]) & (kinks < logits[-1])]
        if kinks.size:
            place = np.clip(np.searchsorted(kinks, logits), 1, max(kinks.size - 1, 1))
            near = np.abs(logits - kinks[np.minimum(place, kinks.size - 1)])
            near = np.minimum(near, np.abs(logits - kinks[place - 1]))
            logits = np.sort(np.append(logits[near > 0.25 * step], kinks))
    return np.concatenate([[0.0], special.expit(logits), [1.0]])


def _vertices(
    x: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One point per cell, to the upper left of the curve (second, first) inside it."""
    width = np.diff(x)
    slope = np.diff(second) / width
    left, right = np.append(np.inf, slope[:-1]), np.append(slope[1:], np.inf)
    # The intersection of the neighbours' chords of b; at an end there is only one
    # neighbour.
    with np.errstate(invalid="ignore", divide="ignore"):
        along = (second[1:] - second[:-1] - right * width) / (left - right)
    along = np.where(np.isfinite(along), np.clip(along, 0.0, width), 0.5 * width)
    along = np.where(np.isinf(left), 0.0, np.where(np.isinf(right), width, along))
    with np.errstate(invalid="ignore"):
        from_left = np.where(np.isinf(left), -np.inf, second[:-1] + left * along)
        from_right = second[1:] - right * (width - along)
        from_right = np.where(np.isinf(right), -np.inf, from_right)
    # b does not increase, so that its value at the right end bounds it too.
    low = np.maximum(np.maximum(from_left, from_right), second[1:])
    chord = first[:-1] + (first[1:] - first[:-1]) * (along / width)
    # The last cell, one unit in the last place wide, uses monotonicity only.
    low[-1], chord[-1] = second[-1], first[-2]
    return np.minimum(low, second[:-1]), chord


@validated
def slope_cover(
    tradeoff: Callable[[np.ndarray], np.ndarray],
    repetitions: Repetitions,
    *,
    kinks: np.ndarray | None = None,
    count: Annotated[int, whole("grid points", at_least=16, at_most=1e6)] = COUNT,
) -> SlopeCover:
    """The points to the upper left of the curve of slopes, for one trade-off and one law of K.

    Args:
      tradeoff: x -> largest Q'(S) over events with Q(S) <= x; concave.
      repetitions: law of K.
      kinks: where the trade-off is known to have kinks; they become grid points.
      count: grid points for x.

    Raises:
      InputError: if K is always 0 or its mean is infinite.
    """
    check_finite_mean(repetitions)
    mean = repetitions.mean
    log_mean = math.log(mean)

    def slopes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        other = np.clip(np.asarray(tradeoff(x), dtype=np.float64), x, 1.0)
        first = np.asarray(repetitions.log_pgf_derivative_tail(x))
        second = np.asarray(repetitions.log_pgf_derivative_tail(other))
        return first - log_mean, second - log_mean

    logits = _logits(slopes, mean, count)
    x = np.unique(_grid(logits, np.zeros(0) if kinks is None else kinks))
    log_first, log_second = slopes(x)
    # Rounding must not break monotonicity.
    log_first = np.maximum.accumulate(log_first[::-1])[::-1]
    log_second = np.minimum.accumulate(log_second)
    low, chord = _vertices(x, np.exp(log_first), np.exp(log_second))
    # Where slopes underflow, a cell uses monotonicity only.
    far = log_second[1:] < _LINEAR
    with np.errstate(divide="ignore"):
        low = np.where(far, log_second[1:], np.log(low))
        chord = np.where(far, log_first[:-1], np.log(chord))
    # Each vertex is inserted between the ends of its cell.
    points = np.empty((2, 2 * x.size - 1))
    points[:, 0::2] = log_first, log_second
    points[:, 1::2] = chord, low
    return SlopeCover(points[0], points[1], log_mean)


def log_ratio_supremum(cover: SlopeCover) -> Callable[[np.ndarray], np.ndarray]:
    """A bound on sup_x (share log a(x) - log b(x)), for any share; a and b are over E[K].

    Along a straight line log a exceeds its chord by at most log((r - 1)/log r) - 1 +
    log(r)/(r - 1), r being the ratio of the ends, and -log b is below its chord; so the
    values at the ends, increased by this, are a bound.

    Args:
      cover: from slope_cover.

    Returns:
      A function of share >= 1, element by element; inf everywhere if a is positive where
      b vanishes.
    """
    seen = cover.log_first > -math.inf
    if np.any((cover.log_second[1:] == -math.inf) & seen[:-1]):
        return lambda share: np.full(np.shape(share), math.inf)[()]
    log_a, log_b = cover.log_first[seen], cover.log_second[seen]
    fall = log_a[:-1] - log_a[1:]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.expm1(fall)
        exact = np.log(ratio / fall) - 1.0 + fall / ratio
    # fall^2/8 is an upper bound, used where the exact form would cancel.
    rise = np.where(fall < 1e-3, np.minimum(fall, 1.0) ** 2 / 8.0, exact)
    seconds = np.concatenate([log_b[:-1], log_b[1:]])
    firsts = np.concatenate([log_a[:-1] + rise, log_a[1:] + rise])
    hull = upper_hull(seconds, firsts)
    b, a = seconds[hull], firsts[hull]
    slopes = np.diff(a) / np.diff(b)

    def supremum(share: np.ndarray) -> np.ndarray:
        share = np.asarray(share, dtype=np.float64)
        place = np.searchsorted(-slopes, -1.0 / share)
        return (share * a[place] - b[place])[()]

    return supremum
