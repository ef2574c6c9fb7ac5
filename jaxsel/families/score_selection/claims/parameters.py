"""Parameters, and numbers stated outright, of the claims about Section 5."""

from typing import Annotated

from jaxsel.language.domains import number, positive, probability, whole

Epsilon = Annotated[float, positive("of the whole selection")]
Beta = Annotated[float, probability("allowed chance of failure")]
Candidates = Annotated[int, whole("K", at_least=1)]
Delta = Annotated[float, probability("of the whole")]
SmallDelta = Annotated[float, number("of the whole", above=0.0, at_most=0.5)]


def pure(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon of the selection, whose runs are epsilon/3-DP."""
    return epsilon


def approximate(*, delta: Delta = 1e-3) -> float:
    """delta at epsilon."""
    return delta


def approximate_small(*, delta: SmallDelta = 1e-6) -> float:
    """delta at epsilon."""
    return delta


def failure(*, beta: Beta = 0.1) -> float:
    """Allowed chance of a worse release than claimed, or of none: beta."""
    return beta


def failure_given_candidates(*, beta: Beta = 0.1, candidates: Candidates = 10) -> float:
    """Allowed chance of a worse release than claimed, or of none: beta (1 + 1/K)."""
    return beta * (1.0 + 1.0 / candidates)
