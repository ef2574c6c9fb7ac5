"""The catalogue entry of query release with an error that is never exceeded."""

import numpy as np

from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.families.query_release.query_release import query_release_mechanism
from jaxsel.options import Option, read_number, read_numbers


def _params(values: Settings) -> dict[str, float]:
    return {name: read_number(name, values[name]) for name in ("epsilon", "delta")}


def _make(values: Settings) -> Built:
    mechanism = query_release_mechanism(
        method=values["method"], inner=values["inner"], event=values["event"]
    )
    answers = np.array(read_numbers("answers", values["answers"]))
    return Built(mechanism, answers, _params(values))


def _pairs(values: Settings) -> tuple[Pair, ...]:
    size = len(read_numbers("answers", values["answers"]))
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
            "answers": Option("0,0,0", "the true answers, of sensitivity 1 each"),
            "epsilon": Option("1", "of the whole, in (0, 1]"),
            "delta": Option("0.1", "of the whole, in (0, 1/2]"),
            "inner": Option("gaussian", "gaussian, or repaired (literal only)"),
            "event": Option(
                "correction",
                "correction: whether the true answers were released; answers: whether "
                "the mean answer is below 1/2, too (literal only)",
            ),
            "method": Option("largest", "largest, literal or law; see the guide"),
        },
        _make,
        _pairs,
        lambda values, pair: None,
    ),
)
