"""The choosing mechanism and stable selection by name: settings, neighbouring pairs."""

from typing import Any

import numpy as np

from jaxsel.families.choosing.laws import LEAST_EPSILON, LEAST_PROBABILITY
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, numbers, whole
from jaxsel.language.entry import Built, MechanismEntry, Values
from jaxsel.language.utility import by_scores

_SETTINGS = {
    "scores": numbers("each moves by at most 1", size=2, default="5,3,0"),
    "epsilon": number("of the whole release", at_least=LEAST_EPSILON, at_most=1.0, default=1),
    "delta": number("of the whole release", above=LEAST_PROBABILITY, below=1.0, default=0.1),
    "beta": number("chance of failure", above=LEAST_PROBABILITY, below=1.0, default=0.5),
    "method": choice(("grouped", "literal", "law"), "how trials are drawn", default="grouped"),
}


def _params(values: Values, own: str) -> dict[str, Any]:
    return {name: values[name] for name in ("epsilon", "delta", "beta", own)}


def _pair(name: str, values: Values, steps: np.ndarray, own: str, why: str) -> Pair:
    scores, params = values["scores"], _params(values, own)
    return Pair(name, scores, scores + steps, Relation.GENERAL, params, why)


def _best(scores: np.ndarray, number: int) -> np.ndarray:
    """1 for the ``number`` best, 0 for the others."""
    marks = np.zeros(scores.size)
    marks[np.argsort(-scores, kind="stable")[:number]] = 1.0
    return marks


# --- Theorem 7 ------------------------------------------------------------------------


def _make_choosing(values: Values) -> Built:
    from jaxsel.families.choosing.choosing import choosing_mechanism

    mechanism = choosing_mechanism(method=values["method"])
    return Built(mechanism, values["scores"], _params(values, "bound"))


def _choosing_pairs(values: Values) -> tuple[Pair, ...]:
    best = _best(values["scores"], 1)
    risen = _best(values["scores"], values["bound"])
    return (
        _pair(
            "opposed",
            values,
            risen - 2.0 * best,
            "bound",
            "the best loses, and as many gain as the bound allows",
        ),
        _pair("best", values, -best, "bound", "the best loses alone"),
    )


# --- Theorem 8 ------------------------------------------------------------------------


def _make_stable(values: Values) -> Built:
    from jaxsel.families.choosing.stable_selection import stable_selection

    mechanism = stable_selection(method=values["method"], shares=values["shares"])
    return Built(mechanism, values["scores"], _params(values, "rank"))


def _stable_pairs(values: Values) -> tuple[Pair, ...]:
    best = _best(values["scores"], 1)
    return (
        _pair(
            "opposed",
            values,
            1.0 - 2.0 * best,
            "rank",
            "the best loses against all others: its clipped score moves by 2",
        ),
        _pair(
            "lead",
            values,
            2.0 * best - 1.0,
            "rank",
            "the best gains on all others: its clipped score moves by 2",
        ),
        _pair(
            "shift",
            values,
            np.ones(best.size),
            "rank",
            "all scores move together: clipped scores stay",
        ),
    )


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "choosing_mechanism",
        ("CL-Thm7",),
        "Release the best of noisy candidates whose scores move by at most k in all "
        "(Cohen et al. 2022, Theorem 7).",
        False,
        _SETTINGS | {"bound": whole("k, by which all scores may move", at_least=1, default=2)},
        _make_choosing,
        _choosing_pairs,
        elsewhere={"scores": "4,4,1", "epsilon": 0.6, "delta": 0.03, "beta": 0.07, "bound": 3},
        utility=by_scores,
    ),
    MechanismEntry(
        "stable_selection",
        ("CL-Thm8",),
        "Release the best of noisy candidates, scores clipped at the (k+1)-th largest "
        "(Cohen et al. 2022, Theorem 8).",
        False,
        _SETTINGS
        | {
            "rank": whole("k, how many scores count", at_least=1, default=1),
            "shares": whole(
                "noise of rate epsilon/shares; 3 is the paper's", at_least=1, default=6
            ),
        },
        _make_stable,
        _stable_pairs,
        elsewhere={
            "scores": "4,4,1",
            "epsilon": 0.6,
            "delta": 0.03,
            "beta": 0.07,
            "rank": 2,
            "shares": 4,
        },
        utility=by_scores,
    ),
)
