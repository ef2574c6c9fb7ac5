"""The update of multiplicative weights, how often it happens, and how its budget is divided.

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
    """The Kullback-Leibler divergence KL(first || second) of two vectors of shares, in nats.

    Where ``first`` has a share of 0, the term is 0; if only ``second`` has one, the result is inf.
    """
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
    """A lower bound on the amount by which an update lowers KL(D || h), in nats.

    D are the table's shares and h is the hypothesis. The bound is eta gap - eta^2 (Dwork & Roth
    2014, Theorem 4.10).

    Args:
      rate: learning rate eta.
      gap: error of the hypothesis at the query of the update.
      sharp: return eta gap - eta^2/8 instead, which follows from Hoeffding's lemma.
    """
    return rate * gap - rate * rate * (0.125 if sharp else 1.0)


@validated
def learning_rate(
    gap: Annotated[float, positive("least error of a query that updates")], *, sharp: bool = False
) -> float:
    """The learning rate that maximises ``entropy_drop``: gap/2, or 4 gap if ``sharp``."""
    return gap * (4.0 if sharp else 0.5)


def update_bound(cells: int, gap: npt.ArrayLike, sharp: bool) -> np.ndarray:
    """``max_updates`` at each of many gaps, as floats; a gap may exceed 1.

    Arguments as of ``max_updates``.
    """
    constant = 0.5 if sharp else 4.0
    # Slightly enlarged, as a quotient that is a whole number may be computed slightly too small.
    most = constant * math.log(cells) / np.square(gap) * (1.0 + 4.0 * _EPSILON)
    return np.maximum(np.floor(most), 1.0)


def least_gap(cells: int, updates: int, sharp: bool) -> float:
    """The least gap at which ``max_updates`` is at most ``updates``.

    ``cells`` and ``sharp`` are as of ``max_updates``.
    """
    constant = 0.5 if sharp else 4.0
    # Slightly above the gap at which one more update is possible.
    return math.sqrt(constant * math.log(cells) / (updates + 1.0)) * (1.0 + 1e-12)


@validated
def max_updates(cells: parameters.Cells, gap: parameters.Gap, *, sharp: bool = False) -> int:
    """The largest number of updates from the uniform hypothesis, at errors of ``gap`` or more.

    With the learning rate gap/2 it is floor(4 log|X|/gap^2), but at least 1: the relative entropy
    of the shares to the hypothesis starts at log|X| or less, falls by gap^2/4 or more each time,
    and never gets below 0.

    Args:
      cells: |X|, cells of the universe.
      gap: least error of a query that updates.
      sharp: take the learning rate 4 gap, for which it is floor(log|X|/(2 gap^2)).
    """
    return int(update_bound(cells, gap, sharp))


# --- Budgets ---------------------------------------------------------------------------


@validated
def composition_share(
    epsilon: parameters.Epsilon, times: npt.ArrayLike, delta: parameters.Delta
) -> npt.NDArray[np.float64]:
    """The pure epsilon that each of k releases may have, if all are to be (epsilon, delta)-DP.

    It is the larger of epsilon/k and the x with k x^2/2 + x sqrt(2 k log(1/delta)) = epsilon.
    The second composes to no more than epsilon by Kairouz, Oh & Viswanath 2015, Theorem 3.4, as
    tanh(x/2) <= x/2. If delta = 0, it is epsilon/k.

    Args:
      epsilon: of all releases together.
      times: k, >= 1; any shape, which the result has.
      delta: of all releases together.
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
    """The pure epsilon that each Test may have, if Tests are made until c of them answer "top".

    It is the larger of epsilon/(2 c + gamma) (Cohen et al. 2022, Theorem 2, pure) and, for
    delta > 0, the x at which the least c D_a(x) + log(1/delta)/(a - 1) over a few Renyi orders
    a is epsilon, where D_a is the exact divergence up to one "top" (``known_chance_rate``).

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
