"""Laws of classical mechanisms that choose one of several scores.

The exponential mechanism (McSherry & Talwar 2007), the generalised one for scores of
different sensitivities (Raskhodnikova & Smith 2016), and the margin-based A_dist (Smith
& Thakurta 2013; Beimel, Nissim & Stemmer 2013).
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.families.score_selection.parameters import (
    Beta,
    Candidates,
    Epsilon,
    Sensitivity,
    SmallBeta,
    SmallDelta,
)
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.signature import validated


def check_scores(scores: npt.ArrayLike) -> np.ndarray:
    """Scores as one list of float64; raises InputError otherwise."""
    scores = check_finite("scores", scores)
    if scores.ndim != 1:
        raise InputError("scores must be one list of numbers")
    return scores


def check_each_positive(name: str, values: npt.ArrayLike, size: int) -> np.ndarray:
    """Reads ``size`` positive numbers, or one for all; raises InputError for anything else."""
    array = check_finite(name, values)
    if array.shape not in ((), (size,)) or np.any(array <= 0.0):
        raise InputError(f"{name} must be {size} positive numbers, or one for all")
    return np.broadcast_to(array, size)


@validated
def exponential_law(
    scores: npt.ArrayLike, sensitivity: Sensitivity, epsilon: Epsilon
) -> np.ndarray:
    """The law of the exponential mechanism, Float64["candidates"].

    The probability of candidate i is proportional to exp(epsilon q_i/(2 s)).

    Args:
      scores: q_i, Float["candidates"].
      sensitivity: s, how much a score may change.
      epsilon: of the mechanism.
    """
    return special.softmax(epsilon / 2.0 * check_scores(scores) / sensitivity)


@validated
def exponential_loss(
    candidates: Candidates, sensitivity: Sensitivity, epsilon: Epsilon, beta: Beta
) -> float:
    """A bound on how far the exponential mechanism's choice is below the best score.

    It is (2 s/epsilon) log(K/beta), and holds with probability at least 1 - beta.

    Args:
      candidates: K, how many there are.
      sensitivity, epsilon: as in ``exponential_law``.
      beta: the failure probability.
    """
    return 2.0 * sensitivity / epsilon * math.log(candidates / beta)


@validated
def generalised_exponential_scores(
    scores: npt.ArrayLike, sensitivities: npt.ArrayLike, epsilon: Epsilon, beta: Beta
) -> np.ndarray:
    """The normalised scores, of sensitivity 1, of the generalised exponential mechanism.

    It applies the exponential mechanism to them. With t = (2/epsilon) log(K/beta) and
    v_i = q_i - t s_i, that of candidate i is the least (v_i - v_j)/(s_i + s_j) over j, which is at
    most 0, and 0 for the best v_i.

    Args:
      scores: q_i, Float["candidates"].
      sensitivities: s_i, one each or one for all.
      epsilon: of the mechanism.
      beta: failure probability of the bound ``generalised_exponential_loss``.
    """
    scores = check_scores(scores)
    s = check_each_positive("sensitivities", sensitivities, scores.size)
    t = exponential_loss(scores.size, 1.0, epsilon, beta)
    v = scores - t * s
    return np.min((v[:, None] - v) / (s[:, None] + s), axis=1)


@validated
def generalised_exponential_law(
    scores: npt.ArrayLike, sensitivities: npt.ArrayLike, epsilon: Epsilon, beta: Beta
) -> np.ndarray:
    """The law of the generalised exponential mechanism (Raskhodnikova & Smith 2016).

    Args:
      scores, sensitivities, epsilon, beta: as in ``generalised_exponential_scores``.

    Returns:
      Float64["candidates"].
    """
    normalised = generalised_exponential_scores(scores, sensitivities, epsilon, beta)
    return exponential_law(normalised, 1.0, epsilon)


@validated
def generalised_exponential_loss(
    scores: npt.ArrayLike, sensitivities: npt.ArrayLike, epsilon: Epsilon, beta: Beta
) -> float:
    """A bound on how far the generalised exponential mechanism's choice is below the best score.

    It is the least q* - q_j + (4 s_j/epsilon) log(K/beta) over j, where q* is the best score, and
    holds with probability at least 1 - beta.

    Args:
      scores, sensitivities, epsilon, beta: as in ``generalised_exponential_scores``.
    """
    scores = check_scores(scores)
    s = check_each_positive("sensitivities", sensitivities, scores.size)
    t = exponential_loss(scores.size, 1.0, epsilon, beta)
    return float(np.min(scores.max() - scores + 2.0 * t * s))


@validated
def margin_law(
    scores: npt.ArrayLike, sensitivity: Sensitivity, epsilon: Epsilon, delta: SmallDelta
) -> np.ndarray:
    """The law of A_dist, which releases the best candidate if it leads by enough, else nothing.

    It releases if lead/(2 s) - 1 + Lap(1/epsilon) > log(1/(2 delta))/epsilon, where the lead is
    the best score minus the second best. If neighbours have different best candidates, both leads
    are at most 2 s, and the probability of a release is at most delta; otherwise the release
    depends only on the lead, of sensitivity 2 s. Of equal scores the first counts as the best.

    Args:
      scores: Float["candidates"], at least two.
      sensitivity: s, how much a score may change.
      epsilon, delta: of the mechanism.

    Returns:
      Float64["candidates+1"]; the last entry is the probability of no release.
    """
    scores = check_scores(scores)
    if scores.size < 2:
        raise InputError("scores must hold at least two numbers")
    second, first = np.partition(scores, -2)[-2:]
    need = -math.log(2.0 * delta) - epsilon * ((first - second) / (2.0 * sensitivity) - 1.0)
    tail = 0.5 * math.exp(-abs(need))
    law = np.zeros(scores.size + 1)
    law[int(np.argmax(scores))] = tail if need > 0.0 else 1.0 - tail
    law[-1] = 1.0 - tail if need > 0.0 else tail
    return law


@validated
def margin_needed(
    sensitivity: Sensitivity, epsilon: Epsilon, delta: SmallDelta, beta: SmallBeta
) -> float:
    """The lead at which A_dist releases the best candidate with probability 1 - beta.

    It is 2 s (1 + log(1/(4 delta beta))/epsilon), whatever the number of candidates.

    Args:
      sensitivity, epsilon, delta: as in ``margin_law``.
      beta: the probability that it releases nothing.
    """
    return 2.0 * sensitivity * (1.0 - math.log(4.0 * delta * beta) / epsilon)
