"""Exact Renyi divergences of the coin game of Cohen et al. 2022, Algorithm 2.

Coins of bias p on one side and q on the other are shown until one came up 1; games that
go on until k of them did have k times the divergence.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting import pairs

__all__ = [
    "close_coins",
    "coin_renyi",
    "random_sequence",
    "sequence_renyi",
    "small_orders",
]


def coin_renyi(p: npt.ArrayLike, q: npt.ArrayLike, order: float) -> np.ndarray:
    """Renyi divergence per 1 that comes up, of a game with one pair (p, q) only.

    Stopping at the first 1: log(p^a q^(1-a)/(1 - (1-p)^a (1-q)^(1-a)))/(a - 1).
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        again = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
        total = order * np.log(p) + (1.0 - order) * np.log(q) - np.log(-np.expm1(again))
    return np.where(again < 0.0, total / (order - 1.0), np.inf)


def sequence_renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """Renyi divergence of a game that shows these coins in turn, until the first 1."""
    top = order * np.log(p) + (1.0 - order) * np.log(q)
    bottom = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    moment = 0.0
    for up, down in zip(top[::-1], bottom[::-1], strict=True):
        moment = float(np.logaddexp(up, down + moment))
    return moment / (order - 1.0)


def close_coins(epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Biases and their least and largest epsilon-close neighbours."""
    small = np.geomspace(1e-7, 0.5, 150)
    kinks = special.expit(np.array([-epsilon, epsilon]))
    bias = np.concatenate([small, 1.0 - small, kinks])
    ends = [pairs.extreme_neighbours(float(value), epsilon) for value in bias]
    low, high = np.array(ends).T
    return bias, low, high


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
