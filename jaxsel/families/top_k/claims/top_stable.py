"""Carvalho, Wang, Gondara & Miao 2020: Top Stable, as in the paper and in its code."""

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.families.top_k.baseline_laws import top_stable_law
from jaxsel.families.top_k.baselines import top_stable
from jaxsel.families.top_k.claims.neighbours import crossable
from jaxsel.families.top_k.laws import descending, vote_neighbours
from jaxsel.families.top_k.parameters import DeltaOfAll, Epsilon
from jaxsel.language.base import Relation
from jaxsel.language.papers import CARVALHO


@CARVALHO.privacy("BASE-TS-printed", "published code", Relation.MONOTONE)
def printed(*, epsilon: Epsilon = 1.0, delta: DeltaOfAll = 0.1) -> float:
    """Top Stable is (epsilon, delta)-DP if the gap tested for the top i is count number i + 1 minus
    the next, as its authors' code has it."""
    return delta


@CARVALHO.privacy("BASE-TS", "", Relation.MONOTONE, formula=printed)
def corrected():
    """Top Stable is (epsilon, delta)-DP with the authors' settings."""


def _stable_law(counts, k: int, epsilon: float, delta: float, quirks: bool):
    """The law of the set that Top Stable releases; with quirks, gaps are read one place too low."""
    data = np.array(counts, dtype=np.float64)
    order = descending(data)
    ranked = np.append(data[order], 0.0)
    gaps = ranked[:-1] - ranked[1:]
    gaps = gaps[1:] if quirks else gaps
    sizes = top_stable_law(gaps, top_stable(epsilon, delta, k), k)
    law = np.zeros(2**data.size)
    law[np.append(0, np.cumsum(1 << order)[:k])] = sizes
    return law


@printed.bounds(tolerance=1e-10, quirks=True)
@corrected.bounds(tolerance=1e-10, quirks=False)
def exact_deltas(budget, quirks):
    for epsilon, delta in ((1.0, 0.1), (3.0, 0.01)):
        for counts in ((1, 1, 1, 1), (3, 3, 1, 1), (90, 90, 0), *crossable(budget, 2)):
            for k in (1, 2):
                law = _stable_law(counts, k, epsilon, delta, quirks)
                for other in vote_neighbours(counts):
                    found = _stable_law(other, k, epsilon, delta, quirks)
                    seen = float(profile_delta(law, found, epsilon))
                    where = f"{k=}, {counts} -> {other.astype(int).tolist()}"
                    yield {"epsilon": epsilon, "delta": delta}, seen, where


BASE_TS_1 = CARVALHO.misprint(
    "BASE-TS-1",
    "published code",
    "statement",
    printed="The code tests sorted[i] - sorted[i+1], counted from 0, before it releases the top i.",
    correct="That gap lies one place too low. With counts (90, 90, 0) and k = 1 it "
    "is 90 and passes, yet one more vote for the second candidate changes the "
    "released set: delta is near 1. The gap of the paper, h_(i) - h_(i+1), is "
    "private as claimed.",
    refuted=[printed],
    corrected=[corrected],
)
