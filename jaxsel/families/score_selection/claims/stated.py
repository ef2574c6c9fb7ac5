"""Numbers that several claims about Section 5 state outright."""

from jaxsel.families.score_selection.parameters import Beta, Candidates, Delta, Epsilon


def pure(*, epsilon: Epsilon = 1.0) -> float:
    """Returns the pure epsilon of the selection, whose noise is scaled to it."""
    return epsilon


def approximate(*, delta: Delta = 1e-3) -> float:
    """Returns the delta of the selection at its epsilon."""
    return delta


def failure(*, beta: Beta = 0.1) -> float:
    """Returns beta, the allowed chance of no release, or of a worse one than claimed."""
    return beta


def failure_given_candidates(*, beta: Beta = 0.1, candidates: Candidates = 10) -> float:
    """Returns beta (1 + 1/K), the allowed chance of no release, or of a worse one than claimed."""
    return beta * (1.0 + 1.0 / candidates)
