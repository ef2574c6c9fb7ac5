"""The ranking of a finite pair with the largest privacy loss after tuning, among mergers.

Let outcomes be sorted so that those the second law favours most come first. A merger ranks
them by repeatedly taking either the first or the last of the remaining ones. The tuned law
of an outcome depends on the previous ones only through the numbers taken from either end,
so the merger with the largest hockey-stick divergence at one epsilon is the longest path
through a grid of such states.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.repetitions import Repetitions


class MergingGrid(NamedTuple):
    """Tuned masses of every outcome at every state, for both sides.

    Attributes:
      above: Float[np.ndarray, "2 n n+1"]: [side, j, b] when outcome j is taken from the
        front after b were taken from the back.
      below: Float[np.ndarray, "2 n n+1"]: [side, j, a] when outcome n-1-j is taken from
        the back after a were taken from the front.
    """

    above: np.ndarray
    below: np.ndarray


class Merger(NamedTuple):
    """A path of states (taken from the front, taken from the back).

    Attributes:
      front, back: Int[np.ndarray, "corners"], the states at which the path turns from
        front to back and, for the second of each pair, from back to front: at corner i
        front[i] outcomes were taken from the front and then back[i] from the back, in
        total.
      gains: Float[np.ndarray, "corners"], contribution to the divergence of the outcomes
        taken from the back before the corner.
      delta: the divergence of the path.
    """

    front: np.ndarray
    back: np.ndarray
    gains: np.ndarray
    delta: float


class Interpolated:
    """Tuned masses by interpolation: a search needs a million of them, to four digits."""

    def __init__(self, repetitions: Repetitions) -> None:
        small = np.concatenate([[0.0], np.geomspace(1e-290, 1e-22, 400)])
        near = np.geomspace(1e-22, 0.5, 6000)
        u = np.unique(np.concatenate([small, near, 1.0 - np.geomspace(1e-16, 0.5, 4000)]))
        u = np.append(u, 1.0)
        with np.errstate(divide="ignore"):
            self._log_u = np.maximum(np.log(u), -680.0)
        self._slope = np.maximum(repetitions.log_pgf_derivative_tail(u), -800.0)
        gap, rest = repetitions.pgf_gap(u), repetitions.pgf_tail(u)
        rest = np.maximum(rest - repetitions.probability_zero, 0.0)
        self._u = u
        self._tables = [(table, np.diff(table) / np.diff(u)) for table in (gap, rest)]

    def between(self, before: np.ndarray, after: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """f(1 - before) - f(1 - after), where mass = after - before."""
        return self._masses(before, after, mass, self._ends(before), self._ends(after))

    def along(self, edges: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The same between successive rows of edges: each of them is looked up once."""
        ends = self._ends(edges)
        before, after = ([end[part] for end in ends] for part in (slice(-1), slice(1, None)))
        return self._masses(edges[:-1], edges[1:], mass, before, after)

    def _ends(self, at: np.ndarray) -> list[np.ndarray]:
        """1 - f(1 - at) and f(1 - at) - f(0), as np.interp has them, by one search for both."""
        place = np.minimum(np.searchsorted(self._u, at, side="right") - 1, self._u.size - 2)
        beyond = at - self._u[place]
        return [rise[place] * beyond + table[place] for table, rise in self._tables]

    def _masses(
        self,
        before: np.ndarray,
        after: np.ndarray,
        mass: np.ndarray,
        ends_before: Sequence[np.ndarray],
        ends_after: Sequence[np.ndarray],
    ) -> np.ndarray:
        (gap_before, left), (gap_after, left_after) = ends_before, ends_after
        near = gap_after < left
        found = np.where(near, gap_after - gap_before, left - left_after)
        # Where these cancel, the mass times the slope in the middle.
        rough = ~(found > 0.02 * np.where(near, gap_after, left))
        with np.errstate(divide="ignore"):
            middle = np.log((before + after)[rough] / 2.0)
        slope = np.interp(np.maximum(middle, -680.0), self._log_u, self._slope)
        found[rough] = np.broadcast_to(mass, found.shape)[rough] * np.exp(slope)
        return found


def merging_grid(first: np.ndarray, second: np.ndarray, repetitions: Repetitions) -> MergingGrid:
    """Prepares the search over mergers.

    Args:
      first, second: the two laws, Float[np.ndarray, "n"] each, with the outcomes first that
        the second law favours most.
      repetitions: law of K.
    """
    law = Interpolated(repetitions)
    above, below = [], []
    for masses in (first, second):
        front = np.concatenate([[0.0], np.cumsum(masses)])
        back = np.concatenate([[0.0], np.cumsum(masses[::-1])])
        for found, here, there, mass in (
            (above, front, back, masses),
            (below, back, front, masses[::-1]),
        ):
            edges = np.minimum(here[:, None] + there[None, :], 1.0)
            found.append(law.along(edges, mass[:, None]))
    return MergingGrid(np.stack(above), np.stack(below))


def _excesses(grid: MergingGrid, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """(A - e^epsilon A')_+ of every outcome at every state, from front and back."""
    factor = np.exp(min(epsilon, 690.0))
    above = np.maximum(grid.above[0] - factor * grid.above[1], 0.0)
    below = np.maximum(grid.below[0] - factor * grid.below[1], 0.0)
    return above, below


def best_block(grid: MergingGrid, epsilon: float) -> Merger:
    """The best merger with one block from the front, one from the back, and the rest.

    Args:
      grid: from merging_grid, n outcomes.
      epsilon: >= 0.
    """
    above, below = _excesses(grid, epsilon)
    size = above.shape[0]
    zeros = np.zeros((1, size + 1))
    front = np.concatenate([zeros, np.cumsum(above, axis=0)])  # [a, b]
    back = np.concatenate([zeros, np.cumsum(below, axis=0)])  # [b, a]
    states = np.arange(size + 1)
    last = front[size - states, states]  # the rest is taken from the front
    total = front[:, :1] + back.T + last - front
    total = np.where(states[:, None] + states <= size, total, -1.0)
    a, b = np.unravel_index(np.argmax(total), total.shape)
    gain = back[b, a]
    return Merger(np.array([a]), np.array([b]), np.array([gain]), float(total[a, b]))


def best_merger(grid: MergingGrid, epsilon: float) -> Merger:
    """The merger with the largest sum of (A - e^epsilon A')_+.

    Args:
      grid: from merging_grid, n outcomes.
      epsilon: >= 0.
    """
    above, below = _excesses(grid, epsilon)
    size = above.shape[0]
    # Contributions of all that was taken from the back, by what was taken from the front.
    added = np.zeros((size + 1, size + 1))
    np.cumsum(below.T, axis=1, out=added[:, 1:])
    from_back = np.zeros((size + 1, size + 1), dtype=bool)
    last = np.empty(size + 1)  # values when nothing is left, by b
    arrive = np.full(size + 1, -1.0)  # value of states that are not reached yet
    arrive[0] = 0.0
    for a in range(size + 1):
        most = size - a
        # value[b] = max over b' <= b of arrive[b'] + contributions of b' to b from the back
        so_far = added[a, : most + 1]
        best = np.maximum.accumulate(arrive - so_far) + so_far
        # equal up to rounding: take from the front
        better = best > arrive + 1e-12 * np.abs(arrive) + 1e-300
        value = np.where(better, best, arrive)
        from_back[a, : most + 1], last[most] = better, value[most]
        arrive = value[:most] + above[a, :most] if most else value
    b = int(np.argmax(last))
    a, delta = size - b, float(last[b])
    front, back, gains = [], [], []
    while a or b:
        if from_back[a, b]:
            front.append(a)
            back.append(b)
            gain = 0.0
            while from_back[a, b]:
                b -= 1
                gain += float(below[b, a])
            gains.append(gain)
        else:
            a -= 1
    return Merger(
        np.array(front[::-1], dtype=int),
        np.array(back[::-1], dtype=int),
        np.array(gains[::-1]),
        delta,
    )


def path_epsilon(grid: MergingGrid, path: Merger, delta: float) -> float:
    """Epsilon >= 0 at delta under the ranking of a path, as accurate as the grid's masses.

    Args:
      grid: of tuned masses.
      path: over it.
      delta: where epsilon is taken.
    """
    size, a, b, masses = grid.above.shape[1], 0, 0, []
    for front, back in zip(path.front.tolist(), path.back.tolist(), strict=True):
        masses += [grid.above[:, a:front, b], grid.below[:, b:back, front]]
        a, b = front, back
    first, second = np.concatenate([*masses, grid.above[:, a : size - b, b]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(first > 0, np.log(first) - np.log(second), -np.inf)
        likely = np.argsort(-loss)
        mass, other = np.cumsum(first[likely]), np.cumsum(second[likely])
        levels = np.log(np.maximum(mass - delta, 0.0)) - np.log(other)
    return max(0.0, float(np.max(np.where(mass > delta, levels, 0.0))))
