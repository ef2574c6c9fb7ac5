"""Zhu & Wang 2022, Theorem 12: StableTopK with given k (Algorithm 3)."""

import functools
import itertools
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.top_k.claims.neighbours import delta_at_claim
from jaxsel.families.top_k.claims.stable_top_k import converted, step_cases
from jaxsel.families.top_k.gaps import fail_probability, pass_probability
from jaxsel.families.top_k.laws import (
    fixed_top_k_law,
    gaps_of,
    largest_gap_law,
    peeled_law,
    prefix_masks,
    top_k_set_law,
    vote_neighbours,
)
from jaxsel.families.top_k.parameters import BEYOND, FailureOfTest, Order, Rho
from jaxsel.families.top_k.scales import fixed_peel_scale, fixed_top_k_scale
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged
from jaxsel.language.domains import choice, numbers, whole
from jaxsel.language.papers import ZW

_STEPS = ("selecting", "testing", "peeling")
_BUDGETS = ((0.5, 0.1), (4.0, 0.01))  # rho, delta_t
_HISTOGRAMS = ((5, 5, 0), (3, 3, 2, 0), (4, 3, 2, 1), (2, 2, 2, 2), (7, 6, 1, 1))


def _fixed_law(counts, k: int, rho: float, delta_t: float, weight: float, beyond: str):
    """``fixed_top_k_law`` at the scales of Algorithm 3, with regulariser -weight |j - k|."""
    scale = fixed_top_k_scale(rho)
    away = np.abs(np.arange(1, len(counts)) - k)
    selected = largest_gap_law(gaps_of(counts), scale, -weight * away)
    return fixed_top_k_law(
        counts, k, selected, scale, delta_t, functools.partial(fixed_peel_scale, rho), beyond=beyond
    )


# --- Privacy --------------------------------------------------------------------------


@ZW.privacy("ZW-Thm12", "Theorem 12", Relation.MONOTONE, formula=converted)
def converted_fixed():
    """StableTopK with given k, its size, test and set released, is (rho + 2 sqrt(rho log(1/delta)),
    delta + delta_t)-DP, as delta_t-approximate rho-zCDP implies."""


def neighbours():
    """Cases of two neighbours: rho, delta_t, the counts and exact law of each, and all in words.

    The laws are of all that is released, if the size and the test's result count as released, too.
    """
    for counts, (rho, delta_t) in itertools.product(_HISTOGRAMS, _BUDGETS):
        for k in range(1, len(counts)):
            settings = (k, rho, delta_t, 0.3, BEYOND[k % 3])
            law = _fixed_law(counts, *settings)
            for other in vote_neighbours(counts):
                found = _fixed_law(other, *settings)
                where = f"{counts} -> {other.astype(int).tolist()}, {k=}, {BEYOND[k % 3]}"
                yield rho, delta_t, (counts, law), (other, found), where


@converted_fixed.bounds(tolerance=1e-12)
def exact_deltas(budget):
    for rho, delta_t, (_, law), (_, found), where in neighbours():
        laws = (law.ravel() / law.sum(), found.ravel() / found.sum())
        for delta in (0.05, 1e-6):
            point = {"rho": rho, "delta": delta, "delta_t": delta_t}
            yield point, delta_at_claim(delta + delta_t, *laws), where


@ZW.privacy("ZW-Thm12-zCDP", "Theorem 12", Relation.MONOTONE)
def concentrated(*, rho: Rho = 0.5, order: Order = 2.0, delta_t: FailureOfTest = 0.1) -> float:
    """StableTopK with given k is delta_t-approximate rho-zCDP: given events of probability 1 -
    delta_t it is rho-zCDP."""
    return rho * order


def _given_events(counts, law: np.ndarray, same: np.ndarray, rho, delta_t) -> np.ndarray:
    """The law given the events of Lemma 18: no test has passed at a size where the top sets differ.

    Args:
      counts: of the candidates, on this side.
      law: see ``fixed_top_k_law``.
      same: Bool["m-1"], whether the top sets of each size agree on the two sides.
      rho, delta_t: of the algorithm.
    """
    failed = fail_probability(gaps_of(counts), fixed_top_k_scale(rho), delta_t)
    kept = law.copy()
    kept[~same, 1] = 0.0
    kept[~same, 0] /= failed[~same, None]
    return (kept / kept.sum()).ravel()


@concentrated.bounds()
def divergences(budget):
    for rho, delta_t, one, two, where in neighbours():
        counts, other = one[0], two[0]
        same = (prefix_masks(counts) == prefix_masks(other))[:-1]
        first, second = (_given_events(*side, same, rho, delta_t) for side in (one, two))
        for order in (1.1, 8.0):
            point = {"rho": rho, "order": order, "delta_t": delta_t}
            yield point, float(renyi_divergence(first, second, order)), where
            yield point, float(renyi_divergence(second, first, order)), f"from the second, {where}"
        passed = pass_probability(gaps_of(other), fixed_top_k_scale(rho), delta_t)
        lost = float(np.max(np.where(same, 0.0, passed)))
        yield Judged(delta_t, lost, f"events left out, {where}, {rho=:g}, {delta_t=:g}")


@ZW.privacy("ZW-Thm12-shares", "Theorem 12, proof", Relation.MONOTONE)
def share(
    *,
    rho: Rho = 0.5,
    order: Order = 2.0,
    step: Annotated[str, choice(_STEPS, "of Algorithm 3")] = "selecting",
) -> float:
    """In StableTopK with given k, selecting the size and testing its gap are rho/4-zCDP each, and
    peeling, however many are picked, is rho/2-zCDP.

    Returns the Renyi bound of one step at ``order``.
    """
    return rho * order / (2.0 if step == "peeling" else 4.0)


@share.bounds()
def steps(budget):
    for rho, order in itertools.product((0.02, 0.5), (1.5, 8.0)):
        scale = fixed_top_k_scale(rho)
        for seen, where in step_cases(budget, order, scale, scale):
            yield {"rho": rho, "order": order, "step": "selecting"}, seen, where
        for picks in (1, 2, 3):
            levels = np.array([[2.0, 2.0, 2.0, 2.0], [3.0, 3.0, 2.0, 2.0]])
            sides = [peeled_law(side, picks) for side in levels / fixed_peel_scale(rho, picks)]
            for one, two in (sides, sides[::-1]):
                seen = float(renyi_divergence(one, two, order))
                point = {"rho": rho, "order": order, "step": "peeling"}
                yield point, seen, f"{picks} picks of four"


# --- Utility --------------------------------------------------------------------------


def _expected_hits(law: np.ndarray, wanted: int) -> float:
    """The mean number of candidates of the mask ``wanted`` in a set with this law."""
    hits = np.bitwise_count(np.arange(law.size) & wanted)
    return float(law @ hits)


@ZW.utility("ZW-Thm12-utility", "Section 3.3, below Theorem 12")
def peeling_recall(
    *,
    rho: Rho = 0.5,
    k: Annotated[int, whole("size of the set", at_least=1, at_most=4)] = 2,
    counts: Annotated[Any, numbers("of each candidate", size=2)] = "7,6,1,1,0",
) -> float:
    """StableTopK with given k, choosing k out of a larger set that passes, is never worse than
    peeling with half of the budget: it finds at least as many of the true top k in expectation.

    Returns the expected share of the true top k that peeling with rho/2 finds.
    """
    if k >= len(counts):
        raise InputError(f"k is {k}; it must be less than the number of counts, {len(counts)}")
    law = top_k_set_law(counts / fixed_peel_scale(rho, k), k)
    return _expected_hits(law, int(prefix_masks(counts)[k - 1])) / k


@peeling_recall.bounds_below()
def recalls(budget):
    generator = np.random.default_rng(budget.seed + 12)
    steps = generator.choice([0, 0, 1, 2, 5, 9], size=(max(1, min(budget.cases, 40)), 5))
    random = generator.permuted(np.cumsum(steps, axis=1), axis=1)
    fixed = [(7, 6, 1, 1, 0), (5, 5, 5, 0, 0), (9, 1, 1, 1, 1), *random.tolist()]
    for counts, rho, k in itertools.product(fixed, (0.1, 2.0), (1, 2, 4)):
        wanted = int(prefix_masks(counts)[k - 1])
        law = _fixed_law(counts, k, rho, 0.1, 0.2, "keep").sum(axis=(0, 1))
        point = {"rho": rho, "k": k, "counts": np.array(counts)}
        yield point, _expected_hits(law, wanted) / k
