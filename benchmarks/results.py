"""Results of benchmarks."""

import math
from typing import NamedTuple

AT_LEAST = "times, at least"
AT_MOST = "at most"


class GoalResult(NamedTuple):
    """One number and its goal.

    Attributes:
      goal: number of the goal, see ``benchmarks.GOALS``.
      name: what was measured.
      measured: the number; None if it could not be measured (``detail`` says why).
      threshold: the goal; None for a number without one.
      met: whether the goal is met; True without a threshold, False if not measured.
      unit: unit of the number, and on which side of the threshold it should be.
      detail: the absolute speeds and settings behind the number.
    """

    goal: int
    name: str
    measured: float | None
    threshold: float | None
    met: bool
    unit: str
    detail: str


def at_least(goal: int, name: str, measured: float, threshold: float, detail: str):
    """The result for a ratio that has to reach the threshold."""
    met = math.isfinite(measured) and measured >= threshold
    return GoalResult(goal, name, measured, threshold, met, AT_LEAST, detail)


def at_most(goal: int, name: str, measured: float, threshold: float, detail: str, unit: str = ""):
    """The result for a number that must not exceed the threshold; ``unit`` names what it counts."""
    met = math.isfinite(measured) and measured <= threshold
    unit = f"{unit}, {AT_MOST}" if unit else AT_MOST
    return GoalResult(goal, name, measured, threshold, met, unit, detail)


def note(goal: int, name: str, measured: float, detail: str) -> GoalResult:
    """The result for a ratio that is reported without a threshold."""
    return GoalResult(goal, name, measured, None, True, "times", detail)


def missing(goal: int, name: str, threshold: float, why: str) -> GoalResult:
    """The result for a ratio that could not be measured here."""
    return GoalResult(goal, name, None, threshold, False, AT_LEAST, why)
