"""Zhu & Wang 2022, Figure 1(a): the 15 US states with most COVID-19 cases, day by day.

Ten days, (0.1, 1e-6)-DP together, in four windows from 12 March 2020; once with the new
cases of each day and once with all cases so far. Counts are those of The New York Times
in the folder of the variable JAXSEL_DATA, or else a generated epidemic's. One trial is
one day's release.

EM-CDP and StableTopK (Algorithm 3, lambda = 0) compose by zCDP. TS and LD are composed
by advanced composition over the days, as in the paper; "LD, pooled" composes all its
picks at once by bounded range. In the paper's text a failed stability test of TS is
followed by exponential mechanisms at half of the budget; "TS, then EM" does that, also
where TS releases fewer than 15 states.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxsel.data.covid import KINDS, covid_available, generated_covid, load_covid
from jaxsel.families.top_k.baselines import (
    advanced_composition_share,
    limited_domain_share,
)
from jaxsel.families.top_k.calibration import largest_rho, stable_top_k_calibration
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.fixed import fixed_top_k
from jaxsel.families.top_k.limited_domain import limited_domain
from jaxsel.families.top_k.release import event_of
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import counts
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import positive, probability, whole
from sims.common.top_k_fallback import filled_top_stable

TRIALS = 4000

EPSILON, DELTA = 0.1, 1e-6  # of a window
K, WINDOW, WINDOWS = 15, 10, 4
SETTABLE = {
    "EPSILON": positive("epsilon of a window"),
    "DELTA": probability("delta of a window"),
    "K": whole("states released", at_least=1, at_most=40),
    "WINDOW": whole("days of a window", at_least=1, at_most=10),
}
SHOWN = WINDOW * WINDOWS
_FAST = Performance(block_size=1024)


METHODS: Mapping[str, Mechanism] = {
    "EM-CDP": exponential_top_k(),
    "StableTopK": fixed_top_k(),
    "TS, then EM": filled_top_stable(),
    "TS": top_stable_sets(),
    "LD, pooled": limited_domain(),
    "LD": limited_domain(),
}


@functools.cache
def _composed(epsilon: float, delta: float) -> dict[str, float]:
    """(epsilon, delta) of one day: half of delta for advanced composition."""
    share = advanced_composition_share(epsilon, WINDOW, delta / 2.0)
    return {"epsilon": share, "delta": delta / 2.0 / WINDOW}


def params(method: str, candidates: int) -> dict[str, Any]:
    """Parameters of one day of a method.

    The limited domain has 5 k states, or all but one where there are fewer.
    """
    domain = min(5 * K, candidates - 1)
    match method:
        case "EM-CDP":
            rho = largest_rho(EPSILON, DELTA) / WINDOW
            return {"k": K, "rho": rho, "capacity": candidates}
        case "StableTopK":
            found = stable_top_k_calibration(EPSILON, DELTA, releases=WINDOW)
            settings = {"rho": found.rho, "delta_t": found.delta_t}
            return {"k": K, "capacity": candidates, "groups": 64} | settings
        case "TS, then EM":
            rho = largest_rho(EPSILON / 2.0, DELTA / 2.0) / WINDOW
            return {"k": K, "rho": rho} | _composed(EPSILON / 2.0, DELTA / 2.0)
        case "TS":
            return {"k": K} | _composed(EPSILON, DELTA)
        case "LD, pooled":
            share = limited_domain_share(EPSILON, K * WINDOW, DELTA / 2.0)
            delta = DELTA / 2.0 / WINDOW
            return {"k": K, "epsilon": share, "delta": delta, "domain": domain}
        case _:
            day = _composed(EPSILON, DELTA)
            delta = day["delta"] / 2.0
            share = limited_domain_share(day["epsilon"], K, delta)
            return {"k": K, "epsilon": share, "delta": delta, "domain": domain}


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often each number of the true top 15 was released.

    Returns:
      "counts": Int64["methods kinds days hits"]; "histograms": Int64["kinds days
      states"], what it was run on; and the settings.
    """
    real = covid_available()
    sets = [load_covid(kind) if real else generated_covid(kind) for kind in KINDS]
    histograms = np.stack([found.counts[:SHOWN] for found in sets])
    found = []
    for number, (name, mechanism) in enumerate(METHODS.items()):
        settings = params(name, histograms.shape[-1])
        tallies = simulate_grid(
            mechanism,
            [(day.astype(np.float64), settings) for kind in histograms for day in kind],
            trials=trials, seed=seed + number, statistic=counts(event_of, K + 1),
            progress=progress, performance=_FAST,
        )  # fmt: skip
        found.append(tallies.values.reshape(*histograms.shape[:2], K + 1))
    return {
        "counts": np.stack(found),
        "histograms": histograms,
        "methods": list(METHODS),
        "kinds": list(KINDS),
        "dates": list(sets[0].dates[:SHOWN]),
        "source": sets[0].source,
        "generated": sets[0].generated,
        "k": K,
        "window": WINDOW,
        "epsilon": EPSILON,
        "delta": DELTA,
        "trials": trials,
    }
