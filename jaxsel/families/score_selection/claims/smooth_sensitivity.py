"""Theorem 5.2, fourth part: scores of small smooth sensitivity, here medians.

Beside Laplace noise scaled to smooth sensitivity (Nissim, Raskhodnikova & Smith 2007).
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errors import check_interval
from jaxsel.families.score_selection.candidate_laws import (
    noisy_candidates,
    released_delta,
)
from jaxsel.families.score_selection.claims.instances import (
    chance_of_loss,
    failure_given_candidates,
    selection_law,
)
from jaxsel.families.score_selection.settings import (
    smooth_selection,
    smooth_selection_loss,
    smooth_selection_smoothness,
)
from jaxsel.families.score_selection.smooth_sensitivity import (
    median,
    median_smooth_sensitivity,
    smooth_laplace_scale,
    smooth_laplace_smoothness,
)
from jaxsel.repetitions import geometric, point_mass

_PAPER = "Liu & Talwar 2019"
_NRS = "Nissim, Raskhodnikova & Smith 2007"


# --- Smooth sensitivity of the median -------------------------------------------------


def _smooth(
    *, low: int = 1, middle: int = 1, high: int = 4, smoothness: float = 0.3
) -> float:
    """Smooth sensitivity of the median of three whole numbers in [0, 4].

    Args:
      low, middle, high: the numbers, in any order.
      smoothness: eta > 0.
    """
    return median_smooth_sensitivity([low, middle, high], 4, smoothness)


def _by_definition(high: int, size: int, eta: float) -> dict[tuple[int, ...], float]:
    """max over all lists y of e^(-eta distance) times the local sensitivity at y."""
    lists = np.array(list(itertools.product(range(high + 1), repeat=size)))
    medians = np.array([median(row) for row in lists])
    # values replaced between each two lists
    distance = (lists[:, None, :] != lists).sum(axis=2)
    moved = np.abs(medians[:, None] - medians)
    local = np.where(distance <= 1, moved, 0.0).max(axis=1)
    smooth = (np.exp(-eta * distance) * local).max(axis=1)
    return {
        tuple(row): value
        for row, value in zip(lists.tolist(), smooth.tolist(), strict=True)
    }


def _smooth_cases(budget: Budget) -> Iterator[Case]:
    for high, size in ((4, 3), (3, 4), (2, 5)):
        for eta in (0.05, 0.3, 1.5):
            for values, smooth in _by_definition(high, size, eta).items():
                found = median_smooth_sensitivity(values, high, eta)
                yield found, smooth, f"median of {values} in [0, {high}], {eta=}"


# --- Laplace noise scaled to it -------------------------------------------------------


def _delta(*, delta: float = 1e-3) -> float:
    """Delta claimed at epsilon: delta.

    Args:
      delta: in (0, 1).
    """
    return check_interval("delta", delta, 0.0, 1.0)


def _noise_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(e, d, 1.0, 1.0) for e in (0.1, 1.0, 3.0) for d in (1e-6, 1e-2, 0.5)]
    for _ in range(min(budget.cases, 20)):
        epsilon = float(generator.uniform(0.05, 3.0))
        delta = float(10.0 ** generator.uniform(-9.0, -0.1))
        settings.append((epsilon, delta, *generator.uniform(-1.0, 1.0, 2)))
    for epsilon, delta, grown, moved in settings:
        # Smooth sensitivities 1 and e^(grown eta); the value moves by the smaller.
        other = math.exp(grown * smooth_laplace_smoothness(epsilon, delta))
        shift = moved * min(1.0, other)
        first, second = (
            noisy_candidates([score], smooth_laplace_scale(bound, epsilon))
            for score, bound in ((0.0, 1.0), (shift, other))
        )
        seen = released_delta(first, second, point_mass(1), epsilon)
        where = f"{epsilon=!r}, {delta=!r}, bounds 1 and {other!r}, {shift=!r}"
        yield 1.0, seen / _delta(delta=delta), f"share of delta, {where}"


# --- Selection ------------------------------------------------------------------------


def _selection_delta(*, delta: float = 1e-3) -> float:
    """Delta claimed for the selection at epsilon: delta.

    Args:
      delta: in (0, 1).
    """
    return check_interval("delta", delta, 0.0, 1.0)


def _extremes(budget: Budget) -> Iterator[Case]:
    """Scores and bounds that move as far as smoothness lets them."""
    generator = np.random.default_rng(budget.seed)
    for number in range(min(budget.cases, 8)):
        count = int(generator.integers(2, 8))
        epsilon = float(generator.uniform(0.2, 3.0))
        delta = float(10.0 ** generator.uniform(-6.0, -0.5))
        beta = float(10.0 ** generator.uniform(-2.0, -0.1))
        eta = smooth_selection_smoothness(count, epsilon, delta, beta)
        bounds = 10.0 ** generator.uniform(-0.7, 0.7, count)
        signs = generator.choice([-1.0, 1.0], (2, count))
        if number % 3 == 0:
            signs = np.where(np.arange(count) == 0, 1.0, -1.0) * np.ones((2, 1))
        others = bounds * np.exp(eta * signs[0])
        scores = 3.0 * generator.uniform(-1.0, 1.0, count)
        moved = scores + signs[1] * np.minimum(bounds, others)
        first = smooth_selection(scores, bounds, epsilon, beta)
        second = smooth_selection(moved, others, epsilon, beta)
        seen = released_delta(
            first.candidates, second.candidates, geometric(first.gamma), epsilon
        )
        where = f"instance {number}: K={count}, {epsilon=!r}, {delta=!r}, {beta=!r}"
        yield 1.0, seen / _selection_delta(delta=delta), f"share of delta, {where}"


def _tables(budget: Budget) -> Iterator[Case]:
    """Tables of whole numbers, one list a candidate; one column is replaced."""
    generator = np.random.default_rng(budget.seed + 1)
    for number in range(min(budget.cases, 4)):
        count, size, high = 3, int(generator.integers(20, 200)), 20
        epsilon, delta, beta = 2.0, 0.05, 0.3
        table = generator.binomial(high, generator.uniform(0.2, 0.8, (count, 1)),
                                   (count, size))  # fmt: skip
        other = table.copy()
        other[:, 0] = generator.choice([0, high], count)
        eta = smooth_selection_smoothness(count, epsilon, delta, beta)
        first, second = (
            smooth_selection(
                [median(row) for row in side],
                [median_smooth_sensitivity(row, high, eta) for row in side],
                epsilon,
                beta,
            )
            for side in (table, other)
        )
        seen = released_delta(
            first.candidates, second.candidates, geometric(first.gamma), epsilon
        )
        where = f"table {number}: {count} lists of {size} in [0, {high}]"
        yield 1.0, seen / delta, f"share of {delta=}, {epsilon=}, {beta=}, {where}"


def _privacy_cases(budget: Budget) -> Iterator[Case]:
    yield from _extremes(budget)
    yield from _tables(budget)


def _utility_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for number in range(min(budget.cases, 100)):
        count = int(generator.integers(2, 20))
        epsilon = float(generator.uniform(0.2, 3.0))
        beta = float(10.0 ** generator.uniform(-3.0, -0.05))
        bounds = 10.0 ** generator.uniform(-2.0, 1.0, count)
        loss = smooth_selection_loss(np.zeros(count), bounds, epsilon, beta)
        scores = -1.2 * loss * generator.choice([0.0, 1.0, 2.0], count)
        law = selection_law(smooth_selection(scores, bounds, epsilon, beta))
        seen = chance_of_loss(
            scores, law, smooth_selection_loss(scores, bounds, epsilon, beta)
        )
        where = f"instance {number}: K={count}, {epsilon=!r}, {beta=!r}"
        yield failure_given_candidates(beta=beta, candidates=count), seen, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="NRS-median",
        source=f"{_NRS}, Section 3.1",
        statement="The smooth sensitivity of the median is the largest "
        "e^(-eta k) (x_(m+t) - x_(m+t-k-1)) over k >= 0 and t = 0..k+1.",
        kind="identity",
        relation=None,
        evaluate=_smooth,
        check=equal(_smooth_cases, 1e-12),
    ),
    Claim(
        id="NRS-Cor2.4",
        source=f"{_NRS}, Corollary 2.4",
        statement="With S an eta-smooth bound, eta <= epsilon/(2 log(2/delta)), a "
        "value with Laplace noise of scale 2 S/epsilon is (epsilon, delta)-DP (checked "
        "for epsilon <= 3).",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_noise_cases),
    ),
    Claim(
        id="LT-Thm5.2-smooth-privacy",
        source=f"{_PAPER}, Theorem 5.2, smooth sensitivity, corrected",
        statement="Random stopping with gamma = beta/(2 K) over q_i - 2 b_i "
        "log(K/beta) + Lap(b_i), b_i = 12 S_i/epsilon, is (epsilon, delta)-DP, the "
        "noisy score of the chosen candidate released as well, if S_i is eta-smooth "
        "with, for e = epsilon/3, eta <= e/(2 log(2/(gamma delta))) and eta <= "
        "log(1 + e/(8 log(K/beta))).",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_selection_delta,
        check=at_most(_privacy_cases),
        erratum="LT-E18",
    ),
    Claim(
        id="LT-Thm5.2-smooth-utility",
        source=f"{_PAPER}, Theorem 5.2, smooth sensitivity, corrected",
        statement="The chosen candidate's score is at least q_j - (24 S_j/epsilon) "
        "log(K/beta) for every j, except with probability beta (1 + 1/K).",
        kind="utility",
        relation=None,
        evaluate=failure_given_candidates,
        check=at_most(_utility_cases),
        erratum="LT-E18",
    ),
)
