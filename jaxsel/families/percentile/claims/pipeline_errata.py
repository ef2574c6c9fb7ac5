"""Liu & Talwar 2019, Theorem 4.7: Algorithms 5 and 1 in a row.

LT-E10 as printed and as corrected.
"""

from collections.abc import Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.thresholds.laws import threshold_pure

_PAPER = "Liu & Talwar 2019"


# --- Theorem 4.7 (LT-E10) -------------------------------------------------------------


def _budget(*, base_epsilon: float = 0.5, slack: float = 0.5) -> float:
    """Privacy parameter 2 epsilon_1 + epsilon_0 that the pipeline may spend.

    Args:
      base_epsilon: epsilon_1, > 0.
      slack: epsilon_0, in (0, 1].
    """
    base_epsilon = check_positive("base_epsilon", base_epsilon)
    return 2.0 * base_epsilon + check_interval(
        "slack", slack, 0.0, 1.0, high_open=False
    )


def _exponent(*, base_epsilon: float = 0.5, slack: float = 0.5) -> float:
    """Exponent 6 + 12 epsilon_1/epsilon_0 of the theorem's running time.

    Args:
      base_epsilon: epsilon_1, > 0.
      slack: epsilon_0, in (0, 1].
    """
    base_epsilon = check_positive("base_epsilon", base_epsilon)
    slack = check_interval("slack", slack, 0.0, 1.0, high_open=False)
    return 6.0 + 12.0 * base_epsilon / slack


def _pipeline_settings(budget: Budget) -> Iterator[tuple[float, float]]:
    generator = np.random.default_rng(budget.seed)
    yield 0.5, 0.5
    for _ in range(min(budget.cases, 50)):
        base, slack = generator.uniform(0.01, 1.0, 2).tolist()
        yield base, slack


def _spent(share: float):
    def cases(budget: Budget) -> Iterator[Case]:
        for base, slack in _pipeline_settings(budget):
            # Algorithm 5 spends epsilon_3, Algorithm 1 at slack epsilon_0/2 the rest.
            total = share * slack + threshold_pure(base, slack / 2.0)
            where = (
                f"epsilon_3={share} epsilon_0, epsilon_1={base!r}, epsilon_0={slack!r}"
            )
            yield _budget(base_epsilon=base, slack=slack), total, where

    return cases


def _exponents(share: float):
    def cases(budget: Budget) -> Iterator[Case]:
        for base, slack in _pipeline_settings(budget):
            # 6 S/epsilon_3, S = epsilon_1 + the slack given to Algorithm 5.
            exact = 6.0 * (base + share * slack) / (share * slack)
            where = (
                f"epsilon_3={share} epsilon_0, epsilon_1={base!r}, epsilon_0={slack!r}"
            )
            yield _exponent(base_epsilon=base, slack=slack), exact, where

    return cases


def _nothing(*, beta: float = 0.1, delta: float = 1e-3) -> float:
    """Chance beta + delta that the pipeline outputs nothing.

    Args:
      beta, delta: in (0, 1).
    """
    return probability("beta", beta) + probability("delta", delta)


def _allowed_failures(share: float, cases: int):
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
            where = (
                f"beta={beta!r} ({share} of it used), {delta=!r}, epsilon_0={slack!r}"
            )
            yield _nothing(beta=beta, delta=delta), early + gave_up + missed, where

    return listed


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm4.7-budget-printed",
        source=f"{_PAPER}, Theorem 4.7",
        statement="With epsilon_3 = epsilon_0, Algorithms 5 and 1 (slack epsilon_0/2) "
        "together spend at most 2 epsilon_1 + epsilon_0.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_budget,
        check=at_most(_spent(1.0)),
        holds=False,
        erratum="LT-E10",
        correction="Give each half: LT-Thm4.7-budget.",
    ),
    Claim(
        id="LT-Thm4.7-budget",
        source=f"{_PAPER}, Theorem 4.7, corrected",
        statement="With epsilon_3 = epsilon_0/2, Algorithms 5 and 1 (slack "
        "epsilon_0/2) together spend 2 epsilon_1 + epsilon_0.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_budget,
        check=at_most(_spent(0.5)),
        erratum="LT-E10",
    ),
    Claim(
        id="LT-Thm4.7-exponent-printed",
        source=f"{_PAPER}, Theorem 4.7",
        statement="With epsilon_3 = epsilon_0 and slack epsilon_0, Algorithm 5's "
        "exponent 6 S/epsilon_3 is 6 + 12 epsilon_1/epsilon_0.",
        kind="identity",
        relation=None,
        evaluate=_exponent,
        check=equal(_exponents(1.0)),
        holds=False,
        erratum="LT-E10",
        correction="That takes halves of epsilon_0: LT-Thm4.7-exponent.",
    ),
    Claim(
        id="LT-Thm4.7-exponent",
        source=f"{_PAPER}, Theorem 4.7, corrected",
        statement="With epsilon_3 = epsilon_0/2 and slack epsilon_0/2, Algorithm 5's "
        "exponent 6 S/epsilon_3 is 6 + 12 epsilon_1/epsilon_0.",
        kind="identity",
        relation=None,
        evaluate=_exponent,
        check=equal(_exponents(0.5)),
        erratum="LT-E10",
    ),
    Claim(
        id="LT-Thm4.7-step-failure-printed",
        source=f"{_PAPER}, Theorem 4.7",
        statement="The failures that Theorems 3.1(e) and 4.6(b) allow at beta add up "
        "to at most beta + delta.",
        kind="utility",
        relation=None,
        evaluate=_nothing,
        check=at_most(_allowed_failures(1.0, 0)),
        holds=False,
        erratum="LT-E10",
        correction="They do when run at beta/4: LT-Thm4.7-step-failure.",
    ),
    Claim(
        id="LT-Thm4.7-step-failure",
        source=f"{_PAPER}, Theorem 4.7, corrected",
        statement="The failures that Theorems 3.1(e) and 4.6(b) allow at beta/4 add up "
        "to at most beta + delta.",
        kind="utility",
        relation=None,
        evaluate=_nothing,
        check=at_most(_allowed_failures(0.25, 200)),
        erratum="LT-E10",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E10",
        source=f"{_PAPER}, Theorem 4.7 (and Theorem 1.4)",
        kind="statement",
        printed="epsilon_3 = epsilon_0; exponent 6 + 12 epsilon_1/epsilon_0; nothing "
        "is output with probability at most beta + delta.",
        correct="epsilon_3 = epsilon_0 leaves nothing for the slack of Algorithm 1. "
        "With epsilon_3 = epsilon_0/2 and slack epsilon_0/2 in both algorithms, "
        "privacy and exponent are as stated. The failures add up to (2 + epsilon_0/4) "
        "beta + delta/2, and a little for passing no threshold, so run at beta/4.",
        refuted=(
            "LT-Thm4.7-budget-printed",
            "LT-Thm4.7-exponent-printed",
            "LT-Thm4.7-step-failure-printed",
        ),
        corrected=(
            "LT-Thm4.7-budget",
            "LT-Thm4.7-exponent",
            "LT-Thm4.7-step-failure",
            "LT-Thm4.7-nothing",
            "LT-Thm4.7-step-failure-sharp",
            "LT-Thm4.7(a)",
        ),
    ),
)
