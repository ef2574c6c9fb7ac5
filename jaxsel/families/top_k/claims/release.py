"""Releasing the set: Algorithms 2, 4 and 5, Theorems 11 and 20, Corollary 19."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.accounting.single_run.conversions import zcdp_to_epsilon
from jaxsel.base import Budget
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.top_k.claims.instances import (
    gap_laws,
    gap_test,
    hockey_sticks,
    lost_mass,
    pools,
    renyi_rows,
    size_sides,
    worst_row,
)
from jaxsel.families.top_k.claims.statements import release_claim
from jaxsel.families.top_k.gaps import (
    gap_for_success,
    gap_for_success_bound,
    gap_for_success_printed,
    pass_probability,
    stable_top_k_gap,
)

_TOLERANCE = 1e-12
_ORDERS = (1.1, 2.0, 8.0, 40.0)
_BUDGETS = ((0.5, 0.1), (0.02, 1e-3), (4.0, 0.01))  # rho, delta_t
_DELTAS = (0.05, 1e-6)


def _delta_t(delta_t: float) -> float:
    return check_interval("delta_t", delta_t, 0.0, 1.0)


# --- Theorem 11 -----------------------------------------------------------------------


def _theorem_11(
    *, rho: float = 0.5, delta: float = 0.01, delta_t: float = 0.1
) -> float:
    """Epsilon of StableTopK at delta + delta_t: rho + 2 sqrt(rho log(1/delta)).

    Args:
      rho: > 0.
      delta: in (0, 1).
      delta_t: failure probability of the test, in (0, 1).
    """
    _delta_t(delta_t)
    return zcdp_to_epsilon(check_positive("rho", rho), delta)


def _theorem_11_renyi(
    *, rho: float = 0.5, order: float = 2.0, delta_t: float = 0.1
) -> float:
    """Renyi bound rho * order of StableTopK given events of probability 1 - delta_t.

    Args:
      rho: > 0.
      order: in (1, inf).
      delta_t: failure probability of the test, in (0, 1).
    """
    _delta_t(delta_t)
    return check_positive("rho", rho) * check_interval("order", order, 1.0, math.inf)


def _stable(rho: float, delta_t: float):
    """Law of the size, and chances to pass and to fail, of StableTopK."""
    scale = 1.0 / math.sqrt(rho)
    return functools.partial(gap_laws, scale=scale), gap_test(scale, delta_t)


def _theorem_11_cases(budget: Budget) -> Iterator[Case]:
    for (rho, delta_t), pairs in itertools.product(_BUDGETS, pools(budget)):
        sides = size_sides(pairs, *_stable(rho, delta_t))
        for delta in _DELTAS:
            epsilon = _theorem_11(rho=rho, delta=delta, delta_t=delta_t)
            seen, where = worst_row(hockey_sticks(sides, epsilon), pairs)
            yield delta + delta_t, seen, f"{rho=:g}, {delta=:g}, {delta_t=:g}, {where}"


def _theorem_11_renyi_cases(budget: Budget) -> Iterator[Case]:
    for (rho, delta_t), pairs in itertools.product(_BUDGETS, pools(budget)):
        selected, tested = _stable(rho, delta_t)
        setting = f"{rho=:g}, {delta_t=:g}"
        lost = lost_mass(pairs, tested)
        yield delta_t, lost, f"probability of the events left out, {setting}"
        sides = size_sides(pairs, selected, tested, failure=delta_t)
        for order in _ORDERS:
            claimed = _theorem_11_renyi(rho=rho, order=order, delta_t=delta_t)
            seen, where = worst_row(renyi_rows(sides, order), pairs)
            yield claimed, seen, f"{order=:g}, {setting}, {where}"


def _theorem_11_gap(*, rho: float = 0.5, delta_t: float = 0.1) -> float:
    """Gap above which StableTopK releases its set with probability 1 - delta_t.

    1 + 2 sqrt(2 log(1/delta_t)/rho).

    Args:
      rho: > 0.
      delta_t: failure probability of the test, in (0, 1).
    """
    return stable_top_k_gap(rho, _delta_t(delta_t))


def _theorem_11_gap_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for rho, delta_t in itertools.product(
        (1e-5, 0.02, 0.5, 4.0), (0.4, 0.1, 1e-3, 1e-9)
    ):
        gap = _theorem_11_gap(rho=rho, delta_t=delta_t)
        for more in (0.0, 0.5, 10.0):
            seen = 1.0 - pass_probability(gap + more, 1.0 / math.sqrt(rho), delta_t)
            yield delta_t, float(seen), f"{rho=:g}, {delta_t=:g}, gap {gap + more:g}"


# --- Corollary 19 ---------------------------------------------------------------------


def _corollary_19_gaussian(
    *, order: float = 2.0, noise_scale: float = 1.0, delta_t: float = 0.1
) -> float:
    """Renyi bound of Algorithm 4 given events of probability 1 - delta_t.

    order/(2 noise_scale^2).

    Args:
      order: in (1, inf).
      noise_scale: standard deviation of the noise on the gap, > 0.
      delta_t: failure probability of the test, in (0, 1).
    """
    _delta_t(delta_t)
    order = check_interval("order", order, 1.0, math.inf)
    return order / (2.0 * check_positive("noise_scale", noise_scale) ** 2)


def _corollary_19_laplace(*, epsilon: float = 1.0, delta_t: float = 0.1) -> float:
    """Delta of Algorithm 5 at its epsilon: delta_t.

    Args:
      epsilon: > 0; the noise on the gap has scale 1/epsilon.
      delta_t: failure probability of the test, in (0, 1).
    """
    check_positive("epsilon", epsilon)
    return _delta_t(delta_t)


def _one_size(gaps: np.ndarray, size: int) -> np.ndarray:
    chosen = np.zeros(gaps.shape)
    chosen[:, size] = 1.0
    return chosen


def _corollary_19_gaussian_cases(budget: Budget) -> Iterator[Case]:
    for scale, delta_t in itertools.product((0.5, 2.0), (0.1, 1e-4)):
        tested = gap_test(scale, delta_t)
        setting = {"noise_scale": scale, "delta_t": delta_t}
        for pairs in pools(budget):
            yield delta_t, lost_mass(pairs, tested), f"events left out, {setting}"
            for size in range(pairs[0].shape[1] - 1):
                chosen = functools.partial(_one_size, size=size)
                sides = size_sides(pairs, chosen, tested, failure=delta_t)
                for order in _ORDERS[1:]:
                    claimed = _corollary_19_gaussian(order=order, **setting)
                    seen, where = worst_row(renyi_rows(sides, order), pairs)
                    yield claimed, seen, f"{order=:g}, {setting}, {where}"


def _corollary_19_laplace_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, delta_t in itertools.product((0.3, 1.0, 3.0), (0.1, 1e-4)):
        tested = gap_test(1.0 / epsilon, delta_t, "laplace")
        for pairs in pools(budget):
            for size in range(pairs[0].shape[1] - 1):
                chosen = functools.partial(_one_size, size=size)
                sides = size_sides(pairs, chosen, tested)
                seen, where = worst_row(hockey_sticks(sides, epsilon), pairs)
                claimed = _corollary_19_laplace(epsilon=epsilon, delta_t=delta_t)
                text = f"{epsilon=:g}, {delta_t=:g}, size {size + 1}, {where}"
                yield claimed, seen, text


# --- Theorem 20 -----------------------------------------------------------------------


def _theorem_20_laplace(
    *, epsilon: float = 1.0, delta: float = 1e-6, beta: float = 0.1
) -> float:
    """Gap that Algorithm 5 releases with probability at least 1 - beta.

    1 + (log(1/delta) + log(1/beta))/epsilon.

    Args:
      epsilon: > 0; the noise on the gap has scale 1/epsilon.
      delta: failure probability of the test, in (0, 1).
      beta: in (0, 1).
    """
    return gap_for_success_printed(epsilon, delta, beta, "laplace")


def _theorem_20_aligned(
    *, epsilon: float = 1.0, delta: float = 1e-6, beta: float = 0.1
) -> float:
    """Gap that Algorithm 4 releases with probability 1 - beta, at equal zCDP.

    With noise of standard deviation 1/epsilon, whose rho = epsilon^2/2 is that of the
    Laplace test: 1 + (sqrt(2 log(1/delta)) + sqrt(2 log(1/beta)))/epsilon.

    Args:
      epsilon: > 0.
      delta: failure probability of the test, in (0, 1).
      beta: in (0, 1).
    """
    scale = 1.0 / check_positive("epsilon", epsilon)
    return gap_for_success_bound(scale, delta, beta)


def _needed_cases(
    evaluate: Callable[..., float], noise: str
) -> Callable[[Budget], Iterator[Case]]:
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


CLAIMS = (
    release_claim(
        "ZW-Thm11",
        "Theorem 11",
        "StableTopK is (rho + 2 sqrt(rho log(1/delta)), delta + delta_t)-DP.",
        _theorem_11,
        at_most(_theorem_11_cases, tolerance=_TOLERANCE),
    ),
    release_claim(
        "ZW-Thm11-zCDP",
        "Theorem 11",
        "StableTopK is delta_t-approximate rho-zCDP.",
        _theorem_11_renyi,
        at_most(_theorem_11_renyi_cases),
    ),
    release_claim(
        "ZW-Thm11-utility",
        "Theorem 11",
        "If the selected gap exceeds 1 + 2 sqrt(2 log(1/delta_t)/rho), the set is "
        "released with probability at least 1 - delta_t.",
        _theorem_11_gap,
        at_most(_theorem_11_gap_cases, tolerance=_TOLERANCE),
        kind="utility",
    ),
    release_claim(
        "ZW-Cor19-Gaussian",
        "Corollary 19 for Algorithm 4",
        "Algorithm 4 is delta_t-approximate (a, a/(2 s^2))-Renyi DP.",
        _corollary_19_gaussian,
        at_most(_corollary_19_gaussian_cases),
    ),
    release_claim(
        "ZW-Cor19-Laplace",
        "Corollary 19 for Algorithm 5",
        "Algorithm 5 is (epsilon, delta_t)-DP.",
        _corollary_19_laplace,
        at_most(_corollary_19_laplace_cases, tolerance=_TOLERANCE),
    ),
    release_claim(
        "ZW-Thm20-Laplace",
        "Theorem 20 for Algorithm 5",
        "A gap of 1 + (log(1/delta) + log(1/beta))/epsilon is released with probability "
        "at least 1 - beta.",
        _theorem_20_laplace,
        at_most(_needed_cases(_theorem_20_laplace, "laplace"), tolerance=_TOLERANCE),
        kind="utility",
    ),
    release_claim(
        "ZW-Thm20-aligned",
        "below Theorem 20, for Algorithm 4 with noise 1/epsilon",
        "At equal zCDP a gap of 1 + (sqrt(2 log(1/delta)) + sqrt(2 log(1/beta)))/epsilon "
        "is released with probability at least 1 - beta.",
        _theorem_20_aligned,
        at_most(_needed_cases(_theorem_20_aligned, "gaussian"), tolerance=_TOLERANCE),
        kind="utility",
    ),
)
