"""Zhu & Wang 2022, Algorithm 1 and Proposition 7: selecting the size by noisy gaps."""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.families.top_k.claims.instances import Pairs, Sides, pools, renyi_rows, worst_row
from jaxsel.families.top_k.claims.neighbours import gaps_of
from jaxsel.families.top_k.curves import largest_gap_bounded_range_renyi, largest_gap_renyi
from jaxsel.families.top_k.laws import largest_gap_law
from jaxsel.families.top_k.parameters import Epsilon, K, Order
from jaxsel.families.top_k.scales import largest_gap_scale
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Relation
from jaxsel.language.domains import number, numbers
from jaxsel.language.papers import ZW


@ZW.identity("ZW-Alg1", "Algorithm 1")
def first_size(
    *,
    gap: Annotated[float, number("q_1")] = 3.0,
    other: Annotated[float, number("q_2")] = 1.0,
    epsilon: Epsilon = 1.0,
    further: Annotated[Any, numbers("q_3, ...; empty: no more candidates")] = None,
    regulariser: Annotated[Any, numbers("r of each size, or of all")] = 0.0,
) -> float:
    """The largest gap after Gumbel(2/epsilon) noise on each (Algorithm 1) is that of size j with
    probability proportional to exp(epsilon (q_j + r(j))/2), q_j the gap and r the regulariser.

    Returns the probability of size 1. For three candidates and r = 0 it is 1/(1 + exp(epsilon
    (other - gap)/2)).
    """
    scale = largest_gap_scale({"epsilon": epsilon}, "gumbel")
    gaps = np.append([gap, other], [] if further is None else further)
    if regulariser.size not in (1, gaps.size):
        raise InputError(f"{regulariser.size} values of r for {gaps.size} gaps; give one or each")
    added = np.broadcast_to(regulariser, gaps.shape)
    return float(largest_gap_law(gaps, scale, added)[0])


@first_size.equals(tolerance=1e-10)
def random_gaps(budget):
    """The probability of each size as an integral over the largest noisy gap."""
    edges = np.linspace(-45.0, 90.0, 1351)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = (edges[1] - edges[0]) / 2.0
    v = ((edges[1:] + edges[:-1]) / 2.0)[:, None] + half * nodes
    v, weight = v.ravel(), np.tile(half * weights, edges.size - 1)
    for generator in budget.draws(40, stream=1):
        count = int(generator.integers(2, 7))
        gaps = generator.integers(0, 6, size=count).astype(float)
        added = generator.normal(size=count)
        scale = float(generator.uniform(0.3, 5.0))
        levels = (gaps + added) / scale
        exceed = np.exp(np.minimum(levels[:, None] - v, 700.0))
        density = exceed * np.exp(-exceed.sum(axis=0))
        for size in range(count):
            # This size stands first.
            own = np.roll(gaps, -size)
            point = {
                "gap": float(own[0]),
                "other": float(own[1]),
                "further": own[2:] if count > 2 else None,
                "epsilon": 2.0 / scale,
                "regulariser": np.roll(added, -size),
            }
            yield point, float(density[size] @ weight)


@ZW.privacy("ZW-Alg1-gaps", "Proposition 7, first step of the proof", Relation.MONOTONE)
def gap_sensitivity(*, k: K = 1) -> float:
    """One user more or less, with any votes, changes every gap by at most 1."""
    return 1.0


@gap_sensitivity.bounds()
def moved_gaps(budget):
    for pairs in pools(budget):
        moved = np.abs(gaps_of(pairs[0]) - gaps_of(pairs[1]))
        for k in range(1, moved.shape[1] + 1):
            yield {"k": k}, *worst_row(moved[:, k - 1], pairs)


def selected(budget: Budget) -> Iterator[tuple[float, Sides, Pairs, str]]:
    """The laws of the selected size on all pairs, with r = 0 and with a random r.

    Yields epsilon, the laws of a pool of pairs, the pairs, and r in words.
    """
    for epsilon in (0.1, 1.0, 4.0):
        generator = np.random.default_rng(budget.seed + 7)
        scale = largest_gap_scale({"epsilon": epsilon}, "gumbel")
        for pairs in pools(budget):
            sizes = pairs[0].shape[1] - 1
            for regulariser in (np.zeros(sizes), generator.normal(0.0, 3.0, size=sizes)):
                laws = (largest_gap_law(gaps_of(side), scale, regulariser) for side in pairs)
                yield epsilon, Sides(*laws), pairs, f"r {regulariser.tolist()}"


@ZW.privacy("ZW-Prop7-pure", "Proposition 7", Relation.MONOTONE)
def pure(*, epsilon: Epsilon = 1.0) -> float:
    """Selecting the size with the largest gap after Gumbel(2/epsilon) noise on each (Algorithm 1)
    is epsilon-DP, for every regulariser."""
    return epsilon


@pure.bounds()
def pure_losses(budget):
    for epsilon, sides, pairs, extra in selected(budget):
        seen, where = worst_row(renyi_rows(sides, math.inf), pairs)
        yield {"epsilon": epsilon}, seen, where, extra


@ZW.privacy("ZW-Prop7-range", "Proposition 7, by Durfee & Rogers 2019", Relation.MONOTONE)
def loss_range(*, epsilon: Epsilon = 1.0) -> float:
    """The privacy losses of selecting the size (Algorithm 1) on a pair of histograms differ by at
    most epsilon."""
    return epsilon


@loss_range.bounds()
def ranges(budget):
    for epsilon, sides, pairs, extra in selected(budget):
        loss = np.log(sides.first) - np.log(sides.second)
        seen, where = worst_row(np.ptp(loss, axis=1), pairs)
        yield {"epsilon": epsilon}, seen, where, extra


@ZW.privacy("ZW-Prop7-zCDP", "Proposition 7", Relation.MONOTONE)
def concentrated(*, epsilon: Epsilon = 1.0, order: Order = 2.0) -> float:
    """Selecting the size with the largest noisy gap (Algorithm 1) is epsilon^2/8-zCDP."""
    return order * epsilon**2 / 8


@ZW.privacy("ZW-Prop7-RDP", "Proposition 7", Relation.MONOTONE)
def renyi(*, epsilon: Epsilon = 1.0, order: Order = 2.0) -> float:
    """Selecting the size (Algorithm 1) has Renyi divergence at most min{epsilon^2 a/8, log((sinh(a
    epsilon) - sinh((a - 1) epsilon))/sinh(epsilon))/(a - 1)} at order a."""
    return float(largest_gap_renyi(order, epsilon))


@ZW.privacy(
    "ZW-Prop7-sharp", "Proposition 7 with the exact curve of bounded range", Relation.MONOTONE
)
def bounded_range(*, epsilon: Epsilon = 1.0, order: Order = 2.0) -> float:
    """Selecting the size (Algorithm 1) has at most the Renyi divergence of the worst pair of two
    outcomes whose losses differ by epsilon; never more than Proposition 7 allows."""
    return float(largest_gap_bounded_range_renyi(order, epsilon))


@concentrated.bounds()
@renyi.bounds()
@bounded_range.bounds()
def divergences(budget):
    for epsilon, sides, pairs, extra in selected(budget):
        for order in (1.1, 2.0, 5.0, 30.0):
            seen, where = worst_row(renyi_rows(sides, order), pairs)
            yield {"epsilon": epsilon, "order": order}, seen, where, extra
