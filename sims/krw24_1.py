"""Koskela, Redberg & Wang 2024, Figure 1: what report noisy max with Gaussian noise loses.

Tallies on both sides of constructed neighbours: two groups of equal scores that move
apart, the sizes and the lead chosen by exact laws so that epsilon at DELTA is largest; and
a single candidate that moves against all others. One trial is one release (of k winners
for compositions), reduced to whether the winner is in the first group (how many of the k
winners are).
"""

from collections.abc import Sequence

import numpy as np

from jaxsel.families.noisy_max.composition import composition
from jaxsel.families.noisy_max.group_bounds import (
    GroupPair,
    moving_groups,
    single_pair,
    worst_composed_group_pair,
    worst_group_pair,
)
from jaxsel.families.noisy_max.grouped_noisy_max import grouped_noisy_max
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Pair
from jaxsel.language.domains import positive, probability, whole

TRIALS = 4_000_000
DELTA = 1e-3  # that so many trials can see; the paper's is 1e-6
NOISE_SCALE = 4.0
CANDIDATES = (2, 10, 100, 1000, 10_000)
NOISE_SCALES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
FIXED = 100  # candidates where the noise varies
COMPOSITIONS = (1, 3, 10, 30, 100)
COMPOSED = 10  # candidates where the number of releases varies
SETTABLE = {
    "DELTA": probability("delta that trials can see"),
    "NOISE_SCALE": positive("where it does not vary"),
    "FIXED": whole("candidates where the noise varies", at_least=2),
    "COMPOSED": whole("candidates where the number of releases varies", at_least=2),
}


def _cells(pairs: Sequence[Pair]) -> list:
    return [
        (side, pair.params) for pair in pairs for side in (pair.data, pair.neighbour)
    ]


def _table(pairs: Sequence[GroupPair]) -> np.ndarray:
    return np.array([[pair.first, pair.second, pair.lead] for pair in pairs])


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by pair and side, and the pairs.

    Returns:
      For "groups", "single" (by number of candidates) and "scales" (by noise scale):
      "..._pairs" Float64["pairs 3"], sizes and lead, and "..._counts" Int64["pairs sides
      groups"]; for k compositions "composed_pairs" and "composed_counts_k"
      Int64["sides k+1"].
    """
    pairs = {
        "groups": [worst_group_pair(DELTA, m, NOISE_SCALE) for m in CANDIDATES],
        "single": [single_pair(DELTA, m, NOISE_SCALE) for m in CANDIDATES],
        "scales": [worst_group_pair(DELTA, FIXED, scale) for scale in NOISE_SCALES],
    }
    scales = {
        "groups": [NOISE_SCALE] * len(CANDIDATES),
        "single": [NOISE_SCALE] * len(CANDIDATES),
        "scales": list(NOISE_SCALES),
    }
    neighbours = [
        moving_groups(pair, scale)
        for name in pairs
        for pair, scale in zip(pairs[name], scales[name], strict=True)
    ]
    release = grouped_noisy_max()
    tallies = simulate_grid(
        release, _cells(neighbours), trials=trials, seed=seed, progress=progress
    )
    counts = tallies.values.reshape(-1, 2, 2)
    found: dict = {"trials": trials, "delta": DELTA, "noise_scale": NOISE_SCALE}
    for name, group in pairs.items():
        found[f"{name}_pairs"] = _table(group)
        found[f"{name}_counts"], counts = counts[: len(group)], counts[len(group) :]

    composed = [
        worst_composed_group_pair(DELTA, COMPOSED, NOISE_SCALE, k) for k in COMPOSITIONS
    ]
    # Fewer trials of longer compositions.
    found["composed_trials"] = [max(8 * trials // (8 + k), 2) for k in COMPOSITIONS]
    for number, (k, pair) in enumerate(zip(COMPOSITIONS, composed, strict=True)):
        tallies = simulate_grid(
            composition(release, k),
            _cells([moving_groups(pair, NOISE_SCALE)]),
            trials=found["composed_trials"][number],
            seed=seed + 1 + number,
            progress=progress,
        )
        found[f"composed_counts_{k}"] = tallies.values
    found["composed_pairs"] = _table(composed)
    return found
