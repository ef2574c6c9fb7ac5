"""Koskela, Redberg & Wang 2024, Theorems 5.1 and 5.2, Corollary 5.3: negative binomial K.

The privacy profile of the best of K runs, its Renyi baseline, and the bound of this
project along the whole trade-off curve, for any K. Each is set against the exact profile
of the best of K draws from two finite laws.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import randomised_response_tradeoff
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Relation
from jaxsel.checking import Case, at_most
from jaxsel.domains import number
from jaxsel.families.tuning.bounds.negative_binomial import (
    negative_binomial_epsilon,
    pure_negative_binomial_epsilon,
)
from jaxsel.families.tuning.bounds.profiles import (
    ProfileBound,
    negative_binomial_profile,
    tradeoff_profile,
)
from jaxsel.families.tuning.claims.base_pairs import (
    BasePair,
    base_pairs,
    pure_pairs,
    tuned_pair,
    two_sided_renyi,
)
from jaxsel.families.tuning.claims.profile_cases import (
    TOLERANCE,
    BaseEpsilon,
    Epsilon,
    Eta,
    Gamma,
    LawOfK,
    NoiseScale,
    Order,
    coin_profile,
    law_profile,
    law_tradeoff,
    profile_case,
    profile_cases,
    random_law,
    sharp_instances,
)
from jaxsel.papers import JX, KRW
from jaxsel.repetitions import Repetitions

# --- Theorem 5.1 ----------------------------------------------------------------------


def _theorem_5_1(
    *,
    order: Order = 10.0,
    second_order: Annotated[float, number("free in the bound", at_least=1.0)] = 10.0,
    mean: Annotated[float, number("E[K]", above=1.0, below=1e12)] = 30.0,
    eta: Annotated[float, number("shape of K", above=-1.0, below=100.0)] = 1.0,
    noise_scale: NoiseScale = 4.0,
) -> float:
    """Renyi bound at ``order`` of the tuned Gaussian (Papernot & Steinke 2022, Thm 2)."""
    rho, second = 0.5 / noise_scale**2, second_order
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    gamma = law.parameters["gamma"]
    base, other = order * rho, second * rho
    return float(negative_binomial_epsilon(order, base, second, other, eta, gamma))


def _renyi_case(
    pair: BasePair, law: Repetitions, orders: np.ndarray, second: float
) -> Case:
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    base = two_sided_renyi(pair.first, pair.second, np.append(orders, second))
    claimed = negative_binomial_epsilon(orders, base[:-1], second, base[-1], eta, gamma)
    seen = two_sided_renyi(*tuned_pair(pair, law), orders)
    worst = int(np.argmin(claimed - seen))
    where = (
        f"orders {orders[worst]:g} and {second:g}, {dict(law.parameters)}, {pair.where}"
    )
    return float(claimed[worst]), float(seen[worst]), where


def _renyi_cases(budget: Budget) -> Iterator[Case]:
    pair, law = sharp_instances()["negative_binomial"]
    yield _renyi_case(pair, law, np.array([1000.0]), 1000.0)
    generator = np.random.default_rng(budget.seed + 1)
    orders = np.array([1.05, 1.5, 3.0, 10.0])
    for pair in base_pairs(budget):
        law = random_law(generator, "negative_binomial")
        second = float(generator.choice([1.0, 2.0, 8.0, 64.0]))
        yield _renyi_case(pair, law, orders, second)


# --- Theorem 5.2 and Corollary 5.3 ----------------------------------------------------


def _theorem_5_2(
    *,
    epsilon: Epsilon = 2.95,
    base_epsilon: BaseEpsilon = 1.0,
    eta: Eta = 1.0,
    gamma: Gamma = 0.1,
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


def _corollary_5_3(
    *,
    epsilon: Annotated[float, number("pure, of the base", at_least=0.0)] = 1.0,
    eta: Eta = 1.0,
) -> float:
    """(eta + 2) epsilon, pure DP of the tuned algorithm."""
    return pure_negative_binomial_epsilon(epsilon, eta)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        law = random_law(generator, "negative_binomial")
        base = exact_epsilon(pair.first, pair.second)
        seen = exact_epsilon(*tuned_pair(pair, law))
        claimed = _corollary_5_3(epsilon=base, eta=law.parameters["eta"])
        yield claimed, seen, f"{dict(law.parameters)}, {pair.where}"


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
        "KRW-Thm5.1",
        "Theorem 5.1 (Papernot & Steinke 2022, Theorem 2)",
        "The best of K ~ D(eta, gamma) runs has a Renyi divergence of at most "
        "epsilon(a) + (eta + 1)(1 - 1/b) epsilon(b) + (1 + eta) log(1/gamma)/b + "
        "log E[K]/(a - 1) at order a, for every second order b >= 1.",
        Relation.BASE,
        _theorem_5_1,
        at_most(_renyi_cases),
    ),
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
    KRW.privacy(
        "KRW-Cor5.3",
        "Corollary 5.3",
        "The best of K ~ D(eta, gamma) runs of an epsilon-DP base is "
        "(eta + 2) epsilon-DP.",
        Relation.BASE,
        _corollary_5_3,
        at_most(_pure_cases),
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
