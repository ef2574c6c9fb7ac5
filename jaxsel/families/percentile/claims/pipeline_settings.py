"""Claims of Liu & Talwar 2019, Theorem 4.7: how Algorithms 5 and 1 divide epsilon and beta."""

import math
from collections.abc import Iterator
from typing import Any

from jaxsel.families.percentile.parameters import READINGS, BaseEpsilon, Beta, Delta, FullSlack
from jaxsel.families.percentile.pipeline_laws import Pipeline, pipeline
from jaxsel.families.thresholds.laws import threshold_pure
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import listed, uniform
from jaxsel.language.papers import LT


@LT.privacy("LT-Thm4.7-budget-printed", "Theorem 4.7", Relation.BASE)
def spent_printed(*, base_epsilon: BaseEpsilon = 0.5, slack: FullSlack = 0.5) -> float:
    """With epsilon_3 = epsilon_0, Algorithms 5 and 1 (slack epsilon_0/2) together spend at most 2
    epsilon_1 + epsilon_0."""
    return 2.0 * base_epsilon + slack


@LT.privacy("LT-Thm4.7-budget", "Theorem 4.7, corrected", Relation.BASE, formula=spent_printed)
def spent():
    """With epsilon_3 = epsilon_0/2, Algorithms 5 and 1 (slack epsilon_0/2) together spend 2
    epsilon_1 + epsilon_0."""


@LT.identity("LT-Thm4.7-exponent-printed", "Theorem 4.7")
def exponent_printed(*, base_epsilon: BaseEpsilon = 0.5, slack: FullSlack = 0.5) -> float:
    """With epsilon_3 = epsilon_0 and slack epsilon_0, Algorithm 5's exponent 6 S/epsilon_3 is 6 +
    12 epsilon_1/epsilon_0."""
    return 6.0 + 12.0 * base_epsilon / slack


@LT.identity("LT-Thm4.7-exponent", "Theorem 4.7, corrected", formula=exponent_printed)
def exponent():
    """With epsilon_3 = epsilon_0/2 and slack epsilon_0/2, Algorithm 5's exponent 6 S/epsilon_3 is 6
    + 12 epsilon_1/epsilon_0."""


def _settings(budget):
    """Points with epsilon_1 and epsilon_0, fixed and random."""
    random = uniform(50, base_epsilon=(0.01, 1.0), slack=(0.01, 1.0))
    return [{"base_epsilon": 0.5, "slack": 0.5}, *random(budget)]


@spent_printed.bounds(_settings)
def total_printed(base_epsilon, slack):
    # Algorithm 5 spends epsilon_3 = epsilon_0, Algorithm 1 at slack epsilon_0/2 the rest.
    return slack + threshold_pure(base_epsilon, slack / 2.0)


@exponent_printed.equals(_settings)
def six_shares(base_epsilon, slack):
    # 6 S/epsilon_3, S = epsilon_1 + the slack given to Algorithm 5, epsilon_3 = epsilon_0.
    return 6.0 * (base_epsilon + slack) / slack


# The next checks read from the noise and the number of draws what ``pipeline`` really spends.


def _as_shipped(budget: Budget) -> Iterator[tuple[dict[str, Any], Pipeline, str]]:
    """Cases of what runs: (epsilon_1 and epsilon_0 by name, settings, reading)."""
    for number, point in enumerate(_settings(budget)):
        plan: dict[str, Any] = point | {"slack": max(point["slack"], point["base_epsilon"] / 2)}
        reading = READINGS[number % len(READINGS)]
        yield plan, pipeline(**plan, beta=0.5, thresholds=3, reading=reading), reading


@spent.bounds()
def total_shipped(budget):
    for plan, settings, reading in _as_shipped(budget):
        test, half = settings.test, plan["slack"] / 2.0
        # The threshold may move by S = epsilon_1 + epsilon_0/2, a query by 2 S.
        sensitivity = plan["base_epsilon"] + half
        search = sensitivity / test.threshold_scale
        search += 2.0 * sensitivity / test.query_scale
        # T >= log(2/slack)/gamma is what Algorithm 1 needs for its slack.
        slack = 2.0 * math.exp(-settings.max_draws * settings.stop_probability)
        yield plan, search + threshold_pure(plan["base_epsilon"], slack), reading


@exponent.equals()
def exponent_shipped(budget):
    for plan, settings, reading in _as_shipped(budget):
        yield plan, settings.test.exponent, reading


@LT.utility("LT-Thm4.7-step-failure-printed", "Theorem 4.7")
def failure_printed(*, beta: Beta = 0.1, delta: Delta = 1e-3) -> float:
    """The failures that Theorems 3.1(e) and 4.6(b) allow at beta add up to at most beta + delta."""
    return beta + delta


@LT.utility("LT-Thm4.7-step-failure", "Theorem 4.7, corrected", formula=failure_printed)
def failure():
    """The failures that Theorems 3.1(e) and 4.6(b) allow at beta/4 add up to at most beta +
    delta."""


_AT_TENTH = listed("beta delta slack", (0.1, 1e-3, 0.5))
_CHANCES = uniform(200, beta=(1e-6, 0.999), delta=(1e-6, 0.999), slack=(1e-6, 0.999))


@failure_printed.bounds(_AT_TENTH, share=1.0)
@failure.bounds(_AT_TENTH, _CHANCES, share=0.25)
def added_up(beta, delta, slack, share):
    """The sum of all failures if both algorithms run at this share of beta; slack is epsilon_0."""
    beta = share * beta
    early = beta + delta / 2.0  # Theorem 4.6(b)
    gave_up = (1.0 + slack / 4.0) * beta  # Theorem 3.1(e), gamma = p_1 beta
    missed = 2.0 / 3.0 * beta**1.5  # no threshold passes, not even 0
    return early + gave_up + missed


LT_E10 = LT.misprint(
    "LT-E10",
    "Theorem 4.7 (and Theorem 1.4)",
    "statement",
    printed="epsilon_3 = epsilon_0; exponent 6 + 12 epsilon_1/epsilon_0; nothing is output with "
    "probability at most beta + delta.",
    correct="epsilon_3 = epsilon_0 leaves nothing for the slack of Algorithm 1. With epsilon_3 = "
    "epsilon_0/2 and slack epsilon_0/2 in both algorithms, privacy and exponent are as stated. The "
    "failures add up to (2 + epsilon_0/4) beta + delta/2, and a little for passing no threshold, "
    "so run at beta/4.",
    refuted=[spent_printed, exponent_printed, failure_printed],
    corrected=[
        spent,
        exponent,
        failure,
        "LT-Thm4.7-nothing",
        "LT-Thm4.7-step-failure-sharp",
        "LT-Thm4.7(a)",
    ],
)
