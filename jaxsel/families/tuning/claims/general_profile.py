"""The general bound: Koskela, Redberg & Wang 2024, Section 4 and Appendix B.

Theorem 4.1 with Remark 4.2, and Theorem B.2, on finite pairs, for any law of K.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import hockey_stick, renyi_divergence
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errors import check_interval
from jaxsel.families.tuning.bounds.general_profile import (
    general_hockey_stick,
    general_renyi,
    refined_hockey_stick,
)
from jaxsel.families.tuning.claims.base_pairs import BasePair, base_pairs, tuned_pair
from jaxsel.families.tuning.claims.profile_cases import coin_pair, random_law, swapped
from jaxsel.repetitions import Repetitions

_PAPER = "Koskela, Redberg & Wang 2024"
_FAMILIES = ("negative_binomial", "poisson", "binomial")


def _epsilon(epsilon: float) -> float:
    return check_interval("epsilon", epsilon, -50.0, 200.0)


# --- Theorem 4.1, Remark 4.2 and Theorem B.2 ------------------------------------------


def _theorem_4_1(
    *,
    epsilon: float = 2.0,
    base_epsilon: float = 1.0,
    repetitions: str = "geometric:gamma=0.1",
) -> float:
    """Bound on the hockey-stick divergence of the best of K randomised responses.

    Args:
      epsilon: in (-50, 200).
      base_epsilon: parameter of randomised response, in (0, 50).
      repetitions: law of K, for example "poisson:mean=2".
    """
    pair, law = coin_pair(base_epsilon), laws.parse(repetitions)
    return float(general_hockey_stick(pair.first, pair.second, _epsilon(epsilon), law))


def _random_instances(budget: Budget) -> Iterator[tuple[BasePair, Repetitions, str]]:
    generator = np.random.default_rng(budget.seed + 1)
    for i, pair in enumerate(base_pairs(budget)):
        law = random_law(generator, _FAMILIES[i % 3])
        if i % 2:
            pair = swapped(pair)
        yield pair, law, f"K ~ {law.family} {dict(law.parameters)}, {pair.where}"


def _general_cases(budget: Budget) -> Iterator[Case]:
    """The supremum is taken over a grid here, which can only make the claim smaller."""
    coin, once = coin_pair(1.0), laws.point_mass(1)
    claimed = general_hockey_stick(coin.first, coin.second, 0.3, once, steps=0)
    seen = hockey_stick(*tuned_pair(coin, once), 0.3)
    yield float(claimed), float(seen), f"equality: one run, epsilon=0.3, {coin.where}"
    generator = np.random.default_rng(budget.seed + 2)
    for pair, law, where in _random_instances(budget):
        epsilon = float(generator.choice([-0.5, 0.0, 0.3, 1.0, 3.0]))
        claimed = general_hockey_stick(pair.first, pair.second, epsilon, law, steps=0)
        seen = hockey_stick(*tuned_pair(pair, law), epsilon)
        yield float(claimed), float(seen), f"epsilon={epsilon:g}, {where}"


def _remark_4_2(
    *,
    order: float = 3.0,
    base_epsilon: float = 1.0,
    repetitions: str = "geometric:gamma=0.1",
) -> float:
    """Bound on the Renyi divergence of the best of K randomised responses.

    Args:
      order: in (1, 1000).
      base_epsilon: parameter of randomised response, in (0, 50).
      repetitions: law of K, for example "poisson:mean=2".
    """
    order = check_interval("order", order, 1.0, 1000.0)
    pair, law = coin_pair(base_epsilon), laws.parse(repetitions)
    return float(general_renyi(pair.first, pair.second, np.asarray(order), law))


def _sum_of_suprema(pair: BasePair, order: float, law: Repetitions) -> float:
    """Theorem 4.1 for z^order on a grid of (q, q'), plus P[K = 0], as a divergence."""
    part = np.linspace(0.0, 1.0, 201)[:, None]
    better = np.concatenate([[0.0], np.cumsum(pair.first)[:-1]])
    other = np.concatenate([[0.0], np.cumsum(pair.second)[:-1]])
    a = law.log_pgf_derivative_tail(np.minimum(better + part * pair.first, 1.0))
    b = law.log_pgf_derivative_tail(np.minimum(other + part * pair.second, 1.0))
    slopes = math.exp(float(np.max(order * a + (1.0 - order) * b)))
    terms = pair.first**order * pair.second ** (1.0 - order) * slopes
    return math.log(law.probability_zero + float(terms.sum())) / (order - 1.0)


def _remark_cases(budget: Budget) -> Iterator[Case]:
    """The product is at least Theorem 4.1's sum, and at least the exact divergence."""
    generator = np.random.default_rng(budget.seed + 2)
    for i, (pair, law, where) in enumerate(_random_instances(budget)):
        order = float(generator.choice([1.1, 2.0, 5.0]))
        if i % 5:
            continue
        claimed = float(general_renyi(pair.first, pair.second, order, law))
        where = f"order {order:g}, {where}"
        yield claimed, _sum_of_suprema(pair, order, law), f"sum, {where}"
        seen = renyi_divergence(*tuned_pair(pair, law), order)
        yield claimed, float(seen), where


def _theorem_b2(
    *,
    epsilon: float = 2.0,
    base_epsilon: float = 1.0,
    repetitions: str = "geometric:gamma=0.1",
) -> float:
    """Exact hockey-stick divergence for randomised response with ties broken uniformly.

    Args:
      epsilon: in (-50, 200).
      base_epsilon: parameter of randomised response, in (0, 50).
      repetitions: law of K, for example "poisson:mean=2".
    """
    pair, law = coin_pair(base_epsilon), laws.parse(repetitions)
    return float(refined_hockey_stick(pair.first, pair.second, _epsilon(epsilon), law))


def _integral(pair: BasePair, epsilon: float, law: Repetitions) -> float:
    """Theorem B.2's integral by the midpoint rule, 4000 cells an outcome."""
    part = (np.arange(4000) + 0.5)[:, None] / 4000.0
    better = np.concatenate([[0.0], np.cumsum(pair.first)[:-1]])
    other = np.concatenate([[0.0], np.cumsum(pair.second)[:-1]])
    a = law.pgf_derivative_tail(np.minimum(better + part * pair.first, 1.0))
    b = law.pgf_derivative_tail(np.minimum(other + part * pair.second, 1.0))
    gap = pair.first * a - math.exp(epsilon) * pair.second * b
    none = -law.probability_zero * math.expm1(min(epsilon, 0.0))
    return float(np.maximum(gap, 0.0).mean(axis=0).sum()) + none


def _refined_cases(budget: Budget) -> Iterator[Case]:
    """Smooth laws of K, for which the midpoint rule is good to 1e-5."""
    generator = np.random.default_rng(budget.seed + 2)
    texts = ("geometric:gamma=0.2", "tnb:eta=-0.5,gamma=0.3", "poisson:mean=3",
             "binomial:count=5,probability=0.4", "point_mass:count=3")  # fmt: skip
    for i, pair in enumerate(base_pairs(budget._replace(cases=budget.cases // 10))):
        law = laws.parse(texts[i % len(texts)])
        epsilon = float(generator.choice([-0.5, 0.0, 0.3, 1.0]))
        each = pair if i % 2 else swapped(pair)
        claimed = float(refined_hockey_stick(each.first, each.second, epsilon, law))
        where = f"epsilon={epsilon:g}, K ~ {texts[i % len(texts)]}, {each.where}"
        yield claimed, _integral(each, epsilon, law), where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="KRW-Thm4.1",
        source=f"{_PAPER}, Theorem 4.1",
        statement="H_f(A || A') <= sum_y f(Q f'(q_y)/(Q' f'(q'_y))) Q' f'(q'_y), f' "
        "being the slope of the generating function and (q_y, q'_y) the worst masses of "
        "worse outcomes, chosen for each y; P[K = 0] > 0 adds f(1) P[K = 0].",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_4_1,
        check=at_most(_general_cases, tolerance=1e-12),
    ),
    Claim(
        id="KRW-Rem4.2",
        source=f"{_PAPER}, Remark 4.2 (Papernot & Steinke 2022, Lemma 7)",
        statement="For f(z) = z^a Theorem 4.1 is the product of the base's divergence "
        "and of one worst f'(q)^a f'(q')^(1 - a), plus P[K = 0].",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_remark_4_2,
        check=at_most(_remark_cases),
    ),
    Claim(
        id="KRW-ThmB.2",
        source=f"{_PAPER}, Theorem B.2",
        statement="For a continuous score, H_f(A || A') is the integral of f(Q f'(q)/(Q' "
        "f'(q'))) Q' f'(q') with q, q' the masses of worse outputs; for the hockey stick "
        "it is a sum of differences of generating functions between roots of the loss.",
        kind="identity",
        relation=Relation.BASE,
        evaluate=_theorem_b2,
        check=equal(_refined_cases, tolerance=1e-5),
    ),
)
