"""Liu & Talwar 2019, Appendix C: the catalogue entry of private amplification."""

import math
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.families.amplification import parameters
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, numbers
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial


@mechanism(
    "LT-ThmC.1",
    generic="probabilities=0.3,0.1,0.6 scores=3,3,1 candidates=7 threshold=2 gamma=0.2 epsilon=0.7",
)
def private_amplification(
    *,
    probabilities: Annotated[
        Any, numbers("law of one candidate's score", at_least=0.0, at_most=1.0)
    ] = "0.2,0.3,0.5",
    scores: Annotated[Any, numbers("scores of the outcomes")] = "1,0.5,0",
    candidates: parameters.Candidates = 20,
    threshold: parameters.Threshold = 1,
    score_epsilon: parameters.ScoreEpsilon = 2,
    gamma: parameters.Gamma = 0.1,
    epsilon: Annotated[
        float, number("privacy of one run in the constructed pairs", above=0.0, at_most=100.0)
    ] = 1,
    method: Annotated[str, methods(*parameters.METHODS)] = "counts",
):
    """The exponential mechanism among N private scores, capped at a threshold, and dummies whose
    score is the threshold (Liu & Talwar 2019, Appendix C)."""

    def made():
        from jaxsel.families.amplification.amplification import private_amplification

        return private_amplification(method=method)

    def one_run_moves():
        rare = 1.0 / (1.0 + math.exp(epsilon))
        for name, laws, steps, why in (
            (
                "three-outcome",
                pairs.three_outcome(epsilon, min(0.2, rare), 1e-3 * rare),
                (0.0, -0.5, -10.0),
                "rivals above a rare score get likelier as it gets rarer",
            ),
            (
                "randomised-response",
                # Padded to three scores, as in the other pair: one compiled program serves both.
                np.insert(pairs.randomised_response(epsilon), 1, 0.0, axis=1),
                (0.0, -5.0, -10.0),
                "two scores that happen, one far below the threshold",
            ),
        ):
            worth = [threshold + step for step in steps]
            data, neighbour = ({"probabilities": law, "scores": worth} for law in laws)
            yield name, data, neighbour, Relation.BASE, why

    return Trial(
        made,
        {"probabilities": probabilities, "scores": scores},
        {
            "candidates": candidates,
            "threshold": threshold,
            "score_epsilon": score_epsilon,
            "gamma": gamma,
        },
        one_run_moves,
        lambda pair: guarantee("LT-ThmC.1-privacy-sharp", base_epsilon=epsilon),
    )
