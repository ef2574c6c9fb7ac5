"""What else the budget of a plan could have bought, each with its price."""

import math

from jaxsel.accounting.single_run import composing
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.families.tuning import proofs
from jaxsel.families.tuning.planning.base_family import BaseFamily, least_noise
from jaxsel.families.tuning.planning.named_laws import Fitted
from jaxsel.families.tuning.planning.plan import (
    Budget,
    Choice,
    accounted,
    quick_epsilon,
    with_mean,
)
from jaxsel.families.tuning.planning.wishes import utility
from jaxsel.host.errors import InputError
from jaxsel.repetitions import point_mass

_ONE = "one run, no search"
_GRID = "{count} runs, all of them released"
_FEWER, _MORE, _SAME = (
    "a quarter of the runs",
    "four times the runs",
    "the same noise, twice the runs",
)


def alternatives(budget: Budget, chosen: Choice, epsilon: float) -> list[Choice]:
    """One run; all runs released; fewer and more runs; more runs at the same noise.

    Args:
      budget: of the plan.
      chosen: its choice.
      epsilon: that all may cost, where the noise is open.

    Returns:
      Those that are possible, each with the noise that epsilon then needs (or, if the
      noise is given, with what it then costs).
    """
    found = [
        _released(budget, 1, epsilon, _ONE),
        _released(budget, max(round(chosen.law.mean), 1), epsilon, _GRID),
    ]
    for name, factor in ((_FEWER, 0.25), (_MORE, 4.0)):
        if (mean := chosen.law.mean * factor) > 1.0:
            found.append(_with_runs(budget, chosen, mean, epsilon, name))
    if isinstance(budget.base, BaseFamily):
        found.append(_same_noise(budget, chosen))
    return [choice for choice in found if choice is not None]


def _released(budget: Budget, count: int, epsilon: float, name: str) -> Choice | None:
    """Every one of ``count`` runs released, by composition."""
    if count > composing.MOST:
        return None
    law, delta = point_mass(count), budget.delta

    def cost(base: BaseGuarantee) -> float:
        if count == 1:
            return base.epsilon(delta)
        released = proofs.composition(base, law).get("composition")
        return math.inf if released is None else released.epsilon(delta)

    base, text, noise = budget.base, budget.text, math.nan
    if isinstance(base, BaseFamily):
        try:
            noise = least_noise(base, cost, epsilon)
        except InputError:
            return None  # nothing is known of so many of these runs
        base, text = base.at(noise), base.written(noise)
    reached = cost(base)
    theorem = "one run" if count == 1 else "composition"
    return Choice(
        name.format(count=count), text, noise, law, reached, theorem,
        utility(law, budget.wishes.good),
    )  # fmt: skip


def _with_runs(
    budget: Budget, chosen: Choice, mean: float, epsilon: float, name: str
) -> Choice | None:
    try:
        law = Fitted(name, with_mean(chosen, mean).law)
        base = budget.base
        if not isinstance(base, BaseFamily):
            return accounted(law, base, budget.text, math.nan, budget)
        noise = least_noise(
            base, lambda run: quick_epsilon(run, law.law, budget.delta), epsilon
        )
        return accounted(law, base.at(noise), base.written(noise), noise, budget)
    except InputError:
        return None  # this family has no law of that mean


def _same_noise(budget: Budget, chosen: Choice) -> Choice | None:
    if not isinstance(budget.base, BaseFamily):
        return None
    try:
        law = Fitted(_SAME, with_mean(chosen, 2.0 * chosen.law.mean).law)
    except InputError:
        return None
    base = budget.base.at(chosen.noise)
    return accounted(law, base, chosen.base, chosen.noise, budget)
