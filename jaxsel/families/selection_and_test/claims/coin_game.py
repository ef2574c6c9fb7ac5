"""Cohen et al. 2022, Appendix A.1: Lemmas 1 and 2 on the coin game.

The game shows coins of bias p on one side and q on the other until k of them came up 1. The errata
are CL-E5 (the promise of Algorithm 4) and CL-E7 (a step in the proof of Lemma 1).
"""

import itertools
import math
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.selection_and_test.claims import coin_cases
from jaxsel.families.selection_and_test.coin_game_laws import (
    close_coins,
    coin_renyi,
    favoured_rate,
    game_bits_law,
    game_renyi,
)
from jaxsel.families.selection_and_test.parameters import Closeness, Ones, Order
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, grid, listed
from jaxsel.language.domains import probability, whole
from jaxsel.language.papers import CL

Coins = Annotated[int, whole("n, how many coins there are", at_least=1, at_most=10**9)]
Bias = Annotated[float, probability("p, of every coin")]
Halt = Annotated[int, whole("i, the coin at which it ends", at_least=1)]


# --- Lemma 1 (CL-E7) ------------------------------------------------------------------


def largest_loss(p: np.ndarray, q: np.ndarray) -> float:
    """D_inf(P || Q) of all that is shown in a game whose coins depend on the ones so far.

    Args:
      p, q: Float["ones coins"], the biases on the two sides: row j is shown after j ones. The
        game ends after as many ones as there are rows, or when the coins run out.
    """
    with np.errstate(divide="ignore"):
        up, down = np.log(p) - np.log(q), np.log1p(-p) - np.log1p(-q)
    ones, coins = p.shape
    best = np.zeros(ones + 1)
    for coin in range(coins - 1, -1, -1):
        best[:ones] = np.maximum(up[:, coin] + best[1:], down[:, coin] + best[:ones])
    return float(best[0])


@CL.privacy("CL-Lem1", "Appendix A.1, Lemma 1", Relation.BASE)
def pure(*, epsilon: Closeness = 0.5, calls: Ones = 1) -> float:
    """The coin game until k ones has D_inf(P || Q) <= k epsilon."""
    return calls * epsilon


@pure.bounds()
def random_games(budget):
    for generator in budget.draws(300):
        epsilon = generator.uniform(0.01, 1.0)
        p, q = coin_cases.random_game(generator, epsilon)
        yield {"epsilon": epsilon, "calls": p.shape[0]}, largest_loss(p, q), coin_cases.shown(p, q)


@CL.privacy("CL-Lem1-reverse", "Appendix A.1, the direction that Lemma 1 leaves out", Relation.BASE)
def reverse(*, bias: Bias = 0.01, epsilon: Closeness = 0.5, coins: Coins = 1000) -> float:
    """The reverse divergence of the coin game has no bound: n coins of bias p on the first side and
    p e^-epsilon on the second have D_inf(Q || P) >= n log((1 - p e^-epsilon)/(1 - p))."""
    if bias > special.expit(epsilon):
        raise InputError(f"bias is {bias:g}; it must be in (0, 1/(1 + e^-epsilon)]")
    return coins * (math.log1p(-bias * math.exp(-epsilon)) - math.log1p(-bias))


def _draw(generator: np.random.Generator) -> tuple[float, int, float]:
    epsilon, coins = generator.uniform(0.01, 1.0), int(10.0 ** generator.uniform(0.0, 4.0))
    return epsilon, coins, 10.0 ** generator.uniform(-4.0, -0.31)  # at most 1/2


@reverse.bounds_below(drawn("epsilon coins bias", _draw, 60))
def many_coins(epsilon, coins, bias):
    p = np.full((1, coins), bias)
    return largest_loss(p * math.exp(-epsilon), p), "coins of p and p e^-epsilon, k=1"


@CL.identity("CL-Lem1-step-printed", "proof of Lemma 1")
def first_printed(*, bias: Bias = 0.5, halt: Halt = 3) -> float:
    """The first 1 is the i-th coin with probability sum_(j<i) (1 - p_j) p_i.

    Returns this number for coins that all have bias p.
    """
    return (halt - 1.0) * (1.0 - bias) * bias


@CL.identity("CL-Lem1-step", "proof of Lemma 1, corrected")
def first_one(*, bias: Bias = 0.5, halt: Halt = 3) -> float:
    """The first 1 is the i-th coin with probability prod_(j<i) (1 - p_j) p_i.

    Returns this probability for coins that all have bias p.
    """
    return (1.0 - bias) ** (halt - 1) * bias


@first_printed.equals(grid(bias=[0.5], halt=[1, 2, 3, 6]))
@first_one.equals(grid(bias=[0.5, 0.1, 0.9], halt=[1, 2, 3, 6]))
def enumerated(bias, halt):
    total = 0.0
    for coins in itertools.product((0, 1), repeat=halt):
        if sum(coins) == coins[-1] == 1:
            total += math.prod(bias if coin else 1.0 - bias for coin in coins)
    return total


# --- Lemma 2 (CL-E5) ------------------------------------------------------------------


_THIRD = (
    "The exact divergence, which is attained (CL-Lem2-sharp), is at most k a epsilon^2, a third of "
    "it, for epsilon <= 1, and nears that as epsilon falls."
)


@CL.privacy("CL-Lem2-printed", "Lemma 2 with the promise of Algorithm 4", Relation.BASE)
def printed(*, order: Order = 2.0, epsilon: Closeness = 0.01, calls: Ones = 1) -> float:
    """Under q <= p <= e^epsilon q and 1 - p <= e^epsilon (1 - q), the coin game has D_a(P || Q) <=
    3 k a epsilon^2."""
    return 3.0 * calls * order * epsilon**2


promised = CL.privacy(
    "CL-Lem2",
    "Lemma 2",
    Relation.BASE,
    statement="Under q <= p <= e^epsilon q and 1 - q <= e^epsilon (1 - p), the coin game has "
    "D_a(P || Q) <= 3 k a epsilon^2.",
    loose=_THIRD,
)(printed.evaluate)


@printed.bounds(listed("order epsilon calls", (2.0, 0.01, 1), (5.0, 0.05, 1)))
def vacuous_promise(order, epsilon):
    return float(coin_renyi(1.0, math.exp(-epsilon), order)), "p=1, q=e^-epsilon"


@promised.bounds(tolerance=1e-12)
def kept_promise(budget):
    for epsilon in (0.001, 0.01, 0.1, 0.5, 1.0):
        bias, low, _ = close_coins(epsilon)
        for order in (1.01, 2.0, 1.0 / (3.0 * epsilon), 10.0, 100.0):
            if order > 1.0:
                exact = coin_renyi(bias, low, order)
                worst = int(np.argmax(exact))
                coins = float(bias[worst]), float(low[worst])
                point = {"order": order, "epsilon": epsilon, "calls": 1}
                yield point, float(exact[worst]), f"one repeated pair, {coins=}"
    for generator in budget.draws(150):
        epsilon = generator.uniform(0.001, 1.0)
        p, q = coin_cases.random_sequence(generator, epsilon, one_sided=True)
        order = 1.0 + float(np.exp(generator.uniform(-3.0, 4.0)))
        point = {"order": order, "epsilon": epsilon, "calls": 1}
        exact = game_renyi(p[None], q[None], order)
        yield point, exact, f"a sequence of pairs, {coin_cases.shown(p, q)}"


@CL.privacy("CL-Lem2-sharp", "Appendix A.1, Lemma 2, exact", Relation.BASE)
def exact_rate(*, order: Order = 2.0, epsilon: Closeness = 0.5, calls: Ones = 1) -> float:
    """The coin game until k ones has D_a(P || Q) <= k (a epsilon - log(1 + e^epsilon - e^((1-a)
    epsilon)))/(a - 1) at every order, and randomised response attains it."""
    return calls * float(favoured_rate(order, epsilon))


@exact_rate.bounds()
def games(budget):
    generator = np.random.default_rng(budget.seed)
    for epsilon in (0.001, 0.01, 0.1, 0.5, 1.0, 2.0):
        bias, low, _ = close_coins(epsilon)
        share = special.expit(epsilon)
        for order in (1.001, 2.0, 10.0, 100.0):
            point = {"order": order, "epsilon": epsilon, "calls": 1}
            yield point, float(np.max(coin_renyi(bias, low, order))), "one repeated pair"
            seen = coin_cases.attained(float(coin_renyi(share, 1.0 - share, order)))
            yield point, seen, "randomised response attains it"
    for _ in range(min(budget.cases, 10)):
        # All that is shown, by its definition: the law of every sequence of coins.
        epsilon = generator.uniform(0.1, 2.0)
        p, q = (side[:, :9] for side in coin_cases.random_game(generator, epsilon))
        order = 1.0 + float(np.exp(generator.uniform(-3.0, 3.0)))
        point = {"order": order, "epsilon": epsilon, "calls": len(p)}
        first, second = (game_bits_law(side, len(p)) for side in (p, q))
        exact = float(renyi_divergence(first, second, order))
        yield point, exact, f"every bit, {coin_cases.shown(p, q)}"
    for _ in range(min(budget.cases, 200)):
        epsilon = generator.uniform(0.001, 2.0)
        p, q = coin_cases.random_game(generator, epsilon)
        order = 1.0 + float(np.exp(generator.uniform(-3.0, 5.0)))
        point = {"order": order, "epsilon": epsilon, "calls": p.shape[0]}
        yield point, game_renyi(p, q, order), coin_cases.shown(p, q)


@CL.privacy("CL-Lem2-constant", "Appendix A.1, Lemma 2", Relation.BASE, loose=_THIRD)
def constant(*, order: Order = 2.0, epsilon: Closeness = 0.1, calls: Ones = 1) -> float:
    """The exact divergence of the coin game (CL-Lem2-sharp) is at most 3 k a epsilon^2, for epsilon
    <= 1."""
    return printed(order=order, epsilon=epsilon, calls=calls)


def _draw_order(generator: np.random.Generator) -> tuple[float, float]:
    return 10.0 ** generator.uniform(-4.0, 0.0), 1.0 + float(np.exp(generator.uniform(-5.0, 8.0)))


@constant.bounds(drawn("epsilon order", _draw_order, 300), tolerance=1e-14)
def exact_rates(epsilon, order, calls):
    return exact_rate(epsilon=epsilon, order=order, calls=calls)


CL_E7 = CL.misprint(
    "CL-E7",
    "proofs of Lemmas 1 and 2",
    "misprint",
    printed="P[P = i] = sum_(j<i) (1 - p_j) p_i; prod_(j<i) p_j (1 - p_i); to bound "
    "(9) by 3 a (a - 1) epsilon^2.",
    correct="prod_(j<i) (1 - p_j) p_i in both proofs; to bound (9) by 1 + 3 a (a - 1) epsilon^2.",
    refuted=[first_printed],
    corrected=[first_one],
)
CL_E5 = CL.misprint(
    "CL-E5",
    "Algorithm 4",
    "statement",
    printed="Promised that 0 <= q <= p <= e^epsilon q and 1 - p <= e^epsilon (1 - q).",
    correct="The last part is vacuous, and without another Lemma 2 is false: p = 1, "
    "q = e^-epsilon has divergence epsilon at every order. Keep the promise of "
    "Algorithm 2, 1 - q <= e^epsilon (1 - p).",
    refuted=[printed],
    corrected=[promised],
)
