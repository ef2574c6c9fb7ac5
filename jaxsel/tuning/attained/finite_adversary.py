"""The worst ranking of a finite pair's outcomes, such as a privacy loss distribution's.

Few outcomes are ranked in every way, with ties. Many are searched as
``adversarial_orders`` does on the line: sorted by privacy loss and merged from both ends;
up to 64 of them are then moved one by one. The result is the exact epsilon of one tuned
pair, hence a lower bound on every bound that uses only the pair and holds for every
ranking.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.all_rankings import FEW, worst_of_all
from jaxsel.tuning.attained.merging import (
    Merger,
    best_block,
    best_merger,
    merging_grid,
    path_epsilon,
)
from jaxsel.tuning.attained.moving import MOVED, moved
from jaxsel.tuning.attained.ranked_laws import Ranking, ranked_epsilon
from jaxsel.tuning.parameters import ProperDelta, check_some_run

CELLS = 300
_STAGES = 2
_ROUNDS = 8


class FiniteAdversary(NamedTuple):
    """A ranking of finitely many outcomes and its exact privacy loss.

    Attributes:
      epsilon: exact epsilon at ``delta`` of the tuned pair, in both directions.
      delta: the delta that was given.
      ranking: Int[np.ndarray, "outcomes"], indices of the outcomes, best first.
      tied: Bool[np.ndarray, "outcomes"], whether an entry of ``ranking`` ties with the
        one before it; ties are broken at random.
      maximum: True if ``epsilon`` is the maximum over all rankings, as for at most 8
        outcomes; False if it is the largest that a search has found.
    """

    epsilon: float
    delta: float
    ranking: np.ndarray
    tied: np.ndarray
    maximum: bool


def cell_boundaries(
    first: np.ndarray, second: np.ndarray, least: float, count: int = CELLS
) -> np.ndarray:
    """Boundaries of cells of consecutive outcomes; single outcomes if there are few.

    Args:
      first, second: masses of the outcomes, in order.
      least: mass at either end that one cell may hold.
      count: about how many cells.
    """
    size = len(first)
    if size <= count:
        return np.arange(size + 1)
    both = np.maximum(first, second)
    start = int(np.searchsorted(np.cumsum(both), least))
    stop = size - int(np.searchsorted(np.cumsum(both[::-1]), least))
    mean = np.cumsum(first + second) / 2.0
    quantiles = np.searchsorted(mean, np.linspace(0.0, 1.0, count // 3))
    uniform = np.linspace(start, max(stop, start), count - count // 3)
    chosen = [0, 1, size - 1, size, *np.round(uniform), *quantiles]
    return np.unique(np.clip(chosen, 0, size)).astype(int)


def _dense_boundaries(coarse: np.ndarray, cells: np.ndarray, path: Merger) -> np.ndarray:
    """Boundaries that are dense where the path turns."""
    end = len(cells) - 1
    front = np.clip([path.front[0] - 1, path.front[-1] + 1], 0, end)
    back = np.clip([end + 1, end - path.back[-1] - 1], 0, end)
    share = np.cumsum(path.gains) / max(float(np.sum(path.gains)), 1e-300)
    first = min(int(np.searchsorted(share, 1e-4)), len(share) - 1)
    if first:
        front[0] = max(int(path.front[first]) - 1, 0)
        back[0] = min(end - int(path.back[first - 1]) + 1, end)
    dense = [
        np.linspace(int(cells[start]), int(cells[stop]), CELLS // 3)
        for start, stop in (front, back)
    ]
    kept = coarse[:: max(1, 3 * len(coarse) // CELLS)]
    chosen = [0, 1, cells[-1] - 1, cells[-1], *kept, *np.round(np.concatenate(dense))]
    return np.unique(chosen).astype(int)


def order_along(cells: np.ndarray, path: Merger) -> np.ndarray:
    """Outcomes in the order of a path over cells."""
    indices, end, a, b, parts = np.arange(cells[-1]), len(cells) - 1, 0, 0, []
    for front, back in zip(path.front.tolist(), path.back.tolist(), strict=True):
        parts.append(indices[cells[a] : cells[front]])
        parts.append(indices[cells[end - back] : cells[end - b]][::-1])
        a, b = front, back
    return np.concatenate([*parts, indices[cells[a] : cells[end - b]]])


@validated
def finite_adversarial(
    first: npt.ArrayLike, second: npt.ArrayLike, repetitions: Repetitions, delta: ProperDelta
) -> FiniteAdversary:
    """The worst ranking of a finite pair's outcomes, by a search if there are many.

    Up to 8 outcomes: the maximum over all rankings, including ties. More: outcomes that the
    second law favours most are merged with those that the first law favours most, and vice
    versa, where the best merger over cells of outcomes is computed exactly; up to 64
    outcomes are then moved to better positions, one at a time, from this and from other
    starts.

    Args:
      first, second: the two laws, probabilities of the same outcomes in any order; for
        a privacy loss distribution, its masses under either side.
      repetitions: law of K.
      delta: where epsilon is taken.

    Returns:
      The ranking, its exact epsilon at delta (in both directions), and whether that is
      the maximum.

    Raises:
      InputError: if a law is no probability vector, their lengths differ or K is always 0.
    """
    p = check_probability_vector("first", first)
    q = check_probability_vector("second", second)
    if p.shape != q.shape:
        raise InputError(
            f"first has {p.size} outcomes and second has {q.size}; "
            "both laws must list the same outcomes"
        )
    check_some_run(repetitions)
    p, q = p / p.sum(), q / q.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(p > 0, np.log(p) - np.log(q), np.where(q > 0, -np.inf, 0.0))
    rising = np.argsort(loss, kind="stable")

    def exact(order: np.ndarray) -> float:
        return ranked_epsilon(p, q, Ranking.strict(order), repetitions, delta)

    if len(p) <= FEW:
        epsilon, ranking = worst_of_all(p, q, repetitions, delta)
        return FiniteAdversary(epsilon, delta, *ranking, True)
    epsilon, best = max(
        ((exact(order), order) for order in (rising, rising[::-1])), key=lambda found: found[0]
    )
    least = 1e-4 * min(delta, 1e-3) / (1.0 + min(repetitions.mean, 1e12))
    for liked, one, two in ((rising, p, q), (rising[::-1], q, p)):
        one, two = one[liked], two[liked]
        coarse = cell_boundaries(one, two, least)
        for finder in (best_block, best_merger):
            cells, level = coarse, epsilon
            for _ in range(_STAGES):
                sides = [np.add.reduceat(law, cells[:-1]) for law in (one, two)]
                grid = merging_grid(sides[0], sides[1], repetitions)
                path = finder(grid, level)
                for _ in range(_ROUNDS):
                    reached = path_epsilon(grid, path, delta)
                    if not reached > level * (1.0 + 1e-7) or math.isinf(reached):
                        break
                    level, path = reached, finder(grid, reached)
                order = liked[order_along(cells, path)]
                value = exact(order)
                if value > epsilon:
                    epsilon, best = value, order
                level = max(epsilon, 0.0)
                if len(cells) > len(p) or not len(path.front):
                    break
                cells = _dense_boundaries(coarse, cells, path)
    if len(p) <= MOVED and math.isfinite(epsilon):
        epsilon, best = moved(p, q, repetitions, delta, best, rising, exact)
    return FiniteAdversary(float(epsilon), delta, *Ranking.strict(best), False)
