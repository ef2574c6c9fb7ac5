"""What any test can learn, read off dominating pairs: upper bounds, all of them.

A test sees the release and says whether the record is in. Its true positive rate at a
false positive rate is at most the trade-off of the pair of that direction; an attacker
chooses the direction, hence the largest over all pairs given.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.single_run.dominating import DominatingPair, pair_delta, pair_tradeoff
from jaxsel.host.errors import InputError

FLOOR = 1e-12
"""What the nearest Gaussian may leave out of a true positive rate, at least."""


def true_positive_rate(
    pairs: Sequence[DominatingPair], false_positive_rate: npt.ArrayLike
) -> np.ndarray:
    """The largest true positive rate of any test, element by element.

    Args:
      pairs: dominating pairs, one a direction.
      false_positive_rate: in [0, 1].

    Raises:
      InputError: if a rate lies outside [0, 1].
    """
    rate = np.asarray(false_positive_rate, dtype=np.float64)
    if not np.all((rate >= 0.0) & (rate <= 1.0)):
        raise InputError(f"false positive rate is {rate}; it must lie in [0, 1]")
    return np.max([pair_tradeoff(pair)(rate) for pair in pairs], axis=0)[()]


def profile(pairs: Sequence[DominatingPair], epsilon: npt.ArrayLike) -> np.ndarray:
    """delta(epsilon) in the worse direction, element by element."""
    levels = np.asarray(epsilon, dtype=np.float64)
    return np.max([pair_delta(pair, levels) for pair in pairs], axis=0)[()]


def advantage(pairs: Sequence[DominatingPair]) -> float:
    """The largest true less false positive rate: the total variation, delta(0)."""
    return min(float(profile(pairs, 0.0)), 1.0)


def _sums(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the first masses, and of the rest: each exact where it is small."""
    return np.cumsum(masses)[:-1], np.cumsum(masses[::-1])[::-1][1:]


def _score(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The normal quantile of a probability given with its complement."""
    with np.errstate(divide="ignore"):
        return np.where(low < 0.5, special.ndtri(low), -special.ndtri(high))


def gaussian_mu(pairs: Sequence[DominatingPair], floor: float = FLOOR) -> float:
    """The least mu whose Gaussian, with ``floor`` added to its rates, dominates.

    No test of the release has a true positive rate above Phi(Phi^-1(x) + mu) + floor at
    false positive rate x. That is a concave function of x, and the trade-off of a pair is
    piecewise linear, so that its vertices decide.

    Args:
      pairs: dominating pairs, one a direction.
      floor: >= 0; mu is inf if a pair has more mass at infinite loss.
    """
    worst = 0.0
    for pair in pairs:
        # From the smallest loss on: as false positive, and as true positive rates.
        falses, false_rest = _sums(pair.first)
        trues, true_rest = _sums(pair.second)
        if falses.size == 0:
            continue
        above = np.maximum(trues - floor, 0.0), np.minimum(true_rest + floor, 1.0)
        reached, spent = _score(*above), _score(falses, false_rest)
        with np.errstate(invalid="ignore"):
            found = np.where(reached == -math.inf, -math.inf, reached - spent)
        worst = max(worst, float(np.nanmax(found)))
    return worst


def floor_of(pairs: Sequence[DominatingPair]) -> float:
    """The least floor at which a Gaussian is asked for: twice what may be lost whole."""
    lost = max(float(np.sum(pair.second[pair.loss == -math.inf], initial=0.0)) for pair in pairs)
    lost = max(lost, *(float(np.sum(pair.first[pair.loss == math.inf])) for pair in pairs))
    return max(FLOOR, 2.0 * lost)
