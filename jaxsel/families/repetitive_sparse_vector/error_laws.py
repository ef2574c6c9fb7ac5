"""Error probabilities of the repetitive sparse vector on any queries, and settings chosen by them.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Lemma 4. The settings are better than those of the paper.
The algorithm and the notation are those of ``jaxsel.families.repetitive_sparse_vector.laws``.
"""

import functools
import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.families.repetitive_sparse_vector.laws import answer_counts, batches, prior
from jaxsel.families.repetitive_sparse_vector.parameters import (
    AnyQueries,
    Beta,
    DeltaOrZero,
    Epsilon,
    Wanted,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    calibrated,
    checked,
)
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated


@validated
def failure_probability(
    levels: npt.ArrayLike, settings: RepetitiveSettings, wanted: Wanted
) -> float:
    """The exact probability that Lemma 4's guarantee fails on these queries.

    It fails if a query of level above 0 is answered bottom, if one of level below -d is answered
    top, or if the algorithm halts early with fewer than ``wanted`` answers top.

    Args:
      levels: Float["queries"], f - t of each query, in order.
      settings: of the algorithm.
      wanted: k, answers top to be found.
    """
    law = answer_counts(levels, settings, largest=wanted, right_only=True)
    return law.wrong + float(law.halted[:wanted].sum())


@validated
def failure_bound(settings: RepetitiveSettings, wanted: Wanted, queries: AnyQueries) -> float:
    """A bound on ``failure_probability`` for ANY queries, adaptive ones included.

    It is E min(1, 1 - (1 - bottom(0))^k' (1 - top(-d))^m + P[NB(m, r(-d/2)) > R]), the mean over
    p. Given p, bottom(x) and top(x) are the probabilities of the answers to a query of level x,
    r(x) is the probability that both its first batch of U and its first batch of V fail, which
    wastes this pair, and NB(m, r) is the number of pairs that m such queries waste. The reasons:

    * A bottom is wrong at levels above 0, and likeliest just above 0. A query there that is not
      answered wrongly costs a failure, so that there are at most k' of them.
    * A top is wrong at levels below -d, and likeliest just below -d.
    * No query wastes more pairs than one of level -d/2. For 1 - (1 - p e^l)^tau is log-concave in
      l, and log u + log v is constant for levels between -d and 0, and smaller outside.
    * A halt with fewer than k tops has wasted more than R = (k' - k - 1)/2 pairs.

    Args:
      settings: of the algorithm.
      wanted: k, answers top to be found, less than k'.
      queries: m, how many there are.

    Raises:
      InputError: unless k < k'.
    """
    settings, m = checked(settings), queries
    spare = settings.failures - wanted - 1
    if spare < 0:
        raise InputError(f"failures is {settings.failures}; it must exceed wanted, {wanted}")
    log_p, weights = prior(settings, m)
    above = batches(log_p, 0.0, settings)
    below = batches(log_p, -settings.margin, settings)
    with np.errstate(divide="ignore"):
        right = settings.failures * np.log1p(-above.bottom) + m * np.log1p(-below.top)
    middle = batches(log_p, -settings.margin / 2.0, settings)
    pair = middle.fail_u * middle.fail_v
    early = special.betainc(spare // 2 + 1.0, float(m), pair)
    return float(np.minimum(early - np.expm1(right), 1.0) @ weights)


@validated
def needed_margin(
    settings: RepetitiveSettings, wanted: Wanted, queries: AnyQueries, beta: Beta
) -> float:
    """The least margin d with ``failure_bound`` <= beta, for the other settings as given.

    inf if there is none, because gamma or tau is too small for this beta.

    Args:
      settings: of the algorithm; their margin is ignored.
      wanted, queries: as of ``failure_bound``.
      beta: failure probability.
    """
    scale = 1.0 / settings.query_epsilon

    def excess(noises: float) -> float:
        found = failure_bound(settings._replace(margin=noises * scale), wanted, queries)
        return math.log(max(found, 1e-320)) - math.log(beta)

    high = 4.0
    while excess(high) > 0.0:
        high *= 2.0
        if high > 4096.0:
            return math.inf
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return scale * high


_NEAR = ((0, 0), (1, 0), (0, -1), (0, 1), (-1, 0))  # steps of the search in _GAMMAS and _ALLOWED
_ALLOWED = (0, 1, 2, 4, 8, 16, 32, 64)  # R, how many pairs of batches may be wasted
_GAMMAS = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5)


@functools.lru_cache(maxsize=1024)
def _query_epsilon(failures: int, epsilon: float, delta: float) -> float:
    """The largest epsilon' that is proven (epsilon, delta)-DP at p = 1 (``calibrated``)."""
    start = RepetitiveSettings(math.inf, 1, 1.0, failures, 1.0)
    return calibrated(start, epsilon, delta).query_epsilon


def _least_repetitions(settings: RepetitiveSettings, beta: float) -> int | None:
    """The least tau, among rounded powers of 2^(1/4), for which wrong bottoms are rare enough.

    The probability that any of k' queries of levels just above 0 is answered bottom must be at
    most beta, if the margin is large. None if no tau below 2^60 is enough.
    """
    large = settings._replace(margin=math.inf, repetitions=2**60)
    log_p, weights = prior(large, 1)
    log_pass = np.log1p(-0.5 * np.exp(log_p))  # of one Test of U
    low, high = 0, 241
    while high - low > 1:
        middle = (low + high) // 2
        log_u = math.ceil(2.0 ** (middle / 4.0)) * log_pass
        with np.errstate(divide="ignore"):
            right = settings.failures * np.log1p(-np.exp(log_u))
        wrong = -np.expm1(right) @ weights
        low, high = (middle, high) if wrong > beta else (low, middle)
    return None if high == 241 else math.ceil(2.0 ** (high / 4.0))


@validated
def tuned_settings(
    wanted: Wanted, queries: AnyQueries, beta: Beta, epsilon: Epsilon, delta: DeltaOrZero = 0.0
) -> RepetitiveSettings:
    """Settings with a small margin that are (epsilon, delta)-DP and fail with chance <= beta.

    Failure is that of Lemma 4, for any queries (``failure_bound``). Gamma and the number R of
    wasted pairs that k' = k + 2 R + 1 allows for are found by a local search on a small grid. Tau
    is the least at which wrong bottoms take half of beta, and d the least at which all failures
    take beta. For delta > 0 gamma is inf: the approximate bound holds at every known p, so that p =
    1 costs nothing, and tau = log_2(2 k'/beta) is enough instead of 5 m^2.

    Args:
      wanted: k, answers top to be found.
      queries: m, how many there are.
      beta: failure probability.
      epsilon, delta: of the whole.

    Raises:
      InputError: if no gamma up to 32 is enough.
    """
    gammas = (math.inf,) if delta > 0.0 else _GAMMAS

    @functools.cache
    def found(i: int, j: int) -> RepetitiveSettings:
        """The settings for ``gammas[i]`` and ``_ALLOWED[j]``, with margin inf if none is enough."""
        if not (0 <= i < len(gammas) and 0 <= j < len(_ALLOWED)):
            return RepetitiveSettings(1.0, 1, 1.0, 1, math.inf)
        failures, gamma = wanted + 2 * _ALLOWED[j] + 1, gammas[i]
        if delta > 0.0:
            inner = _query_epsilon(failures, epsilon, delta)
        else:
            inner = epsilon / (2.0 * failures + gamma)
        start = RepetitiveSettings(gamma, 1, inner, failures, math.inf)
        tau = _least_repetitions(start, beta / 2.0)
        if tau is None:
            return start
        start = start._replace(repetitions=tau)
        return start._replace(margin=needed_margin(start, wanted, queries, beta))

    # Local search: moves to the best neighbour while that is better.
    at, last = (0, 3), None
    while at != last:
        last = at
        near = [(at[0] + i, at[1] + j) for i, j in _NEAR]
        at = min(near, key=lambda place: found(*place).margin)
    if math.isinf(found(*at).margin):
        raise InputError(f"beta is {beta:g}; that is too small for gamma up to 32")
    return found(*at)
