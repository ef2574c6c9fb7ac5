"""Cohen et al. 2022, Appendix A.1: Fact 1 and Claim 1, at small Renyi orders.

Fact 1 is printed for all orders, and is false at large ones (CL-E6).
"""

import math

import numpy as np
from scipy import special

from jaxsel.families.selection_and_test.claims.coin_cases import (
    check_small_order,
    random_sequence,
    shown,
    small_orders,
)
from jaxsel.families.selection_and_test.coin_game_laws import close_coins
from jaxsel.families.selection_and_test.parameters import Closeness, Order
from jaxsel.language.base import Relation
from jaxsel.language.checking import listed
from jaxsel.language.papers import CL

# --- Fact 1 (CL-E6) -------------------------------------------------------------------


@CL.privacy("CL-Fact1-printed", "Fact 1", Relation.BASE)
def printed(*, order: Order = 100.0, epsilon: Closeness = 1.0) -> float:
    """Two epsilon-close coins have exp((a - 1) D_a) <= 1 + 2 a (a - 1) epsilon^2 at every order
    a."""
    return 1.0 + 2.0 * order * (order - 1.0) * epsilon**2


one_coin = CL.privacy(
    "CL-Fact1",
    "Fact 1, corrected",
    Relation.BASE,
    statement="Two epsilon-close coins have exp((a - 1) D_a) <= 1 + 2 a (a - 1) epsilon^2 at "
    "orders a <= 1/(3 epsilon).",
)(printed.evaluate)


def _coin_moment(p: np.ndarray, q: np.ndarray, order: float) -> np.ndarray:
    """exp((a - 1) D_a) of single coins of biases p and q."""
    top = order * np.log(p) + (1.0 - order) * np.log(q)
    bottom = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    return np.exp(np.logaddexp(top, bottom))


@printed.bounds(listed("order epsilon", (100.0, 1.0), (50.0, 0.5)))
def large_orders(order, epsilon):
    p = special.expit(epsilon)
    return float(_coin_moment(p, 1.0 - p, order)), "randomised response"


@one_coin.bounds()
def at_small_orders(budget):
    generator = np.random.default_rng(budget.seed)
    for epsilon in (0.001, 0.01, 0.1, 0.3):
        bias, low, high = close_coins(epsilon)
        for order in small_orders(epsilon, generator):
            point = {"order": order, "epsilon": epsilon}
            for other in (low, high):
                exact = float(np.max(_coin_moment(bias, other, order)))
                yield point, exact, "worst of many coins"


# --- Claim 1 --------------------------------------------------------------------------


@CL.privacy("CL-Claim1", "Appendix A.1, Claim 1", Relation.BASE)
def until_first_one(*, order: Order = 2.0, epsilon: Closeness = 0.1) -> float:
    """For a epsilon <= 1/3 the place of the first 1 among m coins, with 'no 1 yet' as one more
    outcome, has exp((a - 1) D_a(P || Q)) <= 1 + 3 a (a - 1) epsilon^2."""
    check_small_order(order, epsilon)
    return 1.0 + 3.0 * order * (order - 1.0) * epsilon**2


@until_first_one.bounds(tolerance=1e-12)
def sequences(budget):
    for generator in budget.draws(300):
        epsilon = 10.0 ** generator.uniform(-3.0, math.log10(0.3))
        order = 1.0 + (1.0 / (3.0 * epsilon) - 1.0) * generator.uniform(0.01, 1.0)
        p, q = random_sequence(generator, epsilon, one_sided=True)
        # By its definition: the place of the first 1, or that there was none.
        first = np.append(np.append(1.0, np.cumprod(1.0 - p))[:-1] * p, np.prod(1.0 - p))
        other = np.append(np.append(1.0, np.cumprod(1.0 - q))[:-1] * q, np.prod(1.0 - q))
        with np.errstate(divide="ignore"):
            moment = order * np.log(first) + (1.0 - order) * np.log(other)
        yield {"order": order, "epsilon": epsilon}, float(np.sum(np.exp(moment))), shown(p, q)


CL_E6 = CL.misprint(
    "CL-E6",
    "Fact 1",
    "statement",
    printed="exp((a - 1) D_a(Ber(p) || Ber(q))) <= 1 + 2 a (a - 1) epsilon^2.",
    correct="True for a epsilon <= 1/3, where the paper uses it, not for large "
    "orders: randomised response at epsilon = 1, a = 100 has 7e42.",
    refuted=[printed],
    corrected=[one_coin],
)
