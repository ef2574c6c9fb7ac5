"""An analyst who overfits 500 rows, with and without protection.

The population is a real table (Cohen et al. 2022, Theorems 10 and 12 promise
answers near the population's). One trial draws the rows, asks m random queries and then
the one that the answers suggest.
"""

import numpy as np
from scipy import stats

from jaxsel.families.multiplicative_weights.adaptive_analysis import (
    PROTECTIONS,
    adaptive_analysis,
)
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import combine, moments
from jaxsel.language.domains import positive, whole
from sims.common.universe import table

TRIALS = 128
ROWS = 500
QUERIES = (3, 10, 30, 100, 300, 1000)
RANGE = (-2.0, 3.0)  # of all values, but with chance below 1e-12
# A total epsilon of 46, pure: 40 for the sparse vector, 6 for 60 answers. So few rows bear
# no less, if answers are to be of use.
THRESHOLD, RATE = 0.08, 0.24
SETTABLE = {
    "ROWS": whole("drawn from the population", at_least=10),
    "THRESHOLD": positive("of the mechanisms"),
    "RATE": positive("of learning"),
}
ANSWERS, ANSWER = 60, 0.1  # how many, and epsilon of each
VECTOR = 40.0 / ANSWERS  # epsilon of each restarted sparse vector
FAILURES, GAMMA = 60, 1.0
TEST = 40.0 / (2 * FAILURES + GAMMA)  # epsilon of each Test
SETTINGS = {
    "none": {},
    "laplace": {"noise_scale": 0.04},
    "gaussian": {"noise_scale": 0.04},
    "weights": {
        "threshold": THRESHOLD,
        "rate": RATE,
        "max_updates": ANSWERS,
        "threshold_scale": 2.0 / (ROWS * VECTOR),
        "query_scale": 4.0 / (ROWS * VECTOR),
        "answer_scale": 1.0 / (ROWS * ANSWER),
    },
    "repetitive": {
        "threshold": THRESHOLD,
        "distance": THRESHOLD / 2.0,
        "rate": RATE,
        "gamma": GAMMA,
        "repetitions": 25,
        "max_failures": FAILURES,
        "max_answers": ANSWERS,
        "test_scale": 1.0 / (ROWS * TEST),
        "answer_scale": 1.0 / (ROWS * ANSWER),
    },
}
# What is averaged over trials, of an Analysis.
VALUES = {
    "answer": lambda outcome: outcome.answer,
    "empirical": lambda outcome: outcome.empirical,
    "population": lambda outcome: outcome.population,
    "gap": lambda outcome: outcome.answer - outcome.population,
    "max_error": lambda outcome: outcome.max_error,
}
_PARTS = ("count", "outside", "sum", "square_high", "square_low")


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Moments of each value, Int64["protections queries values parts"]."""
    data = table(attributes=11)
    shares = data.counts / data.rows
    statistic = combine({name: moments(f, *RANGE) for name, f in VALUES.items()})
    rows = []
    for number, protection in enumerate(PROTECTIONS):
        settings = SETTINGS[protection]
        values = simulate_grid(
            adaptive_analysis(ROWS, protection=protection),
            [(shares, settings | {"queries": m}) for m in QUERIES],
            trials=trials,
            seed=seed + number,
            statistic=statistic,
            progress=progress,
            performance=Performance(block_size=32),
        ).values
        rows.append([[values[name][part] for part in _PARTS] for name in VALUES])
    return {
        "sums": np.moveaxis(np.array(rows), -1, 1),
        "parts": list(_PARTS),
        "values": list(VALUES),
        "trials": trials,
        "rows": ROWS,
        "queries": list(QUERIES),
        "protections": list(PROTECTIONS),
        "source": data.source,
        "generated": data.generated,
        "cells": data.counts.size,
        "distance": _expected_distance(shares, ROWS),
    }


def _expected_distance(shares: np.ndarray, rows: int) -> float:
    """Mean total variation distance of the rows' shares from the population's."""
    # E|X - np| = 2 k (1 - p) P[X = k], k = floor(np) + 1 (de Moivre).
    k = np.floor(rows * shares) + 1.0
    deviation = 2.0 * k * (1.0 - shares) * stats.binom.pmf(k, rows, shares)
    return 0.5 * float(np.sum(deviation)) / rows
