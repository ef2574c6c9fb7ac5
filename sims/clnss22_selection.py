"""What Selection and Test with one p lose: Cohen et al. 2022, Theorems 1 and 2.

Three series, all of epsilon-DP mechanisms, epsilon = EPSILON, on pairs that are tight
in the limit:

  selection: one call, over tau; three outcomes of a run, the best e^epsilon times
    likelier on the neighbour, the middle one on the data;
  tests: n Tests that answer top with QUIET (e^epsilon QUIET on the neighbour), then one
    that is e^epsilon likelier to answer top on the data; the first top ends it;
  calls: c Selections with one p, at CALL_ROUNDS and gamma = 1.

One trial is one interaction.
"""

import math

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.pairs import LawPair
from jaxsel.families.selection_and_test.program import Select, Tests, program
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import positive, probability, whole

TRIALS = 1_000_000
EPSILON = 0.5
GAMMAS = (0.5, 1.0, 2.0)
ROUNDS = (1, 3, 10, 20, 40, 80)  # tau
BOTTOMS = (1, 3, 10, 20, 40, 80)  # n
QUIET = 0.2
CALLS = (1, 2, 3)  # c
CALL_ROUNDS = 30
WIDE = 0.1  # chance of the middle outcome in the calls series
SETTABLE = {
    "EPSILON": positive("epsilon of one run"),
    "QUIET": probability("of top in the first Tests"),
    "CALL_ROUNDS": whole("tau of the simulated calls", at_least=1),
    "WIDE": probability("of the middle outcome in the calls series"),
}


def candidate(middle: float = 0.005) -> LawPair:
    """The candidate's law on both sides, best outcome first."""
    return pairs.three_outcome(EPSILON, 0.2, middle)


def top_chances() -> tuple[tuple[float, float], tuple[float, float]]:
    """Chances of top in the first Tests and in the last one, on both sides."""
    loud = 1.0 / (1.0 + math.exp(EPSILON))
    return (QUIET, loud * math.exp(EPSILON)), (QUIET * math.exp(EPSILON), loud)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies of transcripts.

    Returns:
      "selection" Int64["gammas rounds 2 4"]: best, middle, rest, none; "tests"
      Int64["gammas bottoms 2 4"]: tops among the first tests and in the last one, (0,
      0), (0, 1), (1, 0), (1, 1); "calls" Int64["c 2 2"]: transcripts that are not, and
      that are, middle in every call.
    """
    settings = {"trials": trials, "progress": progress}
    three, wide = candidate(), candidate(WIDE)
    selection = simulate_grid(
        program((Select(),)),
        [
            (([side],), {"gamma": gamma, "rounds": (rounds,)})
            for gamma in GAMMAS
            for rounds in ROUNDS
            for side in three
        ],
        seed=seed,
        **settings,
    )
    tests = simulate_grid(
        program((Tests(1), Tests(1)), limit=1),
        [
            (side, {"gamma": gamma, "rounds": (bottoms, 1)})
            for gamma in GAMMAS
            for bottoms in BOTTOMS
            for side in top_chances()
        ],
        seed=seed + 1,
        **settings,
    )
    calls = []
    for number, count in enumerate(CALLS):
        found = simulate_grid(
            program((Select(),) * count),
            [
                (([side],) * count, {"gamma": 1.0, "rounds": (CALL_ROUNDS,) * count})
                for side in wide
            ],
            seed=seed + 2 + number,
            **settings,
        ).values
        all_middle = found[:, (4**count - 1) // 3]  # outcome 1 in every call
        calls.append(np.stack([found.sum(axis=1) - all_middle, all_middle], axis=1))
    grid = (len(GAMMAS), len(ROUNDS), 2, 4)
    return {
        "selection": selection.values.reshape(grid),
        "tests": tests.values.reshape(grid),
        "calls": np.stack(calls),
        "trials": trials,
        "epsilon": EPSILON,
        "gammas": list(GAMMAS),
        "rounds": list(ROUNDS),
        "bottoms": list(BOTTOMS),
        "call_counts": list(CALLS),
        "call_rounds": CALL_ROUNDS,
    }
