"""Neighbouring histograms, and exact laws of Zhu & Wang 2022 on all of them at once.

Pairs are arrays, with one pair in each row. An algorithm here can release, for a size, only the top
set of its own data. So for each size there are two outcomes, the data's set and the neighbour's;
they are the same outcome if the sets agree. The selected size counts as released, too.
"""

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.families.top_k.claims.neighbours import gaps_of, indicator, small_pairs
from jaxsel.families.top_k.gaps import fail_probability, pass_probability
from jaxsel.families.top_k.laws import vote_neighbours
from jaxsel.language.base import Budget

# A gap of exactly 1, ties at the top, ties at the border, and no gap above 1.
_BORDERLINE = ((5, 5, 0), (6, 5, 5, 2, 1), (9, 8, 4, 3, 3), (5, 5, 2, 2, 0), (4, 3, 2, 1, 0))

Pairs = tuple[np.ndarray, np.ndarray]


class Sides(NamedTuple):
    """The laws on the data and on the neighbour: each is Float[np.ndarray, "pairs outcomes"]."""

    first: np.ndarray
    second: np.ndarray


def random_pairs(budget: Budget, candidates: int = 6) -> Pairs:
    """Random histograms with small gaps, and one more user on each."""
    generator = np.random.default_rng(budget.seed + candidates)
    count = max(budget.cases, 1)
    steps = generator.choice([0, 0, 1, 1, 2, 6], size=(count, candidates))
    data = generator.permuted(np.cumsum(steps, axis=1), axis=1)
    votes = generator.integers(0, 2, size=(count, candidates))
    return data, data + votes


@functools.cache
def _borderline() -> tuple[Pairs, ...]:
    found = []
    for counts in _BORDERLINE:
        others = np.array(list(vote_neighbours(counts)), dtype=np.int64)
        found.append((np.broadcast_to(np.array(counts), others.shape), others))
    return tuple(found)


def pools(budget: Budget) -> Iterator[Pairs]:
    """Pools of pairs: all pairs with few small counts, borderline ones, and random ones.

    The pairs of a pool have equally many candidates. Each pool comes in both directions.
    """
    for first, second in (*small_pairs(), *_borderline(), random_pairs(budget)):
        yield first, second
        yield second, first


# --- Laws -----------------------------------------------------------------------------


def _same_sets(pairs: Pairs) -> np.ndarray:
    """Whether the top-k sets agree: Bool["pairs sizes"], for k = 1, ..., m - 1."""
    first, second = pairs
    sizes = range(1, first.shape[1])
    return np.stack(
        [np.all(indicator(first, k) == indicator(second, k), axis=1) for k in sizes], axis=1
    )


def size_sides(
    pairs: Pairs,
    selected: Callable[[np.ndarray], np.ndarray],
    tested: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    failure: float | None = None,
) -> Sides:
    """The laws of the size together with the released set, or nothing, on both sides of each pair.

    Args:
      pairs: the histograms.
      selected: gaps -> law of the size, row by row.
      tested: gaps -> the chances that the set of each size is released, and that it is kept back.
      failure: delta_t, if the laws are to be those given events of probability at least 1 -
        delta_t. For a size whose sets agree the event is an independent coin, and for one whose
        sets differ it is a part of "nothing". None for the laws themselves.
    """
    same = _same_sets(pairs)
    laws = []
    for side, histograms in enumerate(pairs):
        gaps = gaps_of(histograms)
        size, (chance, kept) = selected(gaps), tested(gaps)
        if failure is not None:
            chance, kept = np.where(same, chance, 0.0), np.where(same, kept, 1.0)
        own = np.where(same, 0.0, chance)
        parts = [np.where(same, chance, 0.0), own, 0.0 * own, kept]
        if side == 1:
            parts[1], parts[2] = parts[2], parts[1]
        laws.append(np.concatenate([size * part for part in parts], axis=1))
    return Sides(*laws)


def gap_test(
    noise_scale: float, delta_t: float, noise: str = "gaussian"
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The function from gaps to the probabilities that Algorithm 4 or 5 releases the set, and not.

    Args:
      noise_scale, delta_t: of the test.
      noise: "gaussian" (Algorithm 4) or "laplace" (Algorithm 5).
    """

    def tested(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (
            pass_probability(gaps, noise_scale, delta_t, noise),
            fail_probability(gaps, noise_scale, delta_t, noise),
        )

    return tested


def lost_mass(pairs: Pairs, tested: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> float:
    """The largest probability of releasing a set that the other side cannot release."""
    same = _same_sets(pairs)
    worst = [np.max(np.where(same, 0.0, tested(gaps_of(side))[0])) for side in pairs]
    return float(max(worst))


# --- Divergences ----------------------------------------------------------------------


def hockey_sticks(sides: Sides, epsilon: float) -> np.ndarray:
    """The delta at epsilon of each pair, of the data against the neighbour: Float["pairs"]."""
    excess = sides.first - np.exp(epsilon) * sides.second
    return np.maximum(excess, 0.0).sum(axis=1)


def renyi_rows(sides: Sides, order: float) -> np.ndarray:
    """The Renyi divergence of each pair, of the data against the neighbour; order inf allowed."""
    first, second = sides
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(first > 0, np.log(first) - np.log(second), -np.inf)
    if np.isinf(order):
        return loss.max(axis=1)
    with np.errstate(invalid="ignore"):
        terms = np.where(first > 0, first * np.exp((order - 1.0) * loss), 0.0)
    return np.log(terms.sum(axis=1)) / (order - 1.0)


def worst_row(values: np.ndarray, pairs: Pairs) -> tuple[float, str]:
    """The largest value, and the pair that has it in words."""
    row = int(np.argmax(values))
    first, second = (side[row].astype(int).tolist() for side in pairs)
    return float(values[row]), f"{first} -> {second}"
