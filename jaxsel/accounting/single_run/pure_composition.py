"""Composition of releases of which a pure epsilon is known, without loss."""

import numpy as np
from scipy import special

from jaxsel.host.errors import check_integer, check_interval, check_positive


def composed_pure_epsilon(epsilon: float, count: int, delta: float) -> float:
    """Least epsilon at delta of adaptive releases that are purely epsilon-DP each.

    None loses more than randomised response, which answers right with odds e^epsilon
    (Kairouz, Oh & Viswanath 2015, Theorem 3.3). Of ``count`` such answers J are right, J
    binomial on either side, and delta = max_j P[J >= j] - e^epsilon Q[J >= j] is solved
    for epsilon at each threshold j.

    Args:
      epsilon: of one release, > 0.
      count: of releases, >= 1.
      delta: of all together, in [0, 1).

    Returns:
      Of all together; count * epsilon at delta = 0.

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
    useful = first > delta  # the others show nothing
    if not np.any(useful):
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):
        found = float(np.max(np.log((first[useful] - delta) / second[useful])))
    return min(max(found, 0.0), most)  # where the second side underflows, most
