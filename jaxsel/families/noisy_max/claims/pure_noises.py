"""Claims on report noisy max with Gumbel, Laplace and exponential noise, which is pure DP.

Scores have sensitivity 1 and the noise has scale b. With Gumbel noise it is the exponential
mechanism (McSherry & Talwar 2007), with exponential noise permute-and-flip (McKenna & Sheldon
2020; Ding et al. 2021), with Laplace noise the report noisy max of Dwork & Roth 2014.
"""

import itertools
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.families.noisy_max.claims.instances import ENDING, moves, renyi_cases
from jaxsel.families.noisy_max.laws import noisy_max_law, noisy_max_scale, noisy_max_shift
from jaxsel.families.noisy_max.parameters import Order
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Claim, Relation
from jaxsel.language.checking import Point
from jaxsel.language.domains import choice, number, positive
from jaxsel.language.papers import DR, MS, MT, ROGERS

RenyiScale = Annotated[
    float, number("b, in units of the sensitivity of the scores", at_least=1e-100)
]

_PLACES = {
    "gumbel": (MT, "the exponential mechanism"),
    "laplace": (DR, "Section 3.3, report noisy max"),
    "exponential": (MS, "permute-and-flip; Ding et al. 2021"),
}
_MOVES = {
    Relation.GENERAL: "every score moves by at most 1",
    Relation.MONOTONE: "all scores move in the same direction, by at most 1",
}


class _Neighbours(NamedTuple):
    """Two neighbouring vectors of scores, Float["m"], the noise scale, and all this in words."""

    scores: np.ndarray
    moved: np.ndarray
    scale: float
    where: str


def _neighbours(relation: Relation, budget: Budget) -> Iterator[_Neighbours]:
    """One candidate that gains on all others, at several leads and scales; then random ones."""
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
    """Neighbours on which one candidate gains on all others, by 2 or, if monotone, by 1.

    Args:
      relation: how the scores may change.
      size: number of candidates.
      distance: how far the candidate is behind the others before it gains, in noise scales.
      scale: b.
    """
    first = np.arange(size) == 0
    scores = np.where(first, -distance * scale, 0.0)
    moved = scores + np.where(first, 1.0, -1.0 if relation is Relation.GENERAL else 0.0)
    where = (
        f"b={scale:g}, {size} candidates, one {distance:g} b behind the others gains "
        f"{noisy_max_shift(relation):g}"
    )
    return _Neighbours(scores, moved, scale, where)


def _laws(noise: str, case: _Neighbours) -> list[np.ndarray]:
    """The exact laws of the winner on the two sides, each Float["m"]."""
    return [noisy_max_law(s / case.scale, noise) for s in (case.scores, case.moved)]


def _exact(noise: str, case: _Neighbours) -> float:
    """The exact pure epsilon between the two sides."""
    first, second = _laws(noise, case)
    return float(np.max(np.abs(np.log(first / second))))


# The exact privacy loss as a multiple of epsilon, by the changes of scores for which the noise was
# chosen and those that happen. McSherry & Talwar's exp(epsilon q/2) is chosen for scores that
# move in any direction; where all move in the same one, its loss is epsilon/2. Noise chosen for
# monotone scores is half as large.
_BOUGHT = {
    ("general", Relation.GENERAL): 1.0,
    ("general", Relation.MONOTONE): 0.5,
    ("monotone", Relation.MONOTONE): 1.0,
    ("monotone", Relation.GENERAL): 2.0,
}
MadeFor = Annotated[str, choice(("general", "monotone"), "the noise is made for")]


def _of_noise(noise: str, relation: Relation) -> Claim:
    """The claim of pure DP for one law of the noise and one way in which scores may change."""
    paper, place = _PLACES[noise]
    factor = f"{noisy_max_shift(relation):g}/b"

    @paper.privacy(
        f"NM-{noise}-{relation.value}",
        place,
        relation,
        statement=f"Noisy max with {noise} noise of scale b is ({factor}, 0)-DP if "
        f"{_MOVES[relation]}; with noise made for epsilon it is epsilon-DP for the neighbours "
        "that it is made for.",
    )
    def pure(
        *,
        noise_scale: Annotated[
            float | None, positive("b, in units of the sensitivity of the scores (default 1)")
        ] = None,
        epsilon: Annotated[float | None, positive("sets the noise, instead of b")] = None,
        made_for: MadeFor = "general",
    ) -> float:
        """Returns the pure epsilon: 2/b, or 1/b if monotone.

        If ``epsilon`` is given and not b, it is what noise made for this epsilon costs: 1, 1/2 or
        2 times epsilon, by what it is made for.
        """
        if noise_scale is not None and epsilon is not None:
            raise InputError("noise_scale and epsilon are given; give one of them")
        if epsilon is not None:
            return _BOUGHT[made_for, relation] * epsilon
        return noisy_max_shift(relation) / (noise_scale or 1.0)

    @pure.bounds()
    def losses(budget):
        for case in _neighbours(relation, budget):
            yield _of_scale(case.scale), _exact(noise, case), case.where
        for point, scale in _made_for_epsilon():
            case = _one_behind(relation, 2, 0.0, scale)
            yield point, _exact(noise, case), case.where

    # A candidate far behind wins through the tail of its own noise alone.
    @pure.attains(
        share=0.99,
        where="a candidate far behind that gains on all others, whatever sets the noise",
        at="scales of 0.5 to 5 and epsilon of 0.1 to 4",
    )
    def losses_far_behind(budget):
        del budget
        for scale in (0.5, 1.0, 5.0):
            case = _one_behind(relation, 3, 60.0, scale)
            yield _of_scale(scale), _exact(noise, case), case.where
        for point, scale in _made_for_epsilon():
            case = _one_behind(relation, 3, 60.0, scale)
            yield point, _exact(noise, case), case.where

    return pure


def _of_scale(scale: float) -> Point:
    """The parameters of the claim ``pure`` at which the scale is given."""
    return {"noise_scale": scale, "epsilon": None, "made_for": "general"}


def _made_for_epsilon() -> Iterator[tuple[Point, float]]:
    """Parameters of the claim ``pure`` at which epsilon is given, each with the noise scale b."""
    for made_for, epsilon in itertools.product(("general", "monotone"), (0.1, 1.0, 4.0)):
        point = {"noise_scale": None, "epsilon": epsilon, "made_for": made_for}
        yield point, noisy_max_scale({"epsilon": epsilon}, Relation(made_for))


def _bounded_range(relation: Relation) -> Claim:
    """The claim of zCDP with Gumbel noise for one way in which scores may change."""

    @ROGERS.privacy(
        f"NM-gumbel{ENDING[relation]}-zCDP",
        "bounded range",
        relation,
        statement=f"With epsilon = {noisy_max_shift(relation):g}/b, noisy max with Gumbel "
        "noise has log likelihood ratios in a range of length epsilon, hence is "
        f"epsilon^2/8-zCDP, if {_MOVES[relation]}.",
    )
    def concentrated(*, order: Order = 2.0, noise_scale: RenyiScale = 1.0) -> float:
        """Returns the Renyi bound, order epsilon^2/8, with epsilon = 2/b, or 1/b if monotone."""
        return order * (noisy_max_shift(relation) / noise_scale) ** 2 / 8.0

    @concentrated.bounds()
    def divergences(budget):
        orders = np.array([1.01, 1.5, 2.0, 5.0, 30.0])
        for case in _neighbours(relation, budget):
            laws = _laws("gumbel", case)
            yield from renyi_cases(orders, laws, case.where, noise_scale=case.scale)

    return concentrated


CLAIMS = (
    *(_of_noise(noise, relation) for noise in _PLACES for relation in ENDING),
    *map(_bounded_range, ENDING),
)
