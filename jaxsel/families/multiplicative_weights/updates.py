"""The update of multiplicative weights, how often it happens, and budgets.

A hypothesis h on a finite universe X learns the shares D of a private table from linear
queries q: X -> [0, 1] on which it errs (Hardt & Rothblum 2010; Dwork & Roth 2014, Section
4.2; Cohen et al. 2022, Section 4.3.1).
"""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from jaxsel.families.multiplicative_weights import parameters
from jaxsel.families.selection_and_test.coin_game_laws import known_chance_rate
from jaxsel.language.domains import positive
from jaxsel.language.signature import validated

_EPSILON = float(np.finfo(np.float64).eps)
_FACTORS = np.geomspace(0.1, 1.5, 24)  # factors of the order that is optimal to first order


# --- The update ------------------------------------------------------------------------


def relative_entropy(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The Kullback-Leibler divergence of two vectors of shares, in nats; 0 log 0 = 0."""
    p, q = np.asarray(first, np.float64), np.asarray(second, np.float64)
    held = p > 0.0
    with np.errstate(divide="ignore"):
        return float(np.sum(p[held] * (np.log(p[held]) - np.log(q[held]))))


def updated(hypothesis: npt.ArrayLike, penalty: npt.ArrayLike, rate: float) -> np.ndarray:
    """The hypothesis after an update: h exp(-rate r), normalised.

    Args:
      hypothesis: h, Float["cells"], shares.
      penalty: r, Float["cells"] in [0, 1]: q where h's answer is too large, 1 - q where it
        is too small.
      rate: learning rate.
    """
    weights = np.asarray(hypothesis) * np.exp(-rate * np.asarray(penalty))
    return weights / weights.sum()


@validated
def entropy_drop(rate: parameters.Rate, gap: parameters.Error, *, sharp: bool = False) -> float:
    """A lower bound on what an update takes off the relative entropy of shares to hypothesis.

    Args:
      rate: learning rate eta.
      gap: error of the hypothesis at the query of the update.
      sharp: eta gap - eta^2/8, by Hoeffding's lemma, for eta gap - eta^2 (Dwork & Roth 2014,
        Theorem 4.10).
    """
    return rate * gap - rate * rate * (0.125 if sharp else 1.0)


@validated
def learning_rate(
    gap: Annotated[float, positive("least error of a query that updates")], *, sharp: bool = False
) -> float:
    """The learning rate that maximises ``entropy_drop``: gap/2, or 4 gap if ``sharp``."""
    return gap * (4.0 if sharp else 0.5)


def update_bound(cells: int, gap: npt.ArrayLike, sharp: bool) -> np.ndarray:
    """``max_updates`` at many gaps, which may exceed 1, as floats; arguments as there."""
    constant = 0.5 if sharp else 4.0
    # Rounded up: an integer quotient may be computed slightly too small.
    most = constant * math.log(cells) / np.square(gap) * (1.0 + 4.0 * _EPSILON)
    return np.maximum(np.floor(most), 1.0)


def least_gap(cells: int, updates: int, sharp: bool) -> float:
    """The least error of queries that update at which there are at most ``updates`` updates.

    Arguments as of ``max_updates``.
    """
    constant = 0.5 if sharp else 4.0
    # Slightly above the gap at which one more update is possible.
    return math.sqrt(constant * math.log(cells) / (updates + 1.0)) * (1.0 + 1e-12)


@validated
def max_updates(cells: parameters.Cells, gap: parameters.Gap, *, sharp: bool = False) -> int:
    """The largest number of updates, from the uniform hypothesis at errors of ``gap`` or more.

    It is floor(4 log|X|/gap^2), since the relative entropy to the hypothesis starts at log|X|
    or less, falls by gap^2/4 or more each time and stays above 0; but at least 1.

    Args:
      cells: |X|, cells of the universe.
      gap: least error of a query that updates.
      sharp: floor(log|X|/(2 gap^2)), for the learning rate 4 gap.
    """
    return int(update_bound(cells, gap, sharp))


# --- Budgets ---------------------------------------------------------------------------


@validated
def composition_share(
    epsilon: parameters.Epsilon, times: npt.ArrayLike, delta: parameters.Delta
) -> npt.NDArray[np.float64]:
    """The epsilon that each of k pure releases may have to be (epsilon, delta)-DP together.

    The larger of epsilon/k and the x with k x^2/2 + x sqrt(2 k log(1/delta)) = epsilon,
    which composes to no more by Kairouz, Oh & Viswanath 2015, Theorem 3.4, as
    tanh(x/2) <= x/2. If delta = 0, the first.

    Args:
      epsilon: of all releases.
      times: k, >= 1; any shape.
      delta: of all releases.
    """
    k = np.asarray(times, np.float64)
    if delta == 0.0:
        return epsilon / k
    spread = np.sqrt(-2.0 * k * math.log(delta))
    root = 2.0 * epsilon / (spread + np.sqrt(spread**2 + 2.0 * k * epsilon))
    return np.maximum(epsilon / k, root)


@validated
def tests_share(
    epsilon: parameters.Epsilon,
    tops: parameters.Failures,
    gamma: parameters.Gamma,
    delta: parameters.Delta,
) -> float:
    """The epsilon that each tested hypothesis may have, for Tests until c of them answer top.

    The larger of epsilon/(2 c + gamma) (Cohen et al. 2022, Theorem 2, pure) and, for
    delta > 0, the x at which the least c D_a(x) + log(1/delta)/(a - 1) over a few orders
    a is epsilon, D_a the exact divergence of one top (``known_chance_rate``).

    Args:
      epsilon, delta: of all Tests together.
      tops: c.
      gamma: exponent of the law of p.
    """
    pure = epsilon / (2.0 * tops + gamma)
    if delta == 0.0 or pure * epsilon == 0.0:  # the geometric mean of tiny ends is 0
        return pure
    log_slack = -math.log(delta)

    def cost(x: float) -> float:
        # D_a is about a x^2, which gives the approximately optimal order.
        orders = 1.0 + math.sqrt(log_slack / tops) / x * _FACTORS
        rates = known_chance_rate(orders, x)
        return float(np.min(tops * rates + log_slack / (orders - 1.0)))

    low, high = pure, epsilon
    for _ in range(45):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if cost(middle) <= epsilon else (low, middle)
    return low
