"""Cohen et al. 2022, Section 2.2.2: from Test to the coin game, at a known p.

With CL-E4: the reduction fails for p near 1, and is not needed.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.single_run import pairs
from jaxsel.families.selection_and_test.claims.coin_cases import (
    check_small_order,
    random_game,
    random_sequence,
    shown,
    small_orders,
)
from jaxsel.families.selection_and_test.claims.parameters import Closeness, Order, Tops
from jaxsel.families.selection_and_test.coin_game_laws import (
    close_coins,
    coin_renyi,
    game_renyi,
    known_chance_rate,
)
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.domains import number
from jaxsel.language.papers import CL

Passing = Annotated[float, number("p, equal to p_0", above=0.0, at_most=1.0)]


# --- The reduction (CL-E4) ------------------------------------------------------------


def _least_bottom(*, epsilon: Closeness = 0.01, passing: Passing = 1.0) -> float:
    """Printed lower bound e^(-2 epsilon) (1 - p_1) on 1 - p_0; H always says "top".

    p_1 = p e^-epsilon.
    """
    return math.exp(-2.0 * epsilon) * (1.0 - passing * math.exp(-epsilon))


def _least_bottoms(passings: Iterable[float]) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for passing in passings:
            claimed = _least_bottom(passing=passing)
            yield claimed, 1.0 - passing, f"p={passing}, epsilon=0.01, H always top"
        if max(passings) > 0.5:
            return
        for _ in range(min(budget.cases, 200)):
            epsilon = float(generator.uniform(0.001, 2.0))
            passing, chance = generator.uniform(0.0, [0.5, 1.0]).tolist()
            # H says top with chance on the one side, with an epsilon-close one on the
            # other; the other side's p is e^-epsilon smaller.
            for other in pairs.extreme_neighbours(chance, epsilon):
                low = 1.0 - passing * math.exp(-epsilon) * other
                seen = 1.0 - passing * chance
                where = f"p={passing!r}, {epsilon=!r}, P[top] {chance!r} and {other!r}"
                yield math.exp(-2.0 * epsilon) * low, seen, where

    return cases


def _reduced_printed(*, order: Order = 2.0, epsilon: Closeness = 0.01, calls: Tops = 1) -> float:
    """Printed bound 12 c a epsilon^2 on D_a(A^p || A^(p/e^epsilon)), any p in [0, 1]."""
    return 12.0 * calls * order * epsilon**2


def _reduced_cases(budget: Budget) -> Iterator[Case]:
    for order, epsilon, calls in ((2.0, 0.01, 1), (2.0, 0.01, 50), (10.0, 0.001, 1)):
        exact = calls * float(coin_renyi(1.0, math.exp(-epsilon), order))
        claimed = _reduced_printed(order=order, epsilon=epsilon, calls=calls)
        yield claimed, exact, f"p=1, H always top, {order=}, {epsilon=}, c={calls}"


def _two_sided(*, order: Order = 2.0, epsilon: Closeness = 0.01, calls: Tops = 1) -> float:
    """Bound 2 c a epsilon^2, a <= 1/(3 epsilon), on the divergence at one known p."""
    check_small_order(order, epsilon)
    return 2.0 * calls * order * epsilon**2


def _two_sided_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for epsilon in (0.001, 0.01, 0.1, 0.3):
        bias, low, high = close_coins(epsilon)
        for order in small_orders(epsilon, generator):
            claimed = _two_sided(order=order, epsilon=epsilon)
            for other in (low, high):
                # A test that answers top with probability bias on the second side; the
                # moment is convex in the first side's, so its ends are the worst.
                exact = coin_renyi(other, bias, order)
                worst = int(np.argmax(exact))
                coins = float(other[worst]), float(bias[worst])
                where = f"{order=!r}, {epsilon=}, {coins=}"
                yield claimed, float(exact[worst]), f"one repeated test, {where}"
    for _ in range(min(budget.cases, 100)):
        epsilon = float(generator.uniform(0.001, 0.3))
        p, q = random_sequence(generator, epsilon, one_sided=False)
        order = small_orders(epsilon, generator)[-1]
        claimed = _two_sided(order=order, epsilon=epsilon)
        where = f"{order=!r}, {epsilon=!r}, {shown(p, q)}"
        exact = game_renyi(p[None], q[None], order)
        yield claimed, exact, f"a sequence of tests, {where}"


# --- The exact rate -------------------------------------------------------------------


def _known(*, order: Order = 2.0, epsilon: Closeness = 0.1, calls: Tops = 1) -> float:
    """k ((1-a) epsilon - log(1 + e^epsilon - e^(a epsilon)))/(a - 1), or inf."""
    return calls * float(known_chance_rate(order, epsilon))


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
        p, q = random_game(generator, epsilon, one_sided=False)
        highest = math.log1p(math.exp(epsilon)) / epsilon
        order = 1.0 + (highest - 1.0) * float(generator.uniform(0.01, 0.99))
        claimed = _known(order=order, epsilon=epsilon, calls=p.shape[0])
        exact = game_renyi(p, q, order)
        yield claimed, exact, f"{order=!r}, {epsilon=!r}, {shown(p, q)}"


STATEMENTS = (
    CL.misprint(
        "CL-E4",
        "Section 2.2.2",
        "proof",
        printed="p_0 and p_1 keep the promise of the coin game, 1 - p_0 >= e^(-2 "
        "epsilon) (1 - p_1).",
        correct="False for p near 1: at p = 1 with a test that always says 'top', 1 - "
        "p_0 = 0, and the Renyi divergence is c epsilon. The approximate part needs no "
        "coupling: given p, the answers on both sides are epsilon-close coins, and "
        "E[L^a exp(-lambda 1{top})] <= 1 with lambda of order a (a - 1) epsilon^2. Or "
        "draw p = U^(1/gamma)/2, for which the printed proof is right.",
        refuted=(
            CL.privacy(
                "CL-Sec2.2.2-step-promise-printed",
                "Section 2.2.2",
                "1 - p_0 >= e^(-2 epsilon) (1 - p_1), p_0 and p_1 being the chances of "
                "'top' at p and at p e^-epsilon.",
                Relation.BASE,
                _least_bottom,
                at_least(_least_bottoms((1.0, 0.99))),
            ),
            CL.privacy(
                "CL-Sec2.2.2-step-renyi-printed",
                "Sections 2.2.2 and 2.2.4",
                "D_a(A^p || A^(p/e^epsilon)) <= 12 c a epsilon^2 for every p.",
                Relation.BASE,
                _reduced_printed,
                at_most(_reduced_cases),
            ),
        ),
        corrected=(
            CL.privacy(
                "CL-Sec2.2.2-step-promise",
                "Section 2.2.2, corrected",
                "For p <= 1/2, 1 - p_0 >= e^(-2 epsilon) (1 - p_1), p_0 and p_1 being "
                "the chances of 'top' at p and at p e^-epsilon.",
                Relation.BASE,
                _least_bottom,
                at_least(_least_bottoms((0.5, 0.1))),
            ),
            CL.privacy(
                "CL-Sec2.2.2-step-renyi",
                "Sections 2.2.2 and 2.2.4, corrected",
                "For a epsilon <= 1/3, tests at one known p until c answers 'top' have "
                "Renyi divergence at most 2 c a epsilon^2, either way.",
                Relation.BASE,
                _two_sided,
                at_most(_two_sided_cases, tolerance=1e-12),
            ),
            "CL-Thm2-approximate",
        ),
    ),
    CL.privacy(
        "CL-Sec2.2.2-renyi-sharp",
        "Section 2.2.2, corrected and exact",
        "Tests at one known p until k tops have Renyi divergence at most k ((1-a) "
        "epsilon - log(1 + e^epsilon - e^(a epsilon)))/(a - 1), either way, and "
        "randomised response attains it; it is infinite from e^(a epsilon) = 1 + "
        "e^epsilon on.",
        Relation.BASE,
        _known,
        at_most(_known_cases),
    ),
)
