"""How often no run beats the median: Cohen et al. 2022, Theorem 4; Liu & Talwar 2019.

Each run beats the median with probability 1/2. One Selection of at most T runs, for
several alpha and T; and random stopping, for several gamma. One trial is one execution.
"""

import math

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.percentile.better_than_median import better_than_median
from jaxsel.families.percentile.median_laws import median_failure
from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import numbers

TRIALS = 1_000_000
LEAST = 1e-4
ALPHAS = (0.25, 0.5, 1.0, 2.0, math.log(1.0 / LEAST))
FAILURES = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)  # aimed at
SETTABLE = {
    "FAILURES": numbers("failure probabilities of the points", above=0.0, below=0.5),
}
_COIN = (0.5, 0.5)


def least_rounds(failure: float, alpha: float) -> int:
    """The least T with at most this failure probability."""
    low, high = 0, 1
    while median_failure(high, alpha) > failure:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if median_failure(middle, alpha) > failure:
            low = middle
        else:
            high = middle
    return high


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Numbers of failures.

    Returns:
      "rounds" Int64["alphas points"], T; "failed" Int64["alphas points"];
      "stopping_failed" Int64["points"], of random stopping at gamma = b/(1 - b), b in
      FAILURES.
    """
    rounds = np.array([[least_rounds(b, a) for b in FAILURES] for a in ALPHAS])
    selected = simulate_grid(
        better_than_median(finite()),
        [
            (_COIN, {"alpha": alpha, "rounds": int(count)})
            for alpha, row in zip(ALPHAS, rounds, strict=True)
            for count in row
        ],
        trials=trials,
        seed=seed,
        progress=progress,
    )
    stopped = simulate_grid(
        private_tuning(finite()),
        [(_COIN, {"repetitions": laws.geometric(b / (1.0 - b))}) for b in FAILURES],
        trials=trials,
        seed=seed + 1,
        progress=progress,
    )
    # Outcome 0 is the better half; the rest is worse, or that there was no run.
    return {
        "rounds": rounds,
        "failed": selected.values[:, 1:].sum(axis=1).reshape(rounds.shape),
        "stopping_failed": stopped.values[:, 1:].sum(axis=1),
        "trials": trials,
        "alphas": list(ALPHAS),
        "failures": list(FAILURES),
    }
