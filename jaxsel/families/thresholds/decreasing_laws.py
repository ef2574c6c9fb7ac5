"""Liu & Talwar (2019), Algorithm 6: a threshold that is lowered instead of giving up.

The threshold is 1 - level/R. A draw that reaches it is released; after each failure the
level rises with probability gamma, from 0 to R. Every level costs privacy again, so the
loss grows with R (Appendix B.2).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import (
    InputError,
    check_finite,
    check_integer,
    check_interval,
    check_probability_vector,
)
from jaxsel.language.domains import number, whole

LEVELS = whole("R, how often the threshold is lowered, from 1 to 0", at_least=0, at_most=10_000)
GAMMA = number("chance to lower the threshold after a failure", at_least=0.0, at_most=1.0)


class LevelChances(NamedTuple):
    """The law of the level at which the search ends.

    Attributes:
      released: Float[np.ndarray, "levels"], probability of a release at each level.
      nothing: probability that the levels are exhausted first.
    """

    released: np.ndarray
    nothing: float


def thresholds(levels: int) -> np.ndarray:
    """(R - level)/R for level 0 to R, Float["levels+1"]; R = 0 gives 0 alone.

    Each is a rounded quotient, as a score written in decimals is, so that a score of
    0.29 reaches level 71 of 100; R subtractions of 1/R, or 0.29 times 100, would not.
    """
    levels = LEVELS.read("levels", levels)
    return np.arange(levels, -1, -1) / max(levels, 1)


def level_chances(passing: npt.ArrayLike, failing: npt.ArrayLike, gamma: float) -> LevelChances:
    """The law of the level at which a run is released.

    Args:
      passing: Float["levels"], P[score >= threshold] at each level, in order.
      failing: Float["levels"], the complements.
      gamma: chance of the next level after a failure, in [0, 1].

    Raises:
      InputError: if gamma is out of range, or 0 where no run passes the first level.
    """
    passing, failing = np.asarray(passing, np.float64), np.asarray(failing, np.float64)
    gamma = GAMMA.read("gamma", gamma)
    if gamma == 0.0 and passing[0] == 0.0:
        raise InputError("gamma is 0 and no run reaches the first threshold; take gamma > 0")
    # The probability that a draw leaves the level: it passes, or fails and lowers it.
    leaving = passing * (1.0 - gamma) + gamma * (passing + failing)
    leaving = np.where(leaving > 0.0, leaving, 1.0)  # gamma = 0: never reached
    lowered = np.cumprod(failing * gamma / leaving)
    reached = np.concatenate([[1.0], lowered[:-1]])
    return LevelChances(reached * passing / leaving, float(lowered[-1]))


def decreasing_threshold_law(
    probabilities: npt.ArrayLike, scores: npt.ArrayLike, levels: int, gamma: float
) -> np.ndarray:
    """Exact output law of Algorithm 6 on a finite base.

    Args:
      probabilities, scores: of the outcomes, in any order. Scores above 1 pass at once,
        those below 0 never.
      levels: R >= 0; R = 0 has the threshold 0 alone.
      gamma: chance to lower the threshold after a failure, in [0, 1].

    Returns:
      Float[np.ndarray, "outcomes+1"]; "nothing" last, which has probability 0 if no
      score is below 0.

    Raises:
      InputError: for a bad law or a parameter out of range.
    """
    q = check_probability_vector("probabilities", probabilities)
    scores = check_finite("scores", scores)
    if scores.shape != q.shape:
        raise InputError(
            f"there are {q.size} probabilities and {scores.size} scores; they must be equally many"
        )
    passes = scores >= thresholds(levels)[:, None]
    passing = passes @ q
    chances = level_chances(passing, ~passes @ q, gamma)
    share = np.divide(chances.released, passing, out=np.zeros_like(passing), where=passing > 0.0)
    return np.append(q * (share @ passes), chances.nothing)


def decreasing_threshold_pure(epsilon: float, levels: int) -> float:
    """(2 R + 1) epsilon: pure privacy of Algorithm 6 on scores >= 0.

    One epsilon for the released run, and two for each of R levels: one for the failure
    that lowers the threshold, one for how often the level is left at all; the last level
    is left at once. Attained by randomised response as gamma vanishes.
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, np.inf, low_open=False)
    return (2.0 * check_integer("levels", levels, 0) + 1.0) * epsilon
