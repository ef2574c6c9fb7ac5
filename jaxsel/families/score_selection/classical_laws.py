"""Laws of classical mechanisms that choose one of several scores.

The exponential mechanism (McSherry & Talwar 2007), the generalised one for scores of
different sensitivities (Raskhodnikova & Smith 2016), and the margin-based A_dist (Smith
& Thakurta 2013; Beimel, Nissim & Stemmer 2013).
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.host.errors import InputError, check_finite, check_interval, check_positive


def check_scores(scores: npt.ArrayLike) -> np.ndarray:
    """Scores as one list of float64; raises InputError otherwise."""
    scores = check_finite("scores", scores)
    if scores.ndim != 1:
        raise InputError("scores must be one list of numbers")
    return scores


def check_each_positive(name: str, values: npt.ArrayLike, size: int) -> np.ndarray:
    """``size`` positive numbers from as many or from one; raises InputError otherwise."""
    array = check_finite(name, values)
    if array.shape not in ((), (size,)) or np.any(array <= 0.0):
        raise InputError(f"{name} must be {size} positive numbers, or one for all")
    return np.broadcast_to(array, size)


def exponential_law(scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> np.ndarray:
    """Exponential mechanism: P(i) proportional to exp(epsilon q_i/(2 s))."""
    rate = check_positive("epsilon", epsilon) / 2.0
    return special.softmax(rate * check_scores(scores) / check_positive("sensitivity", sensitivity))


def exponential_loss(candidates: int, sensitivity: float, epsilon: float, beta: float) -> float:
    """(2 s/epsilon) log(K/beta): its loss, except with probability beta."""
    return (
        2.0 * sensitivity / epsilon * math.log(candidates / check_interval("beta", beta, 0.0, 1.0))
    )


def generalised_exponential_scores(
    scores: npt.ArrayLike, sensitivities: npt.ArrayLike, epsilon: float, beta: float
) -> np.ndarray:
    """Scores of sensitivity 1 that the generalised exponential mechanism chooses by.

    With t = (2/epsilon) log(K/beta) and v_i = q_i - t s_i: the least
    (v_i - v_j)/(s_i + s_j) over j, which is at most 0, and 0 for the best v_i.
    """
    scores = check_scores(scores)
    s = check_each_positive("sensitivities", sensitivities, scores.size)
    t = exponential_loss(scores.size, 1.0, check_positive("epsilon", epsilon), beta)
    v = scores - t * s
    return np.min((v[:, None] - v) / (s[:, None] + s), axis=1)


def generalised_exponential_law(
    scores: npt.ArrayLike, sensitivities: npt.ArrayLike, epsilon: float, beta: float
) -> np.ndarray:
    """Law of the generalised exponential mechanism (Raskhodnikova & Smith 2016)."""
    normalised = generalised_exponential_scores(scores, sensitivities, epsilon, beta)
    return exponential_law(normalised, 1.0, epsilon)


def generalised_exponential_loss(
    scores: npt.ArrayLike, sensitivities: npt.ArrayLike, epsilon: float, beta: float
) -> float:
    """Least q* - q_j + (4 s_j/epsilon) log(K/beta) over j: its loss, except with
    probability beta."""
    scores = check_scores(scores)
    s = check_each_positive("sensitivities", sensitivities, scores.size)
    t = exponential_loss(scores.size, 1.0, epsilon, beta)
    return float(np.min(scores.max() - scores + 2.0 * t * s))


def margin_law(
    scores: npt.ArrayLike, sensitivity: float, epsilon: float, delta: float
) -> np.ndarray:
    """Law of A_dist: the best candidate if it leads by enough, else nothing (last).

    It is released if lead/(2 s) - 1 + Lap(1/epsilon) > log(1/(2 delta))/epsilon. Where
    neighbours have different best candidates, both leads are at most 2 s, and the
    chance of a release at most delta; else the lead, of sensitivity 2 s, is all that is
    used. Equal scores: the first is best.

    Args:
      scores: at least two.
      sensitivity: s > 0.
      epsilon: > 0.
      delta: in (0, 1/2].
    """
    scores = check_scores(scores)
    if scores.size < 2:
        raise InputError("scores must hold at least two numbers")
    s, epsilon = (check_positive("sensitivity", sensitivity), check_positive("epsilon", epsilon))
    delta = check_interval("delta", delta, 0.0, 0.5, high_open=False)
    second, first = np.partition(scores, -2)[-2:]
    need = -math.log(2.0 * delta) - epsilon * ((first - second) / (2.0 * s) - 1.0)
    tail = 0.5 * math.exp(-abs(need))
    law = np.zeros(scores.size + 1)
    law[int(np.argmax(scores))] = tail if need > 0.0 else 1.0 - tail
    law[-1] = 1.0 - tail if need > 0.0 else tail
    return law


def margin_needed(sensitivity: float, epsilon: float, delta: float, beta: float) -> float:
    """Lead at which A_dist releases the best candidate except with probability beta.

    2 s (1 + log(1/(4 delta beta))/epsilon), for beta <= 1/2: free of the number of
    candidates.
    """
    beta = check_interval("beta", beta, 0.0, 0.5, high_open=False)
    delta = check_interval("delta", delta, 0.0, 0.5, high_open=False)
    return 2.0 * sensitivity * (1.0 - math.log(4.0 * delta * beta) / epsilon)
