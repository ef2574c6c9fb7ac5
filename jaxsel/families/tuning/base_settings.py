"""The bases by name, built from name=value settings, with their pairs."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.base import Pair, Relation
from jaxsel.entry import Settings
from jaxsel.errors import InputError, check_choice
from jaxsel.families.tuning import bases, noised_bases
from jaxsel.options import Option, read_number, read_numbers

BASE_OPTIONS = {
    "base": Option(
        "randomised_response",
        "what is run: randomised_response, finite, score_table, random_candidate_laplace, "
        "random_candidate_gaussian, noised_score_laplace or noised_score_gaussian",
    ),
    "epsilon": Option(
        "1", "privacy of randomised_response and of the constructed pairs"
    ),
    "bit": Option("1", "the true bit of randomised_response, 0 or 1"),
    "probabilities": Option("0.1,0.2,0.7", "law of finite, best outcome first"),
    "scores": Option("0.9,0.8,0.5", "of score_table, random_candidate, noised_score"),
    "noise_scale": Option("1", "scale of the noise on the scores"),
    "edges": Option("0,1,2", "bins of the score that noised_score reports"),
}


class BaseInput(NamedTuple):
    """A base with one input."""

    base: bases.Base
    data: Any
    params: dict[str, Any]


def base_input(values: Settings) -> BaseInput:
    """The chosen base, its data and its parameters."""
    name = values["base"]
    check_choice("base", name, _BASES)
    return _BASES[name](values)


def _noise_scale(values: Settings) -> dict[str, float]:
    return {"noise_scale": read_number("noise_scale", values["noise_scale"])}


def _candidates(noise: str):
    def make(values: Settings) -> BaseInput:
        scores = np.array(read_numbers("scores", values["scores"]))
        return BaseInput(
            noised_bases.random_candidate(noise), scores, _noise_scale(values)
        )

    return make


def _one_score(noise: str):
    def make(values: Settings) -> BaseInput:
        score = read_numbers("scores", values["scores"])[0]
        params = _noise_scale(values) | {
            "edges": read_numbers("edges", values["edges"])
        }
        return BaseInput(noised_bases.noised_score(noise), score, params)

    return make


_BASES: dict[str, Callable[[Settings], BaseInput]] = {
    "randomised_response": lambda values: BaseInput(
        bases.randomised_response(),
        read_number("bit", values["bit"]),
        {"epsilon": read_number("epsilon", values["epsilon"])},
    ),
    "finite": lambda values: BaseInput(
        bases.finite(),
        np.array(read_numbers("probabilities", values["probabilities"])),
        {},
    ),
    "score_table": lambda values: BaseInput(
        bases.score_table(), np.array(read_numbers("scores", values["scores"])), {}
    ),
    "random_candidate_laplace": _candidates("laplace"),
    "random_candidate_gaussian": _candidates("gaussian"),
    "noised_score_laplace": _one_score("laplace"),
    "noised_score_gaussian": _one_score("gaussian"),
}


def base_pairs(values: Settings, params: dict[str, Any]) -> tuple[Pair, ...]:
    """Neighbouring inputs of the chosen base, worst ones first."""
    name = values["base"]
    epsilon = read_number("epsilon", values["epsilon"])
    if name == "randomised_response":
        why = "complete for pure DP; the worst case of a fixed number of runs"
        return (Pair("randomised-response", 1, 0, Relation.BASE, params, why),)
    if name == "finite":
        three = pairs.three_outcome(epsilon, middle=1e-3 / (1.0 + np.exp(epsilon)))
        why = "best block likelier, rare middle block rarer: random stopping loses most"
        found = [Pair("three-outcome", *three, Relation.BASE, params, why)]
        shifted = pairs.bernoulli(0.3, pairs.extreme_neighbours(0.3, epsilon)[1])
        why = "success probabilities as far apart as epsilon-DP allows"
        found.append(Pair("bernoulli", *shifted, Relation.BASE, params, why))
        return tuple(found)
    scores = np.array(read_numbers("scores", values["scores"]))
    if name.startswith("noised_score"):
        why = "one score moved by 1"
        pair = Pair("shift", scores[0], scores[0] + 1.0, Relation.BASE, params, why)
        return (pair,)
    if name == "score_table":
        raise InputError("score_table has no constructed pair; choose another base")
    other = scores.copy()
    other[0] += 1.0
    why = "one candidate's score moved by 1"
    return (Pair("one-candidate", scores, other, Relation.BASE, params, why),)


def base_epsilon(values: Settings) -> float | None:
    """Pure DP of one run of the base on such pairs; None if it has none."""
    name = values["base"]
    if name in ("randomised_response", "finite"):
        return read_number("epsilon", values["epsilon"])
    if name.endswith("laplace"):
        return 1.0 / read_number("noise_scale", values["noise_scale"])
    return None
