"""Cohen et al. 2022, Theorem 6: top-k selection with high confidence."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_positive
from jaxsel.families.top_k.confident_laws import (
    confident_gap_bound,
    confident_settings,
    confident_top_k_law,
    corrected_delta,
    peeling_gap_bound,
    set_gaps,
    smallest_gap_law,
    subsets,
)
from jaxsel.families.top_k.laws import top_k_set_law

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"
_SOURCE = f"{_PAPER}, Theorem 6"


# --- Privacy --------------------------------------------------------------------------


def _epsilon(*, epsilon: float = 1.0) -> float:
    """epsilon, with delta = 0.

    Args:
      epsilon: > 0.
    """
    return check_positive("epsilon", epsilon)


def _delta(*, delta: float = 0.1) -> float:
    """delta, at epsilon.

    Args:
      delta: in (0, 1).
    """
    return probability("delta", delta)


def _pairs(budget: Budget, cases: int):
    """(scores, moved, k)."""
    generator = np.random.default_rng(budget.seed)
    yield np.array([3.0, 2.0, 1.0, 0.0]), np.array([2.0, 1.0, 2.0, 1.0]), 2
    for number in range(min(budget.cases, cases)):
        size = int(generator.integers(2, 7)) if number % 4 else 8
        k = int(generator.integers(1, size)) if number % 4 else 6
        scores = generator.integers(0, 9, size) * generator.choice([1.0, 10.0])
        yield scores, scores + generator.integers(-1, 2, size), k


def _laws(budget: Budget, cases: int):
    generator = np.random.default_rng(budget.seed + 1)
    for scores, moved, k in _pairs(budget, cases):
        epsilon = float(generator.choice([0.2, 1.0, 5.0]))
        delta, beta = generator.uniform(0.05, 0.95, 2).tolist()
        settings = confident_settings(epsilon, delta, beta, k)
        first = confident_top_k_law(scores, settings)
        second = confident_top_k_law(moved, settings)
        where = (
            f"{scores.tolist()} to {moved.tolist()}, {k=}, {epsilon=!r}, {delta=!r}, "
            f"{beta=!r}"
        )
        yield first, second, settings, epsilon, delta, where


def _pure_cases(budget: Budget) -> Iterator[Case]:
    for first, second, settings, epsilon, _, where in _laws(budget, 150):
        if settings.pure:
            yield epsilon, exact_epsilon(first, second), where


def _approximate_cases(budget: Budget) -> Iterator[Case]:
    for first, second, _, epsilon, delta, where in _laws(budget, 150):
        yield delta, float(profile_delta(first, second, epsilon)), where


def _with_correction(*, epsilon: float = 1.0, delta: float = 0.1) -> float:
    """(2 + e^epsilon) delta/10, at epsilon.

    Args:
      epsilon: > 0.
      delta: in (0, 1).
    """
    return corrected_delta(epsilon, delta)


def _corrected_law(scores: np.ndarray, settings) -> np.ndarray:
    """Law of the set if bad sets, and none, are replaced by the true top k."""
    law = confident_top_k_law(scores, settings)
    bad = set_gaps(scores, settings.k) > confident_gap_bound(scores.size, settings)
    best = np.argsort(-scores, kind="stable")[: settings.k]
    place = np.searchsorted(subsets(scores.size, settings.k), np.sum(1 << best))
    fixed = np.where(bad, 0.0, law[:-1])
    fixed[place] += law[-1] + law[:-1][bad].sum()
    return fixed


def _corrected_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 2)
    for scores, moved, k in _pairs(budget, 100):
        epsilon = float(generator.choice([0.2, 1.0, 2.0]))
        delta = float(generator.uniform(0.05, 0.95))
        settings = confident_settings(epsilon, delta / 10.0, delta / 10.0, k)
        first, second = (
            _corrected_law(scores, settings),
            _corrected_law(moved, settings),
        )
        claimed = _with_correction(epsilon=epsilon, delta=delta)
        where = f"{scores.tolist()} to {moved.tolist()}, {k=}, {epsilon=!r}, {delta=!r}"
        yield claimed, float(profile_delta(first, second, epsilon)), where


# --- Utility --------------------------------------------------------------------------


def _failing(*, beta: float = 0.1) -> float:
    """beta, the chance that the gap exceeds its bound or that nothing is released.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


def _two_levels(lead: float, m: int, k: int, each: float) -> np.ndarray:
    """Chances that k rounds pick just the k candidates ahead of m - k by ``lead``, and
    that they do not."""
    left = np.arange(k, 0, -1, dtype=np.float64)
    log_hit = -np.sum(np.log1p((m - k) * math.exp(-each * lead / 2.0) / left))
    return np.array([math.exp(log_hit), -math.expm1(log_hit)])


def _ladders(budget: Budget):
    """(scores in units of the bound, k): gaps on both sides of the bound."""
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 60)):
        size = int(generator.integers(2, 8))
        yield generator.uniform(0.0, 1.5, size), int(generator.integers(1, size))


def _boosted_gaps(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for units, k in _ladders(budget):
        epsilon, beta = (
            float(generator.choice([0.2, 1.0])),
            float(generator.uniform(0.01, 0.99)),
        )
        settings = confident_settings(epsilon, 1e-6, beta, k)
        limit = confident_gap_bound(units.size, settings)
        law = confident_top_k_law(units * limit, settings)
        bad = set_gaps(units * limit, k) > limit
        where = (
            f"scores {units.tolist()} times the bound, {k=}, {epsilon=!r}, {beta=!r}"
        )
        yield beta, float(law[-1] + law[:-1][bad].sum()), where
    for m, k in ((2, 1), (100, 10), (10**6, 1000)):
        for beta in (0.5, 0.1, 1e-3, 1e-9):
            settings = confident_settings(1.0, 1e-6, beta, k)
            lead = confident_gap_bound(m, settings) * (1.0 + 1e-9)
            chances = _two_levels(lead, m, k, settings.round_epsilon)
            law = smallest_gap_law([-lead, lead], chances, settings)
            yield beta, float(law[1:].sum()), f"{k=} of {m=} lead by the bound, {beta=}"


def _peeled_gaps(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 2)
    for units, k in _ladders(budget):
        each, beta = (
            float(generator.uniform(0.01, 2.0)),
            float(generator.uniform(0.01, 0.99)),
        )
        limit = peeling_gap_bound(units.size, k, each, beta)
        law = top_k_set_law(units * limit * each / 2.0, k)[subsets(units.size, k)]
        bad = set_gaps(units * limit, k) > limit
        where = f"scores {units.tolist()} times the bound, {k=}, {each=!r}, {beta=!r}"
        yield beta, float(law[bad].sum()), where
    for m, k in ((2, 1), (100, 1), (100, 10), (10**6, 1000)):
        for beta in (0.5, 0.1, 1e-3, 1e-9):
            lead = peeling_gap_bound(m, k, 0.1, beta) * (1.0 + 1e-9)
            missed = float(_two_levels(lead, m, k, 0.1)[1])
            yield beta, missed, f"{k=} of {m=} lead by the bound, each=0.1, {beta=}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm6",
        source=f"{_SOURCE}, corrected constants",
        statement="The set with the smallest noisy gap of N, N uniform on 0..T, is "
        "(epsilon, delta)-DP: T = ceil(4/beta), k rounds at (epsilon/6, delta/T) each, "
        "Lap(12/epsilon) on the gap.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_approximate_cases),
        erratum="CL-E10",
    ),
    Claim(
        id="CL-Thm6-pure",
        source=f"{_SOURCE}, corrected constants",
        statement="If its k rounds are epsilon/(6 k)-DP each, it is epsilon-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_epsilon,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="CL-Thm6-corrected",
        source=f"{_SOURCE}, case beta < delta",
        statement="Run at delta/10 and beta = delta/10, with sets beyond the bound "
        "replaced by the true top k, it has at most (2 + e^epsilon) delta/10 at "
        "epsilon.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_with_correction,
        check=at_most(_corrected_cases),
    ),
    Claim(
        id="CL-Thm6-utility",
        source=f"{_SOURCE}, corrected constants",
        statement="With probability 1 - beta a set is released whose gap is at most "
        "(2/epsilon_r) log(4 m k) + (12/epsilon) (log 2 + log(2 T/beta)), epsilon_r "
        "being one round's share.",
        kind="utility",
        relation=None,
        evaluate=_failing,
        check=at_most(_boosted_gaps),
        erratum="CL-E10",
    ),
    Claim(
        id="CL-Sec1.4.2-peeling",
        source=f"{_PAPER}, Section 1.4.2, with the factor 2",
        statement="k rounds of epsilon_r-DP exponential mechanisms have a gap above "
        "(2/epsilon_r) log(m k/beta) with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=_failing,
        check=at_most(_peeled_gaps),
    ),
)
