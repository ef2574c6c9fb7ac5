"""Two-ended rankings of a finite pair, with the largest delta at any epsilon.

Outcomes are sorted by privacy loss, and a ranking takes the next best outcome from either
end: both tails of the loss are good, and the middle is worst. Over cells of consecutive
outcomes the ranking of largest delta at an epsilon is a longest path, found exactly; its
delta over single outcomes is then computed exactly, too, so every number here is a lower
bound on the delta of the worst ranking.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.finite_adversary import CELLS, cell_boundaries, order_along
from jaxsel.tuning.attained.merging import Merger, MergingGrid, best_merger, merging_grid
from jaxsel.tuning.attained.ranked_laws import Ranking, ranked_law

_IGNORED = 1e-14  # mass at either end that gets no cells of its own
_LEVELS, _LAST_DELTA = 48, 1e-10  # number of epsilons, evenly from 0 to the one with this delta
_BEYOND = np.geomspace(1.0, 3.0, 13)[1:]  # and further ones, as multiples of the last
_LARGEST = 690.0  # exp of it is a float64


class TwoEnded:
    """The two-ended rankings of a pair, of the first law from the second.

    Args:
      first, second: the two laws, probabilities of the same outcomes.
      repetitions: law of K, not always 0.
      cells: about how many; the time grows with their square.
    """

    def __init__(
        self, first: np.ndarray, second: np.ndarray, repetitions: Repetitions, cells: int = CELLS
    ) -> None:
        first, second = first / first.sum(), second / second.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.log(first) - np.log(second)
        loss = np.where((first > 0.0) | (second > 0.0), loss, 0.0)
        rising = np.argsort(loss, kind="stable")
        self._first, self._second = first[rising], second[rising]
        self._law = repetitions
        least = _IGNORED / (1.0 + min(repetitions.mean, 1e12))
        self._cells = cell_boundaries(self._first, self._second, least, cells)

    @functools.cached_property
    def _grid(self) -> MergingGrid:
        sides = (self._first, self._second)
        cells = [np.add.reduceat(side, self._cells[:-1]) for side in sides]
        return merging_grid(cells[0], cells[1], self._law)

    def best(self, epsilon: float) -> Merger:
        """The path over cells whose delta at epsilon >= 0 is largest."""
        return best_merger(self._grid, epsilon)

    def tuned(self, path: Merger) -> tuple[np.ndarray, np.ndarray]:
        """The exact tuned laws under the ranking of a path, on both sides."""
        ranking = Ranking.strict(order_along(self._cells, path))
        return (
            ranked_law(self._first, ranking, self._law),
            ranked_law(self._second, ranking, self._law),
        )

    def delta(self, epsilon: float) -> float:
        """Exact delta at epsilon >= 0 of the two-ended ranking that is worst there."""
        return _delta(self.tuned(self.best(epsilon)), epsilon)

    def levels(self) -> np.ndarray:
        """The fixed epsilons whose worst rankings form the family."""
        floor = max(_LAST_DELTA, self.best(_LARGEST).delta * (1.0 + 1e-3))
        low, high = 0.0, 1.0
        while self.best(high).delta > floor and high < _LARGEST:
            low, high = high, min(2.0 * high, _LARGEST)
        for _ in range(8):
            middle = 0.5 * (low + high)
            if self.best(middle).delta > floor:
                low = middle
            else:
                high = middle
        beyond = np.minimum(high * _BEYOND, _LARGEST)
        return np.unique(np.append(np.linspace(0.0, high, _LEVELS), beyond))


def _delta(laws: tuple[np.ndarray, np.ndarray], epsilon: float) -> float:
    factor = math.exp(min(epsilon, _LARGEST))
    return float(np.sum(np.maximum(laws[0] - factor * laws[1], 0.0)))


def family_delta(
    first: np.ndarray,
    second: np.ndarray,
    repetitions: Repetitions,
    epsilon: float,
    *,
    symmetric: bool = False,
    bound: Callable[[float], float] = lambda epsilon: 1.0,
) -> float:
    """The largest exact delta at epsilon over some two-ended rankings, both directions.

    The rankings do not depend on epsilon: they are the worst at fixed levels. Each counts up to
    the level after its own with its exact delta, and below the level before its own with its
    delta there, which is less. So what each adds does not increase in epsilon, hence neither does
    the maximum; and those of levels at which the bound is below it need not be tried.

    Args:
      first, second: the two laws, probabilities of the same outcomes.
      repetitions: law of K, not always 0.
      epsilon: >= 0.
      symmetric: whether both directions are the same.
      bound: epsilon -> an upper bound on the delta of every ranking, not increasing; it saves
        time.
    """
    found = 0.0
    directions = ((first, second), (second, first))
    for one, two in directions[: 1 if symmetric else 2]:
        ends = TwoEnded(one, two, repetitions)
        levels = ends.levels()
        for place in range(_place(levels, epsilon), levels.size):
            at = max(epsilon, float(levels[max(place - 1, 0)]))
            if bound(at) <= found:
                break
            one_way, other = ends.tuned(ends.best(float(levels[place])))
            found = max(found, _delta((one_way, other), at), _delta((other, one_way), at))
    return found


def _place(levels: np.ndarray, epsilon: float) -> int:
    """The largest level at most epsilon, by its number; the last if all are."""
    return max(int(np.searchsorted(levels, epsilon, side="right")) - 1, 0)
