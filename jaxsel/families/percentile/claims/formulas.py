"""Formulas that several claims on the percentile sparse vectors share."""

from jaxsel.families.percentile.parameters import Beta, Delta, FinalEpsilon


def beta_itself(*, beta: Beta = 0.1) -> float:
    """Returns the failure probability, beta."""
    return beta


def beta_and_half_delta(*, beta: Beta = 0.1, delta: Delta = 1e-3) -> float:
    """Returns the failure probability, beta + delta/2."""
    return beta + delta / 2.0


def final_itself(*, final_epsilon: FinalEpsilon = 1.0) -> float:
    """Returns epsilon_3, whatever epsilon_1 is."""
    return final_epsilon
