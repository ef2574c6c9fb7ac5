"""Both selections run with the constants of Cohen et al. 2022, Theorems 7 and 8.

The numbers that ``prepare`` hands to the samplers are compared with the constants of the theorems,
written out here, and the clipped scores with values worked out by hand.
"""

import math

import numpy as np

from jaxsel.families.choosing.parameters import Beta, Bound, Delta, Epsilon, Rank
from jaxsel.language.checking import Judged, listed
from jaxsel.language.papers import CL


def _numbers(params, rate: float, runs: float, where: str):
    """Cases of one sampler: the largest size of its noise, then its rate and its tau.

    Args:
      params: the parameters as ``prepare`` made them.
      rate: of the noise, by the theorem.
      runs: tau by the theorem, not yet rounded up.
      where: the setting in words.
    """
    found = float(params["rate"])
    yield -math.log(float(params["truncation"])) / found, f"largest size of the noise, {where}"
    yield Judged(rate, found, f"rate of the noise, {where}")
    yield Judged(math.ceil(runs), float(params["runs"]), f"tau, {where}")


@CL.identity("CL-Thm7-settings", "Theorem 7")
def reach(
    *, epsilon: Epsilon = 1.0, delta: Delta = 0.1, beta: Beta = 0.5, bound: Bound = 2
) -> float:
    """The choosing mechanism runs with noise of scale 3/epsilon that ends at (3/epsilon) log(5
    k/(delta beta)), and with tau = ceil(4/beta).

    Returns the largest size of the noise, (3/epsilon) log(5 k/(delta beta)).
    """
    return 3.0 / epsilon * math.log(5.0 * bound / (delta * beta))


@reach.equals(
    listed(
        "epsilon delta beta bound", (1.0, 0.1, 0.5, 1), (0.3, 1e-6, 0.07, 3), (0.9, 0.5, 0.9, 40)
    ),
    tolerance=1e-12,
)
def choosing_as_it_runs(epsilon, delta, beta, bound):
    """The noise and tau that both methods of the choosing mechanism prepare."""
    from jaxsel.families.choosing.choosing import choosing_mechanism

    point = {"epsilon": epsilon, "delta": delta, "beta": beta, "bound": bound}
    for method in ("grouped", "literal"):
        _, found = choosing_mechanism(method=method).prepare(np.zeros(3), point)
        yield from _numbers(found, epsilon / 3.0, 4.0 / beta, f"{method}, {point}")


@CL.identity("CL-Thm8-settings", "Theorem 8, corrected")
def stable_reach(
    *, epsilon: Epsilon = 1.0, delta: Delta = 0.1, beta: Beta = 0.5, rank: Rank = 1
) -> float:
    """Stable selection runs with noise of scale 6/epsilon that ends at (6/epsilon) log(10 k/(delta
    beta)), on max(f_i - Q, 0), and with tau = ceil(2/beta).

    Returns the largest size of the noise, (6/epsilon) log(10 k/(delta beta)).
    """
    return 6.0 / epsilon * math.log(10.0 * rank / (delta * beta))


@stable_reach.equals(
    listed(
        # What is clipped is left above the (k+1)-th largest, ties and gaps included.
        "epsilon delta beta rank scores clipped",
        (1.0, 0.1, 0.5, 1, [5.0, 3.0, 0.0], [2.0, 0.0, 0.0]),
        (0.3, 1e-6, 0.07, 2, [1.0, 4.0, 4.0, -2.0, 2.5], [0.0, 1.5, 1.5, 0.0, 0.0]),
        (0.9, 0.5, 0.9, 2, [4.0, 4.0, 4.0], [0.0, 0.0, 0.0]),
        (0.3, 1e-6, 0.07, 3, [7.0, -1.0, 0.5, 3.0], [8.0, 0.0, 1.5, 4.0]),
    ),
    tolerance=1e-12,
)
def stable_selection_as_it_runs(epsilon, delta, beta, rank, scores, clipped):
    """The noise, tau and clipped scores that both methods of stable selection prepare."""
    from jaxsel.families.choosing.stable_selection import stable_selection

    point = {"epsilon": epsilon, "delta": delta, "beta": beta, "rank": rank}
    for method in ("grouped", "literal"):
        data, found = stable_selection(method=method).prepare(np.array(scores), point)
        yield from _numbers(found, epsilon / 6.0, 2.0 / beta, f"{method}, {point}")
        for level, start, size in zip(data.levels, data.starts, data.choices, strict=True):
            if level > -np.inf:
                for label in data.members[start : start + int(size)]:
                    text = f"clipped score {label} of {scores}, {method}, {point}"
                    yield Judged(clipped[label], float(level), text)
