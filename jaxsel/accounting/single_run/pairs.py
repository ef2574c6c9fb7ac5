"""Constructed pairs of base laws that stress one bound each.

Every pair is two float64 probability vectors over the same outcomes, BEST OUTCOME
FIRST, that a base algorithm could have on neighbouring inputs.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.parameters import Count, Delta, Epsilon
from jaxsel.host.errors import InputError, check_interval
from jaxsel.language.domains import number, positive, whole
from jaxsel.language.signature import validated

_Probability = Annotated[float, number("of an event", at_least=0.0, at_most=1.0)]
_Positive = Annotated[float, positive()]
# As many as memory holds.
_Size = Annotated[int, whole("how many outcomes", at_least=2, at_most=1e5)]
# e^epsilon is a float.
_Moderate = Annotated[float, number("of (epsilon, delta)", above=0.0, at_most=700.0)]


class LawPair(NamedTuple):
    """Two laws over the same outcomes, best outcome first.

    Attributes:
      first, second: Float[np.ndarray, "outcomes"], each summing to 1.
    """

    first: np.ndarray
    second: np.ndarray


def _pair(first: list[float], second: list[float]) -> LawPair:
    return LawPair(np.array(first, dtype=np.float64), np.array(second, np.float64))


@validated
def randomised_response(epsilon: Epsilon) -> LawPair:
    """Randomised response whose best outcome is the rare one on the first side.

    Complete for pure DP; with a fixed number of runs the worst outcome has privacy loss
    runs * epsilon (Papernot & Steinke 2022, Proposition 17).
    """
    rare = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    common = 1.0 / (1.0 + math.exp(-epsilon))
    return _pair([rare, common], [common, rare])


@validated
def bernoulli(p: _Probability, q: _Probability) -> LawPair:
    """Success (the best outcome) with probability p on one side, q on the other."""
    return _pair([p, 1.0 - p], [q, 1.0 - q])


@validated
def extreme_neighbours(p: _Probability, epsilon: _Moderate) -> tuple[float, float]:
    """Smallest and largest success probability that is epsilon-close to p."""
    up, down = math.exp(epsilon), math.exp(-epsilon)
    # 1 - (1 - p) e^epsilon and 1 - (1 - p) e^-epsilon without cancellation near p = 0
    lowest = max(p * down, p * up - math.expm1(epsilon))
    highest = min(p * up, p * down - math.expm1(-epsilon))
    return lowest, highest


@validated
def three_outcome(epsilon: _Moderate, top: float = 0.2, middle: float = 1e-9) -> LawPair:
    """Three blocks: best, rare middle, rest, with (top, middle e^epsilon, rest) first.

    On the second side the best block is e^epsilon likelier and the middle one
    e^epsilon rarer. Random stopping then loses (2 + eta) epsilon on the middle block
    (3 epsilon for the geometric law of Liu & Talwar 2019, Theorem 3.2), and a known
    threshold above the rest loses 2 epsilon, as the probabilities vanish, the middle
    one faster.

    Args:
      epsilon: of the pair.
      top, middle: in (0, 1/(1 + e^epsilon)], so that every block is epsilon-close.

    Raises:
      InputError: if the pair would not be epsilon-close.
    """
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


@validated
def approximate_three_outcome(
    epsilon: _Moderate, top: float, middle: float, delta: Delta
) -> LawPair:
    """``three_outcome`` with probability 1 - delta, else a private best outcome.

    Tight in delta: one private outcome among K draws tells the sides apart.

    Args:
      epsilon, top, middle: as of ``three_outcome``.
      delta: probability of an outcome that only one side has.
    """
    core = three_outcome(epsilon, top, middle)
    return LawPair(
        np.concatenate([[delta, 0.0], (1.0 - delta) * core.first]),
        np.concatenate([[0.0, delta], (1.0 - delta) * core.second]),
    )


@validated
def fixed_runs_constant(epsilon: Epsilon, count: Count) -> LawPair:
    """Pair whose bad event keeps probability 1/e after ``count`` runs (Appendix D.1).

    First (1 - e^(-1/k), e^(-1/k)), second (1 - e^(-epsilon - 1/k), e^(-epsilon - 1/k)).
    """
    first, second = -1.0 / count, -epsilon - 1.0 / count
    return _pair([-math.expm1(first), math.exp(first)], [-math.expm1(second), math.exp(second)])


@validated
def tight_conditional(
    s: _Positive, t: _Positive, a: Annotated[float, number(above=0.0, at_most=0.25)] = 0.25
) -> LawPair:
    """Tight pair for conditional sampling on its first two outcomes (Appendix D.2).

    First (a e^-s, a e^-s, rest), second (a e^(-s-t), a, rest).

    Args:
      s: log of how much rarer the second outcome is on the first side.
      t: log of how much rarer still the first outcome is on the second side.
      a: probability of the second outcome on the second side.
    """
    small, smaller = a * math.exp(-s), a * math.exp(-s - t)
    return _pair([small, small, 1 - 2 * small], [smaller, a, 1 - a - smaller])


def tight_generic() -> LawPair:
    """Three outcomes of the form of Appendix D.3, for the generic bound."""
    return _pair([0.099, 0.001, 0.9], [0.1498, 0.0002, 0.85])


@validated
def random_pair(
    generator: np.random.Generator, size: _Size, concentration: _Positive = 0.5
) -> LawPair:
    """Two independent Dirichlet laws on the same outcomes, all of them positive.

    Args:
      generator: of the laws.
      size: how many outcomes.
      concentration: of the Dirichlet law; below 1 few outcomes hold most of the mass.
    """
    weights = np.full(size, concentration)
    first, second = generator.dirichlet(weights, 2) + 1e-12
    return LawPair(first / first.sum(), second / second.sum())


@validated
def random_pure_pair(
    generator: np.random.Generator, size: _Size, epsilon: _Moderate, concentration: _Positive = 0.5
) -> LawPair:
    """A random epsilon-close pair, most of whose privacy losses are +-epsilon.

    The first law is Dirichlet; raw losses are drawn in [-2 epsilon, 2 epsilon], shifted
    until the second law, clipped to losses within epsilon, sums to 1.

    Args:
      generator, size, concentration: as of ``random_pair``.
      epsilon: of the pair.
    """
    weights = np.full(size, concentration)
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
