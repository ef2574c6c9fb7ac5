"""Cohen et al. 2022, Theorems 7 and 8: what runs has the constants of the paper.

The numbers that the samplers draw with, as ``prepare`` makes them, against the theorems'
text written out here; with scores whose clipped values are worked out by hand.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.families.choosing.claims.choosing import Beta, Bound, Delta, Epsilon
from jaxsel.families.choosing.claims.stable_selection import Rank
from jaxsel.language.base import Budget
from jaxsel.language.checking import Case, equal
from jaxsel.language.papers import CL

_POINTS = ((1.0, 0.1, 0.5, 1), (0.3, 1e-6, 0.07, 3), (0.9, 0.5, 0.9, 40))
# Scores, k, and what is left above the (k+1)-th largest, ties and gaps included.
_CLIPPED = (
    ([5.0, 3.0, 0.0], 1, [2.0, 0.0, 0.0]),
    ([1.0, 4.0, 4.0, -2.0, 2.5], 2, [0.0, 1.5, 1.5, 0.0, 0.0]),
    ([4.0, 4.0, 4.0], 2, [0.0, 0.0, 0.0]),
    ([7.0, -1.0, 0.5, 3.0], 3, [8.0, 0.0, 1.5, 4.0]),
)


def _reach(
    *, epsilon: Epsilon = 1.0, delta: Delta = 0.1, beta: Beta = 0.5, bound: Bound = 2
) -> float:
    """(3/epsilon) log(5 k/(delta beta)), the largest size of the noise."""
    return 3.0 / epsilon * math.log(5.0 * bound / (delta * beta))


def _stable_reach(
    *, epsilon: Epsilon = 1.0, delta: Delta = 0.1, beta: Beta = 0.5, rank: Rank = 1
) -> float:
    """(6/epsilon) log(10 k/(delta beta)), the largest size of the noise."""
    return 6.0 / epsilon * math.log(10.0 * rank / (delta * beta))


def _numbers(params) -> tuple[float, float, float]:
    """Rate, largest size and number of runs that a sampler draws with."""
    rate = float(params["rate"])
    return rate, -math.log(float(params["truncation"])) / rate, float(params["runs"])


def _choosing_cases(budget: Budget) -> Iterator[Case]:
    from jaxsel.families.choosing.choosing import choosing_mechanism

    del budget
    for method in ("grouped", "literal"):
        for epsilon, delta, beta, k in _POINTS:
            params = {"epsilon": epsilon, "delta": delta, "beta": beta, "bound": k}
            _, found = choosing_mechanism(method=method).prepare(np.zeros(3), params)
            rate, reach, runs = _numbers(found)
            where = f"{method}, {epsilon=}, {delta=}, {beta=}, {k=}"
            yield epsilon / 3.0, rate, f"rate of the noise, {where}"
            claimed = _reach(epsilon=epsilon, delta=delta, beta=beta, bound=k)
            yield claimed, reach, f"largest size of the noise, {where}"
            yield math.ceil(4.0 / beta), runs, f"tau, {where}"


def _stable_cases(budget: Budget) -> Iterator[Case]:
    from jaxsel.families.choosing.stable_selection import stable_selection

    del budget
    for method in ("grouped", "literal"):
        for (epsilon, delta, beta, _), (scores, rank, clipped) in zip(
            (*_POINTS, _POINTS[1]), _CLIPPED, strict=True
        ):
            params = {"epsilon": epsilon, "delta": delta, "beta": beta, "rank": rank}
            mechanism = stable_selection(method=method)
            data, found = mechanism.prepare(np.array(scores), params)
            rate, reach, runs = _numbers(found)
            where = f"{method}, {epsilon=}, {delta=}, {beta=}, k={rank}"
            yield epsilon / 6.0, rate, f"rate of the noise, {where}"
            claimed = _stable_reach(epsilon=epsilon, delta=delta, beta=beta, rank=rank)
            yield claimed, reach, f"largest size of the noise, {where}"
            yield math.ceil(2.0 / beta), runs, f"tau, {where}"
            for level, start, size in zip(data.levels, data.starts, data.choices, strict=True):
                if level > -np.inf:
                    for label in data.members[start : start + int(size)]:
                        text = f"clipped score {label} of {scores}, {where}"
                        yield clipped[label], float(level), text


STATEMENTS = (
    CL.identity(
        "CL-Thm7-settings",
        "Theorem 7",
        "What runs has noise of scale 3/epsilon that ends at (3/epsilon) log(5 k/(delta "
        "beta)), and tau = ceil(4/beta).",
        _reach,
        equal(_choosing_cases, 1e-12),
    ),
    CL.identity(
        "CL-Thm8-settings",
        "Theorem 8, corrected",
        "What runs has noise of scale 6/epsilon that ends at (6/epsilon) log(10 k/(delta "
        "beta)), on max(f_i - Q, 0), and tau = ceil(2/beta).",
        _stable_reach,
        equal(_stable_cases, 1e-12),
    ),
)
