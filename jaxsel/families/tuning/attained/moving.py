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
_GAIN = 1e-12  # in delta: less than that is rounding


class _Search:
    """Divergences at one epsilon of rankings and of all that are one move away."""

    def __init__(self, first: np.ndarray, second: np.ndarray, repetitions: Repetitions):
        self.sides = (first, second)
        self.law = interpolated(repetitions)

    def _gain(self, start: list[np.ndarray], order: np.ndarray, factor: float) -> np.ndarray:
        """What outcomes add when outcomes of mass ``start`` are better."""
        tuned = [
            self.law(at, np.minimum(at + side[order], 1.0), side[order])
            for at, side in zip(start, self.sides, strict=True)
        ]
        return np.maximum(tuned[0] - factor * tuned[1], 0.0)

    def changes(self, order: np.ndarray, factor: float) -> np.ndarray:
        """Entry [i, j]: what is gained if the outcome of place i moves to place j."""
        held = [side[order] for side in self.sides]
        start = [np.minimum(np.cumsum(mass) - mass, 1.0) for mass in held]
        sides = list(zip(start, held, strict=True))
        here = self._gain(start, order, factor)
        # Entry [i, m]: what place m gains when the outcome of place i passes it by.
        sunk = [np.minimum(at + mass[:, None], 1.0) for at, mass in sides]
        risen = [np.clip(at - mass[:, None], 0.0, 1.0) for at, mass in sides]
        sunk, risen = (self._gain(at, order, factor) - here for at in (sunk, risen))
        place = np.arange(len(order))
        forward = place > place[:, None]  # to a worse place, j > i
        # j > i: places i + 1 to j rise; j < i: places j to i - 1 sink.
        up = np.cumsum(np.where(forward, risen, 0.0), axis=1)
        down = np.where(forward.T, sunk, 0.0)
        down = np.cumsum(down[:, ::-1], axis=1)[:, ::-1]
        # Where it lands: what stands before place j, without itself.
        lands = [
            np.clip(np.where(forward, at + mass - mass[:, None], at), 0.0, 1.0).T
            for at, mass in sides
        ]
        own = self._gain(lands, order, factor).T - here[:, None]
        total = np.where(forward, up, down) + own
        np.fill_diagonal(total, 0.0)
        return total

    def climb(self, order: np.ndarray, level: float) -> np.ndarray:
        """Moves one outcome after another to the place that gains most."""
        factor = math.exp(min(level, 690.0))
        for _ in range(_MOVES):
            change = self.changes(order, factor)
            i, j = np.unravel_index(np.argmax(change), change.shape)
            if not change[i, j] > _GAIN:
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
    searches = [_Search(first, second, repetitions), _Search(second, first, repetitions)]
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
