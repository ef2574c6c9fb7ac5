"""Liu & Talwar 2019, Appendix C: the catalogue entry of private amplification."""

import math
from typing import Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.families.amplification.laws import CANDIDATES, GAMMA
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, numbers
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee


def _params(values: Values) -> dict[str, Any]:
    names = ("candidates", "threshold", "score_epsilon", "gamma")
    return {name: values[name] for name in names}


def _make(values: Values) -> Built:
    from jaxsel.families.amplification.amplification import private_amplification

    data = {name: values[name] for name in ("probabilities", "scores")}
    mechanism = private_amplification(method=values["method"])
    return Built(mechanism, data, _params(values))


def _pair(name: str, laws: pairs.LawPair, steps: list[float], values: Values, why: str) -> Pair:
    scores = [values["threshold"] + step for step in steps]
    data, neighbour = ({"probabilities": side, "scores": scores} for side in laws)
    return Pair(name, data, neighbour, Relation.BASE, _params(values), why)


def _pairs(values: Values) -> tuple[Pair, ...]:
    epsilon = values["epsilon"]
    rare = 1.0 / (1.0 + math.exp(epsilon))
    return (
        _pair(
            "three-outcome",
            pairs.three_outcome(epsilon, min(0.2, rare), 1e-3 * rare),
            [0.0, -0.5, -10.0],
            values,
            "rivals above a rare score get likelier as it gets rarer",
        ),
        _pair(
            "randomised-response",
            # Three scores, as in the other pair: one program serves both.
            pairs.LawPair(*np.insert(pairs.randomised_response(epsilon), 1, 0.0, axis=1)),
            [0.0, -5.0, -10.0],
            values,
            "two scores that happen, one far below the threshold",
        ),
    )


def _guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    return guarantee("LT-ThmC.1-privacy-sharp", base_epsilon=values["epsilon"])


ENTRIES = (
    MechanismEntry(
        "private_amplification",
        ("LT-ThmC.1",),
        "The exponential mechanism among N private scores, capped at a threshold, and "
        "dummies at it (Liu & Talwar 2019, Appendix C).",
        False,
        {
            "probabilities": numbers(
                "law of one candidate's score", at_least=0.0, at_most=1.0, default="0.2,0.3,0.5"
            ),
            "scores": numbers("scores of the outcomes", default="1,0.5,0"),
            "candidates": CANDIDATES,
            "threshold": number("the largest score that counts", default=1),
            "score_epsilon": number(
                "parameter of the exponential mechanism", above=0.0, at_most=math.inf, default=2
            ),
            "gamma": GAMMA,
            "epsilon": number(
                "privacy of one run in the constructed pairs", above=0.0, at_most=100.0, default=1
            ),
            "method": choice(
                ("counts", "literal", "law"),
                "how trials are drawn; see the guide",
                default="counts",
            ),
        },
        _make,
        _pairs,
        _guarantee,
        generic={
            "probabilities": "0.3,0.1,0.6",
            "scores": "3,3,1",
            "candidates": 7,
            "threshold": 2,
            "gamma": 0.2,
            "epsilon": 0.7,
        },
    ),
)
