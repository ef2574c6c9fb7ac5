"""Wishes for a search: the number of runs, and the quality of the best one."""

import math
from typing import Annotated, Any, NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.language.domains import number, parsed, probability, whole
from jaxsel.language.parts import read_parts
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions, as_law, parse
from jaxsel.repetitions.summaries import expected_quantile, quantile

_ROUNDING = 1e-9
# The laws that are tried have means up to this: an answer to more would be one to this.
MOST_MEAN = 1e6
_RUNS = number("E[K] at most, in base runs", at_least=1.0, at_most=MOST_MEAN)
_RUNS_95 = whole("runs that 95 searches of 100 do not exceed", at_least=1, at_most=1e7)
_MOST = whole("runs that are never exceeded", at_least=1, at_most=1e15)
WINNER = {
    "good": probability("share of the candidates that count as good"),
    "chance": number("chance to hit a good one, at least", above=0.0, below=1.0),
    "rank": number("expected tail rank of the winner, at most", above=0.0, at_most=0.5),
    "rank_of": parsed(parse, 'a law of K such as "poisson:mean=10"', "law as good as which"),
    "none": number("chance that nothing is released, at most", at_least=0.0, below=1.0),
}
"""What may be wished of the winner: the parts of ``winner=`` and ``--winner``."""


class Utility(NamedTuple):
    """The utility of a law of K, before anything is trained.

    Attributes:
      mean_runs: E[K].
      runs_95: least N with P[K > N] <= 0.05.
      expected_quantile: of the winner among all candidates, E[1 - 1/(K + 1)].
      hit: probability that the winner is among the best fraction ``good``; NaN if not
        given.
      none: probability that nothing is run and released.
    """

    mean_runs: float
    runs_95: int
    expected_quantile: float
    hit: float
    none: float


def utility(law: Repetitions, good: float | None = None) -> Utility:
    """The numbers of a law of K (Papernot & Steinke 2022, Section 3.3).

    Args:
      law: the law of K.
      good: fraction of the candidates, drawn at random, that counts as good.
    """
    return Utility(
        law.mean,
        quantile(law, math.nextafter(0.05, 1.0)),
        expected_quantile(law),
        math.nan if good is None else float(law.pgf_gap(good)),
        law.probability_zero,
    )


class Wishes(NamedTuple):
    """Bounds on a law of K; None for no bound.

    Attributes:
      runs: largest E[K].
      runs_95: N such that P[K > N] <= 0.05.
      rank: largest E[1/(K + 1)]: one minus the expected quantile of the winner.
      good: fraction of the candidates that counts as good.
      chance: least probability to select a good one.
      none: largest probability that nothing is released.
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
        """Whether there is a wish for quality, not only for the number of runs."""
        return self.rank is not None or self.chance is not None

    def afforded(self, law: Repetitions) -> bool:
        """Whether the law meets the wishes for the number of runs."""
        return (
            (self.runs is None or law.mean <= self.runs * (1.0 + _ROUNDING))
            and (self.runs_95 is None or float(law.survival(self.runs_95)) <= 0.05)
            and (self.most is None or (law.maximum or math.inf) <= self.most)
        )

    def good_enough(self, law: Repetitions) -> bool:
        """Whether the law meets the wishes for quality."""
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
    """The expected rank of its winner, slightly increased so that rounding does not refuse it."""
    return (1.0 - expected_quantile(law)) * (1.0 + 1e-9)


def read_winner(winner: object) -> dict[str, Any]:
    """What is wished of the winner, by the names of ``WINNER``; empty if nothing is.

    Raises:
      InputError: for another part.
    """
    return {} if winner is None else read_parts("winner", winner, WINNER, nested=("rank_of",))


@validated
def read_wishes(
    *,
    runs: Annotated[float | None, _RUNS] = None,
    runs_95: Annotated[int | None, _RUNS_95] = None,
    most: Annotated[int | None, _MOST] = None,
    winner: object = None,
) -> Wishes:
    """Parses wishes, and checks that some law of K meets them.

    Args:
      runs, runs_95, most: as in Wishes.
      winner: parts of ``WINNER``, as one text or a mapping: rank, good, chance and none as in
        Wishes; rank_of is a law of K, or its text: ``rank`` is at most the rank of its winner.

    Raises:
      InputError: for ``chance`` without ``good``, or wishes that no law of K meets; then with
        the nearest feasible ones.
    """
    wished = read_winner(winner)
    like = wished.pop("rank_of", None)
    if like is not None:
        reached = rank_reached(as_law(like))
        wished["rank"] = min(wished.get("rank", reached), reached)
    if "chance" in wished and "good" not in wished:
        raise InputError(
            "a chance is wished, but not of what; say which share of the candidates "
            "counts as good, e.g. good=0.05"
        )
    read = Wishes(runs=runs, runs_95=runs_95, most=most, **wished)
    _refuse_impossible(read)
    return read


def least_mean(wishes: Wishes) -> float:
    """A lower bound on E[K] for every law with this quality.

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
        most = f"; at most {MOST_MEAN:g} are tried, so ask for less"
        if least <= MOST_MEAN:
            most = f", so take runs >= {math.ceil(least * 100.0) / 100.0:g}"
        raise InputError(
            f"{asked} takes {least:.6g} runs on average, whatever the law of K; runs is "
            f"{wishes.runs:g}{most}"
        )
