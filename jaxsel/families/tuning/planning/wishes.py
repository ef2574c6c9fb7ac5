"""What a person asks of a search: how many runs, and how good the best of them."""

import math
from typing import NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.language.domains import number, probability, whole
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.repetitions.summaries import expected_quantile, quantile

_ROUNDING = 1e-9
_RUNS = number("E[K] at most, in base runs", at_least=1.0)
_RUNS_95 = whole("runs that 95 searches of 100 do not exceed", at_least=1)
_RANK = number("expected tail rank of the winner, at most", above=0.0, at_most=0.5)
_MOST = whole("runs that are never exceeded", at_least=1)
_GOOD = probability("share of the candidates that count as good")
_CHANCE = number("chance to hit a good one, at least", above=0.0, below=1.0)
_NONE = number("chance that nothing is released, at most", at_least=0.0, below=1.0)


class Utility(NamedTuple):
    """What a law of K is worth, before anything is trained.

    Attributes:
      mean_runs: E[K].
      runs_95: least N with P[K > N] <= 0.05.
      expected_quantile: of the winner among all candidates, E[1 - 1/(K + 1)].
      hit: chance that the winner is among the best share ``good``; NaN without a share.
      none: chance that nothing is run and released.
    """

    mean_runs: float
    runs_95: int
    expected_quantile: float
    hit: float
    none: float


def utility(law: Repetitions, good: float | None = None) -> Utility:
    """The numbers of a law of K (Papernot & Steinke 2022, Section 3.3).

    Args:
      law: of K.
      good: share of the candidates, drawn at random, that counts as good.
    """
    return Utility(
        law.mean,
        quantile(law, math.nextafter(0.05, 1.0)),
        expected_quantile(law),
        math.nan if good is None else float(law.pgf_gap(good)),
        law.probability_zero,
    )


class Wishes(NamedTuple):
    """Bounds on a law of K; None asks for nothing.

    Attributes:
      runs: E[K] at most.
      runs_95: N such that P[K > N] <= 0.05.
      rank: E[1/(K + 1)] at most: one minus the expected quantile of the winner.
      good: share of the candidates that counts as good.
      chance: to hit a good one, at least.
      none: chance that nothing is released, at most.
      most: N such that K <= N always.
    """

    runs: float | None = None
    runs_95: int | None = None
    rank: float | None = None
    good: float | None = None
    chance: float | None = None
    none: float | None = None
    most: int | None = None

    @property
    def asks_for_quality(self) -> bool:
        """Whether a law may be too bad, not only too dear."""
        return self.rank is not None or self.chance is not None

    def afforded(self, law: Repetitions) -> bool:
        """Whether the law runs no more than is wished."""
        return (
            (self.runs is None or law.mean <= self.runs * (1.0 + _ROUNDING))
            and (self.runs_95 is None or float(law.survival(self.runs_95)) <= 0.05)
            and (self.most is None or (law.maximum or math.inf) <= self.most)
        )

    def good_enough(self, law: Repetitions) -> bool:
        """Whether its winner is as good as is wished."""
        return (
            (self.rank is None or 1.0 - expected_quantile(law) <= self.rank + _ROUNDING)
            and (
                self.chance is None
                or self.good is None
                or float(law.pgf_gap(self.good)) >= self.chance - _ROUNDING
            )
            and (self.none is None or law.probability_zero <= self.none + _ROUNDING)
        )


def rank_reached(law: Repetitions) -> float:
    """The expected rank of its winner, and a little more: rounding must not refuse it."""
    return (1.0 - expected_quantile(law)) * (1.0 + 1e-9)


def read_wishes(
    *,
    runs: float | None = None,
    runs_95: int | None = None,
    rank: float | None = None,
    rank_of: str | Repetitions | None = None,
    good: float | None = None,
    chance: float | None = None,
    none: float | None = None,
    most: int | None = None,
) -> Wishes:
    """Wishes that can be met, by some law of K if not by one with a name.

    Args:
      runs, runs_95, rank, good, chance, none, most: as of Wishes.
      rank_of: a law of K, or its text, whose winner's rank is wished, or ``rank`` if that
        is less.

    Raises:
      InputError: for a number out of range, a chance without a share of good candidates,
        or wishes that no law of K meets; then with the nearest that one meets.
    """
    if rank_of is not None:
        reached = rank_reached(as_law(rank_of))
        rank = reached if rank is None else min(rank, reached)
    if chance is not None and good is None:
        raise InputError(
            "a chance is wished, but not of what; say which share of the candidates "
            "counts as good, e.g. good=0.05"
        )
    read = Wishes(
        runs=None if runs is None else _RUNS.read("runs", runs),
        runs_95=None if runs_95 is None else _RUNS_95.read("runs-95", runs_95),
        rank=None if rank is None else _RANK.read("rank", rank),
        good=None if good is None else _GOOD.read("good", good),
        chance=None if chance is None else _CHANCE.read("chance", chance),
        none=None if none is None else _NONE.read("none", none),
        most=None if most is None else _MOST.read("most", most),
    )
    _refuse_impossible(read)
    return read


def least_mean(wishes: Wishes) -> float:
    """E[K] that every law with this quality exceeds or equals.

    k -> 1/(k + 1) and k -> (1 - q)^k are convex, so that by Jensen's inequality no law
    of mean m ranks below 1/(m + 1), nor misses the best share q less than (1 - q)^m.
    """
    found = 0.0
    if wishes.rank is not None:
        found = max(found, 1.0 / wishes.rank - 1.0)
    if wishes.chance is not None and wishes.good is not None:
        found = max(found, math.log1p(-wishes.chance) / math.log1p(-wishes.good))
    return found


def _refuse_impossible(wishes: Wishes) -> None:
    least = least_mean(wishes)
    asked = (
        (
            f"an expected rank of {wishes.rank:g}"
            if wishes.chance is None
            else f"the best {wishes.good:g} hit with chance {wishes.chance:g}"
        )
        if wishes.asks_for_quality
        else ""
    )
    if wishes.runs is not None and least > wishes.runs * (1.0 + _ROUNDING):
        raise InputError(
            f"{asked} takes {least:.6g} runs on average, whatever the law of K; runs is "
            f"{wishes.runs:g}, so take runs >= {math.ceil(least * 100.0) / 100.0:g}"
        )
