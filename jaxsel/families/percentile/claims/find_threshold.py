"""Claims of Liu & Talwar 2019, Theorem 4.6 (b) and (c): the threshold that Algorithm 5 finds.

Of a base's scores, tau* is the level that a run reaches with probability p*.
"""

import math

import numpy as np

from jaxsel.families.percentile.claims.formulas import beta_and_half_delta
from jaxsel.families.percentile.claims.single_tests import (
    algorithm_5_levels,
    demanding_plans,
    passing_chance,
    plans,
    random_plans,
)
from jaxsel.families.percentile.parameters import (
    BaseEpsilon,
    Beta,
    Delta,
    FinalEpsilon,
    Slack,
    Thresholds,
)
from jaxsel.families.percentile.settings import PercentileTest, algorithm_5
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.language.checking import drawn, listed
from jaxsel.language.papers import LT

# --- (c): not far below (LT-E8, LT-E6) ------------------------------------------------


@LT.utility("LT-Thm4.6(c)-printed", "Theorem 4.6(c)")
def low_printed(*, beta: Beta = 0.1, delta: Delta = 1e-3, thresholds: Thresholds = 5) -> float:
    """Algorithm 5 finds a threshold <= tau* - 1/R with probability at most 2 beta + delta/(2 R)."""
    return 2.0 * beta + delta / (2.0 * thresholds)


@LT.utility(
    "LT-Thm4.6(c)",
    "Theorem 4.6(c), corrected",
    formula=low_printed,
    loose="the test at the first threshold below tau* fails with probability (4 beta^(3/2) - "
    "beta^3)/6 at most, which is below beta/2, a quarter of 2 beta",
)
def low():
    """With Delta as in LT-E6, Algorithm 5 finds a threshold < tau* - 1/(R-1) with probability at
    most 2 beta + delta/(2 R)."""


@LT.utility(
    "LT-Thm4.6(c)-shift-printed",
    "Theorem 4.6(c)",
    holds=False,
    erratum="LT-E6",
    correction="For large epsilon_3 nothing but Delta keeps the sampling error small: "
    "LT-Thm4.6(c), with the Delta of LT-E6.",
    formula=low_printed,
)
def low_by_shift():
    """With Delta as printed, and 1/R read as 1/(R-1), the found threshold is below tau* - 1/(R-1)
    with probability at most 2 beta + delta/(2 R)."""


def _grid(thresholds: int) -> np.ndarray:
    """The paper's thresholds, written out here and not taken from what runs."""
    return 1.0 - np.arange(thresholds) / (thresholds - 1.0)


def _point_law(score: float, test: PercentileTest, thresholds: int) -> np.ndarray:
    """The exact law of the threshold found if every run scores ``score``; none found comes last."""
    shares = [float(threshold <= score) for threshold in _grid(thresholds)]
    levels = [float(algorithm_5_levels(share, test)[0][0]) for share in shares]
    return halting_law(levels, test.query_scale, test.threshold_scale)


_PLANS = demanding_plans("thresholds"), random_plans(20, "thresholds", 12)


@low_printed.bounds(listed("score", 0.749))
def one_score(beta, delta, thresholds, score):
    """The exact probability of a threshold at or below tau* - 1/R, if all scores are equal."""
    test = algorithm_5(beta=beta, delta=delta, thresholds=thresholds)
    missed = _grid(thresholds) <= score - 1.0 / thresholds
    return float(_point_law(score, test, thresholds)[:-1][missed].sum())


def _scored(budget):
    """Points with settings of Algorithm 5 and with the score that every run has."""
    generator = np.random.default_rng(budget.seed)
    yield {"beta": 0.1, "delta": 1e-3, "thresholds": 5, "score": 0.749}
    for plan in random_plans(60, "thresholds", 12)(budget):
        yield plan | {"score": float(generator.uniform(0.0, 1.0))}


@low.bounds(_scored, *_PLANS, tolerance=1e-12)
def any_score(thresholds, score=None, **more):
    """The exact probability that the threshold found is too low, if all scores are ``score``.

    Without a score it is the probability that the test at a share of p* fails, which bounds that
    of too low a threshold for any scores.
    """
    test = algorithm_5(thresholds=thresholds, **more, corrected=True)
    if score is None:
        # The first threshold below tau* fails; no base law makes that likelier.
        return 1.0 - passing_chance(*algorithm_5_levels(test.target, test), test), "p = p*"
    missed = _grid(thresholds) < score - 1.0 / (thresholds - 1.0) - 1e-12
    return float(_point_law(score, test, thresholds)[:-1][missed].sum()), "all scores equal"


@low_by_shift.bounds(plans("thresholds", (0.01, 1e-4, 0.05, 0.99, 1e4, 1e-6, 3)))
def small_shift(**plan):
    test = algorithm_5(**plan)
    # The score is 0.6 with probability p*, else 0, so that tau* = 0.6; thresholds are 1, 0.5, 0.
    rows = [algorithm_5_levels(share, test) for share in (0.0, test.target, 1.0)]
    law = halting_law(
        [levels for levels, _ in rows],
        test.query_scale,
        test.threshold_scale,
        [counts.weights for _, counts in rows],
    )
    return float(law[2]), "score 0.6 with probability p*, else 0; threshold 0 found"


# --- (b): not far above (LT-E9) -------------------------------------------------------


def _least_expected(corrected: bool):
    """The formula of Delta at beta = 0.1, R = 5, delta = 0.001 and p* = 1/2."""

    def least(
        *, slack: Slack = 0.95, base_epsilon: BaseEpsilon = 0.1, final_epsilon: FinalEpsilon = 1.0
    ) -> float:
        """Returns Delta, which the expected number of samples that reach the threshold found is
        claimed to be at least, at beta = 0.1, R = 5, delta = 0.001 and p* = 1/2."""
        return algorithm_5(
            slack=slack, base_epsilon=base_epsilon, final_epsilon=final_epsilon, corrected=corrected
        ).shift

    return least


@LT.utility(
    "LT-Thm4.6(b)",
    "Theorem 4.6(b), corrected",
    formula=beta_and_half_delta,
    loose="each of R tests passes with probability (2/3) (beta/(R+1))^(3/2) at most, all of them "
    "together with 0.26 beta, and hardly any of delta/2 is used (LT-Thm4.6-step-F3)",
)
def early():
    """With a = max(3, 2 e^(epsilon_0/2)) in place of the factor 3 of N, and Delta as in LT-E6,
    P[p(tau) <= (e^(-epsilon_0/2)/a) (beta^2/(R+1))^(6 S/epsilon_3) p*] <= beta + delta/2 for the
    threshold tau of Algorithm 5."""


@early.bounds(listed("beta delta slack thresholds", (0.1, 1e-3, 0.95, 5)), *_PLANS)
def early_thresholds(thresholds, **more):
    test = algorithm_5(thresholds=thresholds, **more, corrected=True)
    # The bound on the share is the one at which Delta samples are expected.
    passing = passing_chance(*algorithm_5_levels(test.shift / test.samples, test), test)
    return thresholds * passing, "R tests at N p = Delta"


@LT.utility("LT-Thm4.6(b)-step-printed", "proof of Theorem 4.6(b)", formula=_least_expected(False))
def expected_printed():
    """Outside the failure events, N p(tau) >= Delta at the found threshold."""


@LT.utility(
    "LT-Thm4.6(b)-step", "proof of Theorem 4.6(b), corrected", formula=_least_expected(True)
)
def expected():
    """With the factor max(3, 2 e^(epsilon_0/2)) instead of 3 in N, outside the failure events N
    p(tau) >= Delta at the found threshold."""


def _slack(generator):
    """Random epsilon_0, epsilon_1 and epsilon_3."""
    slack, base = generator.uniform(0.01, 0.99, 2).tolist()
    final = float(generator.uniform(0.2, 50.0))
    return slack, base, final


_SLACKS = listed("slack base_epsilon final_epsilon", (0.95, 0.1, 1.0), (0.85, 0.5, 1.0))


@expected_printed.bounds_below(_SLACKS, corrected=False)
@expected.bounds_below(
    _SLACKS, drawn("slack base_epsilon final_epsilon", _slack, 200), corrected=True
)
def expected_samples(slack, base_epsilon, final_epsilon, corrected):
    """The expected number of samples at the threshold found, outside the failure events."""
    test = algorithm_5(
        slack=slack, base_epsilon=base_epsilon, final_epsilon=final_epsilon, corrected=corrected
    )
    # Outside the failure events of the proof, R = 5 and beta = 0.1:
    log_shrunk = test.exponent * math.log(0.1**2 / 6.0) - slack / 2.0
    counted = math.exp(log_shrunk) * (test.samples * test.target + test.shift)
    return math.exp(-slack / 2.0) * counted - test.shift


LT_E8 = LT.misprint(
    "LT-E8",
    "Theorems 1.4(b), 4.6(c) and 4.7(b)",
    "statement",
    printed="The found threshold is above tau* - 1/R except with probability 2 beta + delta/(2 R).",
    correct="Algorithm 5's thresholds 1 - (i-1)/(R-1) are 1/(R-1) apart, so read 1/(R-1). With all "
    "scores at 0.749 and R = 5 it finds 0.5 almost surely.",
    refuted=[low_printed],
    corrected=[low, "LT-Thm4.7(b)"],
)

LT_E9 = LT.misprint(
    "LT-E9",
    "proof of Theorem 4.6(b)",
    "proof",
    printed="N p(tau) >= e^(-epsilon_0/2) N p~ - Delta >= Delta.",
    correct="A factor e^(-epsilon_0/2) is dropped: N p(tau) >= (3 e^(-epsilon_0/2) - 1) Delta, at "
    "least Delta only for epsilon_0 <= 2 log 1.5 = 0.811. Take max(3, 2 e^(epsilon_0/2)) for 3 in "
    "N and in the bound.",
    refuted=[expected_printed],
    corrected=[expected, early],
)
