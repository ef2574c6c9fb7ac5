"""Papernot et al. 2018 and Zhu & Wang 2022, Example 13: labels by votes of teachers."""

import math
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.top_k.baselines import labels_renyi
from jaxsel.families.top_k.parameters import Deviation, Order, size
from jaxsel.families.top_k.votes import scaled_votes
from jaxsel.language.base import Relation
from jaxsel.language.domains import whole
from jaxsel.language.papers import PATE, ZW

_ORDERS = (1.2, 2.0, 10.0)


@ZW.privacy("ZW-Ex13", "Example 13", Relation.GENERAL)
def one_class(*, order: Order = 2.0, noise_scale: Deviation = 4.0) -> float:
    """The class with the most votes after N(0, s^2) on each is (a, a/s^2)-Renyi DP if one teacher
    changes its vote."""
    return order / noise_scale**2


@one_class.bounds()
def changed_votes(budget):
    """Exact divergences, by quadrature, where one teacher votes for another class."""
    for generator in budget.draws(60, stream=13):
        classes = int(generator.integers(2, 5))
        votes = generator.integers(0, 5, size=classes).astype(float)
        votes[0] += 1.0
        other = votes.copy()
        other[0] -= 1.0
        other[-1] += 1.0
        scale = float(generator.uniform(0.5, 5.0))
        laws = [noisy_max_law(side / scale, "gaussian") for side in (votes, other)]
        for order in _ORDERS:
            for first, second in (laws, laws[::-1]):
                seen = float(renyi_divergence(first, second, order))
                where = f"votes {votes.tolist()} -> {other.tolist()}"
                yield {"order": order, "noise_scale": scale}, seen, where


@PATE.privacy("BASE-PATE", "on many labels", Relation.MONOTONE)
def all_labels(
    *,
    order: Order = 2.0,
    noise_scale: Deviation = 4.0,
    labels: Annotated[int, whole("m", at_least=1)] = 40,
) -> float:
    """Releasing every label whose votes plus N(0, s^2) exceed a threshold is (a, a m/(2 s^2))-Renyi
    DP for one teacher more or less."""
    return float(labels_renyi(order, noise_scale, labels))


@ZW.privacy("BASE-PATE-tau", "Section 5 (EXP3), PATE-tau", Relation.MONOTONE)
def scaled_labels(
    *,
    order: Order = 2.0,
    noise_scale: Deviation = 4.0,
    most: Annotated[float, size("tau, votes of one teacher in all")] = 8.0,
) -> float:
    """Releasing every label whose votes plus N(0, s^2) exceed a threshold, where the votes of each
    teacher are scaled to at most tau in all, is (a, a tau/(2 s^2))-Renyi DP for one teacher more or
    less."""
    return float(labels_renyi(order, noise_scale, most))


@all_labels.bounds(scaled=False)
@scaled_labels.bounds(scaled=True)
def one_teacher_less(budget, scaled):
    """Exact divergences of the released labels, and of the noisy votes, without one teacher."""
    from jaxsel.families.top_k.pate import noisy_labels

    law = noisy_labels(events="sets").law
    assert law is not None
    for generator in budget.draws(100, stream=15):
        labels = int(generator.integers(1, 6))
        votes = generator.integers(0, 2, size=(6, labels)).astype(float)
        most = float(generator.integers(1, 4)) if scaled else math.inf
        total, fewer = scaled_votes(votes, most), scaled_votes(votes[1:], most)
        scale = float(generator.uniform(0.5, 4.0))
        params = {"noise_scale": scale, "threshold": 3.0}
        truth = np.zeros(labels, dtype=bool)
        first, second = (
            law({"votes": side, "truth": truth}, params).probabilities for side in (total, fewer)
        )
        where = f"{votes.astype(int).tolist()} without the first"
        for order in _ORDERS:
            point = {"order": order, "noise_scale": scale}
            point |= {"most": most} if scaled else {"labels": labels}
            seen = float(renyi_divergence(first, second, order))
            yield point, seen, f"released labels, {where}"
            moved = float(np.sum((total - fewer) ** 2))
            yield point, order * moved / (2.0 * scale**2), f"noisy votes, {where}"
