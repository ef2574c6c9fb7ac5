"""``jaxsel.plan``: plans a search within a privacy budget."""

import math
from typing import NamedTuple

from jaxsel.families.tuning.planning.alternatives import alternatives
from jaxsel.families.tuning.planning.optimal_choice import with_optimal
from jaxsel.families.tuning.planning.plan import Budget, Choice, choices, read_budget, score_noise
from jaxsel.families.tuning.planning.wishes import read_wishes
from jaxsel.families.tuning.secrecy import SCORE, keep
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.language.default_delta import DELTA
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.repetitions import Repetitions, describe

COLUMNS = (
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


@printed
class Plan(NamedTuple):
    """A plan of a search within a budget.

    Attributes:
      budget: the request.
      epsilon: proven epsilon of the search, at ``budget.delta``.
      chosen: the base, its noise, the law of K, and the expected utility.
      score_noise: standard deviation of the noise on a count that scores a run, with which
        records of the validation part have the same guarantee; NaN at delta = 0.
      choices: the best law of every family that meets the wishes, best first.
      alternatives: other uses of the budget.
    """

    budget: Budget
    epsilon: float
    chosen: Choice
    score_noise: float
    choices: tuple[Choice, ...]
    alternatives: tuple[Choice, ...]

    def sentences(self) -> list[str]:
        """Describes the plan and its utility; epsilon is rounded up."""
        chosen, found = self.chosen, self.chosen.utility
        delta, good = self.budget.delta, self.budget.wishes.good
        said = [
            f"Run {chosen.base} with K from {short(chosen.law)}: the best run is "
            f"({rounded_up(self.epsilon):g}, {delta:g})-differentially private, by "
            f"{chosen.theorem}.",
            f"It takes {found.mean_runs:.4g} runs on average, at most {found.runs_95} in "
            f"95 searches of 100, and the winner is at quantile "
            f"{found.expected_quantile:.4g} of the candidates on average.",
        ]
        if good is not None:
            said.append(f"It is among the best {good:g} with probability {found.hit:.4g}.")
        if found.none > 0.0:
            said.append(f"With probability {found.none:.3g} nothing is run or released.")
        if math.isfinite(self.score_noise):
            said.append(
                f"Gaussian noise of {self.score_noise:.4g} on the number of validation "
                "examples that a run gets right keeps the same epsilon for those examples."
            )
        return [*said, f"{keep([chosen.law])}.", SCORE]

    def summary(self) -> Summary:
        """The description of the plan, and its alternatives."""
        rows = [row(choice) for choice in (*self.choices, *self.alternatives)]
        return Summary("\n".join(self.sentences()), COLUMNS, rows)

    def as_record(self) -> dict:
        """Names and numbers, JSON-serialisable."""
        wishes = self.budget.wishes
        return {
            "base": self.chosen.base,
            "noise": self.chosen.noise,
            "law": describe(self.chosen.law),
            "epsilon": self.epsilon,
            "delta": self.budget.delta,
            "theorem": self.chosen.theorem,
            "score_noise": self.score_noise,
            "score": SCORE,
            **self.chosen.utility._asdict(),
            "wishes": wishes._asdict(),
            "choices": [_record(choice) for choice in self.choices],
            "alternatives": [_record(choice) for choice in self.alternatives],
        }


def row(choice: Choice) -> list:
    """A choice as a row of ``COLUMNS``."""
    found = choice.utility
    hit = None if math.isnan(found.hit) else found.hit
    noise = None if math.isnan(choice.noise) else choice.noise
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
    ]


def _record(choice: Choice) -> dict:
    return {
        "name": choice.name,
        "base": choice.base,
        "noise": choice.noise,
        "law": describe(choice.law),
        "epsilon": choice.epsilon,
        "theorem": choice.theorem,
        **choice.utility._asdict(),
    }


@one_blas_thread()
def plan(
    base: str,
    *,
    delta: float = DELTA,
    epsilon: float | None = None,
    runs: float | None = None,
    runs_95: int | None = None,
    rank: float | None = None,
    rank_of: str | Repetitions | None = None,
    good: float | None = None,
    chance: float | None = None,
    none: float | None = None,
    optimal: bool = False,
) -> Plan:
    """Plans a search within a budget: the noise of one run, the law of K, the noise on scores.

    Of epsilon, the noise of a run and the number of runs, two are given and one is found:
    the least noise, the least epsilon, or the law with the best winner (within both limits,
    if all three are given). By default the expected rank of the winner must be at least as
    good as with a geometric K with the allowed runs.

    Args:
      base: one run, as for ``account``; its noise is omitted if it is to be found, as in
        "dp_sgd:dataset_size=60000,batch_size=600,epochs=60" or "gaussian".
      delta: of the search, in [0, 1).
      epsilon: of the search; None to find the least.
      runs: largest E[K].
      runs_95: number of runs that 95 searches of 100 do not exceed.
      rank: largest expected rank of the winner, from the top: 1 minus its quantile.
      rank_of: in place of rank: a law of K whose winner is good enough.
      good: fraction of the candidates that counts as good.
      chance: least probability that the winner is among these.
      none: largest probability that nothing is released.
      optimal: also search for the law of K with the least privacy cost, which takes about
        ten seconds longer.

    Raises:
      InputError: for wishes that cannot be met, with the nearest feasible ones, or
        numbers out of range.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.plan("gaussian", epsilon=3, runs=50, good=0.05)
        >>> found.epsilon <= 3
        True
    """
    wishes = read_wishes(
        runs=runs, runs_95=runs_95, rank=rank, rank_of=rank_of, good=good, chance=chance, none=none
    )
    budget = read_budget(base, delta, epsilon, wishes)
    found = choices(budget)
    if optimal:
        found = with_optimal(budget, found)
    chosen = found[0]
    # The epsilon of alternatives: the one requested, or that of the plan.
    allowed = chosen.epsilon if budget.epsilon is None else budget.epsilon
    noise = math.nan
    if budget.delta > 0.0:
        noise = score_noise(chosen.law, budget.delta, max(allowed, chosen.epsilon))
    others = alternatives(budget, chosen, allowed)
    return Plan(budget, chosen.epsilon, chosen, noise, tuple(found), tuple(others))


def single_run(found: Plan):
    """The guarantee of one run of a plan's choice."""
    return found.budget.run(found.chosen.noise).base
