"""The noise that sparse vectors prescribe, and its proven epsilon.

Dwork & Roth 2014, Section 3.6; Lyu, Su & Li 2017. General neighbours may move queries in
opposite directions, so that each "above" costs twice as much as for monotone neighbours, which
move all queries in one direction. Sensitivity 1 throughout.
"""

import math

from jaxsel.families.sparse_vector.parameters import Change, Cutoff, Delta, Epsilon, Share
from jaxsel.families.sparse_vector.patterns import SparseNoise, check_noise
from jaxsel.language.base import Relation
from jaxsel.language.signature import validated


def _cost(relation: Relation) -> float:
    """The epsilon of one "above", in units of 1/query_scale: the w of ``sparse_vector_epsilon``."""
    return 2.0 if relation is Relation.GENERAL else 1.0


@validated
def sparse_vector_epsilon(noise: SparseNoise, relation: Change) -> float:
    """The pure epsilon of a sparse vector that releases "above" and "below", and no values.

    With query noise Lap(b2) it is 1/b1 + w c/b2 if the threshold noise Lap(b1) is drawn once, and
    c (1/b1 + w/b2) if it is drawn anew after each "above". Here w is 2, or 1 for monotone
    neighbours (Lyu, Su & Li 2017, Algorithm 7 and Section 4.3; Dwork & Roth 2014, Theorems 3.23 and
    3.25). Infinite without query noise.
    """
    noise = check_noise(noise)
    if noise.query_scale == 0.0:
        return math.inf
    draws = noise.cutoff if noise.redrawn else 1
    queries = _cost(relation) * noise.cutoff / noise.query_scale
    return draws / noise.threshold_scale + queries


def above_threshold_noise(epsilon: float, relation: Relation = Relation.GENERAL) -> SparseNoise:
    """The noise of AboveThreshold: Lap(2/epsilon) on the threshold, Lap(4/epsilon) on queries.

    Dwork & Roth 2014, Algorithm 1. For monotone neighbours Lap(2/epsilon) on queries is enough.
    """
    return sparse_noise(epsilon, 1, relation)


@validated
def sparse_noise(
    epsilon: Epsilon, cutoff: Cutoff, relation: Change = Relation.GENERAL, delta: Delta = 0.0
) -> SparseNoise:
    """The noise of Sparse, which restarts AboveThreshold after each "above".

    Dwork & Roth 2014, Algorithm 2: Lap(s) on the threshold, Lap(2 s) on queries, with
    s = 2c/epsilon, or sqrt(32 c log(1/delta))/epsilon if delta > 0. For monotone
    neighbours Lap(s) on queries is enough.

    Args:
      epsilon, delta: of all answers together.
      cutoff: c, how many "above" are answered.
      relation: of the neighbours.
    """
    scale = 2.0 * cutoff / epsilon
    if delta > 0.0:
        scale = math.sqrt(-32.0 * cutoff * math.log(delta)) / epsilon
    return SparseNoise(scale, _cost(relation) * scale, cutoff, redrawn=True)


@validated
def lyu_su_li_noise(
    epsilon: Epsilon, cutoff: Cutoff, relation: Change = Relation.GENERAL, share: Share = 0.5
) -> SparseNoise:
    """The noise of the sparse vector whose threshold gets noise only once.

    Lyu, Su & Li 2017, Algorithms 1 (share 1/2) and 7: Lap(1/epsilon_1) on the threshold, and
    Lap(2c/epsilon_2) on queries, or Lap(c/epsilon_2) for monotone neighbours.

    Args:
      epsilon: epsilon_1 + epsilon_2.
      cutoff: c, how many "above" are answered.
      relation: of the neighbours.
      share: epsilon_1/epsilon, the part of the threshold.
    """
    queries = _cost(relation) * cutoff / ((1.0 - share) * epsilon)
    return SparseNoise(1.0 / (share * epsilon), queries, cutoff)


@validated
def good_share(cutoff: Cutoff, relation: Change = Relation.GENERAL) -> float:
    """The share epsilon_1/epsilon with the least variance of query minus threshold noise.

    That is epsilon_1 : epsilon_2 = 1 : (2c)^(2/3), or 1 : c^(2/3) for monotone neighbours (Lyu, Su
    & Li 2017, Sections 4.2 and 4.3), for the noise of ``lyu_su_li_noise``.
    """
    weight = (_cost(relation) * cutoff) ** (2.0 / 3.0)
    return 1.0 / (1.0 + weight)
