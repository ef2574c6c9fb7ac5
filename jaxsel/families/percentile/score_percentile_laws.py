"""Laws of releasing the run at a percentile of the scores (Liu & Talwar 2019, Appendix B.3).

Of N runs the k-th best is released, where k is fixed (that of the median, for example) or uniform
on 1, ..., ceil(N/2). Neither is private: the privacy loss grows in proportion to N.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.families.percentile.parameters import Count, FewRuns, Lead, Rank
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.signature import validated


@validated
def rank_range(count: Count, rank: Rank) -> tuple[int, int]:
    """The lowest and the highest of the ranks k among which one is drawn; 1 is the best.

    Args:
      count: N, how many runs are made.
      rank: "median" for ceil(N/2), "random" for any of 1 to ceil(N/2), or k itself.

    Raises:
      InputError: for a rank beyond the number of runs.
    """
    half = (count + 1) // 2
    if rank == "median":
        return half, half
    if isinstance(rank, str):
        return 1, half
    if rank > count:
        raise InputError(f"rank is {rank}; it must be at most the {count} runs")
    return rank, rank


@validated
def percentile_law(
    q_best_first: npt.ArrayLike, count: FewRuns, rank: Rank = "median"
) -> np.ndarray:
    """The exact law of the k-th best of N draws.

    The k-th best is among the outcomes 0 to i if at least k draws are. Both tails of this
    binomial law are computed and the smaller one is used, so that rare outcomes keep their
    relative accuracy.

    Args:
      q_best_first: Float["outcomes"], probabilities of the outcomes, best first.
      count: N, how many draws are made.
      rank: see ``rank_range``.

    Returns:
      Float[np.ndarray, "outcomes"].
    """
    q = check_probability_vector("q_best_first", q_best_first)
    low, high = rank_range(count, rank)
    k = np.arange(low, high + 1)[:, None]
    better = np.minimum(np.concatenate([[0.0], np.cumsum(q)]), 1.0)
    worse = np.minimum(np.concatenate([[0.0], np.cumsum(q[::-1])]), 1.0)[::-1]
    better[-1] = worse[0] = 1.0
    reached = special.betainc(k, count - k + 1, better)
    missed = special.betainc(count - k + 1, k, worse)
    # Differences of the smaller of the two tails.
    rising, falling = np.diff(reached), -np.diff(missed)
    law = np.where(reached[:, 1:] < missed[:, :-1], rising, falling)
    return law.mean(axis=0)


def _shift_loss(count: int, shift: float) -> float:
    """The part of both lower bounds that grows with N: (N/2) log(1/(1 - shift^2))."""
    return -0.5 * count * math.log1p(-shift * shift)


@validated
def median_loss_lower(count: Count, shift: Lead) -> float:
    """A lower bound on the privacy loss of releasing the median of an odd number N of draws.

    The draws are of two models whose probabilities (1 +- shift)/2 are swapped on the neighbour.
    The bound is (N/2) log(1/(1 - shift^2)) - log 2: the median is the worse model with probability
    at least 1/2 on one side, and at most (1 - shift^2)^(N/2) on the other (Chernoff).
    """
    return _shift_loss(count, shift) - math.log(2.0)


@validated
def random_rank_loss_lower(count: Count, shift: Lead) -> float:
    """A lower bound on the privacy loss of releasing a run of uniform rank up to ceil(N/2).

    The draws are as in ``median_loss_lower``. The bound is (N/2) log(1/(1 - shift^2)) + log(shift
    N/(N + 1)): on one side the worse model is released with probability E(M - X)_+/M >= shift
    N/(2 M), where X draws are of the better one and M = ceil(N/2) <= (N + 1)/2.
    """
    loss = _shift_loss(count, shift)
    return loss + math.log(shift * count / (count + 1.0))
