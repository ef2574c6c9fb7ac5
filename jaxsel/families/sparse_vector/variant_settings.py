"""The noise of the six sparse vectors of Lyu, Su & Li 2017, Figure 1.

Algorithms 1 (theirs) and 2 (Dwork & Roth 2014) have the epsilon they claim; Algorithm 4 (Lee &
Clifton 2014) has a larger one; 3 (Roth 2011), 5 (Stoddard et al. 2014) and 6 (Chen et al. 2015)
have no finite epsilon that holds for every number of queries.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from jaxsel.families.sparse_vector.bounds import lyu_su_li_noise, sparse_noise
from jaxsel.families.sparse_vector.parameters import Cutoff, Epsilon
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.language.base import Relation
from jaxsel.language.signature import validated


class Variant(NamedTuple):
    """One of the six sparse vectors.

    Attributes:
      number: of the algorithm in the figure.
      name: its authors.
      design: (epsilon, cutoff, queries) -> its noise.
      releases_values: whether "above" comes with the noisy answer that was compared.
      limited: whether it stops after ``cutoff`` answers "above".
      proven: (epsilon, cutoff, relation) -> the pure epsilon that is proven of it for every
        number of queries; infinite if there is none.
    """

    number: int
    name: str
    design: Callable[[float, int, int], SparseNoise]
    releases_values: bool
    limited: bool
    proven: Callable[[float, int, Relation], float]


@validated
def _halves(epsilon: Epsilon, query_units: float, cutoff: Cutoff) -> SparseNoise:
    """Lap(2/epsilon) on the threshold, once, and Lap(query_units/epsilon) on queries."""
    return SparseNoise(2.0 / epsilon, query_units / epsilon, cutoff)


@validated
def _lee_clifton(epsilon: Epsilon, cutoff: Cutoff, queries: int) -> SparseNoise:
    del queries
    return SparseNoise(4.0 / epsilon, 4.0 / (3.0 * epsilon), cutoff)


@validated
def _lee_clifton_epsilon(epsilon: Epsilon, cutoff: Cutoff, relation: Relation) -> float:
    """(1 + 6c)/4 epsilon, or (1 + 3c)/4 epsilon for monotone neighbours (Lyu, Su & Li 2017)."""
    weight = 6.0 if relation is Relation.GENERAL else 3.0
    return (1.0 + weight * cutoff) / 4.0 * epsilon


def _three_quarters(epsilon: float, cutoff: int, relation: Relation) -> float:
    """The printed epsilon, or three quarters of it for monotone neighbours.

    Half of epsilon is the threshold's, and each "above" costs monotone neighbours half as much.
    """
    del cutoff
    return epsilon if relation is Relation.GENERAL else 0.75 * epsilon


def _none(epsilon: float, cutoff: int, relation: Relation) -> float:
    """Infinity: no finite epsilon holds for every number of queries."""
    del epsilon, cutoff, relation
    return math.inf


LYU_SU_LI = Variant(
    1,
    "Lyu, Su & Li",
    lambda epsilon, cutoff, queries: lyu_su_li_noise(epsilon, cutoff),
    False,
    True,
    _three_quarters,
)
DWORK_ROTH = Variant(
    2,
    "Dwork & Roth",
    lambda epsilon, cutoff, queries: sparse_noise(epsilon, cutoff),
    False,
    True,
    _three_quarters,
)
ROTH = Variant(
    3,
    "Roth",
    lambda epsilon, cutoff, queries: _halves(epsilon, 2.0 * cutoff, cutoff),
    True,
    True,
    _none,
)
LEE_CLIFTON = Variant(4, "Lee & Clifton", _lee_clifton, False, True, _lee_clifton_epsilon)
STODDARD = Variant(
    5,
    "Stoddard et al.",
    lambda epsilon, cutoff, queries: _halves(epsilon, 0.0, queries),
    False,
    False,
    _none,
)
CHEN = Variant(
    6,
    "Chen et al.",
    lambda epsilon, cutoff, queries: _halves(epsilon, 2.0, queries),
    False,
    False,
    _none,
)
