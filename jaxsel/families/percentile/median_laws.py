"""Algorithms that find a run better than the median: number of runs, failure and privacy.

They are that of Cohen et al. 2022, Theorem 4, and the percentile search of Liu & Talwar 2019,
Theorem 4.7. Each run of the base is better than its median with probability 1/2 at worst.
"""

import math
from typing import NamedTuple

from jaxsel import repetitions as laws
from jaxsel.families.percentile import parameters
from jaxsel.families.percentile.settings import added_shift
from jaxsel.host.errors import check_interval
from jaxsel.language.signature import validated


class Boosting(NamedTuple):
    """The privacy, failure probability and cost of a better-than-median algorithm.

    Attributes:
      epsilon, delta: the privacy of the algorithm, for an (epsilon, delta)-DP base.
      failure: the probability that no run is better than the median, at worst; for the
        percentile search the proven bound on it.
      log_mean_calls, log_max_calls: natural logarithms of the expected and of the largest number
        of runs of the base. For the percentile search both are that of the largest number.
    """

    epsilon: float
    delta: float
    failure: float
    log_mean_calls: float
    log_max_calls: float


@validated
def median_rounds(beta: parameters.Beta, alpha: parameters.Alpha) -> int:
    """The T of Cohen et al. 2022, Theorem 4: Bin(T, p) runs fail with probability at most beta.

    It is ceil(2/beta) if alpha = 1, else ceil(5 (2/beta)^(1/alpha) log(1/beta)).

    Raises:
      InputError: if (2/beta)^(1/alpha) is 1e300 or more.
    """
    if alpha == 1.0:
        return math.ceil(check_interval("2/beta", 2.0 / beta, 0.0, 1e300))
    power = math.log(2.0 / beta) / alpha
    check_interval("(2/beta)^(1/alpha)", math.exp(min(power, 709.0)), 0.0, 1e300)
    return max(1, math.ceil(5.0 * math.exp(power) * -math.log(beta)))


def median_failure(rounds: int, alpha: float) -> float:
    """The probability that none of Bin(T, p) runs, p = U^(1/alpha), is better than the median.

    As each run is better with probability 1/2, it is E (1 - p/2)^T. In closed form this is alpha
    2^alpha B(alpha, T+1) I_(1/2)(alpha, T+1), and (2 - 2^-T)/(T + 1) for alpha = 1.
    """
    return float(laws.beta_binomial(rounds, alpha).pgf_tail(0.5))


@validated
def beta_binomial_boosting(
    beta: parameters.Beta,
    alpha: parameters.Alpha,
    epsilon: parameters.Epsilon = 1.0,
    delta: parameters.BaseDelta = 0.0,
) -> Boosting:
    """What a run better than the median costs by Cohen et al. 2022, Theorem 4.

    One call of Selection (Algorithm 1) with gamma = alpha and tau = T is ((2 + alpha) epsilon,
    T delta)-DP. The failure that is returned is exact, and at most beta.

    Args:
      beta: bound on the failure probability.
      alpha: exponent of the law of p.
      epsilon, delta: of the base.
    """
    rounds = median_rounds(beta, alpha)
    log_rounds = math.log(rounds)
    return Boosting(
        (2.0 + alpha) * epsilon,
        min(1.0, rounds * delta),
        median_failure(rounds, alpha),
        log_rounds + math.log(alpha / (1.0 + alpha)),
        log_rounds,
    )


@validated
def percentile_boosting(
    beta: parameters.Beta,
    alpha: parameters.Alpha,
    epsilon: parameters.BaseEpsilon,
    final_delta: parameters.Delta,
    *,
    thresholds: parameters.Thresholds = 100,
) -> Boosting:
    """What a run better than the median costs by Liu & Talwar 2019, Theorem 4.7.

    Over one candidate that is epsilon-DP, Algorithm 5 and then Algorithm 1 are (2 epsilon +
    epsilon_0, final_delta)-DP, with epsilon_0 = alpha epsilon. The settings are the corrected ones
    (LT-E6, LT-E9, LT-E10): Algorithm 5 has p* = 1/2, epsilon_3 = slack = epsilon_0/2 and beta/4,
    and Algorithm 1 has gamma = p_1 beta/4.

    Args:
      beta: the failure probability is at most beta + final_delta.
      alpha: epsilon_0/epsilon; epsilon_0 must be below 2.
      epsilon: of one run of the base.
      final_delta: of both algorithms together.
      thresholds: R, how many score thresholds are tried.

    Raises:
      InputError: unless epsilon_0 is below 2.
    """
    beta = beta / 4.0
    half = check_interval("alpha * epsilon", alpha * epsilon, 1e-300, 2.0) / 2.0
    shift = added_shift(
        1, thresholds, slack=half, base_epsilon=epsilon, delta=final_delta, corrected=True
    )
    factor = max(3.0, 2.0 * math.exp(half / 2.0))
    exponent = 6.0 * (epsilon + half) / half  # 6 + 12/alpha
    log_ratio = math.log(thresholds + 1.0) - 2.0 * math.log(beta)
    log_samples = math.log(factor * shift / 0.5) + half / 2.0 + exponent * log_ratio
    # p(found threshold) >= p_1, by Theorem 4.6 (b) as corrected
    log_success = -half / 2.0 - math.log(factor / 0.5) - exponent * log_ratio
    log_stop = log_success + math.log(beta)
    log_draws = -log_stop + math.log(math.log(2.0 / half))
    longer, shorter = max(log_samples, log_draws), min(log_samples, log_draws)
    log_calls = longer + math.log1p(math.exp(shorter - longer))
    total = (2.0 + alpha) * epsilon
    return Boosting(total, final_delta, 4.0 * beta + final_delta, log_calls, log_calls)
