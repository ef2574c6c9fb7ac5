"""Binomial and Poisson numbers of runs: Koskela, Redberg & Wang 2024, Section 5.2.

Theorem 5.7 with and without its side condition, Corollary 5.8, and the Renyi baseline
Theorem 5.6.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.tuning.bounds.poisson import poisson_epsilon, poisson_renyi
from jaxsel.families.tuning.bounds.profiles import (
    ProfileBound,
    binomial_profile,
    poisson_profile,
)
from jaxsel.families.tuning.claims.base_pairs import (
    BasePair,
    base_pairs,
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
    profile_case,
    profile_cases,
    random_law,
    sharp_instances,
)
from jaxsel.repetitions import Repetitions

# --- Theorem 5.6 ----------------------------------------------------------------------


def _theorem_5_6(
    *, order: float = 10.0, mean: float = 10.0, noise_scale: float = 4.0
) -> float:
    """Renyi bound at ``order`` of the best of K ~ Poisson runs of a Gaussian base.

    epsilon + mean delta + log(mean)/(order - 1), with delta the base's profile at
    log(1 + 1/(order - 1)).

    Args:
      order: in (1, inf).
      mean: of K, >= 1.
      noise_scale: standard deviation of the base's noise over its sensitivity.
    """
    mean = check_interval("mean", mean, 1.0, math.inf, low_open=False)
    return _theorem_5_6_printed(order=order, mean=mean, noise_scale=noise_scale)


def _theorem_5_6_printed(
    *, order: float = 3.0, mean: float = 0.5, noise_scale: float = 1000.0
) -> float:
    """Printed Renyi bound at ``order``, for every mean.

    Args:
      order: in (1, inf).
      mean: of K, > 0.
      noise_scale: standard deviation of the base's noise over its sensitivity.
    """
    order = check_interval("order", order, 1.0, math.inf)
    mean = check_positive("mean", mean)
    base = curves.gaussian(check_positive("noise_scale", noise_scale))
    curve = poisson_renyi(base, mean, corrected=False, monotonised=False)
    return float(curve(np.asarray(order)))


def _renyi_case(pair: BasePair, mean: float) -> Case:
    orders = np.array([1.05, 1.5, 3.0, 10.0])
    renyi = two_sided_renyi(pair.first, pair.second, orders)
    delta = law_profile(pair.first, pair.second)(np.log1p(1.0 / (orders - 1.0)))
    claimed = poisson_epsilon(orders, renyi, delta, mean, corrected=False)
    seen = two_sided_renyi(*tuned_pair(pair, laws.poisson(mean)), orders)
    worst = int(np.argmin(claimed - seen))
    where = f"order {orders[worst]:g}, K ~ Poisson({mean!r}), {pair.where}"
    return float(claimed[worst]), float(seen[worst]), where


def _renyi_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in base_pairs(budget):
        yield _renyi_case(pair, float(10.0 ** generator.uniform(0.0, 1.5)))


def _renyi_printed_cases(budget: Budget) -> Iterator[Case]:
    half = np.array([0.5, 0.5])
    for mean in (0.5, 0.9):
        yield _renyi_case(BasePair(half, half, "both laws [0.5, 0.5]"), mean)
        for pair in base_pairs(budget._replace(cases=0)):
            yield _renyi_case(pair, mean)


# --- Theorem 5.7 and Corollary 5.8 ----------------------------------------------------


def _theorem_5_7(
    *,
    epsilon: float = 1.9,
    base_epsilon: float = 1.0,
    count: int = 20,
    probability: float = 0.1,
) -> float:
    """Delta(epsilon) of the best of K ~ Bin runs of randomised response.

    At the least epsilon_1 that meets the side condition, which is the best.

    Args:
      epsilon: of the tuned algorithm, in (-50, 200).
      base_epsilon: parameter of randomised response, in (0, 50).
      count, probability: of K, probability in (0, 1).
    """
    epsilon = checked_epsilon(epsilon)
    profile = coin_profile(checked_base_epsilon(base_epsilon))
    return float(
        binomial_profile(profile, count, probability).delta(np.asarray(epsilon))
    )


def _bound_5_7(pair: BasePair, law: Repetitions) -> ProfileBound:
    profile = law_profile(pair.first, pair.second)
    count = int(law.parameters["count"])
    return binomial_profile(profile, count, law.parameters["probability"])


def _cases_5_7(budget: Budget) -> Iterator[Case]:
    return profile_cases(budget, "binomial", _bound_5_7)


def _unconditional(profile, count: int, probability: float) -> ProfileBound:
    """Theorem 5.7 at epsilon_1 = 0, whatever the condition says."""
    delta_zero = float(profile(np.asarray(0.0)))
    shift, mean = (
        (count - 1) * math.log1p(probability * delta_zero),
        count * probability,
    )

    def delta(epsilon: np.ndarray) -> np.ndarray:
        none = -((1.0 - probability) ** count) * np.expm1(np.minimum(epsilon, 0.0))
        return np.minimum(mean * profile(epsilon - shift) + none, 1.0)

    return ProfileBound("KRW-Thm5.7-no-condition", shift, 0.0, mean, delta)


def _theorem_5_7_unconditional(
    *,
    epsilon: float = 5.6,
    base_epsilon: float = math.log(19.0),
    count: int = 6,
    probability: float = 0.8,
) -> float:
    """The same at epsilon_1 = 0, whether or not the side condition allows it.

    Args:
      epsilon: of the tuned algorithm, in (-50, 200).
      base_epsilon: parameter of randomised response, in (0, 50).
      count, probability: of K, probability in (0, 1).
    """
    epsilon = checked_epsilon(epsilon)
    profile = coin_profile(checked_base_epsilon(base_epsilon))
    count = check_integer("count", count, 1)
    probability = check_interval("probability", probability, 0.0, 1.0)
    return float(_unconditional(profile, count, probability).delta(np.array(epsilon)))


def _unconditional_cases(budget: Budget) -> Iterator[Case]:
    """The coin whose worse side has probability 0.95, then 0.05; then random pairs."""
    coin = BasePair(
        np.array([0.05, 0.95]), np.array([0.95, 0.05]), "[0.05, 0.95], mirrored"
    )
    law = laws.binomial(6, 0.8)
    yield profile_case(_unconditional(coin_profile(math.log(19.0)), 6, 0.8), coin, law)

    def bound(pair: BasePair, law: Repetitions) -> ProfileBound:
        profile = law_profile(pair.first, pair.second)
        count = int(law.parameters["count"])
        return _unconditional(profile, count, law.parameters["probability"])

    yield from profile_cases(budget._replace(cases=50), "binomial", bound)


def _corollary_5_8(
    *, epsilon: float = 1.9, base_epsilon: float = 1.0, mean: float = 2.0
) -> float:
    """Delta(epsilon) of the best of K ~ Poisson runs of randomised response.

    mean base(epsilon - mean TV), TV being the base's total variation distance: the best
    epsilon_1 is 0.

    Args:
      epsilon: of the tuned algorithm, in (-50, 200).
      base_epsilon: parameter of randomised response, in (0, 50).
      mean: of K, > 0.
    """
    epsilon = checked_epsilon(epsilon)
    profile = coin_profile(checked_base_epsilon(base_epsilon))
    return float(poisson_profile(profile, mean).delta(np.asarray(epsilon)))


def _bound_5_8(pair: BasePair, law: Repetitions) -> ProfileBound:
    return poisson_profile(law_profile(pair.first, pair.second), law.mean)


def _cases_5_8(budget: Budget) -> Iterator[Case]:
    """Valid; and no other epsilon_1 does better than 0."""
    pair, law = sharp_instances()["poisson"]
    yield profile_case(_bound_5_8(pair, law), pair, law)
    generator = np.random.default_rng(budget.seed + 1)
    for pair in base_pairs(budget):
        law = random_law(generator, "poisson")
        bound = _bound_5_8(pair, law)
        yield profile_case(bound, pair, law)
        profile = law_profile(pair.first, pair.second)
        at_zero = law.mean * float(profile(np.asarray(0.0)))
        where = f"mean TV against the best epsilon_1, mean={law.mean!r}, {pair.where}"
        yield bound.shift, at_zero, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="KRW-Thm5.6-printed",
        source=f"{PAPER}, Theorem 5.6 (Papernot & Steinke 2022, Theorem 6)",
        statement="The best of K ~ Poisson(m) runs has a Renyi divergence of at most "
        "epsilon + m delta + log(m)/(a - 1) at order a, for every mean m and every base "
        "that is (a, epsilon)-RDP and (log(1 + 1/(a - 1)), delta)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_5_6_printed,
        check=at_most(_renyi_printed_cases),
        holds=False,
        erratum="E-KRW-9",
        correction="For m >= 1 it holds: KRW-Thm5.6; for m < 1 K = 0 must be added: "
        "PS-Thm6, E-PS-1.",
    ),
    Claim(
        id="KRW-Thm5.6",
        source=f"{PAPER}, Theorem 5.6 (Papernot & Steinke 2022, Theorem 6), m >= 1",
        statement="For m >= 1 the best of K ~ Poisson(m) runs has a Renyi divergence of "
        "at most epsilon + m delta + log(m)/(a - 1) at order a, for every base that is "
        "(a, epsilon)-RDP and (log(1 + 1/(a - 1)), delta)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_5_6,
        check=at_most(_renyi_cases),
        erratum="E-KRW-9",
    ),
    Claim(
        id="KRW-Thm5.7",
        source=f"{PAPER}, Theorem 5.7",
        statement="The best of K ~ Bin(n, p) runs has delta(epsilon) <= n p base("
        "epsilon - (n - 1) log(1 + p (e^epsilon_1 - 1) + p base(epsilon_1))) for every "
        "epsilon_1 >= log(1 + (p/(1 - p)) base(epsilon_1)); below epsilon = 0 the "
        "outcome 'no run' adds (1 - e^epsilon)(1 - p)^n.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_5_7,
        check=at_most(_cases_5_7, tolerance=TOLERANCE),
    ),
    Claim(
        id="KRW-Thm5.7-no-condition",
        source=f"{PAPER}, Theorem 5.7 without its condition on epsilon_1",
        statement="The best of K ~ Bin(n, p) runs has delta(epsilon) <= n p base("
        "epsilon - (n - 1) log(1 + p base(0))): Theorem 5.7 at epsilon_1 = 0.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_5_7_unconditional,
        check=at_most(_unconditional_cases, tolerance=TOLERANCE),
        holds=False,
        correction="The condition is needed: KRW-Thm5.7. Where the worse outputs are the "
        "likelier ones on the first side, the ratio of slopes is largest inside and not "
        "at q' = 1.",
    ),
    Claim(
        id="KRW-Cor5.8",
        source=f"{PAPER}, Corollary 5.8",
        statement="The best of K ~ Poisson(m) runs has delta(epsilon) <= m base(epsilon "
        "- m (e^epsilon_1 - 1) - m base(epsilon_1)) for every epsilon_1 >= 0, m > 0; "
        "epsilon_1 = 0 is the best and costs m times the base's total variation; below "
        "epsilon = 0 the outcome 'no run' adds (1 - e^epsilon) e^-m.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_corollary_5_8,
        check=at_most(_cases_5_8, tolerance=TOLERANCE),
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="E-KRW-9",
        source=f"{PAPER}, Theorem 5.6",
        kind="statement",
        printed="Theorem 6 of Papernot & Steinke 2022 for every mean m, with an "
        "arbitrary output if K = 0.",
        correct="For m < 1 and equal laws on both sides it states log(m)/(a - 1), which "
        "is below 0. It holds for m >= 1; adding P[K = 0] to exp((a - 1) D) is always "
        "enough (E-PS-1). Corollary 5.8, for the hockey stick at epsilon >= 0, holds for "
        "every m > 0.",
        refuted=("KRW-Thm5.6-printed",),
        corrected=("KRW-Thm5.6",),
    ),
)
