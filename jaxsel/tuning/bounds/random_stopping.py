"""Liu & Talwar (2019), Algorithm 2: random stopping, without and with a hard stop.

It draws a geometric number of times and releases the best draw; a hard stop caps that
number. The base is epsilon-DP or (epsilon, delta)-DP; gamma is in (0, 1], although the
paper also allows gamma = 0, where the algorithm never stops (R-LT-19).
"""

import math

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.host.errors import (
    check_integer,
    check_interval,
    check_positive,
    check_probability_vector,
)


def _gamma(gamma: float) -> float:
    return check_interval("gamma", gamma, 0.0, 1.0, high_open=False)


# --- Without a hard stop --------------------------------------------------------------


def stopping_failure(delta: float, gamma: float) -> float:
    """delta/(gamma + delta (1 - gamma)): probability that one of the draws fails.

    Each draw fails with probability delta, in [0, 1), independently. Given that none
    does, the number of draws is geometric again.
    """
    gamma, delta = (_gamma(gamma), check_interval("delta", delta, 0.0, 1.0, low_open=False))
    return delta / (gamma + delta * (1.0 - gamma))


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
    """Exact probability that the output of Algorithm 2 misses a level.

    gamma (1 - h)/(h + gamma (1 - h)), where h = P[score >= level] is ``reaching``.
    """
    h = check_interval("reaching", reaching, 0.0, 1.0, high_open=False)
    gamma = _gamma(gamma)
    return gamma * (1.0 - h) / (h + gamma * (1.0 - h))


def percentile_failure_bound(share: float, gamma: float) -> float:
    """gamma/p: Theorem 3.3, the level being that of the best share p of the outcomes.

    The proof's sum, percentile_failure(p, gamma), is an upper bound as well and not the
    value, since more than p may reach that level (R-LT-19).
    """
    share = check_interval("share", share, 0.0, 1.0, high_open=False)
    return _gamma(gamma) / share


# --- With a hard stop -----------------------------------------------------------------


def hard_stop_steps(gamma: float, stop_delta: float) -> int:
    """T = ceil((1/gamma) log(1/delta_2)) of Theorem 3.4, rounded up (LT-E13)."""
    stop_delta = check_interval("stop_delta", stop_delta, 0.0, 1.0)
    return max(1, math.ceil(math.log(1.0 / stop_delta) / _gamma(gamma)))


def hard_stop_approximate(
    epsilon: float, delta: float, gamma: float, stop_delta: float
) -> ApproximateGuarantee:
    """Theorem 3.4: (3 epsilon + 3 sqrt(2 delta), sqrt(2 delta) T + delta_2).

    T is hard_stop_steps(gamma, stop_delta) and stop_delta is delta_2. The proof uses a
    false lemma (LT-E11, LT-E13); the statement is not refuted, and LT-Alg2-hardstop-sharp
    is proved.
    """
    steps = hard_stop_steps(gamma, stop_delta)
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    root = math.sqrt(2.0 * delta)
    return ApproximateGuarantee(3.0 * epsilon + 3.0 * root, root * steps + stop_delta)


def hard_stop_steps_pure(gamma: float, slack: float) -> int:
    """T = ceil((log X + log log X)/gamma), X = 2 (1 + gamma)^2/(slack gamma^2).

    Of Theorem 3.5, slack being epsilon_0 in (0, 1/2).
    """
    gamma = _gamma(gamma)
    slack = check_interval("slack", slack, 0.0, 0.5)
    log_ratio = math.log(2.0 / slack) + 2.0 * (math.log1p(gamma) - math.log(gamma))
    return math.ceil((log_ratio + math.log(log_ratio)) / gamma)


def hard_stop_worst(epsilon: float, gamma: float, steps: int) -> float:
    """Largest pure epsilon over all epsilon-DP bases, random stopping within T draws.

    epsilon + max log f'(1 - g)/f'(1 - g') over epsilon-close probabilities g < g', f
    being the generating function of K: an outcome's probability is the integral of f'
    over as much base probability as it has, below that of the better ones. A vanishing
    outcome attains it. The maximum is taken over a grid of g.

    Args:
      epsilon: of the base, > 0.
      gamma: stopping probability, in (0, 1).
      steps: T >= 1, the largest number of draws.
    """
    epsilon = check_positive("epsilon", epsilon)
    gamma = check_interval("gamma", gamma, 0.0, 1.0)
    steps = check_integer("steps", steps, 1)
    law = laws.capped(laws.geometric(gamma), steps)
    g = np.geomspace(1e-4 * min(gamma, 1.0 / steps), 0.5, 4000)
    g = np.concatenate([g, 1.0 - g[::-1]])
    # The largest g' that is epsilon-close to g.
    other = np.minimum(g * math.exp(epsilon), g * math.exp(-epsilon) - math.expm1(-epsilon))
    slope = law.log_pgf_derivative_tail
    return epsilon + float(np.max(slope(g) - slope(other)))


def hard_stop_excess(gamma: float, steps: int) -> float:
    """A bound on the excess of pure epsilon over 3 epsilon due to the cap of T draws.

    log(1 + T gamma (1 - gamma)^(T - 1)) - log(1 - (1 - gamma)^T), for (T + 1) gamma >= 2.
    With r = (1 - gamma)(1 - g), the cap multiplies f'(1 - g) by 1 plus
    r^(T-1) (T (1 - r)((1 - r)/gamma - 1) - r), which is between -(1 - gamma)^T and
    T gamma (1 - gamma)^(T-1), as 1 - r >= gamma; uncapped, the loss is 3 epsilon.

    Raises:
      InputError: if gamma is outside (0, 1) or steps is below 2/gamma - 1.
    """
    gamma = check_interval("gamma", gamma, 0.0, 1.0)
    steps = check_integer("steps", steps, max(1, math.ceil(2.0 / gamma - 1.0)))
    log_again = math.log1p(-gamma)
    more = steps * gamma * math.exp((steps - 1) * log_again)
    return math.log1p(more) - math.log(-math.expm1(steps * log_again))


def hard_stop_steps_sharp(gamma: float, slack: float) -> int:
    """Least T >= 2/gamma - 1 with excess at most 3 slack, to compare with Theorem 3.5.

    About (log(1/slack) + log log(1/slack))/gamma, without the log(1/gamma) there.

    Args:
      gamma: in (0, 1).
      slack: epsilon_0 in (0, 1/2).
    """
    slack = check_interval("slack", slack, 0.0, 0.5)
    low = max(1, math.ceil(2.0 / check_interval("gamma", gamma, 0.0, 1.0) - 1.0))
    high = low
    # The excess falls with T.
    while hard_stop_excess(gamma, high) > 3.0 * slack:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        if hard_stop_excess(gamma, middle) > 3.0 * slack:
            low = middle + 1
        else:
            high = middle
    return high
