"""Errata of Theorem 3.3 and Lemma D.1 of Koskela, Redberg & Wang 2024.

E-KRW-3 and E-KRW-4, each as printed and as corrected.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special, stats

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import (
    gaussian_log_delta,
    randomised_response_renyi,
)
from jaxsel.accounting.single_run.conversions import log_delta_at_order
from jaxsel.accounting.single_run.divergences import hockey_stick, renyi_divergence
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import bound_verdict
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.tuning.claims.errata_cases import describe_pair

_PAPER = "Koskela, Redberg & Wang 2024"
Case = tuple[float, float, str]


# --- Theorem 3.3 (E-KRW-3) ------------------------------------------------------------


def _noisy_max_delta(
    copies: int,
    epsilon: float,
    candidates: int,
    compositions: int,
    noise_scale: float,
) -> float:
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    scale = check_positive("noise_scale", noise_scale)
    # sensitivity 2, composed: one Gaussian of sensitivity 2 sqrt(copies)
    multiplier = scale / (2.0 * math.sqrt(copies))
    log_delta = compositions * math.log(candidates) + float(
        gaussian_log_delta(epsilon, multiplier)
    )
    return math.exp(min(log_delta, 0.0))


def _theorem_3_3_printed(
    *,
    epsilon: float = 100.0,
    candidates: int = 2,
    compositions: int = 200,
    noise_scale: float = 1.0,
) -> float:
    """Printed delta(epsilon) of composed Gaussian noisy maxima, capped at 1.

    candidates^compositions times the profile of the base composed ``candidates`` times.

    Args:
      epsilon: >= 0.
      candidates: m, scores in each maximum, >= 1; each moves by at most 1.
      compositions: k, how many maxima are released, >= 1.
      noise_scale: standard deviation of the Gaussian noise.
    """
    candidates = check_integer("candidates", candidates, 1)
    compositions = check_integer("compositions", compositions, 1)
    return _noisy_max_delta(candidates, epsilon, candidates, compositions, noise_scale)


def _theorem_3_3(
    *,
    epsilon: float = 100.0,
    candidates: int = 2,
    compositions: int = 200,
    noise_scale: float = 1.0,
) -> float:
    """Delta(epsilon) of composed Gaussian noisy maxima, capped at 1.

    candidates^compositions times the profile of the base composed ``compositions``
    times.

    Args:
      epsilon: >= 0.
      candidates: m, scores in each maximum, >= 1; each moves by at most 1.
      compositions: k, how many maxima are released, >= 1.
      noise_scale: standard deviation of the Gaussian noise.
    """
    candidates = check_integer("candidates", candidates, 1)
    compositions = check_integer("compositions", compositions, 1)
    return _noisy_max_delta(
        compositions, epsilon, candidates, compositions, noise_scale
    )


def _chances(gap: float, scale: float) -> tuple[float, float]:
    """P[the first of two noisy scores wins] when it leads by gap + 1, then gap - 1."""
    spread = scale * math.sqrt(2.0)
    return float(special.ndtr((gap + 1.0) / spread)), float(
        special.ndtr((gap - 1.0) / spread)
    )


def _two_candidates_delta(
    epsilon: float, compositions: int, gap: float, scale: float
) -> float:
    """Exact delta of maxima of two scores, gap + 1 apart, then gap - 1 apart.

    Both scores move by 1, apart; the number of wins of the first is sufficient.
    """
    wins = np.arange(compositions + 1)
    first, second = _chances(gap, scale)
    log_first = stats.binom.logpmf(wins, compositions, first)
    log_second = stats.binom.logpmf(wins, compositions, second)
    excess = np.minimum(epsilon - (log_first - log_second), 0.0)
    return float(np.sum(-np.exp(log_first) * np.expm1(excess)))


def _composition_cases(bound) -> Iterator[Case]:
    yield bound(), _two_candidates_delta(100.0, 200, 0.0, 1.0), "the counterexample"
    for compositions in (1, 2, 5, 20, 200):
        for scale in (0.5, 1.0, 4.0):
            for gap in (0.0, -1.0, -4.0):
                first, second = _chances(gap, scale)
                for share in (0.2, 0.5, 0.8):
                    # a share of the largest privacy loss that there is
                    epsilon = share * compositions * math.log(first / second)
                    setting = {
                        "epsilon": epsilon,
                        "candidates": 2,
                        "compositions": compositions,
                        "noise_scale": scale,
                    }
                    exact = _two_candidates_delta(epsilon, compositions, gap, scale)
                    yield bound(**setting), exact, f"gap {gap:g}, {setting}"


# --- Lemma D.1 (E-KRW-4) --------------------------------------------------------------

_COIN_RENYI = float(randomised_response_renyi(2.0, 1.0))


def _renyi_arguments(order: float, renyi_epsilon: float, epsilon: float):
    return (
        check_interval("order", order, 1.0, math.inf),
        check_interval("renyi_epsilon", renyi_epsilon, 0.0, math.inf, low_open=False),
        check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False),
    )


def _lemma_d1_printed(
    *, order: float = 2.0, renyi_epsilon: float = _COIN_RENYI, epsilon: float = 0.0
) -> float:
    """Printed delta(epsilon) of a Renyi bound, exponent over the order; at most 1.

    Args:
      order: > 1.
      renyi_epsilon: Renyi bound at that order, >= 0; the default is that of randomised
        response with parameter 1.
      epsilon: >= 0.
    """
    order, renyi_epsilon, epsilon = _renyi_arguments(order, renyi_epsilon, epsilon)
    exponent = (order - 1.0) * (renyi_epsilon - epsilon) / order
    front = (order - 1.0) * math.log1p(-1.0 / order) - math.log(order)
    return math.exp(min(exponent + front, 0.0))


def _lemma_d1(
    *, order: float = 2.0, renyi_epsilon: float = _COIN_RENYI, epsilon: float = 0.0
) -> float:
    """Delta(epsilon) of a Renyi bound (Canonne, Kamath & Steinke 2020, Prop. 12).

    exp((a - 1)(r - epsilon)) (1 - 1/a)^(a - 1) / a for the bound r at order a, capped
    at 1.

    Args:
      order: > 1.
      renyi_epsilon: Renyi bound at that order, >= 0; the default is that of randomised
        response with parameter 1.
      epsilon: >= 0.
    """
    order, renyi_epsilon, epsilon = _renyi_arguments(order, renyi_epsilon, epsilon)
    return math.exp(min(float(log_delta_at_order(order, renyi_epsilon, epsilon)), 0.0))


def _conversion_cases(bound, budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    coin = pairs.randomised_response(1.0)
    instances = [(coin, 2.0, 0.0)]
    for _ in range(budget.cases):
        pair = pairs.random_pair(generator, int(generator.integers(2, 6)))
        order = 1.0 + float(np.exp(generator.uniform(-3.0, 3.0)))
        instances.append((pair, order, float(generator.exponential())))
    for pair, order, epsilon in instances:
        renyi = float(renyi_divergence(*pair, order))
        exact = float(hockey_stick(*pair, epsilon))
        claimed = bound(order=order, renyi_epsilon=renyi, epsilon=epsilon)
        where = f"order {order!r}, epsilon {epsilon!r}"
        yield claimed, exact, f"{describe_pair(pair)} at {where}"


CLAIMS = (
    Claim(
        id="KRW-Thm3.3-printed",
        source=f"{_PAPER}, Theorem 3.3",
        statement=(
            "The adaptive composition of k noisy maxima over m scores has at most m^k "
            "times the profile of an m-wise composition of the additive noise "
            "mechanism with sensitivity 2."
        ),
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_theorem_3_3_printed,
        check=lambda budget: bound_verdict(_composition_cases(_theorem_3_3_printed)),
        holds=False,
        erratum="E-KRW-3",
        correction="The profile is that of a k-wise composition: KRW-Thm3.3.",
    ),
    Claim(
        id="KRW-Thm3.3",
        source=f"{_PAPER}, Theorem 3.3 with the composition of its proof",
        statement=(
            "The adaptive composition of k noisy maxima over m scores has at most m^k "
            "times the profile of a k-wise composition of the additive noise "
            "mechanism with sensitivity 2."
        ),
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_theorem_3_3,
        check=lambda budget: bound_verdict(_composition_cases(_theorem_3_3)),
        erratum="E-KRW-3",
    ),
    Claim(
        id="KRW-LemD.1-printed",
        source=f"{_PAPER}, Lemma D.1",
        statement=(
            "A mechanism with Renyi bound r at order a has delta(epsilon) at most "
            "exp((a - 1)(r - epsilon)/a) (1 - 1/a)^(a - 1) / a."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_lemma_d1_printed,
        check=lambda budget: bound_verdict(
            _conversion_cases(_lemma_d1_printed, budget)
        ),
        holds=False,
        erratum="E-KRW-4",
        correction="The exponent is (a - 1)(r - epsilon): KRW-LemD.1.",
    ),
    Claim(
        id="KRW-LemD.1",
        source=f"{_PAPER}, Lemma D.1 as in Canonne, Kamath & Steinke 2020, Prop. 12",
        statement=(
            "A mechanism with Renyi bound r at order a has delta(epsilon) at most "
            "exp((a - 1)(r - epsilon)) (1 - 1/a)^(a - 1) / a."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_lemma_d1,
        check=lambda budget: bound_verdict(_conversion_cases(_lemma_d1, budget)),
        erratum="E-KRW-4",
    ),
)

ERRATA = (
    Erratum(
        id="E-KRW-3",
        source=f"{_PAPER}, Theorem 3.3 and Lemma A.2",
        kind="statement",
        printed="delta(epsilon) is the privacy profile of an m-wise composition.",
        correct=(
            "It is that of a k-wise composition, m being the number of scores and k "
            "that of the composed mechanisms; the proof, for k = 2, composes k. With "
            "m = 2 an m-wise composition would bound any number of releases: 200 of "
            "them with unit noise have a delta near 0.91 at epsilon = 100."
        ),
        refuted=("KRW-Thm3.3-printed",),
        corrected=("KRW-Thm3.3",),
    ),
    Erratum(
        id="E-KRW-4",
        source=f"{_PAPER}, Lemma D.1, Equation (D.1)",
        kind="statement",
        printed="delta = exp((a - 1)(r - epsilon)/a) (1 - 1/a)^(a - 1) / a.",
        correct=(
            "delta = exp((a - 1)(r - epsilon)) (1 - 1/a)^(a - 1) / a, as in the cited "
            "proposition. Randomised response with parameter 1 has total variation "
            "tanh(1/2) = 0.462, and the printed formula gives 0.361 at order 2."
        ),
        refuted=("KRW-LemD.1-printed",),
        corrected=("KRW-LemD.1",),
    ),
)
