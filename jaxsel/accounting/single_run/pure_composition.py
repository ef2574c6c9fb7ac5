"""Tight composition of purely epsilon-DP releases."""

import numpy as np
from scipy import special

from jaxsel.host.errors import check_integer, check_interval, check_positive


def composed_pure_epsilon(epsilon: float, count: int, delta: float) -> float:
    """Least epsilon at delta of adaptive releases that are purely epsilon-DP each.

    The worst case is randomised response, which answers correctly with odds e^epsilon
    (Kairouz, Oh & Viswanath 2015, Theorem 3.3). Of ``count`` answers J are correct, J is
    binomial on either side, and delta = max_j P[J >= j] - e^epsilon Q[J >= j] is solved
    for epsilon at each threshold j.

    Args:
      epsilon: of one release, > 0.
      count: the number of releases, >= 1.
      delta: of the composition, in [0, 1).

    Returns:
      The epsilon of the composition; count * epsilon at delta = 0.

    Raises:
      InputError: for numbers out of range.
    """
    epsilon = check_positive("epsilon", epsilon)
    count = check_integer("count", count, 1)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    most = count * epsilon
    if delta == 0.0:
        return most
    right = np.arange(1, count + 1)
    chance = special.expit(np.array([epsilon, -epsilon]))
    first, second = special.betainc(right, count - right + 1.0, chance[:, None])
    useful = first > delta  # other thresholds give no positive epsilon
    if not np.any(useful):
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):
        found = float(np.max(np.log((first[useful] - delta) / second[useful])))
    return min(max(found, 0.0), most)  # if Q underflows, the largest possible loss
