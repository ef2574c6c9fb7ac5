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
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.signature import validated
from jaxsel.repetitions.parameters import Gamma
from jaxsel.tuning import parameters

# --- Without a hard stop --------------------------------------------------------------


@validated
def stopping_failure(delta: parameters.Delta, gamma: parameters.Stop) -> float:
    """Probability that one of the draws fails: delta/(gamma + delta (1 - gamma)).

    Each draw fails with probability delta, independently. Given that none does, the number of
    draws is geometric again.
    """
    return delta / (gamma + delta * (1.0 - gamma))


@validated
def stopping_law(q_best_first: npt.ArrayLike, gamma: parameters.Stop) -> np.ndarray:
    """Exact output law of random stopping (the display in the proof of Theorem 3.2).

    gamma q_i / ((G_i (1 - gamma) + gamma)((G_i + q_i)(1 - gamma) + gamma)), G_i being
    the mass of better outcomes; there is always an output.
    """
    q = check_probability_vector("q_best_first", q_best_first)
    edges = np.concatenate([[0.0], np.cumsum(q)]) * (1.0 - gamma) + gamma
    return gamma * q / (edges[:-1] * edges[1:])


@validated
def percentile_failure(reaching: parameters.Share, gamma: parameters.Stop) -> float:
    """Exact probability that no draw of random stopping has a score of at least some level.

    gamma (1 - h)/(h + gamma (1 - h)), h being the probability of ``reaching`` it in one draw.
    """
    return gamma * (1.0 - reaching) / (reaching + gamma * (1.0 - reaching))


@validated
def percentile_failure_bound(share: parameters.Share, gamma: parameters.Stop) -> float:
    """A bound on the probability to miss the best share p of the outcomes: gamma/p (Theorem 3.3).

    The proof's sum, percentile_failure(p, gamma), is an upper bound as well and not the
    value, since more than p may reach that level (R-LT-19).
    """
    return gamma / share


# --- With a hard stop -----------------------------------------------------------------


@validated
def hard_stop_steps(gamma: parameters.Stop, stop_delta: parameters.StopDelta) -> int:
    """The number of draws that random stopping exceeds with probability ``stop_delta`` at most.

    T = ceil((1/gamma) log(1/delta_2)) of Theorem 3.4, rounded up (LT-E13), delta_2 being that
    probability.
    """
    return max(1, math.ceil(math.log(1.0 / stop_delta) / gamma))


@validated
def hard_stop_approximate(
    epsilon: parameters.Epsilon,
    delta: parameters.Delta,
    gamma: parameters.Stop,
    stop_delta: parameters.StopDelta,
) -> ApproximateGuarantee:
    """The guarantee of random stopping with a hard stop after T = ``hard_stop_steps`` draws.

    (3 epsilon + 3 sqrt(2 delta), sqrt(2 delta) T + delta_2), Theorem 3.4. Its proof uses a false
    lemma (LT-E11, LT-E13); the statement is not refuted, and LT-Alg2-hardstop-sharp is proved.

    Args:
      epsilon, delta: of one draw.
      gamma: probability to stop after a draw.
      stop_delta: delta_2, the probability that the hard stop comes first.
    """
    steps = hard_stop_steps(gamma, stop_delta)
    root = math.sqrt(2.0 * delta)
    return ApproximateGuarantee(3.0 * epsilon + 3.0 * root, root * steps + stop_delta)


@validated
def hard_stop_steps_pure(gamma: parameters.Stop, slack: parameters.Slack) -> int:
    """The number of draws after which a hard stop adds at most 3 slack to the pure epsilon.

    T = ceil((log X + log log X)/gamma), X = 2 (1 + gamma)^2/(slack gamma^2), slack being epsilon_0
    of Theorem 3.5.
    """
    log_ratio = math.log(2.0 / slack) + 2.0 * (math.log1p(gamma) - math.log(gamma))
    return math.ceil((log_ratio + math.log(log_ratio)) / gamma)


@validated
def hard_stop_worst(
    epsilon: parameters.ModerateEpsilon, gamma: Gamma, steps: parameters.MostDraws
) -> float:
    """Largest pure epsilon, over all epsilon-DP bases, of random stopping with a hard stop.

    epsilon + max log f'(1 - g)/f'(1 - g') over epsilon-close probabilities g < g', f
    being the generating function of K: an outcome's probability is the integral of f'
    over as much base probability as it has, below that of the better ones. A vanishing
    outcome attains it. The maximum is taken over a grid of g.

    Args:
      epsilon: of the base.
      gamma: probability to stop after a draw.
      steps: the largest number of draws.
    """
    law = laws.capped(laws.geometric(gamma), steps)
    g = np.geomspace(1e-4 * min(gamma, 1.0 / steps), 0.5, 4000)
    g = np.concatenate([g, 1.0 - g[::-1]])
    # The largest g' that is epsilon-close to g.
    other = np.minimum(g * math.exp(epsilon), g * math.exp(-epsilon) - math.expm1(-epsilon))
    slope = law.log_pgf_derivative_tail
    return epsilon + float(np.max(slope(g) - slope(other)))


@validated
def hard_stop_excess(gamma: Gamma, steps: parameters.MostDraws) -> float:
    """A bound on the pure epsilon that a hard stop after T draws adds to 3 epsilon.

    log(1 + T gamma (1 - gamma)^(T - 1)) - log(1 - (1 - gamma)^T), for (T + 1) gamma >= 2.
    With r = (1 - gamma)(1 - g), the cap multiplies f'(1 - g) by 1 plus
    r^(T-1) (T (1 - r)((1 - r)/gamma - 1) - r), which is between -(1 - gamma)^T and
    T gamma (1 - gamma)^(T-1), as 1 - r >= gamma; uncapped, the loss is 3 epsilon.

    Raises:
      InputError: if T is below 2/gamma - 1.
    """
    least = _least_steps(gamma)
    if steps < least:
        raise InputError(f"steps is {steps}; it must be at least {least} with gamma = {gamma:g}")
    return _excess(gamma, steps)


def _least_steps(gamma: float) -> int:
    return max(1, math.ceil(2.0 / gamma - 1.0))


def _excess(gamma: float, steps: int) -> float:
    log_again = math.log1p(-gamma)
    more = steps * gamma * math.exp((steps - 1) * log_again)
    return math.log1p(more) - math.log(-math.expm1(steps * log_again))


@validated
def hard_stop_steps_sharp(gamma: Gamma, slack: parameters.Slack) -> int:
    """Least number of draws T with ``hard_stop_excess`` at most 3 slack, for Theorem 3.5.

    About (log(1/slack) + log log(1/slack))/gamma, without the log(1/gamma) there.
    """
    low = high = _least_steps(gamma)
    # The excess falls with T.
    while _excess(gamma, high) > 3.0 * slack:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        if _excess(gamma, middle) > 3.0 * slack:
            low = middle + 1
        else:
            high = middle
    return high
