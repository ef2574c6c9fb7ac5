"""Claims of Liu & Talwar 2019, Appendix B.3: releasing a percentile of scores is not private."""

import itertools
import math
from typing import Annotated

from jaxsel.accounting.single_run import pairs
from jaxsel.families.percentile.parameters import Count, Lead
from jaxsel.families.percentile.score_percentile_laws import (
    median_loss_lower,
    percentile_law,
    random_rank_loss_lower,
)
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, grid, listed
from jaxsel.language.domains import positive
from jaxsel.language.papers import LT


def _percentile_loss(shift: float, count: int, rank) -> float:
    """The privacy loss of releasing the worse of two models, whose probabilities are swapped.

    Args:
      shift: e, where the models have probabilities (1 +- e)/2.
      count: N.
      rank: "median" or "random".
    """
    sides = pairs.bernoulli((1.0 + shift) / 2.0, (1.0 - shift) / 2.0)
    first, second = (percentile_law(side, count, rank)[1] for side in sides)
    return math.log(second / first)


@LT.privacy(
    "LT-B.3-hope",
    "Appendix B.3, against it",
    Relation.BASE,
    holds=False,
    correction="The loss grows in proportion to N: LT-B.3, LT-B.3-random-rank.",
)
def hope(*, epsilon: Annotated[float, positive("of one run")] = 0.2) -> float:
    """It costs at most 3 epsilon, as random stopping does, to release the run of median score of N
    runs that are epsilon-DP each, or the run of a random rank up to it."""
    return 3.0 * epsilon


@hope.bounds()
def many_runs(budget):
    for point in grid(shift=(0.1, 0.5), rank=("median", "random"), count=(11, 101, 1001))(budget):
        seen = _percentile_loss(**point)
        yield {"epsilon": 2.0 * math.atanh(point["shift"])}, seen, f"{point}"


@LT.privacy("LT-B.3", "Appendix B.3", Relation.BASE)
def median(*, shift: Lead = 0.1, count: Count = 101) -> float:
    """With two models of probabilities (1 +- e)/2, swapped on the neighbour, releasing the median
    of an odd number N of runs loses at least (N/2) log(1/(1-e^2)) - log 2, without bound."""
    return median_loss_lower(count, shift)


@LT.privacy("LT-B.3-random-rank", "Appendix B.3, last sentence", Relation.BASE)
def random_rank(*, shift: Lead = 0.1, count: Count = 101) -> float:
    """With two models of probabilities (1 +- e)/2, swapped on the neighbour, releasing the k-th
    best of N runs, k uniform on 1 to ceil(N/2), loses at least (N/2) log(1/(1-e^2)) + log(e
    N/(N+1)), without bound."""
    return random_rank_loss_lower(count, shift)


def _setting(generator):
    """Random e and N."""
    shift = float(generator.uniform(0.01, 0.7))
    return shift, int(generator.integers(1, 400))


_SETTINGS = (
    listed("shift count", (0.1, 101), (0.1, 1001), (0.01, 10_001), (0.5, 11), (0.5, 1)),
    drawn("shift count", _setting, 100),
)


def _odd(budget):
    """The same settings, with even numbers of runs made odd."""
    for point in itertools.chain.from_iterable(points(budget) for points in _SETTINGS):
        yield point | {"count": point["count"] + (point["count"] % 2 == 0)}


median.bounds_below(_odd, rank="median")(_percentile_loss)
random_rank.bounds_below(*_SETTINGS, rank="random")(_percentile_loss)
