"""Liu & Talwar 2019, Theorems 1.3, 3.2 and 3.3: random stopping (Algorithm 2)."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.tuning.bounds.random_stopping import (
    percentile_failure,
    percentile_failure_bound,
    stopping_failure,
    stopping_law,
)
from jaxsel.families.tuning.claims.base_pairs import approximate_pairs, pure_pairs
from jaxsel.families.tuning.claims.parameters import Delta, Epsilon, Stop
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most, equal
from jaxsel.language.domains import number, whole
from jaxsel.language.papers import LT

Share = Annotated[float, number("p, the best share", above=0.0, at_most=1.0)]


# --- Privacy --------------------------------------------------------------------------


def _pure(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon 3 epsilon of Algorithm 2, for every gamma in (0, 1]."""
    return 3.0 * epsilon


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        gammas = [float(10.0 ** generator.uniform(-6.0, 0.0))]
        if pair.where.startswith("pairs"):
            # three outcomes approach the bound as gamma and the middle mass vanish
            gammas += [1e-4, 1.0]
        for gamma in gammas:
            tuned = stopping_law(pair.first, gamma), stopping_law(pair.second, gamma)
            claimed = _pure(epsilon=exact_epsilon(pair.first, pair.second))
            yield claimed, exact_epsilon(*tuned), f"gamma={gamma!r}, {pair.where}"


def _approximate_sharp(*, epsilon: Epsilon = 1.0, delta: Delta = 1e-6, gamma: Stop = 0.1) -> float:
    """delta of Algorithm 2 at 3 epsilon: d/(gamma + d (1 - gamma))."""
    del epsilon
    return stopping_failure(delta, gamma)


def _approximate_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
        delta = stopping_failure(pair.delta, gamma)
        tuned = stopping_law(pair.first, gamma), stopping_law(pair.second, gamma)
        seen = float(profile_delta(*tuned, _pure(epsilon=pair.epsilon)))
        # relative: delta may be tiny
        yield 1.0, seen / delta, f"share of delta, gamma={gamma!r}, {pair.where}"


# --- Utility --------------------------------------------------------------------------


def _draws(*, gamma: Stop = 0.1) -> float:
    """Expected number of draws of Algorithm 2: 1/gamma."""
    return 1.0 / gamma


def _draws_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        gamma = float(10.0 ** generator.uniform(-3.0, 0.0))
        draw = np.arange(1, math.ceil(45.0 / gamma) + 2)
        pmf = gamma * (1.0 - gamma) ** (draw - 1.0)
        mean = float(np.sum(draw * pmf))
        yield 1.0, mean / _draws(gamma=gamma), f"E[draws] times gamma, gamma={gamma!r}"


def _halting(
    *,
    gamma: Annotated[float, number("stopping probability", at_least=0.0, at_most=1.0)] = 0.0,
    draws: Annotated[int, whole("how many draws", at_least=1)] = 10**6,
) -> float:
    """Probability 1 - (1 - gamma)^draws that Algorithm 2 has put out a sample by then.

    The statement says that it does so, surely, in the end.
    """
    if gamma == 1.0:
        return 1.0
    return -math.expm1(draws * math.log1p(-gamma))


def _halting_cases(budget: Budget) -> Iterator[Case]:
    for gamma in (1.0, 1e-3, 0.0):
        # at gamma > 0 the chance of no output is below 1e-300 by then
        draws = 10**6
        where = f"an output within {draws} draws, gamma={gamma:g}"
        yield 1.0, _halting(gamma=gamma, draws=draws), where


def _percentile(*, share: Share = 0.1, gamma: Stop = 0.01) -> float:
    """Probability gamma/p, at most, that the output is below the best share p."""
    return percentile_failure_bound(share, gamma)


def _percentile_printed(*, share: Share = 0.3, gamma: Stop = 0.1) -> float:
    """The printed sum over j of (1 - gamma)^(j-1) gamma (1 - p)^j."""
    return percentile_failure(share, gamma)


def _missed(q: np.ndarray, share: float, gamma: float) -> float:
    """P[out < Q^(p)], Q^(p) = sup{z : P[score >= z] > p}, for distinct scores."""
    reaching = np.cumsum(q)
    # the best level that more than p of the mass reaches
    level = min(int(np.searchsorted(reaching, share, side="right")), q.size - 1)
    return float(np.sum(stopping_law(q, gamma)[level + 1 :]))


def _percentile_instances(budget: Budget) -> Iterator[tuple[np.ndarray, float, float]]:
    yield np.array([0.5, 0.5]), 0.3, 0.1
    fine = np.full(1000, 1e-3)
    for share in (0.5, 0.1, 0.01):
        for gamma in (0.5, 0.01, 1e-4):
            yield fine, share - 5e-4, gamma
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        q = generator.dirichlet(np.full(int(generator.integers(2, 12)), 0.5)) + 1e-9
        share = float(generator.uniform(0.001, 1.0))
        yield q / q.sum(), share, float(10.0 ** generator.uniform(-4.0, 0.0))


def _percentile_cases(budget: Budget) -> Iterator[Case]:
    for q, share, gamma in _percentile_instances(budget):
        where = f"{q.size} outcomes, best {q[0]:.17g}, p={share!r}, gamma={gamma!r}"
        yield _percentile(share=share, gamma=gamma), _missed(q, share, gamma), where


def _percentile_printed_cases(budget: Budget) -> Iterator[Case]:
    for masses in ([0.5, 0.5], [0.2, 0.3, 0.5]):
        for share, gamma in ((0.3, 0.1), (0.1, 0.01)):
            claimed = _percentile_printed(share=share, gamma=gamma)
            seen = _missed(np.array(masses), share, gamma)
            yield claimed, seen, f"q={masses}, p={share:g}, gamma={gamma:g}"


STATEMENTS = (
    LT.remark(
        "R-LT-19",
        "Theorems 1.3, 3.2 to 3.5; proof of Theorem 3.3",
        "gamma is said to be in [0, 1]. At gamma = 0 Algorithm 2 never halts, and the "
        "hard stops (1/gamma) log(...) are not defined: read gamma > 0. In the proof of "
        "Theorem 3.3 the second '=' is '<=' where more than p of the runs reach Q^(p); "
        "the theorem stands.",
        readings=(
            LT.utility(
                "LT-Thm1.3-printed",
                "Theorem 1.3, Algorithm 2",
                "For every gamma in [0, 1], 0 included, the algorithm outputs a "
                "sample, that is, with probability 1.",
                _halting,
                at_least(_halting_cases),
            ),
            LT.utility(
                "LT-Thm3.3-printed",
                "proof of Theorem 3.3, second equality",
                "The output of Algorithm 2 is below Q^(p) with probability exactly "
                "sum_j (1 - gamma)^(j-1) gamma (1 - p)^j.",
                _percentile_printed,
                equal(_percentile_printed_cases, 1e-9),
            ),
        ),
        holds=(
            LT.privacy(
                "LT-Thm3.2",
                "Theorems 1.3(a) and 3.2",
                "Drawing from an epsilon-DP base, stopping with probability gamma after "
                "each draw, and releasing the best draw (Algorithm 2) is 3 epsilon-DP, "
                "for every gamma in (0, 1].",
                Relation.BASE,
                _pure,
                at_most(_pure_cases),
                aliases=("LT-Thm1.3",),
            ),
            LT.utility(
                "LT-Thm3.3",
                "Theorem 3.3",
                "With Q^(p) = sup{z : P[score >= z] > p}, the output of Algorithm 2 is "
                "below Q^(p) with probability at most gamma/p.",
                _percentile,
                at_most(_percentile_cases),
            ),
        ),
    ),
    LT.utility(
        "LT-Thm1.3(b)",
        "Theorem 1.3(b)",
        "Algorithm 2 makes 1/gamma draws on average.",
        _draws,
        equal(_draws_cases, 1e-9),
    ),
    LT.privacy(
        "LT-Alg2-sharp",
        "Algorithm 2, for an approximate base",
        "For an (epsilon, d)-DP base Algorithm 2 is (3 epsilon, d/(gamma + d (1 - gamma)))-DP.",
        Relation.BASE,
        _approximate_sharp,
        at_most(_approximate_cases),
    ),
)
