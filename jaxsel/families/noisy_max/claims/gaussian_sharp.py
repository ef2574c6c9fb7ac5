"""Sharper profiles of noisy max than Theorem 3.2 of Koskela, Redberg & Wang 2024.

A result of this project; the proofs are in ``jaxsel.families.noisy_max.bounds``.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.families.noisy_max.bounds import noisy_max_sharp_delta
from jaxsel.families.noisy_max.claims.instances import (
    ENDING,
    MOVES,
    TOLERANCE,
    Instance,
    profile_cases,
)
from jaxsel.families.noisy_max.claims.parameters import LevelFromZero, Noise, Scale, Several
from jaxsel.families.noisy_max.group_bounds import group_delta
from jaxsel.families.noisy_max.laws import noisy_max_shift
from jaxsel.language.base import Budget, Claim, Relation
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.papers import JX

_PLACE = "after Koskela, Redberg & Wang 2024, Theorem 3.2"


def _sharp(relation: Relation) -> Callable[..., float]:
    def evaluate(
        *,
        epsilon: LevelFromZero = 1.0,
        noise_scale: Scale = 4.0,
        candidates: Several = 10,
        noise: Noise = "gaussian",
    ) -> float:
        """Sharpened delta(epsilon)."""
        return float(noisy_max_sharp_delta(epsilon, noise, noise_scale, candidates, relation))

    return evaluate


def _sharp_at(each: Instance, relation: Relation, levels: np.ndarray) -> np.ndarray:
    return noisy_max_sharp_delta(levels, each.noise, each.scale, each.candidates, relation)


def _two_candidates(*, epsilon: LevelFromZero = 1.0, noise_scale: Scale = 4.0) -> float:
    """Exact delta(epsilon) of noisy max of two scores, Gaussian noise, general
    neighbours."""
    return _sharp(Relation.GENERAL)(epsilon=epsilon, noise_scale=noise_scale, candidates=2)


def _tight_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for relation, scale, epsilon in itertools.product(ENDING, (0.5, 1.0, 4.0), (0.0, 0.5, 2.0)):
        bound = _sharp(relation)(epsilon=epsilon, noise_scale=scale, candidates=2)
        exact = group_delta(epsilon, 1, 1, scale, relation)
        where = f"{relation.value} neighbours, {scale=:g}, {epsilon=:g}"
        yield bound, exact, where


def _sharper(relation: Relation) -> Claim:
    shift = noisy_max_shift(relation)
    return JX.privacy(
        f"KRW-Thm3.2-sharp{ENDING[relation]}",
        _PLACE,
        f"For epsilon >= 0 and {MOVES[relation]}, max(1, m - 2) replaces m; "
        f"with Gaussian noise a shift of {shift:g} sqrt((m - 1)/m) is enough, and the "
        f"profile of one Gaussian at a shift of {shift / 2:g} sqrt(m) is a bound too.",
        relation,
        _sharp(relation),
        at_most(profile_cases(_sharp_at, relation), TOLERANCE),
    )


STATEMENTS = (
    _sharper(Relation.GENERAL),
    _sharper(Relation.MONOTONE),
    JX.privacy(
        "KRW-Thm3.2-sharp-tight",
        _PLACE,
        "For two candidates and Gaussian noise the sharpened bound is the exact profile "
        "of the worst neighbours, general and monotone.",
        Relation.GENERAL,
        _two_candidates,
        equal(_tight_cases, 1e-10),
    ),
)
