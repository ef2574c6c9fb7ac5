"""Errors of query release: Theorem 5 of Cohen et al. 2022, as corrected and sharper.

One trial is one release; its largest error is counted above levels, in units of the cap.
The repaired Gaussian mechanism's median error comes from its data-independent calibration.
"""

import functools

import numpy as np

from jaxsel.families.query_release.laws import query_release
from jaxsel.families.query_release.query_release import Answers, query_release_mechanism
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import combine, counts, histogram
from jaxsel.language.domains import positive, probability, whole

TRIALS = 100_000

EPSILON, DELTA, QUERIES = 1.0, 0.05, 10
LEVELS = tuple(
    float(level) for level in np.linspace(0.05, 1.0, 20)
)  # shares of the cap
REPAIRED = (1, 3, 10, 30, 100, 300, 1000, 3000)  # numbers of queries
CAP_DELTA = 1e-6  # of the caps by number of queries
SETTABLE = {
    "EPSILON": positive("epsilon in all"),
    "DELTA": probability("delta of the left panel"),
    "QUERIES": whole("of the left panel", at_least=1),
    "CAP_DELTA": probability("delta of the right panel"),
}


def _corrected(outcome: Answers):
    return outcome.corrected


@functools.cache
def _statistic(cap: float):
    edges = tuple(level * cap for level in LEVELS)
    return combine(
        {"error": histogram(_error, edges), "corrected": counts(_corrected, 2)}
    )


def _error(outcome: Answers):
    return outcome.error


def run(*, trials: int, seed: int, progress: bool | None) -> dict:
    """Counts of errors by level, for the corrected and for the sharp settings."""
    mechanism = query_release_mechanism(method="largest", event="correction")
    result: dict = {"trials": trials, "levels": np.array(LEVELS)}
    for name, sharp in (("corrected", False), ("sharp", True)):
        settings = query_release(QUERIES, EPSILON, DELTA, sharp=sharp)
        params = {"epsilon": EPSILON, "delta": DELTA, "sharp": sharp}
        tallies = simulate_grid(
            mechanism,
            [(np.zeros(QUERIES), params)],
            trials=trials,
            seed=seed,
            statistic=_statistic(settings.cap),
            progress=progress,
        )
        result[f"{name}_errors"] = np.asarray(tallies.values["error"])[0]
        result[f"{name}_corrected"] = np.asarray(tallies.values["corrected"])[0]
    result["repaired_queries"] = np.array(REPAIRED)
    result["repaired_caps"] = np.array(
        [
            query_release(k, EPSILON, CAP_DELTA, sharp=True, inner="repaired").cap
            for k in REPAIRED
        ]
    )
    return result
