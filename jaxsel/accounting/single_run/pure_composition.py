"""Tight composition of purely epsilon-DP releases."""

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.conversions import zcdp_from_pure, zcdp_to_epsilon
from jaxsel.accounting.single_run.parameters import Count, DeltaFromZero, Epsilon
from jaxsel.language.signature import validated

_MOST_THRESHOLDS = 10**6  # a second's work


@validated
def composed_pure_epsilon(epsilon: Epsilon, count: Count, delta: DeltaFromZero) -> float:
    """Least epsilon at delta of adaptive releases that are purely epsilon-DP each.

    The worst case is randomised response, which answers correctly with odds e^epsilon
    (Kairouz, Oh & Viswanath 2015, Theorem 3.3). Of ``count`` answers J are correct, J is
    binomial on either side, and delta = max_j P[J >= j] - e^epsilon Q[J >= j] is solved
    for epsilon at each threshold j. Beyond a million releases, whose thresholds are too many, it
    is an upper bound: zero-concentrated privacy adds up.

    Args:
      epsilon: of one release.
      count: the number of releases.
      delta: of the composition.

    Returns:
      The epsilon of the composition; count * epsilon at delta = 0.
    """
    most = count * epsilon
    if delta == 0.0:
        return most
    if count > _MOST_THRESHOLDS:
        return min(zcdp_to_epsilon(count * zcdp_from_pure(epsilon), delta), most)
    right = np.arange(1, count + 1)
    chance = special.expit(np.array([epsilon, -epsilon]))
    first, second = special.betainc(right, count - right + 1.0, chance[:, None])
    useful = first > delta  # other thresholds give no positive epsilon
    if not np.any(useful):
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):
        found = float(np.max(np.log((first[useful] - delta) / second[useful])))
    return min(max(found, 0.0), most)  # if Q underflows, the largest possible loss
