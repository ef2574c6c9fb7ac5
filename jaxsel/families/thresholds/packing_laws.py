"""Liu & Talwar (2019), Theorem D.2: selection must lose a factor of two in epsilon.

K mechanisms answer 0 or 1. On D_0 all succeed with probability 1/(2 sqrt K); on D_j
mechanism j succeeds with 1 - 1/(2 K^alpha) and the others with 1/(2 K^(1+alpha)). All D_j
are Delta = ceil((1/2 + alpha) log(K)/epsilon) neighbours from D_0. A selection that finds
j on D_j with probability K^-alpha, for every j, must find some j on D_0 with 1/K at most.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.families.thresholds.parameters import Alpha, Candidates, MechanismEpsilon
from jaxsel.language.signature import validated

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


@validated
def packing_successes(candidates: Candidates, alpha: Alpha) -> Successes:
    """The chances of each of K mechanisms to answer 1, on D_0 and on D_j.

    1/(2 sqrt K), 1 - 1/(2 K^alpha) and 1/(2 K^(1+alpha)).
    """
    miss = 0.5 * candidates**-alpha
    return Successes(0.5 / math.sqrt(candidates), 1.0 - miss, miss / candidates, miss)


@validated
def packing_distance(epsilon: MechanismEpsilon, candidates: Candidates, alpha: Alpha) -> int:
    """How many neighbours D_0 is from D_j: Delta = ceil((1/2 + alpha) log(K)/epsilon).

    Args:
      epsilon: of each mechanism.
      candidates: K, how many mechanisms there are; a float, since it may be very large.
      alpha: a selection is weakly useful if it finds j on D_j with chance K^-alpha.
    """
    length = (0.5 + alpha) * math.log(candidates)
    return max(1, math.ceil(length / epsilon - _ROUNDING))


@validated
def packing_bound(epsilon: MechanismEpsilon, candidates: Candidates, alpha: Alpha) -> float:
    """The least privacy parameter of a weakly useful selection, (1 - alpha) log(K)/Delta.

    Args:
      epsilon, candidates, alpha: as of ``packing_distance``.
    """
    distance = packing_distance(epsilon, candidates, alpha)
    return (1.0 - alpha) * math.log(candidates) / distance


@validated
def packing_law(winner: float, loser: float, candidates: Candidates) -> np.ndarray:
    """The law of one run of a random mechanism, best outcome first, Float["4"].

    Outcomes: success of another than j, success of j, failure of another, failure of j:
    ties go to the lowest index, and j is the last one, which is chosen least on D_0.

    Args:
      winner, loser: chances of j, and of each other mechanism, to answer 1.
      candidates: K.
    """
    others = (candidates - 1.0) / candidates
    law = [others * loser, winner / candidates, others * (1.0 - loser)]
    return np.array([*law, (1.0 - winner) / candidates])


@validated
def smallest_exponential_epsilon(
    epsilon: MechanismEpsilon, candidates: Candidates, alpha: Alpha
) -> float:
    """The least parameter of an exponential mechanism that is weakly useful on D_0 and all D_j.

    The score of a mechanism is the number of steps from D_0, up for j and down for the
    others; the weights are exp(parameter score/2). It chooses j on D_j with probability
    K^-alpha at log((K - 1)/(K^alpha - 1))/Delta, which the bound allows at best.

    Args:
      epsilon, candidates, alpha: as of ``packing_distance``.
    """
    distance = packing_distance(epsilon, candidates, alpha)
    useful = math.expm1(alpha * math.log(candidates))
    return (math.log(candidates - 1.0) - math.log(useful)) / distance
