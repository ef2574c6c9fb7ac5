"""The settings of Liu & Talwar 2019, Algorithms 4 and 5, printed and corrected.

Both draw N samples and compare, with Laplace noise, the number of samples that reach a
threshold with the number expected at the target share p*; Delta is added to all counts.
Names: ``slack`` is epsilon_0, ``base_epsilon`` epsilon_1, ``final_epsilon`` epsilon_3,
``target`` p*, ``share`` the chance p that one sample reaches the threshold.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.sparse_vector.halting_law import (
    Counts,
    binomial_counts,
    laplace_difference_tail,
)


class PercentileTest(NamedTuple):
    """One noisy test, repeated for each query.

    Attributes:
      target: p*.
      samples: N.
      shift: Delta.
      query_scale, threshold_scale: of the Laplace noises.
      exponent: 6 S / epsilon_3, the power in all utility bounds.
      offset: Lambda, subtracted from the threshold (0 in Algorithm 4).
    """

    target: float
    samples: int
    shift: float
    query_scale: float
    threshold_scale: float
    exponent: float
    offset: float = 0.0


def printed_shift(slack: float, base_epsilon: float, log_term: float) -> float:
    """Delta as printed: C log_term / (epsilon_0 (e^(epsilon_0 + epsilon_1) - 1))."""
    total = slack + base_epsilon
    constant = 2.0 * (math.exp(total) + 1.0 + math.exp(slack / 2.0))
    return constant * log_term / (slack * math.expm1(total))


def sufficient_shift(slack: float, log_term: float) -> float:
    """The Delta that makes counts concentrate within e^(slack/2) (LT-E6)."""
    growth = math.expm1(slack / 2.0)
    return (growth + 2.0) / growth**2 * log_term


def _checked(target, beta, slack, base_epsilon, final_epsilon, delta, queries, least):
    return (
        check_interval("target", target, 0.0, 1.0),
        check_interval("beta", beta, 0.0, 1.0),
        check_interval("slack", slack, 0.0, 1.0),
        check_positive("base_epsilon", base_epsilon),
        check_positive("final_epsilon", final_epsilon),
        check_interval("delta", delta, 0.0, 1.0),
        check_integer("queries", queries, least),
    )


def algorithm_4(
    *,
    target: float = 0.5,
    beta: float = 0.1,
    slack: float = 0.5,
    base_epsilon: float = 0.1,
    final_epsilon: float = 1.0,
    delta: float = 1e-3,
    queries: int = 10,
    corrected: bool = False,
) -> PercentileTest:
    """Settings of Algorithm 4 for T = ``queries``.

    Corrected, Delta is at least sufficient_shift and N is doubled (LT-E4 to LT-E6).

    Raises:
      InputError: for a parameter out of range.
    """
    target, beta, slack, base_epsilon, final_epsilon, delta, queries = _checked(
        target, beta, slack, base_epsilon, final_epsilon, delta, queries, 2
    )
    sensitivity = 2.0 * (base_epsilon + slack)
    shift = printed_shift(slack, base_epsilon, math.log(8.0 * queries / delta))
    if corrected:
        shift = max(shift, sufficient_shift(slack, math.log(4.0 * queries / delta)))
    exponent = 6.0 * sensitivity / final_epsilon
    samples = math.exp(slack) * shift / min(target, 1.0 - target)
    samples *= ((queries + 1.0) / beta) ** exponent * (2.0 if corrected else 1.0)
    return PercentileTest(
        target,
        math.ceil(samples),
        shift,
        4.0 * sensitivity / final_epsilon,
        2.0 * sensitivity / final_epsilon,
        exponent,
    )


def algorithm_5(
    *,
    target: float = 0.5,
    beta: float = 0.1,
    slack: float = 0.5,
    base_epsilon: float = 0.1,
    final_epsilon: float = 1.0,
    delta: float = 1e-3,
    thresholds: int = 5,
    corrected: bool = False,
) -> PercentileTest:
    """Settings of Algorithm 5 for R = ``thresholds``.

    Corrected, Delta is at least sufficient_shift (LT-E6) and the factor 3 in N is
    max(3, 2 e^(slack/2)) (LT-E9).

    Raises:
      InputError: for a parameter out of range.
    """
    target, beta, slack, base_epsilon, final_epsilon, delta, thresholds = _checked(
        target, beta, slack, base_epsilon, final_epsilon, delta, thresholds, 2
    )
    sensitivity = base_epsilon + slack
    shift = printed_shift(slack, base_epsilon, math.log(4.0 * thresholds / delta))
    factor = 3.0
    if corrected:
        shift = max(shift, sufficient_shift(slack, math.log(2.0 * thresholds / delta)))
        factor = max(3.0, 2.0 * math.exp(slack / 2.0))
    exponent = 6.0 * sensitivity / final_epsilon
    samples = factor * shift * math.exp(slack / 2.0) / target
    samples *= ((thresholds + 1.0) / beta**2) ** exponent
    return PercentileTest(
        target,
        math.ceil(samples),
        shift,
        4.0 * sensitivity / final_epsilon,
        2.0 * sensitivity / final_epsilon,
        exponent,
        slack / 2.0 - exponent * math.log(beta),
    )


def log_potential(share: float, test: PercentileTest) -> float:
    """log Phi^(N, Delta)(share) = log((N p + Delta)/(N (1 - p) + Delta))."""
    added = test.shift / test.samples
    return math.log((share + added) / (1.0 - share + added))


def always_level(test: PercentileTest) -> float:
    """Noiseless value minus threshold of a query that every sample passes."""
    return log_potential(1.0, test) - log_potential(test.target, test)


def share_at(height: float, test: PercentileTest) -> float:
    """The share whose log_potential is ``height`` (clipped to [0, 1])."""
    ratio, added = math.exp(height), test.shift / test.samples
    return min(max((ratio * (1.0 + added) - added) / (1.0 + ratio), 0.0), 1.0)


def algorithm_4_levels(share: float, test: PercentileTest) -> tuple[np.ndarray, Counts]:
    """Noiseless value minus threshold of Algorithm 4's test, by number of samples."""
    counts = binomial_counts(test.samples, share)
    value = np.log((counts.values + test.shift) / (counts.failures + test.shift))
    return value - log_potential(test.target, test), counts


def algorithm_5_levels(share: float, test: PercentileTest) -> tuple[np.ndarray, Counts]:
    """Noiseless value minus threshold of Algorithm 5's test, by number of samples."""
    counts = binomial_counts(test.samples, share)
    threshold = math.log(test.samples * test.target + test.shift) - test.offset
    return np.log(counts.values + test.shift) - threshold, counts


def passing_chance(levels: np.ndarray, counts: Counts, test: PercentileTest) -> float:
    """Exact chance that one test passes."""
    passes = laplace_difference_tail(-levels, test.query_scale, test.threshold_scale)
    return float(np.sum(counts.weights * passes))
