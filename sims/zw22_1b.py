"""Zhu & Wang 2022, Figure 1(b): recall where k of 15,000 bins count 700 and the rest 0.

(0.15, 1e-6)-DP a query, for many k: one-shot Gumbel noise on all bins (EM-CDP), Top
Stable, and StableTopK, which finds k itself (Algorithm 2). One trial is one query; its
recall is the number of full bins released, over k.
"""

from collections.abc import Mapping

import numpy as np

from jaxsel.data.histograms import two_level_histogram
from jaxsel.families.top_k.calibration import (
    StableTopK,
    largest_rho,
    stable_top_k_calibration,
)
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.stable import stable_top_k
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import sums
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import positive, probability, whole

TRIALS = 1000

EPSILON, DELTA = 0.15, 1e-6
BINS, COUNT = 15_000, 700
SETTABLE = {
    "EPSILON": positive("epsilon of a query"),
    "DELTA": probability("delta of a query"),
    "BINS": whole("bins of the histogram", at_least=3000),
    "COUNT": whole("of a full bin", at_least=1),
}
SIZES = (10, 20, 50, 100, 200, 500, 1000, 1500)
METHODS: Mapping[str, Mechanism] = {
    "EM-CDP": exponential_top_k(),
    "TS": top_stable_sets(),
    "StableTopK": stable_top_k(),
}
_CAPACITY = 4096  # visits of a race at the largest k, and more
_FAST = Performance(block_size=256)


def calibration() -> StableTopK:
    """Half of delta for the test, as in the paper."""
    return stable_top_k_calibration(EPSILON, DELTA)


def cell(method: str, k: int) -> tuple[dict, dict]:
    """Data and parameters of a method at k."""
    data = two_level_histogram(k, bins=BINS, count=COUNT).data
    if method == "EM-CDP":
        rho = largest_rho(EPSILON, DELTA)
        return data, {"k": k, "rho": rho, "capacity": _CAPACITY}
    if method == "TS":
        return data, {"k": k, "epsilon": EPSILON, "delta": DELTA}
    found = calibration()
    return data, {"k": k, "rho": found.rho, "delta_t": found.delta_t}


def _hits(release):
    return {"hits": release.hits, "squares": release.hits * release.hits}


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Exact sums of the hits and of their squares, Int64["methods sizes"]."""
    found: dict[str, list] = {"hits": [], "squares": []}
    for name, mechanism in METHODS.items():
        # What Top Stable tests has another shape at every k.
        grids = [[k] for k in SIZES] if name == "TS" else [SIZES]
        parts = [
            simulate_grid(
                mechanism, [cell(name, k) for k in sizes], trials=trials,
                seed=seed + list(METHODS).index(name), statistic=sums(_hits),
                progress=progress, performance=_FAST,
            ).values
            for sizes in grids
        ]  # fmt: skip
        for key, values in found.items():
            values.append(np.concatenate([part[key] for part in parts]))
    return {key: np.stack(values) for key, values in found.items()} | {
        "methods": list(METHODS),
        "sizes": list(SIZES),
        "bins": BINS,
        "count": COUNT,
        "epsilon": EPSILON,
        "delta": DELTA,
        "trials": trials,
    }
