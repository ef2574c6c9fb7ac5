"""Lyu, Su & Li 2017, Algorithms 1 and 7: the threshold gets noise once for all answers.

The claims are its privacy, also for monotone neighbours (Section 4.3), and how epsilon is best
divided between threshold and queries (Section 4.2).
"""

import math
from collections.abc import Callable

from scipy import optimize

from jaxsel.families.sparse_vector.bounds import good_share, lyu_su_li_noise
from jaxsel.families.sparse_vector.claims.cases import (
    Scale,
    on_long_pairs,
    on_pairs,
    pair_cases,
    some_epsilon,
    stated,
)
from jaxsel.families.sparse_vector.parameters import Cutoff, Epsilon, Share
from jaxsel.language.base import Relation
from jaxsel.language.checking import listed
from jaxsel.language.papers import LSL

# --- Privacy --------------------------------------------------------------------------


@LSL.privacy("SVT-LSL-Alg1-monotone", "Section 4.3", Relation.MONOTONE)
def monotone(*, epsilon: Epsilon = 1.0, scale: Scale = 4.0, share: Share = 0.5) -> float:
    """For monotone neighbours, the sparse vector with Lap(2/epsilon) on the threshold, once, and
    Lap(s c/epsilon) on each query is (1/2 + 1/s) epsilon-DP.

    Returns (x + (1 - x) 2/s) epsilon, the pure epsilon with Lap(1/(x epsilon)) on the threshold and
    Lap(s c/(2 (1 - x) epsilon)) on queries. The statement is its case x = 1/2.
    """
    return epsilon * (share + (1.0 - share) * 2.0 / scale)


def _some(generator) -> tuple[float, int]:
    return some_epsilon(generator), int(generator.integers(1, 4))


def _few_shares(generator, relation) -> tuple[float, int, float]:
    epsilon, cutoff = _some(generator)
    return epsilon, cutoff, float(generator.choice([0.2, 0.5, good_share(cutoff, relation)]))


def _lyu(generator, relation):
    epsilon, cutoff, share = _few_shares(generator, relation)
    noise = lyu_su_li_noise(epsilon, cutoff, relation, share)
    return {"epsilon": epsilon}, noise, f"c={cutoff}"


def _lyu_either(epsilon: float, cutoff: int, meant: int, share: float):
    """A point of the claim for monotone neighbours, its noise, and c in words.

    The noise is meant for general neighbours if ``meant`` is 0, and for monotone ones if it is 1.
    """
    noise = lyu_su_li_noise(epsilon, cutoff, (Relation.GENERAL, Relation.MONOTONE)[meant], share)
    return {"epsilon": epsilon, "scale": (4.0, 2.0)[meant], "share": share}, noise, f"c={cutoff}"


def _halved(generator, _):
    return _lyu_either(*_some(generator), generator.choice([0, 1]), 0.5)


def _shared(generator, _):
    share, meant = float(generator.uniform(0.05, 0.95)), generator.choice([0, 1])
    return _lyu_either(*_some(generator), meant, share)


def _meant_for_monotone(generator, relation):
    epsilon, cutoff, share = _few_shares(generator, relation)
    return _lyu_either(epsilon, cutoff, 1, share)


@monotone.bounds()
def halves_and_shares(budget):
    yield from pair_cases(budget, _halved, Relation.MONOTONE)
    yield from pair_cases(budget, _shared, Relation.MONOTONE, 20)


_SHARES = "epsilon of 0.1 to 4, c up to 3 and a share of 0.2 or more for the threshold"
on_long_pairs(_meant_for_monotone, "1000 + c zeros against (1^1000, 0^c)", f"s = 2, {_SHARES}")(
    monotone
)


@on_long_pairs(_lyu, "(0^1000, 1^c) against (1^1000, 0^c)", _SHARES)
@on_pairs(_lyu)
@LSL.privacy("SVT-LSL-Alg1", "Algorithms 1 and 7", Relation.GENERAL, formula=stated)
def general():
    """The sparse vector with Lap(1/epsilon_1) on the threshold, once, and Lap(2c/epsilon_2) on each
    query is (epsilon_1 + epsilon_2)-DP."""


# --- The share of the threshold -------------------------------------------------------


def _share(relation: Relation) -> Callable[..., float]:
    def evaluate(*, cutoff: Cutoff = 10) -> float:
        """Returns epsilon_1/epsilon, the share of the threshold, where the variance is least."""
        return good_share(cutoff, relation)

    return evaluate


@LSL.identity("SVT-LSL-split", "Section 4.2", formula=_share(Relation.GENERAL))
def split():
    """epsilon_1 : epsilon_2 = 1 : (2c)^(2/3) has the least variance of query noise minus threshold
    noise."""


@LSL.identity("SVT-LSL-split-monotone", "Section 4.3", formula=_share(Relation.MONOTONE))
def split_monotone():
    """For monotone neighbours epsilon_1 : epsilon_2 = 1 : c^(2/3) has the least variance of query
    noise minus threshold noise."""


_CUTOFFS = listed("cutoff", 1, 2, 3, 10, 100, 1000)


@split.equals(_CUTOFFS, tolerance=1e-5, relation=Relation.GENERAL)
@split_monotone.equals(_CUTOFFS, tolerance=1e-5, relation=Relation.MONOTONE)
def least_variance(cutoff, relation):
    def deviation(share: float) -> float:
        noise = lyu_su_li_noise(1.0, cutoff, relation, share)
        return math.hypot(noise.threshold_scale, noise.query_scale)

    best = optimize.minimize_scalar(
        deviation, bounds=(1e-6, 1.0 - 1e-6), method="bounded", options={"xatol": 1e-10}
    )
    return float(best.x)
