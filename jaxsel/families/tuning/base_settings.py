"""The bases by name: how each is built from settings, its pairs, one run's guarantee."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.families.tuning.base_laws import finite_pairs, randomised_response_law
from jaxsel.families.tuning.claims import one_run
from jaxsel.host.errors import InputError
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, numbers, whole
from jaxsel.language.entry import Guarantee, Values, guarantee, no_utility
from jaxsel.language.utility import Utility, by_scores, of_candidates

if TYPE_CHECKING:
    from jaxsel.families.tuning.bases import Base

Params = dict[str, Any]


class BaseSetting(NamedTuple):
    """A base of the command line.

    Attributes:
      name: its value of the setting "base".
      make: () -> Base; imports JAX.
      data: values -> the base's input.
      params: values -> the base's parameters.
      pairs: (values, params) -> neighbouring inputs, worst first.
      guarantee: values -> the claim that gives one run's pure epsilon on such pairs, or
        None.
      utility: (values, labels) -> the utility of each run if released; {} if all are equal.
    """

    name: str
    make: Callable[[], "Base"]
    data: Callable[[Values], Any]
    params: Callable[[Values], Params]
    pairs: Callable[[Values, Params], tuple[Pair, ...]]
    guarantee: Callable[[Values], Guarantee | None]
    utility: Callable[[Values, tuple[str, ...]], Utility] = by_scores


class BaseInput(NamedTuple):
    """A base with one input."""

    base: "Base"
    data: Any
    params: Params


def _no_guarantee(values: Values) -> None:
    del values


# --- Finite bases ---------------------------------------------------------------------


def _randomised_response() -> "Base":
    from jaxsel.families.tuning.bases import randomised_response

    return randomised_response()


def _response_utility(values: Values, labels: tuple[str, ...]) -> Utility:
    law = randomised_response_law(values["bit"], values["epsilon"])
    return of_candidates(np.array([0.0, 1.0]), labels, law)


def _response_pairs(values: Values, params: Params) -> tuple[Pair, ...]:
    del values
    why = "complete for pure DP; the worst case of a fixed number of runs"
    return (Pair("randomised-response", 1, 0, Relation.BASE, params, why),)


def _finite() -> "Base":
    from jaxsel.families.tuning.bases import finite

    return finite()


def _finite_utility(values: Values, labels: tuple[str, ...]) -> Utility:
    law = values["probabilities"]
    return of_candidates(-np.arange(law.size), labels, law)


def _finite_pairs(values: Values, params: Params) -> tuple[Pair, ...]:
    return tuple(
        Pair(pair.name, *pair.laws, Relation.BASE, params, pair.why)
        for pair in finite_pairs(values["epsilon"])
    )


def _score_table() -> "Base":
    from jaxsel.families.tuning.bases import score_table

    return score_table()


def _no_pairs(values: Values, params: Params) -> tuple[Pair, ...]:
    del params
    raise InputError(f"{values['base']} has no constructed pair; choose another base")


# --- Noisy scores ---------------------------------------------------------------------


def _random_candidate(noise: str) -> Callable[[], "Base"]:
    def make() -> "Base":
        from jaxsel.families.tuning.noised_bases import random_candidate

        return random_candidate(noise)

    return make


def _candidate_pairs(values: Values, params: Params) -> tuple[Pair, ...]:
    scores = values["scores"]
    other = scores.copy()
    other[0] += 1.0
    why = "one candidate's score moved by 1"
    return (Pair("one-candidate", scores, other, Relation.BASE, params, why),)


def _noised_score(noise: str) -> Callable[[], "Base"]:
    def make() -> "Base":
        from jaxsel.families.tuning.noised_bases import noised_score

        return noised_score(noise)

    return make


def _first_score(values: Values) -> float:
    return float(values["scores"][0])


def _score_pairs(values: Values, params: Params) -> tuple[Pair, ...]:
    score, why = _first_score(values), "one score moved by 1"
    return (Pair("shift", score, score + 1.0, Relation.BASE, params, why),)


def _noise_scale(values: Values) -> Params:
    return {"noise_scale": values["noise_scale"]}


def _bins(values: Values) -> Params:
    return _noise_scale(values) | {"edges": values["edges"]}


def _laplace(values: Values) -> Guarantee:
    return guarantee("BASE-laplace", noise_scale=values["noise_scale"])


BASES = {
    base.name: base
    for base in (
        BaseSetting(
            "randomised_response",
            _randomised_response,
            lambda values: values["bit"],
            lambda values: {"epsilon": values["epsilon"]},
            _response_pairs,
            lambda values: guarantee("BASE-randomised-response", epsilon=values["epsilon"]),
            _response_utility,
        ),
        BaseSetting(
            "finite",
            _finite,
            lambda values: values["probabilities"],
            lambda values: {},
            _finite_pairs,
            lambda values: guarantee("BASE-finite", epsilon=values["epsilon"]),
            _finite_utility,
        ),
        BaseSetting(
            "score_table",
            _score_table,
            lambda values: values["scores"],
            lambda values: {},
            _no_pairs,
            _no_guarantee,
        ),
        BaseSetting(
            "random_candidate_laplace",
            _random_candidate("laplace"),
            lambda values: values["scores"],
            _noise_scale,
            _candidate_pairs,
            _laplace,
        ),
        BaseSetting(
            "random_candidate_gaussian",
            _random_candidate("gaussian"),
            lambda values: values["scores"],
            _noise_scale,
            _candidate_pairs,
            _no_guarantee,
        ),
        BaseSetting(
            "noised_score_laplace",
            _noised_score("laplace"),
            _first_score,
            _bins,
            _score_pairs,
            _laplace,
            no_utility,
        ),
        BaseSetting(
            "noised_score_gaussian",
            _noised_score("gaussian"),
            _first_score,
            _bins,
            _score_pairs,
            _no_guarantee,
            no_utility,
        ),
    )
}

# Outside of these limits, float64 does not resolve differences of scores in units of the
# noise.
_SCORE, _NOISE = 1e6, 1e-3

BASE_SETTINGS = {
    "base": choice(BASES, "what is run", default="randomised_response"),
    "epsilon": number(
        "privacy of randomised_response and of the constructed pairs of finite",
        above=0.0,
        at_most=100.0,
        default=1,
    ),
    "bit": whole("the true bit of randomised_response", at_least=0, at_most=1, default=1),
    "probabilities": numbers(
        "law of finite, best outcome first", at_least=0.0, at_most=1.0, default="0.1,0.2,0.7"
    ),
    "scores": numbers(
        "of score_table, random_candidate; the first, of noised_score",
        at_least=-_SCORE,
        at_most=_SCORE,
        default="0.9,0.8,0.5",
    ),
    "noise_scale": number(
        "scale of the noise on the scores", at_least=_NOISE, at_most=_SCORE, default=1
    ),
    "edges": numbers("bins of the score that noised_score reports, increasing", default="0,1,2"),
}


def base_params(values: Values) -> Params:
    """The parameters of the chosen base."""
    return BASES[values["base"]].params(values)


def base_input(values: Values) -> BaseInput:
    """The chosen base, its data and its parameters."""
    base = BASES[values["base"]]
    return BaseInput(base.make(), base.data(values), base.params(values))


def base_pairs(values: Values, params: Params) -> tuple[Pair, ...]:
    """Neighbouring inputs of the chosen base, worst ones first.

    Args:
      values: typed settings.
      params: of the mechanism that runs the base; each pair carries them.

    Raises:
      InputError: if the base has no constructed pair.
    """
    return BASES[values["base"]].pairs(values, params)


def base_utility(values: Values, labels: tuple[str, ...]) -> Utility:
    """The utility of each run if released, "none" last."""
    return BASES[values["base"]].utility(values, labels)


# Guarantees of one run beyond pure DP: the text of a base, for the accountant.
_TEXTS: dict[str, Callable[[Values], str]] = {
    "randomised_response": lambda v: f"randomised_response:epsilon={v['epsilon']!r}",
    "finite": lambda v: f"pure:epsilon={v['epsilon']!r}",
} | {
    f"{kind}_{noise}": text
    for kind in ("random_candidate", "noised_score")
    for noise, text in {
        "laplace": lambda v: f"laplace:noise_scale={v['noise_scale']!r}",
        "gaussian": lambda v: f"gaussian:noise_multiplier={v['noise_scale']!r}",
    }.items()
}


def base_text(values: Values) -> str | None:
    """Text of one run of the chosen base, with scores of sensitivity 1, for the accountant.

    None if there is no base, or it has no known guarantee.
    """
    text = _TEXTS.get(values.get("base", ""))
    return None if text is None else text(values)


def base_epsilon(values: Values) -> float | None:
    """Pure DP of one run of the chosen base on its pairs; None if it has none.

    A claim about the whole mechanism has the base's epsilon as a parameter. It is computed
    here from the base's own claim, so that entries contain ids and parameters but no
    formulas.
    """
    found = BASES[values["base"]].guarantee(values)
    return None if found is None else one_run.evaluate(found)
