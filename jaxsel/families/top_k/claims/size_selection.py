"""Zhu & Wang 2022, Algorithm 1 and Proposition 7: selecting the size by noisy gaps."""

import math
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel.families.top_k.claims.instances import Sides, pools, renyi_rows, worst_row
from jaxsel.families.top_k.claims.neighbours import gaps_of
from jaxsel.families.top_k.claims.parameters import Epsilon, Order
from jaxsel.families.top_k.curves import largest_gap_bounded_range_renyi, largest_gap_renyi
from jaxsel.families.top_k.laws import largest_gap_law
from jaxsel.families.top_k.scales import largest_gap_scale
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.domains import number, whole
from jaxsel.language.papers import ZW

_ORDERS = (1.1, 2.0, 5.0, 30.0)
_EPSILONS = (0.1, 1.0, 4.0)


# --- Algorithm 1 ----------------------------------------------------------------------


def _first_size(
    *,
    gap: Annotated[float, number("q_1")] = 3.0,
    other: Annotated[float, number("q_2")] = 1.0,
    epsilon: Epsilon = 1.0,
) -> float:
    """P[Algorithm 1 selects size 1] for three candidates, r = 0.

    1/(1 + exp(epsilon (other - gap)/2)).
    """
    scale = largest_gap_scale({"epsilon": epsilon}, "gumbel")
    return float(largest_gap_law([gap, other], scale)[0])


def _law_cases(budget: Budget) -> Iterator[Case]:
    """The softmax against the integral over the winning value of Gumbel noise."""
    generator = np.random.default_rng(budget.seed + 1)
    edges = np.linspace(-45.0, 90.0, 1351)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = (edges[1] - edges[0]) / 2.0
    v = ((edges[1:] + edges[:-1]) / 2.0)[:, None] + half * nodes
    v, weight = v.ravel(), np.tile(half * weights, edges.size - 1)
    for _ in range(max(1, min(budget.cases, 40))):
        count = int(generator.integers(2, 7))
        gaps = generator.integers(0, 6, size=count).astype(float)
        added = generator.normal(size=count)
        scale = float(generator.uniform(0.3, 5.0))
        levels = (gaps + added) / scale
        exceed = np.exp(np.minimum(levels[:, None] - v, 700.0))
        density = exceed * np.exp(-exceed.sum(axis=0))
        found = largest_gap_law(gaps, scale, added)
        for size in range(count):
            where = f"gaps {gaps.tolist()}, r {added.tolist()}, {scale=!r}, {size=}"
            yield float(found[size]), float(density[size] @ weight), where


def _gap_sensitivity(*, k: Annotated[int, whole("size of the set", at_least=1)] = 1) -> float:
    """How far one user moves the gap q_k at most: 1."""
    del k
    return 1.0


def _gap_cases(budget: Budget) -> Iterator[Case]:
    for pairs in pools(budget):
        moved = np.abs(gaps_of(pairs[0]) - gaps_of(pairs[1]))
        for k in range(1, moved.shape[1] + 1):
            seen, where = worst_row(moved[:, k - 1], pairs)
            yield _gap_sensitivity(k=k), seen, f"{k=}, {where}"


# --- Proposition 7 --------------------------------------------------------------------


def _pure(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon of Algorithm 1 with Gumbel(2/epsilon) noise."""
    return epsilon


def _zcdp(*, epsilon: Epsilon = 1.0, order: Order = 2.0) -> float:
    """Renyi bound order epsilon^2/8 of Algorithm 1."""
    return order * epsilon**2 / 8


def _renyi(*, epsilon: Epsilon = 1.0, order: Order = 2.0) -> float:
    """Renyi bound of Algorithm 1: the lesser of epsilon^2 order/8 and that of pure DP."""
    return float(largest_gap_renyi(order, epsilon))


def _bounded_range(*, epsilon: Epsilon = 1.0, order: Order = 2.0) -> float:
    """Sharp Renyi bound of epsilon-bounded range."""
    return float(largest_gap_bounded_range_renyi(order, epsilon))


def _range(*, epsilon: Epsilon = 1.0) -> float:
    """Largest difference between two privacy losses of Algorithm 1 on one pair."""
    return epsilon


def _selected(budget: Budget, epsilon: float) -> Iterator[tuple[Sides, tuple, str]]:
    """Laws of the size on all pairs, with r = 0 and with a random r."""
    generator = np.random.default_rng(budget.seed + 7)
    for pairs in pools(budget):
        sizes = pairs[0].shape[1] - 1
        for regulariser in (np.zeros(sizes), generator.normal(0.0, 3.0, size=sizes)):
            scale = largest_gap_scale({"epsilon": epsilon}, "gumbel")
            laws = (largest_gap_law(gaps_of(side), scale, regulariser) for side in pairs)
            yield Sides(*laws), pairs, f"r {regulariser.tolist()}"


def _pure_cases(budget: Budget) -> Iterator[Case]:
    for epsilon in _EPSILONS:
        for sides, pairs, extra in _selected(budget, epsilon):
            seen, where = worst_row(renyi_rows(sides, math.inf), pairs)
            yield _pure(epsilon=epsilon), seen, f"{epsilon=:g}, {where}, {extra}"


def _range_cases(budget: Budget) -> Iterator[Case]:
    for epsilon in _EPSILONS:
        for sides, pairs, extra in _selected(budget, epsilon):
            loss = np.log(sides.first) - np.log(sides.second)
            seen, where = worst_row(np.ptp(loss, axis=1), pairs)
            yield _range(epsilon=epsilon), seen, f"{epsilon=:g}, {where}, {extra}"


def _renyi_cases(evaluate: Callable[..., float]) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        for epsilon in _EPSILONS:
            bounds = {a: evaluate(epsilon=epsilon, order=a) for a in _ORDERS}
            for sides, pairs, extra in _selected(budget, epsilon):
                for order, claimed in bounds.items():
                    seen, where = worst_row(renyi_rows(sides, order), pairs)
                    text = f"{epsilon=:g}, {order=:g}, {where}, {extra}"
                    yield claimed, seen, text

    return cases


STATEMENTS = (
    ZW.identity(
        "ZW-Alg1",
        "Algorithm 1",
        "Algorithm 1 selects size j with probability proportional to exp(epsilon (q_j + r(j))/2).",
        _first_size,
        equal(_law_cases, tolerance=1e-10),
    ),
    ZW.privacy(
        "ZW-Alg1-gaps",
        "Proposition 7, first step of the proof",
        "One user more or less, with any votes, changes every gap by at most 1.",
        Relation.MONOTONE,
        _gap_sensitivity,
        at_most(_gap_cases),
    ),
    ZW.privacy(
        "ZW-Prop7-pure",
        "Proposition 7",
        "Algorithm 1 is epsilon-DP, for every regulariser.",
        Relation.MONOTONE,
        _pure,
        at_most(_pure_cases),
    ),
    ZW.privacy(
        "ZW-Prop7-zCDP",
        "Proposition 7",
        "Algorithm 1 is epsilon^2/8-zCDP.",
        Relation.MONOTONE,
        _zcdp,
        at_most(_renyi_cases(_zcdp)),
    ),
    ZW.privacy(
        "ZW-Prop7-RDP",
        "Proposition 7",
        "Algorithm 1 has Renyi divergence at most min{epsilon^2 a/8, log((sinh(a "
        "epsilon) - sinh((a - 1) epsilon))/sinh(epsilon))/(a - 1)} at order a.",
        Relation.MONOTONE,
        _renyi,
        at_most(_renyi_cases(_renyi)),
    ),
    ZW.privacy(
        "ZW-Prop7-range",
        "Proposition 7, by Durfee & Rogers 2019",
        "The privacy losses of Algorithm 1 on a pair differ by at most epsilon.",
        Relation.MONOTONE,
        _range,
        at_most(_range_cases),
    ),
    ZW.privacy(
        "ZW-Prop7-sharp",
        "Proposition 7 with the exact curve of bounded range",
        "Algorithm 1 has at most the Renyi divergence of the worst pair of two "
        "outcomes whose losses differ by epsilon; never more than Proposition 7 "
        "allows.",
        Relation.MONOTONE,
        _bounded_range,
        at_most(_renyi_cases(_bounded_range)),
    ),
)
