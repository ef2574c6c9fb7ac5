"""What a private search guarantees, for those who train it and for those who score it."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee, points_text
from jaxsel.accounting.single_run.dominating import LARGEST_EPSILON
from jaxsel.host.errors import InputError
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.language.relations import neighbours
from jaxsel.questions.cost import Cost
from jaxsel.questions.released import Released
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.base_forms import guarantee_of, profile_of, together
from jaxsel.tuning.composing_searches import Release

if TYPE_CHECKING:
    from jaxsel.reports.statement import Subject

SCORED = {
    "public": "scores are computed from data that the user declares public",
    "validation": "records that are scored train in no run",
    "training": "the records that train are scored, too",
}
"""What data scores are computed from, as the user declares it."""

STOPPING = {
    "fixed": "the length of a run is fixed before it",
    "own trajectory": "a run may stop by a rule on its own private trajectory, fixed before it",
}
"""What ends a run, as the user declares it."""

RANDOMNESS = {
    "system": "a run that is lost has failed, whether one fails is covered by what it guarantees, "
    "and none is stopped by hand for what the data make of it",
    "run.seed": "all that a run draws is drawn from its seed, so that a lost one is repeated as it "
    "was, and whether one fails is covered by what it guarantees",
}
"""Where the random numbers of a run come from, as the user declares it."""

NUMBERS = (
    "whether a run has a score, and this is a number, does not depend on one of the scored records"
)
UNTRAINED = "no private records are trained on"
SETTINGS = "candidates and settings were chosen without these records"
COPIES = "a copy of the search's folder that goes on is another release"
SIMULATION = "SIMULATION: who knows the seed has no privacy"
EARLIER = (
    "jaxsel 0.2.0 began the search, and made no lost run again whose noise is not from its seed"
)


def looked_at(score: BaseGuarantee, times: int) -> BaseGuarantee:
    """The guarantee of several noisy scores of one run."""
    return together([(score, times)])


def as_text(base: BaseGuarantee) -> str:
    """A text from which ``guarantee_of`` reads the base, whatever becomes of other files.

    Of a base that has none it lists the profile at every loss of the dominating pairs, between
    which the profile of these is what the text is read as.
    """
    try:
        guarantee_of(base.name)
    except InputError:
        pass
    else:
        if "opacus:" not in base.name:  # the text would name a file
            return base.name
    losses = np.concatenate([pair.loss for pair in base.pairs()])
    epsilons = np.unique(np.append(losses[(losses >= 0.0) & (losses <= LARGEST_EPSILON)], 0.0))
    deltas = np.minimum.accumulate(np.clip(profile_of(base, epsilons), 0.0, 1.0))
    # Nothing is known of epsilons beyond the last of the points.
    kept = slice(0, int(np.count_nonzero(deltas > _NEGLIGIBLE)) + 1)
    return points_text(epsilons[kept], deltas[kept])


# Deltas up to it are not told from 0 in a text.
_NEGLIGIBLE = 1e-30


class Part(NamedTuple):
    """What is released of one kind of record.

    Attributes:
      whose: "training records", "validation records" or "records".
      released: one search, or the runs of an adaptive one.
    """

    whose: str
    released: Released


def parts(
    base: BaseGuarantee | None,
    scores: Sequence[BaseGuarantee],
    scored: str,
    law: Repetitions | None,
    runs: int,
    refit: BaseGuarantee | None = None,
) -> tuple[Part, ...]:
    """What a search releases of the records that train and of those that are scored.

    Args:
      base: of one run; None if no private records are trained on.
      scores: of one run's noisy scores; empty if they are public.
      scored: one of ``SCORED``.
      law: of K; None if all of ``runs`` are released.
      refit: of one more training of the winner, on all records.
    """
    again = [] if refit is None else [Release(refit)]

    def of(one: BaseGuarantee) -> Released:
        return Released([Release(one, law, runs), *again])

    if base is None:
        return (Part("scored records", of(scores[0])),)
    if not scores:
        return (Part("training records", of(base)),)
    if scored == "training":
        return (Part("records", of(together([(base, 1), (scores[0], 1)]))),)
    return (Part("training records", of(base)), Part("validation records", of(scores[0])))


@printed
class SearchGuarantee(NamedTuple):
    """The guarantee of a private search.

    Attributes:
      costs: for each kind of record, whose it is and what is proved for it.
      declared: what the guarantee takes from the user's declarations, in sentences.
      watchers: what those learn who watch the search run, in a sentence.
      data, total: the name of the data set and the epsilon of all its searches together, by
        the ledger; None and NaN without one.
      together: what the ledger proves of all searches, and what that assumes, in sentences.
    """

    costs: tuple[tuple[str, Cost], ...]
    declared: tuple[str, ...]
    watchers: str
    data: str | None = None
    total: float = math.nan
    together: tuple[str, ...] = ()

    @property
    def worst(self) -> Cost:
        """The cost for the kind of record that pays most."""
        return max((cost for _, cost in self.costs), key=lambda cost: cost.epsilon)

    @property
    def epsilon(self) -> float:
        """Proved for every record."""
        return self.worst.epsilon

    @property
    def delta(self) -> float:
        """At which epsilon is proved."""
        return self.worst.delta

    @property
    def theorem(self) -> str:
        """The id of the claim that proves it."""
        return self.worst.best.theorem

    @property
    def relation(self) -> str | None:
        """Which data sets are neighbours; None if that was not stated."""
        return self.worst.relation

    def subject(self) -> "Subject":
        """What a report on this search describes."""
        from jaxsel.reports.reading import both_parts
        from jaxsel.reports.statement import Part as ReportPart

        (_, first), *others = self.costs
        if not others:
            return first.subject()
        one, other = (ReportPart(whose, cost.releases) for whose, cost in self.costs)
        bests = (first.best, others[0][1].best)
        return both_parts("account", (one, other), self.delta, bests, first.relation)

    def sentences(self) -> list[str]:
        """The guarantee, what it rests on, and what it does not cover."""
        best = self.worst.best
        said = [
            f"What is released is ({rounded_up(self.epsilon):g}, {self.delta:g})-differentially "
            f"private, by {best.theorem}: {best.statement}."
        ]
        said += [
            f"For {whose}: ({rounded_up(cost.epsilon):g}, {cost.delta:g})."
            for whose, cost in self.costs
            if len(self.costs) > 1
        ]
        said += [
            neighbours(self.relation),
            f"Declared: {'; '.join(self.declared)}.",
            self.watchers,
            *self.together,
        ]
        return said

    def summary(self) -> Summary:
        """The sentences, and every bound that is not vacuous."""
        rows = [
            [whose, cost.epsilon, cost.best.theorem, _described(cost)] for whose, cost in self.costs
        ]
        columns = ("for", "epsilon", "theorem", "released")
        return Summary("\n".join(self.sentences()), columns, rows)

    def as_record(self) -> Mapping[str, Any]:
        """Names and numbers, ready for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "theorem": self.theorem,
            "statement": self.worst.best.statement,
            "relation": self.relation,
            "parts": [
                {"for": whose, "epsilon": cost.epsilon, "released": _described(cost)}
                for whose, cost in self.costs
            ],
            "declared": list(self.declared),
            "watchers": self.watchers,
            "data": self.data,
            "epsilon_of_all_searches": None if math.isnan(self.total) else self.total,
            "together": list(self.together),
        }


def _described(cost: Cost) -> str:
    return "; ".join(each.describe() for each in cost.releases)


def described_law(law: Repetitions | None, runs: int) -> str:
    """How many runs a search makes, in words that can be read again."""
    return f"{runs} runs, all released" if law is None else law.name
