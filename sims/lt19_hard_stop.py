"""Random stopping with at most T draws (Liu & Talwar 2019, Theorem 3.5), on one pair each.

Three outcomes that are epsilon-DP: better ones, likelier on the neighbour, and a rarer one
in the middle, likelier on the data. For each T the masses are those that an audit with
this many trials should tell apart best. A trial is one selection.
"""

import math

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.pairs import LawPair
from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import numbers, positive

TRIALS = 4_000_000
EPSILON = 0.5
GAMMA = 0.03
STEPS = (1, 2, 4, 8, 15, 30, 60, 120, 240)  # T
SETTABLE = {
    "EPSILON": positive("epsilon of one run"),
    "STEPS": numbers("T of the audited points", at_least=1.0),
}
_SPREAD = 4.0  # standard deviations that the planned audit allows for


def stopped(steps: int) -> laws.Repetitions:
    """min(geometric, T)."""
    return laws.capped(laws.geometric(GAMMA), steps)


def planned_pair(steps: int, trials: int) -> LawPair:
    """The three-outcome pair whose middle outcome an audit should see best.

    On the neighbour the mass of the better outcomes is as large as epsilon-DP allows.
    """
    law, odds = stopped(steps), math.exp(EPSILON)
    best = np.geomspace(1e-3 / steps, 0.7, 300)[:, None]
    other = np.minimum(best * odds, best / odds - math.expm1(-EPSILON))
    # What is left for the middle on both sides, epsilon-close itself.
    rest = 1.0 - best, 1.0 - other
    middle = np.minimum(rest[1], rest[0] / odds) * np.geomspace(1e-4, 0.5, 60)
    left = (rest[0] - middle * odds) / (rest[1] - middle)
    seen, rare = (
        law.pgf_gap(np.minimum(edge + mass, 1.0)) - law.pgf_gap(edge)
        for edge, mass in ((best, middle * odds), (other, middle))
    )
    spread = _SPREAD / math.sqrt(trials)
    low = np.maximum(seen - spread * np.sqrt(seen), 1e-300)
    loss = np.log(low / (rare + spread * np.sqrt(rare)))
    loss = np.where(np.abs(np.log(left)) <= EPSILON, loss, -np.inf)
    i, j = np.unravel_index(np.argmax(loss), loss.shape)
    first = np.array([best[i, 0], middle[i, j] * odds])
    second = np.array([other[i, 0], middle[i, j]])
    return LawPair(
        np.append(first, 1.0 - first.sum()), np.append(second, 1 - second.sum())
    )


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies Int64["steps 2 4"], nothing last, and the laws Float64["steps 2 3"]."""
    mechanism = private_tuning(finite(), "capped", method="count")
    counts, pairs = [], [planned_pair(steps, trials) for steps in STEPS]
    for number, (steps, pair) in enumerate(zip(STEPS, pairs, strict=True)):
        # Tables of K have T entries, so each T is a program.
        tallies = simulate_grid(
            mechanism,
            [(side, {"repetitions": stopped(steps)}) for side in pair],
            trials=trials,
            seed=seed + number,
            progress=progress,
        )
        counts.append(tallies.values)
    return {
        "counts": np.stack(counts),
        "laws": np.array(pairs),
        "steps": list(STEPS),
        "epsilon": EPSILON,
        "gamma": GAMMA,
        "trials": trials,
    }
