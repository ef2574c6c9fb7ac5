"""Lyu, Su & Li 2017, Figure 1: six published sparse vectors, four of them wrong.

Algorithms 2 to 6 of the figure (1 is in ``noised_once``), each with the epsilon that was
claimed for it, refuted on an explicit pair of inputs where it is wrong, and with what is
true instead.
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from jaxsel.families.sparse_vector import patterns, profiles
from jaxsel.families.sparse_vector import variant_settings as variants
from jaxsel.families.sparse_vector.claims.cases import (
    Cutoff,
    Drawn,
    Epsilon,
    pair_cases,
    stated,
    tight_cases,
)
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.families.sparse_vector.variant_settings import Variant
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, Point, grid, listed
from jaxsel.language.domains import whole
from jaxsel.language.papers import CHEN, JX, LEE, LSL, ROTH, STODDARD

_FIGURE = "Lyu, Su & Li 2017, Figure 1"
_GENERAL, _MONOTONE = Relation.GENERAL, Relation.MONOTONE
_EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)

Queries = Annotated[int, whole("m", at_least=1)]


def _drawn(variant: Variant, *, names_cutoff: bool = True) -> Drawn:
    def draw(generator: np.random.Generator) -> tuple[Point, SparseNoise, str]:
        epsilon = float(generator.choice(_EPSILONS))
        cutoff = int(generator.integers(1, 4))
        noise = variant.design(epsilon, cutoff, cutoff)
        noise = noise._replace(redrawn=variant is variants.DWORK_ROTH)
        if not names_cutoff:
            return {"epsilon": epsilon}, noise, f"c={cutoff}"
        return {"epsilon": epsilon, "cutoff": cutoff}, noise, ""

    return draw


def _proven(variant: Variant, relation: Relation) -> Callable[..., float]:
    def evaluate(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 1) -> float:
        """Its pure epsilon for such neighbours, for any number of queries."""
        return variant.proven(epsilon, cutoff, relation)

    return evaluate


# --- Algorithm 2 ----------------------------------------------------------------------


two = LSL.privacy(
    "SVT-LSL-Alg2",
    "Figure 1, Algorithm 2 (Dwork & Roth 2014)",
    _GENERAL,
    statement=(
        "Algorithm 2, Lap(2c/epsilon) on the threshold, drawn anew after each answer above, and "
        "Lap(4c/epsilon) on queries, is epsilon-DP."
    ),
)(stated)
two.bounds()(pair_cases(_drawn(variants.DWORK_ROTH, names_cutoff=False), _GENERAL, 40))
two_monotone = JX.privacy(
    "SVT-LSL-Alg2-monotone",
    f"for {_FIGURE}, Algorithm 2",
    _MONOTONE,
    statement="Algorithm 2 is 3/4 epsilon-DP for monotone neighbours.",
)(_proven(variants.DWORK_ROTH, _MONOTONE))
two_monotone.bounds()(pair_cases(_drawn(variants.DWORK_ROTH), _MONOTONE, 40))


# --- Algorithm 3: released values -----------------------------------------------------


@LSL.privacy("SVT-LSL-Alg3-growth", "on Algorithm 3; exact value this project", _MONOTONE)
def three_growth(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 1, queries: Queries = 30) -> float:
    """Algorithm 3 answers m times "below" and then releases a value at most the threshold e^(m
    epsilon/(2c)) times as often on m + 1 zeros as on (1^m, 0).

    Privacy loss m epsilon/(2c) of m times "below", then a value <= the threshold.
    """
    return epsilon * (queries / (2.0 * cutoff))


def _exact_released(epsilon: float, cutoff: int, queries: int) -> float:
    """Exact log ratio of that event on m + 1 zeros against (1^m, 0)."""
    noise = variants.ROTH.design(epsilon, cutoff, queries + 1)
    # All below comes first; with one answer left, then a low value at the end.
    single = noise._replace(cutoff=1)
    first, second = profiles.worst_pair(queries, 1, _MONOTONE)
    logs = [patterns.pattern_law(row, single, [0.0])[1] for row in (first, second)]
    return float(logs[0] - logs[1])


three_growth.equals(
    listed(
        "epsilon cutoff queries",
        (1.0, 1, 30),
        (1.0, 2, 30),
        (0.1, 1, 200),
        (2.0, 3, 50),
        (1.0, 1, 1),
    )
)(_exact_released)
three_printed = ROTH.privacy(
    "SVT-LSL-Alg3-printed",
    f"as {_FIGURE}, Algorithm 3",
    _GENERAL,
    statement="Algorithm 3, which releases the noisy answers that were above, is epsilon-DP.",
    holds=False,
    correction="It has no finite epsilon for all numbers of queries, not even for "
    "monotone neighbours: SVT-LSL-Alg3-growth.",
)(stated)


@three_printed.bounds(listed("epsilon queries", (1.0, 3), (1.0, 30), (0.1, 200)))
def released(epsilon, queries):
    words = f"c=1, {queries + 1} zeros against {queries} ones and a zero (monotone)"
    return _exact_released(epsilon, 1, queries), words


# --- Algorithm 4 ----------------------------------------------------------------------


four_printed = LEE.privacy(
    "SVT-LSL-Alg4-printed",
    f"as {_FIGURE}, Algorithm 4",
    _GENERAL,
    statement=(
        "Algorithm 4, Lap(4/epsilon) on the threshold and Lap(4/(3 epsilon)) on queries whatever "
        "c is, is epsilon-DP."
    ),
    holds=False,
    correction="It is (1 + 6c)/4 epsilon-DP: SVT-LSL-Alg4; (1 + 3c)/4 epsilon-DP for "
    "monotone neighbours, hence epsilon-DP for them if c = 1: SVT-LSL-Alg4-monotone.",
)(stated)


@four_printed.bounds()
def worst_pairs(budget):
    for cutoff, relation in ((1, _GENERAL), (3, _GENERAL), (2, _MONOTONE)):
        noise = variants.LEE_CLIFTON.design(1.0, cutoff, 0)
        pair = profiles.worst_pair(30, cutoff, relation)
        exact = profiles.pair_epsilon(*pair, noise)
        where = f"c={cutoff}, {relation.value} worst pair of 30 rising queries"
        yield {"epsilon": 1.0}, exact, where


four = LSL.privacy(
    "SVT-LSL-Alg4",
    "Figure 1, Algorithm 4",
    _GENERAL,
    statement="Algorithm 4 is (1 + 6c)/4 epsilon-DP.",
)(_proven(variants.LEE_CLIFTON, _GENERAL))
four.bounds()(pair_cases(_drawn(variants.LEE_CLIFTON), _GENERAL))
four_monotone = LSL.privacy(
    "SVT-LSL-Alg4-monotone",
    "Figure 1, Algorithm 4",
    _MONOTONE,
    statement="Algorithm 4 is (1 + 3c)/4 epsilon-DP for monotone neighbours.",
)(_proven(variants.LEE_CLIFTON, _MONOTONE))
four_monotone.bounds()(pair_cases(_drawn(variants.LEE_CLIFTON), _MONOTONE))
four_tight = JX.privacy(
    "SVT-LSL-Alg4-tight",
    "",
    _GENERAL,
    statement=(
        "Algorithm 4 loses (1 + 6c)/4 epsilon, to within 1/1000, on (0^1000, 1^c) against "
        "(1^1000, 0^c)."
    ),
)(four.evaluate)
four_tight.bounds_below()(tight_cases(_drawn(variants.LEE_CLIFTON), _GENERAL))
four_monotone_tight = JX.privacy(
    "SVT-LSL-Alg4-monotone-tight",
    "",
    _MONOTONE,
    statement=(
        "Algorithm 4 loses (1 + 3c)/4 epsilon, to within 1/1000, on 1000 + c zeros against "
        "(1^1000, 0^c)."
    ),
)(four_monotone.evaluate)
four_monotone_tight.bounds_below()(tight_cases(_drawn(variants.LEE_CLIFTON), _MONOTONE))


# --- Algorithm 5: no query noise ------------------------------------------------------


@LSL.privacy("SVT-LSL-Alg5-infinite", "on Algorithm 5", _MONOTONE)
def five_infinite(*, epsilon: Epsilon = 1.0) -> float:
    """Algorithm 5 answers "below, above" with probability (1 - e^(-epsilon/2))/2 on (0, 1), and
    never on (1, 0), or on (1, 1), a monotone neighbour.

    Chance (1 - e^(-epsilon/2))/2 of answers that the neighbour never gives.
    """
    return -math.expm1(-epsilon / 2.0) / 2.0


def _stoddard_pairs():
    yield [0.0, 1.0], [1.0, 0.0], _GENERAL
    yield [0.0, 1.0], [1.0, 1.0], _MONOTONE


five_printed = STODDARD.privacy(
    "SVT-LSL-Alg5-printed",
    f"as {_FIGURE}, Algorithm 5",
    _GENERAL,
    statement="Algorithm 5, which noises the threshold only, is epsilon-DP.",
    holds=False,
    correction="Two queries are enough for answers that one of two neighbours never "
    "gives: SVT-LSL-Alg5-infinite.",
)(stated)


@five_printed.bounds()
def two_queries(budget):
    noise = variants.STODDARD.design(1.0, 1, 2)
    for first, second, relation in _stoddard_pairs():
        exact = profiles.pair_epsilon(first, second, noise)
        yield {"epsilon": 1.0}, exact, f"{first} against {second} ({relation.value})"


@five_infinite.equals()
def one_sided(budget):
    for epsilon in _EPSILONS:
        noise = variants.STODDARD.design(epsilon, 1, 2)
        for first, second, relation in _stoddard_pairs():
            seen, other = (
                math.exp(patterns.pattern_log_probability(row, [False, True], noise))
                for row in (first, second)
            )
            where = f"below then above, {relation.value}"
            yield {"epsilon": epsilon}, seen, f"{where}, answers {first}"
            yield Judged(0.0, other, f"{epsilon=}, {where}, answers {second}")


# --- Algorithm 6: no limit ------------------------------------------------------------


def _growth(share: float) -> Callable[..., float]:
    def evaluate(*, epsilon: Epsilon = 1.0, queries: Queries = 30) -> float:
        """Least privacy loss of m answers "below" and then m "above"."""
        return share * queries * epsilon

    return evaluate


def _exact_unlimited(epsilon: float, queries: int, relation: Relation) -> float:
    """Exact loss of that pattern on 2m zeros against m ones and m minus ones (zeros)."""
    noise = variants.CHEN.design(epsilon, 1, 2 * queries)
    last = -1.0 if relation is _GENERAL else 0.0
    above = np.repeat([False, True], queries)
    logs = [
        patterns.pattern_log_probability(levels, above, noise)
        for levels in (np.zeros(2 * queries), np.repeat([1.0, last], queries))
    ]
    return logs[0] - logs[1]


six_growth = LSL.privacy(
    "SVT-LSL-Alg6-growth",
    "on Algorithm 6",
    _GENERAL,
    statement=(
        'Algorithm 6 loses at least m epsilon/2 when it answers m times "below" and m times '
        '"above", on 2m zeros against (1^m, (-1)^m).'
    ),
)(_growth(0.5))
six_growth_sharp = JX.privacy(
    "SVT-LSL-Alg6-growth-sharp",
    "",
    _GENERAL,
    statement="In that event it loses at least 3 m epsilon/4.",
)(_growth(0.75))
six_growth_monotone = JX.privacy(
    "SVT-LSL-Alg6-growth-monotone",
    "",
    _MONOTONE,
    statement=(
        "In the same event, on 2m zeros against (1^m, 0^m), a monotone neighbour, it loses at "
        "least 3 m epsilon/8."
    ),
)(_growth(0.375))
_GROWING = grid(epsilon=[0.01, *_EPSILONS], queries=[1, 2, 5, 20, 60])


@six_growth.bounds_below(_GROWING)
@six_growth_sharp.bounds_below(_GROWING)
def growing(epsilon, queries):
    return _exact_unlimited(epsilon, queries, _GENERAL)


@six_growth_monotone.bounds_below(_GROWING)
def growing_monotone(epsilon, queries):
    return _exact_unlimited(epsilon, queries, _MONOTONE)


six_printed = CHEN.privacy(
    "SVT-LSL-Alg6-printed",
    f"as {_FIGURE}, Algorithm 6",
    _GENERAL,
    statement="Algorithm 6, which never stops, is epsilon-DP.",
    holds=False,
    correction="Its loss grows with the number of queries without limit: "
    "SVT-LSL-Alg6-growth, SVT-LSL-Alg6-growth-monotone.",
)(stated)


@six_printed.bounds()
def many_answers(budget):
    for relation in (_GENERAL, _MONOTONE):
        exact = _exact_unlimited(1.0, 30, relation)
        yield {"epsilon": 1.0}, exact, f"30 below and 30 above, {relation.value}"
