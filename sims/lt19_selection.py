"""A real choice on real data: Liu & Talwar 2019, section 5.1, on the 56 digit models.

Each run draws a candidate uniformly and adds Laplace(1/(n epsilon_1)) noise to its
validation accuracy; by Lemma 5.1 the pair (candidate, noisy score) is epsilon_1-DP for the
validation set. What a selector releases of these runs costs the total epsilon stated with
it. Scores here are counts of correct labels, which move by at most 1. One trial is one
selection. Where nothing is released (Algorithm 1 gave up, or K = 0) the user takes a
uniformly random candidate, which costs nothing.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.thresholds.laws import threshold_pure
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning.bounds.negative_binomial import (
    pure_negative_binomial_epsilon,
)
from jaxsel.families.tuning.bounds.renyi import tuned_epsilon
from jaxsel.families.tuning.noised_bases import random_candidate
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import probability, whole
from sims.common import digits_candidates

TRIALS = 1_000_000
MEAN_RUNS = 56  # of every law of K: as many as there are candidates
STOP_PROBABILITY = 1.0 / MEAN_RUNS  # Algorithm 1 then makes at most 56 runs on average
DELTA = 1e-6  # for the laws of K without a bound that is free of delta
SETTABLE = {
    "MEAN_RUNS": whole("E[K] of all laws of K", at_least=2),
    "DELTA": probability("of the laws that need one"),
}
_TOTALS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Selector(NamedTuple):
    """One way to choose a candidate.

    Attributes:
      name: for records and legends.
      mechanism: what runs.
      params: epsilon of one run -> its parameters.
      total: epsilon of one run -> total epsilon of what is released.
      base_epsilons: of one run, at the simulated points.
      delta: of the total; 0 for pure differential privacy.
    """

    name: str
    mechanism: Mechanism
    params: Callable[[float], dict[str, Any]]
    total: Callable[[float], float]
    base_epsilons: tuple[float, ...]
    delta: float = 0.0


def candidates() -> dict[str, np.ndarray]:
    """Numbers of correct labels on the validation and on the test set, Int64["56"]."""
    record = digits_candidates.load()
    models = record["candidates"]
    test = [round(m["test_accuracy"] * record["n_test"]) for m in models]
    return {
        "validation": np.array([m["validation_correct"] for m in models]),
        "test": np.array(test),
        "n_validation": np.array(record["n_validation"]),
        "n_test": np.array(record["n_test"]),
    }


def _tuning(name, law: laws.Repetitions, total, base_epsilons, delta=0.0) -> Selector:
    return Selector(
        name=name,
        mechanism=private_tuning(random_candidate("laplace"), law.family),
        params=lambda epsilon: {"noise_scale": 1.0 / epsilon, "repetitions": law},
        total=total,
        base_epsilons=base_epsilons,
        delta=delta,
    )


def _negative_binomial(eta: float) -> Selector:
    law = laws.from_mean("truncated_negative_binomial", MEAN_RUNS, eta=eta)
    return _tuning(
        f"eta={eta:g}",
        law,
        lambda epsilon: pure_negative_binomial_epsilon(epsilon, eta),  # Corollary 3
        tuple(total / (2.0 + eta) for total in _TOTALS),
    )


def _approximate(name: str, law: laws.Repetitions, theorem: str, grid) -> Selector:
    @functools.cache  # costly, and asked for again and again
    def total(epsilon: float) -> float:
        base = curves.laplace(1.0 / epsilon)
        return tuned_epsilon(base, law, DELTA, theorems=[theorem]).epsilon

    return _tuning(name, law, total, grid, DELTA)


def _threshold(accuracy: float) -> Selector:
    count = accuracy * int(candidates()["n_validation"])

    def params(epsilon: float) -> dict[str, Any]:
        return {
            "noise_scale": 1.0 / epsilon,
            "threshold": count,
            "stop_probability": STOP_PROBABILITY,
        }

    return Selector(
        name=f"threshold={accuracy:g}",
        mechanism=threshold_selection(random_candidate("laplace")),
        params=params,
        total=threshold_pure,  # Theorem 3.1 (b) without a last draw
        base_epsilons=tuple(total / 2.0 for total in _TOTALS),
    )


def selectors() -> tuple[Selector, ...]:
    """All of them; the approximate ones at runs whose totals span the same range."""
    return (
        _threshold(0.9),
        _threshold(0.95),
        *(_negative_binomial(eta) for eta in (-0.5, 0.0, 1.0, 2.0)),
        _approximate(
            "poisson",
            laws.poisson(MEAN_RUNS),
            "PS-Thm6-profile",
            (0.0043, 0.008, 0.0155, 0.036, 0.066, 0.124, 0.275, 0.47),
        ),
        _approximate(
            "binomial",
            laws.binomial(2 * MEAN_RUNS, 0.5),
            "PS-Lem7",
            (0.00366, 0.0069, 0.0131, 0.0304, 0.0573, 0.107, 0.235, 0.427),
        ),
        _tuning(
            "naive",
            laws.point_mass(MEAN_RUNS),
            lambda epsilon: MEAN_RUNS * epsilon,  # composition
            tuple(total / MEAN_RUNS for total in _TOTALS),
        ),
        Selector(
            name="exponential mechanism",
            mechanism=noisy_max("gumbel"),
            params=lambda epsilon: {"epsilon": epsilon},
            total=lambda epsilon: epsilon,
            base_epsilons=_TOTALS,
        ),
    )


SELECTORS: dict[str, Selector] = {selector.name: selector for selector in selectors()}


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often each candidate was selected, Int64["selectors points candidates + 1"]."""
    scores = candidates()["validation"].astype(np.float64)
    none = np.zeros((len(_TOTALS), 1), np.int64)
    counts: dict[str, np.ndarray] = {}
    for number, mechanism in enumerate({s.mechanism: s for s in SELECTORS.values()}):
        group = [s for s in SELECTORS.values() if s.mechanism is mechanism]
        tallies = simulate_grid(
            mechanism,
            [(scores, s.params(e)) for s in group for e in s.base_epsilons],
            trials=trials,
            seed=seed + number,
            progress=progress,
        )
        for selector, part in zip(
            group, np.split(tallies.values, len(group)), strict=True
        ):
            # The exponential mechanism always releases something.
            full = part.shape[1] > scores.size
            counts[selector.name] = part if full else np.hstack([part, none])
    return {
        "counts": np.stack([counts[name] for name in SELECTORS]),
        "trials": trials,
        "selectors": list(SELECTORS),
        "base_epsilons": [list(s.base_epsilons) for s in SELECTORS.values()],
        "mean_runs": MEAN_RUNS,
        "delta": DELTA,
    }
