r"""Privacy of ridge regression: its solution, and one sample of its posterior (OPS).

Records are (x, y) with |x| <= 1, |y| <= 1; neighbours differ by one record, added or
removed, and no data set has more than a public number of records. Write H = X'X + lambda I
and theta = H^-1 X'y; the sample is N(theta, (gamma H)^-1) with gamma its precision.

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
    array = np.asarray(value, dtype=np.float64)
    if not np.all(array >= low):
        raise InputError(f"{name} is {value}; it must be >= {low:g}")
    return array


def _positive(name: str, value: npt.ArrayLike) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array > 0.0) & np.isfinite(array)):
        raise InputError(f"{name} is {value}; it must be positive and finite")
    return array


# --- The sample -----------------------------------------------------------------------


def posterior_delta(
    epsilon: npt.ArrayLike, leverage: npt.ArrayLike, shift: npt.ArrayLike
) -> np.ndarray:
    """Exact delta(epsilon) of a posterior sample for one added record.

    Args:
      epsilon: any real numbers.
      leverage: mu > 0 of the record, on the smaller data set.
      shift: u = sqrt(precision mu) |y - x'theta| >= 0, on the smaller data set.

    Returns:
      Float64[2, ...]: hockey-stick divergence of the smaller set's sample from the
      larger set's, and the other way round.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    mu, u = _positive("leverage", leverage), _array("shift", shift)
    epsilon, mu, u = np.broadcast_arrays(epsilon, mu, u)
    constant = 0.5 * u**2 / (1.0 + mu) - 0.5 * np.log1p(mu)
    widen, move = np.sqrt(1.0 + mu), u / (1.0 + mu)

    def masses(excess: np.ndarray) -> tuple[np.ndarray, ...]:
        """P and P' of {mu Z^2/2 - u Z + excess < 0}, and of its complement."""
        spread = u**2 - 2.0 * mu * excess
        root = np.sqrt(np.maximum(spread, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(excess > 0, 2.0 * excess / (u + root), (u - root) / mu)
            high = (u + root) / mu
        some = spread > 0.0
        ends = [(low, high), ((low - move) * widen, (high - move) * widen)]
        inside, outside = [], []
        for a, b in ends:
            # Of the two forms of an interval's mass, the one of small tails.
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
    """Epsilon of a posterior sample, in both directions, at delta = 2 Phi(-tail).

    u^2/(2 (1 + mu)) + u t + mu t^2/2 - log(1 + mu)/2: the largest privacy loss over
    |Z| <= t. From the larger set the loss is log(1 + mu)/2 + u^2/(2 (1 + mu)^2)
    + u |Z|/(1 + mu)^(3/2) - mu Z^2/(2 (1 + mu)) at most, which is smaller for t^2 >= 2.
    Increasing in the shift, and in the leverage while u^2/mu = precision r^2 is fixed,
    hence valid for upper bounds of the leverage and of the residual.

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
      tail, leverage: as there.
    """
    t, mu = _array("tail", tail, LEAST_TAIL), _array("leverage", leverage)
    room = _array("epsilon", epsilon) - 0.5 * mu * t**2 + 0.5 * np.log1p(mu)
    room = np.maximum(room, 0.0)
    # Root of u^2/(2 (1 + mu)) + t u = room, without cancellation.
    return (2.0 * room / (t + np.sqrt(t**2 + 2.0 * room / (1.0 + mu))))[()]


def leverage_bound(regularisation: npt.ArrayLike, eigenvalue: npt.ArrayLike) -> np.ndarray:
    """Largest leverage of any record that a data set may gain or lose.

    1/(lambda + max(e - 1, 0)), where e bounds the least eigenvalue of X'X from below:
    without one of its records the data set keeps eigenvalues >= e - 1.

    Args:
      regularisation: lambda > 0.
      eigenvalue: e >= 0.
    """
    lam, e = (_positive("regularisation", regularisation), _array("eigenvalue", eigenvalue))
    return (1.0 / (lam + np.maximum(e - 1.0, 0.0)))[()]


def posterior_precision(
    epsilon: npt.ArrayLike, tail: npt.ArrayLike, leverage: npt.ArrayLike, residual: npt.ArrayLike
) -> np.ndarray:
    """Largest precision of a sample that is (epsilon, 2 Phi(-tail))-DP on one data set.

    Against all neighbours and in both directions: the data-dependent privacy of Redberg,
    Zhu & Wang (2023), with their proposal (lambda, gamma). The residual on the set
    itself is at most 1 + |theta|; on a set without the record it is 1 + mu times that.

    Args:
      epsilon: > 0.
      tail: >= sqrt(2).
      leverage: > 0, leverage_bound of the data set.
      residual: > 0, at least 1 + |theta| of the data set.

    Returns:
      gamma >= 0; 0 where no precision is private enough.
    """
    mu, size = _positive("leverage", leverage), _positive("residual", residual)
    u = np.asarray(posterior_shift(epsilon, tail, mu))
    return ((u / ((1.0 + mu) * size)) ** 2 / mu)[()]


# --- The solution ---------------------------------------------------------------------


def ridge_norm_bound(regularisation: npt.ArrayLike, records: npt.ArrayLike) -> np.ndarray:
    """Bound on |theta|: min(sqrt(n)/(2 sqrt(lambda)), n/lambda) for n records.

    The singular values s of X give factors s/(s^2 + lambda) <= 1/(2 sqrt(lambda)), and
    |y| <= sqrt(n); or |X'y| <= n and H >= lambda.
    """
    lam, n = _positive("regularisation", regularisation), _positive("records", records)
    return np.minimum(0.5 * np.sqrt(n / lam), n / lam)[()]


def ridge_sensitivity(regularisation: npt.ArrayLike, records: npt.ArrayLike) -> np.ndarray:
    """Sensitivity of theta to one record, on sets of at most n records.

    |H^-1 x| |r|/(1 + mu) <= sqrt(mu/lambda)/(1 + mu) (1 + R), with R = ridge_norm_bound
    and mu <= 1/lambda: (1 + R)/(1 + lambda) for lambda >= 1, (1 + R)/(2 sqrt(lambda))
    below.
    """
    lam = _positive("regularisation", regularisation)
    gain = np.where(lam >= 1.0, 1.0 / (1.0 + lam), 0.5 / np.sqrt(lam))
    return (gain * (1.0 + ridge_norm_bound(lam, records)))[()]


def log_norm_sensitivity(leverage: npt.ArrayLike) -> np.ndarray:
    """Sensitivity of log(1 + |theta|) to one record: log(1 + leverage_bound).

    |H^-1 x| <= nu on the smaller set, and a move by H^-1 x times a residual that is at
    most 1 + |theta| on either set.
    """
    return np.log1p(_array("leverage", leverage))[()]


@validated
def tail_of(delta: TailDelta) -> float:
    """The point that a standard normal exceeds in size with probability delta, at least sqrt(2)."""
    return max(-float(special.ndtri(0.5 * delta)), LEAST_TAIL)
