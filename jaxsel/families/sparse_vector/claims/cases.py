"""Pairs of inputs on which the claims about sparse vectors are tried."""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from jaxsel.families.sparse_vector import patterns, profiles
from jaxsel.families.sparse_vector.parameters import Epsilon
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.language.base import Claim, Relation
from jaxsel.language.checking import Point
from jaxsel.language.domains import positive

_LONG = 1000  # queries at which the worst pairs have all but reached their limit


# (generator, relation of the neighbours) -> (point of the claim, noise, other settings in words)
Draw = Callable[[np.random.Generator, Relation], tuple[Point, SparseNoise, str]]


def on_pairs(draw: Draw, most: int = 60) -> Callable[[Claim], Claim]:
    """Decorates a claim with a check: it must bound the exact epsilons of many pairs of inputs.

    These are the worst pairs (``profiles.worst_pair``) and random ones.

    Args:
      draw: draws the settings of one case.
      most: the largest number of random pairs.
    """

    def judged(claim: Claim) -> Claim:
        claim.bounds(draw=draw, relation=claim.relation, most=most)(pair_cases)
        return claim

    return judged


def pair_cases(budget, draw: Draw, relation: Relation, most: int = 60):
    """The cases of ``on_pairs``: six worst pairs, and up to ``most`` random ones."""
    generator = np.random.default_rng(budget.seed)
    for case in range(min(budget.cases, most) + 6):
        point, noise, words = draw(generator, relation)
        if case < 6:
            below = (1, 3, 10, 30, 10, 3)[case]
            pair = profiles.worst_pair(below, noise.cutoff, relation, redrawn=noise.redrawn)
            where = f"worst pair of {below} rising queries an answer"
        else:
            pair = _random_pair(generator, relation)
            where = f"levels {pair[0].tolist()} and {pair[1].tolist()}"
        noise = noise._replace(cutoff=min(noise.cutoff, pair[0].size))
        yield point, profiles.pair_epsilon(*pair, noise), words, where


def _random_pair(generator: np.random.Generator, relation: Relation):
    size = int(generator.integers(1, 8))
    first = generator.normal(0.0, 3.0, size)
    moves = generator.uniform(-1.0, 1.0, size)
    if generator.uniform() < 0.5:
        moves = np.sign(moves)
    if relation is Relation.MONOTONE:
        moves = np.abs(moves) * generator.choice([-1.0, 1.0])
    return first, first + moves


def on_long_pairs(
    draw: Draw, where: str, at: str = "epsilon of 0.1 to 4"
) -> Callable[[Claim], Claim]:
    """Decorates a claim with a check that it is attained, nearly, on a worst pair of many queries.

    The pattern is "below" for the queries that rise and "above" for the others; its exact privacy
    loss is at least 0.999 times what is claimed.

    Args:
      draw: draws the settings of one case.
      where: the pair in words.
      at: in words, from where the settings are drawn.
    """

    def judged(claim: Claim) -> Claim:
        said = {"share": 0.999, "where": where, "at": at}
        claim.attains(**said, draw=draw, relation=claim.relation)(_long_pairs)
        return claim

    return judged


def _long_pairs(budget, draw: Draw, relation: Relation):
    for generator in budget.draws(20):
        point, noise, words = draw(generator, relation)
        pair = profiles.worst_pair(_LONG, noise.cutoff, relation, redrawn=noise.redrawn)
        ends, blocks = (1, noise.cutoff) if noise.redrawn else (noise.cutoff, 1)
        above = np.tile(np.repeat([False, True], [_LONG, ends]), blocks)
        logs = [patterns.pattern_log_probability(row, above, noise) for row in pair]
        lost = abs(logs[0] - logs[1])
        where = f"{_LONG} rising queries an answer"
        yield point, lost, words, where


def some_epsilon(generator: np.random.Generator) -> float:
    return float(generator.choice([0.1, 0.5, 1.0, 2.0, 4.0]))


def stated(*, epsilon: Epsilon = 1.0) -> float:
    """Returns the epsilon for which the noise is calibrated, or that was published for it."""
    return epsilon


Scale = Annotated[float, positive("s of the queries' noise Lap(s/epsilon), s c with c answers")]


def on_monotone(*, epsilon: Epsilon = 1.0, scale: Scale = 4.0) -> float:
    """Returns (1/2 + 1/s) epsilon, the pure epsilon for monotone neighbours."""
    return epsilon * (0.5 + 1.0 / scale)


def drawn_on_monotone(draw: Draw) -> Draw:
    """Draws settings for monotone pairs, with noise meant for either kind of neighbours.

    The point has the scale s of the queries' noise Lap(s c/epsilon): 4 if the noise is meant for
    general neighbours, 2 if it is meant for monotone ones.
    """

    def drawn(generator: np.random.Generator, _: Relation) -> tuple[Point, SparseNoise, str]:
        meant = int(generator.integers(2))
        point, noise, words = draw(generator, (Relation.GENERAL, Relation.MONOTONE)[meant])
        return point | {"scale": (4.0, 2.0)[meant]}, noise, words

    return drawn
