"""Subsampled exponential mechanism: releases by number of draws, on a pair."""

from jaxsel.catalogue import find_mechanism
from jaxsel.kernel.engine import simulate_grid

TRIALS = 1_000_000
DRAWS, SCORES = (1, 2, 4, 8, 16), "0,-1,-2,-3,-4,-5"


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies, Int64["sides candidates"], of each number of draws."""
    entry, found = find_mechanism("subsampled_exponential"), {}
    settings = {"trials": trials, "seed": seed, "progress": progress}
    for draws in DRAWS:
        built = entry.build({"draws": draws, "scores": SCORES})
        (pair,) = entry.pairs({"scores": SCORES})
        cells = [(side, pair.params) for side in (pair.data, pair.neighbour)]
        tallies = simulate_grid(built.mechanism, cells, **settings)
        found[f"counts_{draws}"] = tallies.values
    return found
