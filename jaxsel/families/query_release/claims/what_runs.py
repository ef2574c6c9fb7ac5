"""Cohen et al. 2022, Theorem 5: the sampler has its constants, and its fall-back to the truth.

The numbers with which the sampler draws are compared with the paper's formulas, which are written
out here with the normal distribution function. Simulations with few runs, in which often all
bounds exceed the cap, show that the true answers are then released.
"""

import math
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.families.query_release import laws
from jaxsel.families.query_release.parameters import Delta, Runs
from jaxsel.families.query_release.repaired_answers import repaired_answers
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.base import Relation
from jaxsel.language.checking import CONFIDENCE, Judged, in_units, listed
from jaxsel.language.domains import choice
from jaxsel.language.papers import CL, JX

_NAMES, _POINTS = "k epsilon delta", ((1, 1.0, 0.05), (7, 0.3, 0.4), (200, 0.8, 0.01))


@CL.identity("CL-Thm5-settings", "Theorem 5, corrected")
def runs(*, delta: Delta = 0.05) -> float:
    """What runs has T = ceil(20/delta), Gaussian noise that is (epsilon/6, delta^2/210)-DP for k
    queries, noise of rate epsilon/6 on the error, A = (6/epsilon) log(210/delta^2), and a cap 2 A
    above the median error.

    Returns T = ceil(20/delta), which is that of Theorem 4 at alpha = 1 and beta = delta/10.
    """
    return math.ceil(20.0 / delta)


def _gaussian_delta(multiplier: float, epsilon: float) -> float:
    """Exact delta of Gaussian noise, from Phi (Balle & Wang 2018, Theorem 8)."""
    half, step = 0.5 / multiplier, epsilon * multiplier
    return special.ndtr(half - step) - math.exp(epsilon) * special.ndtr(-half - step)


@runs.equals(listed(_NAMES, *_POINTS), tolerance=1e-7)
def prepared(k, epsilon, delta):
    from jaxsel.families.query_release.query_release import query_release_mechanism

    for method in ("largest", "literal"):
        mechanism = query_release_mechanism(method=method, event="correction")
        _, found = mechanism.prepare(np.zeros(k), {"epsilon": epsilon, "delta": delta})
        where = f"{method}, {k=}, {epsilon=}, {delta=}"
        yield float(found["runs"]), f"T, {method}"
        # Inner privacy (epsilon/3, delta^2/105), half for the answers, half for s.
        each, spent = epsilon / 6.0, delta**2 / 210.0
        rate = float(found["inner_epsilon"]) / 2.0
        yield Judged(each, rate, f"rate of the noise on the error, {where}")
        offset = math.log(1.0 / spent) / each
        yield Judged(offset, float(found["offset"]), f"A, {where}")
        scale = float(found["noise_scale"])
        exact = _gaussian_delta(scale / math.sqrt(k), each)
        yield Judged(1.0, exact / spent, f"delta of the answers over delta^2/210, {where}")
        half = float(found["cap"]) - 2.0 * offset
        kept = (1.0 - 2.0 * special.ndtr(-half / scale)) ** k
        yield Judged(0.5, kept, f"P[error <= cap - 2 A], {where}")


@JX.privacy(
    "CL-Thm5-repaired-parts",
    "for Cohen et al. 2022, Theorem 5, with repaired answers",
    Relation.GENERAL,
)
def share(*, delta: Delta = 0.05) -> float:
    """The repaired inner mechanism's answers, picks and repairs, at half, a quarter and a quarter
    of its epsilon, have deltas that sum to at most its delta."""
    return delta


@share.bounds(listed(_NAMES, *_POINTS, (5000, 0.02, 1e-9), (40, 1.0, 1e-4)), tolerance=1e-6)
def repaired_parts(k, epsilon, delta):
    """The sum of the deltas of answers, picks and repairs, in units of delta.

    They are taken at 1/2, 1/4 and 1/4 of epsilon; the delta of the picks is a bound.
    """
    made = repaired_answers(k, epsilon, delta)
    first = _gaussian_delta(made.noise_scale / math.sqrt(made.queries), epsilon / 2.0)
    again = _gaussian_delta(made.repair_scale / math.sqrt(made.repairs), epsilon / 4.0)
    # Each pick has losses in a range of 2/b, hence is (2/b)^2/8-zCDP; and rho-zCDP is
    # (rho + 2 sqrt(rho log(1/delta)), delta)-DP (Bun & Steinke 2016).
    rho = made.repairs * (2.0 / made.pick_scale) ** 2 / 8.0
    picks = math.exp(-((epsilon / 4.0 - rho) ** 2) / (4.0 * rho))
    parts = [float(first), picks, float(again)]
    return in_units(math.fsum(parts)), f"{parts}"


# --- The fall-back --------------------------------------------------------------------

Event = Annotated[
    str, choice(("error", "fall-back"), "an error left by a fall-back, or the fall-back itself")
]


@CL.utility("CL-Thm5-fallback", "Theorem 5")
def fallen_back(*, event: Event = "error", runs: Runs = 1) -> float:
    """Where no private bound is below the cap, the true answers are released: this happens as often
    as the exact law says, and leaves no error.

    For three queries at epsilon = 1 and delta = 1/2. Returns 0, the chance that an error is left or
    exceeds the cap, or for event "fall-back" the exact chance that the true answers are released.
    """
    if event == "error":
        return 0.0
    return laws.correction_chance(laws.query_release(3, 1.0, 0.5)._replace(runs=runs))


@fallen_back.bounds(tolerance=0.0)
def fall_backs(budget):
    from jaxsel.families.query_release.query_release import query_release_mechanism
    from jaxsel.kernel.engine import simulate_grid
    from jaxsel.kernel.statistics import sums

    answers, most = np.array([0.25, 0.0, 0.5]), (1, 3)
    trials = max(min(budget.trials, 5000), 1)
    mechanism = query_release_mechanism(method="literal", event="correction")
    grid = [(answers, {"epsilon": 1.0, "delta": 0.5, "runs": runs}) for runs in most]
    cap = float(mechanism.prepare(*grid[0])[1]["cap"])

    def judged(outcome):
        """Whether the true answers are released; and whether these err, or any exceed the cap."""
        off = (outcome.error > 0.0) | (abs(outcome.mean - answers.mean()) > 1e-12)
        return outcome.corrected, (outcome.corrected & off) | (outcome.error > cap)

    counted = simulate_grid(
        mechanism, grid, trials=trials, seed=budget.seed, statistic=sums(judged), progress=False
    ).values
    for runs, corrected, wrong in zip(most, *map(np.ndarray.tolist, counted), strict=True):
        low, high = clopper_pearson(corrected, trials, CONFIDENCE)

        def below(chance, limit=float(high)):
            return limit, chance

        point, where = {"event": "fall-back", "runs": runs}, f"{corrected} of {trials}"
        yield point, float(low), f"lower limit, {where}"
        yield point, below, f"upper limit, {where}"
        low, _ = clopper_pearson(wrong, trials, CONFIDENCE)
        yield {"event": "error", "runs": runs}, float(low), f"{wrong} of {trials}"
