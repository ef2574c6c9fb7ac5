"""Composition of noisy maxima: Theorem 3.3 of Koskela, Redberg & Wang 2024.

For monotone scores, and sharper, by composing a dominating pair; against exact laws of
adaptive releases and of the worst known pair released many times.
"""

from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.noisy_max.bounds import noisy_max_guarantee, noisy_max_shift
from jaxsel.families.noisy_max.claims.instances import TOLERANCE, moves
from jaxsel.families.noisy_max.composition_bounds import (
    composed_pair_delta,
    dominated_composition_delta,
    noisy_max_composed_delta,
)
from jaxsel.families.noisy_max.group_bounds import (
    grouped_law,
    worst_composed_group_pair,
)
from jaxsel.families.noisy_max.laws import noisy_max_law

_PAPER = "Koskela, Redberg & Wang 2024"


def _composed_monotone(
    *,
    epsilon: float = 3.0,
    noise_scale: float = 4.0,
    candidates: int = 10,
    compositions: int = 5,
) -> float:
    """delta(epsilon) of k winners, monotone: m^k times k noisy scores moving by 1.

    Args:
      epsilon: in (-200, 200).
      noise_scale: standard deviation of Gaussian noise, > 0.
      candidates: m >= 1.
      compositions: k >= 1.
    """
    epsilon = check_interval("epsilon", epsilon, -200.0, 200.0)
    return float(
        noisy_max_composed_delta(
            epsilon, noise_scale, candidates, compositions, Relation.MONOTONE
        )
    )


def _dominated(
    *,
    epsilon: float = 6.0,
    noise_scale: float = 4.0,
    candidates: int = 10,
    compositions: int = 5,
) -> float:
    """delta(epsilon) of k winners from the composed dominating pair of one.

    Args:
      epsilon: in [0, 200).
      noise_scale: standard deviation of Gaussian noise, > 0.
      candidates: m >= 2.
      compositions: k >= 1.
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, 200.0, low_open=False)
    one = noisy_max_guarantee(
        "gaussian", check_positive("noise_scale", noise_scale), candidates
    )
    return float(dominated_composition_delta(epsilon, one, compositions))


def _adaptive_laws(
    generator: np.random.Generator,
    relation: Relation,
    scale: float,
    candidates: int,
    compositions: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Laws of all k winners where new scores are chosen after every release."""
    laws = (np.ones(1), np.ones(1))
    for _ in range(compositions):
        grown: tuple[list, list] = ([], [])
        for history in range(laws[0].size):
            scores = generator.normal(0.0, scale, candidates)
            moved = scores + moves(generator, relation, candidates)
            for side, levels in enumerate((scores, moved)):
                winner = noisy_max_law(levels / scale, "gaussian")
                grown[side].append(laws[side][history] * winner)
        laws = (np.concatenate(grown[0]), np.concatenate(grown[1]))
    return laws


def _composition_cases(relation: Relation, bound: Callable[..., np.ndarray]):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        levels = np.array([0.0, 0.25, 0.5, 1.0, 2.0])
        for scale, m, k in ((1.0, 2, 3), (4.0, 2, 3), (1.0, 3, 2), (2.0, 4, 2)):
            claimed = bound(levels, scale, m, k)
            for number in range(max(budget.cases // 40, 1)):
                laws = _adaptive_laws(generator, relation, scale, m, k)
                exact = profile_delta(*laws, levels)
                worst = int(np.argmin(claimed - exact))
                where = (
                    f"epsilon {levels[worst]:g}, {scale=:g}, {m} candidates, {k} winners, "
                    f"adaptive scores number {number} of seed {budget.seed}"
                )
                yield float(claimed[worst]), float(exact[worst]), where
        for scale, m, k in ((4.0, 10, 20), (8.0, 100, 50)):
            pair = worst_composed_group_pair(1e-3, m, scale, k, relation)
            sides = [
                grouped_law([pair.first, pair.second], [pair.lead + move, 0.0])
                for move in (noisy_max_shift(relation) / scale, 0.0)
            ]
            first, second = (side / side.sum() for side in sides)
            levels = pair.epsilon * np.array([0.5, 1.0, 1.5])
            claimed = bound(levels, scale, m, k)
            exact = composed_pair_delta(levels, first, second, k)
            worst = int(np.argmin(claimed - exact))
            where = f"epsilon {levels[worst]:g}, {scale=:g}, {m=}, {k=}, two groups"
            yield float(claimed[worst]), float(exact[worst]), where

    return cases


def _theorem_3_3_at(levels, scale, candidates, compositions) -> np.ndarray:
    return noisy_max_composed_delta(
        levels, scale, candidates, compositions, Relation.MONOTONE
    )


def _dominated_at(levels, scale, candidates, compositions) -> np.ndarray:
    one = noisy_max_guarantee("gaussian", scale, candidates)
    return dominated_composition_delta(levels, one, compositions)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="KRW-Thm3.3-monotone",
        source=f"{_PAPER}, Theorem 3.3 with the composition of its proof, Theorem 3.2",
        statement=(
            "For monotone scores the adaptive composition of k noisy maxima over m "
            "scores has at most m^k times the profile of a k-wise composition of the "
            "additive noise mechanism with sensitivity 1."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_composed_monotone,
        check=at_most(
            _composition_cases(Relation.MONOTONE, _theorem_3_3_at), TOLERANCE
        ),
    ),
    Claim(
        id="KRW-Thm3.3-dominated",
        source=f"this project, after {_PAPER}, Theorem 3.3, and Zhu, Dong & Wang 2022",
        statement=(
            "The adaptive composition of k noisy maxima with Gaussian noise has at most "
            "the profile of the k-wise composition of a pair whose profile is the convex "
            "hull of the sharpened bound for one."
        ),
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_dominated,
        check=at_most(_composition_cases(Relation.GENERAL, _dominated_at), TOLERANCE),
    ),
)
