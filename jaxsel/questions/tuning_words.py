"""What tuning costs, in words that epsilon at a delta and delta at an epsilon share."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from jaxsel.families.tuning.accountant import Needed, ProvenDelta, ProvenEpsilon
from jaxsel.language.printing import Summary, digits_down, digits_up
from jaxsel.repetitions import Repetitions, describe


def proved(epsilon: float, delta: float, by: ProvenEpsilon | ProvenDelta) -> str:
    """That the best run is (epsilon, delta)-DP; both rounded already, to the safe side."""
    return (
        f"The best of K runs is ({epsilon:g}, {delta:g})-differentially private, by "
        f"{by.theorem}: {by.statement}."
    )


def one_run(epsilon: float, delta: float, law: Repetitions) -> str:
    """What a run costs that is released without tuning, and how many tuning takes."""
    return f"One run without tuning: ({epsilon:g}, {delta:g}). E[K] = {law.mean:.6g}."


def attained(cost: str, known: str) -> str:
    """What some base costs exactly.

    Args:
      cost: that, rounded down.
      known: what the base has: "guarantee" or "privacy profile".
    """
    return (
        f"Some base with this {known} and some ranking of its runs cost {cost} exactly: "
        "no bound from it that covers them all is smaller."
    )


def lacking(delta: float, needed: Needed | None, what: str, more: str) -> str:
    """Why no epsilon is proved, and what would do.

    Args:
      delta: asked for.
      needed: what would do, if that is known.
      what: of what no epsilon is known, such as "this base and K".
      more: what fails more often than a run, such as "the best of K".
    """
    if needed is None:
        return f"No known theorem bounds epsilon at delta = {delta:g} for {what}."
    if needed.failure == 0.0:
        return (
            "No epsilon is proved at delta = 0: a run is not pure. Take delta > 0, "
            "or runs with pure privacy."
        )
    pure = (
        "with delta = 0" if needed.run == 0.0 else (f"with delta <= {digits_down(needed.run, 3):g}")
    )
    start = (
        f"No epsilon is proved at delta = {delta:g}: one run fails with probability "
        f"{needed.failure:.3g}, and {more} more often. "
    )
    if needed.delta >= 1.0:  # or so near to it that float64 cannot tell
        return f"{start}No delta < 1 would do; take runs {pure}."
    return f"{start}Take delta >= {digits_up(needed.delta, 3):g}, or runs {pure}."


Bound = TypeVar("Bound", bound=ProvenEpsilon | ProvenDelta)


def saying_something(bounds: Sequence[Bound]) -> list[Bound]:
    """Those that say something: an epsilon that is finite, or a delta below 1."""
    return [
        bound
        for bound in bounds
        if bound[0] < (1.0 if isinstance(bound, ProvenDelta) else math.inf)
    ]


def with_bounds(
    sentences: Sequence[str], bounds: Sequence[ProvenEpsilon] | Sequence[ProvenDelta]
) -> Summary:
    """The sentences, above every bound that says something."""
    number = bounds[0]._fields[0]
    rows = saying_something(bounds)
    return Summary("\n".join(sentences), (number, "theorem", "by"), rows)


def search(base: str, law: Repetitions) -> dict[str, Any]:
    """What is tuned, by names and numbers, ready for JSON."""
    return {"base": base, "repetitions": describe(law), "mean_repetitions": law.mean}
