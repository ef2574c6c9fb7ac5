"""A plan: what to run for a privacy budget, in words, as tables and as a record."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from jaxsel.language.printing import Summary, digits_up, printed, rounded_up
from jaxsel.language.relations import neighbours
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.planning.budget import Budget, Choice
from jaxsel.tuning.secrecy import SCORE, keep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = (
    "choice",
    "noise",
    "law of K",
    "epsilon",
    "E[K]",
    "95 % of K",
    "expected quantile",
    "chance to hit",
    "theorem",
)


def short(law: Repetitions) -> str:
    """Short text of a law for a table: its family and mean, or the number of runs."""
    if law.family == "point_mass":
        return f"point_mass:count={law.mean:g}"
    if law.family == "truncated_negative_binomial":
        return f"tnb:eta={law.parameters['eta']:g},mean={law.mean:.6g}"
    return f"{law.family}:mean={law.mean:.6g}"


class Compute(NamedTuple):
    """What all runs of a search may cost, in any unit.

    Attributes:
      most: on average.
      price: of one run.
    """

    most: float
    price: float


@printed
class Plan(NamedTuple):
    """A plan of a search within a budget.

    Attributes:
      budget: what was asked.
      epsilon: proved of the search, at ``budget.delta``.
      chosen: the base, its noise, the law of K, what to expect of the winner, and, if
        the budget limits attacks, what ``jaxsel.search_cost`` of both proves of these.
      score_noise: standard deviation of the noise on a count that scores a run, so that
        one person in the validation part costs no more; NaN at delta = 0.
      choices: the best law of every family that meets the wishes, best first.
      alternatives: what else the budget could have bought, each with its price.
      compute: what all runs may cost, and one does; None if that is not limited.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.plan("gaussian", epsilon=3, runs=50)
        >>> print(found.chosen.theorem, found.epsilon <= 3, found.chosen.law.mean <= 50)
        JX-Envelope True True
    """

    budget: Budget
    epsilon: float
    chosen: Choice
    score_noise: float
    choices: tuple[Choice, ...]
    alternatives: tuple[Choice, ...]
    compute: Compute | None = None

    @property
    def computed(self) -> float:
        """The expected cost of all runs, in the unit of ``compute``; NaN if that is None."""
        return math.nan if self.compute is None else self.compute.price * self.chosen.law.mean

    def sentences(self) -> list[str]:
        """Describes the plan and its utility; epsilon is rounded up."""
        chosen, found = self.chosen, self.chosen.utility
        delta, good, attack = self.budget.delta, self.budget.wishes.good, self.budget.attack
        proved = f"no epsilon is proved at delta = {delta:g}"
        if math.isfinite(self.epsilon):
            proved = (
                f"the best run is ({rounded_up(self.epsilon):g}, {delta:g})-differentially "
                f"private, by {chosen.theorem}"
            )
        said = [
            f"Run {chosen.base} with K from {short(chosen.law)}: {proved}.",
            neighbours(single_run(self).relation),
            *([] if attack is None else [attack.sentence(chosen.attack)]),
            f"It takes {found.mean_runs:.4g} runs on average, at most {found.runs_95} in "
            f"95 searches of 100, and the winner is at quantile "
            f"{found.expected_quantile:.4g} of the candidates on average.",
        ]
        if good is not None:
            said.append(f"It is among the best {good:g} with probability {found.hit:.4g}.")
        if found.none > 0.0:
            said.append(f"With probability {found.none:.3g} nothing is run or released.")
        if math.isfinite(self.score_noise):
            same = "epsilon" if attack is None else attack.name.replace("_", " ")
            said.append(
                f"Gaussian noise of {self.score_noise:.4g} on the number of validation "
                f"examples that a run gets right keeps the same {same} for those examples."
            )
        if self.compute is not None:
            most, price = self.compute
            said.append(f"Compute: {self.computed:.4g} of {most:g} on average, at {price:g} a run.")
        return [*said, f"{keep([chosen.law])}.", SCORE]

    def columns(self) -> tuple[str, ...]:
        """The column headings of the table whose rows ``rows`` returns."""
        attack = self.budget.attack
        return _COLUMNS if attack is None else (*_COLUMNS, attack.name.replace("_", " "))

    def rows(self, choices: Sequence[Choice]) -> list[list]:
        """Choices or alternatives as rows of a table."""
        return [_row(choice) for choice in choices]

    def plot(self) -> "Figure":
        """Plots noise, or epsilon where the noise is given, of all choices against E[K]."""
        from jaxsel.pictures.tallied import draw_choices

        every = [*self.choices, *self.alternatives]
        is_open = math.isfinite(self.chosen.noise)
        rows = [
            (each.name, each.law.mean, each.noise if is_open else each.epsilon) for each in every
        ]
        quantity = "noise of one run" if is_open else f"epsilon at delta {self.budget.delta:g}"
        chosen = [each.name for each in every].index(self.chosen.name)
        return draw_choices(rows, chosen, quantity, f"{self.budget.text}, within the budget")

    def summary(self) -> Summary:
        """The plan in sentences, with a table of its choices and alternatives."""
        rows = self.rows([*self.choices, *self.alternatives])
        return Summary("\n".join(self.sentences()), self.columns(), rows)

    def _attacked(self, choice: Choice) -> dict[str, float]:
        limit = self.budget.attack
        return {} if limit is None else limit.as_record(choice.attack)

    def _record(self, choice: Choice) -> dict:
        return {
            "name": choice.name,
            "base": choice.base,
            "noise": choice.noise,
            "law": choice.law.name,
            "epsilon": choice.epsilon,
            "theorem": choice.theorem,
            **self._attacked(choice),
            **choice.utility._asdict(),
        }

    def as_record(self) -> dict:
        """Names and numbers, JSON-serialisable."""
        wishes = self.budget.wishes
        return {
            "base": self.chosen.base,
            "noise": self.chosen.noise,
            "law": self.chosen.law.name,
            "epsilon": self.epsilon,
            "delta": self.budget.delta,
            "theorem": self.chosen.theorem,
            **self._attacked(self.chosen),
            "score_noise": self.score_noise,
            "score": SCORE,
            **self.chosen.utility._asdict(),
            "wishes": wishes._asdict(),
            "choices": [self._record(choice) for choice in self.choices],
            "alternatives": [self._record(choice) for choice in self.alternatives],
            **({} if self.compute is None else {"compute": self.computed}),
        }


def _row(choice: Choice) -> list:
    found = choice.utility
    hit = None if math.isnan(found.hit) else found.hit
    noise = None if math.isnan(choice.noise) else choice.noise
    attack = [] if math.isnan(choice.attack) else [digits_up(choice.attack)]
    return [
        choice.name,
        noise,
        short(choice.law),
        rounded_up(choice.epsilon),
        found.mean_runs,
        found.runs_95,
        found.expected_quantile,
        hit,
        choice.theorem,
        *attack,
    ]


def single_run(found: Plan):
    """The guarantee of one run of a plan's choice."""
    return found.budget.run(found.chosen.noise).base
