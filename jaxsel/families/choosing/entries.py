"""Selections of Cohen et al. 2022 for top k, bounded families and stable scores."""

from typing import Any

import numpy as np

from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.errors import InputError
from jaxsel.families.choosing.choosing import choosing_mechanism
from jaxsel.families.choosing.stable_selection import stable_selection
from jaxsel.families.top_k.confident_laws import confident_settings
from jaxsel.families.top_k.confident_top_k import confident_top_k
from jaxsel.options import Option, read_number, read_numbers

_EPSILON = Option("1", "of the whole release, in (0, 1]")
_METHOD = Option("grouped", "grouped, literal or law")


def _scores(values: Settings) -> np.ndarray:
    scores = np.array(read_numbers("scores", values["scores"]))
    if scores.size < 2:
        raise InputError("scores must hold at least two numbers here")
    return scores


def _params(values: Settings, whole: str) -> dict[str, Any]:
    """epsilon, delta, beta, and the whole number."""
    names = ("epsilon", "delta", "beta")
    found: dict[str, Any] = {name: read_number(name, values[name]) for name in names}
    number = read_number(whole, values[whole])
    found[whole] = int(number) if number == int(number) else number
    return found


def _pair(
    name: str, scores, steps, params, why: str, relation: Relation = Relation.GENERAL
) -> Pair:
    return Pair(name, scores, scores + steps, relation, params, why)


def _best(scores: np.ndarray, number: int) -> np.ndarray:
    """1 for the ``number`` best, 0 for the others."""
    marks = np.zeros(scores.size)
    marks[np.argsort(-scores, kind="stable")[:number]] = 1.0
    return marks


# --- Theorem 6 ------------------------------------------------------------------------


def _make_top_k(values: Settings) -> Built:
    mechanism = confident_top_k(events=values["events"], settings=values["settings"])
    return Built(mechanism, _scores(values), _params(values, "k"))


def _top_k_pairs(values: Settings) -> tuple[Pair, ...]:
    scores, params = _scores(values), _params(values, "k")
    top = _best(scores, int(params["k"]))
    return (
        _pair(
            "opposed", scores, 1.0 - 2.0 * top, params,
            "the gap of the best set moves by 2, and every round against the best",
        ),
        _pair(
            "top", scores, top, params, "the best gain on all others",
            Relation.MONOTONE,
        ),
    )  # fmt: skip


def _top_k_promise(values: Settings, pair: Pair) -> tuple[str, float] | None:
    """Pure where k rounds fit into epsilon/6 by adding up."""
    del pair
    params = _params(values, "k")
    if values["settings"] == "printed" or not confident_settings(**params).pure:
        return None
    return "CL-Thm6-pure", params["epsilon"]


# --- Theorems 7 and 8 -----------------------------------------------------------------


def _make_choosing(values: Settings) -> Built:
    mechanism = choosing_mechanism(method=values["method"])
    return Built(mechanism, _scores(values), _params(values, "bound"))


def _choosing_pairs(values: Settings) -> tuple[Pair, ...]:
    scores, params = _scores(values), _params(values, "bound")
    best = _best(scores, 1)
    return (
        _pair(
            "opposed", scores, _best(scores, int(params["bound"])) - 2.0 * best, params,
            "the best loses, and as many gain as the bound allows",
        ),
        _pair("best", scores, -best, params, "the best loses alone"),
    )  # fmt: skip


def _make_stable(values: Settings) -> Built:
    shares = int(read_number("shares", values["shares"]))
    mechanism = stable_selection(method=values["method"], shares=shares)
    return Built(mechanism, _scores(values), _params(values, "rank"))


def _stable_pairs(values: Settings) -> tuple[Pair, ...]:
    scores, params = _scores(values), _params(values, "rank")
    best = _best(scores, 1)
    return (
        _pair(
            "opposed", scores, 1.0 - 2.0 * best, params,
            "the best loses against all others: its clipped score moves by 2",
        ),
        _pair(
            "lead", scores, 2.0 * best - 1.0, params,
            "the best gains on all others: its clipped score moves by 2",
        ),
        _pair(
            "shift", scores, np.ones(scores.size), params,
            "all scores move together: clipped scores stay",
        ),
    )  # fmt: skip


def _none(values: Settings, pair: Pair) -> None:
    """The guarantee has delta > 0."""
    del values, pair


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "confident_top_k",
        ("CL-Thm6",),
        "Draw several top-k sets by exponential mechanisms and release that of the "
        "smallest noisy gap (Cohen et al. 2022, Theorem 6).",
        False,
        {
            "scores": Option("3,2,1,0", "each moves by at most 1"),
            "k": Option("2", "size of the set"),
            "epsilon": Option("1", "of the whole release"),
            "delta": Option("1e-6", "of the whole release, in (0, 1)"),
            "beta": Option("0.9", "chance of failure, in (0, 1)"),
            "events": Option("sets", "sets (at most 12 candidates) or hits"),
            "settings": Option("corrected", "corrected or printed (too little noise)"),
            "method": Option("literal", "literal or law"),
        },
        _make_top_k,
        _top_k_pairs,
        _top_k_promise,
    ),
    MechanismEntry(
        "choosing_mechanism",
        ("CL-Thm7",),
        "Release the best of noisy candidates whose scores move by at most k in all "
        "(Cohen et al. 2022, Theorem 7).",
        False,
        {
            "scores": Option("5,3,0", "each moves by at most 1"),
            "bound": Option("2", "k, by which all scores together may move"),
            "epsilon": _EPSILON,
            "delta": Option("0.1", "of the whole release, in (0, 1)"),
            "beta": Option("0.5", "chance of failure, in (0, 1)"),
            "method": _METHOD,
        },
        _make_choosing,
        _choosing_pairs,
        _none,
    ),
    MechanismEntry(
        "stable_selection",
        ("CL-Thm8",),
        "Release the best of noisy candidates, scores clipped at the (k+1)-th largest "
        "(Cohen et al. 2022, Theorem 8).",
        False,
        {
            "scores": Option("5,3,0", "each moves by at most 1"),
            "rank": Option("1", "k, how many scores count"),
            "epsilon": _EPSILON,
            "delta": Option("0.1", "of the whole release, in (0, 1)"),
            "beta": Option("0.5", "chance of failure, in (0, 1)"),
            "shares": Option("6", "noise of rate epsilon/shares; 3 is the paper's"),
            "method": _METHOD,
        },
        _make_stable,
        _stable_pairs,
        _none,
    ),
)
