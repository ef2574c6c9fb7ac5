"""Upper bounds on the success of membership inference, from dominating pairs.

A test sees the release and guesses whether a record is in the data. Its true positive rate
at a false positive rate is at most the trade-off of the pair of that direction; an attacker
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
"""The default ``floor`` of ``gaussian_mu``."""


def true_positive_rate(
    pairs: Sequence[DominatingPair], false_positive_rate: npt.ArrayLike
) -> np.ndarray:
    """An upper bound on the true positive rate of any test, at each false positive rate.

    Args:
      pairs: dominating pairs, one per direction.
      false_positive_rate: in [0, 1].

    Raises:
      InputError: if a rate lies outside [0, 1].
    """
    rate = np.asarray(false_positive_rate, dtype=np.float64)
    if not np.all((rate >= 0.0) & (rate <= 1.0)):
        raise InputError(f"false positive rate is {rate}; it must lie in [0, 1]")
    return np.max([pair_tradeoff(pair)(rate) for pair in pairs], axis=0)[()]


def profile(pairs: Sequence[DominatingPair], epsilon: npt.ArrayLike) -> np.ndarray:
    """The privacy profile: the larger delta(epsilon) of the pairs, at each epsilon."""
    levels = np.asarray(epsilon, dtype=np.float64)
    return np.max([pair_delta(pair, levels) for pair in pairs], axis=0)[()]


def advantage(pairs: Sequence[DominatingPair]) -> float:
    """An upper bound on the advantage of any test, its true minus its false positive rate.

    It is delta(0), the larger total variation distance of the pairs, which are dominating pairs,
    one per direction.
    """
    return min(float(profile(pairs, 0.0)), 1.0)


def _sums(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative sums and their complements, each accurate where it is small."""
    return np.cumsum(masses)[:-1], np.cumsum(masses[::-1])[::-1][1:]


def _score(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The normal quantile of a probability that is given with its complement."""
    with np.errstate(divide="ignore"):
        return np.where(low < 0.5, special.ndtri(low), -special.ndtri(high))


def gaussian_mu(pairs: Sequence[DominatingPair], floor: float = FLOOR) -> float:
    """The least mu for which mu-GDP holds, up to ``floor`` in the true positive rate.

    No test of the release has a true positive rate above Phi(Phi^-1(x) + mu) + floor at
    false positive rate x. That is a concave function of x, and the trade-off of a pair is
    piecewise linear, so checking its vertices is sufficient.

    Args:
      pairs: dominating pairs, one per direction.
      floor: >= 0; mu is inf if a pair has more mass at infinite loss.
    """
    worst = 0.0
    for pair in pairs:
        # False and true positive rates of the tests that accept from the smallest loss on.
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
    """The ``floor`` for ``gaussian_mu``: FLOOR, or, if larger, twice the mass at infinite loss."""
    lost = max(float(np.sum(pair.second[pair.loss == -math.inf], initial=0.0)) for pair in pairs)
    lost = max(lost, *(float(np.sum(pair.first[pair.loss == math.inf])) for pair in pairs))
    return max(FLOOR, 2.0 * lost)
