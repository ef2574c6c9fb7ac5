"""Cohen et al. 2022, Section 4.2 and Remark 2: what the prescribed settings cost.

The printed bound on the privacy of Algorithm 3 is not of order epsilon (CL-E15).
"""

import math
from typing import Annotated

import numpy as np

from jaxsel.families.repetitive_sparse_vector import parameters
from jaxsel.families.repetitive_sparse_vector.claims.cases import Queries, Wanted, problems
from jaxsel.families.repetitive_sparse_vector.settings import (
    plan,
    privacy_epsilon,
    pure_epsilon,
    repetitive_settings,
)
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, listed
from jaxsel.language.domains import number, positive
from jaxsel.language.papers import CL

SmallEpsilon = Annotated[float, number("that the settings are made for", above=0.0, at_most=1.0)]
Delta = Annotated[
    float, number("0: the root is k, else sqrt(k log(1/delta))", at_least=0.0, below=1.0)
]
Multiple = Annotated[float, positive("of epsilon")]
Constant = Annotated[float, positive("C")]


# --- The printed bound (CL-E15) -------------------------------------------------------


@CL.privacy("CL-Sec4.2-step-epsilon-printed", "Section 4.2", Relation.GENERAL)
def order_epsilon(*, epsilon: parameters.Epsilon = 1.0, constant: Constant = 100.0) -> float:
    """The settings of Section 4.2 have epsilon' sqrt(k' log(1/delta)) <= C epsilon for a constant
    C.

    Returns C epsilon, which is meant by "O(epsilon)".
    """
    return constant * epsilon


@order_epsilon.bounds(
    listed("epsilon constant gamma queries", (1.0, 100.0, 1e4, 1e6), (1.0, 1000.0, 1e6, 1e8))
)
def root_privacy(gamma, queries):
    low_beta, low_delta = gamma * math.log(queries) - math.log(20.0), gamma**2
    found = plan(1.0, queries, low_beta, low_delta)
    return found.query_epsilon * math.sqrt(found.failures * low_delta), "k=1, log(1/delta)=gamma^2"


@CL.privacy("CL-Sec4.2-step-epsilon", "Section 4.2, corrected", Relation.GENERAL)
def pure_bound(*, epsilon: parameters.Epsilon = 1.0) -> float:
    """For k <= log(1/delta), the pure bound (2 k' + gamma) epsilon' of the settings of Section 4.2
    is at most 15 epsilon."""
    return 15.0 * epsilon


def _many(generator):
    wanted, queries = (10.0 ** generator.uniform([0.0, 1.0], [4.0, 8.0])).tolist()
    low_beta = float(generator.uniform(0.01, 1.0)) * queries * math.log(2.0)
    low_delta = wanted * float(10.0 ** generator.uniform(0.0, 4.0))
    return 1.0, math.floor(wanted), queries, low_beta, low_delta


_ONE = 1.0, 1.0, 1e6, 1e4 * math.log(1e6) - math.log(20.0), 1e8


@pure_bound.bounds(drawn("epsilon wanted queries low_beta low_delta", _many, 200, _ONE))
def pure_privacy(wanted, queries, low_beta, low_delta):
    found = plan(wanted, queries, low_beta, low_delta)
    return (2.0 * found.failures + found.gamma) * found.query_epsilon, "logs of 1/beta, 1/delta"


# --- What holds -----------------------------------------------------------------------


# So small a beta that mistakes make up nearly all of k', and gamma nearly all of 1/epsilon'.
_RARE = {"wanted": 1, "queries": 1000, "beta": 1e-300}


@CL.privacy("CL-Rem2", "Remark 2, with k' corrected", Relation.GENERAL, erratum="CL-E14")
def multiple(*, epsilon: parameters.Epsilon = 1.0, multiple: Multiple = 13.0) -> float:
    """With the settings of Remark 2, (2 k' + gamma) epsilon' <= 13 epsilon."""
    return multiple * epsilon


@multiple.bounds()
def remark_cases(budget):
    generator = np.random.default_rng(budget.seed)
    for problem in problems(200)(budget):
        epsilon = float(10.0 ** generator.uniform(-2.0, 1.0))
        spent = pure_epsilon(repetitive_settings(**problem, epsilon=epsilon))
        yield {"epsilon": epsilon, "multiple": 13.0}, spent, f"{problem}"
    spent = pure_epsilon(repetitive_settings(**_RARE))
    yield {"epsilon": 1.0, "multiple": 13.0}, spent, f"{_RARE}"


@CL.privacy("CL-Sec4.2-settings", "Section 4.2, with k' corrected", Relation.GENERAL)
def budgeted(*, epsilon: SmallEpsilon = 1.0, multiple: Multiple = 15.0) -> float:
    """For epsilon <= 1, the settings of Section 4.2 are (15 epsilon, delta)-DP, by the smaller of
    the pure and the approximate bound."""
    return multiple * epsilon


@budgeted.bounds()
def budget_cases(budget):
    generator = np.random.default_rng(budget.seed)
    for problem in problems(200)(budget):
        epsilon = float(10.0 ** generator.uniform(-2.0, 0.0))
        delta = float(10.0 ** -(10.0 ** generator.uniform(-0.5, 2.4)))
        settings = repetitive_settings(**problem, epsilon=epsilon, delta=delta)
        spent = privacy_epsilon(settings, delta)
        yield {"epsilon": epsilon, "multiple": 15.0}, spent, f"{problem}, {delta=!r}"
    delta = 1e-150  # so that the approximate bound is hardly below the pure one
    spent = privacy_epsilon(repetitive_settings(**_RARE, delta=delta), delta)
    yield {"epsilon": 1.0, "multiple": 15.0}, spent, f"{_RARE}, {delta=}"


@CL.utility("CL-Rem2-error", "Remark 2")
def margin(
    *,
    wanted: Wanted = 3,
    queries: Queries = 100,
    beta: parameters.Beta = 0.1,
    epsilon: parameters.Epsilon = 1.0,
    delta: Delta = 0.0,
) -> float:
    """The settings of Remark 2 have d = (10/epsilon)(k log m + log(1/beta) + log 20).

    Returns d; for delta > 0 that of Section 4.2, with sqrt(k log(1/delta)) in place of k.
    """
    root = math.sqrt(-wanted * math.log(delta)) if delta > 0.0 else float(wanted)
    size = root * math.log(queries) + (math.log(20.0) - math.log(beta))
    return 10.0 * size / epsilon


@CL.utility("CL-Sec4.2-error", "Section 4.2", formula=margin)
def approximate_margin():
    """The settings of Section 4.2 have d = (10/epsilon)(sqrt(k log(1/delta)) log m + log(1/beta) +
    log 20)."""


@margin.equals(problems(60, epsilon=0.5, delta=0.0))
@approximate_margin.equals(*(problems(60, epsilon=0.5, delta=delta) for delta in (1e-9, 1e-3)))
def prepared(**problem):
    return repetitive_settings(**problem).margin


CL_E15 = CL.misprint(
    "CL-E15",
    "Section 4.2",
    "proof",
    printed="xi = O(epsilon' sqrt(k' log(1/delta))) <= O(epsilon).",
    correct="gamma epsilon' is dropped, and the bound is not of order epsilon when k "
    "<< gamma << log(1/delta). The pure bound (2 k' + gamma) epsilon' <= 15 epsilon "
    "covers k <= log(1/delta); take the smaller of the two.",
    refuted=[order_epsilon],
    corrected=[pure_bound, budgeted],
)
