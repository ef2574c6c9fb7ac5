"""How often a gap is enough for private top-k selection (Zhu & Wang 2022).

Each trial is one test of Algorithm 4 or 5, or one selection by report noisy max, at a
gap that is the exact answer of ``top_k_gap_needs`` times a factor near 1; what is stored
is how often it succeeds.
"""

import numpy as np

from jaxsel.families.top_k.noisy_gaps import largest_gap
from jaxsel.families.top_k.stable import propose_test_release
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import sums
from sims.common.top_k_gap_needs import (
    DELTA,
    EPSILON,
    FAILURE,
    SELECTIONS,
    one_release_gap,
    one_release_scale,
    selection_lead,
    selection_scale,
    tested_gap,
    tested_scale,
)

TRIALS = 50_000
EPSILONS = (0.1, 0.2, 0.5, 1.0)  # of one release
RELEASES = (1, 10, 100)
CANDIDATES = (20, 10_000)
TESTS = ("gaussian", "laplace")
ONE_RELEASE = ("gaussian", "aligned", "laplace")
FACTORS = (0.96, 0.98, 0.99, 1.0, 1.01, 1.02, 1.04)


def _passed(release):
    return release.passed


def _first(size):
    return size == 1


def _test_cells(noise: str) -> list:
    """(gap, noise scale, delta_t) of the cells of one noise, without the factors."""
    cells = [
        (one_release_gap(kind, epsilon), one_release_scale(kind, epsilon), DELTA)
        for kind in ONE_RELEASE
        if (kind == "laplace") == (noise == "laplace")
        for epsilon in EPSILONS
    ]
    return cells + [
        (tested_gap(noise, count), tested_scale(noise, count), DELTA / 2.0 / count)
        for count in RELEASES
    ]


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often a test passes, and how often the leading gap is selected.

    Returns:
      "tests_gaussian" (two scales by EPSILONS, then RELEASES), "tests_laplace"
      (EPSILONS, then RELEASES): Int64["cells factors"]; "selections": Int64["selections
      candidates releases factors"]; and the settings.
    """
    found: dict = {}
    for number, noise in enumerate(TESTS):
        cells = _test_cells(noise)
        tallies = simulate_grid(
            propose_test_release(noise),
            [
                (
                    np.array([gap * factor, 0.0]),
                    {"k": 1, "noise_scale": scale, "delta_t": delta_t},
                )
                for gap, scale, delta_t in cells
                for factor in FACTORS
            ],
            trials=trials, seed=seed + number, statistic=sums(_passed),
            progress=progress,
        )  # fmt: skip
        found[f"tests_{noise}"] = tallies.values.reshape(len(cells), len(FACTORS))
    selected = []
    for number, (name, noise) in enumerate(SELECTIONS.items()):
        for place, candidates in enumerate(CANDIDATES):
            cells = [
                (
                    {
                        "head": [factor * selection_lead(name, candidates, count)],
                        "candidates": candidates,
                    },
                    {"noise_scale": selection_scale(name, candidates, count)},
                )
                for count in RELEASES
                for factor in FACTORS
            ]
            tallies = simulate_grid(
                largest_gap(noise), cells, trials=trials,
                seed=seed + 2 + number * len(CANDIDATES) + place,
                statistic=sums(_first), progress=progress,
            )  # fmt: skip
            selected.append(tallies.values)
    shape = (len(SELECTIONS), len(CANDIDATES), len(RELEASES), len(FACTORS))
    return found | {
        "selections": np.stack(selected).reshape(shape),
        "factors": np.array(FACTORS),
        "names": list(SELECTIONS),
        "candidates": list(CANDIDATES),
        "releases": list(RELEASES),
        "epsilons": list(EPSILONS),
        "epsilon": EPSILON,
        "delta": DELTA,
        "failure": FAILURE,
        "trials": trials,
    }
