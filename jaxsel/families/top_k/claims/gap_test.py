"""Zhu & Wang 2022, Corollary 19 and Theorem 20: Algorithms 4 and 5, which test a gap."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.families.top_k.claims.instances import (
    gap_test,
    hockey_sticks,
    lost_mass,
    pools,
    renyi_rows,
    size_sides,
    worst_row,
)
from jaxsel.families.top_k.claims.neighbours import gap_pairs, release_delta
from jaxsel.families.top_k.claims.parameters import (
    Beta,
    Delta,
    Deviation,
    Epsilon,
    FailureOfTest,
    Order,
)
from jaxsel.families.top_k.gaps import (
    fail_probability,
    gap_for_success,
    gap_for_success_printed,
    pass_probability,
    threshold_factor,
)
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.papers import ZW

_TOLERANCE = 1e-12


# --- Corollary 19 ---------------------------------------------------------------------


def _gaussian(
    *, order: Order = 2.0, noise_scale: Deviation = 1.0, delta_t: FailureOfTest = 0.1
) -> float:
    """Renyi bound of Algorithm 4 given events of probability 1 - delta_t.

    order/(2 noise_scale^2).
    """
    del delta_t
    return order / (2.0 * noise_scale**2)


def _laplace(*, epsilon: Epsilon = 1.0, delta_t: FailureOfTest = 0.1) -> float:
    """Delta of Algorithm 5, with noise of scale 1/epsilon, at epsilon: delta_t."""
    del epsilon
    return delta_t


def _laplace_half(*, epsilon: Epsilon = 1.0, delta_t: FailureOfTest = 0.1) -> float:
    """Delta of Algorithm 5, with noise of scale 1/epsilon, at epsilon: delta_t / 2."""
    del epsilon
    return delta_t / 2.0


def _one_size(gaps: np.ndarray, size: int) -> np.ndarray:
    chosen = np.zeros(gaps.shape)
    chosen[:, size] = 1.0
    return chosen


def _gaussian_cases(budget: Budget) -> Iterator[Case]:
    for scale, delta_t in itertools.product((0.5, 2.0), (0.1, 1e-4)):
        tested = gap_test(scale, delta_t)
        setting = {"noise_scale": scale, "delta_t": delta_t}
        for pairs in pools(budget):
            yield delta_t, lost_mass(pairs, tested), f"events left out, {setting}"
            for size in range(pairs[0].shape[1] - 1):
                chosen = functools.partial(_one_size, size=size)
                sides = size_sides(pairs, chosen, tested, failure=delta_t)
                for order in (2.0, 8.0, 40.0):
                    claimed = _gaussian(order=order, **setting)
                    seen, where = worst_row(renyi_rows(sides, order), pairs)
                    yield claimed, seen, f"{order=:g}, {setting}, {where}"


def _laplace_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, delta_t in itertools.product((0.3, 1.0, 3.0), (0.1, 1e-4)):
        tested = gap_test(1.0 / epsilon, delta_t, "laplace")
        for pairs in pools(budget):
            for size in range(pairs[0].shape[1] - 1):
                chosen = functools.partial(_one_size, size=size)
                sides = size_sides(pairs, chosen, tested)
                seen, where = worst_row(hockey_sticks(sides, epsilon), pairs)
                claimed = _laplace(epsilon=epsilon, delta_t=delta_t)
                text = f"{epsilon=:g}, {delta_t=:g}, size {size + 1}, {where}"
                yield claimed, seen, text


def _laplace_half_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon, delta_t in itertools.product((0.1, 1.0, 3.0), (0.1, 1e-3, 1e-6)):
        for gap, other, same_set in gap_pairs():
            chances = pass_probability([gap, other], 1.0 / epsilon, delta_t, "laplace")
            passed, passed_there = chances.tolist()
            exact = release_delta(epsilon, passed, passed_there, same_set)
            claimed = _laplace_half(epsilon=epsilon, delta_t=delta_t)
            yield claimed, exact, f"{gap} -> {other}, {epsilon=:g}, {delta_t=:g}"


# --- Theorem 20 -----------------------------------------------------------------------


def _enough_gaussian(*, epsilon: Epsilon = 1.0, delta: Delta = 1e-6, beta: Beta = 0.1) -> float:
    """Gap that Algorithm 4 releases with probability at least 1 - beta.

    1 + 4 (log(1/delta) + log(1/beta))/epsilon, with noise scale sqrt(2
    log(1.25/delta))/epsilon and delta the test's failure probability, too.
    """
    return gap_for_success_printed(epsilon, delta, beta)


def _enough_laplace(
    *, epsilon: Epsilon = 1.0, delta: FailureOfTest = 1e-6, beta: Beta = 0.1
) -> float:
    """Gap that Algorithm 5, with noise of scale 1/epsilon, releases with probability at
    least 1 - beta: 1 + (log(1/delta) + log(1/beta))/epsilon."""
    return gap_for_success_printed(epsilon, delta, beta, "laplace")


def _enough_aligned(
    *, epsilon: Epsilon = 1.0, delta: FailureOfTest = 1e-6, beta: Beta = 0.1
) -> float:
    """Gap that Algorithm 4 releases with probability 1 - beta, at equal zCDP.

    With noise of standard deviation 1/epsilon, whose rho = epsilon^2/2 is that of the
    Laplace test: 1 + (sqrt(2 log(1/delta)) + sqrt(2 log(1/beta)))/epsilon.
    """
    return 1.0 + (threshold_factor(delta) + threshold_factor(beta)) / epsilon


def _enough_gaussian_cases(budget: Budget) -> Iterator[Case]:
    del budget
    levels = (1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.99)
    for epsilon, delta, beta in itertools.product((0.1, 1.0), levels, levels):
        scale = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
        gap = _enough_gaussian(epsilon=epsilon, delta=delta, beta=beta)
        failure = float(fail_probability(gap, scale, delta))
        yield beta, failure, f"{epsilon=:g}, {delta=:g}, {beta=:g}"


def _needed_cases(evaluate: Callable[..., float], noise: str) -> Callable[[Budget], Iterator[Case]]:
    """The stated gap suffices: its failure probability is at most beta, and it is no
    less than the exact requirement."""

    def cases(budget: Budget) -> Iterator[Case]:
        del budget
        levels = (1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9)
        for epsilon, delta, beta in itertools.product((0.1, 1.0), levels, levels):
            setting = {"epsilon": epsilon, "delta": delta, "beta": beta}
            gap = evaluate(**setting)
            chance = pass_probability(gap, 1.0 / epsilon, delta, noise)
            yield beta, 1.0 - float(chance), f"failure probability, {setting}"
            exact = gap_for_success(1.0 / epsilon, delta, beta, noise)
            yield gap, exact, f"exact requirement, {setting}"

    return cases


STATEMENTS = (
    ZW.privacy(
        "ZW-Cor19-Gaussian",
        "Corollary 19 for Algorithm 4",
        "Algorithm 4 is delta_t-approximate (a, a/(2 s^2))-Renyi DP.",
        Relation.MONOTONE,
        _gaussian,
        at_most(_gaussian_cases),
    ),
    ZW.privacy(
        "ZW-Cor19-Laplace",
        "Corollary 19 for Algorithm 5",
        "Algorithm 5 is (epsilon, delta_t)-DP.",
        Relation.MONOTONE,
        _laplace,
        at_most(_laplace_cases, tolerance=_TOLERANCE),
    ),
    ZW.utility(
        "ZW-Thm20-Laplace",
        "Theorem 20 for Algorithm 5",
        "A gap of 1 + (log(1/delta) + log(1/beta))/epsilon is released with "
        "probability at least 1 - beta.",
        _enough_laplace,
        at_most(_needed_cases(_enough_laplace, "laplace"), tolerance=_TOLERANCE),
    ),
    ZW.utility(
        "ZW-Thm20-aligned",
        "below Theorem 20, for Algorithm 4 with noise 1/epsilon",
        "At equal zCDP a gap of 1 + (sqrt(2 log(1/delta)) + sqrt(2 "
        "log(1/beta)))/epsilon is released with probability at least 1 - beta.",
        _enough_aligned,
        at_most(_needed_cases(_enough_aligned, "gaussian"), tolerance=_TOLERANCE),
    ),
    ZW.remark(
        "R-ZW-3",
        "Theorems 8, 11 and 20, Corollary 19",
        "True, and loose: of the m of Theorem 8 only m - 1 gaps compete in Algorithm 1, "
        "so that log(m - 1) suffices; by Corollary 19 PTR with Laplace noise costs "
        "delta_t, and it passes the test at q_k <= 1 with probability delta_t/2; the "
        "constant 4 of Theorem 20 leaves slack, the exact requirement being 1 + s (sqrt(2 "
        "log(1/delta)) + Phi^-1(1 - beta)), s the noise scale. At delta = 0 the epsilon of "
        "Theorem 11 is infinite.",
        holds=(
            ZW.privacy(
                "ZW-Cor19-Laplace-half",
                "Corollary 19 for Algorithm 5, with half the delta",
                "Algorithm 5 (PTR with Laplace noise) is (epsilon, delta_t/2)-DP.",
                Relation.MONOTONE,
                _laplace_half,
                at_most(_laplace_half_cases, tolerance=_TOLERANCE),
            ),
            "ZW-Thm8-gaps",
            ZW.utility(
                "ZW-Thm20",
                "Theorem 20 for PTR with Gaussian noise",
                "With noise scale sqrt(2 log(1.25/delta))/epsilon, a gap of 1 + 4 "
                "(log(1/delta) + log(1/beta))/epsilon is released with probability at "
                "least 1 - beta.",
                _enough_gaussian,
                at_most(_enough_gaussian_cases, tolerance=_TOLERANCE),
            ),
        ),
    ),
)
