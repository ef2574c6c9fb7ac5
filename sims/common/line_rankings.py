"""Privacy loss of the best of K runs on the real line: bases, laws of K, rankings.

One run releases a number, on the data from the first law of a pair and on the neighbour from
the second. Runs are ranked by the number itself (larger is better) or, at some epsilons, in
the order found worst for the privacy of the best of K. Only which of 300 intervals contains
the released number is observed, which is post-processing. One trial is one execution of the
tuned algorithm.

``adversarial_orders`` of the tuning family searches for one epsilon or delta at a time and
refines its grid; here one grid of cells serves a whole curve of epsilons. A ranking's profile
is computed exactly, on the line, so it is a lower bound on that of the worst ranking.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.score_orders import NATURAL, BlockOrder, MergedOrder
from jaxsel.accounting.single_run.score_pairs import (
    LineLaw,
    ScorePair,
    laplace_pair,
    mirrored_pair,
    reversed_pair,
    subsampled_gaussian_pair,
)
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.language.domains import number, probability
from jaxsel.language.trial import Trial
from jaxsel.repetitions import Repetitions, parse
from jaxsel.tuning.attained.merging import best_merger, merging_grid
from sims.common.worst_rankings import SIDES, TARGETS, GaussianBase

LAWS = (
    "geometric:mean=10",
    "geometric:mean=300",
    "logarithmic:mean=10",
    "poisson:mean=10",
    "binomial:count=20,probability=0.5",
    "beta_binomial:count=20,gamma=1",
)
RANKINGS = ("natural", *(f"{target:g}" for target in TARGETS))  # natural, or worst at a delta

CELLS = 300
_POINTS = 41  # epsilons at which a worst ranking is searched
_TAIL = 1e-12  # largest mass of the tuned law outside the inner cells at either end


@dataclasses.dataclass(frozen=True)
class LaplaceBase:
    """One run: Laplace(1) around 0 and around 1/laplace_scale."""

    laplace_scale: Annotated[float, number("of the Laplace mechanism", at_least=1.0)] = 4.0
    directions: ClassVar = (0,)
    largest: ClassVar = 1.6

    @property
    def pair(self) -> ScorePair:
        """The laws of one run's output on both sides."""
        return laplace_pair(self.laplace_scale)


@dataclasses.dataclass(frozen=True)
class StepBase:
    """One step of DP-SGD: (1 - q) N(0, 1) + q N(1/step_noise, 1) and N(0, 1)."""

    step_noise: Annotated[float, number("noise multiplier of the step of DP-SGD", at_least=0.5)] = (
        1.0
    )
    sampling_rate: Annotated[float, probability("of the step of DP-SGD")] = 0.1
    directions: ClassVar = (0, 1)
    largest: ClassVar = 2.4

    @property
    def pair(self) -> ScorePair:
        """The laws of one run's output on both sides."""
        return subsampled_gaussian_pair(self.step_noise, self.sampling_rate)


LineBase = GaussianBase | LaplaceBase | StepBase


class Ranking(NamedTuple):
    """A ranking of the line, and the laws of one run's position in it.

    Attributes:
      order: the ranking itself, as an order of the line.
      run_laws: Float64["2 cells"], of one run on the pair's first and second side: the
        probability of each cell, the best cell first.
      direction: 0 if the ranking was searched for H(A || A'), 1 for H(A' || A).
      epsilon: the epsilon for which it was searched; NaN if it was not searched.
      delta: the delta of the tuned cells at that epsilon, to one percent.
    """

    order: BlockOrder | MergedOrder
    run_laws: np.ndarray
    direction: int
    epsilon: float
    delta: float


def _quantiles(pair: ScorePair, masses: np.ndarray, upper: bool) -> np.ndarray:
    """Points beyond which the mean of the two laws has the given masses."""
    low, high = (np.full(masses.shape, end) for end in pair.reach)
    for _ in range(60):
        middle = (low + high) / 2.0
        tails = [law.log_upper if upper else law.log_lower for law in pair[1:3]]
        mass = sum(np.exp(tail(middle)) for tail in tails) / 2.0
        beyond = (mass > masses) == upper
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return (low + high) / 2.0


def _edges(pair: ScorePair, repetitions: Repetitions) -> np.ndarray:
    """Falling edges of CELLS cells: half evenly spaced, half of equal mass."""
    tail = np.array([_TAIL / (1.0 + repetitions.mean)])
    low, high = (float(_quantiles(pair, tail, upper)[0]) for upper in (False, True))
    half = (CELLS - len(pair.kinks)) // 2
    even = np.linspace(low, high, CELLS - 1 - len(pair.kinks) - half)
    masses = (np.arange(half) + 0.5) / half
    inner = np.concatenate([even, pair.kinks, _quantiles(pair, masses, upper=True)])
    return np.concatenate([[np.inf], np.sort(inner)[::-1], [-np.inf]])


def _masses(law: LineLaw, edges: np.ndarray) -> np.ndarray:
    """Masses between falling edges, each computed from the smaller tail."""
    above, below = np.exp(law.log_upper(edges)), np.exp(law.log_lower(edges))
    return np.where(above[1:] < 0.5, np.diff(above), -np.diff(below))


def natural_ranking(pair: ScorePair, repetitions: Repetitions) -> Ranking:
    """The ranking in which larger outputs are better."""
    edges = _edges(pair, repetitions)
    laws = np.stack([_masses(law, edges) for law in (pair.first, pair.second)])
    return Ranking(NATURAL, laws, 0, np.nan, np.nan)


def worst_rankings(
    pair: ScorePair,
    repetitions: Repetitions,
    epsilons: Iterable[float],
    directions: Sequence[int] = (0, 1),
) -> list[Ranking]:
    """The worst ranking found for each direction and each epsilon.

    It maximises delta among the rankings that take the grid's cells in turns from both ends
    of the line.

    Args:
      pair: laws of one run's output.
      repetitions: law of K.
      epsilons: each >= 0.
      directions: 0 for H(A || A'), 1 for H(A' || A). If reading the line backwards swaps the
        two laws, either direction is as good as both.

    Returns:
      All epsilons of the first direction, then all of the next.
    """
    found, levels = [], list(epsilons)
    for direction in directions:
        side = reversed_pair(pair) if direction else pair
        ends = side.loss(np.array(side.reach))
        mirrored = bool(ends[0] < ends[1])
        # so that the second law favours large z
        laid = mirrored_pair(side) if mirrored else side
        edges = _edges(laid, repetitions)
        laws = np.stack([_masses(law, edges) for law in (laid.first, laid.second)])
        grid = merging_grid(laws[0], laws[1], repetitions)
        for epsilon in levels:
            path = best_merger(grid, epsilon)
            order = MergedOrder(
                tuple(edges[path.front].tolist()),
                tuple(edges[CELLS - path.back].tolist()),
                mirrored,
            )
            ranked = laws[:, _places(path.front.tolist(), path.back.tolist())]
            ranked = ranked[::-1] if direction else ranked
            found.append(Ranking(order, ranked, direction, float(epsilon), path.delta))
    return found


def _places(front: list[int], back: list[int]) -> np.ndarray:
    """Cells in the order of a path that takes them from both ends in turns."""
    cells, parts, top, bottom = np.arange(CELLS), [], 0, 0
    for a, b in zip(front, back, strict=True):
        parts += [cells[top:a], cells[CELLS - b : CELLS - bottom][::-1]]
        top, bottom = a, b
    return np.concatenate([*parts, cells[top : CELLS - bottom]])


@functools.cache
def _sought(base: LineBase, text: str) -> list[Ranking]:
    """The worst ranking at each epsilon of a grid, in the worse direction."""
    levels = np.linspace(0.0, base.largest, _POINTS)
    found = worst_rankings(base.pair, parse(text), levels, base.directions)
    return [max(found[place::_POINTS], key=lambda each: each.delta) for place in range(_POINTS)]


def planned(base: LineBase, text: str, ranking: str) -> Ranking:
    """A ranking whose delta is near a target, or the natural one.

    Args:
      base: the laws of one run.
      text: the law of K as text.
      ranking: "natural", or a target delta; then it is the worst ranking at that epsilon of a
        grid where the worst delta comes nearest to the target.
    """
    if ranking == "natural":
        return natural_ranking(base.pair, parse(text))

    def distance(each: Ranking) -> float:
        return abs(np.log(max(each.delta, 1e-300) / float(ranking)))

    return min(_sought(base, text), key=distance)


def planned_trial(base: LineBase, text: str, ranking: str, side: str) -> Trial:
    """The simulation of the released run's position in a ranking, with the ranking's epsilon."""
    found, repetitions = planned(base, text, ranking), parse(text)
    return Trial(
        private_tuning(finite(), repetitions.family),
        found.run_laws[SIDES.index(side)],
        {"repetitions": repetitions},
        beside={"epsilon": found.epsilon},
    )
