"""The answer of an account: what is proved of a release, as sentences, a table and JSON."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from jaxsel.accounting.single_run.curves import BaseGuarantee, gaussian
from jaxsel.accounting.single_run.loss_distributions import composed_distribution
from jaxsel.host.errors import InputError
from jaxsel.language.printing import Summary, digits_down, digits_up, printed, rounded_up
from jaxsel.language.relations import neighbours
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.accountant import ProvenDelta, ProvenEpsilon
from jaxsel.tuning.bounds.needed import Needed
from jaxsel.tuning.composing_searches import Release, checked, release_parts
from jaxsel.tuning.proofs import lacking, releases_all, statement
from jaxsel.tuning.secrecy import SCORE, keep, kept_secret

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from matplotlib.figure import Figure

    from jaxsel.reports.statement import Subject

Bound = TypeVar("Bound", bound=ProvenEpsilon | ProvenDelta)


def saying_something(bounds: Sequence[Bound]) -> list[Bound]:
    """The bounds that are not vacuous: a finite epsilon, or a delta below 1."""
    return [
        bound
        for bound in bounds
        if bound[0] < (1.0 if isinstance(bound, ProvenDelta) else math.inf)
    ]


def refuse_score_noise(score_noise: float | None) -> None:
    """Refuses an answer that would not cover the validation records.

    Raises:
      InputError: if there is noise on the score of a run.
    """
    if score_noise is not None:
        raise InputError("score noise is accounted for in one search alone, not in several")


def loss_distribution(
    releases: Sequence[Release], interval: float | None = None
) -> "PrivacyLossDistribution":
    """See ``jaxsel.privacy_loss_distribution``."""
    checked(releases)
    return composed_distribution(release_parts(releases), interval)


@printed
class Cost(NamedTuple):
    """What something released costs: epsilon at a delta, or delta at an epsilon.

    Attributes:
      releases: what is released: one search, or several things.
      asked: the delta at which every epsilon here is proved; or, where the bounds are on
        delta, the epsilon.
      bounds: every bound that applies, best first. Vacuous ones have epsilon inf, or
        delta 1.
      relation: which data sets are neighbours; None if no release declares it.
      needed: what would make an epsilon provable, where none is; None elsewhere.
      single: epsilon (or delta) of one run of a search, released without tuning; inf if not
        known, NaN of several releases.
      attained: exact epsilon (or delta) of one base with the guarantee of a search's runs,
        ranked adversarially: no bound that covers every such base and every ranking is
        smaller. (For DP-SGD, one base with this privacy profile: ``attained_from``.) NaN
        if it was not searched for, or none is known.
      grid: epsilon of K given candidates, each run once and all of them released, where K
        is always the same number above 1; NaN elsewhere.
      score_noise: standard deviation of Gaussian noise on the number of validation
        examples that a run gets right, which ranks the runs; None if it is not declared
        how the score is computed.
      scores: the smallest proven epsilon of the search for a record that validates and
        does not train, with that noise; None without it.

    Example:
        >>> import jaxsel
        >>> cost = jaxsel.account("pure:epsilon=0.5", "geometric:mean=10", delta=0)
        >>> print(f"{cost.single} for one run, {cost.epsilon:.2f} for the search")
        0.5 for one run, 1.31 for the search
        >>> for bound in cost.bounds[:2]:
        ...     print(bound.theorem)
        JX-Envelope
        JX-Priced
    """

    releases: tuple[Release, ...]
    asked: float
    bounds: tuple[Any, ...]
    relation: str | None
    needed: Needed | None = None
    single: float = math.nan
    attained: float = math.nan
    attained_from: str = "guarantee"
    grid: float = math.nan
    score_noise: float | None = None
    scores: ProvenEpsilon | None = None

    @property
    def best(self) -> Any:
        """The smallest proven epsilon, or delta, with its theorem."""
        return self.bounds[0]

    @property
    def asks_for_delta(self) -> bool:
        """Whether the bounds are on delta, at a given epsilon."""
        return isinstance(self.best, ProvenDelta)

    @property
    def epsilon(self) -> float:
        """The smallest proven epsilon; or the epsilon at which delta was asked for."""
        return self.asked if self.asks_for_delta else self.best.epsilon

    @property
    def delta(self) -> float:
        """The delta at which epsilon was asked for; or the smallest proven delta."""
        return self.best.delta if self.asks_for_delta else self.asked

    @property
    def is_proved(self) -> bool:
        """Whether a theorem proves a finite epsilon, or a delta below 1, as asked."""
        return bool(saying_something(self.bounds[:1]))

    @property
    def is_one_search(self) -> bool:
        """Whether it is the cost of one search, not of several releases together."""
        return not math.isnan(self.single)

    @property
    def guarantee(self) -> BaseGuarantee:
        """The guarantee of one run of the search."""
        return self.releases[0].base

    @property
    def base(self) -> str:
        """What one run of the search is, in words."""
        return self.guarantee.name

    @property
    def law(self) -> Repetitions:
        """The law of K, the number of runs of the search."""
        found = self.releases[0].repetitions
        assert found is not None
        return found

    @property
    def lacking(self) -> dict[str, str]:
        """What each bound on a search that proves nothing here would need, by its name."""
        if not self.is_one_search:
            return {}
        what, delta = ("epsilon", None) if self.asks_for_delta else ("delta", self.asked)
        proved = {bound.theorem for bound in saying_something(self.bounds)}
        listed = (bound.theorem for bound in self.bounds if bound.theorem not in proved)
        vacuous = {name: f"more: at this {what} it proves nothing" for name in listed}
        return lacking(self.guarantee, self.law, delta) | vacuous

    def privacy_loss_distribution(self, interval: float | None = None) -> "PrivacyLossDistribution":
        """Of all releases together; see ``jaxsel.privacy_loss_distribution``."""
        refuse_score_noise(self.score_noise)
        return loss_distribution(self.releases, interval)

    def subject(self) -> "Subject":
        """What a report on this cost describes.

        Raises:
          InputError: if delta was asked for, or nothing is proved with the score's noise.
        """
        from jaxsel.reports.reading import both_parts
        from jaxsel.reports.statement import Part, Subject

        if self.asks_for_delta:
            raise InputError("a report states epsilon at a delta; ask for the cost at a delta")
        if self.score_noise is None or self.scores is None:
            part = Part("", self.releases)
            return Subject("account", (part,), self.delta, self.best, self.relation)
        if not math.isfinite(self.scores.epsilon):
            raise InputError(
                f"nothing is proved of score noise {self.score_noise:g} at delta = "
                f"{self.delta:g}; give more noise"
            )
        validation = Release(gaussian(self.score_noise), self.law)
        parts = (Part("training records", self.releases), Part("validation records", (validation,)))
        return both_parts("account", parts, self.delta, (self.best, self.scores), self.relation)

    def plot(self) -> "Figure":
        """Plots the proven privacy profile, and marks this guarantee.

        Raises:
          InputError: as ``subject``.
        """
        from jaxsel.reports.report import Report
        from jaxsel.reports.statement import state

        return Report(state(self.subject())).plot()

    def others(self) -> Summary:
        """The bounds on a search that prove nothing here, and why."""
        rows = [(name, needed, statement(name)) for name, needed in self.lacking.items()]
        return Summary("", ("theorem", "would need", "statement"), rows)

    def sentences(self) -> list[str]:
        """What is proved, and what is not, in words; costs are rounded up."""
        return self._of_one_search() if self.is_one_search else self._of_all_together()

    def _proved(self, what: str) -> str:
        best = self.best
        epsilon = self.asked if self.asks_for_delta else rounded_up(best.epsilon)
        delta = digits_up(best.delta) if self.asks_for_delta else self.asked
        return (
            f"{what} is ({epsilon:g}, {delta:g})-differentially private, by "
            f"{best.theorem}: {best.statement}."
        )

    def _unproved(self, of_what: str, fails_more: str) -> str:
        """Why nothing is proved, and with what delta or runs something would be.

        Args:
          of_what: that for which no epsilon is known, such as "this base and K".
          fails_more: that which fails more often than a run, such as "the best of K".
        """
        delta, needed = self.asked, self.needed
        if self.asks_for_delta:
            return f"No known theorem bounds delta at epsilon = {self.asked:g}."
        if needed is None:
            return f"No known theorem bounds epsilon at delta = {delta:g} for {of_what}."
        if needed.failure == 0.0:
            return (
                "No epsilon is proved at delta = 0: a run is not pure. Take delta > 0, "
                "or runs with pure privacy."
            )
        least_run = digits_down(needed.run, 3)
        pure = "with delta = 0" if needed.run == 0.0 else f"with delta <= {least_run:g}"
        start = (
            f"No epsilon is proved at delta = {delta:g}: one run fails with probability "
            f"{needed.failure:.3g}, and {fails_more} more often. "
        )
        if needed.delta >= 1.0:  # or so near to it that float64 cannot tell
            return f"{start}No delta < 1 would do; take runs {pure}."
        return f"{start}Take delta >= {digits_up(needed.delta, 3):g}, or runs {pure}."

    def _of_one_search(self) -> list[str]:
        if not self.is_proved and self.asks_for_delta:
            return [self._unproved("", "")]
        found = [
            self._proved("The best of K runs")
            if self.is_proved
            else self._unproved("this base and K", "the best of K"),
            *([neighbours(self.relation)] if self.is_proved else []),
            self._of_one_run(),
        ]
        if self.law.probability_zero > 0.0 and not self.asks_for_delta:
            zero = f"{self.law.probability_zero:.3g}"
            found.append(f"With probability {zero} nothing is run or released.")
        if math.isfinite(self.attained):
            cost = (
                f"delta = {digits_down(self.attained):g}"
                if self.asks_for_delta
                else f"{math.floor(self.attained * 1e4) / 1e4:g}"
            )
            found.append(
                f"Some base with this {self.attained_from} and some ranking of its runs cost "
                f"{cost} exactly: no bound from it that covers them all is smaller."
            )
        if self.asks_for_delta or not self.is_proved:
            return [*found, SCORE] if self.is_proved else found
        if releases_all(self.best.theorem):
            found.append(
                "This covers the release of all runs with their scores, and of K: none "
                "of it need be secret."
            )
        else:
            found.append(f"{keep([self.law])}: this bound does not cover them.")
        if not math.isnan(self.grid):
            found.append(self._of_a_grid())
        return [*found, self._of_the_score()]

    def _of_one_run(self) -> str:
        """What one run costs, released without tuning, and how many runs tuning takes."""
        pair = (
            (self.asked, digits_up(self.single))
            if self.asks_for_delta
            else (rounded_up(self.single), self.asked)
        )
        return f"One run without tuning: ({pair[0]:g}, {pair[1]:g}). E[K] = {self.law.mean:.6g}."

    def _of_the_score(self) -> str:
        """Whether the validation records, which rank the runs, are covered, and at what cost."""
        if self.scores is None:
            return SCORE
        noise = (
            f"Gaussian noise of standard deviation {self.score_noise:g} on the number of "
            "validation examples that a run gets right"
        )
        epsilon = self.scores.epsilon
        if not math.isfinite(epsilon):
            return f"{noise} proves nothing for those examples at this delta."
        both = rounded_up(max(self.best.epsilon, epsilon))
        return (
            f"{noise} keeps ({rounded_up(epsilon):g}, {self.delta:g}) for those "
            f"examples, by {self.scores.theorem}; where no record both trains and "
            f"validates, the search is ({both:g}, {self.delta:g})-differentially "
            "private for all."
        )

    def _of_a_grid(self) -> str:
        """What it costs to try each of K given candidates once and release all the runs."""
        count = self.law.maximum
        cost = (
            f"({rounded_up(self.grid):g}, {self.delta:g}) is proved of"
            if math.isfinite(self.grid)
            else "nothing is proved here of"
        )
        return (
            f"Each of the {count} runs draws its candidate at random; {cost} {count} given "
            f"candidates, each run once (--drawn grid:n={count})."
        )

    def _of_all_together(self) -> list[str]:
        what = "All of it together"
        found = [
            self._proved(what)
            if self.is_proved
            else self._unproved("these releases", "all of it together"),
            "Released: " + "; ".join(each.describe() for each in self.releases) + ".",
        ]
        searched = [each.repetitions for each in self.releases if each.repetitions is not None]
        if searched:
            secret = kept_secret(searched)
            found.append(f"Of each search only the best run is covered: keep {secret} secret.")
            found.append(SCORE)
        if self.relation is not None:
            found.append(neighbours(self.relation))
        else:
            found.append(
                "Neighbours: those that every base's sensitivity is meant for; they must "
                "be the same throughout."
            )
        return found

    def summary(self) -> Summary:
        """What is proved, and every bound that is not vacuous."""
        columns = (self.best._fields[0], "theorem", "by")
        return Summary("\n".join(self.sentences()), columns, saying_something(self.bounds))

    def as_record(self) -> dict[str, Any]:
        """Names and numbers, ready for JSON."""
        return self._record_of_a_search() if self.is_one_search else self._record_of_all()

    def _record_of_a_search(self) -> dict[str, Any]:
        bounds = [bound._asdict() for bound in saying_something(self.bounds)]
        found = {
            "base": self.base,
            "repetitions": self.law.name,
            "mean_repetitions": self.law.mean,
            "relation": self.relation,
        }
        if self.asks_for_delta:
            return {
                **found,
                "epsilon": self.epsilon,
                "delta": self.delta,
                "theorem": self.best.theorem,
                "single_run_delta": self.single,
                "attained_delta": self.attained,
                "score": SCORE,
                "bounds": bounds,
            }
        return {
            **found,
            "probability_of_no_run": self.law.probability_zero,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "theorem": self.best.theorem,
            "single_run_epsilon": self.single,
            "attained_epsilon": self.attained,
            "grid_epsilon": self.grid,
            "score": self._of_the_score(),
            "score_noise": self.score_noise,
            "score_epsilon": None if self.scores is None else self.scores.epsilon,
            "needed": None if self.needed is None else self.needed._asdict(),
            "bounds": bounds,
        }

    def _record_of_all(self) -> dict[str, Any]:
        asked = {"delta": self.delta, "epsilon": self.epsilon}
        if self.asks_for_delta:
            asked = {"epsilon": self.epsilon, "delta": self.delta}
        searched = any(each.repetitions is not None for each in self.releases)
        return {
            "releases": [_record_of(each) for each in self.releases],
            **asked,
            "theorem": self.best.theorem,
            "relation": self.relation,
            "score": SCORE if searched else None,
            "needed": None if self.needed is None else self.needed._asdict(),
            "bounds": saying_something(self.bounds),
        }


def _record_of(release: Release) -> dict[str, Any]:
    law = release.repetitions
    return {
        "base": release.base.name,
        "repetitions": None if law is None else law.name,
        "mean_repetitions": 1.0 if law is None else law.mean,
        "times": release.times,
        "relation": release.base.relation,
    }
