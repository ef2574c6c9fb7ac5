"""Catalogue entries of Liu & Talwar 2019, Section 5, and the classical mechanisms."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxsel.families.score_selection.classical_laws import check_each_positive
from jaxsel.host.errors import InputError
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, numbers, parsed, positive, probability, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee
from jaxsel.language.utility import by_scores

_ROW = numbers("one list")

_SCORES = numbers("the candidates' scores", default="2,1,0")
_EPSILON = positive("of the whole selection", default=1)
_BETA = probability("allowed failure probability; sets the stopping probability", default=0.2)
_DELTA = probability("of the whole selection", default=1e-3)
_SENSITIVITY = positive("how much a score may change", default=1)
_SENSITIVITIES = numbers(
    "how much each score may change, or one for all", above=0.0, default="1,1,4"
)
_METHOD = choice(
    ("jump", "rank", "count", "literal", "law"),
    "how trials are drawn; see the guide",
    default="jump",
)


def _some(values: Values, *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names}


def _rows(text: str) -> np.ndarray:
    """A table as text: rows separated by slashes."""
    rows = [_ROW.read("lists", row) for row in text.split("/")]
    if len({len(row) for row in rows}) > 1:
        raise InputError("the rows of lists must be equally long")
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
            "opposed",
            behind + np.where(first, moves, 0.0),
            behind + np.where(first, 0.0, moves),
            Relation.GENERAL,
            params,
            "one candidate, behind, falls while all others rise",
        ),
        Pair(
            "halves",
            np.where(half, moves, 0.0),
            np.where(half, 0.0, moves),
            Relation.GENERAL,
            params,
            "half of the candidates fall while half rise",
        ),
        Pair(
            "one-alone",
            behind + np.where(first, moves, 0.0),
            behind,
            Relation.MONOTONE,
            params,
            "one candidate, behind, moves",
        ),
    )


def _selection_pairs(params_of: Callable[[Values], dict[str, Any]], *names: str):
    def pairs(values: Values) -> tuple[Pair, ...]:
        params = params_of(values)
        count = max(2, values["scores"].size)
        one_for_all = "sensitivity" in params
        moves = params["sensitivity" if one_for_all else "sensitivities"]
        moves = np.broadcast_to(moves, count)
        found = _score_pairs(moves, params, 2.0 * moves[0] / params["epsilon"])
        return tuple(pair for pair in found if pair.name in names)

    return pairs


def _pure(claim: str) -> Callable[[Values, Pair], Guarantee]:
    """The claim at epsilon of the whole selection."""
    return lambda values, pair: guarantee(claim, epsilon=values["epsilon"])


# --- Random stopping over noisy scores ------------------------------------------------


def _exponential_params(values: Values) -> dict[str, Any]:
    return _some(values, "epsilon", "beta", "sensitivity")


def _generalised_params(values: Values) -> dict[str, Any]:
    sensitivities = values["sensitivities"]
    if sensitivities.size == 1:
        sensitivities = float(sensitivities[0])
    check_each_positive("sensitivities", sensitivities, values["scores"].size)
    return _some(values, "epsilon", "beta") | {"sensitivities": sensitivities}


def _margin_params(values: Values) -> dict[str, Any]:
    return _some(values, "epsilon", "delta", "beta", "sensitivity")


def _make_exponential(values: Values) -> Built:
    from jaxsel.families.score_selection.selections import selection_exponential

    mechanism = selection_exponential(method=values["method"])
    return Built(mechanism, values["scores"], _exponential_params(values))


def _make_generalised(values: Values) -> Built:
    from jaxsel.families.score_selection.selections import selection_generalised_exponential

    mechanism = selection_generalised_exponential(method=values["method"])
    return Built(mechanism, values["scores"], _generalised_params(values))


def _make_margin(values: Values) -> Built:
    from jaxsel.families.score_selection.selections import selection_margin

    mechanism = selection_margin(method=values["method"])
    return Built(mechanism, values["scores"], _margin_params(values))


# --- Medians --------------------------------------------------------------------------


def _smooth_params(values: Values) -> dict[str, Any]:
    return _some(values, "high", "epsilon", "delta", "beta")


def _make_smooth(values: Values) -> Built:
    from jaxsel.families.score_selection.selections import selection_smooth_sensitivity

    mechanism = selection_smooth_sensitivity(method=values["method"])
    return Built(mechanism, values["lists"], _smooth_params(values))


def _smooth_pairs(values: Values) -> tuple[Pair, ...]:
    """One value of each list moves, across the medians of an even split."""
    params = _smooth_params(values)
    count, size = values["lists"].shape
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
            "opposed",
            up,
            down,
            Relation.GENERAL,
            params,
            "one column: the first list's median jumps up, all others' jump down",
        ),
        Pair(
            "together",
            table,
            up,
            Relation.GENERAL,
            params,
            "one column: all medians but the first list's jump up",
        ),
    )


# --- Learners -------------------------------------------------------------------------


def _learners(values: Values, *, good: float, scores: np.ndarray) -> dict[str, Any]:
    """Learners that return the good model (0) or the bad one by randomised response."""
    laws = np.tile([good, 1.0 - good], (values["learners"], 1))
    return {"model_laws": laws, "scores": scores}


def _truth(values: Values) -> float:
    return float(1.0 / (1.0 + np.exp(-values["learner_epsilon"])))


def _validation_params(values: Values) -> dict[str, Any]:
    return _some(values, "epsilon", "gamma", "sensitivity")


def _make_validation(values: Values) -> Built:
    from jaxsel.families.score_selection.selections import validation_selection

    mechanism = validation_selection(method=values["method"])
    data = _learners(values, good=_truth(values), scores=values["scores"])
    return Built(mechanism, data, _validation_params(values))


def _validation_pairs(values: Values) -> tuple[Pair, ...]:
    params, scores = _validation_params(values), values["scores"]
    truth = _truth(values)
    move = params["sensitivity"] * np.where(np.arange(scores.size) == 0, 1.0, -1.0)
    return (
        Pair(
            "training",
            _learners(values, good=truth, scores=scores),
            _learners(values, good=1.0 - truth, scores=scores),
            Relation.BASE,
            params,
            "every learner's randomised response sees the other bit",
        ),
        Pair(
            "validation",
            _learners(values, good=truth, scores=scores),
            _learners(values, good=truth, scores=scores + move),
            Relation.BASE,
            params,
            "the first model gains one validation example, the other loses one",
        ),
    )


def _validation_guarantee(values: Values, pair: Pair) -> Guarantee:
    name = "learner_epsilon" if pair.name == "training" else "epsilon"
    return guarantee("LT-Lem5.1-tuned", epsilon=values[name])


# --- Classical mechanisms -------------------------------------------------------------


def _make_classical_generalised(values: Values) -> Built:
    from jaxsel.families.score_selection.classical import generalised_exponential_mechanism

    mechanism = generalised_exponential_mechanism(method=values["method"])
    return Built(mechanism, values["scores"], _generalised_params(values))


def _lead_params(values: Values) -> dict[str, Any]:
    return _some(values, "epsilon", "delta", "sensitivity")


def _make_classical_margin(values: Values) -> Built:
    from jaxsel.families.score_selection.classical import margin_mechanism

    return Built(margin_mechanism(), values["scores"], _lead_params(values))


def _lead_pairs(values: Values) -> tuple[Pair, ...]:
    params = _lead_params(values)
    count, s = values["scores"].size, params["sensitivity"]
    first, rest = np.arange(count) == 0, np.arange(count) == 1
    lead = s * (2.0 - 2.0 * np.log(2.0 * params["delta"]) / params["epsilon"])
    ahead = np.where(first, lead, 0.0)
    return (
        Pair(
            "lead",
            ahead,
            ahead - 2.0 * s * np.where(first, 0.5, 0.0) + s * rest,
            Relation.GENERAL,
            params,
            "a lead that matters shrinks by twice s",
        ),
        Pair(
            "best",
            s * first,
            s * rest,
            Relation.GENERAL,
            params,
            "another candidate becomes the best",
        ),
    )


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "selection_exponential",
        ("LT-Thm5.2-EM",),
        "The exponential mechanism by random stopping over noisy scores "
        "(Liu & Talwar 2019, Theorem 5.2).",
        False,
        {
            "scores": _SCORES,
            "sensitivity": _SENSITIVITY,
            "epsilon": _EPSILON,
            "beta": _BETA,
            "method": _METHOD,
        },
        _make_exponential,
        _selection_pairs(_exponential_params, "opposed", "one-alone"),
        _pure("LT-Thm5.2-exponential-privacy"),
        generic={"scores": "1,1,0.5", "sensitivity": 1.5, "epsilon": 0.7, "beta": 0.35},
        utility=by_scores,
    ),
    MechanismEntry(
        "selection_generalised_exponential",
        ("LT-Thm5.2-GEM",),
        "The same for scores of different sensitivities (Liu & Talwar 2019, Theorem 5.2).",
        False,
        {
            "scores": _SCORES,
            "sensitivities": _SENSITIVITIES,
            "epsilon": _EPSILON,
            "beta": _BETA,
            "method": _METHOD,
        },
        _make_generalised,
        _selection_pairs(_generalised_params, "opposed", "one-alone"),
        _pure("LT-Thm5.2-generalised-privacy"),
        generic={"scores": "1,1,0.5", "sensitivities": "2,1,0.5", "epsilon": 0.7, "beta": 0.35},
        utility=by_scores,
    ),
    MechanismEntry(
        "selection_margin",
        ("LT-Thm5.2-Margin",),
        "Random stopping over scores with truncated Laplace noise: finds a best candidate "
        "that leads by a margin (Liu & Talwar 2019, Theorem 5.2).",
        False,
        {
            "scores": _SCORES,
            "sensitivity": _SENSITIVITY,
            "epsilon": _EPSILON,
            "delta": _DELTA,
            "beta": _BETA,
            "method": _METHOD,
        },
        _make_margin,
        _selection_pairs(_margin_params, "opposed", "halves"),
        generic={
            "scores": "4,4,1",
            "sensitivity": 1.5,
            "epsilon": 0.7,
            "delta": 0.01,
            "beta": 0.35,
        },
        utility=by_scores,
    ),
    MechanismEntry(
        "selection_smooth_sensitivity",
        ("LT-Thm5.2-SmoothSens",),
        "Which list has the largest median, with noise scaled to smooth sensitivity "
        "(Liu & Talwar 2019, Theorem 5.2).",
        False,
        {
            "lists": parsed(
                _rows,
                "lists of equally many numbers, separated by slashes",
                "the candidates' lists",
                default="0,4,5,5,6,9,9/1,2,4,4,4,6,8/0,2,3,3,3,3,7",
            ),
            "high": positive("largest value in a list; the least is 0", default=10),
            "epsilon": _EPSILON,
            "delta": _DELTA,
            "beta": _BETA,
            "method": _METHOD,
        },
        _make_smooth,
        _smooth_pairs,
        generic={
            "lists": "1,4,4,6,7,7,8/2,2,3,6,8,8,8/0,1,1,3,5,5,7",
            "high": 8,
            "epsilon": 0.7,
            "delta": 0.01,
            "beta": 0.35,
        },
    ),
    MechanismEntry(
        "validation_selection",
        ("LT-Lem5.1",),
        "Hyperparameters: train a random learner, validate with noise, release the best "
        "of a random number of runs (Liu & Talwar 2019, Section 5.1).",
        False,
        {
            "learners": whole(
                "how many learners, each of two models", at_least=1, at_most=1000, default=3
            ),
            "learner_epsilon": positive("of one learner, for the training set", default=0.5),
            "scores": numbers(
                "validation scores of the good and of the bad model", size=2, default="8,2"
            ),
            "sensitivity": positive("how much one validation example changes a score", default=1),
            "epsilon": positive("of one noisy score, for the validation set", default=0.5),
            "gamma": probability("of stopping after a run", default=0.1),
            "method": _METHOD,
        },
        _make_validation,
        _validation_pairs,
        _validation_guarantee,
        generic={
            "learner_epsilon": 0.7,
            "scores": "5,4",
            "sensitivity": 1.5,
            "epsilon": 0.4,
            "gamma": 0.3,
        },
    ),
    MechanismEntry(
        "generalised_exponential_mechanism",
        ("RS-GEM",),
        "The exponential mechanism for scores of different sensitivities "
        "(Raskhodnikova & Smith 2016).",
        False,
        {
            "scores": _SCORES,
            "sensitivities": _SENSITIVITIES,
            "epsilon": _EPSILON,
            "beta": _BETA,
            "method": choice(("race", "literal", "law"), "how trials are drawn", default="race"),
        },
        _make_classical_generalised,
        _selection_pairs(_generalised_params, "opposed", "one-alone"),
        _pure("RS-GEM-privacy"),
        generic={"scores": "1,1,0.5", "sensitivities": "2,1,0.5", "epsilon": 0.7, "beta": 0.35},
        utility=by_scores,
    ),
    MechanismEntry(
        "margin_mechanism",
        ("BNS-Adist",),
        "A_dist: release the best candidate if its noisy lead is large, else nothing "
        "(Smith & Thakurta 2013; Beimel, Nissim & Stemmer 2013).",
        False,
        {
            "scores": numbers("the candidates' scores", size=2, default="20,1,0"),
            "sensitivity": _SENSITIVITY,
            "epsilon": _EPSILON,
            "delta": number("of the whole", above=0.0, at_most=0.5, default=1e-3),
            "method": choice(("literal", "law"), "how trials are drawn", default="literal"),
        },
        _make_classical_margin,
        _lead_pairs,
        generic={"scores": "9,9,4", "sensitivity": 1.5, "epsilon": 0.7, "delta": 0.01},
        utility=by_scores,
    ),
)
