"""Claims of Liu & Talwar 2019, Theorem 4.4 (b) to (d): where Algorithm 4 halts.

Phi(p) = (N p + Delta)/(N (1 - p) + Delta) are the odds of a share p after Delta is added.
"""

import math
from typing import Annotated

import numpy as np

from jaxsel.families.percentile.claims.above_threshold import far_failure
from jaxsel.families.percentile.claims.formulas import beta_and_half_delta
from jaxsel.families.percentile.claims.single_tests import (
    algorithm_4_levels,
    always_level,
    demanding_plans,
    passing_chance,
    plans,
    random_plans,
    share_at,
)
from jaxsel.families.percentile.parameters import (
    BaseEpsilon,
    Beta,
    Delta,
    FinalEpsilon,
    Queries,
    Slack,
    Target,
)
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, log_potential
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.language.checking import Judged, grid, listed
from jaxsel.language.domains import positive
from jaxsel.language.papers import LT

# --- (b): halting too early (LT-E4) ---------------------------------------------------


@LT.utility("LT-Thm4.4-step-Phi-printed", "proof of Theorem 4.4(b)")
def twice_target(*, target: Target = 0.1) -> float:
    """Phi(p*) >= 2 p* for the potential Phi^(N, Delta)."""
    return 2.0 * target


@twice_target.bounds_below(listed("target", 0.1, 0.05, 0.3))
def potential_of_target(target):
    return math.exp(log_potential(target, algorithm_4(target=target)))


@LT.utility("LT-Thm4.4(b)-step-percentile-printed", "proof of Theorem 4.4(b)")
def least_share_printed(
    *,
    target: Target = 0.05,
    beta: Beta = 0.1,
    slack: Slack = 0.5,
    base_epsilon: BaseEpsilon = 0.1,
    final_epsilon: FinalEpsilon = 24.0,
    queries: Queries = 10,
) -> float:
    """Phi(p) >= e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) Phi(p*) implies p >= (1/2)
    e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p*, with N as printed.

    Returns (1/2) e^(-epsilon_0) (beta/(T+1))^(6 S/epsilon_3) p*, the share at R = T.
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


@LT.utility(
    "LT-Thm4.4(b)-step-percentile",
    "proof of Theorem 4.4(b), corrected",
    formula=least_share_printed,
)
def least_share():
    """With N doubled, Phi(p) >= e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) Phi(p*) implies p >=
    (1/2) e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p*."""


def _early_share(test: PercentileTest, beta: float, slack: float, halt: int) -> float:
    """The largest share at which a halt at query R = ``halt`` counts as too early.

    It is (1/2) e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p*; ``slack`` is epsilon_0.
    """
    return math.exp(-slack) * (beta / (halt + 1.0)) ** test.exponent * test.target / 2.0


def _implied_share(test: PercentileTest, beta: float, slack: float, halt: int) -> float:
    """The least p with Phi(p) >= e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) Phi(p*).

    ``slack`` is epsilon_0 and ``halt`` is R.
    """
    level = test.exponent * math.log(beta / (halt + 1.0)) - slack
    return share_at(level + log_potential(test.target, test), test)


_PLAIN = grid(**{name: [each.default] for name, each in least_share_printed.parameters.items()})


@least_share_printed.bounds_below(_PLAIN, corrected=False)
@least_share.bounds_below(_PLAIN, random_plans(200, "queries", 20), tolerance=1e-12, corrected=True)
def implied_shares(beta, slack, queries, corrected, **more):
    """The least share that the bound on Phi implies, at R = 1 and at R = T."""
    test = algorithm_4(beta=beta, slack=slack, queries=queries, corrected=corrected, **more)
    first = _early_share(test, beta, slack, 1), _implied_share(test, beta, slack, 1)
    yield Judged(*first, f"halting at R=1, {beta=}, {slack=}, {queries=}, {more}")
    yield _implied_share(test, beta, slack, queries), "halting at R=T"


_NOISY = (
    listed("target beta slack delta queries", (0.05, 0.1, 0.5, 1e-3, 10)),
    plans("queries", (0.9, 0.1, 0.1, 0.01, 100.0, 1e-3, 5)),
    demanding_plans("queries"),
    random_plans(20, "queries", 4),
)


@LT.utility("LT-Thm4.4(b)", "Theorem 4.4(b), corrected", formula=beta_and_half_delta)
def early():
    """With N doubled and Delta as in LT-E6, Algorithm 4 halts at some query R with p_R <= (1/2)
    e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p* with probability at most beta + delta/2."""


# --- (c): halting too late (LT-E3, LT-E5) ---------------------------------------------


@LT.utility(
    "LT-Thm4.4(c)-constant-printed", "Theorem 4.4(c), second bound", formula=beta_and_half_delta
)
def late_printed():
    """If Theorem 4.4(c) is read for the queries before R, some i < R has p_i >= 1 - 1/(1 +
    (e^(epsilon_0)/(2 (1 - p*))) ((R+1)/beta)^(6 S/epsilon_3)) with probability at most beta +
    delta/2."""


@late_printed.bounds(listed("target", 0.9, 0.95))
def late_halts_printed(beta, delta, target):
    """The exact probability that a query above the printed share is passed over at R = 1."""
    test = algorithm_4(
        target=target, beta=beta, slack=0.1, base_epsilon=0.01, final_epsilon=100.0, delta=delta
    )
    grown = math.exp(0.1) * ((2 + 1.0) / beta) ** test.exponent  # R = 2, epsilon_0 = 0.1
    share = 1.0 - 1.0 / (1.0 + grown / (2.0 * (1.0 - test.target)))
    first, counts = algorithm_4_levels(share, test)
    second, _ = algorithm_4_levels(1.0, test)
    law = halting_law(
        [first, second], test.query_scale, test.threshold_scale, [counts.weights, np.ones(1)]
    )
    where = f"shares {share:.4f} and 1, epsilon_0=0.1, epsilon_1=0.01, epsilon_3=100, T=10"
    return float(law[1]), where


@LT.utility("LT-Thm4.4(c)", "Theorem 4.4(c), corrected", formula=beta_and_half_delta)
def late():
    """With N doubled and Delta as in LT-E6, Algorithm 4 halts at some query R after an i < R with
    p_i >= 1 - (1/2) e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) (1 - p*) with probability at most
    beta + delta/2."""


_LONG = plans("queries", (0.5, 0.9, 0.05, 0.9, 12.0 * 0.95 / 30.0, 1e-6, 100))


@early.bounds(*_NOISY, first=1, mirrored=False)
@late.bounds(*_NOISY, _LONG, first=2, mirrored=True)
def halts(target, beta, slack, queries, first, mirrored, **more):
    """A bound on the probability of a bad halt: the sum over R of that of one bad test.

    For an early halt it is the test at R that passes at a low share; for a late halt it is a
    test before R that fails at a high share (``mirrored``). A query of share p fails at p* as one
    of share 1 - p passes at 1 - p*. So high shares, which float64 does not tell from 1, are
    computed as low ones.

    Args:
      target, beta, slack, queries, **more: settings of ``algorithm_4``.
      first: the least R at which such a halt is possible.
      mirrored: whether the halt is late.
    """
    aim = 1.0 - target if mirrored else target
    test = algorithm_4(target=aim, beta=beta, slack=slack, queries=queries, **more, corrected=True)
    total = 0.0
    for halt in range(first, queries + 1):
        share = _early_share(test, beta, slack, halt)
        total += passing_chance(*algorithm_4_levels(share, test), test)
    return total


@LT.utility("LT-Thm4.4(c)-step-constant-printed", "proof of Theorem 4.4(c)")
def largest_share(
    *,
    margin: Annotated[
        float, positive("y = e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) (1 - p*)")
    ] = 0.03,
) -> float:
    """Phi(p) <= 1/(2 y) implies p <= 1 - 2 y/(1 + 2 y), y = Delta/N."""
    return 1.0 / (1.0 + 2.0 * margin)


@largest_share.bounds(listed("margin", 0.03, 0.1))
def largest_shares(margin):
    # R = T and the printed N make Delta/N equal to y.
    test = PercentileTest(0.5, 1, margin, 1.0, 1.0, 1.0)
    return share_at(-math.log(2.0 * margin), test), "Delta/N = y"


@LT.utility(
    "LT-Thm4.4(c)-halting-query-printed",
    "Theorem 4.4(c), second bound",
    formula=beta_and_half_delta,
)
def halting_query():
    """If Algorithm 4 halts at query R, p_R is near 1 (by the printed bound) with probability at
    most beta + delta/2."""


@halting_query.bounds(listed("beta", 0.1, 0.01))
def halted_at(beta, delta):
    test = algorithm_4(beta=beta, delta=delta)
    law = halting_law([always_level(test)], test.query_scale, test.threshold_scale)
    return float(law[0]), "the first query has p=1; T=10"


# --- (d): queries far above the threshold (LT-E1) -------------------------------------


@LT.utility(
    "LT-Thm4.4(d)-printed",
    "Theorem 4.4(d)",
    holds=False,
    erratum="LT-E1",
    correction="It is 'below' that is unlikely, jointly: LT-Thm4.4(d).",
)
def far_printed(*, beta: Beta = 0.1, delta: Delta = 1e-3, queries: Queries = 10) -> float:
    """If Phi(p_i) >= e^(epsilon_0) (1/beta)^(6 S/epsilon_3) Phi(p*), Algorithm 4 answers query i
    with 'above', given 'below' before, with probability at most beta + delta/(4 T)."""
    return beta + delta / (4.0 * queries)


@LT.utility("LT-Thm4.4(d)", "Theorem 4.4(d), corrected", erratum="LT-E1")
def far(*, beta: Beta = 0.1, delta: Delta = 1e-3, queries: Queries = 10) -> float:
    """With Delta as in LT-E6, if Phi(p_i) >= e^(epsilon_0) (1/beta)^(6 S/epsilon_3) Phi(p*),
    Algorithm 4 answers queries 1 to i all with 'below' with probability at most (4 beta^(3/2) -
    beta^3)/6 + delta/(2 T)."""
    return far_failure(beta=beta) + delta / (2.0 * queries)


@far_printed.bounds(listed("queries", 10, 2))
def far_passing(beta, delta, queries):
    """The exact probability that a query that all samples pass is answered 'above'."""
    test = algorithm_4(beta=beta, delta=delta, queries=queries)
    law = halting_law([always_level(test)], test.query_scale, test.threshold_scale)
    return float(law[0]), "one query with p=1"


@far.bounds(
    listed("target beta slack delta queries", (0.5, 0.1, 0.5, 1e-3, 10)),
    random_plans(25, "queries", 20),
)
def far_failing(beta, slack, **more):
    """The exact probability that a query with the least Phi of the statement fails its test."""
    test = algorithm_4(beta=beta, slack=slack, **more, corrected=True)
    height = slack - test.exponent * math.log(beta)
    share = share_at(height + log_potential(test.target, test), test)
    # No earlier query makes this test likelier to be reached and to fail.
    failing = 1.0 - passing_chance(*algorithm_4_levels(share, test), test)
    return failing, "one query at the level"


LT_E7 = LT.misprint(
    "LT-E7",
    "Theorem 4.4 and its proof",
    "misprint",
    printed="delta/(4 T) and e^(-epsilon_0/2) in (d); delta_0 = delta/T; 2 R delta/(4 R); "
    "e^(xi'_R) Phi_R; a density ratio of xi_R where all answers are 'below'.",
    correct="(d) counts two tails: delta/(2 T) and e^(-epsilon_0). Lemma 4.3 is used with delta_0 "
    "= delta/(4 T); 2 R delta/(4 T) is meant; the coupling compares e^(xi'_R) Phi'_R; without a "
    "halt only the threshold noise nu moves, which gives e^(epsilon_3/2).",
    corrected=["LT-Thm4.4(d)"],
)

LT_E4 = LT.misprint(
    "LT-E4",
    "proof of Theorem 4.4(b)",
    "proof",
    printed="Phi(p*) >= 2 p*, whence p_R >= (1/2) e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p*.",
    correct="Phi(p*) >= 2 p* fails for p* < 1/2, only Phi(p*) >= p* holds, and with the printed N "
    "the conclusion fails at R = T. With N doubled it holds, since then Delta/N <= y/2 for y = "
    "e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) p*.",
    refuted=[twice_target, least_share_printed],
    corrected=[least_share, early],
)

LT_E5 = LT.misprint(
    "LT-E5",
    "Theorem 4.4(c), second bound",
    "statement",
    printed="p_i >= 1 - (1 + (e^(epsilon_0)/(2 (1 - p*))) ((R+1)/beta)^(6 S/epsilon_3))^(-1) for a "
    "query that should have been halted at.",
    correct="Phi(p) <= 1/(2 y) gives p <= 1 - y at Delta/N = y, and Phi(p*) <= 1/(2 (1 - p*)) "
    "needs p* <= 1/2; for p* near 1 the printed share is below p* itself. With N doubled, the "
    "share 1 - (1/2) e^(-epsilon_0) (beta/(R+1))^(6 S/epsilon_3) (1 - p*) is right.",
    refuted=[late_printed, largest_share],
    corrected=[late],
)

LT_E3 = LT.misprint(
    "LT-E3",
    "Theorem 4.4(c), second bound",
    "statement",
    printed="P[p(tau_R, Q_R) >= ...] <= beta + delta/2 for the query R at which the algorithm "
    "halts.",
    correct="It must read 'some i < R'. A query with p = 1 is halted at almost surely.",
    refuted=[halting_query],
    corrected=["LT-Thm4.4(c)"],
)
