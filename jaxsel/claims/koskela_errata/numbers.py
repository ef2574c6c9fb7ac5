"""Numbers behind the errata of Koskela, Redberg & Wang 2024 that claims share.

The Gaussian base is N(0, 1) on one side and N(shift, 1) on the other, shift being
1/noise_scale. Its outputs z are ranked by a block order: the block z > good first, then
the block z < bad (smallest first), then the rest; inside the first block and the rest,
large z first. The order is part of the base algorithm (any score may be tuned for), and
this one puts outcomes that the second side likes best before those that the first side
likes best, which is what a tuned algorithm is worst at.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from jaxsel.accounting import LawPair, gaussian_epsilon, gaussian_log_delta
from jaxsel.accounting.optimise import minimise
from jaxsel.errors import InputError
from jaxsel.repetitions import Repetitions

__all__ = [
    "NATURAL",
    "BlockOrder",
    "block_order_delta",
    "coin_laws",
    "describe_pair",
    "envelope_delta",
    "epsilon_of",
    "ratio_of_tradeoff",
    "run_counts",
    "stopping_ratio",
    "tuned_gaussian_epsilon",
    "worst_block_order",
]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_LEAST_TAIL = 1e-20  # of K, where sums over K end
_REACH = 15.0  # standard deviations beyond which no tail is counted: below 1e-50


def run_counts(law: Repetitions) -> np.ndarray:
    """All k >= 1 up to where P[K > k] is negligible."""
    last = 16
    while float(law.survival(last)) > _LEAST_TAIL:
        last *= 2
    return np.arange(1, last + 1)


def coin_laws(base_epsilon: float) -> np.ndarray:
    """The two laws of randomised response, a row each, best outcome first."""
    common = 1.0 / (1.0 + math.exp(-base_epsilon))
    return np.array([[1.0 - common, common], [common, 1.0 - common]])


def describe_pair(pair: LawPair) -> str:
    """The two laws, best outcome first, as text."""
    return f"{pair.first.tolist()} against {pair.second.tolist()}"


class BlockOrder(NamedTuple):
    """A ranking of the reals: z > good, then z < bad from below, then the rest.

    Attributes:
      good, bad: in standard deviations, bad <= good; infinities leave a block empty.
    """

    good: float
    bad: float


NATURAL = BlockOrder(math.inf, -math.inf)  # large z is better


def worst_block_order(mean: float, good: float, bad: float) -> BlockOrder:
    """The blocks whose masses on the first side are good/mean and bad/mean."""
    return BlockOrder(
        -float(special.ndtri(good / mean)), float(special.ndtri(bad / mean))
    )


def _log_better(z: np.ndarray, centre: float, order: BlockOrder) -> np.ndarray:
    """log of the N(centre, 1) mass of outcomes better than z."""
    first = float(special.ndtr(centre - order.good))
    second = float(special.ndtr(order.bad - centre))
    with np.errstate(divide="ignore"):
        above, below = special.log_ndtr(centre - z), special.log_ndtr(z - centre)
        in_bad = np.logaddexp(np.log(first), below)
        in_rest = np.logaddexp(np.log(second), above)
    return np.where(z > order.good, above, np.where(z < order.bad, in_bad, in_rest))


def _log_slopes(
    z: np.ndarray, shift: float, repetitions: Repetitions, order: BlockOrder
) -> tuple[np.ndarray, np.ndarray]:
    """log f'(1 - u) on both sides, u being the mass of better outcomes."""
    u = np.exp(_log_better(z, 0.0, order))
    v = np.exp(_log_better(z, shift, order))
    return repetitions.log_pgf_derivative_tail(u), repetitions.log_pgf_derivative_tail(
        v
    )


def _loss(
    z: np.ndarray, shift: float, repetitions: Repetitions, order: BlockOrder
) -> np.ndarray:
    """Privacy loss log(A/A') of the tuned algorithm at z (Theorem B.2)."""
    first, second = _log_slopes(z, shift, repetitions, order)
    return shift**2 / 2.0 - shift * z + first - second


def _pieces(order: BlockOrder, shift: float) -> list[tuple[float, float]]:
    """The blocks, cut off where neither side has mass worth counting."""
    low, high = -_REACH - abs(shift), _REACH + abs(shift)
    good, bad = min(max(order.good, low), high), max(min(order.bad, high), low)
    return [(a, b) for a, b in ((good, high), (low, bad), (bad, good)) if a < b]


def _root(
    curve: Callable[..., np.ndarray | float],
    low: float,
    high: float,
    tolerance: float = 2e-12,
) -> float:
    found = optimize.root_scalar(
        lambda z: float(curve(z)), bracket=(low, high), method="brentq", xtol=tolerance
    )
    return float(found.root)


def _extrema(curve: Callable[..., np.ndarray], knots: np.ndarray) -> list[float]:
    """Local maxima and minima of a curve, so that no pair of roots hides in a panel."""
    found = []
    heights = curve(knots)
    for sign in (1.0, -1.0):
        inner = sign * heights[1:-1]
        peak = (inner >= sign * heights[:-2]) & (inner > sign * heights[2:])
        for i in np.flatnonzero(peak) + 1:
            grid = knots[i - 1 : i + 2]
            for _ in range(6):
                grid = np.linspace(grid[0], grid[-1], 17)
                best = int(np.clip(np.argmax(sign * curve(grid)), 1, 15))
                grid = grid[best - 1 : best + 2]
            found.append(float(grid[1]))
    return found


def block_order_delta(
    epsilon: float,
    shift: float,
    repetitions: Repetitions,
    order: BlockOrder = NATURAL,
    *,
    panels: int = 200,
) -> float:
    """Exact delta(epsilon) between the tuned Gaussian laws (Theorem B.2).

    The integral of (A - e^epsilon A')_+ over the intervals on which the privacy loss
    exceeds epsilon, whose ends are found as roots; Gauss-Legendre inside.

    Args:
      epsilon: >= 0, so that the outcome "no run" adds nothing.
      shift: difference of the means in standard deviations; a negative one makes the
        first side the one that the order likes.
      repetitions: law of K.
      order: ranking of the outcomes.
      panels: a block; 8 nodes each.

    Returns:
      The hockey-stick divergence, accurate to about 1e-9 of itself.

    Raises:
      InputError: if the blocks overlap.
    """
    if order.bad > order.good:
        raise InputError(
            f"bad is {order.bad:g}, good is {order.good:g}; bad must not exceed good"
        )
    total = 0.0
    for left, right in _pieces(order, shift):
        inset = 1e-12 * (right - left)  # a block's end belongs to the next block
        knots = np.linspace(left + inset, right - inset, panels + 1)

        def excess(z):
            return _loss(z, shift, repetitions, order) - epsilon

        knots = np.sort(np.append(knots, _extrema(excess, knots)))
        heights = excess(knots)
        cuts = [
            _root(excess, float(knots[i]), float(knots[i + 1]))
            for i in np.flatnonzero(heights[1:] * heights[:-1] < 0)
        ]
        edges = np.sort(np.concatenate([knots, cuts]))
        half = np.diff(edges) / 2.0
        z = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
        first, second = _log_slopes(z, shift, repetitions, order)
        density = -(z**2) / 2.0 - 0.5 * math.log(2.0 * math.pi) + first
        loss = shift**2 / 2.0 - shift * z + first - second
        part = np.exp(density) * -np.expm1(np.minimum(epsilon - loss, 0.0))
        total += float(np.sum(part * _WEIGHTS * half[:, None]))
    return total


def epsilon_of(delta_at: Callable[[float], float], delta: float, high: float) -> float:
    """Smallest epsilon >= 0 at which a decreasing delta_at is at most delta.

    Returns:
      That epsilon, or inf if it is above ``high``.
    """

    def excess(epsilon: float) -> float:
        return math.log(max(delta_at(epsilon), 1e-300)) - math.log(delta)

    if excess(0.0) <= 0.0:
        return 0.0
    if excess(high) > 0.0:
        return math.inf
    return _root(excess, 0.0, high, tolerance=1e-9)


def stopping_ratio(noise_scale: float, eta: float, gamma: float) -> float:
    """Least bound on log f'(q)/f'(q') of Theorem 5.2, over epsilon_1.

    (eta + 1) min log(e^epsilon_1 + ((1 - gamma)/gamma) delta(epsilon_1)).
    """
    odds = (1.0 - gamma) / gamma

    def objective(level: np.ndarray) -> np.ndarray:
        extra = math.log(odds) + gaussian_log_delta(level, noise_scale)
        return np.logaddexp(level, extra)

    # At high - 2 the sum is at most e^(high - 2) + 1/2: less than e^level beyond high.
    high = gaussian_epsilon(0.5 / max(odds, 1.0), noise_scale) + 2.0
    return (eta + 1.0) * float(minimise(objective, 0.0, high)[1])


def ratio_of_tradeoff(
    noise_scale: float, repetitions: Repetitions
) -> tuple[float, float]:
    """Least uniform bound on log f'(q)/f'(q') for a Gaussian base, and where it is met.

    f' increases, and an event of mass x = 1 - q on one side has at most T(x) on the
    other: sup over x of log f'(1 - x) - log f'(1 - T(x)).

    Returns:
      The supremum and the standard score at which the event z > score meets it.
    """

    def objective(score: np.ndarray) -> np.ndarray:
        x, other = special.ndtr(-score), special.ndtr(1.0 / noise_scale - score)
        return repetitions.log_pgf_derivative_tail(
            other
        ) - repetitions.log_pgf_derivative_tail(x)

    score, least = minimise(objective, -10.0, 12.0)
    return -float(least), float(score)


def tuned_gaussian_epsilon(
    delta: float, noise_scale: float, repetitions: Repetitions, ratio: float
) -> float:
    """epsilon with E[K] delta_base(epsilon - ratio) = delta, for a uniform ratio."""
    return ratio + gaussian_epsilon(delta / repetitions.mean, noise_scale)


def envelope_delta(
    epsilon: float, noise_scale: float, repetitions: Repetitions, *, count: int = 1000
) -> float:
    """Envelope bound on delta(epsilon) of the tuned Gaussian, for every order and K.

    Theorem B.2's integrand is at most sup_x (Q f'(1 - x) - e^epsilon Q' f'(1 - T(x)))_+
    at each output, since f' increases and u' <= T(u); the supremum is convex and
    homogeneous in (Q, Q'), so that the Gaussian pair, which dominates, is the worst.

    Args:
      epsilon: >= 0.
      noise_scale: standard deviation over sensitivity.
      repetitions: law of K.
      count: grid points for x (standard scores from -8 to 10) and midpoints for the
        base's output.

    Returns:
      The bound, to about 1e-3 of itself; 3 times as many points change epsilon by less
      than 2e-4.
    """
    shift = 1.0 / noise_scale
    scores = np.linspace(-8.0, 10.0, count)
    first = np.exp(repetitions.log_pgf_derivative_tail(special.ndtr(-scores)))
    second = np.exp(repetitions.log_pgf_derivative_tail(special.ndtr(shift - scores)))
    edges = np.linspace(-_REACH, _REACH - 6.0, count + 1)
    mass = np.diff(special.ndtr(edges))
    loss = shift**2 / 2.0 - shift * (edges[1:] + edges[:-1]) / 2.0
    weight = np.exp(np.minimum(epsilon - loss, 700.0))
    worst = np.max(first - weight[:, None] * second, axis=1)
    return float(np.sum(mass * np.maximum(worst, 0.0)))
