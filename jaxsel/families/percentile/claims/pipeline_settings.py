"""Liu & Talwar 2019, Theorem 4.7: what Algorithms 5 and 1 may each spend."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel.families.percentile.claims.parameters import BaseEpsilon, Beta, Delta, FullSlack
from jaxsel.families.percentile.pipeline_laws import READINGS, Pipeline, pipeline
from jaxsel.families.thresholds.laws import threshold_pure
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.papers import LT

# --- Theorem 4.7 (LT-E10) -------------------------------------------------------------


def _budget(*, base_epsilon: BaseEpsilon = 0.5, slack: FullSlack = 0.5) -> float:
    """Privacy parameter 2 epsilon_1 + epsilon_0 that the pipeline may spend."""
    return 2.0 * base_epsilon + slack


def _exponent(*, base_epsilon: BaseEpsilon = 0.5, slack: FullSlack = 0.5) -> float:
    """Exponent 6 + 12 epsilon_1/epsilon_0 of the theorem's running time."""
    return 6.0 + 12.0 * base_epsilon / slack


def _pipeline_settings(budget: Budget) -> Iterator[tuple[float, float]]:
    generator = np.random.default_rng(budget.seed)
    yield 0.5, 0.5
    for _ in range(min(budget.cases, 50)):
        base, slack = generator.uniform(0.01, 1.0, 2).tolist()
        yield base, slack


def _spent_printed(budget: Budget) -> Iterator[Case]:
    for base, slack in _pipeline_settings(budget):
        # Algorithm 5 spends epsilon_3, Algorithm 1 at slack epsilon_0/2 the rest.
        total = slack + threshold_pure(base, slack / 2.0)
        where = f"epsilon_3=epsilon_0, epsilon_1={base!r}, epsilon_0={slack!r}"
        yield _budget(base_epsilon=base, slack=slack), total, where


def _exponents_printed(budget: Budget) -> Iterator[Case]:
    for base, slack in _pipeline_settings(budget):
        # 6 S/epsilon_3, S = epsilon_1 + the slack given to Algorithm 5.
        exact = 6.0 * (base + slack) / slack
        where = f"epsilon_3=epsilon_0, epsilon_1={base!r}, epsilon_0={slack!r}"
        yield _exponent(base_epsilon=base, slack=slack), exact, where


# What ``pipeline`` sets, read from the noise and the draws that it asks for.


def _as_shipped(budget: Budget) -> Iterator[tuple[dict[str, Any], Pipeline, str]]:
    for number, (base, slack) in enumerate(_pipeline_settings(budget)):
        plan: dict[str, Any] = {"base_epsilon": base, "slack": max(slack, base / 2)}
        reading = READINGS[number % len(READINGS)]
        settings = pipeline(**plan, beta=0.5, thresholds=3, reading=reading)
        yield plan, settings, f"{plan}, {reading}"


def _spent_as_shipped(budget: Budget) -> Iterator[Case]:
    for plan, settings, where in _as_shipped(budget):
        test, half = settings.test, plan["slack"] / 2.0
        # The threshold may move by S = epsilon_1 + epsilon_0/2, a query by 2 S.
        sensitivity = plan["base_epsilon"] + half
        search = sensitivity / test.threshold_scale
        search += 2.0 * sensitivity / test.query_scale
        # T >= log(2/slack)/gamma is what Algorithm 1 needs for its slack.
        slack = 2.0 * math.exp(-settings.max_draws * settings.stop_probability)
        total = search + threshold_pure(plan["base_epsilon"], slack)
        yield _budget(**plan), total, where


def _exponents_as_shipped(budget: Budget) -> Iterator[Case]:
    for plan, settings, where in _as_shipped(budget):
        yield _exponent(**plan), settings.test.exponent, where


def _nothing(*, beta: Beta = 0.1, delta: Delta = 1e-3) -> float:
    """Chance beta + delta that the pipeline outputs nothing."""
    return beta + delta


def _beta_itselfs(share: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(0.1, 1e-3, 0.5)]
        for _ in range(min(budget.cases, cases)):
            settings.append(tuple(generator.uniform(1e-6, 0.999, 3).tolist()))
        for beta, delta, slack in settings:
            used = share * beta
            early = used + delta / 2.0  # Theorem 4.6(b)
            gave_up = (1.0 + slack / 4.0) * used  # Theorem 3.1(e), gamma = p_1 beta
            missed = 2.0 / 3.0 * used**1.5  # no threshold passes, not even 0
            where = f"beta={beta!r} ({share} of it used), {delta=!r}, epsilon_0={slack!r}"
            yield _nothing(beta=beta, delta=delta), early + gave_up + missed, where

    return listed


STATEMENTS = (
    LT.misprint(
        "LT-E10",
        "Theorem 4.7 (and Theorem 1.4)",
        "statement",
        printed="epsilon_3 = epsilon_0; exponent 6 + 12 epsilon_1/epsilon_0; nothing "
        "is output with probability at most beta + delta.",
        correct="epsilon_3 = epsilon_0 leaves nothing for the slack of Algorithm 1. "
        "With epsilon_3 = epsilon_0/2 and slack epsilon_0/2 in both "
        "algorithms, privacy and exponent are as stated. The failures add up "
        "to (2 + epsilon_0/4) beta + delta/2, and a little for passing no "
        "threshold, so run at beta/4.",
        refuted=(
            LT.privacy(
                "LT-Thm4.7-budget-printed",
                "Theorem 4.7",
                "With epsilon_3 = epsilon_0, Algorithms 5 and 1 (slack epsilon_0/2) "
                "together spend at most 2 epsilon_1 + epsilon_0.",
                Relation.BASE,
                _budget,
                at_most(_spent_printed),
            ),
            LT.identity(
                "LT-Thm4.7-exponent-printed",
                "Theorem 4.7",
                "With epsilon_3 = epsilon_0 and slack epsilon_0, Algorithm 5's "
                "exponent 6 S/epsilon_3 is 6 + 12 epsilon_1/epsilon_0.",
                _exponent,
                equal(_exponents_printed),
            ),
            LT.utility(
                "LT-Thm4.7-step-failure-printed",
                "Theorem 4.7",
                "The failures that Theorems 3.1(e) and 4.6(b) allow at beta add up to "
                "at most beta + delta.",
                _nothing,
                at_most(_beta_itselfs(1.0, 0)),
            ),
        ),
        corrected=(
            LT.privacy(
                "LT-Thm4.7-budget",
                "Theorem 4.7, corrected",
                "With epsilon_3 = epsilon_0/2, Algorithms 5 and 1 (slack epsilon_0/2) "
                "together spend 2 epsilon_1 + epsilon_0.",
                Relation.BASE,
                _budget,
                at_most(_spent_as_shipped),
            ),
            LT.identity(
                "LT-Thm4.7-exponent",
                "Theorem 4.7, corrected",
                "With epsilon_3 = epsilon_0/2 and slack epsilon_0/2, Algorithm 5's "
                "exponent 6 S/epsilon_3 is 6 + 12 epsilon_1/epsilon_0.",
                _exponent,
                equal(_exponents_as_shipped),
            ),
            LT.utility(
                "LT-Thm4.7-step-failure",
                "Theorem 4.7, corrected",
                "The failures that Theorems 3.1(e) and 4.6(b) allow at beta/4 add up "
                "to at most beta + delta.",
                _nothing,
                at_most(_beta_itselfs(0.25, 200)),
            ),
            "LT-Thm4.7-nothing",
            "LT-Thm4.7-step-failure-sharp",
            "LT-Thm4.7(a)",
        ),
    ),
)
