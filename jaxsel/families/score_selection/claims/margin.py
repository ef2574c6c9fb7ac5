"""Theorem 5.2, third part: a best candidate that leads by a margin.

Beside A_dist (Smith & Thakurta 2013; Beimel, Nissim & Stemmer 2013).
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval
from jaxsel.families.score_selection.candidate_laws import released_delta
from jaxsel.families.score_selection.claims.instances import (
    failure,
    neighbours,
    neighbours_of,
    selection_law,
)
from jaxsel.families.score_selection.classical_laws import margin_law, margin_needed
from jaxsel.families.score_selection.settings import (
    margin_selection,
    margin_selection_needed,
)
from jaxsel.repetitions import geometric

_PAPER = "Liu & Talwar 2019"


def _delta(*, delta: float = 1e-6) -> float:
    """Delta claimed at epsilon: delta.

    Args:
      delta: in (0, 1/2].
    """
    return check_interval("delta", delta, 0.0, 0.5, high_open=False)


def _privacy_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for case in neighbours(budget, equal=True, limit=12):
        delta = float(10.0 ** generator.uniform(-6.0, -1.0))
        first, second = (
            margin_selection(scores, 1.0, case.epsilon, delta, case.beta)
            for scores in (case.first, case.second)
        )
        seen = released_delta(
            first.candidates, second.candidates, geometric(first.gamma), case.epsilon
        )
        # Relative: delta may be small.
        yield 1.0, seen / _delta(delta=delta), f"share of {delta=!r}, {case.where}"


def _settings(budget: Budget) -> Iterator[tuple[int, float, float, float, str]]:
    for count in (2, 100, 10**5):
        yield count, 1.0, 1e-6, 0.1, f"K={count}, epsilon=1, delta=1e-6, beta=0.1"
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        count = int(10 ** generator.uniform(0.5, 5.0))
        epsilon = float(generator.uniform(0.1, 3.0))
        delta = float(10.0 ** generator.uniform(-9.0, -1.0))
        beta = float(10.0 ** generator.uniform(-3.0, -0.31))
        where = f"K={count}, {epsilon=!r}, {delta=!r}, {beta=!r}"
        yield count, epsilon, delta, beta, where


def _utility_cases(budget: Budget) -> Iterator[Case]:
    for count, epsilon, delta, beta, where in _settings(budget):
        scores = np.zeros(count)
        scores[0] = margin_selection_needed(count, 1.0, epsilon, delta, beta)
        law = selection_law(margin_selection(scores, 1.0, epsilon, delta, beta))
        yield failure(beta=beta), math.fsum(law[1:]), f"{where}, at the margin"


def _classical_utility_cases(budget: Budget) -> Iterator[Case]:
    for count, epsilon, delta, beta, where in _settings(budget):
        scores = np.zeros(count)
        scores[0] = margin_needed(1.0, epsilon, delta, beta)
        law = margin_law(scores, 1.0, epsilon, delta)
        yield failure(beta=beta), math.fsum(law[1:]), f"{where}, at the margin"


def _classical_privacy_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    cases = [
        (np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1.0, 1e-3, "a lead of 1 lost")
    ]
    for number in range(budget.cases):
        count = int(generator.integers(2, 8))
        epsilon = float(generator.uniform(0.05, 3.0))
        delta = float(10.0 ** generator.uniform(-4.0, -0.31))
        scores = generator.uniform(0.0, 10.0 ** generator.uniform(0.0, 1.5), count)
        moved = neighbours_of(generator, scores, 1.0)
        where = f"random pair {number}: K={count}, {epsilon=!r}, {delta=!r}"
        cases.append((scores, moved, epsilon, delta, where))
    for scores, moved, epsilon, delta, where in cases:
        first, second = (
            margin_law(side, 1.0, epsilon, delta) for side in (scores, moved)
        )
        seen = float(profile_delta(first, second, epsilon))
        yield 1.0, seen / _delta(delta=delta), f"share of delta, {where}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm5.2-margin-privacy",
        source=f"{_PAPER}, Theorem 5.2, margin-based mechanism, corrected",
        statement="Random stopping with gamma = beta/(2 K) over scores with Laplace "
        "noise of scale 3 s/epsilon, truncated to log(1/(gamma delta)) scales, is "
        "(epsilon, delta)-DP, the noisy score of the chosen candidate released as "
        "well, for e^(epsilon/3) - 1 <= 2 (1 - gamma delta).",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_privacy_cases),
        erratum="LT-E17",
    ),
    Claim(
        id="LT-Thm5.2-margin-utility",
        source=f"{_PAPER}, Theorem 5.2, margin-based mechanism, corrected",
        statement="It chooses the best candidate except with probability beta, if that "
        "leads by (3 s/epsilon) log(2 K/(beta delta)).",
        kind="utility",
        relation=None,
        evaluate=failure,
        check=at_most(_utility_cases),
        erratum="LT-E17",
    ),
    Claim(
        id="BNS-Adist-privacy",
        source="Smith & Thakurta 2013; Beimel, Nissim & Stemmer 2013, A_dist",
        statement="Releasing the best candidate if lead/(2 s) - 1 + Lap(1/epsilon) > "
        "log(1/(2 delta))/epsilon, else nothing, is (epsilon, delta)-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_classical_privacy_cases),
    ),
    Claim(
        id="BNS-Adist-utility",
        source="Smith & Thakurta 2013; Beimel, Nissim & Stemmer 2013, A_dist",
        statement="It releases the best candidate except with probability beta <= "
        "1/2, if that leads by 2 s (1 + log(1/(4 beta delta))/epsilon), for any number "
        "of candidates.",
        kind="utility",
        relation=None,
        evaluate=failure,
        check=at_most(_classical_utility_cases),
    ),
)
