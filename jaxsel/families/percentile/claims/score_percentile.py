"""Liu & Talwar 2019, Appendix B.3: releasing a percentile of the scores."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.families.percentile.score_percentile_laws import (
    median_loss_lower,
    percentile_law,
    random_rank_loss_lower,
)
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.papers import LT

Shift = Annotated[float, probability("e, the two models having probability (1 +- e)/2")]
Count = Annotated[int, whole("N", at_least=1)]


def _shifted(shift: float) -> pairs.LawPair:
    return pairs.bernoulli((1.0 + shift) / 2.0, (1.0 - shift) / 2.0)


def _percentile_loss(shift: float, count: int, rank) -> float:
    """log ratio of the chances to release the worse model."""
    first, second = (percentile_law(side, count, rank)[1] for side in _shifted(shift))
    return math.log(second / first)


def _percentile_hope(*, epsilon: Annotated[float, positive("of one run")] = 0.2) -> float:
    """3 epsilon, as random stopping has, hoped for with any number of runs."""
    return 3.0 * epsilon


def _percentile_hope_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for shift in (0.1, 0.5):
        epsilon = 2.0 * math.atanh(shift)
        for rank in ("median", "random"):
            for count in (11, 101, 1001):
                seen = _percentile_loss(shift, count, rank)
                where = f"(1 +- {shift:g})/2, {rank} of {count} runs"
                yield _percentile_hope(epsilon=epsilon), seen, where


def _median(*, shift: Shift = 0.1, count: Count = 101) -> float:
    """Least loss (N/2) log(1/(1 - e^2)) - log 2 of the median of N runs, N odd."""
    return median_loss_lower(count, shift)


def _random_rank(*, shift: Shift = 0.1, count: Count = 101) -> float:
    """Least loss (N/2) log(1/(1 - e^2)) + log(e N/(N + 1)) with a random rank."""
    return random_rank_loss_lower(count, shift)


def _percentile_cases(rank: str, bound):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(0.1, 101), (0.1, 1001), (0.01, 10_001), (0.5, 11), (0.5, 1)]
        for _ in range(min(budget.cases, 100)):
            settings.append((float(generator.uniform(0.01, 0.7)), int(generator.integers(1, 400))))
        for shift, count in settings:
            count += rank == "median" and count % 2 == 0
            seen = _percentile_loss(shift, count, rank)
            where = f"(1 +- {shift!r})/2, {rank} of {count} runs"
            yield bound(shift=shift, count=count), seen, where

    return cases


STATEMENTS = (
    LT.privacy(
        "LT-B.3-hope",
        "Appendix B.3, against it",
        "Releasing the run of median score, or of a random rank up to it, of N "
        "epsilon-DP runs costs at most 3 epsilon, as random stopping does.",
        Relation.BASE,
        _percentile_hope,
        at_most(_percentile_hope_cases),
        holds=False,
        correction="The loss grows in proportion to N: LT-B.3, LT-B.3-random-rank.",
    ),
    LT.privacy(
        "LT-B.3",
        "Appendix B.3",
        "With two models of probabilities (1 +- e)/2, swapped on the neighbour, "
        "releasing the median of an odd number N of runs loses at least (N/2) "
        "log(1/(1-e^2)) - log 2, without bound.",
        Relation.BASE,
        _median,
        at_least(_percentile_cases("median", _median)),
    ),
    LT.privacy(
        "LT-B.3-random-rank",
        "Appendix B.3, last sentence",
        "The same with the k-th best of N runs, k uniform on 1 to ceil(N/2): at least "
        "(N/2) log(1/(1-e^2)) + log(e N/(N+1)), without bound.",
        Relation.BASE,
        _random_rank,
        at_least(_percentile_cases("random", _random_rank)),
    ),
)
