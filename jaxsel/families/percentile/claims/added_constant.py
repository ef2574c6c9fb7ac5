"""Claims of Liu & Talwar 2019 on Delta, the constant that Algorithms 4 and 5 add to all counts.

They belong to Theorems 4.4 and 4.6. N p~ is the number of the N runs that reach the threshold.
"""

import math
from typing import Annotated

import numpy as np
import scipy

from jaxsel.families.percentile.claims.concentration import CHERNOFF, needed_offset, worst_counts
from jaxsel.families.percentile.parameters import BaseEpsilon, Delta, Slack
from jaxsel.families.percentile.settings import added_shift
from jaxsel.language.checking import drawn, listed
from jaxsel.language.domains import whole
from jaxsel.language.papers import LT

Queries = Annotated[int, whole("T", at_least=1)]


def _shift(sides: int, corrected: bool):
    """The formula of Delta for Algorithm 4 (``sides`` = 2) or 5 (1), as printed or corrected."""

    def evaluate(
        *,
        slack: Slack = 0.05,
        base_epsilon: BaseEpsilon = 1.0,
        queries: Queries = 10,
        delta: Delta = 1e-6,
    ) -> float:
        """Returns the Delta of Algorithm 4 for T queries, or of Algorithm 5 for R thresholds."""
        return added_shift(
            sides, queries, slack=slack, base_epsilon=base_epsilon, delta=delta, corrected=corrected
        )

    return evaluate


@LT.utility(
    "LT-Thm4.4-step-F3-printed", "proof of Theorem 4.4(b)-(d)", formula=_shift(2, corrected=False)
)
def concentration_printed():
    """With Delta as printed, the count N p~ + Delta leaves its mean by a factor e^(epsilon_0/2)
    with probability at most delta/(4 T) (compared: Delta, with the least that is enough)."""


@LT.utility(
    "LT-Thm4.4-step-F3",
    "proof of Theorem 4.4(b)-(d), corrected",
    formula=_shift(2, corrected=True),
    loose="with the Poisson law's exact exponents, by Chernoff's bound, a Delta of 0.37 times this "
    "is enough for every epsilon_0 in (0, 1)",
)
def concentration_4():
    """With Delta >= (e^(epsilon_0/2) + 1)/(e^(epsilon_0/2) - 1)^2 log(4 T/delta), the count N p~ +
    Delta leaves its mean by a factor e^(epsilon_0/2) with probability at most delta/(4 T)
    (compared: Delta, with the least that is enough)."""


@LT.utility(
    "LT-Thm4.6-step-F3",
    "proof of Theorem 4.6(b)(c), corrected",
    formula=_shift(1, corrected=True),
    loose="with the Poisson law's exact exponents, by Chernoff's bound, a Delta of 0.37 times this "
    "is enough for every epsilon_0 in (0, 1)",
)
def concentration_5():
    """With Delta >= (e^(epsilon_0/2) + 1)/(e^(epsilon_0/2) - 1)^2 log(2 R/delta), the count N p~ +
    Delta leaves its mean by a factor e^(epsilon_0/2) with probability at most delta/(2 R)
    (compared: Delta, with the least that is enough)."""


@LT.utility(
    "LT-Thm4.4(a)-step-Delta",
    "proof of Theorem 4.4(a)",
    formula=_shift(2, corrected=False),
    loose=CHERNOFF,
)
def closeness_4():
    """With the Delta of Algorithm 4, independent counts X and Y with EX <= e^(epsilon_1) EY have X
    + Delta >= e^(epsilon_0 + epsilon_1) (Y + Delta) with probability at most delta/(4 T)
    (compared: Delta, with the least that is enough)."""


@LT.utility(
    "LT-Thm4.6(a)-step-Delta",
    "proof of Theorem 4.6(a)",
    formula=_shift(1, corrected=False),
    loose=CHERNOFF,
)
def closeness_5():
    """With the Delta of Algorithm 5, independent counts X and Y with EX <= e^(epsilon_1) EY have X
    + Delta >= e^(epsilon_0 + epsilon_1) (Y + Delta) with probability at most delta/(2 R)
    (compared: Delta, with the least that is enough)."""


def _plan(generator):
    """Random epsilon_0, epsilon_1, T or R, and delta."""
    slack, base = generator.uniform(0.01, 0.99, 2).tolist()
    queries, delta = int(generator.integers(1, 50)), float(10.0 ** generator.uniform(-12.0, -0.1))
    return slack, base, queries, delta


_COLUMNS = "slack base_epsilon queries delta"
_KNOWN = listed(_COLUMNS, (0.05, 1.0, 10, 1e-6), (0.02, 0.5, 2, 1e-4))
_CLOSE = listed(_COLUMNS, (0.9, 0.9, 2, 1e-6), (0.1, 0.9, 21, 1e-6), (0.5, 0.1, 10, 1e-3))


@concentration_printed.bounds(_KNOWN, sides=2)
@concentration_4.bounds(_KNOWN, drawn("slack base_epsilon queries delta", _plan, 60), sides=2)
@concentration_5.bounds(_KNOWN, drawn("slack base_epsilon queries delta", _plan, 60), sides=1)
def needed_for_concentration(slack, queries, delta, sides):
    """The least Delta for which counts plus Delta stay within a factor e^(slack/2) of their mean.

    Upwards and downwards they may each fail to with probability delta/(4 T) in Algorithm 4 and
    delta/(2 R) in Algorithm 5. Poisson counts are the worst, of which many means are tried.

    Args:
      slack: epsilon_0.
      queries: T or R.
      delta: of the answers.
      sides: 2 for Algorithm 4, 1 for Algorithm 5.
    """
    chance, growth = delta / (2.0 * sides * queries), math.exp(slack / 2.0)
    means = -math.log(chance) / math.expm1(slack / 2.0) ** 2 * np.geomspace(0.01, 10, 60)
    # The largest and the least count whose tails are as likely as the allowed failure.
    most, least = scipy.stats.poisson.isf(chance, means), scipy.stats.poisson.ppf(chance, means)
    above = (most - growth * means) / (growth - 1.0)
    below = (means / growth - least) / (1.0 - 1.0 / growth)
    return float(max(above.max(), below.max())), "least Delta for Poisson counts"


@closeness_4.bounds(_CLOSE, sides=2)
@closeness_5.bounds(_CLOSE, sides=1)
def needed_for_closeness(slack, base_epsilon, queries, delta, sides):
    """The least Delta that the proof of part (a) needs, for Poisson counts on two neighbours.

    Arguments as of ``needed_for_concentration``, and ``base_epsilon``, epsilon_1.
    """
    chance, growth = delta / (2.0 * sides * queries), math.exp(slack + base_epsilon)
    return max(
        needed_offset(first, second, growth, chance) / (growth - 1.0)
        for first, second in worst_counts(base_epsilon, slack, chance)
    )


LT_E6 = LT.misprint(
    "LT-E6",
    "Theorems 4.4(b)-(d) and 4.6(b)(c)",
    "statement",
    printed="By Lemma A.4 and the choice of Delta, the counts concentrate within e^(epsilon_0/2) "
    "with probability 1 - delta/(4 T) (4.4) or 1 - delta/(2 R) (4.6).",
    correct="Lemma A.4 needs Delta >= (e^(epsilon_0/2) + 1)/(e^(epsilon_0/2) - 1)^2 log(4 T/delta) "
    "(4.6: log(2 R/delta)), of order 1/epsilon_0^2, while the printed Delta is of order "
    "1/(epsilon_0 epsilon_1) for epsilon_0 << epsilon_1. For moderate epsilon_3 slack in the "
    "Laplace part hides it; for very large epsilon_3 the bound of Theorem 4.6(c) itself fails.",
    refuted=[concentration_printed, "LT-Thm4.6(c)-shift-printed"],
    corrected=[concentration_4, concentration_5, "LT-Thm4.6(c)"],
)
