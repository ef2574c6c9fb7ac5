"""Zhu & Wang 2022, Corollary 19 and Theorem 20: Algorithms 4 and 5, which test a gap."""

import functools
import itertools
import math

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
from jaxsel.families.top_k.gaps import (
    fail_probability,
    gap_for_success,
    gap_for_success_printed,
    pass_probability,
    threshold_factor,
)
from jaxsel.families.top_k.parameters import Beta, Delta, Deviation, Epsilon, FailureOfTest, Order
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.papers import ZW

_TOLERANCE = 1e-12
_LEVELS = (1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9)


def _one_size(gaps: np.ndarray, size: int) -> np.ndarray:
    """The law that selects one size for certain, row by row."""
    chosen = np.zeros(gaps.shape)
    chosen[:, size] = 1.0
    return chosen


@ZW.privacy("ZW-Cor19-Gaussian", "Corollary 19 for Algorithm 4", Relation.MONOTONE)
def gaussian(
    *, order: Order = 2.0, noise_scale: Deviation = 1.0, delta_t: FailureOfTest = 0.1
) -> float:
    """Releasing the top-k set if its gap passes a test with noise N(0, s^2) (Algorithm 4) is
    delta_t-approximate (a, a/(2 s^2))-Renyi DP."""
    return order / (2.0 * noise_scale**2)


@gaussian.bounds()
def given_events(budget):
    for scale, delta_t in itertools.product((0.5, 2.0), (0.1, 1e-4)):
        tested = gap_test(scale, delta_t)
        setting = {"noise_scale": scale, "delta_t": delta_t}
        for pairs in pools(budget):
            yield Judged(delta_t, lost_mass(pairs, tested), f"events left out, {setting}")
            for size in range(pairs[0].shape[1] - 1):
                chosen = functools.partial(_one_size, size=size)
                sides = size_sides(pairs, chosen, tested, failure=delta_t)
                for order in (2.0, 8.0, 40.0):
                    yield {"order": order} | setting, *worst_row(renyi_rows(sides, order), pairs)


@ZW.privacy(
    "ZW-Cor19-Laplace",
    "Corollary 19 for Algorithm 5",
    Relation.MONOTONE,
    loose="a gap of at most 1 passes with probability delta_t/2, so that Algorithm 5 is even "
    "(epsilon, delta_t/2)-DP (ZW-Cor19-Laplace-half), and no pair of data sets shows more",
)
def laplace(*, epsilon: Epsilon = 1.0, delta_t: FailureOfTest = 0.1) -> float:
    """Releasing the top-k set if its gap passes a test with Laplace noise of scale 1/epsilon
    (Algorithm 5) is (epsilon, delta_t)-DP."""
    return delta_t


@laplace.bounds(tolerance=_TOLERANCE)
def all_pairs(budget):
    for epsilon, delta_t in itertools.product((0.3, 1.0, 3.0), (0.1, 1e-4)):
        tested = gap_test(1.0 / epsilon, delta_t, "laplace")
        for pairs in pools(budget):
            for size in range(pairs[0].shape[1] - 1):
                sides = size_sides(pairs, functools.partial(_one_size, size=size), tested)
                seen, where = worst_row(hockey_sticks(sides, epsilon), pairs)
                yield {"epsilon": epsilon, "delta_t": delta_t}, seen, f"size {size + 1}, {where}"


@ZW.privacy(
    "ZW-Cor19-Laplace-half", "Corollary 19 for Algorithm 5, with half the delta", Relation.MONOTONE
)
def laplace_half(*, epsilon: Epsilon = 1.0, delta_t: FailureOfTest = 0.1) -> float:
    """Releasing the top-k set if its gap passes a test with Laplace noise of scale 1/epsilon
    (Algorithm 5) is even (epsilon, delta_t/2)-DP."""
    return delta_t / 2.0


@laplace_half.bounds(grid(epsilon=(0.1, 1.0, 3.0), delta_t=(0.1, 1e-3, 1e-6)), tolerance=_TOLERANCE)
def pairs_of_gaps(epsilon, delta_t):
    for gap, other, same_set in gap_pairs():
        chances = pass_probability([gap, other], 1.0 / epsilon, delta_t, "laplace")
        passed, passed_there = chances.tolist()
        exact = release_delta(epsilon, passed, passed_there, same_set)
        yield exact, f"gaps {gap} -> {other}, same set: {same_set}"


@ZW.utility("ZW-Thm20", "Theorem 20 for PTR with Gaussian noise")
def enough_gaussian(*, epsilon: Epsilon = 1.0, delta: Delta = 1e-6, beta: Beta = 0.1) -> float:
    """If the test of a gap has Gaussian noise of scale sqrt(2 log(1.25/delta))/epsilon and failure
    probability delta, a set of gap 1 + 4 (log(1/delta) + log(1/beta))/epsilon is released with
    probability at least 1 - beta."""
    return gap_for_success_printed(epsilon, delta, beta)


@enough_gaussian.bounds(
    grid(epsilon=(0.1, 1.0), delta=(*_LEVELS, 0.99), beta=(*_LEVELS, 0.99)), tolerance=_TOLERANCE
)
def failure(epsilon, delta, beta):
    scale = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
    return lambda gap: (beta, float(fail_probability(gap, scale, delta)))


@ZW.utility("ZW-Thm20-Laplace", "Theorem 20 for Algorithm 5")
def enough_laplace(
    *, epsilon: Epsilon = 1.0, delta: FailureOfTest = 1e-6, beta: Beta = 0.1
) -> float:
    """If the test of a gap has Laplace noise of scale 1/epsilon and failure probability delta, a
    set of gap 1 + (log(1/delta) + log(1/beta))/epsilon is released with probability at least 1 -
    beta."""
    return gap_for_success_printed(epsilon, delta, beta, "laplace")


@ZW.utility("ZW-Thm20-aligned", "below Theorem 20, for Algorithm 4 with noise 1/epsilon")
def enough_aligned(
    *, epsilon: Epsilon = 1.0, delta: FailureOfTest = 1e-6, beta: Beta = 0.1
) -> float:
    """If the test of a gap has Gaussian noise of scale 1/epsilon, as much zCDP as the Laplace test
    has, a set of gap 1 + (sqrt(2 log(1/delta)) + sqrt(2 log(1/beta)))/epsilon is released with
    probability at least 1 - beta."""
    return 1.0 + (threshold_factor(delta) + threshold_factor(beta)) / epsilon


_SETTINGS = grid(epsilon=(0.1, 1.0), delta=_LEVELS, beta=_LEVELS)


@enough_laplace.bounds(_SETTINGS, tolerance=_TOLERANCE, noise="laplace")
@enough_aligned.bounds(_SETTINGS, tolerance=_TOLERANCE, noise="gaussian")
def sufficient(epsilon, delta, beta, noise):
    """The failure probability at the stated gap, and the least gap that is enough.

    The former is to be at most beta, the latter at most the stated gap.
    """
    scale = 1.0 / epsilon
    passed = functools.partial(pass_probability, noise_scale=scale, delta_t=delta, noise=noise)
    yield lambda gap: (beta, 1.0 - float(passed(gap))), "failure probability"
    yield gap_for_success(scale, delta, beta, noise), "exact requirement"


R_ZW_3 = ZW.remark(
    "R-ZW-3",
    "Theorems 8, 11 and 20, Corollary 19",
    "True, and loose: of the m of Theorem 8 only m - 1 gaps compete in Algorithm 1, "
    "so that log(m - 1) suffices; by Corollary 19 PTR with Laplace noise costs "
    "delta_t, and it passes the test at q_k <= 1 with probability delta_t/2; the "
    "constant 4 of Theorem 20 leaves slack, the exact requirement being 1 + s (sqrt(2 "
    "log(1/delta)) + Phi^-1(1 - beta)), s the noise scale. At delta = 0 the epsilon of "
    "Theorem 11 is infinite.",
    holds=[laplace_half, "ZW-Thm8-gaps", enough_gaussian],
)
