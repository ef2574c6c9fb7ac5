r"""Privacy of ridge regression: its solution, and one sample of its posterior (OPS).

OPS stands for one posterior sample (Wang 2018). Records are (x, y) with |x| <= 1, |y| <= 1;
neighbours differ by one record, added or removed, and no data set has more than a public number of
records. Write H = X'X + lambda I and theta = H^-1 X'y; the sample is N(theta, (gamma H)^-1), and
gamma is its *precision*.

Add (x, y) to a data set and put mu = x'H^-1 x (the record's *leverage*) and
r = y - x'theta, both on the smaller set. The likelihood ratio depends on the sample only
through its prediction at x, so that the pair is one of two Gaussians on the line: with
u = sqrt(gamma mu) |r| (the *shift*), the smaller set gives Z ~ N(0, 1), the larger one
Z ~ N(u/(1 + mu), 1/(1 + mu)), and
log(smaller/larger) = u^2/(2 (1 + mu)) - log(1 + mu)/2 - u Z + mu Z^2/2.
"""

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.families.ridge_regression.parameters import LEAST_TAIL, TailDelta
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated


def _array(name: str, value: npt.ArrayLike, low: float = 0.0) -> np.ndarray:
    """The value as an array; raises InputError unless all entries are at least ``low``."""
    array = np.asarray(value, dtype=np.float64)
    if not np.all(array >= low):
        raise InputError(f"{name} is {value}; it must be >= {low:g}")
    return array


def _positive(name: str, value: npt.ArrayLike) -> np.ndarray:
    """The value as an array; raises InputError unless all entries are positive and finite."""
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array > 0.0) & np.isfinite(array)):
        raise InputError(f"{name} is {value}; it must be positive and finite")
    return array


# --- The sample -----------------------------------------------------------------------


def posterior_delta(
    epsilon: npt.ArrayLike, leverage: npt.ArrayLike, shift: npt.ArrayLike
) -> np.ndarray:
    """The exact delta at epsilon of a posterior sample, for one added record.

    Args:
      epsilon: any real numbers.
      leverage: mu > 0 of the record, on the smaller data set.
      shift: u = sqrt(precision mu) |y - x'theta| >= 0, on the smaller data set.

    Returns:
      Float64["2 ..."]: the hockey-stick divergence of the smaller set's sample from the larger
      set's, and the other way round.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    mu, u = _positive("leverage", leverage), _array("shift", shift)
    epsilon, mu, u = np.broadcast_arrays(epsilon, mu, u)
    constant = 0.5 * u**2 / (1.0 + mu) - 0.5 * np.log1p(mu)
    widen, move = np.sqrt(1.0 + mu), u / (1.0 + mu)

    def masses(excess: np.ndarray) -> tuple[np.ndarray, ...]:
        """Probabilities of {mu Z^2/2 - u Z + excess < 0} and of its complement.

        First both of the event, on the smaller and on the larger set, then both of the complement.
        """
        spread = u**2 - 2.0 * mu * excess
        root = np.sqrt(np.maximum(spread, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(excess > 0, 2.0 * excess / (u + root), (u - root) / mu)
            high = (u + root) / mu
        some = spread > 0.0
        ends = [(low, high), ((low - move) * widen, (high - move) * widen)]
        inside, outside = [], []
        for a, b in ends:
            # The mass of an interval as a difference of tails, of those that are small.
            right = special.ndtr(-a) - special.ndtr(-b)
            left = special.ndtr(b) - special.ndtr(a)
            inside.append(np.where(some, np.where(a > 0, right, left), 0.0))
            tails = special.ndtr(a) + special.ndtr(-b)
            outside.append(np.where(some, tails, 1.0))
        return (*inside, *outside)

    with np.errstate(over="ignore", invalid="ignore"):
        odds = np.exp(epsilon)
        _, _, first, second = masses(constant - epsilon)
        downward = first - odds * second
        first, second, _, _ = masses(constant + epsilon)
        upward = second - odds * first
    return np.clip(np.stack([downward, upward]), 0.0, 1.0)


def posterior_epsilon(
    tail: npt.ArrayLike, leverage: npt.ArrayLike, shift: npt.ArrayLike
) -> np.ndarray:
    """The epsilon of a posterior sample, in both directions, at delta = 2 Phi(-tail).

    It is u^2/(2 (1 + mu)) + u t + mu t^2/2 - log(1 + mu)/2, the largest privacy loss of the smaller
    set over |Z| <= t. That of the larger set is at most log(1 + mu)/2 + u^2/(2 (1 + mu)^2)
    + u |Z|/(1 + mu)^(3/2) - mu Z^2/(2 (1 + mu)), which is smaller for t^2 >= 2. The epsilon
    increases with the shift, and with the leverage while u^2/mu = gamma r^2 is fixed; so it holds
    for upper bounds of the leverage and of the residual, too.

    Args:
      tail: t >= sqrt(2).
      leverage, shift: as in posterior_delta; leverage 0 is its limit.
    """
    t = np.asarray(tail, dtype=np.float64)
    if not np.all(t >= LEAST_TAIL):
        raise InputError(f"tail is {tail}; it must be at least sqrt(2)")
    mu, u = _array("leverage", leverage), _array("shift", shift)
    moved = 0.5 * u**2 / (1.0 + mu) + u * t
    return (moved + 0.5 * mu * t**2 - 0.5 * np.log1p(mu))[()]


def posterior_shift(
    epsilon: npt.ArrayLike, tail: npt.ArrayLike, leverage: npt.ArrayLike
) -> np.ndarray:
    """The largest shift at which ``posterior_epsilon`` is at most epsilon; 0 if none is positive.

    Args:
      epsilon: >= 0.
      tail, leverage: as in ``posterior_epsilon``.
    """
    t, mu = _array("tail", tail, LEAST_TAIL), _array("leverage", leverage)
    room = _array("epsilon", epsilon) - 0.5 * mu * t**2 + 0.5 * np.log1p(mu)
    room = np.maximum(room, 0.0)
    # Root of u^2/(2 (1 + mu)) + t u = room, without cancellation.
    return (2.0 * room / (t + np.sqrt(t**2 + 2.0 * room / (1.0 + mu))))[()]


def leverage_bound(regularisation: npt.ArrayLike, eigenvalue: npt.ArrayLike) -> np.ndarray:
    """A bound on the leverage of any record that a data set may gain or lose.

    It is 1/(lambda + max(e - 1, 0)), where e is a lower bound on the least eigenvalue of X'X: when
    the data set loses a record, its eigenvalues stay >= e - 1.

    Args:
      regularisation: lambda > 0.
      eigenvalue: e >= 0.
    """
    lam, e = (_positive("regularisation", regularisation), _array("eigenvalue", eigenvalue))
    return (1.0 / (lam + np.maximum(e - 1.0, 0.0)))[()]


def posterior_precision(
    epsilon: npt.ArrayLike, tail: npt.ArrayLike, leverage: npt.ArrayLike, residual: npt.ArrayLike
) -> np.ndarray:
    """The largest precision of a sample that is (epsilon, 2 Phi(-tail))-DP on one data set.

    It is private on this data set against all its neighbours, in both directions. This is the
    data-dependent privacy of Redberg, Zhu & Wang (2023), whose proposal is (lambda, gamma). The
    residual of a record on the set itself is at most 1 + |theta|, and on the set without the
    record it is 1 + mu times as large.

    Args:
      epsilon: > 0.
      tail: >= sqrt(2).
      leverage: > 0, ``leverage_bound`` of the data set.
      residual: > 0, 1 + |theta| of the data set or more.

    Returns:
      gamma >= 0; 0 where no precision is private enough.
    """
    mu, size = _positive("leverage", leverage), _positive("residual", residual)
    u = np.asarray(posterior_shift(epsilon, tail, mu))
    return ((u / ((1.0 + mu) * size)) ** 2 / mu)[()]


# --- The solution ---------------------------------------------------------------------


def ridge_norm_bound(regularisation: npt.ArrayLike, records: npt.ArrayLike) -> np.ndarray:
    """A bound on |theta| for n records: min(sqrt(n)/(2 sqrt(lambda)), n/lambda).

    The first holds since the singular values s of X give factors s/(s^2 + lambda) <= 1/(2
    sqrt(lambda)), and |y| <= sqrt(n); the second since |X'y| <= n and H >= lambda.
    """
    lam, n = _positive("regularisation", regularisation), _positive("records", records)
    return np.minimum(0.5 * np.sqrt(n / lam), n / lam)[()]


def ridge_sensitivity(regularisation: npt.ArrayLike, records: npt.ArrayLike) -> np.ndarray:
    """The sensitivity of theta to one record, on sets of at most n records, in the l2 norm.

    It is (1 + R)/(1 + lambda) for lambda >= 1, and (1 + R)/(2 sqrt(lambda)) below, with R =
    ``ridge_norm_bound``. For theta moves by |H^-1 x| |r|/(1 + mu) <= sqrt(mu/lambda)/(1 + mu)
    (1 + R), and mu <= 1/lambda.
    """
    lam = _positive("regularisation", regularisation)
    gain = np.where(lam >= 1.0, 1.0 / (1.0 + lam), 0.5 / np.sqrt(lam))
    return (gain * (1.0 + ridge_norm_bound(lam, records)))[()]


def log_norm_sensitivity(leverage: npt.ArrayLike) -> np.ndarray:
    """The sensitivity of log(1 + |theta|) to one record: log(1 + nu), with nu = ``leverage_bound``.

    For when the record (x, y) is added, theta changes by H^-1 x of one of the two sets, which is at
    most nu in size, times the record's residual on the other, which is at most 1 + |theta| there.

    Args:
      leverage: nu, a bound on the leverage from ``leverage_bound``, any shape.
    """
    return np.log1p(_array("leverage", leverage))[()]


@validated
def tail_of(delta: TailDelta) -> float:
    """The t >= sqrt(2) with P[|Z| > t] <= delta for a standard normal Z, as small as possible."""
    return max(-float(special.ndtri(0.5 * delta)), LEAST_TAIL)
