"""What a hard stop costs random stopping: Liu & Talwar (2019), Theorem 3.5, sharpened.

Random stopping with at most T draws is best-of-K with K = min(geometric(gamma), T). Its
worst pure epsilon over all epsilon-DP bases is known exactly, and a closed bound on it
needs a T that is smaller than the paper's by the factor of log(1/gamma).
"""

import math

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.errors import check_integer, check_interval, check_positive


def hard_stop_worst(epsilon: float, gamma: float, steps: int) -> float:
    """Largest pure epsilon over all epsilon-DP bases, random stopping within T draws.

    epsilon + max log f'(1 - g)/f'(1 - g') over epsilon-close probabilities g < g', f
    being the generating function of K: an outcome's probability is the integral of f'
    over as much base probability as it has, below that of the better ones. A vanishing
    outcome attains it. The maximum is taken over a grid of g.

    Args:
      epsilon: of the base, > 0.
      gamma: stopping probability, in (0, 1).
      steps: T >= 1, the most draws.
    """
    epsilon = check_positive("epsilon", epsilon)
    gamma = check_interval("gamma", gamma, 0.0, 1.0)
    steps = check_integer("steps", steps, 1)
    law = laws.capped(laws.geometric(gamma), steps)
    g = np.geomspace(1e-4 * min(gamma, 1.0 / steps), 0.5, 4000)
    g = np.concatenate([g, 1.0 - g[::-1]])
    # The largest g' that is epsilon-close to g.
    other = np.minimum(
        g * math.exp(epsilon), g * math.exp(-epsilon) - math.expm1(-epsilon)
    )
    slope = law.log_pgf_derivative_tail
    return epsilon + float(np.max(slope(g) - slope(other)))


def hard_stop_excess(gamma: float, steps: int) -> float:
    """How far pure epsilon may exceed 3 epsilon because of at most T draws.

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
