"""Labels by votes of teachers: Examples 13 and 14 of Zhu & Wang 2022, and PATE."""

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.conversions import zcdp_to_epsilon
from jaxsel.accounting.single_run.divergences import profile_delta, renyi_divergence
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.top_k.baselines import label_renyi, labels_renyi
from jaxsel.families.top_k.claims.instances import (
    Sides,
    gap_laws,
    gap_test,
    random_pairs,
    size_sides,
)
from jaxsel.families.top_k.votes import scaled_votes

_PAPER = "Zhu & Wang 2022"
_ORDERS = (1.2, 2.0, 10.0)


# --- Example 13 -----------------------------------------------------------------------


def _example_13(*, order: float = 2.0, noise_scale: float = 4.0) -> float:
    """Renyi bound order/noise_scale^2 of the class with the most noisy votes.

    Args:
      order: in (1, inf).
      noise_scale: standard deviation of the noise on each count, > 0.
    """
    order = check_interval("order", order, 1.0, math.inf)
    return float(label_renyi(order, noise_scale))


def _example_13_cases(budget: Budget) -> Iterator[Case]:
    """One teacher votes for another class; exact laws by quadrature."""
    generator = np.random.default_rng(budget.seed + 13)
    for _ in range(max(1, min(budget.cases, 60))):
        classes = int(generator.integers(2, 5))
        votes = generator.integers(0, 5, size=classes).astype(float)
        votes[0] += 1.0
        other = votes.copy()
        other[0] -= 1.0
        other[-1] += 1.0
        scale = float(generator.uniform(0.5, 5.0))
        laws = [noisy_max_law(side / scale, "gaussian") for side in (votes, other)]
        for order in _ORDERS:
            claimed = _example_13(order=order, noise_scale=scale)
            for first, second in (laws, laws[::-1]):
                seen = float(renyi_divergence(first, second, order))
                where = f"votes {votes.tolist()} -> {other.tolist()}, {scale=!r}"
                yield claimed, seen, f"{where}, {order=:g}"


# --- Example 14 -----------------------------------------------------------------------


def _example_14(
    *, rho: float = 0.5, queries: int = 2, delta: float = 0.01, delta_t: float = 0.01
) -> float:
    """Epsilon of several answers of StableTopK at delta + queries * delta_t.

    queries * rho + 2 sqrt(queries * rho log(1/delta)).

    Args:
      rho: of one answer, > 0.
      queries: T, >= 1.
      delta: in (0, 1).
      delta_t: failure probability of each test, in (0, 1).
    """
    check_interval("delta_t", delta_t, 0.0, 1.0)
    total = check_integer("queries", queries, 1) * check_positive("rho", rho)
    return zcdp_to_epsilon(total, delta)


def _product(laws: np.ndarray, times: int) -> np.ndarray:
    """Joint law of independent answers, row by row of ``laws`` in turn."""
    joint = np.ones(1)
    for number in range(times):
        joint = np.outer(joint, laws[number]).ravel()
    return joint


def _example_14_cases(budget: Budget) -> Iterator[Case]:
    """One user in several histograms of three candidates, each answered afresh."""
    pairs = random_pairs(budget._replace(cases=max(1, min(budget.cases, 60)) * 3), 3)
    for rho, delta_t in ((0.5, 0.01), (0.05, 0.05)):
        scale = 1.0 / math.sqrt(rho)
        selected = functools.partial(gap_laws, scale=scale)
        sides = size_sides(pairs, selected, gap_test(scale, delta_t))
        for row, queries in itertools.product(range(0, len(sides.first), 3), (2, 3)):
            here = slice(row, row + queries)
            laws = [_product(side[here], queries) for side in Sides(*sides)]
            laws = [law / law.sum() for law in laws]
            for delta in (0.05, 1e-4):
                setting = {"rho": rho, "queries": queries, "delta": delta}
                epsilon = _example_14(**setting, delta_t=delta_t)
                seen = float(profile_delta(laws[0], laws[1], epsilon))
                counts = [side[here].tolist() for side in pairs]
                where = f"{counts[0]} -> {counts[1]}"
                yield delta + queries * delta_t, seen, f"{setting}, {where}"


# --- PATE -----------------------------------------------------------------------------


def _all_labels(
    *, order: float = 2.0, noise_scale: float = 4.0, labels: int = 40
) -> float:
    """Renyi bound of noisy votes on all labels: order labels/(2 noise_scale^2).

    Args:
      order: in (1, inf).
      noise_scale: standard deviation of the noise on each count, > 0.
      labels: m, >= 1.
    """
    order = check_interval("order", order, 1.0, math.inf)
    return float(labels_renyi(order, noise_scale, check_integer("labels", labels, 1)))


def _scaled_labels(
    *, order: float = 2.0, noise_scale: float = 4.0, most: float = 8.0
) -> float:
    """Renyi bound with each teacher's votes scaled to ``most`` in all.

    order most/(2 noise_scale^2).

    Args:
      order: in (1, inf).
      noise_scale: standard deviation of the noise on each count, > 0.
      most: tau, > 0.
    """
    order = check_interval("order", order, 1.0, math.inf)
    return float(labels_renyi(order, noise_scale, most))


def _votes_cases(scaled: bool):
    """One teacher less; the released bits and the noisy votes behind them."""

    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed + 15)
        for _ in range(max(1, min(budget.cases, 100))):
            labels = int(generator.integers(1, 6))
            votes = generator.integers(0, 2, size=(6, labels)).astype(float)
            most = float(generator.integers(1, 4)) if scaled else math.inf
            total, fewer = scaled_votes(votes, most), scaled_votes(votes[1:], most)
            scale = float(generator.uniform(0.5, 4.0))
            chances = [
                special.ndtr((side - 3.0) / scale * sign)
                for side, sign in itertools.product((total, fewer), (1.0, -1.0))
            ]
            for order in _ORDERS:
                setting = {"order": order, "noise_scale": scale}
                claimed = (
                    _scaled_labels(**setting, most=most)
                    if scaled
                    else _all_labels(**setting, labels=labels)
                )
                # Labels are independent: divergences add.
                seen = sum(
                    float(renyi_divergence([a, b], [c, d], order))
                    for a, b, c, d in zip(*chances, strict=True)
                )
                where = f"{votes.astype(int).tolist()} without the first, {setting}"
                yield claimed, seen, f"released labels, {where}, {most=:g}"
                moved = float(np.sum((total - fewer) ** 2))
                noisy = order * moved / (2.0 * scale**2)
                yield claimed, noisy, f"noisy votes, {where}, {most=:g}"

    return cases


CLAIMS = (
    Claim(
        id="ZW-Ex13",
        source=f"{_PAPER}, Example 13",
        statement=(
            "The class with the most votes after N(0, s^2) on each is (a, a/s^2)-Renyi "
            "DP if one teacher changes its vote."
        ),
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_example_13,
        check=at_most(_example_13_cases),
    ),
    Claim(
        id="ZW-Ex14",
        source=f"{_PAPER}, Example 14",
        statement=(
            "T answers of StableTopK are (T rho + 2 sqrt(T rho log(1/delta)), delta + T "
            "delta_t)-DP, as T delta_t-approximate T rho-zCDP implies."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_example_14,
        check=at_most(_example_14_cases, tolerance=1e-12),
    ),
    Claim(
        id="BASE-PATE",
        source="Papernot et al. 2018, on many labels",
        statement=(
            "Releasing every label whose votes plus N(0, s^2) exceed a threshold is (a, "
            "a m/(2 s^2))-Renyi DP for one teacher more or less."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_all_labels,
        check=at_most(_votes_cases(scaled=False)),
    ),
    Claim(
        id="BASE-PATE-tau",
        source=f"{_PAPER}, Section 5 (EXP3), PATE-tau",
        statement=(
            "With each teacher's votes scaled to at most tau in all it is (a, a tau/(2 "
            "s^2))-Renyi DP."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_scaled_labels,
        check=at_most(_votes_cases(scaled=True)),
    ),
)
