"""All small neighbouring histograms of Zhu & Wang 2022, with their gaps and top-k sets.

A histogram counts votes for m candidates; neighbours differ in one user, who votes for any subset.
The gap q_k is the k-th largest count minus the next, and the top-k set is released only if its
noisy gap passes a test.
"""

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.language.base import Budget


@functools.cache
def neighbours(candidates: int, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of a histogram with counts up to ``largest``, and the same with one more user.

    Both arrays are Int["pairs candidates"].
    """
    counts = list(itertools.product(range(largest + 1), repeat=candidates))
    votes = list(itertools.product((0, 1), repeat=candidates))[1:]
    pairs = np.array([(h, np.add(h, v)) for h in counts for v in votes])
    return pairs[:, 0], pairs[:, 1]


def gaps_of(histograms: np.ndarray) -> np.ndarray:
    """The gaps q_1, ..., q_{m-1} of each histogram: ["pairs candidates-1"]."""
    ranked = -np.sort(-histograms, axis=1)
    return ranked[:, :-1] - ranked[:, 1:]


def indicator(histograms: np.ndarray, k: int) -> np.ndarray:
    """The indicator of the top-k set of each histogram; ties go to the lower index."""
    chosen = np.argsort(-histograms, axis=1, kind="stable")[:, :k]
    indicator = np.zeros(histograms.shape)
    np.put_along_axis(indicator, chosen, 1.0, axis=1)
    return indicator


def small_pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    """All pairs of 2 to 4 candidates with small counts."""
    return [neighbours(2, 6), neighbours(3, 5), neighbours(4, 3)]


@functools.cache
def gap_pairs() -> tuple[tuple[int, int, bool], ...]:
    """All that occurs in small pairs: q_k, q_k of the neighbour, whether the top-k sets agree."""
    found = set()
    for first, second in small_pairs():
        for data, other in ((first, second), (second, first)):
            for k in range(1, data.shape[1]):
                same = np.all(indicator(data, k) == indicator(other, k), axis=1)
                gaps = gaps_of(data)[:, k - 1], gaps_of(other)[:, k - 1]
                found |= set(zip(*(x.tolist() for x in (*gaps, same)), strict=True))
    return tuple(sorted(found))


def release_delta(epsilon: float, passed: float, other: float, same_set: bool) -> float:
    """The hockey-stick divergence between releases of a set or nothing, by their chances.

    Args:
      epsilon: of the divergence.
      passed, other: the chances that the set is released, on the data and on the neighbour.
      same_set: whether both release the same set.
    """
    ratio = math.exp(epsilon)
    nothing = max((1.0 - passed) - ratio * (1.0 - other), 0.0)
    return nothing + (max(passed - ratio * other, 0.0) if same_set else passed)


def delta_at_claim(
    delta: float, first: np.ndarray, second: np.ndarray
) -> Callable[[float], tuple[float, float]]:
    """To judge a claimed epsilon: the function that returns delta and the exact delta at it.

    ``first`` and ``second`` are the two laws.
    """
    return lambda epsilon: (delta, float(profile_delta(first, second, epsilon)))


def crossable(budget: Budget, count: int) -> list[tuple[int, ...]]:
    """Histograms in which one user changes a top set or closes a gap, and ``count`` random ones."""
    generator = np.random.default_rng(budget.seed + 22)
    steps = generator.choice([0, 1, 1, 3, 9], size=(max(1, min(budget.cases, count)), 4))
    random = np.cumsum(steps, axis=1)[:, ::-1]
    return [(4, 5, 3, 1), (6, 6, 6, 0), *(tuple(row) for row in random.tolist())]
