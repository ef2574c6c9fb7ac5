"""Rankings of a Gaussian pair's outputs that a tuned algorithm is nearly worst at.

The pair is N(0, 1) against N(1/4, 1): the base of Figures 2 to 4 of Koskela, Redberg &
Wang 2024 (noise multiplier 4). ``adversarial_orders`` of the tuning family works on
one epsilon or delta at a time, and refines; here one grid of cells serves a whole curve of
epsilons. What is returned is exact for the ranking found, so that it bounds the worst
from below; its delta is within a few percent of what that search finds.

The line read backwards swaps the two sides, so that one direction is enough: every
ranking has a mirror image of equal divergence in the other.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.score_orders import MergedOrder, order_pieces
from jaxsel.accounting.single_run.score_pairs import LineLaw, gaussian_pair
from jaxsel.families.tuning.attained.exact_profile import tuned_profile
from jaxsel.families.tuning.attained.merging import best_merger, merging_grid
from jaxsel.language.domains import number
from jaxsel.repetitions import Repetitions

NOISE_MULTIPLIER = 4.0
SETTABLE = {
    "NOISE_MULTIPLIER": number("of the Gaussian mechanism", at_least=1.0),
}
PAIR = gaussian_pair(NOISE_MULTIPLIER)

_CELLS = 300
_REACH = 9.0  # the outer cells are half-lines


class Ranking(NamedTuple):
    """A ranking and its exact delta at an epsilon, first side against second."""

    epsilon: float
    delta: float
    order: MergedOrder


def _mass(law: LineLaw, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """P[left < Z < right], from the tail that is small."""
    above = np.exp(law.log_upper(left)) - np.exp(law.log_upper(right))
    below = np.exp(law.log_lower(right)) - np.exp(law.log_lower(left))
    return np.where(law.log_upper(left) < np.log(0.5), above, below)


def worst_rankings(law: Repetitions, epsilons: Iterable[float]) -> Iterator[Ranking]:
    """For each epsilon in turn the best of all mergers of the grid's cells.

    Args:
      law: law of K.
      epsilons: each >= 0.
    """
    inner = np.linspace(_REACH, -_REACH, _CELLS - 1)
    edges = np.concatenate([[np.inf], inner, [-np.inf]])
    first, second = (_mass(p, edges[1:], edges[:-1]) for p in (PAIR.first, PAIR.second))
    grid = merging_grid(first, second, law)
    for epsilon in epsilons:
        path = best_merger(grid, epsilon)
        order = MergedOrder(
            tuple(edges[path.front].tolist()),
            tuple(edges[_CELLS - path.back].tolist()),
        )
        delta = float(tuned_profile(PAIR, law, order).delta(epsilon))
        yield Ranking(float(epsilon), delta, order)


def ranked_laws(order: MergedOrder) -> np.ndarray:
    """Law of the interval of the ranking that ONE run falls in: Float64["2 intervals"].

    Either side in a row, the best interval first.
    """
    pieces = order_pieces(order)
    left = np.array([piece.left for piece in pieces])
    right = np.array([piece.right for piece in pieces])
    return np.array([_mass(side, left, right) for side in (PAIR.first, PAIR.second)])
