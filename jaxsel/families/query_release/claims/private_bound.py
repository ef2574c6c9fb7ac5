"""Cohen et al. 2022, Corollary 1: a private bound on the largest error (CL-E8).

TLap(epsilon, delta) is Laplace noise of scale 1/epsilon truncated to
+-log(1/delta)/epsilon.
"""

import math

from jaxsel.accounting.single_run.truncated_laplace import (
    truncated_laplace_cdf,
    truncated_laplace_support,
)
from jaxsel.families.query_release.parameters import AnyEpsilon, Delta
from jaxsel.language.checking import Points, drawn
from jaxsel.language.papers import CL


def deltas(most: int, epsilon: float = 1.0) -> Points:
    """Points of the claims: delta 0.1 and ``most`` random deltas, all at the same epsilon."""

    def draw(generator):
        return 10.0 ** generator.uniform(-8.0, math.log10(0.5)), epsilon

    return drawn("delta epsilon", draw, most, (0.1, epsilon))


@CL.utility(
    "CL-Cor1-printed",
    "Corollary 1 and its proof",
    correction="The offset is 2 log(2/delta)/epsilon: CL-Cor1.",
)
def below_printed(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """s = g + 2 log(1/delta)/epsilon + TLap(epsilon/2, delta/2) is never below g.

    Here g is the largest error of the answers. Returns 0, the probability of s < g.
    """
    del epsilon, delta
    return 0.0


below = CL.utility(
    "CL-Cor1",
    "Corollary 1, corrected",
    statement="s = g + 2 log(2/delta)/epsilon + TLap(epsilon/2, delta/2) is never below g.",
    loose="The number is 0, half of which is 0; a smaller offset, that of CL-Cor1-printed, is seen "
    "to fail.",
)(below_printed.evaluate)


@below_printed.bounds(deltas(0), deltas(0, 0.3), inside=1.0)
@below.bounds(deltas(100), deltas(100, 0.3), inside=2.0, tolerance=1e-14)
def released_bounds(epsilon, delta, inside):
    offset = 2.0 * math.log(inside / delta) / epsilon
    # s = g + offset + TLap(epsilon/2, delta/2)
    low = float(truncated_laplace_cdf(-offset, epsilon / 2.0, delta / 2.0))
    return low, "offset 2 log(inside/delta)/epsilon"


@CL.utility(
    "CL-Cor1-constant-printed",
    "proof of Corollary 1",
    correction="s <= g + 8 log(1/delta)/epsilon with the corrected offset: CL-Cor1-constant.",
)
def added_printed(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """s <= g + 4 log(1/delta)/epsilon, with the printed offset.

    Returns the bound on s - g.
    """
    return -4.0 * math.log(delta) / epsilon


@CL.utility("CL-Cor1-constant", "proof of Corollary 1, corrected")
def added(*, epsilon: AnyEpsilon = 1.0, delta: Delta = 0.1) -> float:
    """s <= g + 8 log(1/delta)/epsilon for delta <= 1/2, with the offset 2 log(2/delta)/epsilon.

    Returns the bound on s - g.
    """
    return -8.0 * math.log(delta) / epsilon


@added_printed.bounds(deltas(0), inside=1.0)
@added.bounds(deltas(100), inside=2.0)
def additions(delta, inside):
    return 2.0 * math.log(inside / delta) + truncated_laplace_support(0.5, delta / 2.0)


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
