"""Claims of Liu & Talwar 2019, Theorem 1.5: Algorithm 4 as an online algorithm."""

import math

import numpy as np

from jaxsel.families.percentile.claims.formulas import beta_and_half_delta, beta_itself
from jaxsel.families.percentile.claims.single_tests import always_level, plans
from jaxsel.families.percentile.laws import share_counts
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, log_potential
from jaxsel.families.sparse_vector.halting_law import halting_law, laplace_difference_tail
from jaxsel.language.checking import drawn, listed
from jaxsel.language.papers import LT


def rescaled(*, target=0.5, beta=0.1, slack=0.1, base_epsilon=0.1, final_epsilon=1.0, **more):
    """Settings of Algorithm 4, corrected, with the lower target of LT-Thm1.5(a) in place of p*.

    This target is e^(-epsilon_0) beta^(12 (epsilon_0 + epsilon_1)/epsilon_3) p*/3.

    Args:
      target: p*.
      beta: the failure probability.
      slack: epsilon_0.
      base_epsilon: epsilon_1.
      final_epsilon: epsilon_3.
      **more: other arguments of ``algorithm_4``.
    """
    exponent = 12.0 * (base_epsilon + slack) / final_epsilon
    more |= {"base_epsilon": base_epsilon, "final_epsilon": final_epsilon, "corrected": True}
    lower = target * math.exp(-slack) * beta**exponent / 3.0
    return algorithm_4(target=lower, beta=beta, slack=slack, **more)


def _passing(share: float, test: PercentileTest) -> float:
    """The exact probability that one test of Algorithm 4 passes at a share."""
    counts = share_counts(test.samples, share)
    level = np.log(counts.values + test.shift) - np.log(counts.failures + test.shift)
    fall = log_potential(test.target, test) - level
    passes = laplace_difference_tail(fall, test.query_scale, test.threshold_scale)
    return float(counts.weights @ passes)


def _plan(generator):
    """Random p*, beta, epsilon_0, epsilon_1, epsilon_3, delta and T."""
    base, slack = generator.uniform(0.05, 0.9, 2).tolist()
    return (
        float(generator.uniform(0.05, 0.95)),
        float(generator.uniform(0.01, 0.9)),
        slack,
        base,
        12.0 * (base + slack) / float(generator.uniform(0.2, 3.0)),
        float(10.0 ** generator.uniform(-6.0, -1.0)),
        int(generator.integers(2, 12)),
    )


@LT.utility("LT-Thm1.5(a)-printed", "Theorem 1.5(a)", formula=beta_itself)
def first_printed():
    """If query i has P[score >= tau_i] >= p*, the sparse vector outputs i with probability at least
    1 - beta (compared: the probability that it does not, with beta)."""


@first_printed.bounds(listed("beta queries", (0.1, 2), (0.1, 5)))
def first_only(beta, queries):
    test = algorithm_4(beta=beta)
    levels = [always_level(test)] * queries
    law = halting_law(levels, test.query_scale, test.threshold_scale)
    for i in range(queries):
        yield 1.0 - float(law[i]), f"query {i + 1} with p=1"


@LT.utility(
    "LT-Thm1.5(a)",
    "Theorem 1.5(a), corrected",
    formula=beta_and_half_delta,
    loose="the far query fails with probability (4 beta^(3/2) - beta^3)/6 at most, which is below "
    "beta/2, and Delta is so large that hardly any of delta/2 is used (LT-Thm4.4-step-F3)",
)
def first():
    """With the target e^(-epsilon_0) beta^(6 S/epsilon_3) p*/3 in place of p*, and with N and Delta
    as corrected, Algorithm 4 halts at some j <= i, if p_i >= p*, except with probability beta +
    delta/2."""


_PLANS = drawn("target beta slack base_epsilon final_epsilon delta queries", _plan, 60)
# A large beta, and so much noise that the constants beside it hardly count.
_DEMANDING = plans("queries", (0.5, 0.999, 0.05, 0.9, 12.0 * 0.95 / 200.0, 1e-6, 2))


@first.bounds(_DEMANDING, _PLANS)
def far_query(target, **more):
    # No earlier query makes it likelier to get this far and fail.
    return 1.0 - _passing(target, rescaled(target=target, **more))


@LT.utility(
    "LT-Thm1.5(b)",
    "Theorem 1.5(b), corrected",
    erratum="LT-E2",
    formula=beta_and_half_delta,
    loose="each of T low queries passes with probability (2/3) (beta/(T+1))^(3/2) at most, all of "
    "them together with 0.26 beta, and hardly any of delta/2 is used (LT-Thm4.4-step-F3)",
)
def low():
    """With the target of LT-Thm1.5(a), Algorithm 4 halts at some R with p_R below (e^(-2
    epsilon_0)/6) (beta^2/(T+1))^(6 S/epsilon_3) p* with probability at most beta + delta/2; the
    exponent is 12 (epsilon_1 + epsilon_0)/epsilon_3."""


@low.bounds(_DEMANDING, _PLANS)
def low_queries(beta, queries, slack, target, **more):
    """A bound on the probability of halting at one of T queries with the low share."""
    test = rescaled(target=target, beta=beta, slack=slack, queries=queries, **more)
    power = (beta**2 / (queries + 1.0)) ** test.exponent
    return queries * _passing(math.exp(-2.0 * slack) * power * target / 6.0, test)


LT_E21 = LT.misprint(
    "LT-E21",
    "Theorem 1.5(a)",
    "statement",
    printed="If there is an i with P[M_i >= tau_i] >= p*, the output is i with probability 1 - "
    "beta.",
    correct="The algorithm halts at some j <= i with that probability: two such queries cannot "
    "both be the output. And Phi(p_i) must exceed Phi(p*) by the factor e^(epsilon_0) (1/beta)^(6 "
    "S/epsilon_3).",
    refuted=[first_printed],
    corrected=["LT-Thm4.4(d)", first],
)
