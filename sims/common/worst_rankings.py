"""The Gaussian base of Figures 2 to 4 of Koskela, Redberg & Wang 2024, simulated.

The pair is N(0, 1) on the data against N(1/4, 1) on the neighbour (noise multiplier 4). Its
outputs are ranked in two ways:

  natural: a larger output is better;
  adversarial: a ranking whose exact delta is nearly largest, at the epsilon where the largest
    delta first falls below a target. It takes intervals of outputs in turns from both ends of
    the line.

``adversarial_orders`` of the tuning family searches for one epsilon or delta at a time and
refines its grid; here one grid of cells serves a whole curve of epsilons. What is returned is
exact for the ranking found, so it is a lower bound on that of the worst ranking; its delta is
within a few percent of what that search finds. Reading the line backwards swaps the two
sides, so one direction is enough: every ranking has a mirror image of equal divergence in the
other.

Only the interval of the released output (its bin, in the natural order) is observed. This is
post-processing, so its loss is a lower bound on that of the mechanism. One trial is one
execution of the tuned algorithm.
"""

import bisect
import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.score_orders import MergedOrder, order_pieces
from jaxsel.accounting.single_run.score_pairs import LineLaw, ScorePair, gaussian_pair
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.noised_bases import noised_score
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.language.trial import Trial
from jaxsel.repetitions import Repetitions, parse
from jaxsel.tuning.attained.exact_profile import tuned_profile
from jaxsel.tuning.attained.merging import best_merger, merging_grid
from sims.common.gaussian_orders import natural_law

SIDES = ("data", "neighbour")
TARGETS = (0.1, 0.03, 0.01, 0.003, 0.001)  # deltas that millions of trials can see

_CELLS = 300
_REACH = 9.0  # the outer cells are half-lines
_NATURAL_BINS = 64
_TAIL = 1e-6  # mass of the tuned output beyond the inner bins, on each side and at each end


class Ranking(NamedTuple):
    """A ranking, and its exact delta at an epsilon, of the first side against the second."""

    epsilon: float
    delta: float
    order: MergedOrder


def _mass(law: LineLaw, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """P[left < Z < right], computed from the smaller tail."""
    above = np.exp(law.log_upper(left)) - np.exp(law.log_upper(right))
    below = np.exp(law.log_lower(right)) - np.exp(law.log_lower(left))
    return np.where(law.log_upper(left) < np.log(0.5), above, below)


@dataclasses.dataclass(frozen=True)
class GaussianBase:
    """One run: N(0, 1) on the data, N(1/noise_multiplier, 1) on the neighbour."""

    noise_multiplier: Annotated[float, number("of the Gaussian mechanism", at_least=1.0)] = 4.0
    directions: ClassVar = (0,)  # the other direction of the divergence is the same by symmetry
    largest: ClassVar = 2.0  # largest epsilon at which ``line_rankings`` searches for rankings

    @property
    def pair(self) -> ScorePair:
        """The laws of one run's output on both sides."""
        return gaussian_pair(self.noise_multiplier)

    @property
    def means(self) -> tuple[float, float]:
        """Means of one run's output on the data and on the neighbour."""
        return 0.0, 1.0 / self.noise_multiplier

    def worst_ranking(self, law: Repetitions) -> Callable[[float], Ranking]:
        """A function of epsilon >= 0 that finds the worst ranking made of the grid's cells.

        That ranking maximises delta among those that take cells in turns from both ends of
        the line.
        """
        inner = np.linspace(_REACH, -_REACH, _CELLS - 1)
        edges = np.concatenate([[np.inf], inner, [-np.inf]])
        pair = self.pair
        first, second = (_mass(p, edges[1:], edges[:-1]) for p in (pair.first, pair.second))
        grid = merging_grid(first, second, law)

        def found(epsilon: float) -> Ranking:
            path = best_merger(grid, epsilon)
            order = MergedOrder(
                tuple(edges[path.front].tolist()), tuple(edges[_CELLS - path.back].tolist())
            )
            delta = float(tuned_profile(pair, law, order).delta(epsilon))
            return Ranking(float(epsilon), delta, order)

        return found

    def ranked_laws(self, order: MergedOrder) -> np.ndarray:
        """Law of the interval of the ranking that contains the output of ONE run: Float64["2 300"].

        The rows are the two sides, with the best interval first. Each row is filled up with
        impossible intervals, ranked worst, so that all rankings share one compiled program.
        """
        pieces = order_pieces(order)
        left = np.array([piece.left for piece in pieces])
        right = np.array([piece.right for piece in pieces])
        laws = np.zeros((2, _CELLS))
        for row, side in zip(laws, (self.pair.first, self.pair.second), strict=True):
            row[: len(pieces)] = _mass(side, left, right)
        return laws

    def natural_edges(self, law: Repetitions) -> np.ndarray:
        """Edges of equally wide bins that contain nearly all mass of the released number."""
        grid = np.linspace(-10.0, 10.0, 20_001)
        found = []
        for mean in self.means:
            below = natural_law(law, grid, mean, below=True)
            kept = (below > _TAIL) & (below < below[-1] - _TAIL)
            found.append(grid[kept][[0, -1]])
        return np.linspace(np.min(found), np.max(found), _NATURAL_BINS - 1)


@functools.cache
def planned_ranking(base: GaussianBase, text: str, target: float) -> Ranking:
    """The worst ranking at the first of 101 epsilons where its delta is at most a target.

    Args:
      base: the laws of one run.
      text: the law of K as text.
      target: the delta to reach.

    Raises:
      InputError: if the delta is larger at all of these epsilons.
    """
    worst = base.worst_ranking(parse(text))
    epsilons = np.linspace(0.0, 16.0 / base.noise_multiplier, 101)
    place = bisect.bisect_left(epsilons, -target, key=lambda at: -worst(at).delta)
    if place == len(epsilons):
        raise InputError(
            f"no epsilon up to {epsilons[-1]:g} has a delta of {target:g} for {text} "
            f"and noise multiplier {base.noise_multiplier:g}"
        )
    return worst(epsilons[place])


def ranked_trial(base: GaussianBase, law: Repetitions, target: float, side: str) -> Trial:
    """The simulation of the released interval of the adversarial ranking for a target delta.

    Its data set also has the epsilon of that ranking and its exact delta there.
    """
    planned = planned_ranking(base, law.name, target)
    return Trial(
        private_tuning(finite(), law.family),
        base.ranked_laws(planned.order)[SIDES.index(side)],
        {"repetitions": law},
        beside={"epsilon": planned.epsilon, "delta": planned.delta},
    )


def natural_trial(base: GaussianBase, law: Repetitions, side: str) -> Trial:
    """The simulation of the bin of the released number, where larger numbers are better."""
    edges = base.natural_edges(law)
    return Trial(
        private_tuning(noised_score("gaussian"), law.family),
        base.means[SIDES.index(side)],
        {"repetitions": law, "noise_scale": 1.0, "edges": edges},
    )
