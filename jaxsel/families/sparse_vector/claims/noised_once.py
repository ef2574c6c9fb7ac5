"""Lyu, Su & Li 2017, Algorithms 1 and 7: the threshold is noised once for all answers.

Its privacy, also for monotone neighbours (Section 4.3), and how epsilon is best divided
(Section 4.2).
"""

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Annotated

import numpy as np
from scipy import optimize

from jaxsel.families.sparse_vector.bounds import good_share, lyu_su_li_noise
from jaxsel.families.sparse_vector.claims.cases import (
    Cutoff,
    Drawn,
    Epsilon,
    Scale,
    pair_cases,
    some_epsilon,
    stated,
    tight_cases,
)
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most, equal
from jaxsel.language.domains import probability
from jaxsel.language.papers import JX, LSL

Share = Annotated[float, probability("x, of epsilon for the threshold")]


# --- Privacy --------------------------------------------------------------------------


def _monotone(*, epsilon: Epsilon = 1.0, scale: Scale = 4.0, share: Share = 0.5) -> float:
    """Pure epsilon (x + (1 - x) 2/s) epsilon for monotone neighbours.

    With Lap(1/(x epsilon)) on the threshold and Lap(s c/(2 (1 - x) epsilon)) on queries.
    """
    return epsilon * (share + (1.0 - share) * 2.0 / scale)


def _lyu(relation: Relation) -> Drawn:
    def draw(generator: np.random.Generator) -> tuple[float, SparseNoise, str]:
        epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
        share = float(generator.choice([0.2, 0.5, good_share(cutoff, relation)]))
        noise = lyu_su_li_noise(epsilon, cutoff, relation, share)
        return epsilon, noise, f"{epsilon=}, c={cutoff}, {share=}"

    return draw


def _lyu_either(generator: np.random.Generator) -> tuple[float, SparseNoise, str]:
    """For monotone neighbours: with the noise meant for them, or for general ones."""
    epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
    meant = generator.choice([0, 1])
    noise = lyu_su_li_noise(epsilon, cutoff, (Relation.GENERAL, Relation.MONOTONE)[meant])
    proven = _monotone(epsilon=epsilon, scale=(4.0, 2.0)[meant])
    return proven, noise, f"{epsilon=}, c={cutoff}, s={(4.0, 2.0)[meant]}"


def _lyu_shared(generator: np.random.Generator) -> tuple[float, SparseNoise, str]:
    """The same at other shares."""
    share, meant = float(generator.uniform(0.05, 0.95)), generator.choice([0, 1])
    epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
    relation = (Relation.GENERAL, Relation.MONOTONE)[meant]
    noise = lyu_su_li_noise(epsilon, cutoff, relation, share)
    scale = (4.0, 2.0)[meant]
    proven = _monotone(epsilon=epsilon, scale=scale, share=share)
    return proven, noise, f"{epsilon=}, c={cutoff}, s={scale}, {share=!r}"


def _monotone_cases(budget: Budget) -> Iterator[Case]:
    halves = pair_cases(_lyu_either, Relation.MONOTONE)
    shares = pair_cases(_lyu_shared, Relation.MONOTONE, 20)
    return chain(halves(budget), shares(budget))


# --- The share of the threshold -------------------------------------------------------


def _share(relation: Relation) -> Callable[..., float]:
    def evaluate(*, cutoff: Cutoff = 10) -> float:
        """Share of epsilon for the threshold that has the least variance."""
        return good_share(cutoff, relation)

    return evaluate


def _share_cases(relation: Relation) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        for cutoff in (1, 2, 3, 10, 100, 1000)[: budget.cases]:

            def deviation(share: float, cutoff=cutoff) -> float:
                noise = lyu_su_li_noise(1.0, cutoff, relation, share)
                return math.hypot(noise.threshold_scale, noise.query_scale)

            best = optimize.minimize_scalar(
                deviation, bounds=(1e-6, 1.0 - 1e-6), method="bounded", options={"xatol": 1e-10}
            )
            yield good_share(cutoff, relation), float(best.x), f"c={cutoff}"

    return cases


STATEMENTS = (
    LSL.privacy(
        "SVT-LSL-Alg1",
        "Algorithms 1 and 7",
        "The sparse vector with Lap(1/epsilon_1) on the threshold, once, and "
        "Lap(2c/epsilon_2) on each query is (epsilon_1 + epsilon_2)-DP.",
        Relation.GENERAL,
        stated,
        at_most(pair_cases(_lyu(Relation.GENERAL), Relation.GENERAL)),
    ),
    LSL.privacy(
        "SVT-LSL-Alg1-monotone",
        "Section 4.3",
        "For monotone neighbours, the sparse vector with Lap(2/epsilon) on the "
        "threshold, once, and Lap(s c/epsilon) on each query is (1/2 + 1/s) epsilon-DP.",
        Relation.MONOTONE,
        _monotone,
        at_most(_monotone_cases),
    ),
    JX.privacy(
        "SVT-LSL-Alg1-tight",
        "for Lyu, Su & Li 2017, Algorithm 7",
        "That sparse vector loses its epsilon, to within 1/1000, on (0^1000, 1^c) against "
        "(1^1000, 0^c).",
        Relation.GENERAL,
        stated,
        at_least(tight_cases(_lyu(Relation.GENERAL), Relation.GENERAL)),
    ),
    JX.privacy(
        "SVT-LSL-Alg1-monotone-tight",
        "for Lyu, Su & Li 2017, Section 4.3",
        "With Lap(c/epsilon_2) on queries it loses its epsilon, to within 1/1000, on "
        "1000 + c zeros against (1^1000, 0^c).",
        Relation.MONOTONE,
        stated,
        at_least(tight_cases(_lyu(Relation.MONOTONE), Relation.MONOTONE)),
    ),
    LSL.identity(
        "SVT-LSL-split",
        "Section 4.2",
        "epsilon_1 : epsilon_2 = 1 : (2c)^(2/3) has the least variance of query noise "
        "minus threshold noise.",
        _share(Relation.GENERAL),
        equal(_share_cases(Relation.GENERAL), 1e-5),
    ),
    LSL.identity(
        "SVT-LSL-split-monotone",
        "Section 4.3",
        "For monotone neighbours epsilon_1 : epsilon_2 = 1 : c^(2/3) has the least "
        "variance of query noise minus threshold noise.",
        _share(Relation.MONOTONE),
        equal(_share_cases(Relation.MONOTONE), 1e-5),
    ),
)
