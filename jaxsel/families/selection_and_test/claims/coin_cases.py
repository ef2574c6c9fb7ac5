"""Random instances of the coin game, for the claims about it."""

import math

import numpy as np

from jaxsel.accounting.single_run import pairs


def small_orders(epsilon: float, generator: np.random.Generator) -> list[float]:
    """The largest Renyi order with order * epsilon <= 1/3, and random smaller ones."""
    highest = 1.0 / (3.0 * epsilon)
    inside = np.exp(generator.uniform(0.0, math.log(highest), 2))
    return [highest, *inside[inside > 1.0001].tolist()]


def random_sequence(
    generator: np.random.Generator, epsilon: float, *, one_sided: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Random biases p and epsilon-close q of up to 20 coins; one-sided: q <= p."""
    size = int(generator.integers(1, 21))
    p = 10.0 ** generator.uniform(-4.0, -1e-4, size)
    ends = np.array([pairs.extreme_neighbours(float(value), epsilon) for value in p])
    share = generator.choice([0.0, 1.0, float(generator.uniform())], size)
    high = p if one_sided else ends[:, 1]
    return p, ends[:, 0] + share * (high - ends[:, 0])
