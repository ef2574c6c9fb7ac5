"""A limit for all laws of K: privacy bounds the probability of a good winner.

After Talwar, "Privacy-Computation Trade-offs in Private Repetition and Metaselection"
(FORC 2025, arXiv 2410.19012): at a privacy cost that exceeds one run's by a constant
factor, the failure probability decreases only polynomially in the number of runs. The bound
here is our version of that argument, for any trade-off curve and at (epsilon, delta).

Take a run whose output is bad, not among the best share q, with probability b_0 = 1 - q.
Its guarantee, Q'(S) <= B(Q(S)) for every event S, allows a chain of data sets D = D_0,
D_1, ..., each a neighbour of the one before, on which the output is bad with probability
b_1 = B(b_0), b_2 = B(b_1), and so on. K is drawn apart from the data, and its mean is at
most m, so that by Jensen's inequality the search fails on D_t with probability E[b_t^K]
>= b_t^m. If the search is (epsilon, delta)-DP, it is (t epsilon, delta_t)-DP for D and
D_t with delta_t = delta (e^(t epsilon) - 1)/(e^epsilon - 1) (group privacy), hence

    P[fail on D] >= e^(-t epsilon) (b_t^m - delta_t)  for every t = 0, 1, 2, ...

The limit does not hold for runs that are known to satisfy more than this guarantee.
"""

import math

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated
from jaxsel.repetitions.parameters import Mean
from jaxsel.tuning.parameters import TunedDelta

_MOST_STEPS = 400  # neighbours in a chain; each costs a factor e^-epsilon
_NEVER = 1e-30  # smaller bounds are negligible


@validated
def least_miss(
    base: BaseGuarantee, epsilon: npt.ArrayLike, delta: TunedDelta, mean: Mean, good: npt.ArrayLike
) -> np.ndarray:
    """A lower bound on the probability that a search with these numbers fails.

    Args:
      base: guarantee of one run, with a trade-off curve.
      epsilon: of the search, for all runs with this guarantee; > 0, any shape.
      delta: of the search.
      mean: E[K] is at most this.
      good: fraction of the candidates that counts as good, in (0, 1); any shape.

    Returns:
      Float[np.ndarray, "epsilon good"]: lower bound on P[no good candidate is released].

    Raises:
      InputError: if the base has no trade-off curve, or epsilon or good is out of range.
    """
    if base.tradeoff is None:
        raise InputError(f"{base.name} has no trade-off curve, so that nothing follows")
    epsilon = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))[:, None]
    share = np.atleast_1d(np.asarray(good, dtype=np.float64))[None, :]
    if not (np.all(epsilon > 0.0) and np.all((share > 0.0) & (share < 1.0))):
        raise InputError("epsilon must be > 0, and good inside (0, 1)")
    bad = 1.0 - share
    best = bad**mean
    best = np.broadcast_to(best, (epsilon.size, share.size)).copy()
    for step in range(1, _MOST_STEPS):
        worse = np.asarray(base.tradeoff(bad), dtype=np.float64)
        bad = np.minimum(np.maximum(worse, bad), 1.0)
        # delta_t/e^(t epsilon), without its large numbers
        spent = delta * -np.expm1(-step * epsilon) / np.expm1(epsilon)
        found = np.exp(-step * epsilon) * bad**mean - spent
        best = np.maximum(best, found)
        if math.exp(-step * float(np.min(epsilon))) < _NEVER or np.all(bad == 1.0):
            break
    return best


@validated
def least_rank(
    base: BaseGuarantee, epsilon: npt.ArrayLike, delta: TunedDelta, mean: Mean, *, count: int = 600
) -> np.ndarray:
    """A lower bound on the winner's expected rank from the top, 1 if nothing is run.

    The rank R has E[R] = integral over q of P[R > q], the probability to miss the best
    fraction q, which decreases in q: Riemann sums at right ends are lower bounds.

    Args:
      base, epsilon, delta, mean: as in ``least_miss``.
      count: number of terms of the sums.

    Returns:
      Float[np.ndarray, "epsilon"].
    """
    ends = np.geomspace(1e-4 / (1.0 + mean), 1.0 - 1e-9, count)
    miss = least_miss(base, epsilon, delta, mean, ends)
    return np.sum(miss * np.diff(ends, prepend=0.0), axis=1)
