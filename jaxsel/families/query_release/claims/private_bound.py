"""Cohen et al. 2022, Corollary 1: a private bound on the largest error (CL-E8).

TLap(epsilon, delta) is Laplace noise of scale 1/epsilon truncated to
+-log(1/delta)/epsilon.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.truncated_laplace import (
    truncated_laplace_cdf,
    truncated_laplace_support,
)
from jaxsel.families.query_release.claims.parameters import AnyEpsilon, Delta
from jaxsel.language.base import Budget
from jaxsel.language.papers import CL


def deltas(budget: Budget, cases: int, first: float) -> Iterator[float]:
    generator = np.random.default_rng(budget.seed)
    yield first
    for _ in range(min(budget.cases, cases)):
        yield float(10.0 ** generator.uniform(-8.0, math.log10(0.5)))


@CL.utility(
    "CL-Cor1-printed",
    "Corollary 1 and its proof",
    correction="The offset is 2 log(2/delta)/epsilon: CL-Cor1.",
)
def below_printed(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """s = g + 2 log(1/delta)/epsilon + TLap(epsilon/2, delta/2) is never below g.

    Chance 0 that the released bound s is below the true error g.
    """
    del epsilon, delta
    return 0.0


below = CL.utility(
    "CL-Cor1",
    "Corollary 1, corrected",
    statement="s = g + 2 log(2/delta)/epsilon + TLap(epsilon/2, delta/2) is never below g.",
)(below_printed.evaluate)


def _released_bounds(inside: float, cases: int):
    def released(budget):
        for delta in deltas(budget, cases, 0.1):
            for epsilon in (1.0, 0.3):
                offset = 2.0 * math.log(inside / delta) / epsilon
                # s = g + offset + TLap(epsilon/2, delta/2)
                low = float(truncated_laplace_cdf(-offset, epsilon / 2.0, delta / 2.0))
                where = f"offset 2 log({inside:g}/delta)/epsilon"
                yield {"epsilon": epsilon, "delta": delta}, low, where

    return released


below_printed.bounds()(_released_bounds(1.0, 0))
below.bounds(tolerance=1e-14)(_released_bounds(2.0, 100))


@CL.utility(
    "CL-Cor1-constant-printed",
    "proof of Corollary 1",
    correction="s <= g + 8 log(1/delta)/epsilon with the corrected offset: CL-Cor1-constant.",
)
def added_printed(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """s <= g + 4 log(1/delta)/epsilon, with the printed offset.

    Printed bound 4 log(1/delta)/epsilon on what s adds to the error g.
    """
    return -4.0 * math.log(delta) / epsilon


@CL.utility("CL-Cor1-constant", "proof of Corollary 1, corrected")
def added(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """s <= g + 8 log(1/delta)/epsilon for delta <= 1/2, with the offset 2 log(2/delta)/epsilon.

    Bound 8 log(1/delta)/epsilon on what s adds to the error g.
    """
    return -8.0 * math.log(delta) / epsilon


def _additions(inside: float, cases: int):
    def additions(budget):
        for delta in deltas(budget, cases, 0.1):
            offset = 2.0 * math.log(inside / delta)
            most = offset + truncated_laplace_support(0.5, delta / 2.0)
            yield {"epsilon": 1.0, "delta": delta}, most

    return additions


added_printed.bounds()(_additions(1.0, 0))
added.bounds()(_additions(2.0, 100))


CL_E8 = CL.misprint(
    "CL-E8",
    "Corollary 1 and its proof",
    "statement",
    printed="s = g + 2 log(1/delta)/epsilon + TLap(epsilon/2, delta/2) bounds ||f "
    "- f~||_2 with probability 1; C_2 = max(4 C_1, 4).",
    correct="The noise reaches -2 log(2/delta)/epsilon, so s < g with probability "
    "(delta/4)/(1 - delta/2). Use the offset 2 log(2/delta)/epsilon; then s <= g "
    "+ 8 log(1/delta)/epsilon for delta <= 1/2. The norm is the maximum norm.",
    refuted=[below_printed, added_printed],
    corrected=[below, added],
)
