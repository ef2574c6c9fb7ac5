"""Report noisy max with Gumbel, Laplace and exponential noise.

Scores have sensitivity 1 and the noise scale is b. Gumbel noise is the exponential
mechanism (McSherry & Talwar 2007), exponential noise is permute-and-flip (McKenna &
Sheldon 2020; Ding et al. 2021), Laplace noise is report noisy max of Dwork & Roth 2014.
"""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.families.noisy_max.claims.instances import ENDING, moves, renyi_cases
from jaxsel.families.noisy_max.laws import noisy_max_law, noisy_max_scale, noisy_max_shift
from jaxsel.language.base import Budget, Claim, Relation
from jaxsel.language.checking import grid, listed
from jaxsel.language.domains import choice, number, positive
from jaxsel.language.papers import DR, MS, MT, ROGERS

Scale = Annotated[float, positive("b, in units of the sensitivity of the scores")]
RenyiScale = Annotated[
    float, number("b, in units of the sensitivity of the scores", at_least=1e-100)
]
Order = Annotated[float, number("of the Renyi divergence", above=1.0)]

_PLACES = {
    "gumbel": (MT, "the exponential mechanism"),
    "laplace": (DR, "Section 3.3, report noisy max"),
    "exponential": (MS, "permute-and-flip; Ding et al. 2021"),
}
_MOVES = {
    Relation.GENERAL: "every score moves by at most 1",
    Relation.MONOTONE: "all scores move in the same direction, by at most 1",
}
_SHARE = 0.99


class _Neighbours(NamedTuple):
    """Two score vectors and a noise scale."""

    scores: np.ndarray
    moved: np.ndarray
    scale: float
    where: str


def _neighbours(relation: Relation, budget: Budget) -> Iterator[_Neighbours]:
    for scale in (0.3, 1.0, 5.0):
        for size in (2, 5):
            for distance in (0.0, 3.0, 30.0):
                yield _one_behind(relation, size, distance, scale)
    for generator in budget.draws():
        size = int(generator.integers(2, 8))
        scale = 10.0 ** generator.uniform(-0.7, 0.7)
        spread = scale * 10.0 ** generator.uniform(-1.0, 1.0)
        scores = generator.normal(0.0, spread, size)
        moved = scores + moves(generator, relation, size, share=0.5)
        where = f"b={scale!r}, scores {scores.tolist()} and {moved.tolist()}"
        yield _Neighbours(scores, moved, scale, where)


def _one_behind(relation: Relation, size: int, distance: float, scale: float) -> _Neighbours:
    """One candidate, ``distance`` noise scales behind, gains on all others."""
    first = np.arange(size) == 0
    scores = np.where(first, -distance * scale, 0.0)
    moved = scores + np.where(first, 1.0, -1.0 if relation is Relation.GENERAL else 0.0)
    where = (
        f"b={scale:g}, {size} candidates, one {distance:g} b behind the others gains "
        f"{noisy_max_shift(relation):g}"
    )
    return _Neighbours(scores, moved, scale, where)


def _laws(noise: str, case: _Neighbours) -> list[np.ndarray]:
    return [noisy_max_law(s / case.scale, noise) for s in (case.scores, case.moved)]


def _exact(noise: str, case: _Neighbours) -> float:
    first, second = _laws(noise, case)
    return float(np.max(np.abs(np.log(first / second))))


# What epsilon buys: McSherry & Talwar's exp(epsilon q/2) for scores that may move in any
# direction, hence half of epsilon where all move in the same one; noise made for the
# latter is half as large.
_BOUGHT = {
    ("general", Relation.GENERAL): 1.0,
    ("general", Relation.MONOTONE): 0.5,
    ("monotone", Relation.MONOTONE): 1.0,
    ("monotone", Relation.GENERAL): 2.0,
}
MadeFor = Annotated[str, choice(("general", "monotone"), "the noise is made for")]


def _of_noise(noise: str, relation: Relation) -> Iterator[Claim]:
    paper, place = _PLACES[noise]
    name = f"NM-{noise}-{relation.value}"
    factor = f"{noisy_max_shift(relation):g}/b"

    @paper.privacy(
        name,
        place,
        relation,
        statement=f"Noisy max with {noise} noise of scale b is ({factor}, 0)-DP if "
        f"{_MOVES[relation]}.",
    )
    def pure(*, noise_scale: Scale = 1.0) -> float:
        """Pure epsilon 2/b of noisy max, 1/b if monotone."""
        return noisy_max_shift(relation) / noise_scale

    @pure.bounds()
    def losses(budget):
        for case in _neighbours(relation, budget):
            yield {"noise_scale": case.scale}, _exact(noise, case), case.where

    @paper.privacy(
        f"{name}-made",
        place,
        relation,
        statement=f"Noisy max with {noise} noise made for epsilon is epsilon-DP for the "
        f"neighbours that it is made for; here {_MOVES[relation]}.",
    )
    def made(
        *,
        epsilon: Annotated[float, positive("sets the noise")] = 1.0,
        made_for: MadeFor = "general",
    ) -> float:
        """Pure epsilon of noisy max whose noise is made for epsilon."""
        return _BOUGHT[made_for, relation] * epsilon

    @made.bounds(grid(made_for=("general", "monotone"), epsilon=(0.1, 1.0, 4.0)))
    def losses_of_made_noise(made_for, epsilon):
        scale = noisy_max_scale({"epsilon": epsilon}, Relation(made_for))
        for size, distance in ((2, 0.0), (3, 60.0)):
            case = _one_behind(relation, size, distance, scale)
            yield _exact(noise, case), case.where

    @paper.privacy(
        f"{name}-tight",
        place,
        relation,
        statement=f"{factor} cannot be lowered by 1 %: the loss on a candidate far behind "
        f"that gains on all others exceeds {_SHARE:g} * {factor}.",
    )
    def tight(*, noise_scale: Scale = 1.0) -> float:
        """0.99 times the pure epsilon 2/b of noisy max, or 1/b if monotone."""
        return _SHARE * noisy_max_shift(relation) / noise_scale

    @tight.bounds_below(listed("noise_scale", 0.5, 1.0, 5.0))
    def losses_far_behind(noise_scale):
        # Far behind, that candidate wins through the tail of its own noise alone.
        case = _one_behind(relation, 3, 60.0, noise_scale)
        return _exact(noise, case), case.where

    yield from (pure, made, tight)


def _bounded_range(relation: Relation) -> Claim:
    @ROGERS.privacy(
        f"NM-gumbel{ENDING[relation]}-zCDP",
        "bounded range",
        relation,
        statement=f"With epsilon = {noisy_max_shift(relation):g}/b, noisy max with Gumbel "
        "noise has log likelihood ratios in a range of length epsilon, hence is "
        f"epsilon^2/8-zCDP, if {_MOVES[relation]}.",
    )
    def concentrated(*, order: Order = 2.0, noise_scale: RenyiScale = 1.0) -> float:
        """Renyi bound order epsilon^2/8, epsilon = 2/b, or 1/b if monotone."""
        return order * (noisy_max_shift(relation) / noise_scale) ** 2 / 8.0

    @concentrated.bounds()
    def divergences(budget):
        orders = np.array([1.01, 1.5, 2.0, 5.0, 30.0])
        for case in _neighbours(relation, budget):
            laws = _laws("gumbel", case)
            yield from renyi_cases(orders, laws, case.where, noise_scale=case.scale)

    return concentrated


CLAIMS = (
    *(claim for noise in _PLACES for relation in ENDING for claim in _of_noise(noise, relation)),
    *map(_bounded_range, ENDING),
)
