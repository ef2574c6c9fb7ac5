"""Selection among noisy candidates: the choosing mechanism and stable selection.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorems 7 and 8. Every candidate may run tau times.
Each of these runs is made with probability p, which is uniform on (0, 1) and drawn once for all.
A run adds truncated Laplace noise to its candidate's score. The candidate of the best run is
released. Candidates with equal scores are one group, so that 1e30 of them cost no more than one.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize

from jaxsel.accounting.numerics.quadrature import drawn_together, panels
from jaxsel.accounting.single_run.truncated_laplace import (
    truncated_laplace_delta,
    truncated_laplace_support,
)
from jaxsel.families.choosing.parameters import Beta, Bound, Delta, Epsilon, Rank, Shares
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.domains import positive, probability
from jaxsel.language.signature import validated

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_EXACT_DEGREE = 63  # of polynomials in p, up to which one Gauss-Legendre rule is made exact
_CHUNK = 4_000_000  # numbers held at once
_FINEST = 20  # the shortest panel, near p = 0 or an end of the noise, is 4^-20 of the longest


class NoisySelection(NamedTuple):
    """Settings of a selection, apart from the scores.

    Attributes:
      rate: of the noise, density proportional to exp(-rate |x|); 1/units of the scores.
      truncation: the noise is truncated to +-log(1/truncation)/rate.
      runs: tau, the largest number of runs of one candidate.
    """

    rate: float
    truncation: float
    runs: int

    @property
    def support(self) -> float:
        """Largest size of the noise, in units of the scores."""
        return truncated_laplace_support(self.rate, self.truncation)


@validated
def choosing_settings(epsilon: Epsilon, delta: Delta, beta: Beta, bound: Bound) -> NoisySelection:
    """Settings with which the choosing mechanism is (epsilon, delta)-DP by Theorem 7.

    The noise is TLap(epsilon/3, delta beta/(5 k)), and tau = ceil(4/beta).

    Args:
      epsilon, delta: of the whole mechanism.
      beta: probability with which the loss may exceed the theorem's bound.
      bound: k, the most by which all scores together may change between neighbours; each
        changes by at most 1.
    """
    return NoisySelection(epsilon / 3.0, delta * beta / (5.0 * bound), math.ceil(4.0 / beta))


@validated
def stable_settings(
    epsilon: Epsilon, delta: Delta, beta: Beta, rank: Rank, *, shares: Shares = 6
) -> NoisySelection:
    """Settings with which stable selection is (epsilon, delta)-DP by Theorem 8.

    The noise is TLap(epsilon/shares, delta beta/(10 k)), and tau = ceil(2/beta).

    Args:
      epsilon, delta: of the whole mechanism.
      beta: probability with which the loss may exceed the theorem's bound.
      rank: k; scores count by how much they exceed the (k+1)-th largest.
      shares: 6, or 3 as printed, which is not (epsilon, delta)-DP (CL-E13, CL-E20).
    """
    return NoisySelection(epsilon / shares, delta * beta / (10.0 * rank), math.ceil(2.0 / beta))


@validated
def clipped_scores(
    scores: npt.ArrayLike, rank: Rank, counts: npt.ArrayLike | None = None
) -> np.ndarray:
    """By how much each score exceeds the (k+1)-th largest, or 0 if it does not.

    Args:
      scores: Float["groups"].
      rank: k, below the number of candidates.
      counts: Float["groups"], how many candidates have each score; default one.

    Returns:
      Float64["groups"], in units of the scores.

    Raises:
      InputError: if there are not more than k candidates.
    """
    scores = check_finite("scores", scores)
    sizes = np.ones(scores.size) if counts is None else np.asarray(counts, np.float64)
    order = np.argsort(-scores, kind="stable")
    reached = np.cumsum(sizes[order])
    if reached[-1] <= rank:
        raise InputError(
            f"rank is {rank}; it must be below the number of candidates, {reached[-1]:.0f}"
        )
    level = scores[order][np.searchsorted(reached, rank, side="right")]
    return np.maximum(scores - level, 0.0)


# --- Exact laws -----------------------------------------------------------------------


def _prior_rule(degree: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a quadrature over p, which is uniform on (0, 1).

    The integrands are products of ``degree`` factors 1 - p G. For a low degree the rule is exact.
    A product of many factors decays within p = 1/degree, so the panels shrink towards 0.
    """
    if degree <= _EXACT_DEGREE:
        nodes, weights = np.polynomial.legendre.leggauss(int(degree) // 2 + 1)
        return (nodes + 1.0) / 2.0, weights / 2.0
    finest = min(math.ceil(math.log(degree, 4.0)) + 1, _FINEST)
    edges = np.append(0.0, 4.0 ** np.arange(-finest, 1.0))
    half = np.diff(edges)[:, None] / 2.0
    middle = (edges[1:] + edges[:-1])[:, None] / 2.0
    return (middle + half * _NODES).ravel(), (half * _WEIGHTS).ravel()


def _score_rule(levels, runs, settings: NoisySelection):
    """Nodes and weights of a quadrature over the best noisy score.

    Near the upper end of a group's noise, the probability of noise beyond a point is about
    truncation * rate * (distance to the end). The panels shrink towards this end until all runs
    of the group together have a negligible probability in the last panel.

    Args:
      levels: Float["groups"], the scores without noise.
      runs: Float["groups"], tau times the number of candidates of each group.
      settings: of the noise.
    """
    end, unit = settings.support, 1.0 / settings.rate
    edges = [levels, levels - end, levels + end]
    for level, number in zip(levels, runs, strict=True):
        depth = math.log(max(number * settings.truncation, 1.0), 4.0)
        steps = np.arange(0.0, min(math.ceil(depth) + 2, _FINEST))
        edges.append(level + end - unit * 4.0**-steps)
    return panels(np.concatenate(edges), unit)


def _upper_tail(x: np.ndarray, settings: NoisySelection) -> np.ndarray:
    """P[noise > x], exactly 0 from the upper end on and with full relative accuracy below it."""
    left = np.clip(settings.support - np.abs(x), 0.0, None)
    half = 0.5 * settings.truncation * np.expm1(settings.rate * left)
    half /= 1.0 - settings.truncation
    return np.where(x > 0.0, half, 1.0 - half)


def group_law(levels: npt.ArrayLike, counts: npt.ArrayLike, settings: NoisySelection) -> np.ndarray:
    """Exact law of the group that the selected candidate belongs to.

    P[group g] = E_p of the integral over y of n_g tau p f_g/(1 - p G_g) prod_h (1 - p
    G_h)^(tau n_h), where f_g and G_g are the density and the upper tail of one run's noisy score
    at y, and n_g is the size of the group. The largest group gets the remaining probability,
    since the density of its best run may be too narrow for quadrature. The absolute error is
    about 1e-12.

    Args:
      levels: Float["groups"], the scores without noise, all different.
      counts: Float["groups"], how many candidates have each, >= 1.
      settings: noise and runs.

    Returns:
      Float64["groups + 1"]; the last is the probability that no run is made.

    Raises:
      InputError: if counts are below 1 or not as many as levels.
    """
    levels = check_finite("levels", levels)
    counts = check_finite("counts", counts)
    if counts.shape != levels.shape or np.any(counts < 1.0):
        raise InputError("counts must hold one number >= 1 for each level")
    levels = drawn_together(levels, 3.0 * settings.support)
    tau = float(settings.runs)
    runs = tau * counts
    law = np.zeros(levels.size + 1)
    # None of n possible runs is made with probability E (1 - p)^n = 1/(n + 1), as p is uniform.
    law[-1] = 1.0 / (runs.sum() + 1.0)
    rest = max(range(levels.size), key=lambda g: (counts[g], levels[g]))
    if levels.size > 1:
        p, prior = _prior_rule(runs.sum())
        y, step = _score_rule(levels, runs, settings)
        x = y[:, None] - levels
        tails = _upper_tail(x, settings)
        density = 0.5 * settings.rate * np.exp(-settings.rate * np.abs(x))
        density *= (np.abs(x) <= settings.support) / (1.0 - settings.truncation)
        chunk = max(1, _CHUNK // tails.size)
        for start in range(0, p.size, chunk):
            q, share = p[start : start + chunk, None], prior[start : start + chunk]
            # Rows: nodes of p; columns: nodes of y.
            kept = [np.log1p(-q * tail) for tail in tails.T]
            total = sum(number * log for number, log in zip(runs, kept, strict=True))
            for g in range(levels.size):
                if g != rest:
                    inner = np.exp(total - kept[g]) @ (step * density[:, g])
                    law[g] += runs[g] * float((share * q[:, 0]) @ inner)
    law[rest] = max(1.0 - law.sum(), 0.0)
    return law


# --- Privacy and utility --------------------------------------------------------------


@validated
def spent_delta(
    shifts: npt.ArrayLike,
    epsilon: Annotated[float, positive("of the whole selection")],
    settings: NoisySelection,
    counts: npt.ArrayLike | None = None,
) -> float:
    """A delta that suffices at ``epsilon`` for neighbours whose scores differ by ``shifts``.

    It is 1 - E_p prod_i (1 - p delta_i)^tau, where delta_i is the exact delta at epsilon/3 of
    candidate i's noisy score. That is at most tau sum delta_i/2, half of what Theorem 1 of Cohen
    et al. 2022 states.

    Args:
      shifts: Float["candidates"], f_i(D) - f_i(D'); zeros may be omitted.
      epsilon: of the whole selection.
      settings: noise and runs.
      counts: Float["candidates"], how many candidates have each change; default one.

    Returns:
      The delta, in [0, 1].
    """
    level = epsilon / 3.0
    moves = np.abs(check_finite("shifts", shifts))
    weights = np.ones(moves.size) if counts is None else np.asarray(counts, np.float64)
    sizes, group = np.unique(moves, return_inverse=True)
    numbers = np.bincount(group, weights)
    deltas = np.array(
        [
            truncated_laplace_delta(settings.rate, settings.truncation, shift, level)
            for shift in sizes
        ]
    )
    deltas = np.maximum(deltas, 0.0)
    p, prior = _prior_rule(settings.runs * numbers.sum())
    kept = np.log1p(-p[:, None] * deltas) @ (settings.runs * numbers)
    return float(prior @ -np.expm1(kept))


@validated
def needed_lead(
    first: float,
    others: float,
    settings: NoisySelection,
    failure: Annotated[float, probability("that none of the best wins")],
) -> float:
    """The lead of the best score at which a best candidate wins but for probability ``failure``.

    Args:
      first: how many candidates share the best score, >= 1.
      others: how many other candidates there are, which share one score, >= 1.
      settings: noise and runs.
      failure: probability that no best candidate wins. As no run at all is made with probability
        1/(runs (first + others) + 1), no lead is enough for this or less.

    Returns:
      The least such lead, >= 0, within 1e-6 of the noise's scale; inf if none suffices.
    """

    def missing(lead: float) -> float:
        """By how much the chance of the best falls short of 1 - failure."""
        law = group_law([lead, 0.0], [first, others], settings)
        return float(1.0 - failure - law[0])

    high = 2.0 * settings.support * (1.0 + 1e-9)
    if missing(high) > 0.0:
        return math.inf
    low = 1e-9 * settings.support
    if missing(low) <= 0.0:
        return 0.0
    tolerance = 1e-6 / settings.rate
    found = optimize.root_scalar(missing, bracket=(low, high), xtol=tolerance)
    return float(found.root)
