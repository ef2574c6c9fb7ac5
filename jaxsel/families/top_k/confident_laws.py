"""Top-k selection with high confidence: Cohen et al. 2022, Theorem 6.

Peeling by exponential mechanisms is run N times, with N uniform on 0..T. The gap of a set is the
largest score outside it minus the smallest one inside; each run adds noise to the gap of its set,
and the set with the smallest noisy gap is released. Peeling alone is the baseline.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.numerics.quadrature import drawn_together, panels
from jaxsel.families.top_k.baselines import advanced_composition_share
from jaxsel.families.top_k.laws import check_top_k, set_size, top_k_set_law
from jaxsel.families.top_k.parameters import AnyEpsilon, Beta, DeltaOfAll, EpsilonOfAll, K
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.domains import number, whole
from jaxsel.language.signature import validated
from jaxsel.repetitions import beta_binomial

# The quotient of the numbers of candidates and of rounds by it is a float.
AnyBeta = Annotated[float, number("chance of failure", at_least=1e-150, below=1.0)]
Many = Annotated[float, number("how many candidates there are", above=0.0, at_most=1e100)]
# All their sets are listed.
Candidates = Annotated[int, whole("how many candidates there are", at_least=1, at_most=20)]
_MOST_ROUNDS = 10**6

_REACH = 42.0  # scales of Laplace noise, beyond which the tail is below 1e-18


class ConfidentTopK(NamedTuple):
    """Settings of Theorem 6.

    Attributes:
      k: size of the set.
      round_epsilon: epsilon of each of the k exponential mechanisms of one run.
      gap_scale: scale of the Laplace noise on the gap.
      offset: is added to the noisy gap; it plays no role in which set is released.
      most_runs: T; the number of runs is uniform on 0..T.
      pure: whether the k rounds need no delta, as k round_epsilon is within their part of epsilon.
    """

    k: int
    round_epsilon: float
    gap_scale: float
    offset: float
    most_runs: int
    pure: bool


@validated
def confident_settings(epsilon: EpsilonOfAll, delta: DeltaOfAll, beta: Beta, k: K) -> ConfidentTopK:
    """Settings of Theorem 6 for (epsilon, delta)-DP, with its proof corrected (CL-E10).

    There are at most T = ceil(4/beta) runs, of (epsilon/3, delta/T) each. The k rounds of a run get
    epsilon/6, by pure or advanced composition (Kairouz, Oh & Viswanath 2015). The gap, whose
    sensitivity is 2, gets epsilon/6, hence noise of scale 12/epsilon. The offset is (12/epsilon)
    log(2 T/beta).

    Args:
      epsilon, delta: of the whole release.
      beta: chance that nothing, or a set of larger gap than ``confident_gap_bound``, is released.
      k: size of the set.
    """
    most = math.ceil(4.0 / beta)
    each = advanced_composition_share(epsilon / 6.0, k, delta / most)
    scale = 12.0 / epsilon
    pure = k * each <= epsilon / 6.0 * (1.0 + 1e-12)
    offset = scale * math.log(2.0 * most / beta)
    return ConfidentTopK(k, each, scale, offset, most, pure)


@validated
def confident_settings_printed(
    epsilon: EpsilonOfAll, delta: DeltaOfAll, beta: Beta, k: K
) -> ConfidentTopK:
    """Settings of Theorem 6 as its proof prints them, with too little noise on the gap (CL-E10).

    The printed Lap(epsilon/6) is read as Laplace noise of scale 6/epsilon. T is ceil(20/delta), a
    round has epsilon/(40 sqrt(k log(1/delta))), and the offset is 13 log(1/beta)/epsilon.

    Args:
      epsilon, delta, beta, k: as in ``confident_settings``.
    """
    each = epsilon / (40.0 * math.sqrt(-k * math.log(delta)))
    offset = -13.0 * math.log(beta) / epsilon
    return ConfidentTopK(k, each, 6.0 / epsilon, offset, math.ceil(20.0 / delta), False)


# --- Bounds ---------------------------------------------------------------------------


@validated
def peeling_gap_bound(candidates: Many, k: K, round_epsilon: AnyEpsilon, beta: AnyBeta) -> float:
    """A bound that the gap of a peeled set exceeds with probability at most beta.

    It is (2/round_epsilon) log(candidates k/beta), for scores of sensitivity 1 (Cohen et al. 2022,
    Section 1.4.2, where the factor 2 is missing: CL-E18).

    Args:
      candidates: how many there are.
      k: size of the set, and number of rounds.
      round_epsilon: epsilon of the exponential mechanism of one round.
      beta: chance of a larger gap.
    """
    return 2.0 / round_epsilon * math.log(candidates * k / beta)


def confident_gap_bound(candidates: float, settings: ConfidentTopK) -> float:
    """A bound that the released gap exceeds, or no set is released, with probability at most beta.

    With probability at least 1/2 the noisy gap of one run stays below this bound less the offset:
    the gap exceeds ``peeling_gap_bound`` with probability at most 1/4, and the noise exceeds log 2
    scales with probability 1/4.

    Args:
      candidates: how many there are.
      settings: made by ``confident_settings``, for beta.
    """
    middle = peeling_gap_bound(candidates, settings.k, settings.round_epsilon, 0.25)
    return middle + settings.gap_scale * math.log(2.0) + settings.offset


# --- Exact laws -----------------------------------------------------------------------


@validated
def subsets(candidates: Candidates, k: K) -> np.ndarray:
    """The sets of size k as bit masks, ascending: Int["sets"]."""
    masks = np.arange(2**candidates)
    return masks[set_size(masks) == k]


def set_gaps(scores: npt.ArrayLike, k: int) -> np.ndarray:
    """The largest score outside minus the least inside, of each set in ``subsets``: Float["sets"].

    Raises:
      InputError: unless k is below the number of scores.
    """
    scores = check_finite("scores", scores)
    check_top_k(k, scores.size)
    inside = (subsets(scores.size, k)[:, None] >> np.arange(scores.size) & 1) == 1
    worst = np.where(inside, scores, np.inf).min(axis=1)
    return np.where(inside, -np.inf, scores).max(axis=1) - worst


def smallest_gap_law(
    gaps: npt.ArrayLike, weights: npt.ArrayLike, settings: ConfidentTopK
) -> np.ndarray:
    """The exact law of the outcome with the smallest noisy gap in N runs; "nothing" is last.

    Outcome i has the probability of the integral over y of w_i Lap(y - gap_i) f'(1 - F(y)), where
    w_i is its weight, F the distribution function of one run's noisy gap, and f the generating
    function of N.

    Args:
      gaps: Float["outcomes"], the gap of each.
      weights: Float["outcomes"], their probabilities in one run.
      settings: of the noise and of N; the offset plays no role.

    Returns:
      Float["outcomes + 1"], with an absolute error of about 1e-12.
    """
    gaps, weights = check_finite("gaps", gaps), check_finite("weights", weights)
    scale = settings.gap_scale
    number = beta_binomial(settings.most_runs, 1.0)
    reach = scale * (2.0 * _REACH + math.log(settings.most_runs))
    gaps = drawn_together(gaps, reach)
    levels, group = np.unique(gaps, return_inverse=True)
    chance = np.bincount(group, weights)
    low = levels[0] - scale * (_REACH + math.log(settings.most_runs))
    edges = np.concatenate([[low], levels, [levels[-1] + scale * _REACH]])
    y, step = panels(edges, scale)
    z = (y[:, None] - levels) / scale
    half = 0.5 * np.exp(-np.abs(z))
    below = np.where(z > 0.0, 1.0 - half, half) @ chance
    first = step * number.pgf_derivative_tail(np.minimum(below, 1.0)) / scale
    share = first @ half
    return np.append(weights * share[group], number.probability_zero)


def confident_top_k_law(scores: npt.ArrayLike, settings: ConfidentTopK) -> np.ndarray:
    """The exact law of the released set, in the order of ``subsets``; "nothing" is last.

    Args:
      scores: Float["m"], at most ``laws.MAX_CANDIDATES``.
      settings: of Theorem 6.

    Returns:
      Float["sets + 1"].
    """
    gaps = set_gaps(scores, settings.k)
    levels = check_finite("scores", scores) * (settings.round_epsilon / 2.0)
    law = top_k_set_law(levels, settings.k)[subsets(levels.size, settings.k)]
    return smallest_gap_law(gaps, law, settings)


# --- Leads ----------------------------------------------------------------------------


def _log_hit(lead: float, candidates: float, k: int, round_epsilon: float) -> float:
    """The log probability that k rounds pick just the k candidates that lead all others by lead."""
    if k > min(candidates, _MOST_ROUNDS):
        raise InputError(f"k is {k}; it must be at most the candidates, and {_MOST_ROUNDS}")
    left = np.arange(k, 0, -1, dtype=np.float64)
    others = (candidates - k) * math.exp(-round_epsilon * lead / 2.0)
    return -float(np.sum(np.log1p(others / left)))


def _least_lead(failing, beta: float, high: float) -> float:
    """The least lead at which the decreasing function ``failing`` is below beta."""
    while failing(high) > beta:
        high *= 2.0
    if failing(0.0) <= beta:
        return 0.0
    from scipy import optimize  # imported where it is needed: it takes long, and few need it

    found = optimize.root_scalar(lambda x: failing(x) - beta, bracket=(0.0, high))
    return float(found.root)


@validated
def peeling_lead(candidates: Many, k: K, round_epsilon: AnyEpsilon, beta: AnyBeta) -> float:
    """The least lead of the best k at which peeling picks just them with probability 1 - beta.

    It is exact, and in units of the scores' sensitivity. The best k have equal scores, and so have
    the others.

    Args:
      candidates, k, round_epsilon: as in ``peeling_gap_bound``.
      beta: chance of another set.
    """
    start = peeling_gap_bound(candidates, k, round_epsilon, beta)
    return _least_lead(
        lambda x: -math.expm1(_log_hit(x, candidates, k, round_epsilon)), beta, start
    )


@validated
def confident_lead(candidates: Many, settings: ConfidentTopK, beta: AnyBeta) -> float:
    """The least lead of the best k at which just they are released with probability 1 - beta.

    It is as in ``peeling_lead``, but of Theorem 6's algorithm; inf if the probability that there is
    no run, and nothing is released, is at least beta.

    Args:
      candidates: how many there are.
      settings: of Theorem 6.
      beta: chance of another set, or of nothing.
    """

    def failing(lead: float) -> float:
        log_hit = _log_hit(lead, candidates, settings.k, settings.round_epsilon)
        weights = [math.exp(log_hit), -math.expm1(log_hit)]
        return float(smallest_gap_law([-lead, lead], weights, settings)[1:].sum())

    if beta * (settings.most_runs + 1.0) <= 1.0 + 1e-9:  # the chance of no run
        return math.inf
    return _least_lead(failing, beta, confident_gap_bound(candidates, settings))
