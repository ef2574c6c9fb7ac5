"""Liu & Talwar (2019), Theorem 3.1: guarantees and exact laws of Algorithm 1.

It draws until a score reaches a known threshold, stopping with probability gamma after
each failure and after ``steps`` draws at the latest. The base is epsilon-DP or
(epsilon, delta)-DP; gamma is in (0, 1], although the paper also allows gamma = 0
(R-LT-19).
"""

import math

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.families.thresholds import parameters
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.signature import validated
from jaxsel.tuning.bounds.random_stopping import stopping_failure


@validated
def threshold_steps(gamma: parameters.Gamma, slack: parameters.PositiveSlack) -> int:
    """The number of draws after which Algorithm 1 may stop (Theorem 3.1).

    It is the least whole T >= max((1/gamma) log(2/epsilon_0), 1 + 1/(e gamma)), where slack is
    epsilon_0.
    """
    return math.ceil(max(math.log(2.0 / slack) / gamma, 1.0 + 1.0 / (math.e * gamma)))


@validated
def threshold_pure(epsilon: parameters.Epsilon, slack: parameters.Slack = 0.0) -> float:
    """The pure epsilon of Algorithm 1, 2 epsilon + slack: Theorem 3.1 (b).

    The slack is 0 if the number of draws is unlimited.
    """
    return 2.0 * epsilon + slack


@validated
def threshold_approximate(
    epsilon: parameters.SmallEpsilon,
    delta: parameters.Delta,
    gamma: parameters.Gamma,
    slack: parameters.Slack,
) -> ApproximateGuarantee:
    """The approximate privacy of Algorithm 1: Theorem 3.1 (c).

    It is (2 epsilon + slack, 3 e^(2 epsilon + slack) delta/gamma)-DP.

    Args:
      epsilon, delta: of the base.
      gamma: stopping probability after a failure.
      slack: epsilon_0.
    """
    total = threshold_pure(epsilon, slack)
    return ApproximateGuarantee(total, 3.0 * math.exp(total) * delta / gamma)


def threshold_approximate_sharp(epsilon: float, delta: float, gamma: float) -> ApproximateGuarantee:
    """The approximate privacy of Algorithm 1 with an unlimited number of draws.

    It is (2 epsilon, delta/(gamma + delta (1 - gamma)))-DP. By Kairouz, Oh & Viswanath (2015) a run
    of the base is non-private with probability delta, and a run of an epsilon-DP base otherwise.
    Toss the stopping coins first, which makes the largest number of draws geometric. The
    probability that one of these draws is non-private is the stated delta on all data; given that
    none is, the algorithm is Algorithm 1 on the epsilon-DP base.

    Args:
      epsilon, delta: of the base.
      gamma: stopping probability after a failure.
    """
    return ApproximateGuarantee(threshold_pure(epsilon), stopping_failure(delta, gamma))


def _draws_and_failure(
    success: float, rejected: float, gamma: float, steps: int | None
) -> tuple[float, float]:
    """The expected number of draws of Algorithm 1, and the probability that it releases nothing.

    ``rejected`` is 1 - success, given separately as it may be too small to be had by subtraction.
    """
    again, stop = rejected * (1.0 - gamma), success * (1.0 - gamma) + gamma
    if steps is None:
        return 1.0 / stop, rejected * gamma / stop
    last = again**steps
    draws = -math.expm1(steps * math.log(again)) / stop if again > 0.0 else 1.0 / stop
    return draws, rejected * gamma * draws + last


@validated
def threshold_expected_draws(
    success: parameters.SuccessOrZero, gamma: parameters.Gamma, steps: parameters.DrawsOrNone = None
) -> float:
    """The exact expected number of draws of Algorithm 1.

    Args:
      success: P[score >= threshold].
      gamma: stopping probability after a failure.
      steps: the largest number of draws; None for no limit.
    """
    return _draws_and_failure(success, 1.0 - success, gamma, steps)[0]


def threshold_expected_draws_bound(success: float, gamma: float) -> float:
    """A bound on the expected number of draws, 1/(success (1 - gamma) + gamma): Theorem 3.1 (d)."""
    return threshold_expected_draws(success, gamma)


@validated
def threshold_failure_bound(
    success: parameters.Success, gamma: parameters.Gamma, slack: parameters.PositiveSlack
) -> float:
    """A bound on the probability that Algorithm 1 releases nothing: Theorem 3.1 (e).

    It is (1 - success)(1 + slack/2) gamma/success.

    Args:
      success: P[score >= threshold].
      gamma: stopping probability after a failure.
      slack: epsilon_0.
    """
    return (1.0 - success) * (1.0 + slack / 2.0) * gamma / success


@validated
def threshold_law(
    q_best_first: npt.ArrayLike,
    accepted: parameters.Accepted,
    gamma: parameters.Gamma,
    steps: parameters.DrawsOrNone = None,
) -> np.ndarray:
    """The exact law of what Algorithm 1 releases.

    Args:
      q_best_first: base probabilities, best outcome first.
      accepted: how many of the best outcomes reach the threshold.
      gamma: stopping probability after a failure.
      steps: the largest number of draws; None for no limit.

    Returns:
      Float[np.ndarray, "accepted+1"]: the accepted outcomes, in proportion to the base
      (Theorem 3.1 (a)), and "nothing" last.

    Raises:
      InputError: for a bad law, or more accepted outcomes than there are.
    """
    q = check_probability_vector("q_best_first", q_best_first)
    if accepted > q.size:
        raise InputError(f"accepted is {accepted}; it must be at most the {q.size} outcomes")
    success, rejected = float(q[:accepted].sum()), float(q[accepted:].sum())
    draws, nothing = _draws_and_failure(success, rejected, gamma, steps)
    return np.append(q[:accepted] * draws, nothing)
