"""Guarantees and exact laws of Liu & Talwar (2019), Section 3.

Algorithm 1 draws until a score reaches a known threshold, stopping with probability
gamma after each failure and after ``steps`` draws at the latest. Algorithm 2 draws a
geometric number of times and keeps the best; a hard stop caps that number. The base is
epsilon-DP or (epsilon, delta)-DP; gamma is in (0, 1], although the paper also allows
gamma = 0, where Algorithm 2 never stops (LT-E19).
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.errors import (
    InputError,
    check_integer,
    check_interval,
    check_probability_vector,
)
from jaxsel.families.tuning.attained.exact_laws import tuned_law


class ApproximateGuarantee(NamedTuple):
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float


def _epsilon(epsilon: float) -> float:
    return check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)


def _delta(delta: float) -> float:
    return check_interval("delta", delta, 0.0, 1.0, low_open=False)


def _gamma(gamma: float) -> float:
    return check_interval("gamma", gamma, 0.0, 1.0, high_open=False)


def _slack(slack: float) -> float:
    return check_interval("slack", slack, 0.0, 1.0, high_open=False)


# --- Algorithm 1: a known threshold ---------------------------------------------------


def threshold_steps(gamma: float, slack: float) -> int:
    """Draws after which Algorithm 1 may stop (Theorem 3.1).

    The least whole T >= max((1/gamma) log(2/epsilon_0), 1 + 1/(e gamma)), where slack
    is epsilon_0 in (0, 1].
    """
    gamma, slack = _gamma(gamma), _slack(slack)
    return math.ceil(max(math.log(2.0 / slack) / gamma, 1.0 + 1.0 / (math.e * gamma)))


def threshold_pure(epsilon: float, slack: float = 0.0) -> float:
    """2 epsilon + slack: Theorem 3.1 (b); slack 0 is a run without a last draw."""
    slack = check_interval("slack", slack, 0.0, 1.0, low_open=False, high_open=False)
    return 2.0 * _epsilon(epsilon) + slack


def threshold_approximate(
    epsilon: float, delta: float, gamma: float, slack: float
) -> ApproximateGuarantee:
    """Theorem 3.1 (c): (2 epsilon + slack, 3 e^(2 epsilon + slack) delta / gamma)."""
    total = threshold_pure(epsilon, slack)
    return ApproximateGuarantee(
        total, 3.0 * math.exp(total) * _delta(delta) / _gamma(gamma)
    )


def threshold_approximate_sharp(
    epsilon: float, delta: float, gamma: float
) -> ApproximateGuarantee:
    """(2 epsilon, delta/(gamma + delta (1 - gamma))), without a last draw.

    Kairouz, Oh & Viswanath (2015) split the base into an epsilon-DP part and failures
    of probability delta. Take the stopping coins first: no draw before the geometric
    stop fails with probability gamma (1 - delta)/(gamma + delta (1 - gamma)), whatever
    the data, and given that the algorithm is Algorithm 1 on the epsilon-DP part.
    """
    gamma, delta = _gamma(gamma), _delta(delta)
    return ApproximateGuarantee(
        2.0 * _epsilon(epsilon), delta / (gamma + delta * (1.0 - gamma))
    )


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


def _success(success: float) -> float:
    return check_interval("success", success, 0.0, 1.0, low_open=False, high_open=False)


def threshold_expected_draws(
    success: float, gamma: float, steps: int | None = None
) -> float:
    """Exact expected number of draws; success is P[score >= threshold]."""
    success = _success(success)
    return _draws_and_failure(success, 1.0 - success, gamma, steps)[0]


def threshold_expected_draws_bound(success: float, gamma: float) -> float:
    """1/(success (1 - gamma) + gamma): Theorem 3.1 (d)."""
    return threshold_expected_draws(success, gamma)


def threshold_failure(success: float, gamma: float, steps: int | None = None) -> float:
    """Exact probability that Algorithm 1 returns nothing."""
    success = _success(success)
    return _draws_and_failure(success, 1.0 - success, gamma, steps)[1]


def threshold_failure_bound(success: float, gamma: float, slack: float) -> float:
    """(1 - success)(1 + slack/2) gamma / success: Theorem 3.1 (e)."""
    success = check_interval("success", success, 0.0, 1.0, high_open=False)
    return (1.0 - success) * (1.0 + _slack(slack) / 2.0) * _gamma(gamma) / success


def threshold_law(
    q_best_first: npt.ArrayLike, accepted: int, gamma: float, steps: int | None = None
) -> np.ndarray:
    """Exact output law of Algorithm 1.

    Args:
      q_best_first: base probabilities, best outcome first.
      accepted: how many of the best outcomes reach the threshold.
      gamma: stopping probability after a failure, in (0, 1].
      steps: most draws; None for no limit.

    Returns:
      Float[np.ndarray, "accepted+1"]: the accepted outcomes, in proportion to the base
      (Theorem 3.1 (a)), and "nothing" last.

    Raises:
      InputError: for a bad law or a parameter out of range.
    """
    q = check_probability_vector("q_best_first", q_best_first)
    accepted = check_integer("accepted", accepted, 1)
    if accepted > q.size:
        raise InputError(
            f"accepted is {accepted}; it must be at most the {q.size} outcomes"
        )
    success, rejected = float(q[:accepted].sum()), float(q[accepted:].sum())
    draws, nothing = _draws_and_failure(success, rejected, gamma, steps)
    return np.append(q[:accepted] * draws, nothing)


# --- Algorithm 2: random stopping -----------------------------------------------------


def stopping_pure(epsilon: float) -> float:
    """3 epsilon: Theorem 3.2, for every gamma in (0, 1]."""
    return 3.0 * _epsilon(epsilon)


def stopping_approximate_sharp(
    epsilon: float, delta: float, gamma: float
) -> ApproximateGuarantee:
    """(3 epsilon, delta/(gamma + delta (1 - gamma))) for Algorithm 2.

    As threshold_approximate_sharp: given that none of the geometrically many draws
    fails, their number is geometric again.
    """
    core = threshold_approximate_sharp(epsilon, delta, gamma)
    return ApproximateGuarantee(3.0 * epsilon, core.delta)


def stopping_expected_draws(gamma: float) -> float:
    """1/gamma draws on average, exactly."""
    return 1.0 / _gamma(gamma)


def stopping_law(q_best_first: npt.ArrayLike, gamma: float) -> np.ndarray:
    """Exact output law of Algorithm 2 (the display in the proof of Theorem 3.2).

    gamma q_i / ((G_i (1 - gamma) + gamma)((G_i + q_i)(1 - gamma) + gamma)), G_i being
    the mass of better outcomes; there is always an output.
    """
    q = check_probability_vector("q_best_first", q_best_first)
    gamma = _gamma(gamma)
    edges = np.concatenate([[0.0], np.cumsum(q)]) * (1.0 - gamma) + gamma
    return gamma * q / (edges[:-1] * edges[1:])


def percentile_failure(reaching: float, gamma: float) -> float:
    """Exact chance that the output of Algorithm 2 misses a level.

    gamma (1 - h)/(h + gamma (1 - h)), where h = P[score >= level] is ``reaching``.
    """
    h = check_interval("reaching", reaching, 0.0, 1.0, high_open=False)
    gamma = _gamma(gamma)
    return gamma * (1.0 - h) / (h + gamma * (1.0 - h))


def percentile_failure_bound(share: float, gamma: float) -> float:
    """gamma/p: Theorem 3.3, the level being that of the best share p of the outcomes.

    The proof's sum, percentile_failure(p, gamma), is an upper bound as well and not the
    value, since more than p may reach that level (LT-E19).
    """
    share = check_interval("share", share, 0.0, 1.0, high_open=False)
    return _gamma(gamma) / share


# --- Algorithm 2 with a hard stop -----------------------------------------------------


def hard_stop_steps(gamma: float, stop_delta: float) -> int:
    """T = ceil((1/gamma) log(1/delta_2)) of Theorem 3.4, rounded up (LT-E13)."""
    stop_delta = check_interval("stop_delta", stop_delta, 0.0, 1.0)
    return max(1, math.ceil(math.log(1.0 / stop_delta) / _gamma(gamma)))


def hard_stop_approximate(
    epsilon: float, delta: float, gamma: float, stop_delta: float
) -> ApproximateGuarantee:
    """Theorem 3.4: (3 epsilon + 3 sqrt(2 delta), sqrt(2 delta) T + delta_2).

    T is hard_stop_steps(gamma, stop_delta) and stop_delta is delta_2. The proof uses a
    false lemma (LT-E11, LT-E13); the statement is not refuted, and
    hard_stop_approximate_sharp is proved.
    """
    steps = hard_stop_steps(gamma, stop_delta)
    root = math.sqrt(2.0 * _delta(delta))
    return ApproximateGuarantee(
        3.0 * _epsilon(epsilon) + 3.0 * root, root * steps + stop_delta
    )


def hard_stop_approximate_sharp(
    epsilon: float, delta: float, gamma: float, steps: int
) -> ApproximateGuarantee:
    """(3 epsilon, 1 - (1 - delta)^T + (1 + e^(3 epsilon))(1 - gamma)^T), T = steps.

    With probability (1 - delta)^T none of the first T draws fails, whatever the data;
    given that, the capped and the uncapped algorithm differ by at most (1 - gamma)^T on
    each side. Taking the uncapped algorithm first replaces the first term by
    delta/(gamma + delta (1 - gamma)); the smaller of the two is returned.
    """
    gamma, delta = _gamma(gamma), _delta(delta)
    steps = check_integer("steps", steps, 1)
    total = 3.0 * _epsilon(epsilon)
    log_late = steps * math.log1p(-gamma) if gamma < 1.0 else -math.inf
    late = math.exp(log_late) + math.exp(total + log_late)
    failing = -math.expm1(steps * math.log1p(-delta))
    uncapped = stopping_approximate_sharp(epsilon, delta, gamma).delta
    return ApproximateGuarantee(total, min(1.0, min(failing, uncapped) + late))


def hard_stop_steps_pure(gamma: float, slack: float) -> int:
    """T = ceil((log X + log log X)/gamma), X = 2 (1 + gamma)^2/(slack gamma^2).

    Of Theorem 3.5, slack being epsilon_0 in (0, 1/2).
    """
    gamma = _gamma(gamma)
    slack = check_interval("slack", slack, 0.0, 0.5)
    log_ratio = math.log(2.0 / slack) + 2.0 * (math.log1p(gamma) - math.log(gamma))
    return math.ceil((log_ratio + math.log(log_ratio)) / gamma)


def hard_stop_pure(epsilon: float, slack: float) -> float:
    """3 epsilon + 3 slack: Theorem 3.5, with hard_stop_steps_pure(gamma, slack)."""
    slack = check_interval("slack", slack, 0.0, 0.5)
    return 3.0 * _epsilon(epsilon) + 3.0 * slack


def hard_stop_law(q_best_first: npt.ArrayLike, gamma: float, steps: int) -> np.ndarray:
    """Exact output law of Algorithm 2 with at most ``steps`` draws."""
    gamma = check_interval("gamma", gamma, 0.0, 1.0)
    steps = check_integer("steps", steps, 1)
    law = tuned_law(q_best_first, laws.capped(laws.geometric(gamma), steps))
    return law[:-1]
