"""Liu & Talwar 2019, Theorem 4.6 (b) and (c): the threshold that Algorithm 5 finds."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel.families.percentile.claims.parameters import (
    BaseEpsilon,
    Beta,
    Delta,
    FinalEpsilon,
    Slack,
    Thresholds,
    beta_and_half_delta,
)
from jaxsel.families.percentile.claims.single_tests import (
    algorithm_5_levels,
    demanding_plans,
    passing_chance,
    random_plans,
)
from jaxsel.families.percentile.settings import PercentileTest, algorithm_5
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.language.base import Budget
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.papers import LT

# --- (c): not far below (LT-E8, LT-E6) ------------------------------------------------


def _threshold_failure(
    *, beta: Beta = 0.1, delta: Delta = 1e-3, thresholds: Thresholds = 5
) -> float:
    """Failure probability 2 beta + delta/(2 R) of Theorem 4.6(c)."""
    return 2.0 * beta + delta / (2.0 * thresholds)


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
        for setting in [
            *demanding_plans("thresholds"),
            *random_plans(budget, 20, "thresholds", 12),
        ]:
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


# --- (b): not far above (LT-E9) -------------------------------------------------------


def _least_expected(corrected: bool):
    def least(
        *, slack: Slack = 0.95, base_epsilon: BaseEpsilon = 0.1, final_epsilon: FinalEpsilon = 1.0
    ) -> float:
        """Least expected number of samples that reach the found threshold: Delta.

        At beta = 0.1, R = 5, delta = 0.001, p* = 1/2.
        """
        return algorithm_5(
            slack=slack, base_epsilon=base_epsilon, final_epsilon=final_epsilon, corrected=corrected
        ).shift

    return least


def _expected_samples(corrected: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        settings = [(0.95, 0.1, 1.0), (0.85, 0.5, 1.0)]
        if corrected:
            generator = np.random.default_rng(budget.seed)
            for _ in range(min(budget.cases, 200)):
                slack, base = generator.uniform(0.01, 0.99, 2).tolist()
                settings.append((slack, base, float(generator.uniform(0.2, 50.0))))
        bound = _least_expected(corrected)
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


def _early_thresholds(budget: Budget) -> Iterator[Case]:
    plain = {"beta": 0.1, "delta": 1e-3, "slack": 0.95, "thresholds": 5}
    for setting in [
        plain,
        *demanding_plans("thresholds"),
        *random_plans(budget, 20, "thresholds", 12),
    ]:
        test = algorithm_5(**setting, corrected=True)
        beta, count = setting["beta"], setting["thresholds"]
        # The bound on the share is the one at which Delta samples are expected.
        share = test.shift / test.samples
        passing = passing_chance(*algorithm_5_levels(share, test), test)
        claimed = beta_and_half_delta(beta=beta, delta=setting["delta"])
        yield claimed, count * passing, f"R tests at N p = Delta, {setting}"


STATEMENTS = (
    LT.misprint(
        "LT-E8",
        "Theorems 1.4(b), 4.6(c) and 4.7(b)",
        "statement",
        printed="The found threshold is above tau* - 1/R except with probability 2 "
        "beta + delta/(2 R).",
        correct="Algorithm 5's thresholds 1 - (i-1)/(R-1) are 1/(R-1) apart, so read "
        "1/(R-1). With all scores at 0.749 and R = 5 it finds 0.5 almost "
        "surely.",
        refuted=(
            LT.utility(
                "LT-Thm4.6(c)-printed",
                "Theorem 4.6(c)",
                "Algorithm 5 finds a threshold <= tau* - 1/R with probability at most "
                "2 beta + delta/(2 R).",
                _threshold_failure,
                at_most(_point_mass(printed=True)),
            ),
        ),
        corrected=(
            LT.utility(
                "LT-Thm4.6(c)",
                "Theorem 4.6(c), corrected",
                "With Delta as in LT-E6, Algorithm 5 finds a threshold < tau* - "
                "1/(R-1) with probability at most 2 beta + delta/(2 R).",
                _threshold_failure,
                at_most(_point_mass(printed=False), tolerance=1e-12),
            ),
            "LT-Thm4.7(b)",
        ),
    ),
    LT.utility(
        "LT-Thm4.6(c)-shift-printed",
        "Theorem 4.6(c)",
        "With Delta as printed, and 1/R read as 1/(R-1), the found threshold is below "
        "tau* - 1/(R-1) with probability at most 2 beta + delta/(2 R).",
        _threshold_failure,
        at_most(_small_shift),
        holds=False,
        erratum="LT-E6",
        correction="For large epsilon_3 nothing but Delta keeps the sampling error "
        "small: LT-Thm4.6(c), with the Delta of LT-E6.",
    ),
    LT.misprint(
        "LT-E9",
        "proof of Theorem 4.6(b)",
        "proof",
        printed="N p(tau) >= e^(-epsilon_0/2) N p~ - Delta >= Delta.",
        correct="A factor e^(-epsilon_0/2) is dropped: N p(tau) >= (3 "
        "e^(-epsilon_0/2) - 1) Delta, at least Delta only for epsilon_0 <= 2 "
        "log 1.5 = 0.811. Take max(3, 2 e^(epsilon_0/2)) for 3 in N and in "
        "the bound.",
        refuted=(
            LT.utility(
                "LT-Thm4.6(b)-step-printed",
                "proof of Theorem 4.6(b)",
                "Outside the failure events, N p(tau) >= Delta at the found threshold.",
                _least_expected(False),
                at_least(_expected_samples(False)),
            ),
        ),
        corrected=(
            LT.utility(
                "LT-Thm4.6(b)-step",
                "proof of Theorem 4.6(b), corrected",
                "With the factor max(3, 2 e^(epsilon_0/2)) instead of 3 in N, outside "
                "the failure events N p(tau) >= Delta at the found threshold.",
                _least_expected(True),
                at_least(_expected_samples(True)),
            ),
            LT.utility(
                "LT-Thm4.6(b)",
                "Theorem 4.6(b), corrected",
                "With a = max(3, 2 e^(epsilon_0/2)) for 3 in N and Delta as in LT-E6, "
                "P[p(tau) <= (e^(-epsilon_0/2)/a) (beta^2/(R+1))^(6 S/epsilon_3) p*] "
                "<= beta + delta/2 for the threshold tau of Algorithm 5.",
                beta_and_half_delta,
                at_most(_early_thresholds),
            ),
        ),
    ),
)
