"""Exact laws of private amplification with dummies (Liu & Talwar 2019, Appendix C).

N candidates each give a score, which is capped at tau. The exponential mechanism with parameter
epsilon_2 chooses among them and one dummy, which has score tau and the weight 1 + 1/gamma of so
many dummies of the paper; as 1/gamma need not be whole, this weight is a real number (LT-E16).
What is released is the chosen score, or "dummy".
"""

import itertools
import math
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.families.amplification.parameters import Candidates, Gamma, ScoreEpsilon, Threshold
from jaxsel.families.sparse_vector.halting_law import binomial_counts
from jaxsel.host.errors import NoLawError, check_finite, check_probability_vector
from jaxsel.language.domains import number, whole
from jaxsel.language.signature import validated

_MOST = 200_000  # rows of counts; a law of 4 values takes 5,456 of them for N = 30
_Share = Annotated[float, number(at_least=0.0, at_most=1.0)]


@validated
def capped_weights(
    scores: npt.ArrayLike, threshold: Threshold, score_epsilon: ScoreEpsilon
) -> np.ndarray:
    """The weight of each score in the selection, exp(epsilon_2 (min(score, tau) - tau)).

    Args:
      scores: Float["scores"], the values that a score may have.
      threshold: tau, at which scores are capped.
      score_epsilon: epsilon_2; if infinite, scores >= tau have weight 1 and all others 0.

    Returns:
      Float64["scores"], in [0, 1].
    """
    scores = check_finite("scores", scores)
    short = np.minimum(scores - threshold, 0.0)
    if math.isinf(score_epsilon):
        return (short == 0.0).astype(np.float64)
    return np.exp(score_epsilon * short)


@validated
def compositions(total: Candidates, parts: Annotated[int, whole(at_least=1)]) -> np.ndarray:
    """All ways in which ``total`` draws can be divided among ``parts`` values.

    Returns:
      Int["rows parts"]: in each row the number of draws of each value, which add up to total.

    Raises:
      NoLawError: if there are more than 200,000 rows.
    """
    rows = math.comb(total + parts - 1, parts - 1)
    if rows > _MOST:
        raise NoLawError(
            f"{parts} scores and {total} candidates have {rows} possible counts; at "
            f"most {_MOST} are enumerated, so take fewer scores or candidates, or simulate them by "
            "method=literal"
        )
    # Stars and bars: the numbers of positions between successive bars are the counts.
    bars = itertools.combinations(range(total + parts - 1), parts - 1)
    flat = np.fromiter(itertools.chain.from_iterable(bars), np.int64)
    places = flat.reshape(rows, parts - 1)
    first, last = np.full((rows, 1), -1), np.full((rows, 1), total + parts - 1)
    return np.diff(np.hstack([first, places, last]), axis=1) - 1


def chosen_law(counts, chances, weights: np.ndarray, gamma: float) -> np.ndarray:
    """Probability that each score value is chosen, averaged over the counts of candidates.

    Args:
      counts: Int["rows values"], how many candidates have each value.
      chances: Float["rows"], the probability of each row of counts.
      weights: Float["values"], ``capped_weights``.
      gamma: inverse number of dummies.

    Returns:
      Float["values+1"], the dummy last.
    """
    dummy = 1.0 + 1.0 / gamma
    masses = np.column_stack([counts * weights, np.full(len(counts), dummy)])
    return chances @ (masses / masses.sum(axis=1, keepdims=True))


def multinomial_chances(counts: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The multinomial probability of each row of counts.

    Args:
      counts: Int["rows values"], each row with the same sum, the number of draws.
      q: Float["values"], the probability of each value in one draw.

    Returns:
      Float["rows"].
    """
    total = counts[0].sum()
    log = special.gammaln(total + 1.0) - special.gammaln(counts + 1.0).sum(axis=1)
    return np.exp(log + special.xlogy(counts, q).sum(axis=1))


@validated
def amplified_law(
    probabilities: npt.ArrayLike, weights: npt.ArrayLike, candidates: Candidates, gamma: Gamma
) -> np.ndarray:
    """Exact law of the chosen score if all candidates' scores have the same law.

    It is the average over all counts of candidates by score.

    Args:
      probabilities: Float["scores"], the law of a candidate's score.
      weights: Float["scores"], the ``capped_weights`` of the scores.
      candidates: N, how many there are.
      gamma: inverse number of dummies.

    Returns:
      Float[np.ndarray, "scores+1"], the dummy last.
    """
    q = check_probability_vector("probabilities", probabilities)
    counts = compositions(candidates, q.size)
    chances = multinomial_chances(counts, q)
    return chosen_law(counts, chances, np.asarray(weights, np.float64), gamma)


def count_chances(laws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of several independent candidates have each value, with probabilities.

    Args:
      laws: Float["candidates values"], the law of each candidate's value.

    Returns:
      Int["rows values"], all possible counts, and Float["rows"], their probabilities.

    Raises:
      NoLawError: for so many candidates or values that the table of counts would be too large.
    """
    number, size = laws.shape
    counts = compositions(number, size)
    if (number + 1) ** (size - 1) > 100 * _MOST:
        raise NoLawError(f"{number} different candidates of {size} scores are too many; take fewer")
    # chances[n_1, ..., n_(size-1)] after each candidate; the last count is the rest.
    chances = np.zeros((number + 1,) * (size - 1))
    chances[(0,) * (size - 1)] = 1.0
    for law in laws:
        grown = law[-1] * chances
        for axis in range(size - 1):
            # Rolling never wraps a nonzero entry: counts are at most ``number``.
            grown += law[axis] * np.roll(chances, 1, axis=axis)
        chances = grown
    return counts, chances[tuple(counts[:, :-1].T)]


@validated
def amplified_law_of_different(
    probabilities: npt.ArrayLike, weights: npt.ArrayLike, gamma: Gamma
) -> np.ndarray:
    """Exact law of the chosen score if each candidate's score has a law of its own.

    Args:
      probabilities: Float["candidates scores"], a law in each row.
      weights, gamma: as in ``amplified_law``.

    Returns:
      Float[np.ndarray, "scores+1"], the dummy last.
    """
    laws = np.array(
        [check_probability_vector("probabilities", q) for q in np.asarray(probabilities)]
    )
    counts, chances = count_chances(laws)
    return chosen_law(counts, chances, np.asarray(weights, np.float64), gamma)


@validated
def two_value_amplified_law(
    gamma: Gamma, candidates: Candidates, chance: _Share, weight: _Share
) -> np.ndarray:
    """Exact law of the choice among many candidates whose scores have one of two values.

    Args:
      gamma: inverse number of dummies.
      candidates: how many there are.
      chance: probability that a score reaches the threshold.
      weight: exp(epsilon_2 (score - tau)) of a score that does not.

    Returns:
      Float[np.ndarray, "3"]: the dummy, a score at the threshold, one below it.
    """
    high, low, weights = binomial_counts(candidates, chance)
    dummies = 1.0 + 1.0 / gamma
    share = weights / (dummies + high + low * weight)
    parts = np.array([np.full_like(high, dummies), high, low * weight])
    return parts @ share
