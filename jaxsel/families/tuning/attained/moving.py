"""Improving a ranking of some outcomes by moving them to other places, one at a time."""

import math
from collections.abc import Callable

import numpy as np

from jaxsel.families.tuning.attained.merging import interpolated
from jaxsel.repetitions import Repetitions

MOVED = 64  # outcomes; more are as good as a line, whose best merger is found
_MOVES = 60  # from each start, at each epsilon
_ROUNDS = 6
_RANDOM = 2  # starts besides the given ones
_GAIN = 1e-9


class _Search:
    """Divergences at one epsilon of rankings and of all that are one move away."""

    def __init__(
        self, first: np.ndarray, second: np.ndarray, repetitions: Repetitions
    ):
        self.sides = (first, second)
        self.law = interpolated(repetitions)

    def _gain(
        self, start: list[np.ndarray], order: np.ndarray, factor: float
    ) -> np.ndarray:
        """What outcomes add when outcomes of mass ``start`` are better."""
        tuned = [
            self.law(at, np.minimum(at + side[order], 1.0), side[order])
            for at, side in zip(start, self.sides, strict=True)
        ]
        return np.maximum(tuned[0] - factor * tuned[1], 0.0)

    def climb(self, order: np.ndarray, level: float) -> np.ndarray:
        """Moves one outcome after another to the place that adds most."""
        size, factor = len(order), math.exp(min(level, 690.0))
        for _ in range(_MOVES):
            held = [side[order] for side in self.sides]
            start = [np.minimum(np.cumsum(h) - h, 1.0) for h in held]
            here = self._gain(start, order, factor)
            # Entry [i, m]: what place m adds when the outcome of place i moves past it.
            down = [np.minimum(s + h[:, None], 1.0) for s, h in zip(start, held)]
            up = [np.clip(s - h[:, None], 0.0, 1.0) for s, h in zip(start, held)]
            sunk = np.cumsum(self._gain(down, order, factor) - here, axis=1)
            risen = np.cumsum(self._gain(up, order, factor) - here, axis=1)
            before = sunk - (self._gain(down, order, factor) - here)
            place = np.arange(size)
            # To place j < i: places j to i-1 sink; to j > i: places i+1 to j rise.
            to_front = np.where(
                place < place[:, None], before[place, place][:, None] - before, 0.0
            )
            to_back = np.where(
                place > place[:, None], risen - risen[place, place][:, None], 0.0
            )
            lands = [
                np.where(
                    place > place[:, None],
                    np.maximum(s + h - h[:, None], 0.0),
                    s + 0.0 * h[:, None],
                )
                for s, h in zip(start, held)
            ]
            own = self._gain(
                [np.clip(at.T, 0.0, 1.0) for at in lands], order, factor
            ).T - here[:, None]
            change = to_front + to_back + own
            np.fill_diagonal(change, 0.0)
            i, j = np.unravel_index(np.argmax(change), change.shape)
            if not change[i, j] > _GAIN * max(float(np.sum(here)), 1e-300):
                break
            order = np.insert(np.delete(order, i), j, order[i])
        return order


def moved(
    first: np.ndarray,
    second: np.ndarray,
    repetitions: Repetitions,
    delta: float,
    best: np.ndarray,
    rising: np.ndarray,
    exact: Callable[[np.ndarray], float],
) -> tuple[float, np.ndarray]:
    """The largest epsilon that moves from several starts lead to, and its ranking.

    Args:
      first, second: the two laws.
      repetitions: law of K.
      delta: in (0, 1).
      best: the ranking that is best so far.
      rising: outcomes by privacy loss.
      exact: ranking -> its epsilon at delta.
    """
    epsilon, generator = exact(best), np.random.default_rng(0)
    others = [generator.permutation(len(first)) for _ in range(_RANDOM)]
    starts = [best, rising, rising[::-1], *others]
    searches = [
        _Search(first, second, repetitions),
        _Search(second, first, repetitions),
    ]
    for start in starts:
        for search in searches:
            order = start
            for _ in range(_ROUNDS):
                order = search.climb(order, epsilon)
                found = exact(order)
                if not found > epsilon * (1.0 + 1e-9) + 1e-12:
                    break
                epsilon, best = found, order
                if math.isinf(found):
                    return epsilon, best
    return epsilon, best
