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
from jaxsel.host.errors import InputError, check_integer, check_interval, check_probability_vector
from jaxsel.tuning.bounds.random_stopping import stopping_failure


def _gamma(gamma: float) -> float:
    return check_interval("gamma", gamma, 0.0, 1.0, high_open=False)


def _slack(slack: float) -> float:
    return check_interval("slack", slack, 0.0, 1.0, high_open=False)


def threshold_steps(gamma: float, slack: float) -> int:
    """The number of draws after which Algorithm 1 may stop (Theorem 3.1).

    The least whole T >= max((1/gamma) log(2/epsilon_0), 1 + 1/(e gamma)), where slack
    is epsilon_0 in (0, 1].
    """
    gamma = _gamma(gamma)
    slack = _slack(slack)
    return math.ceil(max(math.log(2.0 / slack) / gamma, 1.0 + 1.0 / (math.e * gamma)))


def threshold_pure(epsilon: float, slack: float = 0.0) -> float:
    """2 epsilon + slack: Theorem 3.1 (b); slack 0 if the number of draws is unlimited."""
    slack = check_interval("slack", slack, 0.0, 1.0, low_open=False, high_open=False)
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    return 2.0 * epsilon + slack


def threshold_approximate(
    epsilon: float, delta: float, gamma: float, slack: float
) -> ApproximateGuarantee:
    """Theorem 3.1 (c): (2 epsilon + slack, 3 e^(2 epsilon + slack) delta / gamma)."""
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    gamma = _gamma(gamma)
    total = threshold_pure(epsilon, slack)
    return ApproximateGuarantee(total, 3.0 * math.exp(total) * delta / gamma)


def threshold_approximate_sharp(epsilon: float, delta: float, gamma: float) -> ApproximateGuarantee:
    """(2 epsilon, delta/(gamma + delta (1 - gamma))), for an unlimited number of draws.

    Kairouz, Oh & Viswanath (2015) split the base into an epsilon-DP part and failures
    of probability delta. Take the stopping coins first: whether a draw before the
    geometric stop fails does not depend on the data, and given that none does the
    algorithm is Algorithm 1 on the epsilon-DP part.
    """
    return ApproximateGuarantee(threshold_pure(epsilon), stopping_failure(delta, gamma))


def _draws_and_failure(
    success: float, rejected: float, gamma: float, steps: int | None
) -> tuple[float, float]:
    """Expected draws and failure probability; success + rejected = 1."""
    gamma = _gamma(gamma)
    again, stop = rejected * (1.0 - gamma), success * (1.0 - gamma) + gamma
    if steps is None:
        return 1.0 / stop, rejected * gamma / stop
    steps = check_integer("steps", steps, 1)
    last = again**steps
    draws = -math.expm1(steps * math.log(again)) / stop if again > 0.0 else 1.0 / stop
    return draws, rejected * gamma * draws + last


def threshold_expected_draws(success: float, gamma: float, steps: int | None = None) -> float:
    """Exact expected number of draws; success is P[score >= threshold]."""
    success = check_interval("success", success, 0.0, 1.0, low_open=False, high_open=False)
    return _draws_and_failure(success, 1.0 - success, gamma, steps)[0]


def threshold_expected_draws_bound(success: float, gamma: float) -> float:
    """1/(success (1 - gamma) + gamma): Theorem 3.1 (d)."""
    return threshold_expected_draws(success, gamma)


def threshold_failure_bound(success: float, gamma: float, slack: float) -> float:
    """(1 - success)(1 + slack/2) gamma / success: Theorem 3.1 (e)."""
    success = check_interval("success", success, 0.0, 1.0, high_open=False)
    slack = _slack(slack)
    gamma = _gamma(gamma)
    return (1.0 - success) * (1.0 + slack / 2.0) * gamma / success


def threshold_law(
    q_best_first: npt.ArrayLike, accepted: int, gamma: float, steps: int | None = None
) -> np.ndarray:
    """Exact output law of Algorithm 1.

    Args:
      q_best_first: base probabilities, best outcome first.
      accepted: how many of the best outcomes reach the threshold.
      gamma: stopping probability after a failure, in (0, 1].
      steps: the largest number of draws; None for no limit.

    Returns:
      Float[np.ndarray, "accepted+1"]: the accepted outcomes, in proportion to the base
      (Theorem 3.1 (a)), and "nothing" last.

    Raises:
      InputError: for a bad law or a parameter out of range.
    """
    q = check_probability_vector("q_best_first", q_best_first)
    accepted = check_integer("accepted", accepted, 1)
    if accepted > q.size:
        raise InputError(f"accepted is {accepted}; it must be at most the {q.size} outcomes")
    success, rejected = float(q[:accepted].sum()), float(q[accepted:].sum())
    draws, nothing = _draws_and_failure(success, rejected, gamma, steps)
    return np.append(q[:accepted] * draws, nothing)
