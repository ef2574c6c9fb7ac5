"""Selection against a threshold, known or falling: settings, pairs, guarantees."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from jaxsel.accounting.single_run import pairs
from jaxsel.families.thresholds.decreasing_laws import GAMMA, LEVELS
from jaxsel.families.thresholds.laws import threshold_steps
from jaxsel.families.tuning.base_settings import (
    BASE_SETTINGS,
    base_epsilon,
    base_input,
    base_pairs,
    base_params,
    base_utility,
)
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import Domain, choice, number, numbers
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee

_METHOD = choice(("jump", "literal", "law"), "how trials are drawn; see the guide", default="jump")

# --- A known threshold ----------------------------------------------------------------


def _threshold_entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    settings: Mapping[str, Domain],
    params_of: Callable[[Values], dict[str, Any]],
    proof: Callable[[Values, float], Guarantee],
    *,
    generic: Values,
) -> MechanismEntry:
    def make(values: Values) -> Built:
        from jaxsel.families.thresholds.threshold_selection import threshold_selection

        base, data, params = base_input(values)
        mechanism = threshold_selection(base, method=values["method"])
        return Built(mechanism, data, params | params_of(values))

    def make_pairs(values: Values) -> tuple[Pair, ...]:
        return base_pairs(values, base_params(values) | params_of(values))

    def proven(values: Values, pair: Pair) -> Guarantee | None:
        del pair
        epsilon = base_epsilon(values)
        return None if epsilon is None else proof(values, epsilon)

    threshold = number("least acceptable score", default=1)
    return MechanismEntry(
        name,
        ids,
        summary,
        False,
        {"threshold": threshold, **settings, **BASE_SETTINGS, "method": _METHOD},
        make,
        make_pairs,
        proven,
        generic,
        base_utility,
    )


def _threshold(values: Values) -> dict[str, Any]:
    return {"threshold": values["threshold"]}


def _stopped_threshold(values: Values) -> dict[str, Any]:
    return _threshold(values) | {
        "stop_probability": values["gamma"],
        "max_draws": threshold_steps(values["gamma"], values["slack"]),
    }


# --- A falling threshold: Algorithm 6 -------------------------------------------------


def _lowering_params(values: Values) -> dict[str, Any]:
    return {"levels": values["levels"], "gamma": values["gamma"]}


def _make_lowering(values: Values) -> Built:
    from jaxsel.families.thresholds.decreasing_thresholds import decreasing_thresholds
    from jaxsel.families.tuning.bases import finite

    mechanism = decreasing_thresholds(finite(), method=values["method"])
    data = {name: values[name] for name in ("probabilities", "scores")}
    return Built(mechanism, data, _lowering_params(values))


def _lowering_pairs(values: Values) -> tuple[Pair, ...]:
    epsilon, params = values["epsilon"], _lowering_params(values)

    def pair(name: str, laws: pairs.LawPair, scores: list[float], why: str) -> Pair:
        data, neighbour = ({"probabilities": side, "scores": scores} for side in laws)
        return Pair(name, data, neighbour, Relation.BASE, params, why)

    most = 1.0 / (1.0 + math.exp(epsilon))
    return (
        pair(
            "randomised-response",
            pairs.randomised_response(epsilon),
            [1.0, 0.0],
            "every level but the last fails before 0 is released: two losses a level",
        ),
        pair(
            "bernoulli",
            pairs.bernoulli(0.3, pairs.extreme_neighbours(0.3, epsilon)[1]),
            [1.0, 0.0],
            "the example of Appendix B.2",
        ),
        pair(
            "three-outcome",
            pairs.three_outcome(epsilon, min(0.1, most / 2.0), min(0.01, most / 2.0)),
            [1.0, 0.5, 0.0],
            "a score between the first and the last threshold",
        ),
    )


ENTRIES = (
    _threshold_entry(
        "threshold_selection",
        ("LT-Alg1",),
        "Draw until a run reaches the threshold; after each failure stop with "
        "probability gamma (Liu & Talwar 2019, Algorithm 1).",
        {
            "gamma": number("stopping probability", at_least=1e-9, at_most=1.0, default=0.1),
            "slack": number("epsilon_0; sets the last draw T", above=0.0, at_most=1.0, default=0.1),
        },
        _stopped_threshold,
        lambda values, epsilon: guarantee("LT-Thm3.1(b)", epsilon=epsilon, slack=values["slack"]),
        generic={
            "threshold": 0.8,
            "gamma": 0.25,
            "slack": 1,  # three draws at most, which many trials make
            "epsilon": 0.6,
            "probabilities": "0.3,0.3,0.4",
            "scores": "0.9,0.8,0.5",
        },
    ),
    _threshold_entry(
        "conditional_sampling",
        ("PS-AlgC", "LT-Thm1.2"),
        "Draw until a run reaches the threshold, however long it takes "
        "(Papernot & Steinke 2022, Appendix C).",
        {},
        _threshold,
        lambda values, epsilon: guarantee("PS-Cor16(1)", epsilon=epsilon),
        generic={
            "threshold": 0,
            "epsilon": 0.6,
            "probabilities": "0.3,0.3,0.4",
            "scores": "0.9,0.8,0.5",
        },
    ),
    MechanismEntry(
        "decreasing_thresholds",
        ("LT-Alg6", "LT-B.2"),
        "BROKEN: draw until a run reaches a threshold that is lowered after failures; "
        "the loss grows with the number of thresholds.",
        True,
        {
            "probabilities": numbers(
                "law of one run", at_least=0.0, at_most=1.0, default="0.2,0.3,0.5"
            ),
            "scores": numbers("scores of the outcomes", default="1,0.5,0"),
            "levels": LEVELS,
            "gamma": GAMMA,
            "epsilon": number(
                "privacy of one run in the constructed pairs", above=0.0, at_most=100.0, default=1
            ),
            "method": _METHOD,
        },
        _make_lowering,
        _lowering_pairs,
        lambda values, pair: guarantee("LT-Alg6-hope", epsilon=values["epsilon"]),
        generic={
            "probabilities": "0.3,0.1,0.6",
            "scores": "3,2,0",
            "levels": 4,
            "gamma": 0.3,
            "epsilon": 0.7,
        },
    ),
)
