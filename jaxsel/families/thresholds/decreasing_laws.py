"""Liu & Talwar (2019), Algorithm 6: a threshold that is lowered instead of giving up.

The threshold is 1 - level/R, and the level starts at 0. A draw that reaches the threshold is
released; after each failure the level rises by 1 with probability gamma, and nothing is released
once it exceeds R. Every level costs privacy again, so the loss grows with R (Appendix B.2).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.families.thresholds.parameters import Epsilon, FewLevels, Levels, Lowering
from jaxsel.host.errors import InputError, check_finite, check_probability_vector
from jaxsel.language.signature import validated


class LevelChances(NamedTuple):
    """The law of the level at which the search ends.

    Attributes:
      released: Float[np.ndarray, "levels"], probability that a run is released at each level.
      nothing: probability that the last level is left without a release.
    """

    released: np.ndarray
    nothing: float


@validated
def thresholds(levels: FewLevels) -> np.ndarray:
    """The threshold at each level, from 1 down to 0, Float["levels+1"]; 0 alone if R = 0.

    Each is the float64 nearest to a quotient of whole numbers, so that it equals a score that is
    written in decimals: a score of 0.29 reaches level 71 of 100. It would not with thresholds made
    by subtracting 1/R repeatedly, nor if 0.29 times 100 were compared with 29.
    """
    return np.arange(levels, -1, -1) / max(levels, 1)


@validated
def level_chances(passing: npt.ArrayLike, failing: npt.ArrayLike, gamma: Lowering) -> LevelChances:
    """The law of the level at which a run is released.

    Args:
      passing: Float["levels"], P[score >= threshold] at each level, in order.
      failing: Float["levels"], P[score < threshold] at each level.
      gamma: chance of the next level after a failure.

    Raises:
      InputError: if gamma is 0 where no run passes the first level.
    """
    passing, failing = np.asarray(passing, np.float64), np.asarray(failing, np.float64)
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
    """The exact law of what Algorithm 6 releases, on a finite base.

    Args:
      probabilities, scores: Float["outcomes"], of the outcomes of one run, in any order. Scores
        above 1 pass at every level, those below 0 at none.
      levels: R, how often the threshold is lowered; R = 0 has the threshold 0 alone.
      gamma: chance to lower the threshold after a failure.

    Returns:
      Float[np.ndarray, "outcomes+1"], the probability of each outcome, and last that of
      "nothing", which is 0 if no score is below 0.

    Raises:
      InputError: for a bad law, or gamma = 0 where no run passes the first level.
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


@validated
def decreasing_threshold_pure(epsilon: Epsilon, levels: Levels) -> float:
    """The pure epsilon of Algorithm 6 on scores >= 0: (2 R + 1) epsilon.

    A level with passing probability p is left for the next one with probability (1 - p) gamma/(p (1
    - gamma) + gamma). Numerator and denominator change by e^epsilon each, so each of the R levels
    above the last costs two epsilons. The released run costs one more; at the last level, whose
    threshold is 0, every run passes. Randomised response attains the sum as gamma vanishes
    (LT-Alg6-attained).
    """
    return (2.0 * levels + 1.0) * epsilon
