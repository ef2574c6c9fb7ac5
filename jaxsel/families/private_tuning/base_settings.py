"""The base algorithms of catalogue entries, by name: settings, neighbouring pairs, guarantees."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.base import Mechanism, Relation
from jaxsel.language.domains import choice, number, numbers, whole
from jaxsel.language.entry import guarantee
from jaxsel.language.trial import Guarantee, Neighbours, Trial, Values
from jaxsel.language.utility import Utility, of_candidates
from jaxsel.tuning.base_laws import finite_pairs, randomised_response_law

if TYPE_CHECKING:
    from jaxsel.families.private_tuning.bases import Base

_Input = tuple[Any, dict[str, Any]]


class BaseSetting:
    """A base that entries take by name, and what they ask of it, given the settings ``Runs``.

    The methods here are those of a base on scores without neighbouring pairs or a guarantee; each
    base overrides what it has.
    """

    def make(self) -> "Base":
        """The base itself. This imports JAX, all else here does not."""
        raise NotImplementedError

    def input(self, runs: "Runs") -> _Input:
        """The data and the parameters that the base takes at these settings."""
        return runs.scores, {}

    def neighbours(self, runs: "Runs") -> Neighbours:
        """Constructed neighbouring inputs, the worst ones first.

        Raises:
          InputError: if there are none.
        """
        raise InputError(f"{runs.base} has no constructed pair; choose another base")

    def guarantee(self, runs: "Runs") -> Guarantee | None:
        """The claim that gives one run's pure epsilon on these neighbours, or None if none does."""

    def text(self, runs: "Runs") -> str | None:
        """The guarantee of one run in words that the accountant reads, such as "gaussian:...".

        None if the base has no guarantee.
        """

    def utility(self, runs: "Runs", labels: tuple[str, ...]) -> Utility:
        """What each released label is worth, by the name of the measure.

        It is {} for a base whose labels are all worth the same.
        """
        return of_candidates(runs.scores, labels)


class _RandomisedResponse(BaseSetting):
    """Randomised response on one bit."""

    def make(self):
        from jaxsel.families.private_tuning.bases import randomised_response

        return randomised_response()

    def input(self, runs):
        return runs.bit, {"epsilon": runs.epsilon}

    def neighbours(self, runs):
        why = "complete for pure DP; the worst case of a fixed number of runs"
        yield "randomised-response", 1, 0, Relation.BASE, why

    def guarantee(self, runs):
        return guarantee("BASE-randomised-response", epsilon=runs.epsilon)

    def text(self, runs):
        return f"randomised_response:epsilon={runs.epsilon!r}"

    def utility(self, runs, labels):
        law = randomised_response_law(runs.bit, runs.epsilon)
        return of_candidates(np.array([0.0, 1.0]), labels, law)


class _Finite(BaseSetting):
    """A base with any law on finitely many outcomes; its pairs have the given epsilon."""

    def make(self):
        from jaxsel.families.private_tuning.bases import finite

        return finite()

    def input(self, runs):
        return runs.probabilities, {}

    def neighbours(self, runs):
        for pair in finite_pairs(runs.epsilon):
            yield pair.name, pair.laws.first, pair.laws.second, Relation.BASE, pair.why

    def guarantee(self, runs):
        return guarantee("BASE-finite", epsilon=runs.epsilon)

    def text(self, runs):
        return f"pure:epsilon={runs.epsilon!r}"

    def utility(self, runs, labels):
        law = runs.probabilities
        return of_candidates(-np.arange(law.size), labels, law)


class _ScoreTable(BaseSetting):
    """A uniformly random entry of a table of scores, without noise."""

    def make(self):
        from jaxsel.families.private_tuning.bases import score_table

        return score_table()


class _RandomCandidate(BaseSetting):
    """A uniformly random candidate and its noisy score."""

    def __init__(self, noise: str):
        self.noise = noise

    def make(self):
        from jaxsel.families.private_tuning.noised_bases import random_candidate

        return random_candidate(self.noise)

    def input(self, runs):
        return runs.scores, {"noise_scale": runs.noise_scale}

    def neighbours(self, runs):
        scores = runs.scores
        other = scores.copy()
        other[0] += 1.0
        yield "one-candidate", scores, other, Relation.BASE, "one candidate's score moved by 1"

    def guarantee(self, runs):
        if self.noise == "laplace":
            return guarantee("BASE-laplace", noise_scale=runs.noise_scale)

    def text(self, runs):
        parameter = "noise_scale" if self.noise == "laplace" else "noise_multiplier"
        return f"{self.noise}:{parameter}={runs.noise_scale!r}"


class _NoisedScore(_RandomCandidate):
    """The first of the scores with noise, and the bin in which it lies."""

    def make(self):
        from jaxsel.families.private_tuning.noised_bases import noised_score

        return noised_score(self.noise)

    def input(self, runs):
        params = {"noise_scale": runs.noise_scale, "edges": runs.edges}
        return float(runs.scores[0]), params

    def neighbours(self, runs):
        score = float(runs.scores[0])
        yield "shift", score, score + 1.0, Relation.BASE, "one score moved by 1"

    def utility(self, runs, labels):
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

# The largest score and the least noise. Beyond them float64 does not resolve differences of scores
# in units of the noise.
_SCORE, _NOISE = 1e6, 1e-3


@dataclasses.dataclass(frozen=True)
class Runs:
    """The base that is run, and its settings, which all entries that select among runs share.

    Each field is a setting of the entry; which of them matter depends on ``base``.
    """

    base: Annotated[str, choice(BASES, "what is run")] = "randomised_response"
    epsilon: Annotated[
        float,
        number(
            "privacy of randomised_response and of the constructed pairs of finite",
            above=0.0,
            at_most=100.0,
        ),
    ] = 1
    bit: Annotated[int, whole("the true bit of randomised_response", at_least=0, at_most=1)] = 1
    probabilities: Annotated[
        Any, numbers("law of finite, best outcome first", at_least=0.0, at_most=1.0)
    ] = "0.1,0.2,0.7"
    scores: Annotated[
        Any,
        numbers(
            "of score_table, random_candidate; the first, of noised_score",
            at_least=-_SCORE,
            at_most=_SCORE,
        ),
    ] = "0.9,0.8,0.5"
    noise_scale: Annotated[
        float, number("scale of the noise on the scores", at_least=_NOISE, at_most=_SCORE)
    ] = 1
    edges: Annotated[Any, numbers("bins of the score that noised_score reports, increasing")] = (
        "0,1,2"
    )

    @property
    def _kind(self) -> BaseSetting:
        return BASES[self.base]

    def make(self) -> "Base":
        """The chosen base. This imports JAX."""
        return self._kind.make()

    def input(self) -> _Input:
        """The data and the parameters of the chosen base."""
        return self._kind.input(self)

    def trial(
        self,
        mechanism: Callable[[], Mechanism],
        proven: Callable[[], Guarantee | None] = lambda: None,
        **params: Any,
    ) -> Trial:
        """The trial of a mechanism that selects among runs of the base, with the base's neighbours.

        Args:
          mechanism: makes the mechanism.
          proven: makes the guarantee of the mechanism on these neighbours, or None.
          **params: parameters of the mechanism, besides those of the base.
        """
        data, of_base = self.input()
        return Trial(
            mechanism,
            data,
            of_base | params,
            lambda: self._kind.neighbours(self),
            lambda pair: proven(),
            lambda labels: self._kind.utility(self, labels),
        )

    def one_epsilon(self) -> float | None:
        """The pure epsilon of one run on the neighbours of the base; None if it has none.

        A claim about the whole mechanism takes it as a parameter. It comes from the base's own
        claim, so that entries contain ids and parameters but no formulas.
        """
        found = self._kind.guarantee(self)
        return None if found is None else found.epsilon

    def guarantee(self, claim: str, **parameters: Any) -> Guarantee | None:
        """The guarantee of the whole mechanism by a claim that takes the epsilon of one run.

        Args:
          claim: id of the claim, whose parameter "epsilon" is ``one_epsilon``.
          **parameters: its other parameters.

        Returns:
          The guarantee; None if one run has no pure epsilon.
        """
        epsilon = self.one_epsilon()
        return None if epsilon is None else guarantee(claim, epsilon=epsilon, **parameters)


def base_text(values: Values) -> str | None:
    """The guarantee of one run of an entry's base, in words that the accountant reads.

    Scores have sensitivity 1.

    Args:
      values: the settings of an entry, by name.

    Returns:
      The text; None if the entry has no base, or the base no known guarantee.
    """
    base = BASES.get(values.get("base", ""))
    names = [field.name for field in dataclasses.fields(Runs)]
    return None if base is None else base.text(Runs(**{name: values[name] for name in names}))
