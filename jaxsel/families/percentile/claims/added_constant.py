"""Liu & Talwar 2019, Theorems 4.4 and 4.6: the constant Delta added to all counts."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from scipy import stats

from jaxsel.base import Budget
from jaxsel.checking import Case, at_most
from jaxsel.domains import whole
from jaxsel.families.percentile.claims.parameters import (
    BaseEpsilon,
    Delta,
    Slack,
)
from jaxsel.families.percentile.settings import printed_shift, sufficient_shift
from jaxsel.papers import LT


def _concentration(
    *,
    slack: Slack = 0.05,
    base_epsilon: BaseEpsilon = 1.0,
    queries: Annotated[int, whole("T", at_least=1)] = 10,
    delta: Delta = 1e-6,
) -> float:
    """Chance delta/(4 T) that a count plus Delta leaves its mean by e^(epsilon_0/2)."""
    return delta / (4.0 * queries)


def _poisson_tails(slack: float, shift: float) -> tuple[float, float]:
    """Largest upper and lower tail over means of a Poisson count."""
    means = shift * np.geomspace(1e-3, 1e3, 400)
    upper = math.exp(slack / 2.0) * (means + shift) - shift
    lower = math.exp(-slack / 2.0) * (means + shift) - shift
    above = stats.poisson.sf(np.floor(upper), means)
    below = stats.poisson.cdf(np.ceil(lower) - 1.0, means)
    return float(above.max()), float(below.max())


def _concentrations(corrected: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        settings = [(0.05, 1.0, 10, 1e-6), (0.02, 0.5, 2, 1e-4)]
        if corrected:
            generator = np.random.default_rng(budget.seed)
            for _ in range(min(budget.cases, 100)):
                slack, base = generator.uniform(0.01, 0.99, 2).tolist()
                queries = int(generator.integers(1, 50))
                delta = float(10.0 ** generator.uniform(-12.0, -0.1))
                settings.append((slack, base, queries, delta))
        for slack, base, queries, delta in settings:
            shift = printed_shift(slack, base, math.log(8.0 * queries / delta))
            if corrected:
                least = sufficient_shift(slack, math.log(4.0 * queries / delta))
                shift = max(shift, least)
            claimed = _concentration(
                slack=slack, base_epsilon=base, queries=queries, delta=delta
            )
            where = f"epsilon_0={slack!r}, epsilon_1={base!r}, T={queries}, {delta=}"
            for side, tail in zip(
                ("upper", "lower"), _poisson_tails(slack, shift), strict=True
            ):
                text = f"{side} tail of a Poisson count, Delta={shift:.6g}, {where}"
                yield claimed, tail, text

    return cases


STATEMENTS = (
    LT.misprint(
        "LT-E6",
        "Theorems 4.4(b)-(d) and 4.6(b)(c)",
        "statement",
        printed="By Lemma A.4 and the choice of Delta, the counts concentrate within "
        "e^(epsilon_0/2) with probability 1 - delta/(4 T) (4.4) or 1 - "
        "delta/(2 R) (4.6).",
        correct="Lemma A.4 needs Delta >= (e^(epsilon_0/2) + 1)/(e^(epsilon_0/2) - "
        "1)^2 log(4 T/delta) (4.6: log(2 R/delta)), of order 1/epsilon_0^2, "
        "while the printed Delta is of order 1/(epsilon_0 epsilon_1) for "
        "epsilon_0 << epsilon_1. For moderate epsilon_3 slack in the Laplace "
        "part hides it; for very large epsilon_3 the bound of Theorem 4.6(c) "
        "itself fails.",
        refuted=(
            LT.utility(
                "LT-Thm4.4-step-F3-printed",
                "proof of Theorem 4.4(b)-(d)",
                "With Delta as printed, N p~ + Delta leaves its mean by a factor "
                "e^(epsilon_0/2) with probability at most delta/(4 T).",
                _concentration,
                at_most(_concentrations(corrected=False)),
            ),
            "LT-Thm4.6(c)-shift-printed",
        ),
        corrected=(
            LT.utility(
                "LT-Thm4.4-step-F3",
                "proof of Theorem 4.4(b)-(d), corrected",
                "With Delta >= (e^(epsilon_0/2) + 1)/(e^(epsilon_0/2) - 1)^2 log(4 "
                "T/delta), N p~ + Delta leaves its mean by a factor e^(epsilon_0/2) "
                "with probability at most delta/(4 T).",
                _concentration,
                at_most(_concentrations(corrected=True), tolerance=1e-16),
            ),
            "LT-Thm4.6(c)",
        ),
    ),
)
