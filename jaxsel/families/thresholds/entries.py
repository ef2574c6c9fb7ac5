"""Selection against a threshold, known or falling: settings, pairs, guarantees."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.families.amplification.amplification import private_amplification
from jaxsel.families.amplification.laws import amplified_pure
from jaxsel.families.percentile.score_percentile import score_percentile
from jaxsel.families.thresholds.decreasing_thresholds import decreasing_thresholds
from jaxsel.families.thresholds.laws import threshold_pure, threshold_steps
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning import bases
from jaxsel.families.tuning.base_settings import (
    BASE_OPTIONS,
    base_epsilon,
    base_input,
    base_pairs,
)
from jaxsel.options import Option, read_number, read_numbers

_EPSILON = Option("1", "privacy of one run in the constructed pairs")
_HOPED = 3.0  # what random stopping costs, in epsilons


def _number(values: Settings, name: str) -> float:
    return read_number(name, values[name])


def _scored(values: Settings) -> dict[str, np.ndarray]:
    return {
        name: np.array(read_numbers(name, values[name]))
        for name in ("probabilities", "scores")
    }


def _scored_pair(
    name: str,
    laws: pairs.LawPair,
    scores: list[float],
    params: dict[str, Any],
    why: str,
) -> Pair:
    data, neighbour = ({"probabilities": side, "scores": scores} for side in laws)
    return Pair(name, data, neighbour, Relation.BASE, params, why)


# Algorithm 6 ----------------------------------------------------------------------


def _lowering_params(values: Settings) -> dict[str, Any]:
    return {"levels": _number(values, "levels"), "gamma": _number(values, "gamma")}


def _make_lowering(values: Settings) -> Built:
    mechanism = decreasing_thresholds(bases.finite(), method=values["method"])
    return Built(mechanism, _scored(values), _lowering_params(values))


def _lowering_pairs(values: Settings) -> tuple[Pair, ...]:
    epsilon, params = _number(values, "epsilon"), _lowering_params(values)

    def pair(name: str, laws: pairs.LawPair, scores: list[float], why: str) -> Pair:
        return _scored_pair(name, laws, scores, params, why)

    high = pairs.extreme_neighbours(0.3, epsilon)[1]
    return (
        pair(
            "randomised-response",
            pairs.randomised_response(epsilon),
            [1.0, 0.0],
            "every level but the last fails before 0 is released: two losses a level",
        ),
        pair(
            "bernoulli",
            pairs.bernoulli(0.3, high),
            [1.0, 0.0],
            "the example of Appendix B.2",
        ),
        pair(
            "three-outcome",
            pairs.three_outcome(epsilon, 0.1, 0.01),
            [1.0, 0.5, 0.0],
            "a score between the first and the last threshold",
        ),
    )


# Appendix B.3 ---------------------------------------------------------------------


def _percentile_params(values: Settings) -> dict[str, Any]:
    rank: Any = values["rank"]
    if rank not in ("median", "random"):
        rank = read_number("rank", rank)
    return {"count": _number(values, "count"), "rank": rank}


def _make_percentile(values: Settings) -> Built:
    law = np.array(read_numbers("probabilities", values["probabilities"]))
    mechanism = score_percentile(method=values["method"])
    return Built(mechanism, law, _percentile_params(values))


def _percentile_pairs(values: Settings) -> tuple[Pair, ...]:
    epsilon, params = _number(values, "epsilon"), _percentile_params(values)
    return (
        Pair(
            "randomised-response",
            *pairs.randomised_response(epsilon),
            Relation.BASE,
            params,
            "the likelier of two models is the median of either side",
        ),
        Pair(
            "three-outcome",
            *pairs.three_outcome(epsilon, 0.1, 0.1),
            Relation.BASE,
            params,
            "the median moves between three models",
        ),
    )


# Appendix C -----------------------------------------------------------------------


def _amplification_params(values: Settings) -> dict[str, Any]:
    names = ("candidates", "threshold", "score_epsilon", "gamma")
    return {name: _number(values, name) for name in names}


def _make_amplification(values: Settings) -> Built:
    mechanism = private_amplification(method=values["method"])
    return Built(mechanism, _scored(values), _amplification_params(values))


def _amplification_pairs(values: Settings) -> tuple[Pair, ...]:
    epsilon, params = _number(values, "epsilon"), _amplification_params(values)
    threshold = params["threshold"]

    def pair(name: str, laws, steps: list[float], why: str) -> Pair:
        scores = [threshold + step for step in steps]
        return _scored_pair(name, laws, scores, params, why)

    three = pairs.three_outcome(epsilon, middle=1e-3 / (1.0 + np.exp(epsilon)))
    return (
        pair(
            "three-outcome",
            three,
            [0.0, -0.5, -10.0],
            "rivals above a rare score get likelier as it gets rarer",
        ),
        pair(
            "randomised-response",
            # Three scores, as in the other pair: one program serves both.
            pairs.LawPair(
                *np.insert(pairs.randomised_response(epsilon), 1, 0.0, axis=1)
            ),
            [0.0, -5.0, -10.0],
            "two scores that happen, one far below the threshold",
        ),
    )


_GAMMA = Option("0.1", "chance to lower the threshold after a failure, in (0, 1]")
_SCORES = Option("1,0.5,0", "scores of the outcomes")

# Known threshold -----


def _threshold_entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    options: Mapping[str, Option],
    settings_of: Callable[[Settings], dict[str, Any]],
    promise: Callable[[Settings, float], tuple[str, float] | None],
) -> MechanismEntry:
    def make(values: Settings) -> Built:
        base, data, params = base_input(values)
        mechanism = threshold_selection(base, method=values["method"])
        return Built(mechanism, data, params | settings_of(values))

    def make_pairs(values: Settings) -> tuple[Pair, ...]:
        return base_pairs(values, make(values).params)

    def promised(values: Settings, pair: Pair) -> tuple[str, float] | None:
        del pair
        epsilon = base_epsilon(values)
        return None if epsilon is None else promise(values, epsilon)

    method = Option("jump", "jump, literal or law; see the guide")
    threshold = Option("1", "least acceptable score")
    return MechanismEntry(
        name, ids, summary, False,
        {"threshold": threshold, **options, **BASE_OPTIONS, "method": method},
        make, make_pairs, promised,
    )  # fmt: skip


def _threshold(values: Settings) -> dict[str, Any]:
    return {"threshold": read_number("threshold", values["threshold"])}


def _stopped_threshold(values: Settings) -> dict[str, Any]:
    gamma, slack = _number(values, "gamma"), read_number("slack", values["slack"])
    return _threshold(values) | {
        "stop_probability": gamma,
        "max_draws": threshold_steps(gamma, slack),
    }


_THRESHOLD = _threshold_entry(
    "threshold_selection",
    ("LT-Alg1",),
    "Draw until a run reaches the threshold; after each failure stop with probability "
    "gamma (Liu & Talwar 2019, Algorithm 1).",
    {
        "gamma": _GAMMA,
        "slack": Option("0.1", "epsilon_0 in (0, 1]; sets the last draw T"),
    },
    _stopped_threshold,
    lambda values, epsilon: (
        "LT-Thm3.1(b)",
        threshold_pure(epsilon, read_number("slack", values["slack"])),
    ),
)

_CONDITIONAL = _threshold_entry(
    "conditional_sampling",
    ("PS-AlgC", "LT-Thm1.2"),
    "Draw until a run reaches the threshold, however long it takes "
    "(Papernot & Steinke 2022, Appendix C).",
    {},
    _threshold,
    lambda values, epsilon: ("PS-Cor16(1)", 2.0 * epsilon),
)

ENTRIES: tuple[MechanismEntry, ...] = (
    _THRESHOLD,
    _CONDITIONAL,
    MechanismEntry(
        "decreasing_thresholds",
        ("LT-Alg6", "LT-B.2"),
        "BROKEN: draw until a run reaches a threshold that is lowered after failures; "
        "the loss grows with the number of thresholds.",
        True,
        {
            "probabilities": Option("0.2,0.3,0.5", "law of one run"),
            "scores": _SCORES,
            "levels": Option("5", "how often the threshold is lowered, from 1 to 0"),
            "gamma": _GAMMA,
            "epsilon": _EPSILON,
            "method": Option("jump", "jump, literal or law; see the guide"),
        },
        _make_lowering,
        _lowering_pairs,
        lambda values, pair: ("LT-Alg6-hope", 2.0 * _number(values, "epsilon")),
    ),
    MechanismEntry(
        "median_of_runs",
        ("LT-B.3",),
        "BROKEN: release the run of median score, or of a random rank above it; the "
        "loss grows with the number of runs.",
        True,
        {
            "probabilities": Option("0.5,0.5", "law of one run, best outcome first"),
            "count": Option("21", "how many runs"),
            "rank": Option("median", "median, random, or a number, 1 for the best"),
            "epsilon": _EPSILON,
            "method": Option("jump", "jump, literal or law; see the guide"),
        },
        _make_percentile,
        _percentile_pairs,
        lambda values, pair: ("LT-B.3-hope", _HOPED * _number(values, "epsilon")),
    ),
    MechanismEntry(
        "private_amplification",
        ("LT-ThmC.1",),
        "The exponential mechanism among N private scores, capped at a threshold, and "
        "dummies at it (Liu & Talwar 2019, Appendix C).",
        False,
        {
            "probabilities": Option("0.2,0.3,0.5", "law of one candidate's score"),
            "scores": _SCORES,
            "candidates": Option("20", "how many candidates, N"),
            "threshold": Option("1", "the largest score that counts"),
            "score_epsilon": Option("2", "parameter of the exponential mechanism"),
            "gamma": Option("0.1", "inverse number of dummies, in (0, 1/4)"),
            "epsilon": _EPSILON,
            "method": Option("counts", "counts, literal or law; see the guide"),
        },
        _make_amplification,
        _amplification_pairs,
        lambda values, pair: (
            "LT-ThmC.1-privacy-sharp",
            amplified_pure(_number(values, "epsilon"), _number(values, "gamma")),
        ),
    ),
)
