"""The catalogue entry of query release with an error that is never exceeded."""

import numpy as np

from jaxsel.families.query_release.laws import INNER, LEAST_EPSILON
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, numbers
from jaxsel.language.entry import Built, MechanismEntry, Values


def _params(values: Values) -> dict[str, float]:
    return {name: values[name] for name in ("epsilon", "delta")}


def _make(values: Values) -> Built:
    from jaxsel.families.query_release.query_release import query_release_mechanism

    mechanism = query_release_mechanism(
        method=values["method"], inner=values["inner"], event=values["event"]
    )
    return Built(mechanism, values["answers"], _params(values))


def _pairs(values: Values) -> tuple[Pair, ...]:
    size = values["answers"].size
    return (
        Pair(
            "all-move",
            np.zeros(size),
            np.ones(size),
            Relation.GENERAL,
            _params(values),
            "every answer moves by its sensitivity, in one direction",
        ),
    )


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "query_release",
        ("CL-Thm5", "CL-Cor1"),
        "Release answers whose largest error has a cap that is never exceeded (Cohen et "
        "al. 2022, Theorem 5, over the Gaussian mechanism).",
        False,
        {
            "answers": numbers("the true answers, of sensitivity 1 each", default="0,0,0"),
            "epsilon": number("of the whole", at_least=LEAST_EPSILON, at_most=1.0, default=1),
            "delta": number("of the whole", above=0.0, at_most=0.5, default=0.1),
            "inner": choice(
                INNER, "what draws the answers; repaired: literal only", default="gaussian"
            ),
            "event": choice(
                ("correction", "answers"),
                "correction: whether the true answers were released; answers: whether "
                "the mean answer is below 1/2, too (literal only)",
                default="correction",
            ),
            "method": choice(
                ("largest", "literal", "law"),
                "how trials are drawn; see the guide",
                default="largest",
            ),
        },
        _make,
        _pairs,
        generic={"answers": "1,0,2", "epsilon": 0.6, "delta": 0.05},
    ),
)
