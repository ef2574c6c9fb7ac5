"""The worst ranking of few outcomes, among all rankings with and without ties.

The contribution of a group of tied outcomes to the hockey-stick divergence depends on the
ranking only through the set of better outcomes. So the ranking with the largest divergence at one
epsilon is a longest path through the subsets, and the epsilon at delta follows: where the
worst ranking at an epsilon has no more than delta, no ranking has more.
"""

import functools
import math

import numpy as np

from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.ranked_laws import Ranking, masses_between, ranked_epsilon, ranked_law

FEW = 8  # outcomes: 3^8 pairs of a set and a group after it


@functools.cache
def _steps(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sets of better outcomes, groups ranked next, and the first index of each set."""
    sets, groups, starts = [], [], []
    for held in range(2**size):
        left = (2**size - 1) & ~held
        group = left
        starts.append(len(sets))
        while group:
            sets.append(held)
            groups.append(group)
            group = (group - 1) & left
    return np.array(sets), np.array(groups), np.array([*starts, len(sets)])


def _sums(masses: np.ndarray) -> np.ndarray:
    """The mass of every subset."""
    found = np.zeros(1)
    for mass in masses:
        found = np.concatenate([found, found + mass])
    return np.minimum(found, 1.0)


def _tuned(masses: np.ndarray, repetitions: Repetitions) -> np.ndarray:
    """Float["steps outcomes"]: tuned mass of each outcome of the step's group."""
    size = len(masses)
    sets, groups, _ = _steps(size)
    sums, full = _sums(masses), 2**size - 1
    held = sums[groups]
    law = masses_between(sums[sets], held, sums[full & ~(sets | groups)], repetitions)
    inside = (groups[:, None] >> np.arange(size)) & 1
    return inside * masses * (law / np.maximum(held, 5e-324))[:, None]


def _longest(first: np.ndarray, second: np.ndarray, level: float) -> Ranking:
    """The ranking with the largest divergence at ``level``."""
    size = first.shape[1]
    _, groups, starts = _steps(size)
    factor = math.exp(min(level, 690.0))
    gain = np.sum(np.maximum(first - factor * second, 0.0), axis=1)
    best, last = np.full(2**size, -1.0), np.zeros(2**size, dtype=int)
    best[0] = 0.0
    for held in range(2**size):
        part = slice(starts[held], starts[held + 1])
        after, value = held | groups[part], best[held] + gain[part]
        more = value > best[after]
        best[after[more]], last[after[more]] = value[more], groups[part][more]
    found, held = [], 2**size - 1
    while held:
        found.append([i for i in range(size) if last[held] >> i & 1])
        held &= ~int(last[held])
    order = [i for group in found[::-1] for i in group]
    tied = [place > 0 for group in found[::-1] for place in range(len(group))]
    return Ranking(np.array(order), np.array(tied))


def worst_of_all(
    first: np.ndarray, second: np.ndarray, repetitions: Repetitions, delta: float
) -> tuple[float, Ranking]:
    """The largest epsilon at delta over all rankings, and a ranking that attains it.

    Args:
      first, second: the two laws, of at most FEW outcomes.
      repetitions: law of K.
      delta: in (0, 1).
    """
    sides = [_tuned(side, repetitions) for side in (first, second)]
    best = Ranking.strict(np.arange(len(first)))
    epsilon = ranked_epsilon(first, second, best, repetitions, delta)
    gained = True
    while gained and math.isfinite(epsilon):
        gained = False
        for one, two in (sides, sides[::-1]):
            ranking = _longest(one, two, epsilon)
            found = ranked_epsilon(first, second, ranking, repetitions, delta)
            if found > epsilon + 1e-12 * max(epsilon, 1.0):
                epsilon, best, gained = found, ranking, True
    return epsilon, best


def worst_delta_of_all(
    first: np.ndarray, second: np.ndarray, repetitions: Repetitions, epsilon: float
) -> float:
    """The largest delta at epsilon, of the first from the second, over all rankings.

    Args:
      first, second: the two laws, of at most FEW outcomes.
      repetitions: law of K.
      epsilon: >= 0.
    """
    one, two = (_tuned(side, repetitions) for side in (first, second))
    ranking = _longest(one, two, epsilon)
    laws = [ranked_law(side, ranking, repetitions) for side in (first, second)]
    return float(np.sum(np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0)))
