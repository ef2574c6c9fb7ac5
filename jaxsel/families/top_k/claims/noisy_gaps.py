"""Zhu & Wang 2022, Theorem 8 and Corollary 9: selecting the size with other noises."""

import functools
import math
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.noisy_max.group_bounds import grouped_law
from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.top_k.claims.instances import Sides, renyi_rows, worst_row
from jaxsel.families.top_k.claims.neighbours import gaps_of, neighbours
from jaxsel.families.top_k.curves import noisy_gap_renyi
from jaxsel.families.top_k.parameters import Candidates, Deviation, Order, size
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid
from jaxsel.language.domains import whole
from jaxsel.language.papers import ZW


@functools.cache
def _gap_law(gaps: tuple[float, ...], noise: str, scale: float) -> np.ndarray:
    return noisy_max_law(np.array(gaps) / scale, noise)


@ZW.privacy("ZW-Thm8", "Theorem 8 for Laplace noise", Relation.MONOTONE)
def laplace(
    *,
    order: Order = 2.0,
    noise_scale: Annotated[float, size("of the noise on each gap")] = 4.0,
    candidates: Candidates = 4,
) -> float:
    """The size selected with Laplace noise on the gaps has at most the Renyi divergence of that
    noise for a shift by 2, plus log(m)/(a - 1)."""
    return float(noisy_gap_renyi(order, "laplace", noise_scale, candidates))


@ZW.privacy("ZW-Cor9", "Corollary 9", Relation.MONOTONE)
def gaussian(
    *, order: Order = 2.0, noise_scale: Deviation = 4.0, candidates: Candidates = 4
) -> float:
    """The size selected with N(0, s^2) on the gaps has Renyi divergence at most 2 a/s^2 + log(m)/(a
    - 1)."""
    return float(noisy_gap_renyi(order, "gaussian", noise_scale, candidates))


@ZW.privacy("ZW-Cor9-unknown-domain", "Section 3.1, on an unknown domain", Relation.MONOTONE)
def unknown_domain(
    *,
    order: Order = 2.0,
    noise_scale: Deviation = 4.0,
    max_size: Annotated[int, whole("k-bar", at_least=2)] = 2,
) -> float:
    """With sizes restricted to 1, ..., k-bar, k-bar takes the place of m in Corollary 9."""
    return gaussian(order=order, noise_scale=noise_scale, candidates=max_size)


_MANY, _FARTHEST = 10, 30


def _one_gap_against_many(order: float, noise_scale: float, many: int) -> float:
    """The Renyi divergence of the size selected among 2 many + 1 candidates, at the worst lead.

    A user votes for the first, third, fifth ... candidate. The first gap rises by 1. The second,
    fourth ... gap fall by 1; they are equal, and ahead of the first by the lead. The other gaps
    rise, too, but are too small to be selected.
    """
    found = []
    for lead in range(int(_FARTHEST * noise_scale)):
        levels = np.array([2.0 - lead, -lead]) / noise_scale
        first, second = (grouped_law([1, many], [level, 0.0]) for level in levels)
        found += [renyi_divergence(first, second, order), renyi_divergence(second, first, order)]
    return float(max(found))


@laplace.bounds(noise="laplace", candidates=4)
@gaussian.bounds(noise="gaussian", candidates=4)
@unknown_domain.bounds(noise="gaussian", max_size=2)
def selections(budget, noise, **size):
    """Exact divergences, by quadrature, of all pairs of four candidates with counts up to 3."""
    first, second = neighbours(4, 3)
    for scale in (0.7, 3.0):
        laws = []
        for side in (first, second):
            gaps = gaps_of(side)[:, : size.get("max_size")]
            rows, index = np.unique(gaps, axis=0, return_inverse=True)
            table = [_gap_law(tuple(row.tolist()), noise, scale) for row in rows]
            laws.append(np.array(table)[index.ravel()])
        for data, other, pairs in ((*laws, (first, second)), (*laws[::-1], (second, first))):
            for order in (1.1, 2.0, 5.0, 30.0):
                seen, where = worst_row(renyi_rows(Sides(data, other), order), pairs)
                yield {"order": order, "noise_scale": scale, **size}, seen, where
    if noise == "gaussian":
        among = {name: 2 * _MANY + (name == "candidates") for name in size}
        point, where = {"order": 8.0, "noise_scale": 1.0}, f"one gap against {_MANY}"
        yield point | among, _one_gap_against_many(**point, many=_MANY), where


@ZW.privacy(
    "ZW-Thm8-gaps",
    "Theorem 8 and Corollary 9 for the gaps of Algorithm 1",
    Relation.MONOTONE,
    remark="R-ZW-3",
)
def fewer_gaps(
    *, order: Order = 2.0, noise_scale: Deviation = 4.0, candidates: Candidates = 3
) -> float:
    """The k that Algorithm 1 selects with Gaussian noise N(0, s^2) on the m - 1 gaps has Renyi
    divergence at most 2 a/s^2 + log(m - 1)/(a - 1) at order a."""
    bound = noisy_gap_renyi(order, "gaussian", noise_scale, candidates, sharp=True)
    return float(bound)


def first_gap_wins(histograms: np.ndarray, scale: float) -> np.ndarray:
    """The probability that the first of two noisy gaps is the larger, for three candidates."""
    gaps = gaps_of(histograms)
    return special.ndtr((gaps[:, 0] - gaps[:, 1]) / (scale * math.sqrt(2.0)))


@fewer_gaps.bounds(
    grid(noise_scale=(1.0, 4.0), order=(1.5, 2.0, 8.0, 32.0), candidates=(3,)),
    grid(noise_scale=(1.0,), order=(8.0,), candidates=(2 * _MANY + 1,)),
)
def two_gaps_or_many(noise_scale, order, candidates):
    if candidates > 3:
        yield _one_gap_against_many(order, noise_scale, _MANY), f"one gap against {_MANY}"
        return
    chances = [first_gap_wins(side, noise_scale) for side in neighbours(candidates, 5)]
    pairs = np.unique(np.stack(chances, axis=1), axis=0)
    for p, q in (*pairs.tolist(), *pairs[:, ::-1].tolist()):
        exact = float(renyi_divergence([p, 1 - p], [q, 1 - q], order))
        yield exact, f"chances {p!r} -> {q!r}"
