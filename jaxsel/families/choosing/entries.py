"""The choosing mechanism and stable selection by name: settings, neighbouring pairs."""

from typing import Annotated, Any

import numpy as np

from jaxsel.families.choosing.parameters import METHODS, Beta, Bound, Delta, Epsilon, Rank, Shares
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import numbers
from jaxsel.language.entry import mechanism
from jaxsel.language.trial import Trial
from jaxsel.language.utility import by_scores

Scores = Annotated[Any, numbers("each moves by at most 1", size=2)]
Method = Annotated[str, methods(*METHODS, help="how trials are drawn")]


def _best(scores: np.ndarray, number: int) -> np.ndarray:
    """Float["scores"]: 1 for the ``number`` largest scores (ties by index), 0 for the others."""
    marks = np.zeros(scores.size)
    marks[np.argsort(-scores, kind="stable")[:number]] = 1.0
    return marks


@mechanism("CL-Thm7", generic="scores=4,4,1 epsilon=0.6 delta=0.03 beta=0.07 bound=3")
def choosing_mechanism(
    *,
    scores: Scores = "5,3,0",
    epsilon: Epsilon = 1,
    delta: Delta = 0.1,
    beta: Beta = 0.5,
    method: Method = "grouped",
    bound: Bound = 2,
):
    """Release the candidate of the best noisy score, where all scores together move by at most k
    (Cohen et al. 2022, Theorem 7)."""

    def made():
        from jaxsel.families.choosing.choosing import choosing_mechanism

        return choosing_mechanism(method=method)

    def of_bounded():
        best, risen = _best(scores, 1), _best(scores, bound)
        why = "the best loses, and as many gain as the bound allows"
        yield "opposed", scores, scores + risen - 2.0 * best, Relation.GENERAL, why
        yield "best", scores, scores - best, Relation.GENERAL, "the best loses alone"

    params = {"epsilon": epsilon, "delta": delta, "beta": beta, "bound": bound}
    return Trial(made, scores, params, of_bounded, utility=by_scores(scores))


@mechanism("CL-Thm8", generic="scores=4,4,1 epsilon=0.6 delta=0.03 beta=0.07 rank=2 shares=4")
def stable_selection(
    *,
    scores: Scores = "5,3,0",
    epsilon: Epsilon = 1,
    delta: Delta = 0.1,
    beta: Beta = 0.5,
    method: Method = "grouped",
    rank: Rank = 1,
    shares: Shares = 6,
):
    """Release the candidate of the best noisy score, where a score counts by how much it exceeds
    the (k+1)-th largest (Cohen et al. 2022, Theorem 8)."""

    def made():
        from jaxsel.families.choosing.stable_selection import stable_selection

        return stable_selection(method=method, shares=shares)

    def of_clipped():
        best, clipped = _best(scores, 1), "its clipped score moves by 2"
        for name, step, why in (
            ("opposed", 1.0 - 2.0 * best, f"the best loses against all others: {clipped}"),
            ("lead", 2.0 * best - 1.0, f"the best gains on all others: {clipped}"),
            ("shift", np.ones(best.size), "all scores move together: clipped scores stay"),
        ):
            yield name, scores, scores + step, Relation.GENERAL, why

    params = {"epsilon": epsilon, "delta": delta, "beta": beta, "rank": rank}
    return Trial(made, scores, params, of_clipped, utility=by_scores(scores))
