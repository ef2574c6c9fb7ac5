"""Privacy curves in closed form: Gaussian, Laplace and randomised response pairs.

Each pair is one base mechanism of sensitivity 1 at its worst neighbours. Three curves
describe a pair: its Renyi divergence at an order, its profile delta(epsilon), and its
trade-off T(x) = sup{Q'(S) : Q(S) <= x}. Orders may be any in (0, inf]. All three pairs
are symmetric, so one direction is both.
"""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.single_run.parameters import AnyNoise, Delta
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.language.signature import validated


def _orders(order: npt.ArrayLike) -> np.ndarray:
    order = np.asarray(order, dtype=np.float64)
    if not np.all(order > 0.0):
        raise InputError(f"order is {order}; it must lie in (0, inf]")
    return order


def _masses(x: npt.ArrayLike) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    if not np.all((x >= 0.0) & (x <= 1.0)):
        raise InputError("x must lie in [0, 1]; it is the probability of an event")
    return x


# --- Gaussian -------------------------------------------------------------------------


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


def _erfcx_slope(x: np.ndarray) -> np.ndarray:
    """-erfcx'(x) for x >= 0; by its asymptotic series for large x, where its two terms cancel."""
    u = 1.0 / np.maximum(x, 50.0) ** 2
    far = u * (1.0 + u * (-1.5 + u * (3.75 + u * (-13.125 + u * 59.0625))))
    near = 2.0 - 2.0 * math.sqrt(math.pi) * x * special.erfcx(x)
    return np.where(x > 50.0, far, near) / math.sqrt(math.pi)


def _erfcx_fall(start: np.ndarray, width: np.ndarray) -> np.ndarray:
    """erfcx(start) - erfcx(start + width), as an integral of -erfcx' where the terms cancel."""
    fall = np.asarray(special.erfcx(start) - special.erfcx(start + width))
    thin = np.broadcast_to(width < 0.01, fall.shape)
    if np.any(thin):  # the integral costs several times as much
        start, width = (np.broadcast_to(part, fall.shape)[thin] for part in (start, width))
        x = start[..., None] + width[..., None] * (1.0 + _NODES) / 2.0
        fall[thin] = 0.5 * width * np.sum(_WEIGHTS * _erfcx_slope(x), axis=-1)
    return fall


def gaussian_log_delta(epsilon: npt.ArrayLike, noise_multiplier: npt.ArrayLike) -> np.ndarray:
    """Logarithm of the delta of Gaussian noise at epsilon (Balle & Wang 2018, Theorem 5).

    Args:
      epsilon: any real numbers.
      noise_multiplier: s > 0, standard deviation over sensitivity; broadcasts.

    Returns:
      log(Phi(1/(2s) - epsilon s) - e^epsilon Phi(-1/(2s) - epsilon s)), exact far in
      the tail, where delta itself underflows.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    scale = np.asarray(noise_multiplier, dtype=np.float64)
    if not np.all(scale > 0):
        raise InputError(f"noise_multiplier is {scale}; it must be > 0")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = epsilon * scale - 0.5 / scale
        far = epsilon * scale + 0.5 / scale
        ahead = near > 0
        if np.all(ahead):
            return _log_tail(near, scale)[()]
        if not np.any(ahead):
            return _log_body(epsilon, near, far)[()]
        epsilon, scale = (np.broadcast_to(part, near.shape) for part in (epsilon, scale))
        found, behind = np.empty(near.shape), ~ahead
        found[ahead] = _log_tail(near[ahead], scale[ahead])
        found[behind] = _log_body(epsilon[behind], near[behind], far[behind])
        return found


def _log_tail(near: np.ndarray, scale: np.ndarray) -> np.ndarray:
    # exp(epsilon) times the density at `far` is the density at `near`, so that the difference of
    # tails is that density times a difference of Mills ratios.
    mills = _erfcx_fall(near / math.sqrt(2), 1.0 / (scale * math.sqrt(2)))
    return -0.5 * near**2 - math.log(2.0) + np.log(mills)


def _log_body(epsilon: np.ndarray, near: np.ndarray, far: np.ndarray) -> np.ndarray:
    first = special.log_ndtr(-near)
    second = epsilon + special.log_ndtr(-far)
    return first + np.log(-np.expm1(second - first))


def gaussian_delta(epsilon: npt.ArrayLike, noise_multiplier: npt.ArrayLike) -> np.ndarray:
    """The delta of Gaussian noise at epsilon; see ``gaussian_log_delta``."""
    return np.exp(gaussian_log_delta(epsilon, noise_multiplier))[()]


@validated
def gaussian_epsilon(delta: Delta, noise_multiplier: AnyNoise) -> float:
    """Smallest epsilon >= 0 at which Gaussian noise has the given delta."""
    from scipy import optimize  # imported where it is needed: it takes long, and few need it

    scale = noise_multiplier
    if delta >= gaussian_total_variation(scale):
        return 0.0

    def excess(epsilon: float) -> float:
        return float(gaussian_log_delta(epsilon, scale)) - math.log(delta)

    high = 1.0
    while excess(high) > 0:
        high *= 2.0
    root = optimize.root_scalar(
        excess, bracket=(0.0, high), method="brentq", xtol=1e-300, rtol=1e-15
    )
    return float(root.root)


@validated
def gaussian_noise_multiplier(
    # Beyond, profiles of tiny or huge noise lose their digits.
    epsilon: Annotated[float, number("of the mechanism", at_least=1e-9, at_most=1e9)],
    delta: Annotated[float, number("of the mechanism", at_least=1e-100, below=1.0)],
) -> float:
    """The least noise multiplier of an (epsilon, delta)-DP Gaussian mechanism.

    Balle & Wang (2018), to a relative 1e-12, rounded up so that the guarantee holds.
    """
    from scipy import optimize

    def excess(log_scale: float) -> float:
        found = float(gaussian_log_delta(epsilon, math.exp(log_scale)))
        return max(found, -1e4) - math.log(delta)

    # Upper end: delta is at most the total variation, which is below 1/(2 s). Lower end: at
    # 1/(2 s^2) = epsilon + 10 sqrt(epsilon) + 10 the mean loss is above epsilon.
    high = -math.log(delta)
    low = -0.5 * math.log(2.0 * (epsilon + 10.0 * math.sqrt(epsilon) + 10.0))
    while excess(low) <= 0.0:
        low -= 1.0
    root = float(optimize.brentq(excess, low, high, xtol=1e-13))  # type: ignore
    return math.exp(root + 1e-12)


@validated
def gaussian_total_variation(noise_multiplier: AnyNoise) -> float:
    """Total variation distance of the Gaussian pair, its delta at epsilon = 0."""
    return float(special.erf(0.5 / noise_multiplier / math.sqrt(2)))


def gaussian_renyi(order: npt.ArrayLike, noise_multiplier: float) -> np.ndarray:
    """Renyi divergence order / (2 s^2) of the Gaussian pair (inf at order inf)."""
    orders, scale = _orders(order), float(noise_multiplier)
    with np.errstate(over="ignore"):  # inf where no float is as large
        if 1e-150 < scale < 1e150:
            return (orders / (2.0 * scale**2))[()]
        return (orders / 2.0 / scale / scale)[()]  # the square is no float


def gaussian_tradeoff(x: npt.ArrayLike, noise_multiplier: float) -> np.ndarray:
    """Largest probability on one side of an event of probability x on the other."""
    shifted = special.ndtri(_masses(x)) + 1.0 / noise_multiplier
    return special.ndtr(shifted)[()]


# --- Laplace --------------------------------------------------------------------------


def _second(x: npt.ArrayLike) -> np.ndarray:
    """e^x - 1 - x, with its full relative accuracy also near 0."""
    x = np.asarray(x, dtype=np.float64)
    near = np.zeros_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(9, 2, -1):
            near = x / k * (1.0 + near)
        return np.where(np.abs(x) < 0.01, x * x / 2.0 * (1.0 + near), np.expm1(x) - x)


def laplace_renyi(order: npt.ArrayLike, noise_scale: float) -> np.ndarray:
    """Renyi divergence of Laplace noise of scale b from its shift by 1 (Mironov 2017, Prop. 6)."""
    order = _orders(order)
    loss = 1.0 / float(noise_scale)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # exprel(x) = expm1(x)/x has no pole at order 1/2
        shrink = special.exprel(-(2.0 * order - 1.0) * loss)
        moment = np.log1p(-(order - 1.0) * loss * shrink)
        value = loss + moment / (order - 1.0)
        # Of the moment's two terms the first orders cancel, which leaves nothing of small losses.
        above, below = order * _second((order - 1.0) * loss), (order - 1.0) * _second(-order * loss)
        small = np.log1p((above + below) / (2.0 * order - 1.0)) / (order - 1.0)
    # The moment itself has a pole at order 1/2, beside which nothing is gained.
    value = np.where((abs(2.0 * order - 1.0) > 0.1) & (order * loss < 0.01), small, value)
    value = np.where(order == 1.0, _second(-loss), value)
    return np.where(np.isinf(order), loss, value)[()]


def laplace_delta(epsilon: npt.ArrayLike, noise_scale: float) -> np.ndarray:
    """The delta of Laplace noise of scale b at any real epsilon."""
    epsilon = np.asarray(epsilon, dtype=np.float64)
    loss = 1.0 / float(noise_scale)
    inside = -np.expm1(np.minimum(0.0, (epsilon - loss) / 2.0))
    return np.where(epsilon < -loss, -np.expm1(np.minimum(epsilon, 0.0)), inside)[()]


def laplace_tradeoff(x: npt.ArrayLike, noise_scale: float) -> np.ndarray:
    """The trade-off of Laplace noise of scale b: see ``gaussian_tradeoff``."""
    x = _masses(x)
    ratio = math.exp(-1.0 / float(noise_scale))
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = 1.0 - ratio / (4.0 * x)
        value = np.where(x < ratio / 2.0, x / ratio, middle)
    value = np.where(x == 0.0, 0.0, value)  # the ratio may underflow
    return np.where(x > 0.5, 1.0 - ratio * (1.0 - x), value)[()]


# --- Randomised response --------------------------------------------------------------


def randomised_response_renyi(order: npt.ArrayLike, epsilon: float) -> np.ndarray:
    """Renyi divergence of binary randomised response.

    With a the order, exp((a - 1) D) = cosh((a - 1/2) epsilon) / cosh(epsilon / 2), and
    the difference of the two hyperbolic cosines is a product: nothing cancels.
    """
    order = _orders(order)
    excess = np.where(np.isinf(order), 0.0, order - 1.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        product = 2.0 * np.sinh((excess + 1.0) * epsilon / 2.0)
        product = product * np.sinh(excess * epsilon / 2.0) / math.cosh(min(epsilon, 700.0) / 2.0)
        small = np.log1p(product)
        large = (
            excess * epsilon
            + np.log1p(np.exp(-(2.0 * excess + 1.0) * epsilon))
            - math.log1p(math.exp(-epsilon))
        )
        value = np.where((excess + 1.0) * epsilon < 40.0, small, large) / excess
    value = np.where(excess == 0.0, epsilon * math.tanh(epsilon / 2.0), value)
    return np.where(np.isinf(order), epsilon, value)[()]


def randomised_response_delta(level: npt.ArrayLike, epsilon: float) -> np.ndarray:
    """The delta of binary randomised response, which is epsilon-DP, at any real level."""
    return approximate_profile(level, epsilon, 0.0)


def randomised_response_tradeoff(x: npt.ArrayLike, epsilon: float) -> np.ndarray:
    """The trade-off min(e^epsilon x, 1 - e^-epsilon (1 - x)) of randomised response."""
    return approximate_tradeoff(x, epsilon, 0.0)


def approximate_profile(level: npt.ArrayLike, epsilon: float, delta: float) -> np.ndarray:
    """The delta at any real level of the worst pair that is (epsilon, delta)-close both ways.

    Args:
      level: the epsilon at which delta is asked for; any shape, which the result has.
      epsilon, delta: of the pair.

    The four-outcome pair of Kairouz, Oh & Viswanath (2015): with probability delta it
    tells the two sides apart, else it is randomised response.
    """
    level = np.asarray(level, dtype=np.float64)
    # (e^epsilon - e^level) / (1 + e^epsilon), and 1 - e^level below -epsilon
    inside = special.expit(epsilon) * -np.expm1(np.minimum(level - epsilon, 0.0))
    below = -np.expm1(np.minimum(level, 0.0))
    value = np.where(level < -epsilon, below, inside)
    return (delta + (1.0 - delta) * value)[()]


def approximate_tradeoff(x: npt.ArrayLike, epsilon: float, delta: float) -> np.ndarray:
    """The worst trade-off of pairs that are (epsilon, delta)-close.

    Args:
      x: probability of an event on one side; any shape.
      epsilon, delta: of the pair.

    Returns:
      Its largest probability on the other side, in the shape of x.
    """
    x = _masses(x)
    with np.errstate(divide="ignore"):
        rising = np.exp(np.minimum(epsilon + np.log(x), 1.0)) + delta
    falling = 1.0 - math.exp(-epsilon) * (1.0 - x - delta)
    return np.minimum(1.0, np.minimum(rising, falling))[()]
