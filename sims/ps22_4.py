"""Papernot & Steinke 2022, Figure 4: privacy against the mean number of runs.

Audits of the best of K Gaussian runs in the two-block order (see
``common.gaussian_orders``). For each law of K the cut, and one event "released <= end", are
planned on exact laws: those whose audited lower bound on epsilon at delta = 1e-6 is the
largest if every tally is what it is expected to be. Three outcomes of a run are told
apart then: above the cut, up to the end, between them. One trial is one execution of the
tuned algorithm.
"""

from itertools import groupby

import numpy as np
from scipy import special

from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper
from jaxsel.kernel.engine import simulate_grid
from jaxsel.repetitions import Repetitions, describe, from_mean
from sims.common import gaussian_orders as orders
from sims.common.tuned_laws import DELTA

TRIALS = 4_000_000
CONFIDENCE = 0.95  # for which audits are planned
EVENT = 1  # the outcome "up to the end"
MEANS: dict[str, tuple[int, ...]] = {
    "naive": (1, 2, 4, 6, 9),
    "eta=0": (10, 100, 1000, 10_000, 100_000, 1_000_000),
    "eta=1": (10, 100, 1000, 10_000, 100_000, 1_000_000),
    "eta=5": (3, 10, 30, 100, 300),
    "poisson": (2, 5, 10, 20),
}


def law_of(name: str, mean: float) -> Repetitions:
    """The law of K of a family of ``MEANS`` with this mean."""
    if name == "naive":
        return from_mean("point_mass", mean)
    if name == "poisson":
        return from_mean("poisson", mean)
    eta = float(name.removeprefix("eta="))
    return from_mean("truncated_negative_binomial", mean, eta=eta)


def plan(law: Repetitions, trials: int) -> tuple[float, float]:
    """The cut, and the end of the event, whose audit is expected to give the most."""
    # One event, its complement, both directions: as epsilon_lower_bound divides it.
    error = (1.0 - CONFIDENCE) / 4.0

    def bound(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        seen = np.floor(trials * np.clip(first, 0.0, 1.0))
        other = np.ceil(trials * np.clip(second, 0.0, 1.0))
        low = clopper_pearson_lower(seen, trials, error=error) - DELTA
        high = clopper_pearson_upper(other, trials, error=error)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(low, 0.0)) - np.log(high)

    return orders.best_block(law, bound)[1:]


def run_law(cut: float, end: float, shift: float) -> np.ndarray:
    """Law of the outcome of one run, best first: above the cut, up to the end, rest."""
    up_to = special.ndtr(end - shift)
    first = special.ndtr(shift - cut)
    return np.array([first, up_to, max(special.ndtr(cut - shift) - up_to, 0.0)])


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by law, side and outcome (nothing released last), and the planned events."""
    laws = [law_of(name, mean) for name, means in MEANS.items() for mean in means]
    plans = [plan(law, trials) for law in laws]
    counts = []
    cells = list(zip(laws, plans, strict=True))
    for number, (family, group) in enumerate(groupby(cells, lambda c: c[0].family)):
        tallies = simulate_grid(
            private_tuning(finite(), family),
            [
                (run_law(*planned, shift), {"repetitions": law})
                for law, planned in group
                for shift in (0.0, orders.SHIFT)
            ],
            trials=trials,
            seed=seed + number,
            progress=progress,
        )
        counts.append(tallies.values.reshape(-1, 2, tallies.values.shape[-1]))
    return {
        "counts": np.concatenate(counts),
        "plans": np.array(plans),
        "families": [name for name, means in MEANS.items() for _ in means],
        "means": [mean for means in MEANS.values() for mean in means],
        "laws": [describe(law) for law in laws],
        "trials": trials,
        "delta": DELTA,
    }
