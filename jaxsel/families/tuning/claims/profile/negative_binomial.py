"""Koskela, Redberg & Wang 2024, Theorem 5.2: negative binomial K.

The privacy profile of the best of K runs (Theorem 5.1, its Renyi baseline, and Corollary
5.3 are Theorem 2 and Corollary 3 of Papernot & Steinke), and the bound of this project
along the whole trade-off curve, for any K. Each is set against the exact profile
of the best of K draws from two finite laws.
"""

from collections.abc import Iterator

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
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.papers import JX, KRW
from jaxsel.repetitions import Repetitions

# --- Theorem 5.2 ----------------------------------------------------------------------


def _theorem_5_2(
    *, epsilon: Epsilon = 2.95, base_epsilon: BaseEpsilon = 1.0, eta: Eta = 1.0, gamma: Gamma = 0.1
) -> float:
    """Delta(epsilon) of the best of K randomised responses, at the best epsilon_1."""
    bound = negative_binomial_profile(coin_profile(base_epsilon), eta, gamma)
    return float(bound.delta(np.asarray(epsilon)))


def _bound_5_2(pair: BasePair, law: Repetitions) -> ProfileBound:
    profile = law_profile(pair.first, pair.second)
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    return negative_binomial_profile(profile, eta, gamma)


def _cases_5_2(budget: Budget) -> Iterator[Case]:
    return profile_cases(budget, "negative_binomial", _bound_5_2)


# --- The whole trade-off curve --------------------------------------------------------


def _any_law(
    *,
    epsilon: Epsilon = 2.55,
    base_epsilon: BaseEpsilon = 1.0,
    repetitions: LawOfK = "geometric:gamma=0.1",
) -> float:
    """Delta(epsilon) of the best of K randomised responses, by the trade-off curve."""
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


def _bound_any(pair: BasePair, law: Repetitions) -> ProfileBound:
    profile = law_profile(pair.first, pair.second)
    return tradeoff_profile(profile, law_tradeoff(pair.first, pair.second), law)


def _any_cases(budget: Budget) -> Iterator[Case]:
    """Valid for every law of K; and for truncated negative binomial K no larger than
    Theorem 5.2."""
    generator = np.random.default_rng(budget.seed + 1)
    families = ("negative_binomial", "poisson", "binomial")
    for pair, law in sharp_instances().values():
        yield profile_case(_bound_any(pair, law), pair, law)
    for i, pair in enumerate(base_pairs(budget)):
        family = families[i % 3]
        law = random_law(generator, family)
        if i < len(_OTHER_LAWS):
            family, law = "other", laws.parse(_OTHER_LAWS[i])
        bound = _bound_any(pair, law)
        yield profile_case(bound, pair, law)
        if family == "negative_binomial" and i % 2:
            where = f"shift of Theorem 5.2, {dict(law.parameters)}, {pair.where}"
            # the supremum is an upper bound, to 1e-8
            yield _bound_5_2(pair, law).shift + 1e-6, bound.shift, where


STATEMENTS = (
    KRW.privacy(
        "KRW-Thm5.2",
        "Theorem 5.2",
        "The best of K ~ D(eta, gamma) runs has delta(epsilon) <= E[K] "
        "base(epsilon - (eta + 1) log(e^epsilon_1 + ((1 - gamma)/gamma) "
        "base(epsilon_1))) for every real epsilon and epsilon_1 >= 0, base being the "
        "privacy profile of one run.",
        Relation.BASE,
        _theorem_5_2,
        at_most(_cases_5_2, TOLERANCE),
    ),
    JX.privacy(
        "KRW-N2",
        "after Theorem 4.1 of Koskela, Redberg & Wang 2024",
        "For any K, delta(epsilon) <= E[K] base(epsilon - sup_x log(f'(1 - "
        "x)/f'(1 - T(x)))) + (1 - e^epsilon)_+ P[K = 0], T being the base's trade-off "
        "curve; the shift is at most that of Theorem 5.2.",
        Relation.BASE,
        _any_law,
        at_most(_any_cases, TOLERANCE),
    ),
)
