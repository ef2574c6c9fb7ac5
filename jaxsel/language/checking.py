"""Turning compared numbers into verdicts."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jaxsel.language.base import Budget, Verdict

# Of all simulations that enter one verdict, together.
CONFIDENCE = 1.0 - 1e-6

Case = tuple[float, float, str]


class Aside(NamedTuple):
    """A case that is judged, but says nothing of how near the claim's own bound is.

    For example an audited lower bound against the exact value: near whatever the claim is.
    """

    claimed: float
    observed: float
    detail: str


_Cases = Callable[[Budget], Iterable[Case]]


def bound_verdict(
    cases: Iterable[Case], tolerance: float = 1e-9, *, lower: bool = False
) -> Verdict:
    """Judges an upper bound: in every case observed <= claimed (or a lower one: >=).

    Args:
      cases: (claimed, observed, detail) of each case; the numbers are exact up to
        ``tolerance`` relative to max(1, |claimed|).
      tolerance: rounding allowance. An excess below it refutes nothing.
      lower: judge a lower bound.

    Returns:
      "holds", or "refuted" if one case exceeds its bound; "inconclusive" if there is no
      case or a number is NaN. The verdict describes the case with the least slack, and
      has the largest tightness of all cases.
    """
    worst, count, tightness = None, 0, None
    for case in cases:
        claimed, observed, detail = case
        count += 1
        if math.isnan(claimed) or math.isnan(observed):
            return Verdict("inconclusive", claimed, observed, math.nan, count, detail)
        small, large = (claimed, observed) if lower else (observed, claimed)
        slack = 0.0 if claimed == observed else large - small
        if worst is None or slack < worst[0]:
            worst = (slack, claimed, observed, detail)
        counts = not isinstance(case, Aside)
        if counts and 0.0 < large < math.inf and 0.0 < claimed:
            tightness = max(tightness or 0.0, small / large)
    if worst is None:
        return Verdict("inconclusive", math.nan, math.nan, math.nan, 0, "no case tried")
    slack, claimed, observed, detail = worst
    scale = max(1.0, abs(claimed)) if math.isfinite(claimed) else 1.0
    outcome = "refuted" if slack < -tolerance * scale else "holds"
    return Verdict(outcome, claimed, observed, slack, count, detail, tightness)


def identity_verdict(cases: Iterable[tuple[float, float, str]], tolerance: float) -> Verdict:
    """Judges an equality: in every case |claimed - observed| <= tolerance (relative to
    max(1, |claimed|))."""
    worst, count = None, 0
    for claimed, observed, detail in cases:
        count += 1
        if math.isnan(claimed) or math.isnan(observed):
            return Verdict("inconclusive", claimed, observed, math.nan, count, detail)
        gap = 0.0 if claimed == observed else abs(claimed - observed)
        slack = tolerance - gap / max(1.0, abs(claimed))
        if worst is None or slack < worst[0]:
            worst = (slack, claimed, observed, detail)
    if worst is None:
        return Verdict("inconclusive", math.nan, math.nan, math.nan, 0, "no case tried")
    slack, claimed, observed, detail = worst
    outcome = "refuted" if slack < 0 else "holds"
    return Verdict(outcome, claimed, observed, slack, count, detail)


def at_most(cases: _Cases, tolerance: float = 1e-9) -> Callable[[Budget], Verdict]:
    """The check of a claim that observed <= claimed in every case."""
    return lambda budget: bound_verdict(cases(budget), tolerance)


def equal(cases: _Cases, tolerance: float = 1e-9) -> Callable[[Budget], Verdict]:
    """The check of a claim that observed = claimed in every case."""
    return lambda budget: identity_verdict(cases(budget), tolerance)


def at_least(cases: _Cases, tolerance: float = 1e-9) -> Callable[[Budget], Verdict]:
    """The check of a claim that observed >= claimed in every case."""
    return lambda budget: bound_verdict(cases(budget), tolerance, lower=True)
