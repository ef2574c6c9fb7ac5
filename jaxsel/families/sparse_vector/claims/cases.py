"""Pairs of inputs on which the claims about sparse vectors are tried."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.families.sparse_vector import patterns, profiles
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Point
from jaxsel.language.domains import positive, whole

_LONG = 1000  # queries at which the worst pairs have all but reached their limit
_ATTAINED = 0.999

Epsilon = Annotated[float, positive("that the noise scales are set by")]
Cutoff = Annotated[int, whole('c, how many "above" are answered', at_least=1)]

# (generator) -> (point of the claim, noise, what the point does not say)
Drawn = Callable[[np.random.Generator], tuple[Point, SparseNoise, str]]
Cases = Callable[[Budget], Iterator[tuple[Point, Any, str, str]]]


def pair_cases(draw: Drawn, relation: Relation, most: int = 60) -> Cases:
    """Exact epsilons of the worst pairs and of random ones.

    Args:
      draw: settings of one case.
      relation: of the neighbours.
      most: how many random cases at most.
    """

    def cases(budget):
        generator = np.random.default_rng(budget.seed)
        for case in range(min(budget.cases, most) + 6):
            point, noise, words = draw(generator)
            if case < 6:
                below = (1, 3, 10, 30, 10, 3)[case]
                first, second = profiles.worst_pair(
                    below, noise.cutoff, relation, redrawn=noise.redrawn
                )
                where = f"worst pair of {below} rising queries an answer"
            else:
                first, second = _random_pair(generator, relation)
                where = f"levels {first.tolist()} and {second.tolist()}"
            noise = noise._replace(cutoff=min(noise.cutoff, first.size))
            yield point, profiles.pair_epsilon(first, second, noise), words, where

    return cases


def _random_pair(generator: np.random.Generator, relation: Relation):
    size = int(generator.integers(1, 8))
    first = generator.normal(0.0, 3.0, size)
    moves = generator.uniform(-1.0, 1.0, size)
    if generator.uniform() < 0.5:
        moves = np.sign(moves)
    if relation is Relation.MONOTONE:
        moves = np.abs(moves) * generator.choice([-1.0, 1.0])
    return first, first + moves


def _almost(lost: float) -> Callable[[float], tuple[float, float]]:
    """Almost the proven epsilon, to set against what is lost."""
    return lambda proven: (_ATTAINED * proven, lost)


def tight_cases(draw: Drawn, relation: Relation) -> Cases:
    """Losses of the worst pattern of a long worst pair, against almost the proven epsilon."""

    def cases(budget):
        generator = np.random.default_rng(budget.seed)
        for _ in range(min(budget.cases, 20)):
            point, noise, words = draw(generator)
            pair = profiles.worst_pair(_LONG, noise.cutoff, relation, redrawn=noise.redrawn)
            ends, blocks = (1, noise.cutoff) if noise.redrawn else (noise.cutoff, 1)
            above = np.tile(np.repeat([False, True], [_LONG, ends]), blocks)
            logs = [patterns.pattern_log_probability(row, above, noise) for row in pair]
            where = f"{_LONG} rising queries an answer"
            yield point, _almost(abs(logs[0] - logs[1])), words, where

    return cases


def some_epsilon(generator: np.random.Generator) -> float:
    return float(generator.choice([0.1, 0.5, 1.0, 2.0, 4.0]))


def stated(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon of the algorithm, as calibrated or as it was published."""
    return epsilon


Scale = Annotated[float, positive("s of the queries' noise Lap(s/epsilon), s c with c answers")]


def on_monotone(*, epsilon: Epsilon = 1.0, scale: Scale = 4.0) -> float:
    """Pure epsilon (1/2 + 1/s) epsilon for monotone neighbours."""
    return epsilon * (0.5 + 1.0 / scale)


def drawn_on_monotone(draw: Callable[[Relation], Drawn]) -> Drawn:
    """On monotone pairs: the noise meant for general neighbours, s = 4, or for them, 2."""

    def drawn(generator: np.random.Generator) -> tuple[Point, SparseNoise, str]:
        meant = int(generator.integers(2))
        relation, scale = ((Relation.GENERAL, Relation.MONOTONE)[meant], (4.0, 2.0)[meant])
        point, noise, words = draw(relation)(generator)
        return point | {"scale": scale}, noise, words

    return drawn
