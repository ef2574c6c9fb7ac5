"""Neighbouring inputs of noisy max with the exact laws of the winner, shared by its claims."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta, renyi_divergence
from jaxsel.families.noisy_max.group_bounds import grouped_law
from jaxsel.families.noisy_max.laws import noisy_max_law, noisy_max_shift
from jaxsel.language.base import Budget, Relation

# Of comparisons of deltas: the exact values have errors of about 1e-13.
TOLERANCE = 1e-11
LEVELS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0])
ENDING = {Relation.GENERAL: "", Relation.MONOTONE: "-monotone"}
MOVES = {
    Relation.GENERAL: "scores that move by at most 1",
    Relation.MONOTONE: "scores that all move in the same direction, by at most 1",
}


class Instance(NamedTuple):
    """Exact laws of the winner, or of its group, on two neighbours.

    Attributes:
      noise: law of the noise.
      scale: of the noise, in units of the sensitivity.
      candidates: m.
      first, second: Float["outcomes"], the laws on the two sides.
      where: the instance in words, for the text of a case.
    """

    noise: str
    scale: float
    candidates: int
    first: np.ndarray
    second: np.ndarray
    where: str

    @property
    def point(self) -> dict[str, Any]:
        """The parameters, by name, that claims about one noisy maximum have in common."""
        return {"noise_scale": self.scale, "candidates": self.candidates, "noise": self.noise}


def moves(
    generator: np.random.Generator, relation: Relation, size: int, share: float = 0.6
) -> np.ndarray:
    """Random moves of scores from one neighbour to the other, Float["size"].

    Args:
      generator: draws them.
      relation: how scores may change: each by up to 1 in any direction, or all upwards.
      size: how many scores there are.
      share: the probability that every score moves to an end of its range; otherwise the moves
        are uniform.
    """
    low = -1.0 if relation is Relation.GENERAL else 0.0
    if generator.uniform() < share:
        return generator.choice([low, 1.0], size)
    return generator.uniform(low, 1.0, size)


def _random(relation: Relation, seed: int, cases: int) -> Iterator[Instance]:
    """``cases`` random neighbours of 2 to 6 candidates, with Gaussian and Laplace noise in turn."""
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
    """Two groups of equal scores that move apart, with Gaussian noise, up to 1000 candidates."""
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
    """All neighbours of the claims: two groups that move apart, then ``cases`` random ones."""
    return (*_groups(relation), *_random(relation, seed, cases))


def profile_points(budget: Budget, relation: Relation) -> Iterator[tuple[dict, float, str]]:
    """Cases of a claimed profile: the exact delta of all neighbours at several epsilons."""
    for each in instances(relation, budget.seed, budget.cases):
        exact = profile_delta(each.first, each.second, LEVELS)
        yield from levels_of("epsilon", LEVELS, exact, each.where, **each.point)


def levels_of(
    name: str, levels: np.ndarray, exact: np.ndarray, where: str, **point: Any
) -> Iterator[tuple[dict, float, str]]:
    """Cases at several values of one parameter of a claim.

    Args:
      name: of the parameter.
      levels: Float["levels"], its values.
      exact: Float["levels"], what was observed at each.
      where: the text of the cases.
      **point: the claim's other parameters.
    """
    for level, observed in zip(levels.tolist(), exact.tolist(), strict=True):
        yield {name: level, **point}, observed, where


def renyi_cases(
    orders: np.ndarray, laws: Any, where: str, **point: Any
) -> Iterator[tuple[dict, float, str]]:
    """Cases of a claimed Renyi bound: the divergence of two laws, the larger of both directions.

    Args:
      orders: Float["orders"], at which it is taken.
      laws: the two laws, each Float["outcomes"].
      where: the text of the cases.
      **point: the claim's parameters but "order".
    """
    first, second = laws
    exact = np.maximum(
        renyi_divergence(first, second, orders), renyi_divergence(second, first, orders)
    )
    return levels_of("order", orders, exact, where, **point)
