"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Appendix A.1: the coin game.

CL-E5 to CL-E7, each as printed and as corrected. The game shows coins of bias p on one
side and q on the other until some number of them came up 1.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errata_numbers import one_to_infinity, probability
from jaxsel.errors import check_integer, check_positive
from jaxsel.families.selection_and_test.claims.coin_cases import (
    random_sequence,
    small_orders,
)
from jaxsel.families.selection_and_test.coin_game_laws import (
    close_coins,
    coin_renyi,
    sequence_renyi,
)

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


# --- Lemma 2 (CL-E5) and Fact 1 (CL-E6) -----------------------------------------------


def _coin_bound(*, order: float = 2.0, epsilon: float = 0.01, calls: int = 1) -> float:
    """Bound 3 k a epsilon^2 of Lemma 2 on the Renyi divergence of the coin game.

    Args:
      order: a, > 1.
      epsilon: > 0.
      calls: k, coins that come up 1 until the end, at least 1.
    """
    order, epsilon = one_to_infinity("order", order), check_positive("epsilon", epsilon)
    return 3.0 * check_integer("calls", calls, 1) * order * epsilon**2


def _vacuous_promise(budget: Budget) -> Iterator[Case]:
    for order, epsilon in ((2.0, 0.01), (5.0, 0.05)):
        exact = float(coin_renyi(1.0, math.exp(-epsilon), order))
        claimed = _coin_bound(order=order, epsilon=epsilon)
        yield claimed, exact, f"p=1, q=e^-epsilon, {order=}, {epsilon=}, k=1"


def _kept_promise(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for epsilon in (0.001, 0.01, 0.1, 0.5, 1.0):
        bias, low, _ = close_coins(epsilon)
        for order in (1.01, 2.0, 1.0 / (3.0 * epsilon), 10.0, 100.0):
            if order <= 1.0:
                continue
            exact = coin_renyi(bias, low, order)
            worst = int(np.argmax(exact))
            coins = float(bias[worst]), float(low[worst])
            where = f"{order=!r}, {epsilon=}, {coins=}"
            claimed = _coin_bound(order=order, epsilon=epsilon)
            yield claimed, float(exact[worst]), f"one repeated pair, {where}"
    for _ in range(min(budget.cases, 150)):
        epsilon = float(generator.uniform(0.001, 1.0))
        p, q = random_sequence(generator, epsilon, one_sided=True)
        order = 1.0 + float(np.exp(generator.uniform(-3.0, 4.0)))
        claimed = _coin_bound(order=order, epsilon=epsilon)
        where = f"{order=!r}, {epsilon=!r}, p={p.tolist()}, q={q.tolist()}"
        yield claimed, sequence_renyi(p, q, order), f"a sequence of pairs, {where}"


def _one_coin(*, order: float = 100.0, epsilon: float = 1.0) -> float:
    """Bound 1 + 2 a (a - 1) epsilon^2 of Fact 1 on exp((a - 1) D_a) of two coins.

    Args:
      order: a, > 1.
      epsilon: closeness of the two coins, > 0.
    """
    order, epsilon = one_to_infinity("order", order), check_positive("epsilon", epsilon)
    return 1.0 + 2.0 * order * (order - 1.0) * epsilon**2


def _coin_moment(p: np.ndarray, q: np.ndarray, order: float) -> np.ndarray:
    top = order * np.log(p) + (1.0 - order) * np.log(q)
    bottom = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    return np.exp(np.logaddexp(top, bottom))


def _large_orders(budget: Budget) -> Iterator[Case]:
    for order, epsilon in ((100.0, 1.0), (50.0, 0.5)):
        p = special.expit(epsilon)
        exact = float(_coin_moment(p, 1.0 - p, order))
        claimed = _one_coin(order=order, epsilon=epsilon)
        yield claimed, exact, f"randomised response, {order=}, {epsilon=}"


def _small_orders(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for epsilon in (0.001, 0.01, 0.1, 0.3):
        bias, low, high = close_coins(epsilon)
        for order in small_orders(epsilon, generator):
            claimed = _one_coin(order=order, epsilon=epsilon)
            for other in (low, high):
                exact = float(np.max(_coin_moment(bias, other, order)))
                yield claimed, exact, f"{order=!r}, {epsilon=}, worst of many coins"


# --- Lemma 1, proof (CL-E7) -----------------------------------------------------------


def _first_printed(*, bias: float = 0.5, halt: int = 3) -> float:
    """Printed chance sum_(j<i) (1 - p) p that the first 1 is the i-th coin.

    Args:
      bias: p, of every coin, in (0, 1).
      halt: i, at least 1.
    """
    bias = probability("bias", bias)
    return (check_integer("halt", halt, 1) - 1.0) * (1.0 - bias) * bias


def _first(*, bias: float = 0.5, halt: int = 3) -> float:
    """Chance (1 - p)^(i - 1) p that the first 1 is the i-th coin.

    Args:
      bias: p, of every coin, in (0, 1).
      halt: i, at least 1.
    """
    bias = probability("bias", bias)
    return (1.0 - bias) ** (check_integer("halt", halt, 1) - 1) * bias


def _first_cases(bound, biases: tuple[float, ...]):
    def cases(budget: Budget) -> Iterator[Case]:
        for bias, halt in itertools.product(biases, (1, 2, 3, 6)):
            total = 0.0
            for coins in itertools.product((0, 1), repeat=halt):
                if sum(coins) == coins[-1] == 1:
                    total += math.prod(bias if coin else 1.0 - bias for coin in coins)
            yield bound(bias=bias, halt=halt), total, f"{bias=}, i={halt}"

    return cases


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Lem2-printed",
        source=f"{_PAPER}, Lemma 2 with the promise of Algorithm 4",
        statement="Under q <= p <= e^epsilon q and 1 - p <= e^epsilon (1 - q), the "
        "coin game has D_a(P || Q) <= 3 k a epsilon^2.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_coin_bound,
        check=at_most(_vacuous_promise),
        holds=False,
        erratum="CL-E5",
        correction="The promise must be 1 - q <= e^epsilon (1 - p): CL-Lem2.",
    ),
    Claim(
        id="CL-Lem2",
        source=f"{_PAPER}, Lemma 2",
        statement="Under q <= p <= e^epsilon q and 1 - q <= e^epsilon (1 - p), the "
        "coin game has D_a(P || Q) <= 3 k a epsilon^2.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_coin_bound,
        check=at_most(_kept_promise, tolerance=1e-12),
        erratum="CL-E5",
    ),
    Claim(
        id="CL-Fact1-printed",
        source=f"{_PAPER}, Fact 1",
        statement="Two epsilon-close coins have exp((a - 1) D_a) <= 1 + 2 a (a - 1) "
        "epsilon^2 at every order a.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_one_coin,
        check=at_most(_large_orders),
        holds=False,
        erratum="CL-E6",
        correction="For a epsilon <= 1/3: CL-Fact1.",
    ),
    Claim(
        id="CL-Fact1",
        source=f"{_PAPER}, Fact 1, corrected",
        statement="Two epsilon-close coins have exp((a - 1) D_a) <= 1 + 2 a (a - 1) "
        "epsilon^2 at orders a <= 1/(3 epsilon).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_one_coin,
        check=at_most(_small_orders),
        erratum="CL-E6",
    ),
    Claim(
        id="CL-Lem1-step-printed",
        source=f"{_PAPER}, proof of Lemma 1",
        statement="The first 1 is the i-th coin with probability sum_(j<i) (1 - p_j) "
        "p_i.",
        kind="identity",
        relation=None,
        evaluate=_first_printed,
        check=equal(_first_cases(_first_printed, (0.5,))),
        holds=False,
        erratum="CL-E7",
        correction="A product, not a sum: CL-Lem1-step.",
    ),
    Claim(
        id="CL-Lem1-step",
        source=f"{_PAPER}, proof of Lemma 1, corrected",
        statement="The first 1 is the i-th coin with probability prod_(j<i) (1 - p_j) "
        "p_i.",
        kind="identity",
        relation=None,
        evaluate=_first,
        check=equal(_first_cases(_first, (0.5, 0.1, 0.9))),
        erratum="CL-E7",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E5",
        source=f"{_PAPER}, Algorithm 4",
        kind="statement",
        printed="Promised that 0 <= q <= p <= e^epsilon q and 1 - p <= e^epsilon (1 - "
        "q).",
        correct="The last part is vacuous, and without another Lemma 2 is false: p = "
        "1, q = e^-epsilon has divergence epsilon at every order. Keep the promise of "
        "Algorithm 2, 1 - q <= e^epsilon (1 - p).",
        refuted=("CL-Lem2-printed",),
        corrected=("CL-Lem2",),
    ),
    Erratum(
        id="CL-E6",
        source=f"{_PAPER}, Fact 1",
        kind="statement",
        printed="exp((a - 1) D_a(Ber(p) || Ber(q))) <= 1 + 2 a (a - 1) epsilon^2.",
        correct="True for a epsilon <= 1/3, where the paper uses it, not for large "
        "orders: randomised response at epsilon = 1, a = 100 has 7e42.",
        refuted=("CL-Fact1-printed",),
        corrected=("CL-Fact1",),
    ),
    Erratum(
        id="CL-E7",
        source=f"{_PAPER}, proofs of Lemmas 1 and 2",
        kind="misprint",
        printed="P[P = i] = sum_(j<i) (1 - p_j) p_i; prod_(j<i) p_j (1 - p_i); to "
        "bound (9) by 3 a (a - 1) epsilon^2.",
        correct="prod_(j<i) (1 - p_j) p_i in both proofs; to bound (9) by 1 + 3 a (a - "
        "1) epsilon^2.",
        refuted=("CL-Lem1-step-printed",),
        corrected=("CL-Lem1-step",),
    ),
)
