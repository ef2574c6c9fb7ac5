"""Cohen et al. 2022, Theorems 7 and 8: what runs has the constants of the paper.

The numbers that the samplers draw with, as ``prepare`` makes them, against the theorems'
text written out here; with scores whose clipped values are worked out by hand.
"""

import math

import numpy as np

from jaxsel.families.choosing.claims.choosing import Beta, Bound, Delta, Epsilon
from jaxsel.families.choosing.claims.stable_selection import Rank
from jaxsel.language.checking import Judged
from jaxsel.language.papers import CL

_POINTS = ((1.0, 0.1, 0.5, 1), (0.3, 1e-6, 0.07, 3), (0.9, 0.5, 0.9, 40))
# Scores, k, and what is left above the (k+1)-th largest, ties and gaps included.
_CLIPPED = (
    ([5.0, 3.0, 0.0], 1, [2.0, 0.0, 0.0]),
    ([1.0, 4.0, 4.0, -2.0, 2.5], 2, [0.0, 1.5, 1.5, 0.0, 0.0]),
    ([4.0, 4.0, 4.0], 2, [0.0, 0.0, 0.0]),
    ([7.0, -1.0, 0.5, 3.0], 3, [8.0, 0.0, 1.5, 4.0]),
)


def numbers(params) -> tuple[float, float, float]:
    """Rate, largest size and number of runs that a sampler draws with."""
    rate = float(params["rate"])
    return rate, -math.log(float(params["truncation"])) / rate, float(params["runs"])


@CL.identity("CL-Thm7-settings", "Theorem 7")
def reach(
    *, epsilon: Epsilon = 1.0, delta: Delta = 0.1, beta: Beta = 0.5, bound: Bound = 2
) -> float:
    """What runs has noise of scale 3/epsilon that ends at (3/epsilon) log(5 k/(delta beta)), and
    tau = ceil(4/beta).

    (3/epsilon) log(5 k/(delta beta)), the largest size of the noise.
    """
    return 3.0 / epsilon * math.log(5.0 * bound / (delta * beta))


@reach.equals(tolerance=1e-12)
def choosing_as_it_runs(budget):
    from jaxsel.families.choosing.choosing import choosing_mechanism

    for method in ("grouped", "literal"):
        for epsilon, delta, beta, k in _POINTS:
            point = {"epsilon": epsilon, "delta": delta, "beta": beta, "bound": k}
            _, found = choosing_mechanism(method=method).prepare(np.zeros(3), point)
            rate, most, runs = numbers(found)
            yield point, most, f"largest size of the noise, {method}"
            yield Judged(epsilon / 3.0, rate, f"rate of the noise, {method}, {point}")
            yield Judged(math.ceil(4.0 / beta), runs, f"tau, {method}, {point}")


@CL.identity("CL-Thm8-settings", "Theorem 8, corrected")
def stable_reach(
    *, epsilon: Epsilon = 1.0, delta: Delta = 0.1, beta: Beta = 0.5, rank: Rank = 1
) -> float:
    """What runs has noise of scale 6/epsilon that ends at (6/epsilon) log(10 k/(delta beta)), on
    max(f_i - Q, 0), and tau = ceil(2/beta).

    (6/epsilon) log(10 k/(delta beta)), the largest size of the noise.
    """
    return 6.0 / epsilon * math.log(10.0 * rank / (delta * beta))


@stable_reach.equals(tolerance=1e-12)
def stable_selection_as_it_runs(budget):
    from jaxsel.families.choosing.stable_selection import stable_selection

    for method in ("grouped", "literal"):
        for (epsilon, delta, beta, _), (scores, rank, clipped) in zip(
            (*_POINTS, _POINTS[1]), _CLIPPED, strict=True
        ):
            point = {"epsilon": epsilon, "delta": delta, "beta": beta, "rank": rank}
            data, found = stable_selection(method=method).prepare(np.array(scores), point)
            rate, most, runs = numbers(found)
            yield point, most, f"largest size of the noise, {method}"
            yield Judged(epsilon / 6.0, rate, f"rate of the noise, {method}, {point}")
            yield Judged(math.ceil(2.0 / beta), runs, f"tau, {method}, {point}")
            for level, start, size in zip(data.levels, data.starts, data.choices, strict=True):
                if level > -np.inf:
                    for label in data.members[start : start + int(size)]:
                        text = f"clipped score {label} of {scores}, {method}, {point}"
                        yield Judged(clipped[label], float(level), text)
