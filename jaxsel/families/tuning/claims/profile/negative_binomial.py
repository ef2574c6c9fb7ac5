"""Koskela, Redberg & Wang 2024, Theorem 5.2: negative binomial K.

The privacy profile of the best of K runs (Theorem 5.1, its Renyi baseline, and Corollary
5.3 are Theorem 2 and Corollary 3 of Papernot & Steinke), and the bound of this project
along the whole trade-off curve, for any K. Each is set against the exact profile
of the best of K draws from two finite laws.
"""

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import randomised_response_tradeoff
from jaxsel.families.tuning.bounds.profiles import (
    ProfileBound,
    negative_binomial_profile,
    tradeoff_profile,
)
from jaxsel.families.tuning.claims.base_pairs import BasePair, base_pairs
from jaxsel.families.tuning.claims.profile.cases import (
    TOLERANCE,
    BaseEpsilon,
    Epsilon,
    Eta,
    Gamma,
    LawOfK,
    coin_profile,
    law_profile,
    law_tradeoff,
    profile_case,
    profile_cases,
    random_law,
    sharp_instances,
)
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged
from jaxsel.language.papers import JX, KRW
from jaxsel.repetitions import Repetitions


@KRW.privacy("KRW-Thm5.2", "Theorem 5.2", Relation.BASE)
def uniform(
    *, epsilon: Epsilon = 2.95, base_epsilon: BaseEpsilon = 1.0, eta: Eta = 1.0, gamma: Gamma = 0.1
) -> float:
    """The best of K ~ D(eta, gamma) runs has delta(epsilon) <= E[K] base(epsilon - (eta + 1)
    log(e^epsilon_1 + ((1 - gamma)/gamma) base(epsilon_1))) for every real epsilon and epsilon_1 >=
    0, base being the privacy profile of one run.

    Delta(epsilon) for randomised response, at the best epsilon_1."""
    bound = negative_binomial_profile(coin_profile(base_epsilon), eta, gamma)
    return float(bound.delta(np.asarray(epsilon)))


def uniform_bound(pair: BasePair, law: Repetitions) -> ProfileBound:
    """Theorem 5.2 for two laws."""
    profile = law_profile(pair.first, pair.second)
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    return negative_binomial_profile(profile, eta, gamma)


@uniform.bounds(tolerance=TOLERANCE)
def random_pairs(budget):
    return profile_cases(budget, "negative_binomial", uniform_bound)


@JX.privacy("KRW-N2", "after Theorem 4.1 of Koskela, Redberg & Wang 2024", Relation.BASE)
def whole_curve(
    *,
    epsilon: Epsilon = 2.55,
    base_epsilon: BaseEpsilon = 1.0,
    repetitions: LawOfK = "geometric:gamma=0.1",
) -> float:
    """For any K, delta(epsilon) <= E[K] base(epsilon - sup_x log(f'(1 - x)/f'(1 - T(x)))) + (1 -
    e^epsilon)_+ P[K = 0], T being the base's trade-off curve; the shift is at most that of Theorem
    5.2.

    Delta(epsilon) for randomised response."""
    bound = tradeoff_profile(
        coin_profile(base_epsilon),
        lambda x: randomised_response_tradeoff(x, base_epsilon),
        repetitions,
    )
    return float(bound.delta(np.asarray(epsilon)))


_OTHER_LAWS = (
    "beta_binomial:count=20,gamma=1",
    "geometric:gamma=0.05,capped=12",
    "poisson:mean=3,conditioned=4",
)


def curve_bound(pair: BasePair, law: Repetitions) -> ProfileBound:
    """The bound along the whole trade-off curve of two laws."""
    profile = law_profile(pair.first, pair.second)
    return tradeoff_profile(profile, law_tradeoff(pair.first, pair.second), law)


@whole_curve.bounds(tolerance=TOLERANCE)
def pairs_of_every_law(budget):
    """Valid for every law of K; and for truncated negative binomial K no larger than
    Theorem 5.2."""
    generator = np.random.default_rng(budget.seed + 1)
    families = ("negative_binomial", "poisson", "binomial")
    for pair, law in sharp_instances().values():
        yield profile_case(curve_bound(pair, law), pair, law)
    for i, pair in enumerate(base_pairs(budget)):
        family = families[i % 3]
        law = random_law(generator, family)
        if i < len(_OTHER_LAWS):
            family, law = "other", laws.parse(_OTHER_LAWS[i])
        bound = curve_bound(pair, law)
        yield profile_case(bound, pair, law)
        if family == "negative_binomial" and i % 2:
            where = f"shift of Theorem 5.2, {dict(law.parameters)}, {pair.where}"
            # the supremum is an upper bound, to 1e-8
            yield Judged(uniform_bound(pair, law).shift + 1e-6, bound.shift, where)
