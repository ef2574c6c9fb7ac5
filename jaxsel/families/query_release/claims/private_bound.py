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
from jaxsel.language.checking import Case, at_most
from jaxsel.language.papers import CL


def deltas(budget: Budget, cases: int, first: float) -> Iterator[float]:
    generator = np.random.default_rng(budget.seed)
    yield first
    for _ in range(min(budget.cases, cases)):
        yield float(10.0 ** generator.uniform(-8.0, math.log10(0.5)))


def _below(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """Chance 0 that the released bound s is below the true error g."""
    del epsilon, delta
    return 0.0


def _released_bounds(inside: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        for delta in deltas(budget, cases, 0.1):
            for epsilon in (1.0, 0.3):
                offset = 2.0 * math.log(inside / delta) / epsilon
                # s = g + offset + TLap(epsilon/2, delta/2)
                low = float(truncated_laplace_cdf(-offset, epsilon / 2.0, delta / 2.0))
                where = f"offset 2 log({inside:g}/delta)/epsilon, {epsilon=}, {delta=!r}"
                yield _below(epsilon=epsilon, delta=delta), low, where

    return listed


def _added_printed(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """Printed bound 4 log(1/delta)/epsilon on what s adds to the error g."""
    return -4.0 * math.log(delta) / epsilon


def _added(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """Bound 8 log(1/delta)/epsilon on what s adds to the error g."""
    return -8.0 * math.log(delta) / epsilon


def _additions(bound, inside: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        for delta in deltas(budget, cases, 0.1):
            offset = 2.0 * math.log(inside / delta)
            most = offset + truncated_laplace_support(0.5, delta / 2.0)
            yield bound(delta=delta), most, f"epsilon=1, {delta=!r}"

    return listed


STATEMENTS = (
    CL.misprint(
        "CL-E8",
        "Corollary 1 and its proof",
        "statement",
        printed="s = g + 2 log(1/delta)/epsilon + TLap(epsilon/2, delta/2) bounds ||f "
        "- f~||_2 with probability 1; C_2 = max(4 C_1, 4).",
        correct="The noise reaches -2 log(2/delta)/epsilon, so s < g with probability "
        "(delta/4)/(1 - delta/2). Use the offset 2 log(2/delta)/epsilon; then s <= g "
        "+ 8 log(1/delta)/epsilon for delta <= 1/2. The norm is the maximum norm.",
        refuted=(
            CL.utility(
                "CL-Cor1-printed",
                "Corollary 1 and its proof",
                "s = g + 2 log(1/delta)/epsilon + TLap(epsilon/2, delta/2) is never below g.",
                _below,
                at_most(_released_bounds(1.0, 0)),
                correction="The offset is 2 log(2/delta)/epsilon: CL-Cor1.",
            ),
            CL.utility(
                "CL-Cor1-constant-printed",
                "proof of Corollary 1",
                "s <= g + 4 log(1/delta)/epsilon, with the printed offset.",
                _added_printed,
                at_most(_additions(_added_printed, 1.0, 0)),
                correction="s <= g + 8 log(1/delta)/epsilon with the corrected offset: "
                "CL-Cor1-constant.",
            ),
        ),
        corrected=(
            CL.utility(
                "CL-Cor1",
                "Corollary 1, corrected",
                "s = g + 2 log(2/delta)/epsilon + TLap(epsilon/2, delta/2) is never below g.",
                _below,
                at_most(_released_bounds(2.0, 100), tolerance=1e-14),
            ),
            CL.utility(
                "CL-Cor1-constant",
                "proof of Corollary 1, corrected",
                "s <= g + 8 log(1/delta)/epsilon for delta <= 1/2, with the offset 2 "
                "log(2/delta)/epsilon.",
                _added,
                at_most(_additions(_added, 2.0, 100)),
            ),
        ),
    ),
)
