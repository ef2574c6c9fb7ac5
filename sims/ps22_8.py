"""Papernot & Steinke 2022, Figure 8: conditional sampling on the pair that is nearly worst.

The base algorithm runs until its output falls into S = {1, 2}. At each order the pair of
Appendix D.2 has both Renyi divergences equal to 0.1 times the order. One trial is one
search; what is tallied is the output, on both sides.
"""

import numpy as np

from jaxsel.accounting.single_run.pairs import tight_conditional
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.bounds.conditional import fitted_tight_conditional
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import number, numbers
from sims.common.tuned_laws import RHO

TRIALS = 4_000_000
ORDERS = (2.0, 3.0, 4.5, 7.0, 10.0, 14.0, 18.0, 22.0)
A = 0.25  # the paper does not state a; this is the largest that it allows
SETTABLE = {
    "ORDERS": numbers("orders of the simulated points", above=1.0),
    "A": number("of the pair of Appendix D.2", above=0.0, at_most=0.25),
}
SCORES = (1.0, 1.0, 0.0)  # S is what scores at least 1


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by order and side of the two outputs in S."""
    fitted = [fitted_tight_conditional(order, RHO, A) for order in ORDERS]
    data = [
        {"probabilities": side, "scores": SCORES}
        for s, t in fitted
        for side in tight_conditional(s, t, A)
    ]
    tallies = simulate_grid(
        threshold_selection(finite()),
        [(side, {"threshold": 1.0}) for side in data],
        trials=trials,
        seed=seed,
        progress=progress,
    )
    counts = tallies.values.reshape(len(ORDERS), 2, -1)
    return {
        "counts": counts[:, :, :2],
        "others": counts[:, :, 2:].sum(axis=-1),
        "parameters": np.array(fitted),
        "orders": list(ORDERS),
        "rho": RHO,
        "a": A,
        "trials": trials,
    }
