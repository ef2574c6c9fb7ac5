"""Utility at equal total epsilon: Liu & Talwar 2019 beside the classical selectors.

A synthetic landscape of 100 scores of sensitivity 1: one run of Algorithms 1 and 2
draws a candidate uniformly and adds Laplace noise of scale 1/epsilon_1 to its score.
Every selector gets the same total epsilon, pure. One trial is one selection. Where
Algorithm 1 gives up, a uniformly random candidate is taken.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning.noised_bases import random_candidate
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import numbers, probability, whole

TRIALS = 500_000
CANDIDATES = 100
BETA = 0.1
GAMMA = BETA / (2.0 * CANDIDATES)  # LT-E18
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
SETTABLE = {
    "CANDIDATES": whole("how many scores", at_least=10),
    "BETA": probability("of a failure"),
    "EPSILONS": numbers("total epsilons", above=0.0),
}
# Few good candidates: the share that loses less than x grows like x^2. In whole tenths.
_SHARE = (np.arange(CANDIDATES) + 0.5) / CANDIDATES
TENTHS = np.round(1000.0 * (1.0 - np.sqrt(_SHARE))).astype(np.int64)
SCORES = TENTHS / 10.0


class Selector(NamedTuple):
    """One way to choose a candidate.

    Attributes:
      name: for records and legends.
      mechanism: what runs.
      params: total epsilon -> its parameters.
    """

    name: str
    mechanism: Mechanism
    params: Callable[[float], dict[str, Any]]


def _threshold(behind: float) -> Selector:
    def params(epsilon: float) -> dict[str, Any]:
        return {
            "noise_scale": 2.0
            / epsilon,  # Theorem 3.1 without a last draw: 2 epsilon_1
            "threshold": SCORES[0] - behind,
            "stop_probability": GAMMA,
        }

    mechanism = threshold_selection(random_candidate("laplace"))
    return Selector(f"Algorithm 1, best - {behind:g}", mechanism, params)


def _stopping(name: str, gamma: float) -> Selector:
    law = laws.geometric(gamma)

    def params(epsilon: float) -> dict[str, Any]:
        return {"noise_scale": 3.0 / epsilon, "repetitions": law}  # 3 epsilon_1

    mechanism = private_tuning(random_candidate("laplace"), law.family)
    return Selector(f"Algorithm 2, {name}", mechanism, params)


SELECTORS: dict[str, Selector] = {
    selector.name: selector
    for selector in (
        Selector(
            "exponential mechanism",
            noisy_max("gumbel", method="race"),
            lambda epsilon: {"epsilon": epsilon},
        ),
        _threshold(10.0),
        _threshold(30.0),
        _stopping("beta/2K", GAMMA),
        _stopping("1/K", 1.0 / CANDIDATES),
        Selector(
            "publish all",
            noisy_max("laplace"),
            # Every score is published at epsilon/K, and the best of them is taken.
            lambda epsilon: {"noise_scale": CANDIDATES / epsilon},
        ),
    )
}


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often each was selected, Int64["selectors epsilons candidates+1"]."""
    none = np.zeros((len(EPSILONS), 1), np.int64)
    counts: dict[str, np.ndarray] = {}
    for number, mechanism in enumerate({s.mechanism: s for s in SELECTORS.values()}):
        group = [s for s in SELECTORS.values() if s.mechanism is mechanism]
        tallies = simulate_grid(
            mechanism,
            [(SCORES, s.params(epsilon)) for s in group for epsilon in EPSILONS],
            trials=trials,
            seed=seed + number,
            progress=progress,
        )
        parts = np.split(tallies.values, len(group))
        for selector, part in zip(group, parts, strict=True):
            # Noisy max always releases something.
            full = part.shape[1] > CANDIDATES
            counts[selector.name] = part if full else np.hstack([part, none])
    return {
        "counts": np.stack([counts[name] for name in SELECTORS]),
        "trials": trials,
        "selectors": list(SELECTORS),
        "epsilons": list(EPSILONS),
    }
