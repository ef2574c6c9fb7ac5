"""The least uniform bound on log f'(q)/f'(q') that a trade-off curve allows, for any K.

A result of this project. An event of mass x = 1 - q on one side has mass at most T(x) on
the other, and f' increases, so that the bound is the supremum over x of log a(x)/b(x),
a = f'(1 - x), b = f'(1 - T(x)). T is concave, hence a and b are convex and decrease: on a
cell a is at most its chord, and b at least the chords of the neighbouring cells
prolonged. The ratio of two lines is monotone, so that the largest ratio of these bounds
is at an end of the cell or where the extended chords meet; cells whose bound exceeds the
best value so far are cut in four. Where b is not convex, as at the crossing of two
trade-off curves of which the larger one counts, only the monotonicity of a and b is used.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.profile_ratios import SlopeRatio

_TOLERANCE = 1e-8
_KNOTS = 1025
_PARTS = np.array([0.25, 0.5, 0.75])  # relative positions at which a cell is cut
_KINK = 1e-6  # a relative change of slope too small to matter
_MOST = 2**18  # knots
# Range of logits of x; at its ends x and T(x) are numerically 0 and 1.
_LOGITS = (-300.0, 36.0)


def _steps(logit: np.ndarray) -> np.ndarray:
    """Differences of expit, exact near both ends."""
    low, high = special.expit(logit), special.expit(-logit)
    return np.where(logit[1:] > 0.0, high[:-1] - high[1:], np.diff(low))


def _cell_bounds(step: np.ndarray, log_a: np.ndarray, log_b: np.ndarray) -> np.ndarray:
    """Upper bounds on log a/b in each cell between the knots."""
    scale = float(np.max(log_a))
    a, b = np.exp(log_a - scale), np.exp(log_b - scale)
    # Equal knots in float64 have no chord: NaN, which does not count as convex.
    length = np.where(step > 0.0, step, math.nan)
    slope = np.diff(b) / length
    bound = log_a[:-1] - log_b[1:]  # a and b decrease
    # Neighbouring chords extended into the inner cells, and their intersections.
    left, right, width = slope[:-2], slope[2:], length[1:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = (b[2:-1] - b[1:-2] - right * width) / (left - right)
    meet = np.where(np.isfinite(meet), np.clip(meet, 0.0, width), 0.0)
    least = np.maximum(b[1:-2] + left * meet, b[2:-1] - right * (width - meet))
    least = np.maximum(least, b[2:-1])
    chord = a[1:-2] + np.diff(a)[1:-1] * (meet / width)
    # Where both underflow, only the first-order bound is used.
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.log(chord) - np.log(least)
    ends = log_a - log_b
    inner = np.maximum(inner, np.maximum(ends[1:-2], ends[2:-1]))
    # Chords of a convex function have increasing slopes, up to rounding.
    rises = slope[1:] >= slope[:-1] * (1.0 + _KINK)
    convex = rises[:-1] & rises[1:]
    bound[1:-1] = np.where(convex, np.fmin(bound[1:-1], inner), bound[1:-1])
    return bound


def tradeoff_ratio(
    tradeoff: Callable[[np.ndarray], np.ndarray], repetitions: Repetitions
) -> SlopeRatio:
    """The least shift of epsilon for any K: sup over x of log f'(1 - x) - log f'(1 - T(x)).

    At most the shifts of Theorems 5.2 and 5.7 and of Corollary 5.8 of Koskela, Redberg &
    Wang (2024), which bound T by one line each.

    Args:
      tradeoff: x -> largest Q'(S) over events with Q(S) <= x, in both directions,
        element by element; concave, as every trade-off is, or the largest of a few
        concave curves.
      repetitions: law of K.

    Returns:
      An upper bound on the supremum, within 1e-8 of it (1e-6 where many x nearly reach
      it); inf if K has infinite mean or is never 1, so that f'(1) = inf or f'(0) = 0.
    """
    slope = repetitions.log_pgf_derivative_tail
    if not (np.isfinite(slope(1.0)) and np.isfinite(slope(0.0))):
        return SlopeRatio(math.inf, math.nan)

    def logs(logit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.where(logit <= _LOGITS[0], 0.0, special.expit(logit))
        x = np.where(logit >= _LOGITS[1], 1.0, x)
        other = np.clip(np.asarray(tradeoff(x), dtype=np.float64), x, 1.0)
        return np.asarray(slope(x)), np.asarray(slope(other))

    logit = np.linspace(*_LOGITS, _KNOTS)
    log_a, log_b = logs(logit)
    while True:
        bound = _cell_bounds(_steps(logit), log_a, log_b)
        best = float(np.max(log_a - log_b))
        wide = np.flatnonzero(bound > best + _TOLERANCE)
        if not wide.size or logit.size + _PARTS.size * wide.size > _MOST:
            return SlopeRatio(max(0.0, best, float(np.max(bound))), math.nan)
        left, width = logit[wide], logit[wide + 1] - logit[wide]
        inner = left[:, None] + width[:, None] * _PARTS
        new = (np.diff(inner) > 0.0).all(axis=1) & (inner[:, 0] > left)
        if not np.any(new):  # no float64 in between
            return SlopeRatio(max(0.0, best, float(np.max(bound))), math.nan)
        place, inner = np.repeat(wide[new] + 1, _PARTS.size), inner[new].ravel()
        new_a, new_b = logs(inner)
        logit = np.insert(logit, place, inner)
        log_a = np.insert(log_a, place, new_a)
        log_b = np.insert(log_b, place, new_b)
