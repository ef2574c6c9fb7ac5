"""Liu & Talwar (2019), Theorem D.2: selection must lose a factor of two in epsilon.

K mechanisms answer 0 or 1, where 1 is a success. On data D_0 each succeeds with probability
1/(2 sqrt K); on D_j mechanism j succeeds with probability 1 - 1/(2 K^alpha) and each of the others
with probability 1/(2 K^(1+alpha)). Delta = ceil((1/2 + alpha) log(K)/epsilon) steps between
neighbours lead from D_0 to each D_j. Some j is chosen on D_0 with probability at most 1/K; a
selection that chooses this j on D_j with probability K^-alpha gains a factor of K^(1 - alpha) on
the way, so that some step costs (1 - alpha) log(K)/Delta.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.families.thresholds.parameters import Alpha, Candidates, MechanismEpsilon
from jaxsel.language.signature import validated

_ROUNDING = 1e-12  # tolerance for rounding a distance up to a whole number


class Successes(NamedTuple):
    """The probabilities of the answer 1 in the proof of Theorem D.2.

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
    """The chances of the K mechanisms to answer 1, on D_0 and on D_j.

    They are 1/(2 sqrt K) for each on D_0, 1 - 1/(2 K^alpha) for mechanism j on D_j, and
    1/(2 K^(1+alpha)) for the others on D_j.
    """
    miss = 0.5 * candidates**-alpha
    return Successes(0.5 / math.sqrt(candidates), 1.0 - miss, miss / candidates, miss)


@validated
def packing_distance(epsilon: MechanismEpsilon, candidates: Candidates, alpha: Alpha) -> int:
    """How many steps between neighbours lead from D_0 to D_j.

    It is Delta = ceil((1/2 + alpha) log(K)/epsilon).

    Args:
      epsilon: of each mechanism.
      candidates: K, how many mechanisms there are; a float, since it may be very large.
      alpha: a selection is weakly useful if it finds j on D_j with chance K^-alpha.
    """
    length = (0.5 + alpha) * math.log(candidates)
    return max(1, math.ceil(length / epsilon - _ROUNDING))


@validated
def packing_bound(epsilon: MechanismEpsilon, candidates: Candidates, alpha: Alpha) -> float:
    """A lower bound on the epsilon of a weakly useful selection, (1 - alpha) log(K)/Delta.

    Args:
      epsilon, candidates, alpha: as of ``packing_distance``.
    """
    distance = packing_distance(epsilon, candidates, alpha)
    return (1.0 - alpha) * math.log(candidates) / distance


@validated
def packing_law(winner: float, loser: float, candidates: Candidates) -> np.ndarray:
    """The law of one run of a uniformly random mechanism, best outcome first, Float["4"].

    The outcomes are success of a mechanism other than j, success of j, failure of another, and
    failure of j. Ties go to the lowest index, and j is the last mechanism, which is the one that a
    selection with such ties chooses least often on D_0.

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
    """The least epsilon of an exponential mechanism that chooses j on D_j with chance K^-alpha.

    After s steps from D_0 to D_j the score of mechanism j is s, and that of the others -s; a
    mechanism is chosen with weight exp(epsilon score/2). The least such epsilon is log((K -
    1)/(K^alpha - 1))/Delta, hardly more than ``packing_bound``.

    Args:
      epsilon, candidates, alpha: as of ``packing_distance``.
    """
    distance = packing_distance(epsilon, candidates, alpha)
    useful = math.expm1(alpha * math.log(candidates))
    return (math.log(candidates - 1.0) - math.log(useful)) / distance
