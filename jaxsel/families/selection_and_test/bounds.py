"""Privacy bounds of Selection and Test: Cohen et al. 2022, Theorems 1 and 2."""

import math

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.families.selection_and_test.coin_game_laws import known_chance_rate
from jaxsel.host.errors import check_integer, check_interval, check_positive


def interaction_epsilon(epsilon: float, gamma: float, selections: int = 0, tops: int = 0) -> float:
    """(2 c1 + 2 c2 + gamma) epsilon: c1 Selections, and Tests until c2 tops.

    They may be interleaved in any adaptive order (Theorems 1 and 2 and the remark after
    them); all mechanisms are epsilon-DP.
    """
    selections = check_integer("selections", selections, 0)
    tops = check_integer("tops", tops, 0)
    epsilon, gamma = check_positive("epsilon", epsilon), check_positive("gamma", gamma)
    return (2.0 * (selections + tops) + gamma) * epsilon


def tests_renyi_rate(order: npt.ArrayLike, epsilon: float) -> np.ndarray:
    """A simple bound lambda(order) on the moment of Tests at a known p, per top.

    E[L^order exp(-lambda 1{top})] <= 1 for the likelihood ratio L of one answer:
    -log(1 - k e^(order epsilon)) with k = order (order - 1)(e^epsilon - 1)^2
    e^(order epsilon); inf where that fails. known_chance_rate is the exact one.
    """
    order = np.asarray(order, dtype=np.float64)
    grown = order * (order - 1.0) * math.expm1(epsilon) ** 2
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = grown * np.exp(2.0 * order * epsilon)
        return -np.log1p(-np.minimum(share, 1.0))


def known_chance_epsilon(epsilon: float, tops: int, delta: float) -> float:
    """Epsilon at delta of Tests until c tops at a KNOWN p, by the exact Renyi rate.

    There is no pure privacy: bottoms alone distinguish the sides.
    """
    return renyi_to_epsilon(lambda order: tops * known_chance_rate(order, epsilon), delta).epsilon


def tests_epsilon(epsilon: float, gamma: float, tops: int, delta: float) -> float:
    """Epsilon at delta of Tests until c tops: Theorem 2, pure and approximate (CL-E3).

    The smaller of (2 c + gamma) epsilon and of what the exact Renyi divergence at a
    known p gives, of order epsilon sqrt(c log(1/delta)) + c epsilon^2.

    Args:
      epsilon: of each H, > 0.
      gamma: exponent of the prior of p, > 0.
      tops: c, at least 1.
      delta: in [0, 1); with (epsilon, delta_i)-DP tests add the sum of the delta_i.
    """
    tops = check_integer("tops", tops, 1)
    pure = interaction_epsilon(epsilon, gamma, tops=tops)
    return min(pure, known_chance_epsilon(epsilon, tops, delta)) if delta > 0.0 else pure


def tests_epsilon_simple(epsilon: float, gamma: float, tops: int, delta: float) -> float:
    """``tests_epsilon`` with tests_renyi_rate and the plain conversion from Renyi."""
    tops = check_integer("tops", tops, 1)
    delta = check_interval("delta", delta, 0.0, 1.0)
    order = 1.0 + np.geomspace(1e-6, 1e6, 1200)
    order = order[order * epsilon < 300.0]
    rate = tops * tests_renyi_rate(order, epsilon) - math.log(delta)
    pure = interaction_epsilon(epsilon, gamma, tops=tops)
    return min(pure, float(np.min(rate / (order - 1.0))))
