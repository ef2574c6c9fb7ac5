"""Claims of Cohen et al. 2022, Theorems 9 and 11, on the errors of private multiplicative weights.

The errors have no closed form. They are simulated, and judged by an exact confidence limit. That
the settings follow the text of Sections 4.2 and 4.3.1 is checked in ``what_runs``.
"""

import math
from typing import Annotated

import numpy as np
import scipy

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.parameters import Beta, Delta, Rows
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.checking import CONFIDENCE, in_units
from jaxsel.language.domains import choice, number
from jaxsel.language.papers import CL

_CELLS, _QUERIES, _ROWS = 16, 60, 30_000

Epsilon = Annotated[float, number("of the whole", at_least=1e-9, at_most=1e6)]
_RATES = ("small", "large")
Rate = Annotated[
    str, choice(_RATES, "learning rate: half the gap of an update, or large: four times")
]
LargeBeta = Annotated[float, number("chance of failure", at_least=2.0**-_QUERIES, below=1.0)]


@CL.utility("CL-Thm9", "Theorem 9, with constants")
def alpha(
    *,
    rows: Rows = 3e4,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    beta: Beta = 0.05,
    rate: Rate = "small",
) -> float:
    """With the settings derived for alpha, private multiplicative weights answer all queries of the
    worst analyst within alpha, with probability 1 - beta.

    Returns alpha of Theorem 9 with its constants, for 16 cells and 60 queries.
    """
    sharp = rate == "large"
    return weights.hardt_rothblum(_CELLS, rows, _QUERIES, epsilon, delta, beta, sharp=sharp).error


@CL.utility("CL-Thm11", "Theorem 11, with constants")
def alpha_repetitive(
    *,
    rows: Rows = 3e4,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    beta: LargeBeta = 0.05,
    rate: Rate = "small",
) -> float:
    """With the settings derived for alpha, the mechanism with the repetitive sparse vector answers
    all queries of the worst analyst within alpha, with probability 1 - beta.

    Returns alpha of Theorem 11 with its constants, for 16 cells and 60 queries.
    """
    sharp = rate == "large"
    return weights.repetitive(_CELLS, rows, _QUERIES, epsilon, delta, beta, sharp=sharp).error


def quantile_limit(counts: np.ndarray, edges: np.ndarray, beta: float) -> float:
    """A lower confidence limit of the (1 - beta)-quantile, from a histogram.

    It is the largest edge above which more than a share beta of all outcomes lies, by an exact
    (Clopper-Pearson) limit that is wrong with probability 1e-6 at most.

    Args:
      counts: Int["edges+1"], outcomes below the first edge, between edges, above the last.
      edges: Float["edges"], increasing.
      beta: the share.
    """
    above = counts.sum() - np.cumsum(counts)[:-1]
    low, _ = clopper_pearson(above, int(counts.sum()), CONFIDENCE)
    exceeded = np.asarray(low) > beta
    return float(edges[exceeded][-1]) if exceeded.any() else 0.0


def max_error(outcome):
    """The largest error of an interaction or an analysis, as the statistic of a simulation."""
    return outcome.max_error


@alpha.bounds(mechanism="hardt_rothblum", settings=weights.hardt_rothblum)
@alpha_repetitive.bounds(mechanism="repetitive", settings=weights.repetitive)
def errors(budget, mechanism, settings):
    """Lower limits of the 0.95-quantile of the largest error of a mechanism, for both rates."""
    from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum
    from jaxsel.families.multiplicative_weights.repetitive import repetitive
    from jaxsel.kernel.engine import Performance, simulate_grid
    from jaxsel.kernel.statistics import histogram

    factory = {"hardt_rothblum": hardt_rothblum, "repetitive": repetitive}[mechanism]
    generator = np.random.default_rng(budget.seed)
    shares = generator.dirichlet(np.full(_CELLS, 0.1))
    table = generator.multinomial(_ROWS, shares)
    trials = max(min(budget.trials, 1000), 1)
    found = [
        settings(_CELLS, _ROWS, _QUERIES, 1.0, 1e-6, 0.05, sharp=rate == "large") for rate in _RATES
    ]
    edges = np.linspace(0.0, 2.0 * max(one.error for one in found), 801)[1:]
    counts = simulate_grid(
        factory(_QUERIES, analyst="worst"),
        [(table, weights.parameters(one)) for one in found],
        trials=trials,
        seed=budget.seed,
        statistic=histogram(max_error, edges),
        progress=False,
        performance=Performance(block_size=256),
    ).values
    point = {"rows": _ROWS, "epsilon": 1.0, "delta": 1e-6, "beta": 0.05}
    for rate, one, row in zip(_RATES, found, counts, strict=True):
        where = f"0.95-quantile of {trials} worst interactions, learning rate {one.rate:.3g}"
        seen = quantile_limit(row, edges, 0.05)
        yield point | {"rate": rate}, seen, where


@CL.utility(
    "CL-Thm11-rejections",
    "Section 4.3.1, 'the number of such rejections is small'",
    loose="One mistake has a chance of 5/M^3 in about 3 M tries, so that R + 1 have "
    "about M^(-2 (R + 1)), while beta is about M^(-R/3).",
)
def slips(*, beta: Beta = 0.01) -> float:
    """With R = ceil(3 log(1/beta)/log M) for M = 2 m + R + 1 questions, more than R mistakes and
    bad answers in all have probability at most beta/10."""
    return beta / 10.0


@slips.bounds()
def slip_cases(budget):
    for generator in budget.draws(200):
        queries = int(10 ** generator.uniform(1.0, 6.0))
        low_beta = 10 ** generator.uniform(-1.0, 2.0)
        beta = math.exp(-min(low_beta, queries * 0.693))
        plan = weights.repetitive_plan(queries, beta)
        size = plan.questions
        # There are at most M + k' <= 2 M batches and M noisy answers, so 3 M chances of a mistake.
        chance = scipy.stats.binom.sf(plan.mistakes, 3 * size, 5.0 / size**3)
        where = f"m={queries}, M={size}"
        yield {"beta": beta}, in_units(float(chance)), where
