"""Why a fixed number of runs is not private (Papernot & Steinke 2022, Appendix D.1)."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.errors import check_integer, check_positive


class ConstantEvent(NamedTuple):
    """What Appendix D.1 says of pairs.fixed_runs_constant after ``count`` runs.

    Attributes:
      tuned_epsilon: privacy loss of the bad event after tuning, count * epsilon.
      probability: of that event on the first side, 1/e.
      base_epsilon: max-divergence of the base, first to second side.
      base_epsilon_back: bound on it from the second side to the first.
      base_kl_back: bound on the Kullback-Leibler divergence from second to first.
    """

    tuned_epsilon: float
    probability: float
    base_epsilon: float
    base_epsilon_back: float
    base_kl_back: float


def fixed_runs_epsilon(
    order: npt.ArrayLike, epsilon: npt.ArrayLike, count: int
) -> np.ndarray:
    """What the generic bound gives for a fixed number of runs.

    count epsilon + log(count)/(order - 1). Worse than composition, which gives count *
    epsilon.

    Args:
      order: > 1, inf allowed.
      epsilon: Renyi bound of the base at that order.
      count: number of runs, >= 1.
    """
    count = check_integer("count", count, 1)
    excess = np.asarray(order, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore"):
        return (count * np.asarray(epsilon) + math.log(count) / excess)[()]


def fixed_runs_lower_bound(
    order: npt.ArrayLike, epsilon: float, count: int
) -> np.ndarray:
    """Renyi divergence that some epsilon-DP base reaches (Proposition 17).

    count epsilon - count log(1 + e^-epsilon)/(order - 1), attained on
    pairs.randomised_response; at order inf it is count epsilon.
    """
    epsilon = check_positive("epsilon", epsilon)
    count = check_integer("count", count, 1)
    excess = np.asarray(order, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore"):
        lost = math.log1p(math.exp(-epsilon)) / excess
    return (count * (epsilon - lost))[()]


def fixed_runs_constant_event(epsilon: float, count: int) -> ConstantEvent:
    """The second example of Appendix D.1, whose bad event has constant probability."""
    epsilon = check_positive("epsilon", epsilon)
    count = check_integer("count", count, 1)
    back = math.log1p(count * epsilon)
    return ConstantEvent(
        tuned_epsilon=count * epsilon,
        probability=math.exp(-1.0),
        base_epsilon=epsilon,
        base_epsilon_back=back,
        base_kl_back=(epsilon + 1.0 / count) * back,
    )
