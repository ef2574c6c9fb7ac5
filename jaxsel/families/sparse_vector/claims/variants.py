"""Lyu, Su & Li 2017, Figure 1: six published sparse vectors, four of them wrong.

For each of the figure's Algorithms 2 to 6 there is a claim of the epsilon that was published for
it. Where that is wrong, it is refuted on an explicit pair of inputs, and a further claim says what
is true instead. Algorithm 1 is in ``noised_once``.
"""

import functools
import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from jaxsel.families.sparse_vector import patterns, profiles
from jaxsel.families.sparse_vector import variant_settings as variants
from jaxsel.families.sparse_vector.claims.cases import on_long_pairs, on_pairs, some_epsilon, stated
from jaxsel.families.sparse_vector.parameters import Cutoff, Epsilon
from jaxsel.families.sparse_vector.variant_settings import Variant
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid, listed
from jaxsel.language.domains import whole
from jaxsel.language.papers import CHEN, JX, LEE, LSL, ROTH, STODDARD

_FIGURE = "Lyu, Su & Li 2017, Figure 1"
_GENERAL, _MONOTONE = Relation.GENERAL, Relation.MONOTONE
_EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)

Queries = Annotated[int, whole("m", at_least=1)]


def _drawn(variant: Variant, generator, _, names_cutoff: bool = True):
    epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
    noise = variant.design(epsilon, cutoff, cutoff)
    noise = noise._replace(redrawn=variant is variants.DWORK_ROTH)
    if not names_cutoff:
        return {"epsilon": epsilon}, noise, f"c={cutoff}"
    return {"epsilon": epsilon, "cutoff": cutoff}, noise, ""


_dwork_roth = functools.partial(_drawn, variants.DWORK_ROTH)
_lee_clifton = functools.partial(_drawn, variants.LEE_CLIFTON)


def _proven(variant: Variant, relation: Relation) -> Callable[..., float]:
    def evaluate(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 1) -> float:
        """Returns the algorithm's pure epsilon, whatever the number of queries is."""
        return variant.proven(epsilon, cutoff, relation)

    return evaluate


# --- Algorithm 2 ----------------------------------------------------------------------


@on_pairs(functools.partial(_dwork_roth, names_cutoff=False), 40)
@LSL.privacy("SVT-LSL-Alg2", "Figure 1, Algorithm 2 (Dwork & Roth 2014)", _GENERAL, formula=stated)
def two():
    """Algorithm 2, Lap(2c/epsilon) on the threshold, drawn anew after each answer above, and
    Lap(4c/epsilon) on queries, is epsilon-DP."""


@on_pairs(_dwork_roth, 40)
@JX.privacy(
    "SVT-LSL-Alg2-monotone",
    f"for {_FIGURE}, Algorithm 2",
    _MONOTONE,
    formula=_proven(variants.DWORK_ROTH, _MONOTONE),
)
def two_monotone():
    """Algorithm 2 is 3/4 epsilon-DP for monotone neighbours."""


# --- Algorithm 3: released values -----------------------------------------------------


@LSL.privacy("SVT-LSL-Alg3-growth", "on Algorithm 3; exact value this project", _MONOTONE)
def three_growth(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 1, queries: Queries = 30) -> float:
    """Algorithm 3 answers m times "below" and then releases a value at most the threshold e^(m
    epsilon/(2c)) times as often on m + 1 zeros as on (1^m, 0).

    Returns m epsilon/(2c), the privacy loss of this event.
    """
    return epsilon * (queries / (2.0 * cutoff))


@ROTH.privacy(
    "SVT-LSL-Alg3-printed",
    f"as {_FIGURE}, Algorithm 3",
    _GENERAL,
    holds=False,
    correction="It has no finite epsilon for all numbers of queries, not even for "
    "monotone neighbours: SVT-LSL-Alg3-growth.",
    formula=stated,
)
def three_printed():
    """Algorithm 3, which releases the noisy answers that were above, is epsilon-DP."""


_RUNS = ((1.0, 1, 30), (1.0, 2, 30), (0.1, 1, 200), (2.0, 3, 50), (1.0, 1, 1))


@three_growth.equals(listed("epsilon cutoff queries", *_RUNS))
@three_printed.bounds(listed("epsilon queries", (1.0, 3), (1.0, 30), (0.1, 200)), cutoff=1)
def released(epsilon, cutoff, queries):
    """The exact privacy loss of m times "below" and then a value at most the threshold.

    It is the log ratio of the probabilities of this event on m + 1 zeros and on (1^m, 0).
    """
    noise = variants.ROTH.design(epsilon, cutoff, queries + 1)
    # What comes after the first "above" does not matter, so that one is enough. Then pattern 0 is
    # "below" throughout, and pattern 1 ends with an "above" whose value is at most the threshold.
    single = noise._replace(cutoff=1)
    pair = profiles.worst_pair(queries, 1, _MONOTONE)
    logs = [patterns.pattern_law(row, single, [0.0])[1] for row in pair]
    return float(logs[0] - logs[1])


# --- Algorithm 4 ----------------------------------------------------------------------


@LEE.privacy(
    "SVT-LSL-Alg4-printed",
    f"as {_FIGURE}, Algorithm 4",
    _GENERAL,
    holds=False,
    correction="It is (1 + 6c)/4 epsilon-DP: SVT-LSL-Alg4; (1 + 3c)/4 epsilon-DP for "
    "monotone neighbours, hence epsilon-DP for them if c = 1: SVT-LSL-Alg4-monotone.",
    formula=stated,
)
def four_printed():
    """Algorithm 4, Lap(4/epsilon) on the threshold and Lap(4/(3 epsilon)) on queries whatever c is,
    is epsilon-DP."""


@four_printed.bounds(listed("cutoff relation", (1, _GENERAL), (3, _GENERAL), (2, _MONOTONE)))
def worst_pairs(epsilon, cutoff, relation):
    noise = variants.LEE_CLIFTON.design(epsilon, cutoff, 0)
    pair = profiles.worst_pair(30, cutoff, relation)
    return profiles.pair_epsilon(*pair, noise), "worst pair of 30 rising queries"


_SETTINGS = "epsilon of 0.1 to 4 and c up to 3"


@on_long_pairs(_lee_clifton, "(0^1000, 1^c) against (1^1000, 0^c)", _SETTINGS)
@on_pairs(_lee_clifton)
@LSL.privacy(
    "SVT-LSL-Alg4",
    "Figure 1, Algorithm 4",
    _GENERAL,
    formula=_proven(variants.LEE_CLIFTON, _GENERAL),
)
def four():
    """Algorithm 4 is (1 + 6c)/4 epsilon-DP."""


@on_long_pairs(_lee_clifton, "1000 + c zeros against (1^1000, 0^c)", _SETTINGS)
@on_pairs(_lee_clifton)
@LSL.privacy(
    "SVT-LSL-Alg4-monotone",
    "Figure 1, Algorithm 4",
    _MONOTONE,
    formula=_proven(variants.LEE_CLIFTON, _MONOTONE),
)
def four_monotone():
    """Algorithm 4 is (1 + 3c)/4 epsilon-DP for monotone neighbours."""


# --- Algorithm 5: no query noise ------------------------------------------------------


@LSL.privacy("SVT-LSL-Alg5-infinite", "on Algorithm 5", _MONOTONE)
def five_infinite(*, epsilon: Epsilon = 1.0) -> float:
    """Algorithm 5 answers "below, above" with probability (1 - e^(-epsilon/2))/2 on (0, 1), and
    never on (1, 0), or on (1, 1), a monotone neighbour."""
    return -math.expm1(-epsilon / 2.0) / 2.0


# A general and a monotone neighbour of (0, 1).
_NEIGHBOURS = ([1.0, 0.0], [1.0, 1.0])


@STODDARD.privacy(
    "SVT-LSL-Alg5-printed",
    f"as {_FIGURE}, Algorithm 5",
    _GENERAL,
    holds=False,
    correction="Two queries are enough for answers that one of two neighbours never "
    "gives: SVT-LSL-Alg5-infinite.",
    formula=stated,
)
def five_printed():
    """Algorithm 5, which noises the threshold only, is epsilon-DP."""


@five_printed.bounds(grid(second=_NEIGHBOURS))
def two_queries(epsilon, second):
    noise = variants.STODDARD.design(epsilon, 1, 2)
    return profiles.pair_epsilon([0.0, 1.0], second, noise), "against (0, 1)"


@five_infinite.equals(grid(epsilon=_EPSILONS, second=_NEIGHBOURS))
def one_sided(epsilon, second):
    noise = variants.STODDARD.design(epsilon, 1, 2)
    seen, other = (
        math.exp(patterns.pattern_log_probability(row, [False, True], noise))
        for row in ([0.0, 1.0], second)
    )
    yield seen, "below then above, on (0, 1)"
    yield Judged(0.0, other, f"{epsilon=}, below then above, on {second}")


# --- Algorithm 6: no limit ------------------------------------------------------------


def _growth(share: float) -> Callable[..., float]:
    def evaluate(*, epsilon: Epsilon = 1.0, queries: Queries = 30) -> float:
        """Returns a lower bound on the privacy loss of m answers "below" and then m "above"."""
        return share * queries * epsilon

    return evaluate


@LSL.privacy("SVT-LSL-Alg6-growth", "on Algorithm 6", _GENERAL, formula=_growth(0.5))
def six_growth():
    """Algorithm 6 loses at least m epsilon/2 when it answers m times "below" and m times "above",
    on 2m zeros against (1^m, (-1)^m)."""


@JX.privacy("SVT-LSL-Alg6-growth-sharp", "", _GENERAL, formula=_growth(0.75))
def six_growth_sharp():
    """In the event of SVT-LSL-Alg6-growth, Algorithm 6 loses at least 3 m epsilon/4."""


@JX.privacy("SVT-LSL-Alg6-growth-monotone", "", _MONOTONE, formula=_growth(0.375))
def six_growth_monotone():
    """When Algorithm 6 answers m times "below" and m times "above", it loses at least 3 m epsilon/8
    on 2m zeros against (1^m, 0^m), which is a monotone neighbour."""


@CHEN.privacy(
    "SVT-LSL-Alg6-printed",
    f"as {_FIGURE}, Algorithm 6",
    _GENERAL,
    holds=False,
    correction="Its loss grows with the number of queries without limit: "
    "SVT-LSL-Alg6-growth, SVT-LSL-Alg6-growth-monotone.",
    formula=stated,
)
def six_printed():
    """Algorithm 6, which never stops, is epsilon-DP."""


_GROWING = grid(epsilon=[0.01, *_EPSILONS], queries=[1, 2, 5, 20, 60])


@six_growth.bounds_below(_GROWING, relation=_GENERAL)
@six_growth_sharp.bounds_below(_GROWING, relation=_GENERAL)
@six_growth_monotone.bounds_below(_GROWING, relation=_MONOTONE)
@six_printed.bounds(grid(relation=(_GENERAL, _MONOTONE)), queries=30)
def unlimited(epsilon, queries, relation):
    """The exact privacy loss of m answers "below" and then m "above".

    The inputs are 2m zeros, and m ones followed by m times -1, or by m zeros for monotone
    neighbours.
    """
    noise = variants.CHEN.design(epsilon, 1, 2 * queries)
    last = -1.0 if relation is _GENERAL else 0.0
    above = np.repeat([False, True], queries)
    logs = [
        patterns.pattern_log_probability(levels, above, noise)
        for levels in (np.zeros(2 * queries), np.repeat([1.0, last], queries))
    ]
    return logs[0] - logs[1]
