"""Constructed pairs of base laws that stress one bound each.

Every pair is two float64 probability vectors over the same outcomes, BEST OUTCOME
FIRST, that a base algorithm could have on neighbouring inputs.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.host.errors import InputError, check_integer, check_interval, check_positive


class LawPair(NamedTuple):
    """Two laws over the same outcomes, best outcome first.

    Attributes:
      first, second: Float[np.ndarray, "outcomes"], each summing to 1.
    """

    first: np.ndarray
    second: np.ndarray


def _pair(first: list[float], second: list[float]) -> LawPair:
    return LawPair(np.array(first, dtype=np.float64), np.array(second, np.float64))


def randomised_response(epsilon: float) -> LawPair:
    """Randomised response whose best outcome is the rare one on the first side.

    Complete for pure DP; with a fixed number of runs the worst outcome has privacy loss
    runs * epsilon (Papernot & Steinke 2022, Proposition 17).
    """
    epsilon = check_positive("epsilon", epsilon)
    rare = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    common = 1.0 / (1.0 + math.exp(-epsilon))
    return _pair([rare, common], [common, rare])


def bernoulli(p: float, q: float) -> LawPair:
    """Success (the best outcome) with probability p on one side, q on the other."""
    p = check_interval("p", p, 0.0, 1.0, low_open=False, high_open=False)
    q = check_interval("q", q, 0.0, 1.0, low_open=False, high_open=False)
    return _pair([p, 1.0 - p], [q, 1.0 - q])


def extreme_neighbours(p: float, epsilon: float) -> tuple[float, float]:
    """Smallest and largest success probability that is epsilon-close to p."""
    p = check_interval("p", p, 0.0, 1.0, low_open=False, high_open=False)
    epsilon = check_positive("epsilon", epsilon)
    up, down = math.exp(epsilon), math.exp(-epsilon)
    # 1 - (1 - p) e^epsilon and 1 - (1 - p) e^-epsilon without cancellation near p = 0
    lowest = max(p * down, p * up - math.expm1(epsilon))
    highest = min(p * up, p * down - math.expm1(-epsilon))
    return lowest, highest


def three_outcome(epsilon: float, top: float = 0.2, middle: float = 1e-9) -> LawPair:
    """Three blocks: best, rare middle, rest, with (top, middle e^epsilon, rest) first.

    On the second side the best block is e^epsilon likelier and the middle one
    e^epsilon rarer. Random stopping then loses (2 + eta) epsilon on the middle block
    (3 epsilon for the geometric law of Liu & Talwar 2019, Theorem 3.2), and a known
    threshold above the rest loses 2 epsilon, as the probabilities vanish, the middle
    one faster.

    Args:
      epsilon: > 0.
      top, middle: in (0, 1/(1 + e^epsilon)], so that every block is epsilon-close.

    Raises:
      InputError: if the pair would not be epsilon-close.
    """
    epsilon = check_positive("epsilon", epsilon)
    limit = 1.0 / (1.0 + math.exp(epsilon))
    top = check_interval("top", top, 0.0, limit, high_open=False)
    middle = check_interval("middle", middle, 0.0, limit, high_open=False)
    ratio = math.exp(epsilon)
    rest, other = 1.0 - top - middle * ratio, 1.0 - top * ratio - middle
    if min(rest, other) <= 0.0 or abs(math.log(rest / other)) > epsilon + 1e-12:
        raise InputError(
            f"top={top:g} and middle={middle:g} leave a rest that is not "
            f"{epsilon:g}-close; take smaller ones"
        )
    return _pair([top, middle * ratio, rest], [top * ratio, middle, other])


def approximate_three_outcome(epsilon: float, top: float, middle: float, delta: float) -> LawPair:
    """three_outcome with probability 1 - delta, else a private best outcome.

    Tight in delta: one private outcome among K draws tells the sides apart.
    """
    delta = check_interval("delta", delta, 0.0, 1.0)
    core = three_outcome(epsilon, top, middle)
    return LawPair(
        np.concatenate([[delta, 0.0], (1.0 - delta) * core.first]),
        np.concatenate([[0.0, delta], (1.0 - delta) * core.second]),
    )


def fixed_runs_constant(epsilon: float, count: int) -> LawPair:
    """Pair whose bad event keeps probability 1/e after ``count`` runs (Appendix D.1).

    First (1 - e^(-1/k), e^(-1/k)), second (1 - e^(-epsilon - 1/k), e^(-epsilon - 1/k)).
    """
    epsilon = check_positive("epsilon", epsilon)
    count = check_integer("count", count, 1)
    first, second = -1.0 / count, -epsilon - 1.0 / count
    return _pair([-math.expm1(first), math.exp(first)], [-math.expm1(second), math.exp(second)])


def tight_conditional(s: float, t: float, a: float = 0.25) -> LawPair:
    """Tight pair for conditional sampling on its first two outcomes (Appendix D.2).

    First (a e^-s, a e^-s, rest), second (a e^(-s-t), a, rest).

    Args:
      s, t: > 0.
      a: in (0, 1/4].
    """
    s, t = check_positive("s", s), check_positive("t", t)
    a = check_interval("a", a, 0.0, 0.25, high_open=False)
    small, smaller = a * math.exp(-s), a * math.exp(-s - t)
    return _pair([small, small, 1 - 2 * small], [smaller, a, 1 - a - smaller])


def tight_generic() -> LawPair:
    """Three outcomes of the form of Appendix D.3, for the generic bound."""
    return _pair([0.099, 0.001, 0.9], [0.1498, 0.0002, 0.85])


def random_pair(generator: np.random.Generator, size: int, concentration: float = 0.5) -> LawPair:
    """Two independent Dirichlet laws on ``size`` outcomes, all of them positive."""
    size = check_integer("size", size, 2)
    weights = np.full(size, check_positive("concentration", concentration))
    first, second = generator.dirichlet(weights, 2) + 1e-12
    return LawPair(first / first.sum(), second / second.sum())


def random_pure_pair(
    generator: np.random.Generator, size: int, epsilon: float, concentration: float = 0.5
) -> LawPair:
    """A random epsilon-close pair, most of whose privacy losses are +-epsilon.

    The first law is Dirichlet; raw losses are drawn in [-2 epsilon, 2 epsilon], shifted
    until the second law, clipped to losses within epsilon, sums to 1.
    """
    size = check_integer("size", size, 2)
    epsilon = check_positive("epsilon", epsilon)
    weights = np.full(size, check_positive("concentration", concentration))
    first = generator.dirichlet(weights) + 1e-12
    first = first / first.sum()
    raw = generator.uniform(-2.0 * epsilon, 2.0 * epsilon, size)
    low, high = -3.0 * epsilon, 3.0 * epsilon
    for _ in range(100):
        middle = (low + high) / 2.0
        total = np.sum(first * np.exp(np.clip(raw + middle, -epsilon, epsilon)))
        low, high = (middle, high) if total < 1.0 else (low, middle)
    second = first * np.exp(np.clip(raw + high, -epsilon, epsilon))
    return LawPair(first, second / second.sum())
