"""Exact profiles and bounds of a tuned Gaussian base that several claims share.

The Gaussian base is N(0, 1) on one side and N(shift, 1) on the other, shift being
1/noise_scale. Its outputs z are ranked by a block order. The order is part of the base
algorithm (any score may be tuned for), and this one puts outcomes that the second side
likes best before those that the first side likes best, which is what a tuned algorithm
is worst at.
"""

import math

import numpy as np
from scipy import special

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon, gaussian_log_delta
from jaxsel.accounting.single_run.score_orders import NATURAL, BlockOrder
from jaxsel.accounting.single_run.score_pairs import gaussian_pair, reversed_pair
from jaxsel.families.tuning.attained.exact_profile import tuned_delta
from jaxsel.repetitions import Repetitions


def worst_block_order(mean: float, good: float, bad: float) -> BlockOrder:
    """The blocks whose masses on the first side are good/mean and bad/mean."""
    return BlockOrder(-float(special.ndtri(good / mean)), float(special.ndtri(bad / mean)))


def block_order_delta(
    epsilon: float, shift: float, repetitions: Repetitions, order: BlockOrder = NATURAL
) -> float:
    """Exact delta(epsilon) between the tuned laws of N(0, 1) and N(shift, 1).

    Args:
      epsilon: >= 0, so that the outcome "no run" adds nothing.
      shift: difference of the means in standard deviations; a negative one makes the
        first side the one that the order likes.
      repetitions: law of K.
      order: ranking of the outcomes.

    Raises:
      InputError: if the blocks overlap.
    """
    pair = gaussian_pair(1.0 / abs(shift))
    if shift < 0:  # the mirror sides, moved by shift
        pair = reversed_pair(pair)
        order = BlockOrder(order.good - shift, order.bad - shift)
    return float(tuned_delta(pair, repetitions, epsilon, order))


def stopping_ratio(noise_scale: float, eta: float, gamma: float) -> float:
    """Least bound on log f'(q)/f'(q') of Theorem 5.2, over epsilon_1.

    (eta + 1) min log(e^epsilon_1 + ((1 - gamma)/gamma) delta(epsilon_1)).
    """
    odds = (1.0 - gamma) / gamma

    def objective(level: np.ndarray) -> np.ndarray:
        extra = math.log(odds) + gaussian_log_delta(level, noise_scale)
        return np.logaddexp(level, extra)

    # At high - 2 the sum is at most e^(high - 2) + 1/2: less than e^level beyond high.
    high = gaussian_epsilon(0.5 / max(odds, 1.0), noise_scale) + 2.0
    return (eta + 1.0) * float(minimise(objective, 0.0, high)[1])


def ratio_of_tradeoff(noise_scale: float, repetitions: Repetitions) -> tuple[float, float]:
    """Least uniform bound on log f'(q)/f'(q') for a Gaussian base, and where it is met.

    f' increases, and an event of mass x = 1 - q on one side has at most T(x) on the
    other: sup over x of log f'(1 - x) - log f'(1 - T(x)).

    Returns:
      The supremum and the standard score at which the event z > score meets it.
    """

    def objective(score: np.ndarray) -> np.ndarray:
        x, other = special.ndtr(-score), special.ndtr(1.0 / noise_scale - score)
        return repetitions.log_pgf_derivative_tail(other) - repetitions.log_pgf_derivative_tail(x)

    score, least = minimise(objective, -10.0, 12.0)
    return -float(least), float(score)


def tuned_gaussian_epsilon(
    delta: float, noise_scale: float, repetitions: Repetitions, ratio: float
) -> float:
    """epsilon with E[K] delta_base(epsilon - ratio) = delta, for a uniform ratio."""
    return ratio + gaussian_epsilon(delta / repetitions.mean, noise_scale)
