"""Settings on which the claims about the repetitive sparse vector are tried."""

import math
from collections.abc import Callable
from typing import Annotated

from jaxsel.language.checking import Points, listed
from jaxsel.language.domains import number, positive, whole

QueryEpsilon = Annotated[float, number("epsilon', of each Test", above=0.0, at_most=100.0)]
Failures = Annotated[int, whole("k', failed batches until it halts", at_least=1, at_most=10**9)]
Gamma = Annotated[float, positive("exponent of the law of p")]
Wanted = Annotated[int, whole("k, answers top to be found", at_least=1, at_most=10**9)]
Queries = Annotated[int, whole("m, how many queries", at_least=10, at_most=1e15)]


def logs(observed: float) -> Callable[[float], tuple[float, float]]:
    """To compare a small probability with a claimed one: the function that returns both logarithms.

    The tolerance of rounding is then relative to the probabilities.
    """
    low = math.log(max(observed, 1e-320))
    return lambda claimed: (math.log(claimed), low)


def problems(cases: int, **more: float) -> Points:
    """Points of k, m and beta for which Section 4.2 has settings, with either form of k'.

    Args:
      cases: how many random ones, besides four fixed ones.
      **more: further parameters, which are equal at all points.
    """

    def points(budget):
        known = (3, 100, 0.8), (3, 100, 0.1), (1, 10, 0.5), (20, 1000, 1e-9)
        yield from listed("wanted queries beta", *known)(budget)
        for generator in budget.draws(cases):
            m = int(10.0 ** generator.uniform(1.5, 5.0))
            wanted = int(m ** generator.uniform(0.0, 0.8) / 2.0) + 1
            most = min(0.08 * m, 200.0)
            beta = math.exp(-(most ** generator.uniform(-2.0, 1.0)))
            yield {"wanted": wanted, "queries": m, "beta": beta}

    return lambda budget: [point | more for point in points(budget)]
