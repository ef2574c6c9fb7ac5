"""How often a leading group is selected: Cohen et al. 2022, Theorem 8.

k candidates share the best score and lead all others, which are equal. Each trial is
one selection, at the exact lead that makes one of them win with probability 1 - BETA,
times a factor near 1. Beside stable selection: a noisy test of the gap between the best
and the second (k = 1 alone), and the exponential mechanism.
"""

import functools

import numpy as np

from jaxsel.families.choosing.laws import needed_lead, stable_settings
from jaxsel.families.choosing.stable_selection import stable_selection
from jaxsel.families.top_k.gaps import gap_for_success
from jaxsel.families.top_k.stable import propose_test_release
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import sums
from sims.clnss22_choosing import BETA, DELTA, EPSILON, FACTORS, exponential_wins

TRIALS = 200_000
BITS = (4, 16, 32, 64, 128, 192)  # log2 of the number of candidates
RANK_BITS = 192  # the same, where k varies
RANKS = (1, 10, 100, 1000)


@functools.cache
def stable_lead(bits: float, rank: int, shares: int = 6) -> float:
    """Exact lead at which stable selection selects one of the ``rank`` best."""
    settings = stable_settings(EPSILON, DELTA, BETA, rank, shares=shares)
    return needed_lead(float(rank), 2.0**bits - rank, settings, BETA)


def tested_lead() -> float:
    """Exact lead at which a test of the gap passes.

    Half the gap moves by at most 1, and is at most 1 where the best may change: it is
    tested with Laplace noise of scale 1/epsilon.
    """
    return 2.0 * gap_for_success(1.0 / EPSILON, DELTA, BETA, "laplace", quantile=True)


def _passed(release):
    return release.passed


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often the best are selected, Int64["cells factors"].

    "stable": at each of BITS for k = 1, then at RANK_BITS for each of RANKS;
    "exponential": likewise; "tested": one cell.
    """
    cells = [(bits, 1) for bits in BITS] + [(RANK_BITS, rank) for rank in RANKS]
    grid = []
    for bits, rank in cells:
        params = {"epsilon": EPSILON, "delta": DELTA, "beta": BETA, "rank": rank}
        counts = [float(rank), 2.0**bits - rank]
        lead = stable_lead(bits, rank)
        grid += [
            ({"scores": [f * lead, 0.0], "counts": counts}, params) for f in FACTORS
        ]
    found = simulate_grid(
        stable_selection(), grid, trials=trials, seed=seed, progress=progress
    )
    test = {"k": 1, "noise_scale": 1.0 / EPSILON, "delta_t": DELTA}
    half = tested_lead() / 2.0
    tested = simulate_grid(
        propose_test_release("laplace", threshold="quantile"),
        [([f * half, 0.0], test) for f in FACTORS],
        trials=trials, seed=seed + 2, statistic=sums(_passed), progress=progress,
    )  # fmt: skip
    plain = [(bits, float(rank)) for bits, rank in cells]
    return {
        "stable": found.values[:, 0].reshape(len(cells), len(FACTORS)),
        "exponential": exponential_wins(plain, trials, seed + 1, progress),
        "tested": tested.values.reshape(1, len(FACTORS)),
        "factors": np.array(FACTORS),
        "trials": trials,
    }
