"""Catalogue entries of Liu & Talwar 2019, Section 5, and the classical mechanisms."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxsel.base import Mechanism, Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.errors import InputError
from jaxsel.families.score_selection import classical, selections
from jaxsel.options import Option, read_number, read_numbers

_SCORES = Option("2,1,0", "the candidates' scores")
_EPSILON = Option("1", "privacy parameter of the whole selection")
_BETA = Option("0.2", "allowed failure probability; sets the stopping probability")
_DELTA = Option("1e-3", "delta of the whole selection")
_SENSITIVITY = Option("1", "how much a score may change")
_SENSITIVITIES = Option("1,1,4", "how much each score may change")
_METHOD = Option("jump", "jump, rank, count, literal or law; see the guide")


def _numbers(values: Settings, *names: str) -> dict[str, Any]:
    return {name: read_number(name, values[name]) for name in names}


def _list(values: Settings, name: str) -> np.ndarray:
    return np.array(read_numbers(name, values[name]))


def _rows(values: Settings, name: str) -> np.ndarray:
    """A table as text: rows separated by slashes."""
    rows = [read_numbers(name, row) for row in values[name].split("/")]
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"the rows of {name} must be equally long")
    return np.array(rows)


# --- Neighbouring scores --------------------------------------------------------------


def _score_pairs(moves, params: dict[str, Any], far: float) -> tuple[Pair, ...]:
    """Patterns that random stopping loses much on; candidate i moves by moves[i]."""
    moves = np.asarray(moves, dtype=np.float64)
    count = moves.size
    first = np.arange(count) == 0
    half = np.arange(count) < count // 2
    behind = np.where(first, -far, 0.0)
    return (
        Pair(
            "opposed", behind + np.where(first, moves, 0.0),
            behind + np.where(first, 0.0, moves), Relation.GENERAL, params,
            "one candidate, behind, falls while all others rise",
        ),
        Pair(
            "halves", np.where(half, moves, 0.0), np.where(half, 0.0, moves),
            Relation.GENERAL, params, "half of the candidates fall while half rise",
        ),
        Pair(
            "one-alone", behind + np.where(first, moves, 0.0), behind,
            Relation.MONOTONE, params, "one candidate, behind, moves",
        ),
    )  # fmt: skip


def _selection_pairs(params_of: Callable[[Settings], dict[str, Any]], *names: str):
    def pairs(values: Settings) -> tuple[Pair, ...]:
        params = params_of(values)
        count = max(2, len(read_numbers("scores", values["scores"])))
        moves = np.broadcast_to(
            params.get("sensitivities", params.get("sensitivity", 1.0)), count
        )
        found = _score_pairs(moves, params, 2.0 * moves[0] / params["epsilon"])
        return tuple(pair for pair in found if pair.name in names)

    return pairs


def _entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    options: dict[str, Option],
    mechanism: Callable[[Settings], Mechanism],
    params_of: Callable[[Settings], dict[str, Any]],
    promise: Callable[[Settings, Pair], tuple[str, float] | None],
    data_of: Callable[[Settings], Any] = lambda values: _list(values, "scores"),
    make_pairs: Callable[[Settings], tuple[Pair, ...]] | None = None,
) -> MechanismEntry:
    def make(values: Settings) -> Built:
        return Built(mechanism(values), data_of(values), params_of(values))

    pairs = make_pairs or _selection_pairs(params_of, "opposed", "one-alone")
    return MechanismEntry(name, ids, summary, False, options, make, pairs, promise)


def _promises(claim_id: str):
    return lambda values, pair: (claim_id, read_number("epsilon", values["epsilon"]))


def _no_pure_promise(values: Settings, pair: Pair) -> None:
    del values, pair


# --- Random stopping over noisy scores ------------------------------------------------


def _exponential_params(values: Settings) -> dict[str, Any]:
    return _numbers(values, "epsilon", "beta", "sensitivity")


def _generalised_params(values: Settings) -> dict[str, Any]:
    return _numbers(values, "epsilon", "beta") | {
        "sensitivities": _list(values, "sensitivities")
    }


def _margin_params(values: Settings) -> dict[str, Any]:
    return _numbers(values, "epsilon", "delta", "beta", "sensitivity")


_EXPONENTIAL = _entry(
    "selection_exponential",
    ("LT-Thm5.2-EM",),
    "The exponential mechanism by random stopping over noisy scores "
    "(Liu & Talwar 2019, Theorem 5.2).",
    {
        "scores": _SCORES, "sensitivity": _SENSITIVITY, "epsilon": _EPSILON,
        "beta": _BETA, "method": _METHOD,
    },
    lambda values: selections.selection_exponential(method=values["method"]),
    _exponential_params,
    _promises("LT-Thm5.2-exponential-privacy"),
)  # fmt: skip

_GENERALISED = _entry(
    "selection_generalised_exponential",
    ("LT-Thm5.2-GEM",),
    "The same for scores of different sensitivities (Liu & Talwar 2019, Theorem 5.2).",
    {
        "scores": _SCORES, "sensitivities": _SENSITIVITIES, "epsilon": _EPSILON,
        "beta": _BETA, "method": _METHOD,
    },
    lambda values: selections.selection_generalised_exponential(
        method=values["method"]
    ),
    _generalised_params,
    _promises("LT-Thm5.2-generalised-privacy"),
)  # fmt: skip

_MARGIN = _entry(
    "selection_margin",
    ("LT-Thm5.2-Margin",),
    "Random stopping over scores with truncated Laplace noise: finds a best candidate "
    "that leads by a margin (Liu & Talwar 2019, Theorem 5.2).",
    {
        "scores": _SCORES, "sensitivity": _SENSITIVITY, "epsilon": _EPSILON,
        "delta": _DELTA, "beta": _BETA, "method": _METHOD,
    },
    lambda values: selections.selection_margin(method=values["method"]),
    _margin_params,
    _no_pure_promise,
    make_pairs=_selection_pairs(_margin_params, "opposed", "halves"),
)  # fmt: skip


# --- Medians --------------------------------------------------------------------------


def _smooth_params(values: Settings) -> dict[str, Any]:
    return _numbers(values, "high", "epsilon", "delta", "beta")


def _smooth_pairs(values: Settings) -> tuple[Pair, ...]:
    """One value of each list moves, across the medians of an even split."""
    params = _smooth_params(values)
    count, size = _rows(values, "lists").shape
    count, high = max(2, count), params["high"]
    middle = (size - 1) // 2
    split = np.where(np.arange(size) <= middle, 0.4, 0.6) * high
    table = np.tile(split, (count, 1))
    # Those below their median go up, or those above go down: the medians jump.
    up, down = table.copy(), table.copy()
    up[:, middle] = np.where(np.arange(count) == 0, split[middle], split[-1])
    down[0, middle] = split[-1]
    return (
        Pair(
            "opposed", up, down, Relation.GENERAL, params,
            "one column: the first list's median jumps up, all others' jump down",
        ),
        Pair(
            "together", table, up, Relation.GENERAL, params,
            "one column: all medians but the first list's jump up",
        ),
    )  # fmt: skip


_SMOOTH = _entry(
    "selection_smooth_sensitivity",
    ("LT-Thm5.2-SmoothSens",),
    "Which list has the largest median, with noise scaled to smooth sensitivity "
    "(Liu & Talwar 2019, Theorem 5.2).",
    {
        "lists": Option(
            "0,4,5,5,6,9,9/1,2,4,4,4,6,8/0,2,3,3,3,3,7",
            "the lists, separated by slashes, equally long",
        ),
        "high": Option("10", "largest value in a list; the least is 0"),
        "epsilon": _EPSILON, "delta": _DELTA, "beta": _BETA, "method": _METHOD,
    },
    lambda values: selections.selection_smooth_sensitivity(method=values["method"]),
    _smooth_params,
    _no_pure_promise,
    lambda values: _rows(values, "lists"),
    _smooth_pairs,
)  # fmt: skip


# --- Learners -------------------------------------------------------------------------


def _learners(values: Settings, *, good: float, scores: np.ndarray) -> dict[str, Any]:
    """Learners that return the good model (0) or the bad one by randomised response."""
    count = int(read_number("learners", values["learners"]))
    if count < 1:
        raise InputError(f"learners is {count}; it must be a whole number >= 1")
    return {"model_laws": np.tile([good, 1.0 - good], (count, 1)), "scores": scores}


def _truth(values: Settings) -> float:
    epsilon = read_number("learner_epsilon", values["learner_epsilon"])
    return float(1.0 / (1.0 + np.exp(-epsilon)))


def _validation_data(values: Settings) -> dict[str, Any]:
    return _learners(values, good=_truth(values), scores=_list(values, "scores"))


def _validation_params(values: Settings) -> dict[str, Any]:
    return _numbers(values, "epsilon", "gamma", "sensitivity")


def _validation_pairs(values: Settings) -> tuple[Pair, ...]:
    params, scores = _validation_params(values), _list(values, "scores")
    truth = _truth(values)
    move = params["sensitivity"] * np.where(np.arange(scores.size) == 0, 1.0, -1.0)
    return (
        Pair(
            "training", _learners(values, good=truth, scores=scores),
            _learners(values, good=1.0 - truth, scores=scores), Relation.BASE, params,
            "every learner's randomised response sees the other bit",
        ),
        Pair(
            "validation", _learners(values, good=truth, scores=scores),
            _learners(values, good=truth, scores=scores + move), Relation.BASE, params,
            "the first model gains one validation example, the other loses one",
        ),
    )  # fmt: skip


def _validation_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    name = "learner_epsilon" if pair.name == "training" else "epsilon"
    return "LT-Lem5.1-tuned", 3.0 * read_number(name, values[name])


_VALIDATION = _entry(
    "validation_selection",
    ("LT-Lem5.1",),
    "Hyperparameters: train a random learner, validate with noise, release the best of "
    "a random number of runs (Liu & Talwar 2019, Section 5.1).",
    {
        "learners": Option("3", "how many learners, each of two models"),
        "learner_epsilon": Option("0.5", "epsilon of a learner for the training set"),
        "scores": Option("8,2", "validation scores of the good and of the bad model"),
        "sensitivity": Option("1", "how much one validation example changes a score"),
        "epsilon": Option("0.5", "epsilon of one noisy score for the validation set"),
        "gamma": Option("0.1", "stopping probability, in (0, 1)"),
        "method": _METHOD,
    },
    lambda values: selections.validation_selection(method=values["method"]),
    _validation_params,
    _validation_promise,
    _validation_data,
    _validation_pairs,
)  # fmt: skip


# --- Classical mechanisms -------------------------------------------------------------


_CLASSICAL_GENERALISED = _entry(
    "generalised_exponential_mechanism",
    ("RS-GEM",),
    "The exponential mechanism for scores of different sensitivities "
    "(Raskhodnikova & Smith 2016).",
    {
        "scores": _SCORES, "sensitivities": _SENSITIVITIES, "epsilon": _EPSILON,
        "beta": _BETA, "method": Option("race", "race, literal or law"),
    },
    lambda values: classical.generalised_exponential_mechanism(
        method=values["method"]
    ),
    _generalised_params,
    _promises("RS-GEM-privacy"),
)  # fmt: skip


def _lead_pairs(values: Settings) -> tuple[Pair, ...]:
    params = _numbers(values, "epsilon", "delta", "sensitivity")
    count, s = max(2, _list(values, "scores").size), params["sensitivity"]
    first, rest = np.arange(count) == 0, np.arange(count) == 1
    lead = s * (2.0 - 2.0 * np.log(2.0 * params["delta"]) / params["epsilon"])
    ahead = np.where(first, lead, 0.0)
    return (
        Pair(
            "lead", ahead, ahead - 2.0 * s * np.where(first, 0.5, 0.0) + s * rest,
            Relation.GENERAL, params, "a lead that matters shrinks by twice s",
        ),
        Pair(
            "best", s * first, s * rest, Relation.GENERAL, params,
            "another candidate becomes the best",
        ),
    )  # fmt: skip


_CLASSICAL_MARGIN = _entry(
    "margin_mechanism",
    ("BNS-Adist",),
    "A_dist: release the best candidate if its noisy lead is large, else nothing "
    "(Smith & Thakurta 2013; Beimel, Nissim & Stemmer 2013).",
    {
        "scores": Option("20,1,0", "the candidates' scores"),
        "sensitivity": _SENSITIVITY, "epsilon": _EPSILON, "delta": _DELTA,
        "method": Option("literal", "literal or law"),
    },
    lambda values: classical.margin_mechanism(),
    lambda values: _numbers(values, "epsilon", "delta", "sensitivity"),
    _no_pure_promise,
    make_pairs=_lead_pairs,
)  # fmt: skip


ENTRIES: tuple[MechanismEntry, ...] = (
    _EXPONENTIAL,
    _GENERALISED,
    _MARGIN,
    _SMOOTH,
    _VALIDATION,
    _CLASSICAL_GENERALISED,
    _CLASSICAL_MARGIN,
)
