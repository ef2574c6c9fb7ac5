"""Papernot & Steinke 2022, Figure 6: probability that the tuned algorithm succeeds.

One run succeeds with probability 1/100, and a success is better than a failure. One trial
is one execution of the tuned algorithm. Eight values of epsilon for each law of K, and
fixed numbers of runs 1 to 10.
"""

import numpy as np

from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import numbers, probability
from sims.common import tuned_laws

TRIALS = 1_000_000
BASE_SUCCESS = 0.01
EPSILONS = (2.5, 3.25, 4.0, 4.75, 5.5, 6.25, 7.0, 7.75)
COUNTS = tuple(range(1, 11))
SETTABLE = {
    "BASE_SUCCESS": probability("chance that one run succeeds"),
    "EPSILONS": numbers("epsilons of the simulated points", above=0.0),
}


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Successes by law and epsilon, and by fixed number of runs."""
    families = [f for f in tuned_laws.FAMILIES.values() if f.name != "eta=2"]
    grids = [[tuned_laws.at_epsilon(f, e) for e in EPSILONS] for f in families]
    grids.append([tuned_laws.naive(count) for count in COUNTS])
    found = []
    for number, grid in enumerate(grids):
        tallies = simulate_grid(
            private_tuning(finite(), grid[0].family),
            [([BASE_SUCCESS, 1.0 - BASE_SUCCESS], {"repetitions": k}) for k in grid],
            trials=trials,
            seed=seed + number,
            progress=progress,
        )
        found.append(tallies.values[:, 0])
    return {
        "successes": np.stack(found[:-1]),
        "naive_successes": found[-1],
        "trials": trials,
        "families": [family.name for family in families],
        "parameters": [[dict(k.parameters) for k in grid] for grid in grids[:-1]],
        "counts": list(COUNTS),
        "base_success": BASE_SUCCESS,
        "rho": tuned_laws.RHO,
        "delta": tuned_laws.DELTA,
    }
