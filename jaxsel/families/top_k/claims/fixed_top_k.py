"""Zhu & Wang 2022, Theorem 12: StableTopK with given k (Algorithm 3)."""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.base import Budget, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.domains import whole
from jaxsel.families.top_k.baselines import exponential_top_k_scale
from jaxsel.families.top_k.claims.parameters import Rho
from jaxsel.families.top_k.claims.stable_top_k import epsilon_at
from jaxsel.families.top_k.laws import (
    BEYOND,
    fixed_top_k_law,
    gaps_of,
    largest_gap_law,
    prefix_masks,
    top_k_set_law,
    vote_neighbours,
)
from jaxsel.papers import ZW

_BUDGETS = ((0.5, 0.1), (4.0, 0.01))  # rho, delta_t
_DELTAS = (0.05, 1e-6)


_HISTOGRAMS = ((5, 5, 0), (3, 3, 2, 0), (4, 3, 2, 1), (2, 2, 2, 2), (7, 6, 1, 1))


def _fixed_law(counts, k: int, rho: float, delta_t: float, weight: float, beyond: str):
    scale = math.sqrt(2.0 / rho)
    away = np.abs(np.arange(1, len(counts)) - k)
    selected = largest_gap_law(gaps_of(counts), scale, -weight * away)
    return fixed_top_k_law(
        counts, k, selected, scale, delta_t,
        lambda picks: exponential_top_k_scale(rho / 2.0, picks), beyond=beyond,
    )  # fmt: skip


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


def _expected_hits(law: np.ndarray, wanted: int) -> float:
    hits = np.bitwise_count(np.arange(law.size) & wanted)
    return float(law @ hits)


def _peeling_recall(
    *,
    rho: Rho = 0.5,
    k: Annotated[int, whole("size of the set", at_least=1, at_most=4)] = 2,
) -> float:
    """Expected share of the true top k that peeling with rho/2 finds in (7, 6, 1, 1, 0)."""
    counts = np.array([7.0, 6.0, 1.0, 1.0, 0.0])
    law = top_k_set_law(counts / exponential_top_k_scale(rho / 2.0, k), k)
    return _expected_hits(law, int(prefix_masks(counts)[k - 1])) / k


def _recall_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 12)
    steps = generator.choice(
        [0, 0, 1, 2, 5, 9], size=(max(1, min(budget.cases, 40)), 5)
    )
    random = generator.permuted(np.cumsum(steps, axis=1), axis=1)
    fixed = [(7, 6, 1, 1, 0), (5, 5, 5, 0, 0), (9, 1, 1, 1, 1), *random.tolist()]
    for counts, rho in itertools.product(fixed, (0.1, 2.0)):
        for k in (1, 2, 4):
            wanted = int(prefix_masks(counts)[k - 1])
            law = _fixed_law(counts, k, rho, 0.1, 0.2, "keep").sum(axis=(0, 1))
            scale = exponential_top_k_scale(rho / 2.0, k)
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
