"""What a private search guarantees, for those who train it and for those who score it."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee, points
from jaxsel.accounting.single_run.loss_distributions import (
    composed_distribution,
    from_loss_distribution,
)
from jaxsel.families.tuning.base_forms import guarantee_of, profile_of
from jaxsel.families.tuning.composing_searches import Release, release_parts
from jaxsel.host.errors import InputError
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.questions.cost import Cost
from jaxsel.questions.tuned import Released
from jaxsel.repetitions import Repetitions, describe

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


def both(run: BaseGuarantee, scores: BaseGuarantee) -> BaseGuarantee:
    """The guarantee of a run that is released with the noisy scores of the data it trained on."""
    parts = release_parts([Release(run), Release(scores)])
    name = f"{run.name} and {scores.name}"
    found = from_loss_distribution(composed_distribution(parts), name=name)
    return found._replace(relation=run.relation)


def looked_at(score: BaseGuarantee, times: int) -> BaseGuarantee:
    """The guarantee of several noisy scores of one run."""
    if times == 1:
        return score
    parts = release_parts([Release(score, None, times)])
    name = f"{times} times {score.name}"
    found = from_loss_distribution(composed_distribution(parts), name=name)
    return found._replace(relation=score.relation)


def as_text(base: BaseGuarantee) -> str:
    """A text from which ``guarantee_of`` reads the base, or one of at least its profile."""
    try:
        guarantee_of(base.name)
    except InputError:
        pass
    else:
        return base.name
    # Between points a profile is read as convex: its chords lie above it.
    epsilons = np.concatenate([np.linspace(0.0, 4.0, 81), np.linspace(4.25, 40.0, 144)])
    deltas = np.minimum.accumulate(np.clip(profile_of(base, epsilons), 0.0, 1.0))
    # Nothing is known of epsilons beyond the last of the points.
    kept = slice(0, int(np.count_nonzero(deltas > 1e-13)) + 1)
    return points(epsilons[kept], deltas[kept]).name


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
        return (Part("records", of(both(base, scores[0]))),)
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
    """

    costs: tuple[tuple[str, Cost], ...]
    declared: tuple[str, ...]
    watchers: str
    data: str | None = None
    total: float = math.nan

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
        said += [f"Declared: {'; '.join(self.declared)}.", self.watchers]
        if self.data is not None:
            said.append(
                f"All searches of {self.data} in its ledger together: "
                f"({rounded_up(self.total):g}, {self.delta:g})."
            )
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
            "parts": [
                {"for": whose, "epsilon": cost.epsilon, "released": _described(cost)}
                for whose, cost in self.costs
            ],
            "declared": list(self.declared),
            "watchers": self.watchers,
            "data": self.data,
            "epsilon_of_all_searches": None if math.isnan(self.total) else self.total,
        }


def _described(cost: Cost) -> str:
    return "; ".join(each.describe() for each in cost.releases)


def described_law(law: Repetitions | None, runs: int) -> str:
    """How many runs a search makes, in words that can be read again."""
    return f"{runs} runs, all released" if law is None else describe(law)
