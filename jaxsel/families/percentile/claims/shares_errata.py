"""Liu & Talwar 2019, Theorem 4.4(b) and (c): shares of the queries around the halt.

LT-E4 and LT-E5, each as printed and as corrected. Sums over streams of queries are
bounded by the exact chances of single tests, which covers every stream.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Erratum
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_positive
from jaxsel.families.percentile.claims.errata_cases import random_plans
from jaxsel.families.percentile.settings import (
    PercentileTest,
    algorithm_4,
    algorithm_4_levels,
    log_potential,
    passing_chance,
    share_at,
)
from jaxsel.families.sparse_vector.halting_law import halting_law

_PAPER = "Liu & Talwar 2019"


# --- Theorem 4.4(b): halting too early (LT-E4) ----------------------------------------


def _twice_target(*, target: float = 0.1) -> float:
    """Printed lower bound 2 p* on Phi(p*).

    Args:
      target: p*, in (0, 1).
    """
    return 2.0 * probability("target", target)


def _potential_of_target(budget: Budget) -> Iterator[Case]:
    for target in (0.1, 0.05, 0.3):
        test = algorithm_4(target=target)
        seen = math.exp(log_potential(target, test))
        yield 2.0 * target, seen, f"p*={target}, other settings at their defaults"


def _least_share(
    *,
    target: float = 0.05,
    beta: float = 0.1,
    slack: float = 0.5,
    base_epsilon: float = 0.1,
    final_epsilon: float = 24.0,
    queries: int = 10,
) -> float:
    """Least share at which Algorithm 4 may halt last, outside rare noise.

    (1/2) e^(-epsilon_0) (beta/(T+1))^(6 S/epsilon_3) p*.

    Args:
      target: p*, in (0, 1).
      beta, slack: beta and epsilon_0, in (0, 1).
      base_epsilon, final_epsilon: epsilon_1 and epsilon_3, > 0; S = 2 (epsilon_0 +
        epsilon_1).
      queries: T, at least 2.
    """
    test = algorithm_4(
        target=target,
        beta=beta,
        slack=slack,
        base_epsilon=base_epsilon,
        final_epsilon=final_epsilon,
        queries=queries,
    )
    return _early_share(test, beta, slack, queries)


def _early_share(test: PercentileTest, beta: float, slack: float, halt: int) -> float:
    return math.exp(-slack) * (beta / (halt + 1.0)) ** test.exponent * test.target / 2.0


def _implied_share(test: PercentileTest, beta: float, slack: float, halt: int) -> float:
    """Least p with Phi(p) >= e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) Phi(p*)."""
    level = test.exponent * math.log(beta / (halt + 1.0)) - slack
    return share_at(level + log_potential(test.target, test), test)


def _halting_shares(corrected: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        plain = {"target": 0.05, "final_epsilon": 24.0, "queries": 10}
        settings = [
            plain,
            *(random_plans(budget, 200, "queries", 20) if corrected else []),
        ]
        for setting in settings:
            setting = {"beta": 0.1, "slack": 0.5} | setting
            test = algorithm_4(**setting, corrected=corrected)
            beta, slack, last = (setting[k] for k in ("beta", "slack", "queries"))
            for halt in sorted({1, last}):
                claimed = _early_share(test, beta, slack, halt)
                seen = _implied_share(test, beta, slack, halt)
                yield claimed, seen, f"halting at R={halt}, {setting}"

    return cases


def _halting(*, beta: float = 0.1, delta: float = 1e-3) -> float:
    """Failure probability that Theorem 4.4(b) and (c) allow: beta + delta/2.

    Args:
      beta, delta: in (0, 1).
    """
    return probability("beta", beta) + probability("delta", delta) / 2.0


def _noisy_settings(budget: Budget) -> Iterator[dict]:
    yield {"target": 0.05, "beta": 0.1, "slack": 0.5, "delta": 1e-3, "queries": 10}
    yield {
        "target": 0.9,
        "beta": 0.1,
        "slack": 0.1,
        "base_epsilon": 0.01,
        "final_epsilon": 100.0,
        "delta": 1e-3,
        "queries": 5,
    }
    yield from random_plans(budget, 20, "queries", 4)


def _early_halts(budget: Budget) -> Iterator[Case]:
    for setting in _noisy_settings(budget):
        test = algorithm_4(**setting, corrected=True)
        beta, slack, delta = (setting[k] for k in ("beta", "slack", "delta"))
        total = 0.0
        for halt in range(1, setting["queries"] + 1):
            share = _early_share(test, beta, slack, halt)
            total += passing_chance(*algorithm_4_levels(share, test), test)
        yield _halting(beta=beta, delta=delta), total, f"every query low, {setting}"


# --- Theorem 4.4(c): halting too late (LT-E3, LT-E5) ----------------------------------


def _late_share(test: PercentileTest, beta: float, slack: float, halt: int) -> float:
    """Share that no query before R should have, as corrected."""
    shrunk = math.exp(-slack) * (beta / (halt + 1.0)) ** test.exponent
    return 1.0 - shrunk * (1.0 - test.target) / 2.0


def _late_share_printed(
    test: PercentileTest, beta: float, slack: float, halt: int
) -> float:
    grown = math.exp(slack) * ((halt + 1.0) / beta) ** test.exponent
    return 1.0 - 1.0 / (1.0 + grown / (2.0 * (1.0 - test.target)))


def _late_halts_printed(budget: Budget) -> Iterator[Case]:
    for target in (0.9, 0.95):
        test = algorithm_4(
            target=target, slack=0.1, base_epsilon=0.01, final_epsilon=100.0
        )
        share = _late_share_printed(test, 0.1, 0.1, 2)
        first, counts = algorithm_4_levels(share, test)
        second, _ = algorithm_4_levels(1.0, test)
        law = halting_law(
            [first, second],
            test.query_scale,
            test.threshold_scale,
            [counts.weights, np.ones(1)],
        )
        where = (
            f"shares {share:.4f} and 1, p*={target}, epsilon_0=0.1, epsilon_1=0.01, "
            "epsilon_3=100, beta=0.1, delta=0.001, T=10"
        )
        yield _halting(), float(law[1]), where


def _late_halts(budget: Budget) -> Iterator[Case]:
    for setting in _noisy_settings(budget):
        test = algorithm_4(**setting, corrected=True)
        beta, slack, delta = (setting[k] for k in ("beta", "slack", "delta"))
        total = 0.0
        for halt in range(2, setting["queries"] + 1):
            share = _late_share(test, beta, slack, halt)
            total += 1.0 - passing_chance(*algorithm_4_levels(share, test), test)
        yield _halting(beta=beta, delta=delta), total, f"every query high, {setting}"


def _largest_share(*, margin: float = 0.03) -> float:
    """Printed largest share with Phi(p) <= 1/(2 y): 1 - 2 y/(1 + 2 y).

    Args:
      margin: y = e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) (1 - p*), > 0.
    """
    margin = check_positive("margin", margin)
    return 1.0 / (1.0 + 2.0 * margin)


def _largest_shares(budget: Budget) -> Iterator[Case]:
    for margin in (0.03, 0.1):
        # R = T and the printed N make Delta/N equal to y.
        test = PercentileTest(0.5, 1, margin, 1.0, 1.0, 1.0)
        seen = share_at(-math.log(2.0 * margin), test)
        yield _largest_share(margin=margin), seen, f"Delta/N = y = {margin}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm4.4-step-Phi-printed",
        source=f"{_PAPER}, proof of Theorem 4.4(b)",
        statement="Phi(p*) >= 2 p* for the potential Phi^(N, Delta).",
        kind="utility",
        relation=None,
        evaluate=_twice_target,
        check=at_least(_potential_of_target),
        holds=False,
        erratum="LT-E4",
        correction="Only Phi(p*) >= p* holds; a doubled N repairs the proof: "
        "LT-Thm4.4(b)-step-percentile.",
    ),
    Claim(
        id="LT-Thm4.4(b)-step-percentile-printed",
        source=f"{_PAPER}, proof of Theorem 4.4(b)",
        statement="Phi(p) >= e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) Phi(p*) "
        "implies p >= (1/2) e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p*, with N as "
        "printed.",
        kind="utility",
        relation=None,
        evaluate=_least_share,
        check=at_least(_halting_shares(corrected=False)),
        holds=False,
        erratum="LT-E4",
        correction="It takes twice the samples: LT-Thm4.4(b)-step-percentile.",
    ),
    Claim(
        id="LT-Thm4.4(b)-step-percentile",
        source=f"{_PAPER}, proof of Theorem 4.4(b), corrected",
        statement="With N doubled, Phi(p) >= e^(-epsilon_0) (beta/(R+1))^(6 "
        "S/epsilon_3) Phi(p*) implies p >= (1/2) e^(-epsilon_0) (beta/(R+1))^(6 "
        "S/epsilon_3) p*.",
        kind="utility",
        relation=None,
        evaluate=_least_share,
        check=at_least(_halting_shares(corrected=True), tolerance=1e-12),
        erratum="LT-E4",
    ),
    Claim(
        id="LT-Thm4.4(b)",
        source=f"{_PAPER}, Theorem 4.4(b), corrected",
        statement="With N doubled and Delta as in LT-E6, Algorithm 4 halts at some "
        "query R with p_R <= (1/2) e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p* "
        "with probability at most beta + delta/2.",
        kind="utility",
        relation=None,
        evaluate=_halting,
        check=at_most(_early_halts),
        erratum="LT-E4",
    ),
    Claim(
        id="LT-Thm4.4(c)-constant-printed",
        source=f"{_PAPER}, Theorem 4.4(c), second bound",
        statement="Read for the queries before R: some i < R has p_i >= 1 - 1/(1 + "
        "(e^(epsilon_0)/(2 (1 - p*))) ((R+1)/beta)^(6 S/epsilon_3)) with probability "
        "at most beta + delta/2.",
        kind="utility",
        relation=None,
        evaluate=_halting,
        check=at_most(_late_halts_printed),
        holds=False,
        erratum="LT-E5",
        correction="The share must be closer to 1, and N doubled: LT-Thm4.4(c).",
    ),
    Claim(
        id="LT-Thm4.4(c)-step-constant-printed",
        source=f"{_PAPER}, proof of Theorem 4.4(c)",
        statement="Phi(p) <= 1/(2 y) implies p <= 1 - 2 y/(1 + 2 y), y = Delta/N.",
        kind="utility",
        relation=None,
        evaluate=_largest_share,
        check=at_most(_largest_shares),
        holds=False,
        erratum="LT-E5",
        correction="It implies p <= 1 - y only; see LT-Thm4.4(c).",
    ),
    Claim(
        id="LT-Thm4.4(c)",
        source=f"{_PAPER}, Theorem 4.4(c), corrected",
        statement="With N doubled and Delta as in LT-E6, Algorithm 4 halts at some "
        "query R after an i < R with p_i >= 1 - (1/2) e^(-epsilon_0) (beta/(R+1))^(6 "
        "S/epsilon_3) (1 - p*) with probability at most beta + delta/2.",
        kind="utility",
        relation=None,
        evaluate=_halting,
        check=at_most(_late_halts),
        erratum="LT-E5",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E4",
        source=f"{_PAPER}, proof of Theorem 4.4(b)",
        kind="proof",
        printed="Phi(p*) >= 2 p*, whence p_R >= (1/2) e^(-epsilon_0) (beta/(R+1))^(6 "
        "S/epsilon_3) p*.",
        correct="Phi(p*) >= 2 p* fails for p* < 1/2, only Phi(p*) >= p* holds, and "
        "with the printed N the conclusion fails at R = T. With N doubled it holds, "
        "since then Delta/N <= y/2 for y = e^(-epsilon_0) (beta/(R+1))^(6 "
        "S/epsilon_3) p*.",
        refuted=(
            "LT-Thm4.4-step-Phi-printed",
            "LT-Thm4.4(b)-step-percentile-printed",
        ),
        corrected=("LT-Thm4.4(b)-step-percentile", "LT-Thm4.4(b)"),
    ),
    Erratum(
        id="LT-E5",
        source=f"{_PAPER}, Theorem 4.4(c), second bound",
        kind="statement",
        printed="p_i >= 1 - (1 + (e^(epsilon_0)/(2 (1 - p*))) ((R+1)/beta)^(6 "
        "S/epsilon_3))^(-1) for a query that should have been halted at.",
        correct="Phi(p) <= 1/(2 y) gives p <= 1 - y at Delta/N = y, and Phi(p*) <= "
        "1/(2 (1 - p*)) needs p* <= 1/2; for p* near 1 the printed share is below p* "
        "itself. With N doubled, the share 1 - (1/2) e^(-epsilon_0) (beta/(R+1))^(6 "
        "S/epsilon_3) (1 - p*) is right.",
        refuted=(
            "LT-Thm4.4(c)-constant-printed",
            "LT-Thm4.4(c)-step-constant-printed",
        ),
        corrected=("LT-Thm4.4(c)",),
    ),
)
