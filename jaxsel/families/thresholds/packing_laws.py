"""Liu & Talwar (2019), Theorem D.2: selection must lose a factor of two in epsilon.

K mechanisms answer 0 or 1. On D_0 all succeed with probability 1/(2 sqrt K); on D_j
mechanism j succeeds with 1 - 1/(2 K^alpha) and the others with 1/(2 K^(1+alpha)). All D_j
are Delta = ceil((1/2 + alpha) log(K)/epsilon) neighbours from D_0. A selection that finds
j on D_j with probability K^-alpha, for every j, must find some j on D_0 with 1/K at most.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.host.errors import check_interval, check_positive

_ROUNDING = 1e-12  # tolerance for rounding a distance up to a whole number


class Successes(NamedTuple):
    """Probabilities of the answer 1.

    Attributes:
      start: of every mechanism on D_0.
      winner, loser: of mechanism j, and of the others, on D_j.
      miss: 1 - winner, accurate where it is small.
    """

    start: float
    winner: float
    loser: float
    miss: float


def _candidates(candidates: float) -> float:
    """K as a float, since it may be very large."""
    return check_interval("candidates", candidates, 2.0, 1e150, low_open=False)


def _alpha(alpha: float) -> float:
    return check_interval("alpha", alpha, 0.0, 1.0)


def packing_successes(candidates: float, alpha: float) -> Successes:
    """1/(2 sqrt K), 1 - 1/(2 K^alpha) and 1/(2 K^(1+alpha))."""
    count, alpha = _candidates(candidates), _alpha(alpha)
    miss = 0.5 * count**-alpha
    return Successes(0.5 / math.sqrt(count), 1.0 - miss, miss / count, miss)


def packing_distance(epsilon: float, candidates: float, alpha: float) -> int:
    """Delta = ceil((1/2 + alpha) log(K)/epsilon), how far D_0 is from D_j."""
    length = (0.5 + _alpha(alpha)) * math.log(_candidates(candidates))
    return max(1, math.ceil(length / check_positive("epsilon", epsilon) - _ROUNDING))


def packing_bound(epsilon: float, candidates: float, alpha: float) -> float:
    """(1 - alpha) log(K)/Delta: least privacy parameter of a weakly useful selection."""
    distance = packing_distance(epsilon, candidates, alpha)
    return (1.0 - alpha) * math.log(candidates) / distance


def packing_law(winner: float, loser: float, candidates: float) -> np.ndarray:
    """Law of one run of a random mechanism, best first, Float["4"].

    Outcomes: success of another than j, success of j, failure of another, failure of j:
    ties go to the lowest index, and j is the last one, which is chosen least on D_0.
    """
    count = _candidates(candidates)
    others = (count - 1.0) / count
    law = [others * loser, winner / count, others * (1.0 - loser)]
    return np.array([*law, (1.0 - winner) / count])


def smallest_exponential_epsilon(epsilon: float, candidates: float, alpha: float) -> float:
    """Least parameter of a useful exponential mechanism on these data sets.

    The score of a mechanism is the number of steps from D_0, up for j and down for the
    others; the weights are exp(parameter score/2). It chooses j on D_j with probability
    K^-alpha at log((K - 1)/(K^alpha - 1))/Delta, which the bound allows at best.
    """
    count, alpha = _candidates(candidates), _alpha(alpha)
    distance = packing_distance(epsilon, count, alpha)
    return (math.log(count - 1.0) - math.log(math.expm1(alpha * math.log(count)))) / (distance)
