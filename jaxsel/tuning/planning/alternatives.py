"""Alternatives to a plan with the same budget."""

import math

from jaxsel.accounting.single_run import composing
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.repetitions import point_mass
from jaxsel.tuning.bounds.all_released import composition
from jaxsel.tuning.planning.budget import Budget, Choice, accounted, with_least_noise, with_mean
from jaxsel.tuning.planning.named_laws import Fitted
from jaxsel.tuning.planning.wishes import utility
from jaxsel.tuning.search_bounds import NOTHING, Proof, Search

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
    found = [_released(budget, 1, _ONE), _released(budget, max(round(chosen.law.mean), 1), _GRID)]
    for name, factor in ((_FEWER, 0.25), (_MORE, 4.0)):
        if (mean := chosen.law.mean * factor) > 1.0:
            found.append(_with_runs(budget, chosen, mean, name))
    if not math.isnan(chosen.noise):
        found.append(_same_noise(budget, chosen))
    return [choice for choice in found if choice is not None]


def _released(budget: Budget, count: int, name: str) -> Choice | None:
    """Every one of ``count`` runs released, by composition."""
    if count > composing.MOST:
        return None
    law = point_mass(count)

    def released(base: BaseGuarantee) -> BaseGuarantee | Proof:
        if count == 1:
            return base
        search = Search(base, law)
        return composition.prove(search) if composition.lacks(search) is None else NOTHING

    try:
        run = budget.least_run(lambda base: budget.proved(released(base)))
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
        return with_least_noise(law, budget, chosen.noise)
    except InputError:
        return None  # this family has no law of that mean


def _same_noise(budget: Budget, chosen: Choice) -> Choice | None:
    try:
        law = Fitted(_SAME, with_mean(chosen, 2.0 * chosen.law.mean).law)
    except InputError:
        return None
    return accounted(law, budget.run(chosen.noise), budget)
