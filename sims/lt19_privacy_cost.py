"""What each selection of Liu & Talwar 2019 and Cohen et al. 2022 costs, on one pair.

Three outcomes that are 1-DP: the best one e times as likely on the neighbour, a rare one
in the middle e times as rare. It is nearly worst for naive best-of-K, for Algorithms 1 and
2, and for Selection at once. What is tallied is the outcome, on both sides, and a trial is
one selection.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.pairs import LawPair, three_outcome
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import positive, probability

TRIALS = 1_500_000
EPSILON = 1.0  # of one run
MIDDLE = 0.006  # probability of the middle outcome where it is rare
SETTABLE = {
    "EPSILON": positive("epsilon of one run"),
    "MIDDLE": probability("of the middle outcome where it is rare"),
}
CALLS = (2, 4, 8, 16, 32, 64)  # expected; of Algorithm 1, at most


class Selector(NamedTuple):
    """One way to select.

    Attributes:
      name: for records and legends.
      mechanism: what runs, on the laws of ``base_pair`` with scores 1, 1 and 0.
      params: expected number of calls -> its parameters.
      factor: proven total epsilon, in epsilons of one run: expected calls -> factor.
    """

    name: str
    mechanism: Mechanism
    params: Callable[[float], dict[str, Any]]
    factor: Callable[[float], float]


def base_pair() -> LawPair:
    """Laws on the data and on the neighbour, best outcome first."""
    return three_outcome(EPSILON, 1.0 / (1.0 + math.exp(EPSILON)), MIDDLE)


def _selection(gamma: float) -> Selector:
    def params(calls: float) -> dict[str, Any]:
        # Each of tau runs is made with probability gamma/(1 + gamma) on average.
        largest = round(calls * (1.0 + gamma) / gamma)
        return {"repetitions": laws.beta_binomial(largest, gamma)}

    return Selector(
        f"selection-{gamma:g}",
        private_tuning(finite(), "beta_binomial"),
        params,
        lambda calls: 2.0 + gamma,
    )


SELECTORS: tuple[Selector, ...] = (
    Selector(
        "naive",
        private_tuning(finite(), "point_mass"),
        lambda calls: {"repetitions": laws.point_mass(int(calls))},
        lambda calls: calls,
    ),
    Selector(
        "algorithm-2",
        private_tuning(finite()),
        lambda calls: {"repetitions": laws.geometric(1.0 / calls)},
        lambda calls: 3.0,
    ),
    _selection(0.5),
    _selection(0.1),
    Selector(
        "algorithm-1",
        threshold_selection(finite()),
        lambda calls: {"threshold": 1.0, "stop_probability": 1.0 / calls},
        lambda calls: 2.0,
    ),
)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies, Int64["selectors calls sides outcomes"], nothing released last."""
    sides = [{"probabilities": side, "scores": [1.0, 1.0, 0.0]} for side in base_pair()]
    counts: dict[str, np.ndarray] = {}
    for number, mechanism in enumerate({s.mechanism: s for s in SELECTORS}):
        group = [s for s in SELECTORS if s.mechanism is mechanism]
        cells = [
            (side, selector.params(calls))
            for selector in group
            for calls in CALLS
            for side in sides
        ]
        tallies = simulate_grid(
            mechanism, cells, trials=trials, seed=seed + number, progress=progress
        )
        parts = tallies.values.reshape(len(group), len(CALLS), 2, -1)
        counts |= {s.name: part for s, part in zip(group, parts, strict=True)}
    return {
        "counts": np.stack([counts[s.name] for s in SELECTORS]),
        "selectors": [s.name for s in SELECTORS],
        "calls": list(CALLS),
        "epsilon": EPSILON,
        "middle": MIDDLE,
        "trials": trials,
    }
