"""Numbers that several claims about Section 5 state outright."""

from jaxsel.families.score_selection.parameters import Beta, Candidates, Delta, Epsilon


def pure(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon of the selection, whose runs are epsilon/3-DP."""
    return epsilon


def approximate(*, delta: Delta = 1e-3) -> float:
    """delta at epsilon."""
    return delta


def failure(*, beta: Beta = 0.1) -> float:
    """Allowed chance of a worse release than claimed, or of none: beta."""
    return beta


def failure_given_candidates(*, beta: Beta = 0.1, candidates: Candidates = 10) -> float:
    """Allowed chance of a worse release than claimed, or of none: beta (1 + 1/K)."""
    return beta * (1.0 + 1.0 / candidates)
