"""Privacy profiles of tuned algorithms: Koskela, Redberg & Wang 2024, Section 5.1.

Theorem 5.2 and Corollary 5.3 for truncated negative binomial K, their Renyi baseline
Theorem 5.1, and the bound of this project along the whole trade-off curve, for any K.
Each is set against the exact profile of the best of K draws from two finite laws.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import randomised_response_tradeoff
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval, check_positive
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
    PAPER,
    TOLERANCE,
    checked_base_epsilon,
    checked_epsilon,
    coin_profile,
    law_profile,
    law_tradeoff,
    profile_case,
    profile_cases,
    random_law,
    sharp_instances,
)
from jaxsel.repetitions import Repetitions

# --- Theorem 5.1 ----------------------------------------------------------------------


def _theorem_5_1(
    *,
    order: float = 10.0,
    second_order: float = 10.0,
    mean: float = 30.0,
    eta: float = 1.0,
    noise_scale: float = 4.0,
) -> float:
    """Renyi bound at ``order`` of the tuned Gaussian (Papernot & Steinke 2022, Thm 2).

    Args:
      order: in (1, inf).
      second_order: the free order of the bound, in [1, inf).
      mean: E[K], >= 1.
      eta: shape of the law of K, > -1.
      noise_scale: standard deviation of the base's noise over its sensitivity.
    """
    order = check_interval("order", order, 1.0, math.inf)
    second = check_interval("second_order", second_order, 1.0, math.inf, low_open=False)
    mean = check_interval("mean", mean, 1.0, 1e12)
    eta = check_interval("eta", eta, -1.0, 100.0)
    rho = 0.5 / check_positive("noise_scale", noise_scale) ** 2
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    gamma = law.parameters["gamma"]
    return float(
        negative_binomial_epsilon(order, order * rho, second, second * rho, eta, gamma)
    )


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
    epsilon: float = 2.95,
    base_epsilon: float = 1.0,
    eta: float = 1.0,
    gamma: float = 0.1,
) -> float:
    """Delta(epsilon) of the best of K randomised responses, at the best epsilon_1.

    Args:
      epsilon: of the tuned algorithm, in (-50, 200).
      base_epsilon: parameter of randomised response, in (0, 50).
      eta, gamma: law of K ~ D(eta, gamma), eta > -1, gamma in (0, 1).
    """
    epsilon = checked_epsilon(epsilon)
    profile = coin_profile(checked_base_epsilon(base_epsilon))
    return float(
        negative_binomial_profile(profile, eta, gamma).delta(np.asarray(epsilon))
    )


def _bound_5_2(pair: BasePair, law: Repetitions) -> ProfileBound:
    profile = law_profile(pair.first, pair.second)
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    return negative_binomial_profile(profile, eta, gamma)


def _cases_5_2(budget: Budget) -> Iterator[Case]:
    return profile_cases(budget, "negative_binomial", _bound_5_2)


def _corollary_5_3(*, epsilon: float = 1.0, eta: float = 1.0) -> float:
    """(eta + 2) epsilon, pure DP of the tuned algorithm.

    Args:
      epsilon: pure DP of the base, >= 0.
      eta: shape of the law of K, > -1.
    """
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
    epsilon: float = 2.55,
    base_epsilon: float = 1.0,
    repetitions: str = "geometric:gamma=0.1",
) -> float:
    """Delta(epsilon) of the best of K randomised responses, by the trade-off curve.

    Args:
      epsilon: of the tuned algorithm, in (-50, 200).
      base_epsilon: parameter of randomised response, in (0, 50).
      repetitions: law of K, for example "binomial:count=20,mean=10".
    """
    epsilon, base = checked_epsilon(epsilon), checked_base_epsilon(base_epsilon)
    bound = tradeoff_profile(
        coin_profile(base),
        lambda x: randomised_response_tradeoff(x, base),
        laws.parse(repetitions),
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


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="KRW-Thm5.1",
        source=f"{PAPER}, Theorem 5.1 (Papernot & Steinke 2022, Theorem 2)",
        statement="The best of K ~ D(eta, gamma) runs has a Renyi divergence of at most "
        "epsilon(a) + (eta + 1)(1 - 1/b) epsilon(b) + (1 + eta) log(1/gamma)/b + "
        "log E[K]/(a - 1) at order a, for every second order b >= 1.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_5_1,
        check=at_most(_renyi_cases),
    ),
    Claim(
        id="KRW-Thm5.2",
        source=f"{PAPER}, Theorem 5.2",
        statement="The best of K ~ D(eta, gamma) runs has delta(epsilon) <= E[K] "
        "base(epsilon - (eta + 1) log(e^epsilon_1 + ((1 - gamma)/gamma) "
        "base(epsilon_1))) for every real epsilon and epsilon_1 >= 0, base being the "
        "privacy profile of one run.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_5_2,
        check=at_most(_cases_5_2, tolerance=TOLERANCE),
    ),
    Claim(
        id="KRW-Cor5.3",
        source=f"{PAPER}, Corollary 5.3",
        statement="The best of K ~ D(eta, gamma) runs of an epsilon-DP base is "
        "(eta + 2) epsilon-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_corollary_5_3,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="KRW-N2",
        source="this project, after Theorem 4.1 of Koskela, Redberg & Wang 2024",
        statement="For any K, delta(epsilon) <= E[K] base(epsilon - sup_x log(f'(1 - "
        "x)/f'(1 - T(x)))) + (1 - e^epsilon)_+ P[K = 0], T being the base's trade-off "
        "curve; the shift is at most that of Theorem 5.2.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_any_law,
        check=at_most(_any_cases, tolerance=TOLERANCE),
    ),
)
