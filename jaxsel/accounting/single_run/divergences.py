"""Exact privacy divergences between two laws on finitely many outcomes.

All functions take the two laws as float64 probability vectors over the same outcomes,
in any order. Work is done with the privacy loss log(p/q), so that very unlikely
outcomes and very large epsilons neither overflow nor cancel.
"""

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.parameters import DeltaFromZero
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.signature import validated


def _checked(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    first = check_probability_vector("p", p)
    second = check_probability_vector("q", q)
    if first.shape != second.shape:
        raise InputError(
            f"p has {first.size} outcomes and q has {second.size}; "
            "both laws must list the same outcomes"
        )
    return first, second


def _loss(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """log(p/q) with +inf where only p > 0 and -inf where p = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, np.log(p) - np.log(q), -np.inf)


def privacy_loss(p: npt.ArrayLike, q: npt.ArrayLike) -> np.ndarray:
    """The privacy loss log(p/q) of each outcome.

    Returns:
      Float[np.ndarray, "outcomes"]: +inf where only p is positive, -inf where p is
      zero.

    Raises:
      InputError: if p or q is not a probability vector or their lengths differ.
    """
    return _loss(*_checked(p, q))


def hockey_stick(p: npt.ArrayLike, q: npt.ArrayLike, epsilon: npt.ArrayLike) -> np.ndarray:
    """The delta at epsilon in one direction: the sum of max(p - exp(epsilon) q, 0).

    Probabilities that underflow to 0 count as impossible outcomes; use
    ``profile_delta_of_logs`` for these.

    Args:
      p, q: the two laws.
      epsilon: any real numbers, any shape.

    Returns:
      Float[np.ndarray, "*epsilon"], in [0, 1].

    Raises:
      InputError: if p or q is not a probability vector or their lengths differ.
    """
    first, second = _checked(p, q)
    loss = _loss(first, second)
    epsilon = np.asarray(epsilon, dtype=np.float64)
    excess = np.minimum(0.0, epsilon[..., None] - loss)
    return np.sum(-first * np.expm1(excess), axis=-1)[()]


def profile_delta(p: npt.ArrayLike, q: npt.ArrayLike, epsilon: npt.ArrayLike) -> np.ndarray:
    """The smallest delta at epsilon that covers both directions.

    Arguments and result as of ``hockey_stick``.
    """
    return np.maximum(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))[()]


def profile_delta_of_logs(log_p: npt.ArrayLike, log_q: npt.ArrayLike, epsilon: float) -> float:
    """``profile_delta`` of laws whose probabilities may be below the smallest float.

    Args:
      log_p, log_q: Float["outcomes"], logarithms of the two laws; -inf for none.
      epsilon: any real number.

    Raises:
      InputError: if a law does not sum to 1 or their lengths differ.
    """
    first, second = (np.asarray(log, dtype=np.float64) for log in (log_p, log_q))
    _checked(np.exp(first), np.exp(second))
    found = 0.0
    for p, q in ((first, second), (second, first)):
        given = p > -np.inf
        excess = np.minimum(0.0, epsilon + q[given] - p[given])
        found = max(found, float(np.sum(-np.exp(p[given]) * np.expm1(excess))))
    return found


def exact_epsilon(p: npt.ArrayLike, q: npt.ArrayLike) -> float:
    """Smallest epsilon of pure differential privacy between the two laws.

    Returns:
      max |log(p/q)| over the outcomes that either law can produce; inf if only one can.
    """
    first, second = _checked(p, q)
    seen = (first > 0) | (second > 0)
    return float(np.max(np.abs(_loss(first[seen], second[seen]))))


def _one_sided_epsilon(p: np.ndarray, q: np.ndarray, delta: float) -> float:
    order = np.argsort(-_loss(p, q), kind="stable")
    mass, other = np.cumsum(p[order]), np.cumsum(q[order])
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = np.log(np.maximum(mass - delta, 0.0)) - np.log(other)
    return float(np.max(np.where(mass > delta, levels, -np.inf)))


@validated
def epsilon_at_delta(p: npt.ArrayLike, q: npt.ArrayLike, delta: DeltaFromZero) -> float:
    """Smallest epsilon >= 0 such that the two laws are (epsilon, delta)-close.

    Exact: the best event for a given delta collects the outcomes of largest privacy
    loss, so the answer is the largest log((P(S) - delta)/Q(S)) over those prefixes S.

    Args:
      p, q: the two laws.
      delta: 0 gives ``exact_epsilon``.

    Returns:
      The epsilon that covers both directions; inf if there is none.

    Raises:
      InputError: if p or q is not a probability vector or their lengths differ.
    """
    first, second = _checked(p, q)
    return max(
        0.0, _one_sided_epsilon(first, second, delta), _one_sided_epsilon(second, first, delta)
    )


def renyi_divergence(p: npt.ArrayLike, q: npt.ArrayLike, order: npt.ArrayLike) -> np.ndarray:
    """The Renyi divergence of p from q at any orders, in nats.

    Args:
      p, q: the two laws.
      order: numbers in (0, inf], any shape; 1 is the Kullback-Leibler divergence and
        inf the max-divergence.

    Returns:
      Float[np.ndarray, "*order"], >= 0; at orders from 1 on, inf if p charges an
      outcome that q cannot give.

    Raises:
      InputError: for a bad law or an order <= 0.
    """
    first, second = _checked(p, q)
    order = np.asarray(order, dtype=np.float64)
    if not np.all(order > 0.0):
        raise InputError(f"order is {order}; it must lie in (0, inf]")
    kept = first > 0
    weight = first[kept]
    loss = _loss(weight, second[kept])
    largest = np.max(loss)
    excess = np.where(np.isinf(order), 0.0, order - 1.0)[..., None]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # expm1 keeps small divergences and orders near 1; the other form large ones.
        exponent = excess * loss
        small = np.log1p(np.sum(weight * np.expm1(exponent), axis=-1))
        top = np.max(exponent, axis=-1)
        shifted = np.exp(exponent - top[..., None])
        large = top + np.log(np.sum(weight * shifted, axis=-1))
        moment = np.where(np.abs(large) < 0.5, small, large)
        value = moment / excess[..., 0]
    value = np.where(order == 1.0, np.sum(weight * loss), value)
    value = np.where(np.isinf(order), largest, value)
    if np.isinf(largest):
        value = np.where((order >= 1.0) | np.all(np.isinf(loss)), np.inf, value)
    return np.maximum(value, 0.0)[()]
