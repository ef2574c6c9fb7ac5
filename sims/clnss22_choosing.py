"""How often the best of m candidates is chosen: Cohen et al. 2022, Theorem 7.

One candidate leads m - 1 others, all equal. Each trial is one selection, at the exact
lead that makes the best win with probability 1 - BETA, times a factor near 1. All
identical candidates are one group: m may be 2^128. The exponential mechanism's rivals
are one, too: the largest of n Gumbel draws is one draw plus log n.
"""

import functools
import math

import numpy as np

from jaxsel.families.choosing.choosing import choosing_mechanism
from jaxsel.families.choosing.laws import choosing_settings, needed_lead
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import positive, probability

TRIALS = 200_000

EPSILON, DELTA, BETA = 1.0, 1e-6, 0.1
SETTABLE = {
    "EPSILON": positive("epsilon in all"),
    "DELTA": probability("delta in all"),
    "BETA": probability("of a failure"),
}
FACTORS = (0.9, 0.94, 0.97, 1.0, 1.03, 1.06, 1.1)
BITS = (4, 16, 32, 64, 128)  # log2 of the number of candidates
BOUND_BITS = 64  # the same, where k varies
BOUNDS = (1, 100, 10_000)


@functools.cache
def chosen_lead(bits: float, bound: int) -> float:
    """Exact lead at which the choosing mechanism chooses the best of 2^bits."""
    settings = choosing_settings(EPSILON, DELTA, BETA, bound)
    return needed_lead(1.0, 2.0**bits - 1.0, settings, BETA)


def exponential_lead(bits: float, best: float = 1.0) -> float:
    """The same of the exponential mechanism, if ``best`` candidates share the lead."""
    odds = (2.0**bits - best) / best * (1.0 - BETA) / BETA
    return max(2.0 / EPSILON * math.log(odds), 0.0)


def exponential_wins(cells, trials: int, seed: int, progress) -> np.ndarray:
    """How often the best win: Int64["cells factors"], cells (bits, best)."""
    grid = []
    for bits, best in cells:
        shift = 2.0 / EPSILON * math.log((2.0**bits - best) / best)
        lead = exponential_lead(bits, best)
        grid += [([f * lead, shift], {"epsilon": EPSILON}) for f in FACTORS]
    found = simulate_grid(
        noisy_max("gumbel"), grid, trials=trials, seed=seed, progress=progress
    )
    return found.values[:, 0].reshape(len(cells), len(FACTORS))


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often the best is chosen, Int64["cells factors"].

    "chosen": at each of BITS for k = 1, then at BOUND_BITS for each of BOUNDS;
    "exponential": at each of BITS.
    """
    cells = [(bits, 1) for bits in BITS] + [(BOUND_BITS, bound) for bound in BOUNDS]
    grid = []
    for bits, bound in cells:
        params = {"epsilon": EPSILON, "delta": DELTA, "beta": BETA, "bound": bound}
        counts = [1.0, 2.0**bits - 1.0]
        lead = chosen_lead(bits, bound)
        grid += [
            ({"scores": [f * lead, 0.0], "counts": counts}, params) for f in FACTORS
        ]
    found = simulate_grid(
        choosing_mechanism(), grid, trials=trials, seed=seed, progress=progress
    )
    plain = [(bits, 1.0) for bits in BITS]
    return {
        "chosen": found.values[:, 0].reshape(len(cells), len(FACTORS)),
        "exponential": exponential_wins(plain, trials, seed + 1, progress),
        "factors": np.array(FACTORS),
        "trials": trials,
    }
