"""The exact probability that a single noisy test of Liu & Talwar 2019, Algorithms 3 to 5, passes.

What happens to any stream of queries is bounded by a sum of such probabilities, so that claims
about all streams are checked by single tests.
"""

import math

import numpy as np

from jaxsel.families.percentile.laws import share_counts
from jaxsel.families.percentile.settings import PercentileTest, log_potential
from jaxsel.families.sparse_vector.halting_law import Counts, laplace_difference_tail
from jaxsel.language.checking import Points, drawn, listed

# Scales of the noise on a query and on the threshold in Algorithm 3, in units of the second. In
# these units a factor x^(12 epsilon_1/epsilon_3) in Phi is 3 log x, whatever the epsilons are.
SCALES = (2.0, 1.0)


def level(ratio: float) -> float:
    """How far a query with odds ratio^(12 epsilon_1/epsilon_3) Phi(p*) lies above the threshold.

    It is the difference of log-odds in scales of the threshold noise, 3 log(ratio), whatever the
    epsilons of Algorithm 3 are.
    """
    return 3.0 * math.log(ratio)


def always_level(test: PercentileTest) -> float:
    """Algorithm 4's noiseless log-odds minus the target's, for a query that every sample passes."""
    return log_potential(1.0, test) - log_potential(test.target, test)


def share_at(height: float, test: PercentileTest) -> float:
    """The share of passing samples whose ``log_potential`` is ``height``, clipped to [0, 1]."""
    ratio, added = math.exp(height), test.shift / test.samples
    return min(max((ratio * (1.0 + added) - added) / (1.0 + ratio), 0.0), 1.0)


def algorithm_4_levels(share: float, test: PercentileTest) -> tuple[np.ndarray, Counts]:
    """The noiseless value minus the threshold of Algorithm 4's test, for each count of passes.

    Returns them with the law of the count of samples that pass, each with probability ``share``.
    """
    counts = share_counts(test.samples, share)
    value = np.log((counts.values + test.shift) / (counts.failures + test.shift))
    return value - log_potential(test.target, test), counts


def algorithm_5_levels(share: float, test: PercentileTest) -> tuple[np.ndarray, Counts]:
    """The noiseless value minus the threshold of Algorithm 5's test, for each count of passes.

    Returns them with the law of the count of samples that pass, each with probability ``share``.
    """
    counts = share_counts(test.samples, share)
    threshold = math.log(test.samples * test.target + test.shift) - test.offset
    return np.log(counts.values + test.shift) - threshold, counts


def passing_chance(levels: np.ndarray, counts: Counts, test: PercentileTest) -> float:
    """The exact probability that one noisy test passes.

    Args:
      levels: the noiseless value minus the threshold, for each count.
      counts: the law of the count of samples that pass.
      test: the settings, of which the noise scales are used.
    """
    passes = laplace_difference_tail(-levels, test.query_scale, test.threshold_scale)
    return float(np.sum(counts.weights * passes))


_PLAN = "target beta slack base_epsilon final_epsilon delta "


def random_plans(cases: int, name: str, highest: int) -> Points:
    """Random settings of Algorithm 4 or 5, as points of a claim.

    Args:
      cases: how many.
      name: of the last setting: "queries" (T, Algorithm 4) or "thresholds" (R, Algorithm 5).
      highest: the largest value of the last setting.
    """

    def draw(generator):
        slack, base_epsilon = generator.uniform(0.02, 0.95, 2).tolist()
        exponent = float(generator.uniform(0.05, 1.5))
        return (
            float(generator.uniform(0.02, 0.98)),
            float(10.0 ** generator.uniform(-3.0, -0.05)),
            slack,
            base_epsilon,
            12.0 * (slack + base_epsilon) / exponent,
            float(10.0 ** generator.uniform(-9.0, -2.0)),
            int(generator.integers(2, highest + 1)),
        )

    return drawn(_PLAN + name, draw, cases)


def plans(name: str, *rows: tuple) -> Points:
    """The given settings of Algorithm 4 or 5, as points of a claim.

    A row is p*, beta, epsilon_0, epsilon_1, epsilon_3, delta and the setting ``name``.
    """
    return listed(_PLAN + name, *rows)


def demanding_plans(name: str) -> Points:
    """Settings whose failure probability comes close to what the claims allow.

    They have a large beta, and so much noise that the additive constants hardly count. ``name`` is
    as of ``random_plans``.
    """
    final = 12.0 * 0.95 / 30.0
    return plans(name, *((0.5, 0.9, 0.05, 0.9, final, 1e-6, count) for count in (2, 5, 20)))
