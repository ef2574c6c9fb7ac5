"""Zhu & Wang 2022, Theorem 11 and Example 14: StableTopK (Algorithm 2), once and several times."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.closed_forms import gaussian_renyi
from jaxsel.accounting.single_run.conversions import zcdp_to_epsilon
from jaxsel.families.top_k.claims.instances import (
    Pairs,
    Sides,
    gap_test,
    hockey_sticks,
    lost_mass,
    pools,
    random_pairs,
    renyi_rows,
    size_sides,
    worst_row,
)
from jaxsel.families.top_k.claims.neighbours import delta_at_claim, gaps_of
from jaxsel.families.top_k.gaps import fail_probability, threshold_factor
from jaxsel.families.top_k.laws import largest_gap_law
from jaxsel.families.top_k.parameters import Delta, FailureOfTest, Order, Rho
from jaxsel.families.top_k.scales import stable_top_k_scales
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.domains import whole
from jaxsel.language.papers import ZW

_TOLERANCE = 1e-12
_BUDGETS = ((0.5, 0.1), (0.02, 1e-3), (4.0, 0.01))  # rho, delta_t


def stable(rho: float, delta_t: float):
    """StableTopK with the scales with which it runs, as two functions of the gaps.

    The first returns the law of the size, the second the chances to pass and to fail the test.
    """
    select, test = stable_top_k_scales({"rho": rho})
    selected = functools.partial(largest_gap_law, noise_scale=select)
    return selected, gap_test(test, delta_t)


@ZW.privacy("ZW-Thm11", "Theorem 11", Relation.MONOTONE)
def converted(*, rho: Rho = 0.5, delta: Delta = 0.01, delta_t: FailureOfTest = 0.1) -> float:
    """StableTopK is (rho + 2 sqrt(rho log(1/delta)), delta + delta_t)-DP."""
    return zcdp_to_epsilon(rho, delta)


def _deltas(sides: Sides, allowed: float) -> Callable[[float], tuple[float, float]]:
    """To judge a claimed epsilon: returns 1 and the largest exact delta of all pairs at it.

    The delta is in units of the allowed one.
    """
    return lambda epsilon: (1.0, float(np.max(hockey_sticks(sides, epsilon))) / allowed)


def _one_leader(most: int) -> Iterator[Pairs]:
    """Pairs of two candidates: one has 0, ..., most - 1 votes, or one more, and the other has none.

    Where the test passes with a small probability only, one vote changes this by a large factor.
    """
    votes = np.stack([np.arange(most), np.zeros(most, int)], axis=1)
    more = votes + np.array([1, 0])
    yield votes, more
    yield more, votes


@converted.bounds(tolerance=_TOLERANCE)
def exact_deltas(budget):
    for (rho, delta_t), pairs in itertools.product(_BUDGETS, pools(budget)):
        sides = size_sides(pairs, *stable(rho, delta_t))
        for delta in (0.05, 1e-6):
            point = {"rho": rho, "delta": delta, "delta_t": delta_t}
            _, where = worst_row(hockey_sticks(sides, converted(**point)), pairs)
            yield point, _deltas(sides, delta + delta_t), where
    for rho, pairs in itertools.product((0.5, 4.0), _one_leader(30)):
        point = {"rho": rho, "delta": 1e-6, "delta_t": 1e-9}
        sides = size_sides(pairs, *stable(rho, 1e-9))
        _, where = worst_row(hockey_sticks(sides, converted(**point)), pairs)
        yield point, _deltas(sides, 1e-6 + 1e-9), where


@ZW.privacy("ZW-Thm11-zCDP", "Theorem 11", Relation.MONOTONE)
def concentrated(*, rho: Rho = 0.5, order: Order = 2.0, delta_t: FailureOfTest = 0.1) -> float:
    """StableTopK is delta_t-approximate rho-zCDP: given events of probability 1 - delta_t it is
    rho-zCDP."""
    return rho * order


@concentrated.bounds()
def given_events(budget):
    for (rho, delta_t), pairs in itertools.product(_BUDGETS, pools(budget)):
        selected, tested = stable(rho, delta_t)
        where = f"probability of the events left out, {rho=:g}, {delta_t=:g}"
        yield Judged(delta_t, lost_mass(pairs, tested), where)
        sides = size_sides(pairs, selected, tested, failure=delta_t)
        for order in (1.1, 2.0, 8.0, 40.0):
            point = {"rho": rho, "order": order, "delta_t": delta_t}
            yield point, *worst_row(renyi_rows(sides, order), pairs)


@ZW.privacy("ZW-Thm11-halves", "Theorem 11, proof", Relation.MONOTONE)
def half(*, rho: Rho = 0.5, order: Order = 2.0) -> float:
    """Selecting the size with Gumbel noise of scale 1/sqrt(rho) on the gaps, and testing its gap
    with Gaussian noise of the same scale, are rho/2-zCDP each."""
    return rho * order / 2.0


def step_cases(
    budget: Budget, order: float, select_scale: float, test_scale: float
) -> Iterator[tuple[float, str]]:
    """The Renyi divergences of selecting the size, over all pairs, and of the noisy gap.

    Args:
      budget: of the check.
      order: of the divergences.
      select_scale, test_scale: of the Gumbel noise that selects, and of the Gaussian test.
    """
    for pairs in pools(budget):
        laws = (largest_gap_law(gaps_of(side), select_scale) for side in pairs)
        seen, where = worst_row(renyi_rows(Sides(*laws), order), pairs)
        yield seen, f"selecting the size, {order=:g}, {where}"
    noisy = float(gaussian_renyi(order, test_scale))
    yield noisy, f"noisy gap that moves by 1, {order=:g}"


@half.bounds()
def steps(budget):
    for rho, order in itertools.product((0.02, 0.5), (1.5, 8.0)):
        for seen, where in step_cases(budget, order, *stable_top_k_scales({"rho": rho})):
            yield {"rho": rho, "order": order}, seen, where


@ZW.utility("ZW-Thm11-utility", "Theorem 11")
def enough_gap(*, rho: Rho = 0.5, delta_t: FailureOfTest = 0.1) -> float:
    """If the selected gap exceeds 1 + 2 sqrt(2 log(1/delta_t)/rho), the set is released with
    probability at least 1 - delta_t."""
    return 1.0 + 2.0 * threshold_factor(delta_t) / math.sqrt(rho)


@enough_gap.bounds(
    grid(rho=(1e-5, 0.02, 0.5, 4.0), delta_t=(0.4, 0.1, 1e-3, 1e-9), more=(0.0, 0.5, 10.0)),
    tolerance=_TOLERANCE,
)
def larger_gaps(rho, delta_t, more):
    _, test = stable_top_k_scales({"rho": rho})
    return lambda gap: (delta_t, float(fail_probability(gap + more, test, delta_t)))


@ZW.privacy("ZW-Ex14", "Example 14", Relation.MONOTONE)
def answers(
    *,
    rho: Rho = 0.5,
    queries: Annotated[int, whole("T, how many answers", at_least=1)] = 2,
    delta: Delta = 0.01,
    delta_t: FailureOfTest = 0.01,
) -> float:
    """T answers of StableTopK are (T rho + 2 sqrt(T rho log(1/delta)), delta + T delta_t)-DP, as T
    delta_t-approximate T rho-zCDP implies."""
    return converted(rho=queries * rho, delta=delta, delta_t=delta_t)


def product(laws: np.ndarray, times: int) -> np.ndarray:
    """The joint law of independent answers, whose laws are the first ``times`` rows of ``laws``."""
    return functools.reduce(lambda one, two: np.outer(one, two).ravel(), laws[:times])


@answers.bounds(tolerance=_TOLERANCE)
def one_user_in_all(budget):
    """Exact deltas where one user is in several histograms, each of which is answered afresh.

    They have three candidates. In the first ones the user breaks ties in all; others are random.
    """
    pairs = random_pairs(budget._replace(cases=max(1, min(budget.cases, 60)) * 3), 3)
    ties = (np.zeros((3, 3), np.int64), np.tile([0, 1, 0], (3, 1)))
    pairs = (np.concatenate([ties[0], pairs[0]]), np.concatenate([ties[1], pairs[1]]))
    for rho, delta_t in ((0.5, 0.01), (0.05, 0.05), (0.02, 0.25)):
        sides = size_sides(pairs, *stable(rho, delta_t))
        for row, queries in itertools.product(range(0, len(sides.first), 3), (2, 3)):
            here = slice(row, row + queries)
            first, second = (product(side[here], queries) for side in sides)
            first, second = first / first.sum(), second / second.sum()
            where = " -> ".join(str(side[here].tolist()) for side in pairs)
            for delta in (0.05, 1e-4):
                point = {"rho": rho, "queries": queries, "delta": delta, "delta_t": delta_t}
                yield point, delta_at_claim(delta + queries * delta_t, first, second), where
    # The same histogram every time, at small deltas.
    rho, delta, delta_t, queries = 0.5, 1e-6, 1e-9, 2
    for pairs in _one_leader(30):
        sides, allowed = size_sides(pairs, *stable(rho, delta_t)), delta + queries * delta_t
        twice = Sides(*(np.array([np.outer(law, law).ravel() for law in side]) for side in sides))
        point = {"rho": rho, "queries": queries, "delta": delta, "delta_t": delta_t}
        _, where = worst_row(hockey_sticks(twice, answers(**point)), pairs)
        yield point, _deltas(twice, allowed), f"{where}, twice"
