"""Cohen et al. 2022, Appendix A.1: the coin game, exact by recursion.

Errata of the same lemmas: ``jaxsel.families.selection_and_test.claims.coin_game_errata``.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errata_numbers import one_to_infinity
from jaxsel.errors import InputError, check_integer, check_positive
from jaxsel.families.selection_and_test.claims.coin_cases import random_sequence
from jaxsel.families.selection_and_test.coin_game_laws import (
    close_coins,
    coin_renyi,
    favoured_rate,
    known_chance_rate,
)

_SOURCE = "Cohen et al. 2022, Appendix A.1"


def largest_loss(p: np.ndarray, q: np.ndarray) -> float:
    """D_inf(P || Q) of a game whose coins depend on the ones before.

    Args:
      p, q: Float["ones coins"]: row j is shown after j ones; the game ends after as
        many ones as there are rows, or when the coins run out.
    """
    with np.errstate(divide="ignore"):
        up, down = np.log(p) - np.log(q), np.log1p(-p) - np.log1p(-q)
    ones, coins = p.shape
    best = np.zeros(ones + 1)
    for coin in range(coins - 1, -1, -1):
        best[:ones] = np.maximum(up[:, coin] + best[1:], down[:, coin] + best[:ones])
    return float(best[0])


def game_moment(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """(order - 1) D_order(P || Q) of the same game, "not ended" being an outcome."""
    up = order * np.log(p) + (1.0 - order) * np.log(q)
    down = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    ones, coins = p.shape
    moment = np.zeros(ones + 1)
    for coin in range(coins - 1, -1, -1):
        moment[:ones] = np.logaddexp(
            up[:, coin] + moment[1:], down[:, coin] + moment[:ones]
        )
    return float(moment[0])


def _random_game(
    generator: np.random.Generator, epsilon: float, *, one_sided: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """An adaptive game of up to 3 ones."""
    rows = [
        random_sequence(generator, epsilon, one_sided=one_sided)
        for _ in range(int(generator.integers(1, 4)))
    ]
    size = max(p.size for p, _ in rows)
    return tuple(  # type: ignore[return-value]
        np.stack([np.resize(row[side], size) for row in rows]) for side in (0, 1)
    )


def _shown(p: np.ndarray, q: np.ndarray) -> str:
    return f"p={p.tolist()}, q={q.tolist()}"


# --- Lemmas 1 and 2 -------------------------------------------------------------------


def _pure(*, epsilon: float = 0.5, calls: int = 1) -> float:
    """k epsilon, for D_inf(P || Q) of the game until k ones.

    Args:
      epsilon: > 0.
      calls: k, at least 1.
    """
    return check_integer("calls", calls, 1) * check_positive("epsilon", epsilon)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 300)):
        epsilon = float(generator.uniform(0.01, 1.0))
        p, q = _random_game(generator, epsilon)
        claimed = _pure(epsilon=epsilon, calls=p.shape[0])
        yield claimed, largest_loss(p, q), f"{epsilon=!r}, {_shown(p, q)}"


def _reverse(*, bias: float = 0.01, epsilon: float = 0.5, coins: int = 1000) -> float:
    """n log((1 - p e^-epsilon)/(1 - p)): D_inf(Q || P) is at least that.

    Args:
      bias: p, in (0, 1/(1 + e^-epsilon)].
      epsilon: > 0.
      coins: n, at least 1.
    """
    epsilon = check_positive("epsilon", epsilon)
    if not 0.0 < bias <= special.expit(epsilon):
        raise InputError(f"bias is {bias:g}; it must be in (0, 1/(1 + e^-epsilon)]")
    gap = math.log1p(-bias * math.exp(-epsilon)) - math.log1p(-bias)
    return check_integer("coins", coins, 1) * gap


def _reverse_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 60)):
        epsilon = float(generator.uniform(0.01, 1.0))
        coins = int(10.0 ** generator.uniform(0.0, 4.0))
        bias = float(10.0 ** generator.uniform(-4.0, -0.31))  # at most 1/2
        p = np.full((1, coins), bias)
        q = p * math.exp(-epsilon)
        claimed = _reverse(bias=bias, epsilon=epsilon, coins=coins)
        where = f"{coins} coins of p={bias!r}, q=p e^-epsilon, {epsilon=!r}, k=1"
        yield claimed, largest_loss(q, p), where


def _exact_rate(*, order: float = 2.0, epsilon: float = 0.5, calls: int = 1) -> float:
    """k (a epsilon - log(1 + e^epsilon - e^((1-a) epsilon)))/(a - 1).

    Args:
      order: a, > 1.
      epsilon: > 0.
      calls: k, at least 1.
    """
    order = one_to_infinity("order", order)
    return check_integer("calls", calls, 1) * float(favoured_rate(order, epsilon))


def _exact_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for epsilon in (0.001, 0.01, 0.1, 0.5, 1.0, 2.0):
        bias, low, _ = close_coins(epsilon)
        share = special.expit(epsilon)
        for order in (1.001, 2.0, 10.0, 100.0):
            claimed = _exact_rate(order=order, epsilon=epsilon)
            exact = float(np.max(coin_renyi(bias, low, order)))
            yield claimed, exact, f"one repeated pair, {order=}, {epsilon=}"
            attained = float(coin_renyi(share, 1.0 - share, order))
            where = f"randomised response attains it, {order=}, {epsilon=}"
            yield attained, claimed, where
    for _ in range(min(budget.cases, 200)):
        epsilon = float(generator.uniform(0.001, 2.0))
        p, q = _random_game(generator, epsilon)
        order = 1.0 + float(np.exp(generator.uniform(-3.0, 5.0)))
        claimed = _exact_rate(order=order, epsilon=epsilon, calls=p.shape[0])
        exact = game_moment(p, q, order) / (order - 1.0)
        yield claimed, exact, f"{order=!r}, {epsilon=!r}, {_shown(p, q)}"


def _printed_rate(*, order: float = 2.0, epsilon: float = 0.1, calls: int = 1) -> float:
    """3 k a epsilon^2 of Lemma 2.

    Args:
      order: a, > 1.
      epsilon: > 0.
      calls: k, at least 1.
    """
    order, epsilon = one_to_infinity("order", order), check_positive("epsilon", epsilon)
    return 3.0 * check_integer("calls", calls, 1) * order * epsilon**2


def _printed_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 300)):
        epsilon = float(10.0 ** generator.uniform(-4.0, 0.0))
        order = 1.0 + float(np.exp(generator.uniform(-5.0, 8.0)))
        exact = _exact_rate(order=order, epsilon=epsilon)
        claimed = _printed_rate(order=order, epsilon=epsilon)
        yield claimed, exact, f"the exact rate, {order=!r}, {epsilon=!r}"


def _known(*, order: float = 2.0, epsilon: float = 0.1, calls: int = 1) -> float:
    """k ((1-a) epsilon - log(1 + e^epsilon - e^(a epsilon)))/(a - 1), or inf.

    Args:
      order: a, > 1.
      epsilon: of the tests, > 0.
      calls: k, at least 1.
    """
    order = one_to_infinity("order", order)
    return check_integer("calls", calls, 1) * float(known_chance_rate(order, epsilon))


def _known_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for epsilon in (0.001, 0.01, 0.1, 0.5, 1.0):
        bias, low, high = close_coins(epsilon)
        share = special.expit(epsilon)
        # Beyond this order the divergence is infinite.
        highest = math.log1p(math.exp(epsilon)) / epsilon
        for order in 1.0 + (highest - 1.0) * np.array([1e-3, 0.1, 0.5, 0.9, 0.999]):
            claimed = _known(order=order, epsilon=epsilon)
            where = f"{order=!r}, {epsilon=}"
            for other in (low, high):
                exact = float(np.max(coin_renyi(other, bias, order)))
                yield claimed, exact, f"one repeated test, {where}"
            attained = float(coin_renyi(1.0 - share, share, order))
            yield attained, claimed, f"randomised response attains it, {where}"
    for _ in range(min(budget.cases, 150)):
        epsilon = float(generator.uniform(0.001, 1.0))
        p, q = _random_game(generator, epsilon, one_sided=False)
        highest = math.log1p(math.exp(epsilon)) / epsilon
        order = 1.0 + (highest - 1.0) * float(generator.uniform(0.01, 0.99))
        claimed = _known(order=order, epsilon=epsilon, calls=p.shape[0])
        exact = game_moment(p, q, order) / (order - 1.0)
        yield claimed, exact, f"{order=!r}, {epsilon=!r}, {_shown(p, q)}"


# --- Claim 1 --------------------------------------------------------------------------


def _claim_1(*, order: float = 2.0, epsilon: float = 0.1) -> float:
    """1 + 3 a (a - 1) epsilon^2, for a epsilon <= 1/3.

    Args:
      order: a, > 1, at most 1/(3 epsilon).
      epsilon: > 0.
    """
    order, epsilon = one_to_infinity("order", order), check_positive("epsilon", epsilon)
    if order * epsilon > (1.0 + 1e-12) / 3.0:
        raise InputError(
            f"order * epsilon is {order * epsilon:g}; it must be at most 1/3"
        )
    return 1.0 + 3.0 * order * (order - 1.0) * epsilon**2


def _claim_1_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 300)):
        epsilon = float(10.0 ** generator.uniform(-3.0, math.log10(0.3)))
        order = 1.0 + (1.0 / (3.0 * epsilon) - 1.0) * float(
            generator.uniform(0.01, 1.0)
        )
        p, q = random_sequence(generator, epsilon, one_sided=True)
        # By its definition: the place of the first 1, or that there was none.
        first = np.append(
            np.append(1.0, np.cumprod(1.0 - p))[:-1] * p, np.prod(1.0 - p)
        )
        other = np.append(
            np.append(1.0, np.cumprod(1.0 - q))[:-1] * q, np.prod(1.0 - q)
        )
        with np.errstate(divide="ignore"):
            moment = order * np.log(first) + (1.0 - order) * np.log(other)
        exact = float(np.sum(np.exp(moment)))
        claimed = _claim_1(order=order, epsilon=epsilon)
        yield claimed, exact, f"{order=!r}, {epsilon=!r}, {_shown(p, q)}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Lem1",
        source=f"{_SOURCE}, Lemma 1",
        statement="The coin game until k ones has D_inf(P || Q) <= k epsilon.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="CL-Lem1-reverse",
        source=f"{_SOURCE}, the direction that Lemma 1 leaves out",
        statement="The reverse divergence has no bound: n coins of p and p e^-epsilon "
        "have D_inf(Q || P) >= n log((1 - p e^-epsilon)/(1 - p)).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_reverse,
        check=at_least(_reverse_cases),
    ),
    Claim(
        id="CL-Lem2-sharp",
        source=f"{_SOURCE}, Lemma 2, exact",
        statement="The coin game until k ones has D_a(P || Q) <= k (a epsilon - log(1 "
        "+ e^epsilon - e^((1-a) epsilon)))/(a - 1) at every order, and randomised "
        "response attains it.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_exact_rate,
        check=at_most(_exact_cases),
    ),
    Claim(
        id="CL-Lem2-constant",
        source=f"{_SOURCE}, Lemma 2",
        statement="The exact rate is at most 3 a epsilon^2, for epsilon <= 1.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_printed_rate,
        check=at_most(_printed_cases, tolerance=1e-14),
    ),
    Claim(
        id="CL-Sec2.2.2-renyi-sharp",
        source="Cohen et al. 2022, Section 2.2.2, corrected and exact",
        statement="Tests at one known p until k tops have Renyi divergence at most k "
        "((1-a) epsilon - log(1 + e^epsilon - e^(a epsilon)))/(a - 1), either way, and "
        "randomised response attains it; it is infinite from e^(a epsilon) = 1 + "
        "e^epsilon on.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_known,
        check=at_most(_known_cases),
    ),
    Claim(
        id="CL-Claim1",
        source=f"{_SOURCE}, Claim 1",
        statement="For a epsilon <= 1/3 the first m coins, with 'no 1 yet' as one more "
        "outcome, have exp((a - 1) D_a(P || Q)) <= 1 + 3 a (a - 1) epsilon^2.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_claim_1,
        check=at_most(_claim_1_cases, tolerance=1e-12),
    ),
)
