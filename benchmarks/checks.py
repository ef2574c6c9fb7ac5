"""Chi-square tests of whether a competitor samples the exact law."""

import numpy as np
from scipy import stats

_LEAST_EXPECTED = 5.0


def _p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    if observed.size < 2:
        return 1.0
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, observed.size - 1))


def chi_square_p_value(tallies: np.ndarray, law: np.ndarray) -> float:
    """P-value of integer tallies under a law; rare events are merged into one.

    Args:
      tallies: Int["events"], how often each event happened.
      law: Float["events"], the probabilities of the events, which sum to 1.
    """
    tallies = np.asarray(tallies, dtype=np.float64)
    expected = tallies.sum() * np.asarray(law)
    if np.any(tallies[expected == 0] > 0):
        return 0.0
    order = np.argsort(expected)
    observed, expected = tallies[order], expected[order]
    # The fewest rare events that together reach the least expected count.
    enough = np.searchsorted(np.cumsum(expected), _LEAST_EXPECTED) + 1
    first = max(int(np.searchsorted(expected, _LEAST_EXPECTED)), min(enough, order.size))
    observed = np.append(observed[first:], observed[:first].sum())
    expected = np.append(expected[first:], expected[:first].sum())
    return _p_value(observed, expected)


def maxima_p_value(maxima: np.ndarray, count: int, log_cdf) -> float:
    """P-value of maxima, each of ``count`` independent variates with this log cdf."""
    uniform = np.exp(count * log_cdf(np.asarray(maxima, dtype=np.float64)))
    observed = np.histogram(uniform, bins=16, range=(0.0, 1.0))[0]
    return _p_value(observed, np.full(16, uniform.size / 16))
