"""The bases by name: how each is built from settings, its pairs, one run's guarantee."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.domains import choice, number, numbers, whole
from jaxsel.language.entry import Guarantee, Neighbours, Values, guarantee
from jaxsel.language.utility import Utility, by_scores, of_candidates
from jaxsel.tuning.base_laws import finite_pairs, randomised_response_law

if TYPE_CHECKING:
    from jaxsel.families.private_tuning.bases import Base

Input = tuple[Any, dict[str, Any]]


class BaseSetting:
    """A base of the command line; by default a table of scores without a guarantee."""

    def make(self) -> "Base":
        """The base; imports JAX."""
        raise NotImplementedError

    def input(self, values: Values) -> Input:
        """Its data and its parameters."""
        return values["scores"], {}

    def neighbours(self, values: Values) -> Neighbours:
        """Constructed neighbouring inputs, worst first.

        Raises:
          InputError: if there are none.
        """
        raise InputError(f"{values['base']} has no constructed pair; choose another base")

    def guarantee(self, values: Values) -> Guarantee | None:
        """The claim that gives one run's pure epsilon on such pairs, or None."""

    def text(self, values: Values) -> str | None:
        """Text of the guarantee of one run beyond pure DP, for the accountant, or None."""

    def utility(self, values: Values, labels: tuple[str, ...]) -> Utility:
        """The utility of each run if released; {} if all are equal."""
        return by_scores(values, labels)


class _RandomisedResponse(BaseSetting):
    def make(self):
        from jaxsel.families.private_tuning.bases import randomised_response

        return randomised_response()

    def input(self, values):
        return values["bit"], {"epsilon": values["epsilon"]}

    def neighbours(self, values):
        why = "complete for pure DP; the worst case of a fixed number of runs"
        yield "randomised-response", 1, 0, Relation.BASE, why

    def guarantee(self, values):
        return guarantee("BASE-randomised-response", epsilon=values["epsilon"])

    def text(self, values):
        return f"randomised_response:epsilon={values['epsilon']!r}"

    def utility(self, values, labels):
        law = randomised_response_law(values["bit"], values["epsilon"])
        return of_candidates(np.array([0.0, 1.0]), labels, law)


class _Finite(BaseSetting):
    def make(self):
        from jaxsel.families.private_tuning.bases import finite

        return finite()

    def input(self, values):
        return values["probabilities"], {}

    def neighbours(self, values):
        for pair in finite_pairs(values["epsilon"]):
            yield pair.name, pair.laws.first, pair.laws.second, Relation.BASE, pair.why

    def guarantee(self, values):
        return guarantee("BASE-finite", epsilon=values["epsilon"])

    def text(self, values):
        return f"pure:epsilon={values['epsilon']!r}"

    def utility(self, values, labels):
        law = values["probabilities"]
        return of_candidates(-np.arange(law.size), labels, law)


class _ScoreTable(BaseSetting):
    def make(self):
        from jaxsel.families.private_tuning.bases import score_table

        return score_table()


class _RandomCandidate(BaseSetting):
    def __init__(self, noise: str):
        self.noise = noise

    def make(self):
        from jaxsel.families.private_tuning.noised_bases import random_candidate

        return random_candidate(self.noise)

    def input(self, values):
        return values["scores"], {"noise_scale": values["noise_scale"]}

    def neighbours(self, values):
        scores = values["scores"]
        other = scores.copy()
        other[0] += 1.0
        yield "one-candidate", scores, other, Relation.BASE, "one candidate's score moved by 1"

    def guarantee(self, values):
        if self.noise == "laplace":
            return guarantee("BASE-laplace", noise_scale=values["noise_scale"])

    def text(self, values):
        parameter = "noise_scale" if self.noise == "laplace" else "noise_multiplier"
        return f"{self.noise}:{parameter}={values['noise_scale']!r}"


class _NoisedScore(_RandomCandidate):
    def make(self):
        from jaxsel.families.private_tuning.noised_bases import noised_score

        return noised_score(self.noise)

    def input(self, values):
        params = {"noise_scale": values["noise_scale"], "edges": values["edges"]}
        return float(values["scores"][0]), params

    def neighbours(self, values):
        score = float(values["scores"][0])
        yield "shift", score, score + 1.0, Relation.BASE, "one score moved by 1"

    def utility(self, values, labels):
        return {}


BASES: dict[str, BaseSetting] = {
    "randomised_response": _RandomisedResponse(),
    "finite": _Finite(),
    "score_table": _ScoreTable(),
    "random_candidate_laplace": _RandomCandidate("laplace"),
    "random_candidate_gaussian": _RandomCandidate("gaussian"),
    "noised_score_laplace": _NoisedScore("laplace"),
    "noised_score_gaussian": _NoisedScore("gaussian"),
}

# Outside of these limits float64 does not resolve differences of scores in units of noise.
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


def base_input(values: Values) -> tuple["Base", Any, dict[str, Any]]:
    """The chosen base, its data and its parameters."""
    base = BASES[values["base"]]
    return base.make(), *base.input(values)


def input_of_runs(values: Values, **params: Any) -> Input:
    """The data of the chosen base, and its parameters together with those of the mechanism."""
    data, of_base = BASES[values["base"]].input(values)
    return data, of_base | params


def base_utility(values: Values, labels: tuple[str, ...]) -> Utility:
    """The utility of each run if released, "none" last."""
    return BASES[values["base"]].utility(values, labels)


def base_text(values: Values) -> str | None:
    """Text of one run of the chosen base, with scores of sensitivity 1, for the accountant.

    None if there is no base, or it has no known guarantee.
    """
    base = BASES.get(values.get("base", ""))
    return None if base is None else base.text(values)


def base_epsilon(values: Values) -> float | None:
    """Pure DP of one run of the chosen base on its pairs; None if it has none.

    A claim about the whole mechanism has the base's epsilon as a parameter. It is computed
    here from the base's own claim, so that entries contain ids and parameters but no
    formulas.
    """
    found = BASES[values["base"]].guarantee(values)
    return None if found is None else found.epsilon


def guarantee_of_runs(claim: str, values: Values, **parameters: Any) -> Guarantee | None:
    """The claim about all runs, at the pure epsilon of one; None if one has none."""
    epsilon = base_epsilon(values)
    return None if epsilon is None else guarantee(claim, epsilon=epsilon, **parameters)
