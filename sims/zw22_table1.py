"""Zhu & Wang 2022, Table 1: proportion of the true top k among places of check-ins.

Foursquare, and Gowalla with 1,280,968 places (the paper calls it BrightKite), from the
folder of the variable JAXSEL_DATA; where they are not at hand, generated power laws
stand in. k and epsilon are the paper's, delta = 1/users, half of it for the test of
StableTopK. One trial is one release; it costs about k draws, not one a place.

What the paper leaves open: StableTopK is Algorithm 3 with r = 0 (lambda = 0); the
limited domain has k-bar = k, or 5 k. Top Stable runs as published, and as its authors'
code reads the gaps.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxsel.data.histograms import (
    CHECK_INS,
    Histogram,
    check_ins_available,
    load_check_ins,
    zipf_histogram,
)
from jaxsel.families.top_k.baselines import limited_domain_share
from jaxsel.families.top_k.calibration import largest_rho, stable_top_k_calibration
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.fixed import fixed_top_k
from jaxsel.families.top_k.limited_domain import limited_domain
from jaxsel.families.top_k.release import event_of
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import counts
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import numbers

TRIALS = 4000
SIZES = (3, 10, 50)
EPSILONS = (0.4, 0.8, 1.0)
SETTABLE = {
    "SIZES": numbers("k of the rows", at_least=1.0),
    "EPSILONS": numbers("epsilons of the rows", above=0.0),
}
STAND_IN = 20_000  # places of a generated histogram
_FAST = Performance(block_size=256)


class Method(NamedTuple):
    """One column of the table.

    Attributes:
      mechanism: what runs.
      domain: k-bar, in units of k.
    """

    mechanism: Mechanism
    domain: int = 1


METHODS: Mapping[str, Method] = {
    "StableTopK": Method(fixed_top_k()),
    "EM-CDP": Method(exponential_top_k()),
    "LD, k̄ = 5k": Method(limited_domain(), 5),
    "LD, k̄ = k": Method(limited_domain()),
    "TS": Method(top_stable_sets()),
    "TS as coded": Method(top_stable_sets(reference_quirks=True)),
}


def histograms() -> list[Histogram]:
    """The check-ins, or generated histograms in their place."""
    return [
        load_check_ins(name)
        if check_ins_available(name)
        else zipf_histogram(name, candidates=STAND_IN)
        for name in CHECK_INS
    ]


def params(method: str, k: int, epsilon: float, delta: float) -> dict[str, Any]:
    """Parameters for (epsilon, delta)-DP by the papers' accounting."""
    if method == "StableTopK":
        found = stable_top_k_calibration(epsilon, delta)
        padding = {"capacity": 16 * k + 256, "groups": 128}
        return {"k": k, "rho": found.rho, "delta_t": found.delta_t} | padding
    if method == "EM-CDP":
        rho = largest_rho(epsilon, delta)
        return {"k": k, "rho": rho, "capacity": 16 * max(SIZES) + 256}
    if method.startswith("TS"):
        return {"k": k, "epsilon": epsilon, "delta": delta}
    # Half of delta for the domain, half for the composition of the picks.
    share = limited_domain_share(epsilon, k, delta / 2.0)
    domain = METHODS[method].domain * k
    return {"k": k, "epsilon": share, "delta": delta / 2.0, "domain": domain}


def _grids(sets: list[Histogram]) -> list[list[tuple[str, int, int, float]]]:
    """Cells (method, number of set, k, epsilon) that share one compiled program."""
    grids = []
    places = range(len(sets))
    for name in METHODS:
        if name == "EM-CDP":
            grids += [
                [(name, i, k, e) for k in SIZES for e in EPSILONS] for i in places
            ]
        elif name == "StableTopK":
            grids += [
                [(name, i, k, e) for e in EPSILONS] for i in places for k in SIZES
            ]
        else:
            grids += [
                [(name, i, k, e) for i in places for e in EPSILONS] for k in SIZES
            ]
    return grids


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often each number of the true top k was released.

    Returns:
      "counts": Int64["methods sets sizes epsilons hits"], hits from 0 to the largest k;
      "gaps": Float["sets 100"], the first gaps; and the settings.
    """
    sets = histograms()
    most = max(SIZES)
    shape = (len(METHODS), len(sets), len(SIZES), len(EPSILONS), most + 1)
    table = np.zeros(shape, dtype=np.int64)
    for number, grid in enumerate(_grids(sets)):
        name = grid[0][0]
        tallies = simulate_grid(
            METHODS[name].mechanism,
            [
                (sets[i].data, params(name, k, epsilon, 1.0 / sets[i].users))
                for _, i, k, epsilon in grid
            ],
            trials=trials, seed=seed + number, statistic=counts(event_of, most + 1),
            progress=progress, performance=_FAST,
        )  # fmt: skip
        row = list(METHODS).index(name)
        for (_, i, k, epsilon), values in zip(grid, tallies.values, strict=True):
            table[row, i, SIZES.index(k), EPSILONS.index(epsilon)] = values
    return {
        "counts": table,
        "gaps": np.stack([-np.diff(found.head[:101]) for found in sets]),
        "methods": list(METHODS),
        "sets": [found.name for found in sets],
        "sources": [found.source for found in sets],
        "generated": [found.generated for found in sets],
        "users": [found.users for found in sets],
        "candidates": [found.candidates for found in sets],
        "sizes": list(SIZES),
        "epsilons": list(EPSILONS),
        "trials": trials,
    }
