"""Alternatives to a plan with the same budget."""

import math

from jaxsel.accounting.single_run import composing
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.repetitions import point_mass
from jaxsel.tuning.bounds.all_released import composition
from jaxsel.tuning.planning.base_family import BaseFamily
from jaxsel.tuning.planning.budget import Budget, Choice, accounted, with_least_noise, with_mean
from jaxsel.tuning.planning.named_laws import Fitted
from jaxsel.tuning.planning.wishes import utility
from jaxsel.tuning.search_bounds import NOTHING, Proof, Search

# Powers of the number of runs that noise grows with, about, where searches of them begin: from one
# run to a search, from a search to the release of all its runs, and from a search to another.
_LESS_OF_ONE, _MORE_OF_ALL, _MORE_OF_RUNS = 0.1, 0.2, 0.2
_ONE = "one run, no search"
_GRID = "{count} runs, all of them released"
_FEWER, _MORE, _SAME = (
    "a quarter of the runs",
    "four times the runs",
    "the same noise, twice the runs",
)


def alternatives(budget: Budget, chosen: Choice) -> list[Choice]:
    """One run; all runs released; fewer and more runs; more runs at the same noise.

    Args:
      budget: of the plan.
      chosen: its choice.

    Returns:
      The possible ones, each with the least noise within the budget (or, if the noise is
      given, with its epsilon).
    """
    count = max(round(chosen.law.mean), 1)
    found = [
        _released(budget, 1, _ONE, _near(budget, chosen, chosen.law.mean**-_LESS_OF_ONE)),
        _released(budget, count, _GRID, _near(budget, chosen, count**_MORE_OF_ALL)),
    ]
    for name, factor in ((_FEWER, 0.25), (_MORE, 4.0)):
        if (mean := chosen.law.mean * factor) > 1.0:
            found.append(_with_runs(budget, chosen, mean, name))
    if not math.isnan(chosen.noise):
        found.append(_same_noise(budget, chosen))
    return [choice for choice in found if choice is not None]


def _near(budget: Budget, chosen: Choice, factor: float) -> float:
    """About so many times the noise of the choice; NaN if the noise is given."""
    more = isinstance(budget.base, BaseFamily) and budget.base.more_is_more_private
    return chosen.noise * (factor if more else 1.0 / factor)


def _released(budget: Budget, count: int, name: str, near: float) -> Choice | None:
    """Every one of ``count`` runs released, by composition; its noise may be near a given one."""
    if count > composing.MOST:
        return None
    law = point_mass(count)

    def released(base: BaseGuarantee) -> BaseGuarantee | Proof:
        if count == 1:
            return base
        search = Search(base, law)
        return composition.prove(search) if composition.lacks(search) is None else NOTHING

    try:
        run = budget.least_run(lambda base: budget.proved(released(base)), near)
    except InputError:
        return None  # no guarantee is known for so many runs
    theorem = "one run" if count == 1 else composition.shown
    found, limit = released(run.base), budget.attack
    return Choice(
        name.format(count=count),
        run.text,
        run.noise,
        law,
        found.epsilon(budget.delta),
        theorem,
        utility(law, budget.wishes.good),
        math.nan if limit is None else limit.reached(budget.proved(found)),
    )


def _with_runs(budget: Budget, chosen: Choice, mean: float, name: str) -> Choice | None:
    try:
        law = Fitted(name, with_mean(chosen, mean).law)
        near = _near(budget, chosen, (mean / chosen.law.mean) ** _MORE_OF_RUNS)
        # Near a limit on attacks costs take longer than bases, of which many are known.
        return with_least_noise(law, budget, math.nan if budget.attack is None else near)
    except InputError:
        return None  # this family has no law of that mean


def _same_noise(budget: Budget, chosen: Choice) -> Choice | None:
    try:
        law = Fitted(_SAME, with_mean(chosen, 2.0 * chosen.law.mean).law)
    except InputError:
        return None
    return accounted(law, budget.run(chosen.noise), budget)
