"""Conversions between Renyi, approximate and concentrated differential privacy.

A Renyi curve is a function from orders in [1, inf] to epsilons, element by element on
arrays; it is an upper bound, so any of its orders may be used and the best one is found
by continuous optimisation over all of them and over order inf.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.numerics.optimise import LOG_ORDER_RANGE, minimise, minimise_over_orders
from jaxsel.accounting.single_run import parameters
from jaxsel.accounting.single_run.parameters import LEAST_DELTA
from jaxsel.host import floats
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.language.signature import validated

RenyiCurve = Callable[[np.ndarray], np.ndarray]
Profile = Callable[[np.ndarray], np.ndarray]

_PARTS = 32  # of the bracket, in each round of the search


class ApproximateGuarantee(NamedTuple):
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float


class Conversion(NamedTuple):
    """An (epsilon, delta) guarantee and the Renyi order that it comes from."""

    epsilon: float
    delta: float
    order: float


def log_delta_at_order(
    order: npt.ArrayLike, renyi_epsilon: npt.ArrayLike, epsilon: npt.ArrayLike
) -> np.ndarray:
    """Logarithm of the delta that one Renyi bound gives at epsilon.

    With a the order and r the Renyi bound (Canonne, Kamath & Steinke 2020, Prop. 12;
    Papernot & Steinke 2022, Lemma 14):
    delta = exp((a - 1)(r - epsilon)) / a * (1 - 1/a)^(a - 1).

    Args:
      order: > 1, inf allowed.
      renyi_epsilon: bound on the Renyi divergence at that order.
      epsilon: target, broadcast against the others.
    """
    order = np.asarray(order, dtype=np.float64)
    gap = np.asarray(renyi_epsilon, dtype=np.float64) - np.asarray(epsilon)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        value = (order - 1.0) * (gap + np.log1p(-1.0 / order)) - np.log(order)
    at_infinity = np.where(gap <= 0.0, -np.inf, np.inf)
    return np.where(np.isinf(order), at_infinity, value)[()]


def optimal_epsilon_at_order(
    order: npt.ArrayLike, renyi_epsilon: npt.ArrayLike, delta: float
) -> np.ndarray:
    """The epsilon that one Renyi bound gives at delta: ``log_delta_at_order`` solved for it.

    Args:
      order, renyi_epsilon: as of ``log_delta_at_order``.
      delta: at which epsilon is asked for.
    """
    order = np.asarray(order, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = renyi_epsilon + np.log1p(-1.0 / order)
        value = value - (np.log(delta) + np.log(order)) / (order - 1.0)
    return np.where(np.isinf(order), renyi_epsilon, value)[()]


def mironov_epsilon_at_order(
    order: npt.ArrayLike, renyi_epsilon: npt.ArrayLike, delta: float
) -> np.ndarray:
    """The weaker r + log(1/delta) / (order - 1) of Mironov 2017, Prop. 3.

    Arguments and result as of ``optimal_epsilon_at_order``.
    """
    order = np.asarray(order, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return (renyi_epsilon - np.log(delta) / (order - 1.0))[()]


def _least_bound(renyi: RenyiCurve) -> float:
    """Least value of the curve on a grid: bounds the Kullback-Leibler divergence."""
    return float(np.min(renyi(1.0 + np.exp(np.linspace(*LOG_ORDER_RANGE, 65)))))


@validated
def renyi_to_epsilon(
    renyi: RenyiCurve,
    delta: parameters.DeltaFromZero,
    *,
    rule: Callable[..., np.ndarray] = optimal_epsilon_at_order,
) -> Conversion:
    """Best epsilon at delta that a Renyi curve gives, over all orders.

    Args:
      renyi: the Renyi curve.
      delta: 0 uses the order inf alone.
      rule: the conversion at one order: optimal_epsilon_at_order or
        mironov_epsilon_at_order.

    Returns:
      The conversion, epsilon >= 0. Where the Bretagnolle-Huber inequality
      delta <= sqrt(1 - exp(-KL)) already gives epsilon = 0, that is used.
    """
    at_infinity = float(renyi(np.asarray(np.inf)))
    best = Conversion(at_infinity, delta, math.inf)
    if delta > 0.0:
        order, epsilon = minimise_over_orders(lambda a: rule(a, renyi(a), delta))
        if epsilon < best.epsilon:
            best = Conversion(float(epsilon), delta, float(order))
        if rule is optimal_epsilon_at_order:
            least = _least_bound(renyi)
            if delta**2 >= -math.expm1(-max(least, 0.0)):
                best = best._replace(epsilon=0.0)
    return best._replace(epsilon=max(best.epsilon, 0.0))


def renyi_to_delta(renyi: RenyiCurve, epsilon: npt.ArrayLike) -> np.ndarray:
    """Best delta at each epsilon that a Renyi curve gives, over all orders.

    Args:
      renyi: the Renyi curve.
      epsilon: >= 0, any shape.

    Returns:
      Float[np.ndarray, "*epsilon"], in [0, 1].

    Raises:
      InputError: if an epsilon is negative.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    if not np.all(epsilon >= 0.0):
        raise InputError(f"epsilon is {epsilon}; it must be >= 0")
    # Above the largest loss delta is 0, which finite orders only approach.
    none = epsilon >= renyi(np.asarray(np.inf))
    within = np.where(none, 0.0, epsilon)
    if np.all(none):
        return np.zeros(epsilon.shape)[()]
    _, log_delta = minimise_over_orders(
        lambda order: log_delta_at_order(order, renyi(order), within)
    )
    log_delta = np.where(none, -np.inf, log_delta)
    least = max(_least_bound(renyi), 0.0)
    log_delta = np.minimum(log_delta, 0.0)
    return np.minimum(np.exp(log_delta), math.sqrt(-math.expm1(-least)))[()]


@validated
def epsilon_at(
    profile: Profile, delta: Annotated[float, number("of it", at_least=LEAST_DELTA, below=1.0)]
) -> float:
    """Smallest epsilon >= 0 at which a decreasing profile is at most delta.

    Args:
      profile: epsilon -> delta, element by element; it may have steps and kinks.
      delta: at which epsilon is asked for.

    Returns:
      An epsilon at which the profile is at most delta, within a relative 1e-15 of the
      smallest; inf if the profile exceeds delta at 2^30.
    """

    def reached(epsilon: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(profile(epsilon), dtype=np.float64) <= delta

    # 0, then 2^-20 to 2^30: the first at which delta is reached.
    grid = np.concatenate([[0.0], np.exp2(np.arange(-20.0, 31.0))])
    while True:
        hits = np.flatnonzero(reached(grid))
        if hits.size == 0:
            return math.inf
        if hits[0] == 0:
            return float(grid[0])
        low, high = float(grid[hits[0] - 1]), float(grid[hits[0]])
        if high - low <= 1e-15 * high:
            return high
        inner = np.linspace(low, high, _PARTS + 1)
        inner[-1] = high
        grid = np.unique(inner)
        if grid.size <= 2:
            return high


def repeated(renyi: RenyiCurve, times: float) -> RenyiCurve:
    """The Renyi curve of ``times`` releases: Renyi bounds add up (Mironov 2017, Prop. 1).

    Values too large for float64 become inf, which is a valid bound.
    """

    def curve(order: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return times * np.asarray(renyi(order), dtype=np.float64)[()]

    return curve


def monotone(renyi: RenyiCurve, *, count: int = 1281) -> RenyiCurve:
    """The least bound over all larger orders (Papernot & Steinke 2022, Remark 5).

    Renyi divergences do not decrease in the order, so a bound at a larger order holds
    at every smaller one.

    Args:
      renyi: any Renyi curve; it is evaluated once on a grid of orders, and its local minima
        are then refined.
      count: points of the grid.

    Returns:
      A Renyi curve that does not decrease, at most the given one.
    """
    points = np.linspace(*LOG_ORDER_RANGE, count)
    orders = 1.0 + np.exp(points)
    values = np.asarray(renyi(orders), dtype=np.float64)
    inner = np.arange(1, count - 1)
    valley = (values[inner] < values[inner - 1]) & (values[inner] <= values[inner + 1])
    for index in inner[valley]:
        low, high = float(points[index - 1]), float(points[index + 1])
        point, value = minimise(lambda t: renyi(1.0 + np.exp(t)), low, high, count=3)
        orders = np.append(orders, 1.0 + np.exp(point))
        values = np.append(values, value)
    orders = np.append(orders, np.inf)
    values = np.append(values, renyi(np.asarray(np.inf)))
    ranked = np.argsort(orders, kind="stable")
    orders = orders[ranked]
    # least[i]: the smallest value at orders[i] or above
    least = np.minimum.accumulate(values[ranked][::-1])[::-1]

    def curve(order: np.ndarray) -> np.ndarray:
        order = np.asarray(order, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.asarray(renyi(order), dtype=np.float64)
        own = np.where(np.isnan(own), np.inf, own)
        return np.minimum(own, least[np.searchsorted(orders, order)])[()]

    return curve


@validated
def zcdp_from_pure(epsilon: parameters.EpsilonFromZero) -> float:
    """The rho of zero-concentrated privacy that pure DP implies: epsilon^2 / 2.

    Bun & Steinke 2016, Prop. 3.3.
    """
    return floats.square(epsilon) / 2.0


@validated
def zcdp_to_epsilon(rho: parameters.Rho, delta: parameters.Delta) -> float:
    """The epsilon at delta that rho-zCDP implies: rho + 2 sqrt(rho log(1/delta)).

    Bun & Steinke 2016, Prop. 1.3; simple and weaker than renyi_to_epsilon on order * rho.
    """
    return rho + 2.0 * math.sqrt(rho * floats.log_inverse(delta))


@validated
def zcdp_rho(epsilon: parameters.EpsilonFromZero, delta: parameters.Delta) -> float:
    """The largest rho whose ``zcdp_to_epsilon`` at delta is at most epsilon."""
    log_inverse = floats.log_inverse(delta)
    # (sqrt(L + epsilon) - sqrt(L))^2 without the cancellation
    root = epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))
    return root**2
