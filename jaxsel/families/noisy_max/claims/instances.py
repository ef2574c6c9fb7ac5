"""Neighbours of noisy max with exact laws, shared by the claims about it."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta, renyi_divergence
from jaxsel.families.noisy_max.group_bounds import grouped_law
from jaxsel.families.noisy_max.laws import noisy_max_law, noisy_max_shift
from jaxsel.language.base import Budget, Relation

# Deltas are compared, whose exact values are good to about 1e-13.
TOLERANCE = 1e-11
LEVELS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0])
ENDING = {Relation.GENERAL: "", Relation.MONOTONE: "-monotone"}
MOVES = {
    Relation.GENERAL: "scores that move by at most 1",
    Relation.MONOTONE: "scores that all move in the same direction, by at most 1",
}


class Instance(NamedTuple):
    """Exact laws of the winner, or of its group, on two neighbours."""

    noise: str
    scale: float
    candidates: int
    first: np.ndarray
    second: np.ndarray
    where: str

    @property
    def point(self) -> dict[str, Any]:
        """What claims about one noisy maximum are asked for."""
        return {"noise_scale": self.scale, "candidates": self.candidates, "noise": self.noise}


def moves(
    generator: np.random.Generator, relation: Relation, size: int, share: float = 0.6
) -> np.ndarray:
    """Random moves of ``size`` scores, with that chance as far as allowed."""
    low = -1.0 if relation is Relation.GENERAL else 0.0
    if generator.uniform() < share:
        return generator.choice([low, 1.0], size)
    return generator.uniform(low, 1.0, size)


def _random(relation: Relation, seed: int, cases: int) -> Iterator[Instance]:
    generator = np.random.default_rng(seed)
    for number in range(cases):
        noise = ("gaussian", "laplace")[number % 2]
        size = int(generator.integers(2, 7))
        scale = float(10.0 ** generator.uniform(-0.3, 1.0))
        # Some scores are equal, as in the worst neighbours.
        heights = generator.normal(0.0, scale * generator.uniform(0.0, 2.0), 3)
        scores = heights[generator.integers(0, 3, size)]
        moved = scores + moves(generator, relation, size)
        first, second = (noisy_max_law(x / scale, noise) for x in (scores, moved))
        where = f"{noise} noise of scale {scale!r}, {scores.tolist()}, {moved.tolist()}"
        yield Instance(noise, scale, size, first, second, where)


def _groups(relation: Relation) -> Iterator[Instance]:
    shift = noisy_max_shift(relation)
    # The smallest scale is as near to the shift for either relation.
    scales = sorted({shift / 2.0, 1.0, 4.0})
    for scale, m in itertools.product(scales, (2, 3, 10, 1000)):
        for first in sorted({1, (m + 1) // 2, 3 * m // 4, m - 1} - {0, m}):
            for lead in (-4.0, -2.0, 0.0):
                sizes = [first, m - first]
                law, other = (
                    grouped_law(sizes, [lead + move / scale, 0.0]) for move in (shift, 0.0)
                )
                where = (
                    f"Gaussian noise of scale {scale:g}, {first} of {m} scores, {lead:g} "
                    f"scales ahead, gain {shift:g} on the others"
                )
                law, other = law / law.sum(), other / other.sum()
                yield Instance("gaussian", scale, m, law, other, where)


@functools.lru_cache(maxsize=4)
def instances(relation: Relation, seed: int, cases: int) -> tuple[Instance, ...]:
    """Two groups that move apart, then ``cases`` random neighbours."""
    return (*_groups(relation), *_random(relation, seed, cases))


def profile_points(budget: Budget, relation: Relation) -> Iterator[tuple[dict, float, str]]:
    """Exact deltas of all neighbours at several epsilons, as cases of a claimed profile."""
    for each in instances(relation, budget.seed, budget.cases):
        exact = profile_delta(each.first, each.second, LEVELS)
        yield from levels_of("epsilon", LEVELS, exact, each.where, **each.point)


def levels_of(
    name: str, levels: np.ndarray, exact: np.ndarray, where: str, **point: Any
) -> Iterator[tuple[dict, float, str]]:
    """The cases at several values of one parameter of a claim."""
    for level, observed in zip(levels.tolist(), exact.tolist(), strict=True):
        yield {name: level, **point}, observed, where


def renyi_cases(
    orders: np.ndarray, laws: Any, where: str, **point: Any
) -> Iterator[tuple[dict, float, str]]:
    """Those of the Renyi divergence of two laws, the larger of both directions."""
    first, second = laws
    exact = np.maximum(
        renyi_divergence(first, second, orders), renyi_divergence(second, first, orders)
    )
    return levels_of("order", orders, exact, where, **point)
