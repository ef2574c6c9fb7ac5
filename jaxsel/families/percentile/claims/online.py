"""Liu & Talwar 2019, Theorem 1.5: the online algorithm, as corrected."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel.base import Budget, Claim
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.families.percentile.laws import share_counts
from jaxsel.families.percentile.settings import (
    PercentileTest,
    algorithm_4,
    log_potential,
)
from jaxsel.families.sparse_vector.halting_law import laplace_difference_tail

_PAPER = "Liu & Talwar 2019"


def rescaled(
    *,
    target: float = 0.5,
    beta: float = 0.1,
    slack: float = 0.1,
    base_epsilon: float = 0.1,
    final_epsilon: float = 1.0,
    delta: float = 1e-3,
    queries: int = 10,
) -> PercentileTest:
    """Algorithm 4, as corrected, at e^(-epsilon_0) beta^(6 S/epsilon_3) p*/3 for p*."""
    exponent = 12.0 * (base_epsilon + slack) / final_epsilon
    return algorithm_4(
        target=target * math.exp(-slack) * beta**exponent / 3.0,
        beta=beta,
        slack=slack,
        base_epsilon=base_epsilon,
        final_epsilon=final_epsilon,
        delta=delta,
        queries=queries,
        corrected=True,
    )


def _online(*, beta: float = 0.1, delta: float = 1e-3) -> float:
    """Failure probability beta + delta/2.

    Args:
      beta, delta: in (0, 1).
    """
    return probability("beta", beta) + probability("delta", delta) / 2.0


def _passing(share: float, test: PercentileTest) -> float:
    counts = share_counts(test.samples, share)
    level = np.log(counts.values + test.shift) - np.log(counts.failures + test.shift)
    fall = log_potential(test.target, test) - level
    passes = laplace_difference_tail(fall, test.query_scale, test.threshold_scale)
    return float(counts.weights @ passes)


def _online_plans(budget: Budget) -> Iterator[dict[str, Any]]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 60)):
        base, slack = (float(x) for x in generator.uniform(0.05, 0.9, 2))
        yield {
            "target": float(generator.uniform(0.05, 0.95)),
            "beta": float(generator.uniform(0.01, 0.9)),
            "slack": slack,
            "base_epsilon": base,
            "final_epsilon": 12.0 * (base + slack) / float(generator.uniform(0.2, 3.0)),
            "delta": float(10.0 ** generator.uniform(-6.0, -1.0)),
            "queries": int(generator.integers(2, 12)),
        }


def _online_cases(part: str):
    def cases(budget: Budget) -> Iterator[Case]:
        for plan in _online_plans(budget):
            test, beta = rescaled(**plan), plan["beta"]
            if part == "a":
                # No earlier query makes it likelier to get this far and fail.
                seen = 1.0 - _passing(plan["target"], test)
            else:
                power = (beta**2 / (plan["queries"] + 1.0)) ** test.exponent
                share = math.exp(-2.0 * plan["slack"]) * power * plan["target"] / 6.0
                seen = plan["queries"] * _passing(share, test)
            yield _online(beta=beta, delta=plan["delta"]), seen, f"{plan}"

    return cases


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm1.5(a)",
        source=f"{_PAPER}, Theorem 1.5(a), corrected",
        statement="Algorithm 4 at e^(-epsilon_0) beta^(6 S/epsilon_3) p*/3 for p*, N "
        "and Delta as corrected: if p_i >= p*, it halts at some j <= i except with "
        "probability beta + delta/2.",
        kind="utility",
        relation=None,
        evaluate=_online,
        check=at_most(_online_cases("a")),
        erratum="LT-E21",
    ),
    Claim(
        id="LT-Thm1.5(b)",
        source=f"{_PAPER}, Theorem 1.5(b), corrected",
        statement="The same halts at some R with p_R below (e^(-2 epsilon_0)/6) "
        "(beta^2/(T+1))^(6 S/epsilon_3) p* with probability at most beta + delta/2; "
        "the exponent is 12 (epsilon_1 + epsilon_0)/epsilon_3.",
        kind="utility",
        relation=None,
        evaluate=_online,
        check=at_most(_online_cases("b")),
        erratum="LT-E2",
    ),
)
