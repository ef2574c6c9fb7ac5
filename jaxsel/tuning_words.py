"""What tuning costs, in words that epsilon at a delta and delta at an epsilon share."""

from collections.abc import Sequence
from typing import Any

from jaxsel.families.tuning.accountant import ProvenDelta, ProvenEpsilon
from jaxsel.printing import Summary
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


def with_bounds(
    sentences: Sequence[str], bounds: Sequence[ProvenEpsilon | ProvenDelta]
) -> Summary:
    """The sentences, above every bound that applies."""
    number = bounds[0]._fields[0]
    return Summary("\n".join(sentences), (number, "theorem", "by"), bounds)


def search(base: str, law: Repetitions) -> dict[str, Any]:
    """What is tuned, by names and numbers, ready for JSON."""
    return {
        "base": base,
        "repetitions": describe(law),
        "mean_repetitions": law.mean,
    }
