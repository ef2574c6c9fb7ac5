"""The catalogue entry of the repetitive sparse vector."""

import math
from typing import Annotated, Any

import numpy as np

from jaxsel.families.repetitive_sparse_vector import parameters
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, numbers, whole
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial


@mechanism(
    "CL-Alg3",
    "CL-Lem3",
    "CL-Lem4",
    generic="levels=-2,1,-1 gamma=0.6 repetitions=3 query_epsilon=0.7 failures=3 margin=1.5",
)
def repetitive_sparse_vector(
    *,
    levels: Annotated[Any, numbers("f - t of each query, in units of the sensitivity")] = "-2,-2,0",
    gamma: parameters.Gamma = 1,
    repetitions: Annotated[int, whole("tau, Tests in a batch", at_least=1, at_most=10**6)] = 2,
    query_epsilon: Annotated[
        float, number("epsilon', of one Test", above=0.0, at_most=100.0)
    ] = 0.5,
    failures: Annotated[
        int, whole("k', failed batches until it halts", at_least=1, at_most=40)
    ] = 2,
    margin: parameters.Margin = 2,
    event: parameters.Event = "pattern",
    method: Annotated[str, methods(*parameters.METHODS, help="see the guide")] = "jump",
):
    """Answer which queries are above a threshold, each answer confirmed by many noisy Tests
    (Cohen et al. 2022, Algorithm 3, reconstructed)."""

    def made():
        from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
            repetitive_sparse_vector,
        )

        return repetitive_sparse_vector(method=method, event=event)

    def opposed():
        rises, turns = np.ones(levels.size), np.ones(levels.size)
        rises[-1] = turns[1::2] = -1.0
        why = "all queries but the last rise, and the last, which finds something, falls"
        yield "opposed", levels, levels + rises, Relation.GENERAL, why
        why = "queries rise and fall by turns"
        yield "by-turns", levels, levels + turns, Relation.GENERAL, why

    def unless_known(pair):
        """The guarantee, or None at infinite gamma: p is then known, and no pure epsilon holds."""
        if math.isinf(gamma):
            return None
        return guarantee("CL-Lem3", query_epsilon=query_epsilon, failures=failures, gamma=gamma)

    params = {
        "gamma": gamma,
        "repetitions": repetitions,
        "query_epsilon": query_epsilon,
        "failures": failures,
        "margin": margin,
    }
    return Trial(made, levels, params, opposed, unless_known)
