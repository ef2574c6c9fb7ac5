"""Algorithms 4 and 5 of Liu & Talwar 2019 as numbers, as printed and as corrected.

Both draw N samples and compare, with Laplace noise, the number of samples that reach a
threshold with the number expected at the target share p*; Delta is added to all counts.
Names: ``slack`` is epsilon_0, ``base_epsilon`` epsilon_1, ``final_epsilon`` epsilon_3,
``target`` p*, ``share`` the chance p that one sample reaches the threshold.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxsel.base import Budget
from jaxsel.claims.errata_numbers import (
    Counts,
    binomial_counts,
    laplace_difference_tail,
    probability,
)
from jaxsel.errors import check_integer, check_positive

__all__ = [
    "SCALES",
    "PercentileTest",
    "algorithm_4",
    "algorithm_4_levels",
    "algorithm_5",
    "algorithm_5_levels",
    "allowed_failure",
    "always_level",
    "level",
    "log_potential",
    "passing_chance",
    "printed_shift",
    "random_plans",
    "share_at",
    "sufficient_shift",
]

# With threshold noise of scale 1 Algorithm 3 has query noise of scale 2, and a factor
# x^(12 epsilon_1/epsilon_3) in Phi is 3 log x noise scales, whatever the epsilons are.
SCALES = (2.0, 1.0)


def level(ratio: float) -> float:
    """Level ratio^(12 epsilon_1/epsilon_3) Phi(p*) of Algorithm 3, in noise scales."""
    return 3.0 * math.log(ratio)


def allowed_failure(*, beta: float = 0.1) -> float:
    """Failure probability that the statement allows: beta itself.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


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
        probability("target", target),
        probability("beta", beta),
        probability("slack", slack),
        check_positive("base_epsilon", base_epsilon),
        check_positive("final_epsilon", final_epsilon),
        probability("delta", delta),
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


def random_plans(
    budget: Budget, cases: int, name: str, highest: int
) -> Iterator[dict[str, Any]]:
    """Random settings of either algorithm.

    At most ``cases``; ``name`` ("queries" or "thresholds") is at most ``highest``.
    """
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, cases)):
        slack, base_epsilon = generator.uniform(0.02, 0.95, 2)
        exponent = float(generator.uniform(0.05, 1.5))
        yield {
            "target": float(generator.uniform(0.02, 0.98)),
            "beta": float(10.0 ** generator.uniform(-3.0, -0.05)),
            "slack": float(slack),
            "base_epsilon": float(base_epsilon),
            "final_epsilon": 12.0 * float(slack + base_epsilon) / exponent,
            "delta": float(10.0 ** generator.uniform(-9.0, -2.0)),
            name: int(generator.integers(2, highest + 1)),
        }
