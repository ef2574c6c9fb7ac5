"""Rankings of what one run releases, for any pair of laws on the real line.

``adversarial_orders`` of the tuning family works on one epsilon or delta at a time
and refines; here one grid of cells serves a whole curve of epsilons. A ranking's profile is
computed exactly, on the line, so that it bounds that of the worst from below.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.score_orders import NATURAL, BlockOrder, MergedOrder
from jaxsel.accounting.single_run.score_pairs import (
    LineLaw,
    ScorePair,
    mirrored_pair,
    reversed_pair,
)
from jaxsel.families.tuning.attained.merging import best_merger, merging_grid
from jaxsel.repetitions import Repetitions

CELLS = 300
_TAIL = 1e-12  # of the tuned law, at most, outside the inner cells at either end


class Ranking(NamedTuple):
    """A ranking of the line and the law of one run's place in it.

    Attributes:
      order: of the line itself.
      run_laws: Float64["2 cells"], of one run on the pair's first and second side: the
        probability of each cell, the best cell first.
      direction: 0 if the ranking was sought for H(A || A'), 1 for H(A' || A).
      epsilon: at which it was sought; NaN if it was not.
      delta: of the tuned cells there, to a percent.
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
    """Masses between falling edges; each from the tail that is small."""
    above, below = np.exp(law.log_upper(edges)), np.exp(law.log_lower(edges))
    return np.where(above[1:] < 0.5, np.diff(above), -np.diff(below))


def natural_ranking(pair: ScorePair, repetitions: Repetitions) -> Ranking:
    """Larger outputs are better."""
    edges = _edges(pair, repetitions)
    laws = np.stack([_masses(law, edges) for law in (pair.first, pair.second)])
    return Ranking(NATURAL, laws, 0, np.nan, np.nan)


def worst_rankings(
    pair: ScorePair,
    repetitions: Repetitions,
    epsilons: Iterable[float],
    directions: Sequence[int] = (0, 1),
) -> list[Ranking]:
    """For each direction and each epsilon the best of all mergers of the grid's cells.

    Args:
      pair: laws of one run's output.
      repetitions: law of K.
      epsilons: each >= 0.
      directions: 0 for H(A || A'), 1 for H(A' || A). Where the line read backwards
        swaps the two laws, either is as good as both.

    Returns:
      All epsilons of the first direction, then all of the next.
    """
    found, levels = [], list(epsilons)
    for direction in directions:
        side = reversed_pair(pair) if direction else pair
        ends = side.loss(np.array(side.reach))
        mirrored = bool(ends[0] < ends[1])
        # so that the second side likes large z
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
