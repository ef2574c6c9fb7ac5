"""Liu & Talwar 2019, Theorem D.2: the factor of two cannot be avoided."""

import math
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.families.thresholds.laws import threshold_law
from jaxsel.families.thresholds.packing_laws import (
    packing_bound,
    packing_distance,
    packing_law,
    packing_successes,
    smallest_exponential_epsilon,
)
from jaxsel.families.thresholds.parameters import Alpha, Candidates, MechanismEpsilon
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid
from jaxsel.language.domains import number, positive
from jaxsel.language.papers import LT
from jaxsel.tuning.bounds.random_stopping import stopping_law

_ROUNDING = 1e-12  # a last step of this relative length is rounding, and no step
_COUNTS = (10.0, 100.0, 1e3, 1e6, 1e12, 1e50)


def settings(budget):
    """The parameters of the theorem."""
    yield from grid(epsilon=(0.1,), candidates=_COUNTS, alpha=(0.05, 0.1, 0.3))(budget)
    for generator in budget.draws(60):
        yield {
            "epsilon": float(10.0 ** generator.uniform(-2.0, 0.5)),
            "candidates": float(round(10.0 ** generator.uniform(0.5, 12.0))),
            "alpha": float(generator.uniform(0.02, 0.5)),
        }


# --- The proof's data sets ------------------------------------------------------------


def packing_path(start: float, end: float, epsilon: float, miss: float | None = None) -> np.ndarray:
    """A path of success probabilities from start to end, in the largest steps that are epsilon-DP.

    Args:
      start, end: the success probabilities of a mechanism on D_0 and on D_j.
      epsilon: the mechanism's privacy between neighbours.
      miss: 1 - end, where end is too near 1 for the subtraction.

    Returns:
      Float[np.ndarray, "steps+1 2"]: the chances of success and of failure after each step.
    """
    miss = 1.0 - end if miss is None else miss
    grow = math.exp(epsilon)
    most = grow * (1.0 + _ROUNDING)
    path = [(start, 1.0 - start)]
    if end < start:
        while path[-1][0] > end * most:
            less = path[-1][0] / grow
            path.append((less, 1.0 - less))
    else:
        while end > path[-1][0] * most or path[-1][1] > miss * most:
            more, rest = path[-1][0] * grow, path[-1][1] / grow
            # Both must be epsilon-close: the nearer of the two limits.
            path.append((more, 1.0 - more) if more + rest < 1.0 else (1.0 - rest, rest))
    if end != start:
        path.append((end, miss))
    return np.array(path)


@LT.identity("LT-ThmD.2-path", "proof of Theorem D.2")
def distance(
    *, epsilon: MechanismEpsilon = 0.1, candidates: Candidates = 1000.0, alpha: Alpha = 0.1
) -> float:
    """In the largest epsilon-DP steps the success probabilities on D_0 reach those on D_j in
    exactly Delta = ceil((1/2 + alpha) log(K)/epsilon) steps."""
    return float(packing_distance(epsilon, candidates, alpha))


@distance.equals(settings, tolerance=0.0)
def steps(epsilon, candidates, alpha):
    start, winner, loser, miss = packing_successes(candidates, alpha)
    paths = (packing_path(start, winner, epsilon, miss), packing_path(start, loser, epsilon))
    found = [len(path) - 1 for path in paths]
    return float(max(found)), f"steps {found}"


@LT.utility("LT-ThmD.2-dominant", "proof of Theorem D.2")
def dominant(*, candidates: Candidates = 1000.0, alpha: Alpha = 0.1) -> float:
    """On D_j mechanism j is K^-alpha-dominant: it alone answers 1 with probability at least 1 -
    K^-alpha."""
    return -math.expm1(-alpha * math.log(candidates))


@dominant.bounds_below(settings)
def dominance(candidates: float, alpha: float) -> float:
    """The chance on D_j that mechanism j alone answers 1, which is at least 1 - K^-alpha.

    It is (1 - 1/(2 K^alpha)) (1 - 1/(2 K^(1+alpha)))^(K - 1).
    """
    chances = packing_successes(candidates, alpha)
    log_others = (candidates - 1.0) * math.log1p(-chances.loser)
    return chances.winner * math.exp(log_others)


# --- The theorem ----------------------------------------------------------------------


class Selection(NamedTuple):
    """What a selection loses on the way from D_0 to D_j; it is proven factor * epsilon-DP."""

    name: str
    epsilon: float  # of each mechanism, or of the exponential mechanism itself
    factor: float
    loss: float  # the mean rise per step of the logarithm of the chance to choose j
    at_end: float  # the chance to choose j on D_j


def selections(epsilon: float, candidates: float, alpha: float) -> Iterator[Selection]:
    """Algorithms 1 and 2 with gamma = 1/(10 K), and the exponential mechanism that is just useful.

    The last has the epsilon of ``smallest_exponential_epsilon``.
    """
    gamma = 0.1 / candidates
    steps = packing_distance(epsilon, candidates, alpha)
    start, winner, loser, _ = packing_successes(candidates, alpha)
    laws = packing_law(start, start, candidates), packing_law(winner, loser, candidates)
    # Successes of others, of j; Algorithm 1 has the threshold 1.
    first, last = (threshold_law(law, 2, gamma)[1] for law in laws)
    yield Selection("Algorithm 1", epsilon, 2.0, math.log(last / first) / steps, last)
    first, last = (stopping_law(law, gamma)[[1, 3]].sum() for law in laws)
    yield Selection("Algorithm 2", epsilon, 3.0, math.log(last / first) / steps, last)
    least = smallest_exponential_epsilon(epsilon, candidates, alpha)
    odds = least * steps - math.log(candidates - 1.0)
    first, last = 1.0 / candidates, 1.0 / (1.0 + math.exp(-odds))
    yield Selection("exponential mechanism", least, 1.0, math.log(last / first) / steps, last)


@LT.privacy("LT-ThmD.2", "Theorem D.2", Relation.BASE)
def bound(
    *, epsilon: MechanismEpsilon = 0.1, candidates: Candidates = 1000.0, alpha: Alpha = 0.1
) -> float:
    """A selection that chooses the K^-alpha-dominant one of K mechanisms, each epsilon-DP, with
    probability K^-alpha loses at least (1 - alpha) log(K)/Delta at some step between neighbours.

    Delta is the number of steps of LT-ThmD.2-path. The check measures the loss per step of
    Algorithms 1 and 2 and of the exponential mechanism.
    """
    return packing_bound(epsilon, candidates, alpha)


@bound.bounds_below(settings)
def losses(epsilon, candidates, alpha):
    for found in selections(epsilon, candidates, alpha):
        # The theorem is about useful selections.
        if found.at_end >= candidates**-alpha * (1.0 - 1e-9):
            yield found.loss, found.name


@LT.privacy("LT-ThmD.2-packing", "proof of Theorem D.2", Relation.BASE)
def spent(
    *,
    epsilon: MechanismEpsilon = 0.1,
    factor: Annotated[float, positive("2 for Algorithm 1, 3 for Algorithm 2")] = 2.0,
) -> float:
    """P[j on D_j] <= e^(Delta E) P[j on D_0] for Algorithm 1 (E = 2 epsilon), Algorithm 2 (3
    epsilon) and the exponential mechanism (its parameter).

    Returns E, the most that the logarithm of the chance to choose j can rise in a step.
    """
    return factor * epsilon


@spent.bounds()
def losses_of_all(budget):
    for setting in settings(budget):
        for found in selections(**setting):
            point = {"epsilon": found.epsilon, "factor": found.factor}
            yield point, found.loss, f"{found.name}, {setting}"


def large_candidates(epsilon: float, alpha: float) -> float:
    """The value of log K from which on Theorem D.2's bound is at least (2 - 6 alpha) epsilon.

    It is (1 - 3 alpha) epsilon/(3 alpha^2). Without rounding Delta up, the bound would be epsilon
    times (1 - alpha)/(1/2 + alpha) = 2 - 6 alpha + 12 alpha^2/(1 + 2 alpha). For such K the
    rounding costs no more than the last term.
    """
    return (1.0 - 3.0 * alpha) * epsilon / (3.0 * alpha * alpha)


@LT.privacy("LT-ThmD.2-limit", "Theorem D.2, how large K must be", Relation.BASE)
def limit(
    *,
    epsilon: MechanismEpsilon = 0.1,
    alpha: Annotated[float, number("of the theorem", above=0.0, below=1.0 / 3.0)] = 0.1,
) -> float:
    """For log K >= (1 - 3 alpha) epsilon/(3 alpha^2), (1 - alpha) log(K)/Delta >= (2 - 6 alpha)
    epsilon.

    Delta is that of LT-ThmD.2-path. Returns the right side.
    """
    return (2.0 - 6.0 * alpha) * epsilon


@limit.bounds_below()
def many_mechanisms(budget):
    for generator in budget.draws():
        alpha = float(generator.uniform(0.02, 0.33))
        epsilon = float(10.0 ** generator.uniform(-3.0, 0.0))
        least = large_candidates(epsilon, alpha)
        log_count = min(max(least * float(generator.uniform(1.0, 3.0)), 0.7), 340.0)
        if log_count >= least:
            seen = packing_bound(epsilon, math.exp(log_count), alpha)
            yield {"epsilon": epsilon, "alpha": alpha}, seen, f"log K = {log_count!r}"
