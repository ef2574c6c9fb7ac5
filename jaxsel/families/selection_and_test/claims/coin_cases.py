"""Random instances of the coin game, for the claims about it."""

import math
from collections.abc import Callable

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.host.errors import InputError


def small_orders(epsilon: float, generator: np.random.Generator) -> list[float]:
    """The largest Renyi order with order * epsilon <= 1/3, and random smaller ones."""
    highest = 1.0 / (3.0 * epsilon)
    inside = np.exp(generator.uniform(0.0, math.log(highest), 2))
    return [highest, *inside[inside > 1.0001].tolist()]


def check_small_order(order: float, epsilon: float) -> None:
    """Raises InputError unless order * epsilon <= 1/3."""
    if order * epsilon > (1.0 + 1e-12) / 3.0:
        raise InputError(f"order * epsilon is {order * epsilon:g}; it must be at most 1/3")


def random_sequence(
    generator: np.random.Generator, epsilon: float, *, one_sided: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Random biases p of up to 20 coins, and epsilon-close q; with ``one_sided``, q <= p."""
    size = int(generator.integers(1, 21))
    p = 10.0 ** generator.uniform(-4.0, -1e-4, size)
    ends = np.array([pairs.extreme_neighbours(float(value), epsilon) for value in p])
    share = generator.choice([0.0, 1.0, float(generator.uniform())], size)
    high = p if one_sided else ends[:, 1]
    return p, ends[:, 0] + share * (high - ends[:, 0])


def random_game(
    generator: np.random.Generator, epsilon: float, *, one_sided: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Biases p and q of an adaptive game of up to 3 ones, Float["ones coins"]."""
    rows = [
        random_sequence(generator, epsilon, one_sided=one_sided)
        for _ in range(int(generator.integers(1, 4)))
    ]
    size = max(p.size for p, _ in rows)
    return tuple(  # type: ignore[return-value]
        np.stack([np.resize(row[side], size) for row in rows]) for side in (0, 1)
    )


def attained(seen: float) -> Callable[[float], tuple[float, float]]:
    """Observed numbers that judge whether the claimed rate is attained.

    Returns the function of the rate whose two numbers swap the sides of the check, so that it
    holds if the rate is at most ``seen``.
    """
    return lambda rate: (seen, rate)


def shown(p: np.ndarray, q: np.ndarray) -> str:
    """Biases, for the detail of a verdict."""
    return f"p={p.tolist()}, q={q.tolist()}"
