"""Liu & Talwar 2019, Theorem 4.6: the threshold that Algorithm 5 finds.

LT-E8 and LT-E9, each as printed and as corrected.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel.base import Budget, Claim, Erratum
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer
from jaxsel.families.percentile.claims.errata_cases import random_plans
from jaxsel.families.percentile.settings import (
    PercentileTest,
    algorithm_5,
    algorithm_5_levels,
    passing_chance,
)
from jaxsel.families.sparse_vector.halting_law import halting_law

_PAPER = "Liu & Talwar 2019"


# --- Theorem 4.6 (LT-E6, LT-E8, LT-E9) ------------------------------------------------


def _threshold_failure(
    *, beta: float = 0.1, delta: float = 1e-3, thresholds: int = 5
) -> float:
    """Failure probability 2 beta + delta/(2 R) of Theorem 4.6(c).

    Args:
      beta, delta: in (0, 1).
      thresholds: R, at least 2.
    """
    thresholds = check_integer("thresholds", thresholds, 2)
    return 2.0 * probability("beta", beta) + probability("delta", delta) / (
        2.0 * thresholds
    )


def _point_law(score: float, test: PercentileTest, thresholds: int) -> np.ndarray:
    """Law of the threshold found if every score is ``score``; none found comes last."""
    grid = 1.0 - np.arange(thresholds) / (thresholds - 1.0)
    levels = [float(algorithm_5_levels(float(t <= score), test)[0][0]) for t in grid]
    return halting_law(levels, test.query_scale, test.threshold_scale)


def _point_mass(printed: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        points = [(0.749, 5, {})]
        if not printed:
            for setting in random_plans(budget, 60, "thresholds", 12):
                count = setting.pop("thresholds")
                points.append((float(generator.uniform(0.0, 1.0)), count, setting))
        for score, count, setting in points:
            test = algorithm_5(thresholds=count, **setting, corrected=not printed)
            grid = 1.0 - np.arange(count) / (count - 1.0)
            if printed:
                missed = grid <= score - 1.0 / count
            else:
                missed = grid < score - 1.0 / (count - 1.0) - 1e-12
            law = _point_law(score, test, count)
            names = {k: v for k, v in setting.items() if k in ("beta", "delta")}
            claimed = _threshold_failure(thresholds=count, **names)
            where = f"all scores {score!r}, R={count}, {setting or 'default settings'}"
            yield claimed, float(law[:-1][missed].sum()), where
        if printed:
            return
        for setting in random_plans(budget, 20, "thresholds", 12):
            # The first threshold below tau* fails; no base law makes that likelier.
            test = algorithm_5(**setting, corrected=True)
            level = algorithm_5_levels(test.target, test)
            names = {k: setting[k] for k in ("beta", "delta", "thresholds")}
            failing = 1.0 - passing_chance(*level, test)
            yield _threshold_failure(**names), failing, f"p = p*, {setting}"

    return cases


def _small_shift(budget: Budget) -> Iterator[Case]:
    setting = {
        "target": 0.01,
        "beta": 1e-4,
        "slack": 0.05,
        "base_epsilon": 0.99,
        "final_epsilon": 1e4,
        "delta": 1e-6,
        "thresholds": 3,
    }
    test = algorithm_5(**setting)
    # Scores 0.6 with probability p* and 0 else: tau* = 0.6, thresholds 1, 0.5, 0.
    rows = [algorithm_5_levels(share, test) for share in (0.0, test.target, 1.0)]
    law = halting_law(
        [levels for levels, _ in rows],
        test.query_scale,
        test.threshold_scale,
        [counts.weights for _, counts in rows],
    )
    claimed = _threshold_failure(beta=1e-4, delta=1e-6, thresholds=3)
    where = f"score 0.6 with probability p*, else 0; threshold 0 found, {setting}"
    yield claimed, float(law[2]), where


def _least_expected(
    *, slack: float = 0.95, base_epsilon: float = 0.1, final_epsilon: float = 1.0
) -> float:
    """Least expected number of samples that reach the found threshold: Delta.

    Args:
      slack: epsilon_0, in (0, 1).
      base_epsilon, final_epsilon: epsilon_1 and epsilon_3, > 0; beta = 0.1, R = 5,
        delta = 0.001, p* = 1/2.
    """
    return algorithm_5(
        slack=slack, base_epsilon=base_epsilon, final_epsilon=final_epsilon
    ).shift


def _least_expected_corrected(
    *, slack: float = 0.95, base_epsilon: float = 0.1, final_epsilon: float = 1.0
) -> float:
    """Least expected number of samples that reach the found threshold: Delta.

    Delta being at least that of LT-E6.

    Args:
      slack: epsilon_0, in (0, 1).
      base_epsilon, final_epsilon: epsilon_1 and epsilon_3, > 0; beta = 0.1, R = 5,
        delta = 0.001, p* = 1/2.
    """
    return algorithm_5(
        slack=slack,
        base_epsilon=base_epsilon,
        final_epsilon=final_epsilon,
        corrected=True,
    ).shift


def _expected_samples(corrected: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        settings = [(0.95, 0.1, 1.0), (0.85, 0.5, 1.0)]
        if corrected:
            generator = np.random.default_rng(budget.seed)
            for _ in range(min(budget.cases, 200)):
                slack, base = generator.uniform(0.01, 0.99, 2).tolist()
                settings.append((slack, base, float(generator.uniform(0.2, 50.0))))
        bound = _least_expected_corrected if corrected else _least_expected
        for slack, base, final in settings:
            names: dict[str, Any] = {"slack": slack, "base_epsilon": base}
            names["final_epsilon"] = final
            test = algorithm_5(**names, corrected=corrected)
            # Outside the failure events of the proof, R = 5 and beta = 0.1:
            log_shrunk = test.exponent * math.log(0.1**2 / 6.0) - slack / 2.0
            counted = math.exp(log_shrunk) * (test.samples * test.target + test.shift)
            least = math.exp(-slack / 2.0) * counted - test.shift
            yield bound(**names), least, f"{names}, Delta={test.shift:.6g}"

    return cases


def _early_threshold(*, beta: float = 0.1, delta: float = 1e-3) -> float:
    """Failure probability beta + delta/2 of Theorem 4.6(b).

    Args:
      beta, delta: in (0, 1).
    """
    return probability("beta", beta) + probability("delta", delta) / 2.0


def _early_thresholds(budget: Budget) -> Iterator[Case]:
    plain = {"beta": 0.1, "delta": 1e-3, "slack": 0.95, "thresholds": 5}
    for setting in [plain, *random_plans(budget, 20, "thresholds", 12)]:
        test = algorithm_5(**setting, corrected=True)
        beta, count = setting["beta"], setting["thresholds"]
        # The bound on the share is the one at which Delta samples are expected.
        share = test.shift / test.samples
        passing = passing_chance(*algorithm_5_levels(share, test), test)
        claimed = _early_threshold(beta=beta, delta=setting["delta"])
        yield claimed, count * passing, f"R tests at N p = Delta, {setting}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm4.6(c)-printed",
        source=f"{_PAPER}, Theorem 4.6(c)",
        statement="Algorithm 5 finds a threshold <= tau* - 1/R with probability at "
        "most 2 beta + delta/(2 R).",
        kind="utility",
        relation=None,
        evaluate=_threshold_failure,
        check=at_most(_point_mass(printed=True)),
        holds=False,
        erratum="LT-E8",
        correction="The thresholds are 1/(R-1) apart: LT-Thm4.6(c).",
    ),
    Claim(
        id="LT-Thm4.6(c)-shift-printed",
        source=f"{_PAPER}, Theorem 4.6(c)",
        statement="With Delta as printed, and 1/R read as 1/(R-1), the found threshold "
        "is below tau* - 1/(R-1) with probability at most 2 beta + delta/(2 R).",
        kind="utility",
        relation=None,
        evaluate=_threshold_failure,
        check=at_most(_small_shift),
        holds=False,
        erratum="LT-E6",
        correction="For large epsilon_3 nothing but Delta keeps the sampling error "
        "small: LT-Thm4.6(c), with the Delta of LT-E6.",
    ),
    Claim(
        id="LT-Thm4.6(c)",
        source=f"{_PAPER}, Theorem 4.6(c), corrected",
        statement="With Delta as in LT-E6, Algorithm 5 finds a threshold < tau* - "
        "1/(R-1) with probability at most 2 beta + delta/(2 R).",
        kind="utility",
        relation=None,
        evaluate=_threshold_failure,
        check=at_most(_point_mass(printed=False), tolerance=1e-12),
        erratum="LT-E8",
    ),
    Claim(
        id="LT-Thm4.6(b)-step-printed",
        source=f"{_PAPER}, proof of Theorem 4.6(b)",
        statement="Outside the failure events, N p(tau) >= Delta at the found "
        "threshold.",
        kind="utility",
        relation=None,
        evaluate=_least_expected,
        check=at_least(_expected_samples(corrected=False)),
        holds=False,
        erratum="LT-E9",
        correction="N p(tau) >= (3 e^(-epsilon_0/2) - 1) Delta; a larger N repairs it: "
        "LT-Thm4.6(b)-step.",
    ),
    Claim(
        id="LT-Thm4.6(b)-step",
        source=f"{_PAPER}, proof of Theorem 4.6(b), corrected",
        statement="With the factor max(3, 2 e^(epsilon_0/2)) instead of 3 in N, "
        "outside the failure events N p(tau) >= Delta at the found threshold.",
        kind="utility",
        relation=None,
        evaluate=_least_expected_corrected,
        check=at_least(_expected_samples(corrected=True)),
        erratum="LT-E9",
    ),
    Claim(
        id="LT-Thm4.6(b)",
        source=f"{_PAPER}, Theorem 4.6(b), corrected",
        statement="With a = max(3, 2 e^(epsilon_0/2)) for 3 in N and Delta as in "
        "LT-E6, P[p(tau) <= (e^(-epsilon_0/2)/a) (beta^2/(R+1))^(6 S/epsilon_3) p*] "
        "<= beta + delta/2 for the threshold tau of Algorithm 5.",
        kind="utility",
        relation=None,
        evaluate=_early_threshold,
        check=at_most(_early_thresholds),
        erratum="LT-E9",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E8",
        source=f"{_PAPER}, Theorems 1.4(b), 4.6(c) and 4.7(b)",
        kind="statement",
        printed="The found threshold is above tau* - 1/R except with probability 2 "
        "beta + delta/(2 R).",
        correct="Algorithm 5's thresholds 1 - (i-1)/(R-1) are 1/(R-1) apart, so read "
        "1/(R-1). With all scores at 0.749 and R = 5 it finds 0.5 almost surely.",
        refuted=("LT-Thm4.6(c)-printed",),
        corrected=(
            "LT-Thm4.6(c)",
            "LT-Thm4.7(b)",
        ),
    ),
    Erratum(
        id="LT-E9",
        source=f"{_PAPER}, proof of Theorem 4.6(b)",
        kind="proof",
        printed="N p(tau) >= e^(-epsilon_0/2) N p~ - Delta >= Delta.",
        correct="A factor e^(-epsilon_0/2) is dropped: N p(tau) >= (3 e^(-epsilon_0/2) "
        "- 1) Delta, at least Delta only for epsilon_0 <= 2 log 1.5 = 0.811. Take "
        "max(3, 2 e^(epsilon_0/2)) for 3 in N and in the bound.",
        refuted=("LT-Thm4.6(b)-step-printed",),
        corrected=("LT-Thm4.6(b)-step", "LT-Thm4.6(b)"),
    ),
)
