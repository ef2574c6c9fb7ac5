"""The noise that sparse vectors prescribe, and its proven epsilon.

Dwork & Roth 2014, Section 3.6; Lyu, Su & Li 2017. General neighbours may move queries in
opposite directions, which costs an "above" twice; monotone neighbours move all of them in
one direction. Sensitivity 1 throughout.
"""

import math

from jaxsel.families.sparse_vector.patterns import SparseNoise, check_noise
from jaxsel.host.errors import InputError, check_integer, check_interval, check_positive
from jaxsel.language.base import Relation


def _cost(relation: Relation) -> float:
    """The cost of one "above", in units of 1/query_scale."""
    if relation is Relation.BASE:
        raise InputError("sparse vectors compare general or monotone neighbours only")
    return 2.0 if relation is Relation.GENERAL else 1.0


def sparse_vector_epsilon(noise: SparseNoise, relation: Relation) -> float:
    """Pure epsilon of a sparse vector that releases answers only.

    1/b1 + w c/b2 for threshold noise Lap(b1) drawn once and query noise Lap(b2), c times
    1/b1 + w/b2 if it is redrawn; w = 2, or 1 for monotone neighbours (Lyu, Su & Li 2017,
    Algorithm 7 and Section 4.3; Dwork & Roth 2014, Theorems 3.23 and 3.25). Infinite
    without query noise.
    """
    noise = check_noise(noise)
    if noise.query_scale == 0.0:
        return math.inf
    draws = noise.cutoff if noise.redrawn else 1
    queries = _cost(relation) * noise.cutoff / noise.query_scale
    return draws / noise.threshold_scale + queries


def above_threshold_noise(epsilon: float, relation: Relation = Relation.GENERAL) -> SparseNoise:
    """Noise of AboveThreshold: Lap(2/epsilon) on the threshold, Lap(4/epsilon) on queries.

    Dwork & Roth 2014, Algorithm 1. Lap(2/epsilon) is enough for queries of monotone
    neighbours.
    """
    return sparse_noise(epsilon, 1, relation)


def sparse_noise(
    epsilon: float, cutoff: int, relation: Relation = Relation.GENERAL, delta: float = 0.0
) -> SparseNoise:
    """Noise of Sparse, that is AboveThreshold restarted after each "above".

    Dwork & Roth 2014, Algorithm 2: Lap(s) on the threshold, Lap(2 s) on queries, with
    s = 2c/epsilon, or sqrt(32 c log(1/delta))/epsilon if delta > 0. For monotone
    neighbours Lap(s) on queries is enough.
    """
    epsilon = check_positive("epsilon", epsilon)
    cutoff = check_integer("cutoff", cutoff, 1)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    scale = 2.0 * cutoff / epsilon
    if delta > 0.0:
        scale = math.sqrt(-32.0 * cutoff * math.log(delta)) / epsilon
    return SparseNoise(scale, _cost(relation) * scale, cutoff, redrawn=True)


def lyu_su_li_noise(
    epsilon: float, cutoff: int, relation: Relation = Relation.GENERAL, share: float = 0.5
) -> SparseNoise:
    """Noise of Lyu, Su & Li 2017, Algorithm 1 (share 1/2) and Algorithm 7.

    Lap(1/epsilon_1) on the threshold, once; Lap(2c/epsilon_2) on queries, Lap(c/epsilon_2)
    for monotone neighbours.

    Args:
      epsilon: epsilon_1 + epsilon_2.
      cutoff: c.
      relation: of neighbours.
      share: epsilon_1/epsilon, in (0, 1).
    """
    epsilon = check_positive("epsilon", epsilon)
    cutoff = check_integer("cutoff", cutoff, 1)
    share = check_interval("share", share, 0.0, 1.0)
    queries = _cost(relation) * cutoff / ((1.0 - share) * epsilon)
    return SparseNoise(1.0 / (share * epsilon), queries, cutoff)


def good_share(cutoff: int, relation: Relation = Relation.GENERAL) -> float:
    """The share epsilon_1/epsilon with the least variance of query minus threshold noise.

    epsilon_1 : epsilon_2 = 1 : (2c)^(2/3), or 1 : c^(2/3) for monotone neighbours (Lyu,
    Su & Li 2017, Section 4.2).
    """
    weight = (_cost(relation) * check_integer("cutoff", cutoff, 1)) ** (2.0 / 3.0)
    return 1.0 / (1.0 + weight)
