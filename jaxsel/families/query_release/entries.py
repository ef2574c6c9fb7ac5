"""The catalogue entry of query release with an error that is never exceeded."""

from typing import Annotated, Any

import numpy as np

from jaxsel.families.query_release import parameters
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import numbers
from jaxsel.language.entry import mechanism
from jaxsel.language.trial import Trial


@mechanism("CL-Thm5", "CL-Cor1", generic="answers=1,0,2 epsilon=0.6 delta=0.05")
def query_release(
    *,
    answers: Annotated[Any, numbers("the true answers, of sensitivity 1 each")] = "0,0,0",
    epsilon: parameters.Epsilon = 1,
    delta: parameters.Delta = 0.1,
    inner: parameters.Inner = "gaussian",
    event: parameters.Event = "correction",
    method: Annotated[str, methods(*parameters.METHODS)] = "largest",
):
    """Release answers whose largest error has a cap that is never exceeded (Cohen et al.
    2022, Theorem 5, over the Gaussian mechanism)."""

    def made():
        from jaxsel.families.query_release.query_release import query_release_mechanism

        return query_release_mechanism(method=method, inner=inner, event=event)

    def all_move():
        before, after = np.zeros(answers.size), np.ones(answers.size)
        why = "every answer moves by its sensitivity, in one direction"
        yield "all-move", before, after, Relation.GENERAL, why

    return Trial(made, answers, {"epsilon": epsilon, "delta": delta}, all_move)
