"""Lyu, Su & Li 2017, Figure 1: six published sparse vectors, four of them wrong.

Algorithms 2 to 6 of the figure (1 is in ``noised_once``), each with the epsilon that was
claimed for it, refuted on an explicit pair of inputs where it is wrong, and with what is
true instead.
"""

import math
from collections.abc import Callable, Iterator
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
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most, equal
from jaxsel.language.domains import whole
from jaxsel.language.papers import CHEN, JX, LEE, LSL, ROTH, STODDARD

_FIGURE = "Lyu, Su & Li 2017, Figure 1"
_GENERAL, _MONOTONE = Relation.GENERAL, Relation.MONOTONE
_EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)

Queries = Annotated[int, whole("m", at_least=1)]


def _drawn(variant: Variant, relation: Relation) -> Drawn:
    def draw(generator: np.random.Generator) -> tuple[float, SparseNoise, str]:
        epsilon = float(generator.choice(_EPSILONS))
        cutoff = int(generator.integers(1, 4))
        noise = variant.design(epsilon, cutoff, cutoff)
        noise = noise._replace(redrawn=variant is variants.DWORK_ROTH)
        proven = variant.proven(epsilon, cutoff, relation)
        return proven, noise, f"{epsilon=}, c={cutoff}"

    return draw


def _proven(variant: Variant, relation: Relation) -> Callable[..., float]:
    def evaluate(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 1) -> float:
        """Its pure epsilon for such neighbours, for any number of queries."""
        return variant.proven(epsilon, cutoff, relation)

    return evaluate


# --- Algorithm 3: released values -----------------------------------------------------


def _released_loss(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 1, queries: Queries = 30) -> float:
    """Privacy loss m epsilon/(2c) of m times "below", then a value <= the threshold."""
    return epsilon * (queries / (2.0 * cutoff))


def _exact_released(epsilon: float, cutoff: int, queries: int) -> float:
    """Exact log ratio of that event on m + 1 zeros against (1^m, 0)."""
    noise = variants.ROTH.design(epsilon, cutoff, queries + 1)
    # All below comes first; with one answer left, then a low value at the end.
    single = noise._replace(cutoff=1)
    first, second = profiles.worst_pair(queries, 1, _MONOTONE)
    logs = [patterns.pattern_law(row, single, [0.0])[1] for row in (first, second)]
    return float(logs[0] - logs[1])


def _released_cases(budget: Budget) -> Iterator[Case]:
    settings = [(1.0, 1, 30), (1.0, 2, 30), (0.1, 1, 200), (2.0, 3, 50), (1.0, 1, 1)]
    for epsilon, cutoff, queries in settings[: max(1, budget.cases)]:
        claimed = _released_loss(epsilon=epsilon, cutoff=cutoff, queries=queries)
        exact = _exact_released(epsilon, cutoff, queries)
        yield claimed, exact, f"{epsilon=}, c={cutoff}, m={queries}"


def _released_printed(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon, queries in ((1.0, 3), (1.0, 30), (0.1, 200)):
        exact = _exact_released(epsilon, 1, queries)
        words = f"{queries + 1} zeros against {queries} ones and a zero (monotone)"
        yield stated(epsilon=epsilon), exact, f"{epsilon=}, c=1, {words}"


# --- Algorithm 4 ----------------------------------------------------------------------


def _lee_clifton_printed(budget: Budget) -> Iterator[Case]:
    del budget
    for cutoff, relation in ((1, _GENERAL), (3, _GENERAL), (2, _MONOTONE)):
        noise = variants.LEE_CLIFTON.design(1.0, cutoff, 0)
        pair = profiles.worst_pair(30, cutoff, relation)
        exact = profiles.pair_epsilon(*pair, noise)
        where = f"epsilon=1, c={cutoff}, {relation.value} worst pair of 30 rising queries"
        yield stated(), exact, where


# --- Algorithm 5: no query noise ------------------------------------------------------


def _impossible(*, epsilon: Epsilon = 1.0) -> float:
    """Chance (1 - e^(-epsilon/2))/2 of answers that the neighbour never gives."""
    return -math.expm1(-epsilon / 2.0) / 2.0


def _stoddard_pairs():
    yield [0.0, 1.0], [1.0, 0.0], _GENERAL
    yield [0.0, 1.0], [1.0, 1.0], _MONOTONE


def _stoddard_printed(budget: Budget) -> Iterator[Case]:
    del budget
    noise = variants.STODDARD.design(1.0, 1, 2)
    for first, second, relation in _stoddard_pairs():
        exact = profiles.pair_epsilon(first, second, noise)
        where = f"epsilon=1, {first} against {second} ({relation.value})"
        yield stated(), exact, where


def _impossible_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon in _EPSILONS:
        noise = variants.STODDARD.design(epsilon, 1, 2)
        for first, second, relation in _stoddard_pairs():
            seen, other = (
                math.exp(patterns.pattern_log_probability(row, [False, True], noise))
                for row in (first, second)
            )
            where = f"{epsilon=}, below then above, {relation.value}"
            yield _impossible(epsilon=epsilon), seen, f"{where}, answers {first}"
            yield 0.0, other, f"{where}, answers {second}"


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


def _unlimited_cases(share: float, relation: Relation) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        del budget
        for epsilon in (0.01, *_EPSILONS):
            for queries in (1, 2, 5, 20, 60):
                exact = _exact_unlimited(epsilon, queries, relation)
                claimed = _growth(share)(epsilon=epsilon, queries=queries)
                yield claimed, exact, f"{epsilon=}, m={queries}"

    return cases


def _unlimited_printed(budget: Budget) -> Iterator[Case]:
    del budget
    for relation in (_GENERAL, _MONOTONE):
        exact = _exact_unlimited(1.0, 30, relation)
        where = f"epsilon=1, 30 below and 30 above, {relation.value}"
        yield stated(), exact, where


STATEMENTS = (
    LSL.privacy(
        "SVT-LSL-Alg2",
        "Figure 1, Algorithm 2 (Dwork & Roth 2014)",
        "Algorithm 2, Lap(2c/epsilon) on the threshold, drawn anew after each answer "
        "above, and Lap(4c/epsilon) on queries, is epsilon-DP.",
        _GENERAL,
        stated,
        at_most(pair_cases(_drawn(variants.DWORK_ROTH, _GENERAL), _GENERAL, 40)),
    ),
    JX.privacy(
        "SVT-LSL-Alg2-monotone",
        f"for {_FIGURE}, Algorithm 2",
        "Algorithm 2 is 3/4 epsilon-DP for monotone neighbours.",
        _MONOTONE,
        _proven(variants.DWORK_ROTH, _MONOTONE),
        at_most(pair_cases(_drawn(variants.DWORK_ROTH, _MONOTONE), _MONOTONE, 40)),
    ),
    ROTH.privacy(
        "SVT-LSL-Alg3-printed",
        f"as {_FIGURE}, Algorithm 3",
        "Algorithm 3, which releases the noisy answers that were above, is epsilon-DP.",
        _GENERAL,
        stated,
        at_most(_released_printed),
        holds=False,
        correction="It has no finite epsilon for all numbers of queries, not even for "
        "monotone neighbours: SVT-LSL-Alg3-growth.",
    ),
    LSL.privacy(
        "SVT-LSL-Alg3-growth",
        "on Algorithm 3; exact value this project",
        'Algorithm 3 answers m times "below" and then releases a value at most the '
        "threshold e^(m epsilon/(2c)) times as often on m + 1 zeros as on (1^m, 0).",
        _MONOTONE,
        _released_loss,
        equal(_released_cases),
    ),
    LEE.privacy(
        "SVT-LSL-Alg4-printed",
        f"as {_FIGURE}, Algorithm 4",
        "Algorithm 4, Lap(4/epsilon) on the threshold and Lap(4/(3 epsilon)) on queries "
        "whatever c is, is epsilon-DP.",
        _GENERAL,
        stated,
        at_most(_lee_clifton_printed),
        holds=False,
        correction="It is (1 + 6c)/4 epsilon-DP: SVT-LSL-Alg4; (1 + 3c)/4 epsilon-DP for "
        "monotone neighbours, hence epsilon-DP for them if c = 1: SVT-LSL-Alg4-monotone.",
    ),
    LSL.privacy(
        "SVT-LSL-Alg4",
        "Figure 1, Algorithm 4",
        "Algorithm 4 is (1 + 6c)/4 epsilon-DP.",
        _GENERAL,
        _proven(variants.LEE_CLIFTON, _GENERAL),
        at_most(pair_cases(_drawn(variants.LEE_CLIFTON, _GENERAL), _GENERAL)),
    ),
    LSL.privacy(
        "SVT-LSL-Alg4-monotone",
        "Figure 1, Algorithm 4",
        "Algorithm 4 is (1 + 3c)/4 epsilon-DP for monotone neighbours.",
        _MONOTONE,
        _proven(variants.LEE_CLIFTON, _MONOTONE),
        at_most(pair_cases(_drawn(variants.LEE_CLIFTON, _MONOTONE), _MONOTONE)),
    ),
    JX.privacy(
        "SVT-LSL-Alg4-tight",
        "",
        "Algorithm 4 loses (1 + 6c)/4 epsilon, to within 1/1000, on (0^1000, 1^c) against "
        "(1^1000, 0^c).",
        _GENERAL,
        _proven(variants.LEE_CLIFTON, _GENERAL),
        at_least(tight_cases(_drawn(variants.LEE_CLIFTON, _GENERAL), _GENERAL)),
    ),
    JX.privacy(
        "SVT-LSL-Alg4-monotone-tight",
        "",
        "Algorithm 4 loses (1 + 3c)/4 epsilon, to within 1/1000, on 1000 + c zeros "
        "against (1^1000, 0^c).",
        _MONOTONE,
        _proven(variants.LEE_CLIFTON, _MONOTONE),
        at_least(tight_cases(_drawn(variants.LEE_CLIFTON, _MONOTONE), _MONOTONE)),
    ),
    STODDARD.privacy(
        "SVT-LSL-Alg5-printed",
        f"as {_FIGURE}, Algorithm 5",
        "Algorithm 5, which noises the threshold only, is epsilon-DP.",
        _GENERAL,
        stated,
        at_most(_stoddard_printed),
        holds=False,
        correction="Two queries are enough for answers that one of two neighbours never "
        "gives: SVT-LSL-Alg5-infinite.",
    ),
    LSL.privacy(
        "SVT-LSL-Alg5-infinite",
        "on Algorithm 5",
        'Algorithm 5 answers "below, above" with probability (1 - e^(-epsilon/2))/2 on '
        "(0, 1), and never on (1, 0), or on (1, 1), a monotone neighbour.",
        _MONOTONE,
        _impossible,
        equal(_impossible_cases),
    ),
    CHEN.privacy(
        "SVT-LSL-Alg6-printed",
        f"as {_FIGURE}, Algorithm 6",
        "Algorithm 6, which never stops, is epsilon-DP.",
        _GENERAL,
        stated,
        at_most(_unlimited_printed),
        holds=False,
        correction="Its loss grows with the number of queries without limit: "
        "SVT-LSL-Alg6-growth, SVT-LSL-Alg6-growth-monotone.",
    ),
    LSL.privacy(
        "SVT-LSL-Alg6-growth",
        "on Algorithm 6",
        'Algorithm 6 loses at least m epsilon/2 when it answers m times "below" and m '
        'times "above", on 2m zeros against (1^m, (-1)^m).',
        _GENERAL,
        _growth(0.5),
        at_least(_unlimited_cases(0.5, _GENERAL)),
    ),
    JX.privacy(
        "SVT-LSL-Alg6-growth-sharp",
        "",
        "In that event it loses at least 3 m epsilon/4.",
        _GENERAL,
        _growth(0.75),
        at_least(_unlimited_cases(0.75, _GENERAL)),
    ),
    JX.privacy(
        "SVT-LSL-Alg6-growth-monotone",
        "",
        "In the same event, on 2m zeros against (1^m, 0^m), a monotone neighbour, it "
        "loses at least 3 m epsilon/8.",
        _MONOTONE,
        _growth(0.375),
        at_least(_unlimited_cases(0.375, _MONOTONE)),
    ),
)
