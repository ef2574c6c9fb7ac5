"""Sharper profiles of noisy max than Theorem 3.2 of Koskela, Redberg & Wang 2024.

A result of this project; the proofs are in ``jaxsel.families.noisy_max.bounds``.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errors import check_choice, check_interval
from jaxsel.families.noisy_max.bounds import noisy_max_sharp_delta, noisy_max_shift
from jaxsel.families.noisy_max.claims.instances import (
    ENDING,
    MOVES,
    TOLERANCE,
    Instance,
    profile_cases,
)
from jaxsel.families.noisy_max.group_bounds import group_delta

_PAPER = "Koskela, Redberg & Wang 2024"


def _sharp(relation: Relation) -> Callable[..., float]:
    def evaluate(
        *,
        epsilon: float = 1.0,
        noise_scale: float = 4.0,
        candidates: int = 10,
        noise: str = "gaussian",
    ) -> float:
        epsilon = check_interval("epsilon", epsilon, 0.0, 200.0, low_open=False)
        check_choice("noise", noise, ("gaussian", "laplace"))
        return float(
            noisy_max_sharp_delta(epsilon, noise, noise_scale, candidates, relation)
        )

    evaluate.__doc__ = f"""Sharpened delta(epsilon), {relation.value} neighbours.

        Args:
          epsilon: in [0, 200).
          noise_scale: standard deviation, or Laplace scale, over the sensitivity, > 0.
          candidates: m >= 2.
          noise: "gaussian" or "laplace".
        """
    return evaluate


def _sharp_at(each: Instance, relation: Relation, levels: np.ndarray) -> np.ndarray:
    return noisy_max_sharp_delta(
        levels, each.noise, each.scale, each.candidates, relation
    )


def _two_candidates(*, epsilon: float = 1.0, noise_scale: float = 4.0) -> float:
    """Exact delta(epsilon) of noisy max of two scores, general neighbours.

    Args:
      epsilon: in [0, 200).
      noise_scale: standard deviation of Gaussian noise, > 0.
    """
    return _sharp(Relation.GENERAL)(
        epsilon=epsilon, noise_scale=noise_scale, candidates=2
    )


def _tight_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for relation, scale, epsilon in itertools.product(
        ENDING, (0.5, 1.0, 4.0), (0.0, 0.5, 2.0)
    ):
        bound = _sharp(relation)(epsilon=epsilon, noise_scale=scale, candidates=2)
        exact = group_delta(epsilon, 1, 1, scale, relation)
        where = f"{relation.value} neighbours, {scale=:g}, {epsilon=:g}"
        yield bound, exact, where


def _sharp_claim(relation: Relation) -> Claim:
    shift, ending = noisy_max_shift(relation), ENDING[relation]
    return Claim(
        id=f"KRW-Thm3.2-sharp{ending}",
        source=f"this project, after {_PAPER}, Theorem 3.2",
        statement=f"For epsilon >= 0 and {MOVES[relation]}, max(1, m - 2) replaces m; "
        f"with Gaussian noise a shift of {shift:g} sqrt((m - 1)/m) is enough, and the "
        f"profile of one Gaussian at a shift of {shift / 2:g} sqrt(m) is a bound too.",
        kind="privacy",
        relation=relation,
        evaluate=_sharp(relation),
        check=at_most(profile_cases(_sharp_at, relation), TOLERANCE),
    )


CLAIMS: tuple[Claim, ...] = (
    _sharp_claim(Relation.GENERAL),
    _sharp_claim(Relation.MONOTONE),
    Claim(
        id="KRW-Thm3.2-sharp-tight",
        source=f"this project, after {_PAPER}, Theorem 3.2",
        statement=(
            "For two candidates and Gaussian noise the sharpened bound is the exact "
            "profile of the worst neighbours, general and monotone."
        ),
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_two_candidates,
        check=equal(_tight_cases, 1e-10),
    ),
)
