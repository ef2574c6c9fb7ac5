"""Lyu, Su & Li 2017, Algorithms 1 and 7: the threshold is noised once for all answers.

Its privacy, also for monotone neighbours (Section 4.3), and how epsilon is best divided
(Section 4.2).
"""

import math
from collections.abc import Callable
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
from jaxsel.language.base import Relation
from jaxsel.language.checking import Point, listed
from jaxsel.language.domains import probability
from jaxsel.language.papers import JX, LSL

Share = Annotated[float, probability("x, of epsilon for the threshold")]


# --- Privacy --------------------------------------------------------------------------


@LSL.privacy("SVT-LSL-Alg1-monotone", "Section 4.3", Relation.MONOTONE)
def monotone(*, epsilon: Epsilon = 1.0, scale: Scale = 4.0, share: Share = 0.5) -> float:
    """For monotone neighbours, the sparse vector with Lap(2/epsilon) on the threshold, once, and
    Lap(s c/epsilon) on each query is (1/2 + 1/s) epsilon-DP.

    Pure epsilon (x + (1 - x) 2/s) epsilon for monotone neighbours.

    With Lap(1/(x epsilon)) on the threshold and Lap(s c/(2 (1 - x) epsilon)) on queries.
    """
    return epsilon * (share + (1.0 - share) * 2.0 / scale)


def _lyu(relation: Relation) -> Drawn:
    def draw(generator: np.random.Generator) -> tuple[Point, SparseNoise, str]:
        epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
        share = float(generator.choice([0.2, 0.5, good_share(cutoff, relation)]))
        noise = lyu_su_li_noise(epsilon, cutoff, relation, share)
        return {"epsilon": epsilon}, noise, f"c={cutoff}, {share=}"

    return draw


def _lyu_either(generator: np.random.Generator) -> tuple[Point, SparseNoise, str]:
    """For monotone neighbours: with the noise meant for them, or for general ones."""
    epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
    meant = generator.choice([0, 1])
    noise = lyu_su_li_noise(epsilon, cutoff, (Relation.GENERAL, Relation.MONOTONE)[meant])
    return {"epsilon": epsilon, "scale": (4.0, 2.0)[meant], "share": 0.5}, noise, f"c={cutoff}"


def _lyu_shared(generator: np.random.Generator) -> tuple[Point, SparseNoise, str]:
    """The same at other shares."""
    share, meant = float(generator.uniform(0.05, 0.95)), generator.choice([0, 1])
    epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
    relation = (Relation.GENERAL, Relation.MONOTONE)[meant]
    noise = lyu_su_li_noise(epsilon, cutoff, relation, share)
    return {"epsilon": epsilon, "scale": (4.0, 2.0)[meant], "share": share}, noise, f"c={cutoff}"


@monotone.bounds()
def halves_and_shares(budget):
    yield from pair_cases(_lyu_either, Relation.MONOTONE)(budget)
    yield from pair_cases(_lyu_shared, Relation.MONOTONE, 20)(budget)


# --- The share of the threshold -------------------------------------------------------


def _share(relation: Relation) -> Callable[..., float]:
    def evaluate(*, cutoff: Cutoff = 10) -> float:
        """Share of epsilon for the threshold that has the least variance."""
        return good_share(cutoff, relation)

    return evaluate


def _least_variance(relation: Relation) -> Callable[[int], float]:
    def share_of(cutoff: int) -> float:
        def deviation(share: float) -> float:
            noise = lyu_su_li_noise(1.0, cutoff, relation, share)
            return math.hypot(noise.threshold_scale, noise.query_scale)

        best = optimize.minimize_scalar(
            deviation, bounds=(1e-6, 1.0 - 1e-6), method="bounded", options={"xatol": 1e-10}
        )
        return float(best.x)

    return share_of


_CUTOFFS = listed("cutoff", 1, 2, 3, 10, 100, 1000)


general = LSL.privacy(
    "SVT-LSL-Alg1",
    "Algorithms 1 and 7",
    Relation.GENERAL,
    statement=(
        "The sparse vector with Lap(1/epsilon_1) on the threshold, once, and Lap(2c/epsilon_2) on"
        " each query is (epsilon_1 + epsilon_2)-DP."
    ),
)(stated)
general.bounds()(pair_cases(_lyu(Relation.GENERAL), Relation.GENERAL))
tight = JX.privacy(
    "SVT-LSL-Alg1-tight",
    "for Lyu, Su & Li 2017, Algorithm 7",
    Relation.GENERAL,
    statement=(
        "That sparse vector loses its epsilon, to within 1/1000, on (0^1000, 1^c) against "
        "(1^1000, 0^c)."
    ),
)(stated)
tight.bounds_below()(tight_cases(_lyu(Relation.GENERAL), Relation.GENERAL))
monotone_tight = JX.privacy(
    "SVT-LSL-Alg1-monotone-tight",
    "for Lyu, Su & Li 2017, Section 4.3",
    Relation.MONOTONE,
    statement=(
        "With Lap(c/epsilon_2) on queries it loses its epsilon, to within 1/1000, on 1000 + c "
        "zeros against (1^1000, 0^c)."
    ),
)(stated)
monotone_tight.bounds_below()(tight_cases(_lyu(Relation.MONOTONE), Relation.MONOTONE))
split = LSL.identity(
    "SVT-LSL-split",
    "Section 4.2",
    statement=(
        "epsilon_1 : epsilon_2 = 1 : (2c)^(2/3) has the least variance of query noise minus "
        "threshold noise."
    ),
)(_share(Relation.GENERAL))
split.equals(_CUTOFFS, tolerance=1e-5)(_least_variance(Relation.GENERAL))
split_monotone = LSL.identity(
    "SVT-LSL-split-monotone",
    "Section 4.3",
    statement=(
        "For monotone neighbours epsilon_1 : epsilon_2 = 1 : c^(2/3) has the least variance of "
        "query noise minus threshold noise."
    ),
)(_share(Relation.MONOTONE))
split_monotone.equals(_CUTOFFS, tolerance=1e-5)(_least_variance(Relation.MONOTONE))
