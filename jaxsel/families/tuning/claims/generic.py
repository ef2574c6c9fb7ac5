"""The generic bound for any law of K, Lemma 7, and its truncation, Lemma 22."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_integer, check_interval
from jaxsel.families.tuning.bounds.generic import (
    correct_for_no_runs,
    generic_pair_epsilon,
    truncation_penalty,
)
from jaxsel.families.tuning.claims.base_pairs import BasePair, base_pairs, tuned_pair

_PAPER = "Papernot & Steinke 2022"
_ORDERS = np.array([1.02, 1.5, 3.0, 25.0])
_SAME = BasePair(np.array([0.5, 0.5]), np.array([0.5, 0.5]), "both laws [0.5, 0.5]")


def _coin(base_epsilon: float) -> BasePair:
    """Randomised response; equal laws at epsilon 0."""
    epsilon = check_interval("base_epsilon", base_epsilon, 0.0, 50.0, low_open=False)
    rare, common = 1.0 / (1.0 + math.exp(epsilon)), 1.0 / (1.0 + math.exp(-epsilon))
    return BasePair(
        np.array([rare, common]), np.array([common, rare]), f"epsilon={epsilon:g}"
    )


def _order(order: float) -> float:
    return check_interval("order", order, 1.0, math.inf)


# --- Lemma 7 --------------------------------------------------------------------------


def _generic_number(
    order: float, base_epsilon: float, repetitions: str, corrected: bool
) -> float:
    pair, law = _coin(base_epsilon), laws.parse(repetitions)
    return max(
        float(generic_pair_epsilon(_order(order), p, q, law, corrected=corrected))
        for p, q in ((pair.first, pair.second), (pair.second, pair.first))
    )


def _generic(
    *,
    order: float = 3.0,
    base_epsilon: float = 1.0,
    repetitions: str = "poisson:mean=10",
) -> float:
    """Renyi bound at ``order`` for the best of K randomised responses, K = 0 included.

    Args:
      order: in (1, inf).
      base_epsilon: parameter of randomised response, in [0, 50]; 0 is equal laws.
      repetitions: law of K, for example "tnb:eta=0.5,mean=10".
    """
    return _generic_number(order, base_epsilon, repetitions, corrected=True)


def _generic_printed(
    *,
    order: float = 3.0,
    base_epsilon: float = 0.0,
    repetitions: str = "poisson:mean=0.5",
) -> float:
    """Printed bound at ``order`` for the best of K randomised responses.

    Args:
      order: in (1, inf).
      base_epsilon: parameter of randomised response, in [0, 50]; 0 is equal laws.
      repetitions: law of K, for example "binomial:count=6,probability=0.1".
    """
    return _generic_number(order, base_epsilon, repetitions, corrected=False)


def _generic_case(pair: BasePair, text: str, corrected: bool) -> Case:
    law = laws.parse(text)
    claimed = generic_pair_epsilon(
        _ORDERS, pair.first, pair.second, law, corrected=corrected
    )
    seen = renyi_divergence(*tuned_pair(pair, law), _ORDERS)
    worst = int(np.argmin(claimed - seen))
    where = f"order {_ORDERS[worst]:g}, K ~ {text}, {pair.where}"
    return float(claimed[worst]), float(seen[worst]), where


def _random_law(generator: np.random.Generator) -> str:
    """Text of a random law of K, one of the cheap families."""
    match int(generator.integers(5)):
        case 0:
            return f"poisson:mean={float(10.0 ** generator.uniform(-1.3, 1.5))!r}"
        case 1:
            count, chance = int(generator.integers(1, 9)), generator.uniform(0.02, 1.0)
            return f"binomial:count={count},probability={float(chance)!r}"
        case 2:
            return f"point_mass:count={int(generator.integers(1, 9))}"
        case _:
            eta, gamma = (
                generator.uniform(-0.9, 4.0),
                10.0 ** generator.uniform(-5, -0.05),
            )
            return f"tnb:eta={float(eta)!r},gamma={float(gamma)!r}"


_OTHER_LAWS = (
    "beta_binomial:count=20,gamma=1",
    "beta_binomial:count=2,gamma=0.3",
    "geometric:gamma=0.05,capped=12",
    "poisson:mean=3,conditioned=4",
)


def _generic_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    yield _generic_case(_SAME, "poisson:mean=0.5", corrected=True)
    yield _generic_case(_SAME, "binomial:count=6,probability=0.1", corrected=True)
    for epsilon in (1.0, 0.1):
        for text in _OTHER_LAWS:
            yield _generic_case(_coin(epsilon), text, corrected=True)
    for pair in base_pairs(budget._replace(cases=min(budget.cases, 150))):
        yield _generic_case(pair, _random_law(generator), corrected=True)


def _generic_printed_cases(budget: Budget) -> Iterator[Case]:
    for text in (
        "poisson:mean=0.5",
        "poisson:mean=0.9",
        "binomial:count=6,probability=0.1",
    ):
        yield _generic_case(_SAME, text, corrected=False)
        yield _generic_case(_coin(0.5), text, corrected=False)


# --- Lemma 22 -------------------------------------------------------------------------


def _truncated_bound(
    order: np.ndarray, pair: BasePair, text: str, maximum: int, corrected: bool
) -> np.ndarray:
    law = laws.parse(text)
    bound = generic_pair_epsilon(order, pair.first, pair.second, law, corrected=False)
    bound = bound + truncation_penalty(order, law, maximum)
    if corrected:
        none = law.probability_zero / float(law.cdf(maximum))
        bound = correct_for_no_runs(order, bound, none)
    return bound


def _truncated_number(
    order: float, base_epsilon: float, repetitions: str, maximum: int, corrected: bool
) -> float:
    pair = _coin(base_epsilon)
    maximum = check_integer("maximum", maximum, 1)
    return max(
        float(
            _truncated_bound(
                np.asarray(_order(order)), side, repetitions, maximum, corrected
            )
        )
        for side in (pair, pair._replace(first=pair.second, second=pair.first))
    )


def _truncated(
    *,
    order: float = 3.0,
    base_epsilon: float = 1.0,
    repetitions: str = "geometric:mean=10",
    maximum: int = 50,
) -> float:
    """Renyi bound for the best of K randomised responses, K given K <= maximum.

    Args:
      order: in (1, inf).
      base_epsilon: parameter of randomised response, in [0, 50]; 0 is equal laws.
      repetitions: law of K before truncation.
      maximum: m, where it is truncated, >= 1.
    """
    return _truncated_number(order, base_epsilon, repetitions, maximum, True)


def _truncated_printed(
    *,
    order: float = 3.0,
    base_epsilon: float = 0.0,
    repetitions: str = "poisson:mean=0.5",
    maximum: int = 10,
) -> float:
    """Printed bound for the best of K randomised responses, K given K <= maximum.

    Args:
      order: in (1, inf).
      base_epsilon: parameter of randomised response, in [0, 50]; 0 is equal laws.
      repetitions: law of K before truncation.
      maximum: m, where it is truncated, >= 1.
    """
    return _truncated_number(order, base_epsilon, repetitions, maximum, False)


def _truncated_case(pair: BasePair, text: str, maximum: int, corrected: bool) -> Case:
    claimed = _truncated_bound(_ORDERS, pair, text, maximum, corrected)
    law = laws.conditioned(laws.parse(text), maximum)
    seen = renyi_divergence(*tuned_pair(pair, law), _ORDERS)
    worst = int(np.argmin(claimed - seen))
    where = f"order {_ORDERS[worst]:g}, K ~ {text} given K <= {maximum}, {pair.where}"
    return float(claimed[worst]), float(seen[worst]), where


def _truncated_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    yield _truncated_case(_SAME, "poisson:mean=0.5", 10, corrected=True)
    for pair in base_pairs(budget._replace(cases=min(budget.cases, 120))):
        if int(generator.integers(2)):
            mean = float(10.0 ** generator.uniform(-1.0, 1.0))
            text = f"poisson:mean={mean!r}"
        else:
            eta, gamma = (
                generator.uniform(-0.9, 4.0),
                10.0 ** generator.uniform(-2.0, -0.1),
            )
            text = f"tnb:eta={float(eta)!r},gamma={float(gamma)!r}"
        maximum = int(10.0 ** generator.uniform(0.0, 2.0))
        yield _truncated_case(pair, text, maximum, corrected=True)


def _truncated_printed_cases(budget: Budget) -> Iterator[Case]:
    for maximum in (10, 100):
        for mean in (0.5, 0.9):
            yield _truncated_case(
                _SAME, f"poisson:mean={mean:g}", maximum, corrected=False
            )


# --- Records --------------------------------------------------------------------------

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="PS-Lem7-printed",
        source=f"{_PAPER}, Lemma 7",
        statement="For any law of K with generating function f there is g with "
        "D_a(A || A') <= D_a(Q || Q') + log(f'(q)^a f'(q')^(1-a))/(a-1), q = E_Q[g], "
        "q' = E_Q'[g].",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_generic_printed,
        check=at_most(_generic_printed_cases),
        holds=False,
        erratum="E-PS-1",
        correction="P[K = 0] must be added, as in PS-Lem7; without it the bound on equal "
        "laws is log(E[K])/(a-1) at best, below 0 if E[K] < 1.",
    ),
    Claim(
        id="PS-Lem7",
        source=f"{_PAPER}, Lemma 7, corrected",
        statement="D_a(A || A') <= log(P[K = 0] + e^((a-1)B))/(a-1) with B = D_a(Q || Q') "
        "+ sup log(f'(q)^a f'(q')^(1-a))/(a-1) over the masses (q, q') of lower sets of "
        "the order.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_generic,
        check=at_most(_generic_cases),
        erratum="E-PS-1",
    ),
    Claim(
        id="PS-Lem22-printed",
        source=f"{_PAPER}, Lemma 22",
        statement="For K given K <= m and any law of K, the bound of Lemma 7 with the "
        "untruncated f holds with log(1/P[K <= m])/(a-1) + "
        "log(1 + E[K; K > m]/E[K; K <= m]) added.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_truncated_printed,
        check=at_most(_truncated_printed_cases),
        holds=False,
        erratum="E-PS-1",
        correction="As in Lemma 7 the outcome 'no run' is missing: PS-Lem22.",
    ),
    Claim(
        id="PS-Lem22",
        source=f"{_PAPER}, Lemma 22, corrected",
        statement="For K given K <= m, D_a <= log(P[K = 0 | K <= m] + e^((a-1)B))/(a-1) "
        "with B the bound of Lemma 7 for K plus log(1/P[K <= m])/(a-1) + "
        "log(1 + E[K; K > m]/E[K; K <= m]).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_truncated,
        check=at_most(_truncated_cases),
        erratum="E-PS-1",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="E-PS-1",
        source=f"{_PAPER}, Lemma 7, Theorem 6, Corollary 21, Lemma 22",
        kind="statement",
        printed="P[K = 0] = 0 may be assumed without loss of generality, so that the "
        "bounds hold for every K >= 0.",
        correct="The outcome 'no run' has probability P[K = 0] on both sides and adds it "
        "to exp((a-1) D_a). For K ~ Poisson(mean) the printed Theorem 6 holds for all "
        "bases if and only if mean >= 1: for equal base laws it states "
        "log(mean)/(a-1), below 0 = D_a if mean < 1. Adding P[K = 0] is always enough.",
        refuted=(
            "PS-Lem7-printed",
            "PS-Thm6-printed",
            "PS-Cor21-printed",
            "PS-Lem22-printed",
        ),
        corrected=("PS-Lem7", "PS-Thm6", "PS-Cor21", "PS-Lem22"),
    ),
)
