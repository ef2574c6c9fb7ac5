"""Zhu & Wang 2022, Theorem 12: StableTopK with given k (Algorithm 3)."""

import functools
import itertools
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta, renyi_divergence
from jaxsel.families.top_k.claims.parameters import FailureOfTest, Order, Rho
from jaxsel.families.top_k.claims.stable_top_k import epsilon_at, step_cases
from jaxsel.families.top_k.gaps import fail_probability, pass_probability
from jaxsel.families.top_k.laws import (
    BEYOND,
    fixed_top_k_law,
    gaps_of,
    largest_gap_law,
    peeled_law,
    prefix_masks,
    top_k_set_law,
    vote_neighbours,
)
from jaxsel.families.top_k.scales import fixed_peel_scale, fixed_top_k_scale
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.domains import choice, whole
from jaxsel.language.papers import ZW

_BUDGETS = ((0.5, 0.1), (4.0, 0.01))  # rho, delta_t
_DELTAS = (0.05, 1e-6)
_STEPS = ("selecting", "testing", "peeling")


_HISTOGRAMS = ((5, 5, 0), (3, 3, 2, 0), (4, 3, 2, 1), (2, 2, 2, 2), (7, 6, 1, 1))


def _fixed_law(counts, k: int, rho: float, delta_t: float, weight: float, beyond: str):
    scale = fixed_top_k_scale(rho)
    away = np.abs(np.arange(1, len(counts)) - k)
    selected = largest_gap_law(gaps_of(counts), scale, -weight * away)
    return fixed_top_k_law(
        counts, k, selected, scale, delta_t, functools.partial(fixed_peel_scale, rho), beyond=beyond
    )


# --- Privacy --------------------------------------------------------------------------


def _epsilon_cases(budget: Budget) -> Iterator[Case]:
    """Everything counts as released: the size, the test's result, and the set."""
    del budget
    for counts, (rho, delta_t) in itertools.product(_HISTOGRAMS, _BUDGETS):
        for k in range(1, len(counts)):
            beyond = BEYOND[k % 3]
            settings = (k, rho, delta_t, 0.3, beyond)
            law = _fixed_law(counts, *settings).ravel()
            for other in vote_neighbours(counts):
                found = _fixed_law(other, *settings).ravel()
                where = f"{counts} -> {other.astype(int).tolist()}, {k=}, {rho=:g}"
                for delta in _DELTAS:
                    epsilon = epsilon_at(rho=rho, delta=delta, delta_t=delta_t)
                    total = law.sum(), found.sum()
                    seen = profile_delta(law / total[0], found / total[1], epsilon)
                    text = f"{where}, {delta_t=:g}, {delta=:g}, {beyond}"
                    yield delta + delta_t, float(seen), text


def _renyi(*, rho: Rho = 0.5, order: Order = 2.0, delta_t: FailureOfTest = 0.1) -> float:
    """Renyi bound rho * order of Algorithm 3 given events of probability 1 - delta_t."""
    del delta_t
    return rho * order


def _given_events(counts, law: np.ndarray, same: np.ndarray, rho, delta_t) -> np.ndarray:
    """The law given the events of Lemma 18: where the top sets of the two sides differ,
    the test has not passed."""
    failed = fail_probability(gaps_of(counts), fixed_top_k_scale(rho), delta_t)
    kept = law.copy()
    kept[~same, 1] = 0.0
    kept[~same, 0] /= failed[~same, None]
    return (kept / kept.sum()).ravel()


def _renyi_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for counts, (rho, delta_t) in itertools.product(_HISTOGRAMS, _BUDGETS):
        for k in range(1, len(counts)):
            settings = (k, rho, delta_t, 0.3, BEYOND[k % 3])
            law = _fixed_law(counts, *settings)
            for other in vote_neighbours(counts):
                found = _fixed_law(other, *settings)
                same = (prefix_masks(counts) == prefix_masks(other))[:-1]
                where = f"{counts} -> {other.astype(int).tolist()}, {k=}, {rho=:g}"
                sides = [
                    _given_events(side, one, same, rho, delta_t)
                    for side, one in ((counts, law), (other, found))
                ]
                for order in (1.1, 8.0):
                    claimed = _renyi(rho=rho, order=order, delta_t=delta_t)
                    seen = max(
                        float(renyi_divergence(one, two, order))
                        for one, two in (sides, sides[::-1])
                    )
                    yield claimed, seen, f"{where}, {delta_t=:g}, {order=:g}"
                passed = pass_probability(gaps_of(other), fixed_top_k_scale(rho), delta_t)
                lost = float(np.max(np.where(same, 0.0, passed)))
                yield delta_t, lost, f"events left out, {where}, {delta_t=:g}"


def _share(
    *,
    rho: Rho = 0.5,
    order: Order = 2.0,
    step: Annotated[str, choice(_STEPS, "of Algorithm 3")] = "selecting",
) -> float:
    """Renyi bound of one step: rho * order/4, rho * order/2 of peeling."""
    return rho * order / (2.0 if step == "peeling" else 4.0)


def _share_cases(budget: Budget) -> Iterator[Case]:
    for rho, order in itertools.product((0.02, 0.5), (1.5, 8.0)):
        scale = fixed_top_k_scale(rho)
        for seen, where in step_cases(budget, order, scale, scale):
            yield _share(rho=rho, order=order), seen, f"{rho=:g}, {where}"
        claimed = _share(rho=rho, order=order, step="peeling")
        for picks in (1, 2, 3):
            levels = np.array([2.0, 2.0, 2.0, 2.0])
            sides = [
                peeled_law(side / fixed_peel_scale(rho, picks), picks)
                for side in (levels, levels + np.array([1.0, 1.0, 0.0, 0.0]))
            ]
            for one, two in (sides, sides[::-1]):
                seen = float(renyi_divergence(one, two, order))
                yield claimed, seen, f"{rho=:g}, {picks} picks of four, {order=:g}"


# --- Utility --------------------------------------------------------------------------


def _expected_hits(law: np.ndarray, wanted: int) -> float:
    hits = np.bitwise_count(np.arange(law.size) & wanted)
    return float(law @ hits)


def _peeling_recall(
    *, rho: Rho = 0.5, k: Annotated[int, whole("size of the set", at_least=1, at_most=4)] = 2
) -> float:
    """Expected share of the true top k that peeling with rho/2 finds in (7, 6, 1, 1, 0)."""
    counts = np.array([7.0, 6.0, 1.0, 1.0, 0.0])
    law = top_k_set_law(counts / fixed_peel_scale(rho, k), k)
    return _expected_hits(law, int(prefix_masks(counts)[k - 1])) / k


def _recall_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 12)
    steps = generator.choice([0, 0, 1, 2, 5, 9], size=(max(1, min(budget.cases, 40)), 5))
    random = generator.permuted(np.cumsum(steps, axis=1), axis=1)
    fixed = [(7, 6, 1, 1, 0), (5, 5, 5, 0, 0), (9, 1, 1, 1, 1), *random.tolist()]
    for counts, rho in itertools.product(fixed, (0.1, 2.0)):
        for k in (1, 2, 4):
            wanted = int(prefix_masks(counts)[k - 1])
            law = _fixed_law(counts, k, rho, 0.1, 0.2, "keep").sum(axis=(0, 1))
            scale = fixed_peel_scale(rho, k)
            plain = top_k_set_law(np.array(counts) / scale, k)
            where = f"{counts}, {k=}, {rho=:g}"
            yield _expected_hits(plain, wanted), _expected_hits(law, wanted), where


STATEMENTS = (
    ZW.privacy(
        "ZW-Thm12",
        "Theorem 12",
        "StableTopK with given k, its size, test and set released, is (rho + 2 "
        "sqrt(rho log(1/delta)), delta + delta_t)-DP, as delta_t-approximate rho-zCDP "
        "implies.",
        Relation.MONOTONE,
        epsilon_at,
        at_most(_epsilon_cases, tolerance=1e-12),
    ),
    ZW.privacy(
        "ZW-Thm12-zCDP",
        "Theorem 12",
        "StableTopK with given k is delta_t-approximate rho-zCDP.",
        Relation.MONOTONE,
        _renyi,
        at_most(_renyi_cases),
    ),
    ZW.privacy(
        "ZW-Thm12-shares",
        "Theorem 12, proof",
        "Selecting the size and testing its gap are rho/4-zCDP each, and peeling, "
        "however many are picked, rho/2-zCDP.",
        Relation.MONOTONE,
        _share,
        at_most(_share_cases),
    ),
    ZW.utility(
        "ZW-Thm12-utility",
        "Section 3.3, below Theorem 12",
        "StableTopK with given k, choosing k out of a larger set that passes, is never "
        "worse than peeling with half of the budget: it finds at least as many of the "
        "true top k in expectation.",
        _peeling_recall,
        at_least(_recall_cases),
    ),
)
