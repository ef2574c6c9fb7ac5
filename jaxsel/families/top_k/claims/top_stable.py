"""Carvalho, Wang, Gondara & Miao 2020: Top Stable, as in the paper and in its code."""

from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.families.top_k.baseline_laws import top_stable_law
from jaxsel.families.top_k.baselines import top_stable
from jaxsel.families.top_k.claims.neighbours import crossable
from jaxsel.families.top_k.claims.parameters import Epsilon
from jaxsel.families.top_k.laws import descending, vote_neighbours
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import probability
from jaxsel.language.papers import CARVALHO

_HISTOGRAMS = ((1, 1, 1, 1), (3, 3, 1, 1), (90, 90, 0))


def _delta(
    *, epsilon: Epsilon = 1.0, delta: Annotated[float, probability("that sets the threshold")] = 0.1
) -> float:
    """Delta of Top Stable at its epsilon: the delta that set its threshold."""
    del epsilon
    return delta


def _stable_law(counts, k: int, epsilon: float, delta: float, quirks: bool):
    data = np.array(counts, dtype=np.float64)
    order = descending(data)
    ranked = np.append(data[order], 0.0)
    gaps = ranked[:-1] - ranked[1:]
    gaps = gaps[1:] if quirks else gaps
    sizes = top_stable_law(gaps, top_stable(epsilon, delta, k), k)
    law = np.zeros(2**data.size)
    law[np.append(0, np.cumsum(1 << order)[:k])] = sizes
    return law


def _cases(quirks: bool) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        for epsilon, delta in ((1.0, 0.1), (3.0, 0.01)):
            for counts in (*_HISTOGRAMS, *crossable(budget, 2)):
                for k in (1, 2):
                    settings = (k, epsilon, delta, quirks)
                    law = _stable_law(counts, *settings)
                    for other in vote_neighbours(counts):
                        found = _stable_law(other, *settings)
                        seen = float(profile_delta(law, found, epsilon))
                        where = f"{counts} -> {other.astype(int).tolist()}"
                        text = f"{k=}, {epsilon=:g}, {where}"
                        yield _delta(epsilon=epsilon, delta=delta), seen, text

    return cases


STATEMENTS = (
    CARVALHO.misprint(
        "BASE-TS-1",
        "published code",
        "statement",
        printed="The code tests sorted[i] - sorted[i+1], counted from 0, before it "
        "releases the top i.",
        correct="That gap lies one place too low. With counts (90, 90, 0) and k = 1 it "
        "is 90 and passes, yet one more vote for the second candidate changes the "
        "released set: delta is near 1. The gap of the paper, h_(i) - h_(i+1), is "
        "private as claimed.",
        refuted=(
            CARVALHO.privacy(
                "BASE-TS-printed",
                "published code",
                "Top Stable is (epsilon, delta)-DP if the gap tested for the top i is "
                "h_(i+1) - h_(i+2), as their code has it.",
                Relation.MONOTONE,
                _delta,
                at_most(_cases(quirks=True), tolerance=1e-10),
            ),
        ),
        corrected=(
            CARVALHO.privacy(
                "BASE-TS",
                "",
                "Top Stable is (epsilon, delta)-DP with the authors' settings.",
                Relation.MONOTONE,
                _delta,
                at_most(_cases(quirks=False), tolerance=1e-10),
            ),
        ),
    ),
)
