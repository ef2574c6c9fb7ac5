"""Privacy bounds of Selection and Test: Cohen et al. 2022, Theorems 1 and 2."""

import math

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.families.selection_and_test import parameters
from jaxsel.families.selection_and_test.coin_game_laws import known_chance_rate
from jaxsel.families.selection_and_test.parameters import AnyEpsilon, DeltaOrZero, Gamma, Tops
from jaxsel.host import floats
from jaxsel.language.signature import validated


@validated
def interaction_epsilon(
    epsilon: AnyEpsilon,
    gamma: Gamma,
    selections: parameters.CallsOrZero = 0,
    tops: parameters.TopsOrZero = 0,
) -> float:
    """The pure epsilon of Selections and Tests in any adaptive order: (2 c1 + 2 c2 + gamma) epsilon
    (Theorems 1 and 2 and the remark after them).

    Args:
      epsilon: of every mechanism that is called.
      gamma: exponent of the law of p.
      selections: c1, how many Selections there are.
      tops: c2, the Tests end after so many answered top.
    """
    return (2.0 * (selections + tops) + gamma) * epsilon


@validated
def tests_renyi_rate(order: npt.ArrayLike, epsilon: AnyEpsilon) -> np.ndarray:
    """A simple bound on the log moment of the privacy loss of Tests at a known p, per top.

    At it, lambda, E[L^order exp(-lambda 1{top})] <= 1 for the likelihood ratio L of one answer:
    -log(1 - k e^(order epsilon)) with k = order (order - 1)(e^epsilon - 1)^2 e^(order epsilon);
    inf where that fails. ``known_chance_rate`` is the exact one.
    """
    order = np.asarray(order, dtype=np.float64)
    grown = order * (order - 1.0) * floats.square(math.expm1(epsilon))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = grown * np.exp(2.0 * order * epsilon)
        return -np.log1p(-np.minimum(share, 1.0))


@validated
def known_chance_epsilon(epsilon: AnyEpsilon, tops: Tops, delta: DeltaOrZero) -> float:
    """The epsilon at delta of Tests until c tops at a KNOWN p, by the exact Renyi rate.

    There is no pure privacy, so that it is inf at delta = 0: bottoms alone distinguish the sides.

    Args:
      epsilon: of each H.
      tops: c.
      delta: of the whole.
    """
    return renyi_to_epsilon(lambda order: tops * known_chance_rate(order, epsilon), delta).epsilon


@validated
def tests_epsilon(epsilon: AnyEpsilon, gamma: Gamma, tops: Tops, delta: DeltaOrZero) -> float:
    """The epsilon at delta of Tests until c tops: Theorem 2, pure and approximate (CL-E3).

    The smaller of (2 c + gamma) epsilon and of what the exact Renyi divergence at a
    known p gives, of order epsilon sqrt(c log(1/delta)) + c epsilon^2.

    Args:
      epsilon: of each H.
      gamma: exponent of the prior of p.
      tops: c.
      delta: of the whole; with (epsilon, delta_i)-DP tests add the sum of the delta_i.
    """
    pure = interaction_epsilon(epsilon, gamma, tops=tops)
    return min(pure, known_chance_epsilon(epsilon, tops, delta)) if delta > 0.0 else pure


@validated
def tests_epsilon_simple(
    epsilon: AnyEpsilon, gamma: Gamma, tops: Tops, delta: parameters.Delta
) -> float:
    """``tests_epsilon`` with ``tests_renyi_rate`` and the plain conversion from Renyi.

    Args:
      epsilon, gamma, tops, delta: as of ``tests_epsilon``, at a delta above 0.
    """
    order = 1.0 + np.geomspace(1e-6, 1e6, 1200)
    order = order[order * epsilon < 300.0]
    if order.size == 0:
        return interaction_epsilon(epsilon, gamma, tops=tops)
    rate = tops * tests_renyi_rate(order, epsilon) - math.log(delta)
    pure = interaction_epsilon(epsilon, gamma, tops=tops)
    return min(pure, float(np.min(rate / (order - 1.0))))
