"""Better-than-median algorithms: oracle calls, failure probability and privacy.

Cohen et al. 2022, Theorem 4, beside the two algorithms of Liu & Talwar 2019 that their
Theorem 3 restates. Each run of the base is better than its median with probability at
least 1/2, and exactly 1/2 at worst.
"""

import math
from typing import NamedTuple

from jaxsel import repetitions as laws
from jaxsel.families.percentile.settings import BETA, added_shift
from jaxsel.host.errors import check_integer, check_interval, check_positive
from jaxsel.language.domains import positive

ALPHA = positive("exponent of the law of p, P[p <= x] = x^alpha", default=1)


class Boosting(NamedTuple):
    """The privacy, failure probability and cost of a better-than-median algorithm.

    Attributes:
      epsilon, delta: its privacy, for an (epsilon, delta)-DP base.
      failure: the probability that no run is better than the median, at worst; for the
        percentile search the proven bound.
      log_mean_calls, log_max_calls: natural logarithms of the expected and of the
        largest number of runs of the base; inf if unbounded. (For the percentile search
        the former is the latter: it always makes its N samples.)
    """

    epsilon: float
    delta: float
    failure: float
    log_mean_calls: float
    log_max_calls: float


def median_rounds(beta: float, alpha: float) -> int:
    """T of Theorem 4: ceil(2/beta) if alpha = 1, else ceil(5 (2/beta)^(1/alpha)
    log(1/beta)).

    Raises:
      InputError: unless 0 < beta < 1 and alpha > 0.
    """
    beta, alpha = BETA.read("beta", beta), ALPHA.read("alpha", alpha)
    if alpha == 1.0:
        return math.ceil(2.0 / beta)
    power = math.log(2.0 / beta) / alpha
    check_interval("(2/beta)^(1/alpha)", math.exp(min(power, 709.0)), 0.0, 1e300)
    return max(1, math.ceil(5.0 * math.exp(power) * -math.log(beta)))


def median_failure(rounds: int, alpha: float) -> float:
    """E (1 - p/2)^T: no run of Bin(T, p), p = U^(1/alpha), is better than the median.

    In closed form alpha 2^alpha B(alpha, T+1) I_(1/2)(alpha, T+1); (2 - 2^-T)/(T + 1)
    for alpha = 1. For a base whose runs are better with probability exactly 1/2.
    """
    return float(laws.beta_binomial(rounds, alpha).pgf_tail(0.5))


def _base(epsilon: float, delta: float) -> tuple[float, float]:
    epsilon = check_positive("epsilon", epsilon)
    return epsilon, check_interval("delta", delta, 0.0, 1.0, low_open=False)


def beta_binomial_boosting(
    beta: float, alpha: float, epsilon: float = 1.0, delta: float = 0.0
) -> Boosting:
    """Cohen et al., Theorem 4: one Selection of Algorithm 1, gamma = alpha, tau = T.

    ((2 + alpha) epsilon, T delta)-DP; the failure is exact, at most beta.
    """
    epsilon, delta = _base(epsilon, delta)
    rounds = median_rounds(beta, alpha)
    log_rounds = math.log(rounds)
    return Boosting(
        (2.0 + alpha) * epsilon,
        min(1.0, rounds * delta),
        median_failure(rounds, alpha),
        log_rounds + math.log(alpha / (1.0 + alpha)),
        log_rounds,
    )


def percentile_boosting(
    beta: float, alpha: float, epsilon: float, final_delta: float, *, thresholds: int = 100
) -> Boosting:
    """Liu & Talwar, Theorem 4.7 (Algorithm 5, then Algorithm 1), for one candidate.

    Privacy (2 epsilon + epsilon_0, final_delta) with epsilon_0 = alpha epsilon, for a
    pure base; settings as corrected (LT-E6, LT-E9, LT-E10): Algorithm 5 with p* = 1/2,
    epsilon_3 = slack = epsilon_0/2 and beta/4, Algorithm 1 at gamma = p_1 beta/4.

    Args:
      beta: failure probability, in (0, 1); the bound is beta + final_delta.
      alpha: epsilon_0/epsilon; epsilon_0 must be below 2.
      epsilon: of the base, > 0.
      final_delta: in (0, 1).
      thresholds: R >= 2: how many score thresholds are tried.
    """
    beta = check_interval("beta", beta, 0.0, 1.0) / 4.0
    alpha, epsilon = check_positive("alpha", alpha), check_positive("epsilon", epsilon)
    half = check_interval("alpha * epsilon", alpha * epsilon, 0.0, 2.0) / 2.0
    final_delta = check_interval("final_delta", final_delta, 0.0, 1.0)
    thresholds = check_integer("thresholds", thresholds, 2)
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
