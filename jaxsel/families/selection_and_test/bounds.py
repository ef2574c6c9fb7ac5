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
    """The pure epsilon of Selections and Tests that share one p, in any adaptive order.

    It is (2 c1 + 2 c2 + gamma) epsilon: Theorems 1 and 2 and the remark after them.

    Args:
      epsilon: of every mechanism that is called.
      gamma: exponent of the law of p.
      selections: c1, how many Selections there are.
      tops: c2, how many Tests may answer top before the Tests end.
    """
    return (2.0 * (selections + tops) + gamma) * epsilon


@validated
def tests_renyi_rate(order: npt.ArrayLike, epsilon: AnyEpsilon) -> np.ndarray:
    """A bound lambda on (order - 1) times the Renyi divergence of Tests at a known p, per top.

    It is -log(1 - order (order - 1)(e^epsilon - 1)^2 e^(2 order epsilon)), or inf where this
    logarithm has no positive argument. With it, E[L^order exp(-lambda 1{top})] <= 1 for the
    likelihood ratio L of one answer. The exact divergence per top is ``known_chance_rate``.

    Args:
      order: of the Renyi divergence, a > 1, any shape.
      epsilon: of each Test.

    Returns:
      An array of the shape of order.
    """
    order = np.asarray(order, dtype=np.float64)
    grown = order * (order - 1.0) * floats.square(math.expm1(epsilon))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = grown * np.exp(2.0 * order * epsilon)
        return -np.log1p(-np.minimum(share, 1.0))


@validated
def known_chance_epsilon(epsilon: AnyEpsilon, tops: Tops, delta: DeltaOrZero) -> float:
    """The epsilon at delta of Tests until c of them answered top, at a KNOWN p.

    It is converted from the exact Renyi divergence, ``known_chance_rate``. At delta = 0 it is inf:
    at a known p, many bottoms distinguish the two sides without limit.

    Args:
      epsilon: of each H, the mechanism that a Test calls.
      tops: c.
      delta: of all Tests together.
    """
    return renyi_to_epsilon(lambda order: tops * known_chance_rate(order, epsilon), delta).epsilon


@validated
def tests_epsilon(epsilon: AnyEpsilon, gamma: Gamma, tops: Tops, delta: DeltaOrZero) -> float:
    """The epsilon at delta of Tests until c of them answered top: Theorem 2, corrected (CL-E3).

    It is the smaller one of (2 c + gamma) epsilon, the pure part of the theorem, and
    ``known_chance_epsilon``, which is of order epsilon sqrt(c log(1/delta)) + c epsilon^2.

    Args:
      epsilon: of each H, the mechanism that a Test calls.
      gamma: exponent of the law of p.
      tops: c.
      delta: of all Tests together; if test i is (epsilon, delta_i)-DP, add the sum of the delta_i.
    """
    pure = interaction_epsilon(epsilon, gamma, tops=tops)
    return min(pure, known_chance_epsilon(epsilon, tops, delta)) if delta > 0.0 else pure


@validated
def tests_epsilon_simple(
    epsilon: AnyEpsilon, gamma: Gamma, tops: Tops, delta: parameters.Delta
) -> float:
    """An upper bound on ``tests_epsilon`` by simpler formulas.

    It uses ``tests_renyi_rate`` in place of the exact divergence, and converts by adding
    log(1/delta)/(order - 1).

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
