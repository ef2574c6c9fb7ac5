"""Selection on the data sets of Liu & Talwar 2019, Theorem D.2: how often j is selected.

One run is that of a random one of K mechanisms that answer 0 or 1; ties go to the lowest
index, and j is the highest. Algorithm 1 has the threshold 1. What is tallied is whether j
was selected, on D_0 and on D_j. A trial is one selection.
"""

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.thresholds.packing_laws import packing_law, packing_successes
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language import domains

TRIALS = 4_000_000
EPSILON = 0.01  # of one mechanism
ALPHA = 0.1
STOP = 0.1  # K gamma: 10 K runs on average
SETTABLE = {
    "EPSILON": domains.positive("epsilon of one mechanism"),
    "ALPHA": domains.number("of Theorem D.2", above=0.0, below=0.5),
    "STOP": domains.number("K times the stopping probability", above=0.0, below=1.0),
}
CANDIDATES = (10, 30, 100, 300, 1000)
ALGORITHMS = ("algorithm-1", "algorithm-2")


def base_laws(candidates: float) -> tuple[np.ndarray, np.ndarray]:
    """Laws of one run on D_0 and on D_j: success and failure, of another and of j."""
    start, winner, loser, _ = packing_successes(candidates, ALPHA)
    return (
        packing_law(start, start, candidates),
        packing_law(winner, loser, candidates),
    )


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """ "chosen" Int64["algorithms candidates 2"]: selections of j on D_0 and on D_j."""
    mechanisms = threshold_selection(finite()), private_tuning(finite())
    chosen = []
    for number, mechanism in enumerate(mechanisms):
        cells = []
        for count in CANDIDATES:
            gamma = STOP / count
            params = (
                {"threshold": 1.0, "stop_probability": gamma}
                if number == 0
                else {"repetitions": laws.geometric(gamma)}
            )
            for side in base_laws(count):
                data = {"probabilities": side, "scores": [1.0, 1.0, 0.0, 0.0]}
                cells.append((data, params))
        tallies = simulate_grid(
            mechanism, cells, trials=trials, seed=seed + number, progress=progress
        )
        found = tallies.values.reshape(len(CANDIDATES), 2, -1)
        chosen.append(found[..., 1] + found[..., 3])
    return {
        "chosen": np.stack(chosen),
        "algorithms": list(ALGORITHMS),
        "candidates": list(CANDIDATES),
        "epsilon": EPSILON,
        "alpha": ALPHA,
        "trials": trials,
    }
