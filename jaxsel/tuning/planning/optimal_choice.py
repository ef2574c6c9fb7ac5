"""The law of K with the least privacy cost, as a choice of a plan besides named families."""

import math
from typing import NamedTuple

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.planning.budget import Budget, Choice, badness, with_least_noise
from jaxsel.tuning.planning.least_proven import NAME
from jaxsel.tuning.planning.named_laws import Fitted
from jaxsel.tuning.planning.optimal_law import Effort, optimal_law
from jaxsel.tuning.planning.wishes import Wishes

_EFFORT = Effort(coarse=60, fine=150, points=1500)
_STEPS = 5
_CLOSE = 2e-4  # relative tolerance of epsilon


def with_optimal(budget: Budget, named: list[Choice]) -> list[Choice]:
    """Adds the law of K with the least privacy cost to the choices of a plan.

    Args:
      budget: of the plan; nothing is added unless its base has a dominating pair, and delta
        is positive.
      named: the choices of the named families, the best first.

    Returns:
      All, the best first.
    """
    try:
        found = _optimal(budget, named[0])
    except InputError:
        return named
    if found is None:
        return named
    return sorted([*named, found], key=lambda choice: badness(budget, choice))


def _optimal(budget: Budget, best: Choice) -> Choice | None:
    choice, is_open = best, not math.isnan(best.noise)
    # The best law hardly depends on the open noise: two rounds suffice, and any is proved.
    for _ in range(2 if is_open else 1):
        base = budget.run(choice.noise).base
        if is_open or budget.epsilon is None:
            law = optimal_law(base, budget.delta, budget.wishes, effort=_EFFORT).law
        else:
            law = _best_winner(base, budget, best)
        if law is None:
            return None
        choice = with_least_noise(Fitted(NAME, law), budget)
    return choice


class _Aim(NamedTuple):
    """The quality of a winner as one number to minimise.

    Attributes:
      log_value: log of the expected rank, or of the probability to miss.
      by_rank: whether it is the expected rank.
    """

    log_value: float
    by_rank: bool

    def wishes(self, wishes: Wishes) -> Wishes:
        value = math.exp(self.log_value)
        if self.by_rank:
            return wishes._replace(rank=min(value, 0.5))
        return wishes._replace(chance=1.0 - value)


def _best_winner(base: BaseGuarantee, budget: Budget, best: Choice) -> Repetitions | None:
    """The law with the best winner within epsilon, to a relative error of a few 1e-4.

    Epsilon is nearly linear in the logarithm of the rank, and in that of the probability to
    miss; found by the secant method from the best named law.
    """
    wishes, epsilon = budget.wishes, budget.epsilon
    if epsilon is None:
        return None
    if wishes.runs is None and wishes.most is None:
        wishes = wishes._replace(runs=best.law.mean)
    by_rank = wishes.good is None
    value = 1.0 - best.utility.expected_quantile if by_rank else 1.0 - best.utility.hit
    points: list[tuple[float, float]] = []
    found, least = None, math.inf
    aim = math.log(value)
    for _ in range(_STEPS):
        try:
            reached = optimal_law(
                base, budget.delta, _Aim(aim, by_rank).wishes(wishes), effort=_EFFORT
            )
        except InputError:  # no law with so few runs has such a winner
            aim = 0.5 * (aim + (points[-1][0] if points else math.log(value)))
            continue
        points.append((aim, reached.epsilon))
        if reached.epsilon <= epsilon:
            if aim < least:
                found, least = reached.law, aim
            if reached.epsilon >= epsilon * (1.0 - _CLOSE):
                break
        aim = _next(points, epsilon * (1.0 - 0.5 * _CLOSE))
    return found


def _next(points: list[tuple[float, float]], epsilon: float) -> float:
    """The value at which the line through the last two points equals epsilon."""
    (x, y) = points[-1]
    slope = -0.3 * y  # initial slope, of the typical order
    if len(points) > 1 and points[-2][0] != x:
        slope = (points[-2][1] - y) / (points[-2][0] - x)
    return x + (epsilon - y) / min(slope, -1e-6)
