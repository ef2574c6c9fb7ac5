"""Papernot & Steinke 2022, Figure 7: accuracy of the best network of a random search.

One trial draws K and then, K times, a network of a table of trained ones, uniformly, and
keeps the most accurate; the paper makes 500. Tables: the authors', if it is at hand (see
jaxsel.data.released_accuracies), and those of ``common.digits_accuracies``. The laws of K
and their gammas are those of the authors' released code: E[K] of Poisson is 100 gamma,
and all laws but the logarithmic leave out the smallest gammas. Without a run (Poisson) the
accuracy counts as 0, as there.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.data.released_accuracies import (
    load_released_accuracies,
    released_available,
)
from jaxsel.families.tuning.bases import score_table
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.host.records import digest
from jaxsel.kernel.engine import simulate_grid
from jaxsel.repetitions import Repetitions
from sims.common import digits_accuracies
from sims.common.digits_accuracies import AccuracyTable

TRIALS = 500
RELEASED = "released"
_GAMMAS = (1e-7, 8e-6, 1e-4, 2.4e-4, 0.0015, 0.0035, 0.025, 0.05, 0.1, 0.2, 0.5)
_RUNS = 100.0  # E[K] over gamma, for Poisson


class Search(NamedTuple):
    """A family of laws of K.

    Attributes:
      law: gamma -> law of K.
      gammas: of the points.
    """

    law: Callable[[float], Repetitions]
    gammas: tuple[float, ...]


def _negative_binomial(eta: float) -> Callable[[float], Repetitions]:
    return lambda gamma: laws.truncated_negative_binomial(eta, gamma)


SEARCHES: dict[str, Search] = {
    "eta=0": Search(_negative_binomial(0.0), _GAMMAS),
    "eta=1": Search(_negative_binomial(1.0), _GAMMAS[2:]),
    "eta=0.5": Search(_negative_binomial(0.5), _GAMMAS[2:]),
    "poisson": Search(lambda gamma: laws.poisson(_RUNS * gamma), _GAMMAS[4:]),
}


def tables() -> dict[str, AccuracyTable]:
    """Every table that is at hand, the authors' first."""
    found = {}
    if released_available():
        released = load_released_accuracies()
        found[RELEASED] = AccuracyTable(
            title="MNIST, 60 epochs, released by the authors",
            learning_rates=released.rates,
            # accuracies have four decimals: whole numbers of 10,000 test images
            correct=np.rint(released.accuracies * 1e4).astype(np.int64)[:, None],
            test_images=10_000,
            sampling_probability=256 / 60_000,
            noise_multiplier=1.1,
            steps=14_063,
        )
    for name in digits_accuracies.SETTINGS:
        if digits_accuracies.stored(name).exists():
            found[name] = digits_accuracies.load(name)
    return found


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often each network was the best, for each table.

    Int64["points networks+1"] as "counts_TABLE", no network last; points are those of
    SEARCHES one after another, networks the entries of ``correct`` row by row.
    """
    points = [(s.law, gamma) for s in SEARCHES.values() for gamma in s.gammas]
    members = [law(gamma) for law, gamma in points]
    found = tables()
    counts = {}
    for number, (name, table) in enumerate(found.items()):
        scores = table.correct.ravel().astype(np.float64)
        rows: dict[int, np.ndarray] = {}
        for part, family in enumerate(dict.fromkeys(k.family for k in members)):
            chosen = [i for i, k in enumerate(members) if k.family == family]
            tallies = simulate_grid(
                private_tuning(score_table(), family),
                [(scores, {"repetitions": members[i]}) for i in chosen],
                trials=trials,
                seed=seed + 10 * number + part,
                progress=progress,
            )
            rows |= dict(zip(chosen, tallies.values, strict=True))
        counts[f"counts_{name}"] = np.stack([rows[i] for i in range(len(members))])
    return counts | {
        "trials": trials,
        "tables": list(found),
        "digests": {name: digest(table.correct) for name, table in found.items()},
        "searches": list(SEARCHES),
        "gammas": [list(s.gammas) for s in SEARCHES.values()],
    }
