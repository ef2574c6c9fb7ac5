"""Local search that improves a ranking by moving single outcomes to other positions."""

import math
from collections.abc import Callable

import numpy as np

from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.merging import Interpolated

MOVED = 64  # the largest number of outcomes; for more the best merger is close to optimal
_MOVES = 60  # moves from each start, at each epsilon
_ROUNDS = 6
_RANDOM = 2  # starts besides the given ones
_GAIN = 1e-12  # tolerance of delta for rounding


class _Search:
    """Divergences at one epsilon of a ranking and of all rankings one move away."""

    def __init__(self, first: np.ndarray, second: np.ndarray, repetitions: Repetitions):
        self.sides = (first, second)
        self.law = Interpolated(repetitions)

    def _gain(self, start: list[np.ndarray], order: np.ndarray, factor: float) -> np.ndarray:
        """Contributions of outcomes to the divergence, given the mass ``start`` of better ones."""
        tuned = [
            self.law.between(at, np.minimum(at + side[order], 1.0), side[order])
            for at, side in zip(start, self.sides, strict=True)
        ]
        return np.maximum(tuned[0] - factor * tuned[1], 0.0)

    def changes(self, order: np.ndarray, factor: float) -> np.ndarray:
        """Entry [i, j]: the gain if the outcome at position i moves to position j."""
        held = [side[order] for side in self.sides]
        start = [np.minimum(np.cumsum(mass) - mass, 1.0) for mass in held]
        sides = list(zip(start, held, strict=True))
        here = self._gain(start, order, factor)
        # Entry [i, m]: the gain of position m when the outcome of position i moves past it.
        sunk = [np.minimum(at + mass[:, None], 1.0) for at, mass in sides]
        risen = [np.clip(at - mass[:, None], 0.0, 1.0) for at, mass in sides]
        sunk, risen = (self._gain(at, order, factor) - here for at in (sunk, risen))
        place = np.arange(len(order))
        forward = place > place[:, None]  # to a worse position, j > i
        # j > i: positions i + 1 to j improve; j < i: positions j to i - 1 worsen.
        up = np.cumsum(np.where(forward, risen, 0.0), axis=1)
        down = np.where(forward.T, sunk, 0.0)
        down = np.cumsum(down[:, ::-1], axis=1)[:, ::-1]
        # The better mass at its new position j, without the outcome itself.
        lands = [
            np.clip(np.where(forward, at + mass - mass[:, None], at), 0.0, 1.0).T
            for at, mass in sides
        ]
        own = self._gain(lands, order, factor).T - here[:, None]
        total = np.where(forward, up, down) + own
        np.fill_diagonal(total, 0.0)
        return total

    def climb(self, order: np.ndarray, level: float) -> np.ndarray:
        """Repeatedly moves the outcome and to the position with the largest gain."""
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
    """The largest epsilon that local search from several starts finds, and its ranking.

    Args:
      first, second: the two laws.
      repetitions: law of K.
      delta: in (0, 1).
      best: the ranking that is best so far.
      rising: outcomes in order of privacy loss.
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
