"""Trade-off curve T(x) = sup{Q'(S) : Q(S) <= x} implied by a Renyi curve."""

from collections.abc import Callable

import numpy as np

from jaxsel.accounting.single_run.conversions import RenyiCurve


def _fits(x: np.ndarray, y: np.ndarray, excesses: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Whether Bernoulli laws of log-odds x and y satisfy every Renyi bound in both directions."""
    log_x, log_not_x = -np.logaddexp(0.0, -x), -np.logaddexp(0.0, x)
    log_y, log_not_y = -np.logaddexp(0.0, -y), -np.logaddexp(0.0, y)
    heads, tails = log_y - log_x, log_not_y - log_not_x
    fits = np.ones(x.shape, dtype=bool)
    for excess, bound in zip(excesses, bounds, strict=True):
        limit = excess * bound + 1e-15  # room for rounding: only enlarges T
        forward = np.logaddexp(log_y + excess * heads, log_not_y + excess * tails)
        backward = np.logaddexp(log_x - excess * heads, log_not_x - excess * tails)
        fits &= (forward <= limit) & (backward <= limit)
    return fits


def renyi_tradeoff(
    renyi: RenyiCurve, *, orders: int = 41, count: int = 2401
) -> Callable[[np.ndarray], np.ndarray]:
    """Largest Q'(S) with Q(S) <= x that a two-sided Renyi curve allows.

    The event S reduces both laws to Bernoulli laws, whose Renyi divergences in both
    directions the curve bounds; the largest parameter of the second one is found by
    bisection over its log-odds, at ``count`` values of x. The pairs allowed form a convex
    set, so T is
    concave and lies below the extensions of its neighbouring chords: between the values
    the answer is an upper bound, too large by a relative 1e-4 or so. Using finitely many
    orders can also only enlarge the answer.

    Args:
      renyi: the Renyi curve.
      orders: how many orders 1 + exp(t) are used, t from -4 to 8.
      count: values of x, evenly spaced in log-odds from -60 to 25.

    Returns:
      A function of x in [0, 1], element by element.
    """
    excesses = np.exp(np.linspace(-4.0, 8.0, orders))
    bounds = np.asarray(renyi(1.0 + excesses), dtype=np.float64)
    logits = np.linspace(-60.0, 25.0, count)
    low, high = logits, np.full(count, 40.0)
    for _ in range(50):
        middle = (low + high) / 2.0
        fits = _fits(logits, middle, excesses, bounds)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    knots = 1.0 / (1.0 + np.exp(-logits))
    values = 1.0 / (1.0 + np.exp(-high))
    slopes = np.diff(values) / np.diff(knots)

    def tradeoff(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        cell = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, count - 2)
        left = values[cell] + slopes[np.maximum(cell - 1, 0)] * (x - knots[cell])
        right = values[cell + 1] - slopes[np.minimum(cell + 1, count - 2)] * (knots[cell + 1] - x)
        inside = np.where(
            cell == 0, right, np.where(cell == count - 2, left, np.minimum(left, right))
        )
        inside = np.where(x < knots[0], values[0], inside)
        return np.where(x > knots[-1], 1.0, np.clip(inside, x, 1.0))[()]

    return tradeoff
