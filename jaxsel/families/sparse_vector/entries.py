"""The catalogue entries of the sparse vectors, with the pairs on which they lose most."""

import dataclasses
from typing import Annotated, Any

import numpy as np

from jaxsel.families.sparse_vector import parameters
from jaxsel.families.sparse_vector.bounds import good_share
from jaxsel.families.sparse_vector.parameters import Changes, Cutoff, Epsilon, Threshold
from jaxsel.families.sparse_vector.profiles import worst_pair
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import Number, numbers
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial

_SCALES = {"general": 4.0, "monotone": 2.0}  # the claims' parameter scale, by relation


@dataclasses.dataclass(frozen=True)
class _Share(Number):
    """Numbers in (0, 1), or the word good."""

    def describe(self) -> str:
        """The allowed values in words: "a number in (0, 1), or good"."""
        return f"{super().describe()}, or good"

    def read(self, name: str, value: Any) -> Any:
        """Converts a number, or a text of one, to a float; the word good is returned as it is.

        Arguments and errors as of ``Domain.read``.
        """
        if isinstance(value, str) and value == "good":
            return value
        return super().read(name, value)


_ANSWERS = numbers("answers of the queries, in units of the sensitivity")
Answers = Annotated[Any, _ANSWERS]
Several = Annotated[Any, dataclasses.replace(_ANSWERS, size=2)]  # a pair needs two answers
Method = Annotated[str, methods(*parameters.METHODS, help="see the guide")]

_GENERIC = "epsilon=0.7 answers=1,1,-1,2,0.3 threshold=0.5"


# --- Pairs ----------------------------------------------------------------------------


def _pair(name: str, levels, relation: Relation, threshold: float, why: str):
    """A pair of the catalogue made of two lists of levels: answers are levels plus threshold."""
    first, second = (row + threshold for row in levels)
    return f"{name}-{relation.value}", first, second, relation, why


def _rises(answers, threshold, cutoff=1, relation="general", *, redrawn=False):
    """The worst pairs of a sparse vector (``worst_pair``), with as many queries as ``answers`` has.

    Args:
      answers: Float["queries"], of which only the number is used.
      threshold: of the answers.
      cutoff: largest number of "above".
      relation: of the neighbours that the noise is meant for; "monotone" leaves out general pairs.
      redrawn: whether the threshold's noise is drawn anew after each "above".
    """
    count = answers.size
    limit = 1 if redrawn else min(cutoff, count)
    for kind in (Relation.GENERAL, Relation.MONOTONE):
        if relation == "monotone" and kind is Relation.GENERAL:
            continue
        levels = worst_pair(count - limit, limit, kind)
        if redrawn and cutoff > 1 and count > 3:
            # Two blocks, each ending in a query to be answered "above".
            blocks = [worst_pair(half - 1, 1, kind) for half in (count // 2, count - count // 2)]
            levels = tuple(np.concatenate(side) for side in zip(*blocks, strict=True))
        moves = "the last ones fall" if kind is Relation.GENERAL else "none falls"
        yield _pair("rise", levels, kind, threshold, f"most queries rise by 1, {moves}")


def _turned(answers, threshold):
    """Pairs for mechanisms that never stop: half of the queries rise, the others fall or stay."""
    half = (answers.size + 1) // 2
    for kind in (Relation.GENERAL, Relation.MONOTONE):
        moves = "falls" if kind is Relation.GENERAL else "stays"
        why = f"one half of the queries rises by 1, the other {moves}"
        yield _pair("half", worst_pair(half, answers.size - half, kind), kind, threshold, why)


# --- Guarantees -----------------------------------------------------------------------


def _proven(claim: str, relation: str, monotone: dict[str, float], **parameters):
    """The guarantee of a pair: of the claim, or of its companion for monotone neighbours.

    Args:
      claim: id of the claim for general neighbours; the companion's ends in "-monotone".
      relation: of the neighbours that the noise is meant for.
      monotone: further parameters of the companion.
      **parameters: of both claims.
    """

    def of_pair(pair):
        if pair.relation is Relation.MONOTONE:
            return guarantee(f"{claim}-monotone", **parameters, **monotone)
        # Noise that is calibrated to monotone neighbours is too small for general ones.
        return guarantee(claim, **parameters) if relation == "general" else None

    return of_pair


def _hoped(claim: str, epsilon: float):
    """The guarantee that a broken mechanism was published with: pure epsilon."""
    return lambda pair: guarantee(claim, epsilon=epsilon)


# --- The mechanisms -------------------------------------------------------------------


@mechanism("SVT-AboveThreshold", "DR-Alg1", generic=f"{_GENERIC} relation=monotone")
def above_threshold(
    *,
    epsilon: Epsilon = 1,
    answers: Several = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "jump",
    relation: Changes = "general",
):
    """Answer queries until one noisy answer reaches a noisy threshold (Dwork & Roth 2014,
    Algorithm 1)."""

    def made():
        from jaxsel.families.sparse_vector.above_threshold import above_threshold

        return above_threshold(method=method, relation=relation)

    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold},
        lambda: _rises(answers, threshold, 1, relation),
        _proven("SVT-AboveThreshold", relation, {"scale": _SCALES[relation]}, epsilon=epsilon),
    )


@mechanism("SVT-Sparse", "DR-Alg2", generic=f"{_GENERIC} cutoff=3 relation=monotone delta=0.001")
def sparse(
    *,
    epsilon: Epsilon = 1,
    answers: Answers = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "literal",
    cutoff: Cutoff = 2,
    relation: Changes = "general",
    delta: parameters.Delta = 0,
):
    """Restart AboveThreshold after each "above" (Dwork & Roth 2014, Algorithm 2)."""

    def made():
        from jaxsel.families.sparse_vector.sparse import sparse

        return sparse(method=method, relation=relation)

    claim, scale, stated = "SVT-Sparse", {"scale": _SCALES[relation]}, {"epsilon": epsilon}
    if delta != 0.0:
        claim, stated = f"{claim}-advanced-pure", stated | {"cutoff": cutoff, "delta": delta}
    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold, "cutoff": cutoff, "delta": delta},
        lambda: _rises(answers, threshold, cutoff, relation, redrawn=True),
        _proven(claim, relation, scale, **stated),
    )


@mechanism(
    "SVT-LSL-Alg1", "SVT-LSL-Alg7", generic=f"{_GENERIC} cutoff=3 relation=monotone share=good"
)
def sparse_vector(
    *,
    epsilon: Epsilon = 1,
    answers: Answers = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "literal",
    cutoff: Cutoff = 2,
    relation: Changes = "general",
    share: Annotated[
        Any, _Share("of epsilon for the threshold; good: the best one", low=0.0, high=1.0)
    ] = 0.5,
):
    """Compare noisy answers with a threshold that gets noise only once (Lyu, Su & Li 2017,
    Algorithm 1)."""

    def made():
        from jaxsel.families.sparse_vector.variants import lyu_su_li

        return lyu_su_li(method=method, relation=relation)

    part = good_share(cutoff, Relation(relation)) if share == "good" else share
    monotone = {"scale": _SCALES[relation], "share": part}
    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold, "cutoff": cutoff, "share": part},
        lambda: _rises(answers, threshold, cutoff, relation),
        _proven("SVT-LSL-Alg1", relation, monotone, epsilon=epsilon),
    )


@mechanism("SVT-LSL-Alg2", generic=f"{_GENERIC} cutoff=3")
def sparse_vector_dwork_roth(
    *,
    epsilon: Epsilon = 1,
    answers: Answers = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "literal",
    cutoff: Cutoff = 2,
):
    """Draw the threshold's noise anew after each answer above (Dwork & Roth 2014; Lyu, Su &
    Li 2017, Algorithm 2)."""

    def made():
        from jaxsel.families.sparse_vector.variants import dwork_roth

        return dwork_roth(method=method)

    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold, "cutoff": cutoff},
        lambda: _rises(answers, threshold, cutoff, redrawn=True),
        _proven("SVT-LSL-Alg2", "general", {}, epsilon=epsilon),
    )


@mechanism("SVT-LSL-Alg3", broken=True, generic=f"{_GENERIC} cutoff=2 edges=-0.5,1.5")
def sparse_vector_roth(
    *,
    epsilon: Epsilon = 1,
    answers: Answers = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "literal",
    cutoff: Cutoff = 1,
    edges: Annotated[Any, numbers("between which released values are told apart")] = 0,
):
    """BROKEN: release the noisy answers themselves where they are above (Roth 2011; Lyu, Su & Li
    2017, Algorithm 3); the loss grows with the number of queries."""

    def made():
        from jaxsel.families.sparse_vector.variants import roth

        return roth(method=method)

    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold, "cutoff": cutoff, "edges": edges},
        lambda: _rises(answers, threshold, cutoff),
        _hoped("SVT-LSL-Alg3-printed", epsilon),
    )


@mechanism("SVT-LSL-Alg4", broken=True, generic=f"{_GENERIC} cutoff=3")
def sparse_vector_lee_clifton(
    *,
    epsilon: Epsilon = 1,
    answers: Answers = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "literal",
    cutoff: Cutoff = 2,
):
    """BROKEN: use query noise that does not grow with c, the number of answers above (Lee & Clifton
    2014; Lyu, Su & Li 2017, Algorithm 4); it is (1 + 6c)/4 epsilon-DP."""

    def made():
        from jaxsel.families.sparse_vector.variants import lee_clifton

        return lee_clifton(method=method)

    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold, "cutoff": cutoff},
        lambda: _rises(answers, threshold, cutoff),
        _hoped("SVT-LSL-Alg4-printed", epsilon),
    )


@mechanism("SVT-LSL-Alg5", broken=True, generic=_GENERIC)
def sparse_vector_stoddard(
    *,
    epsilon: Epsilon = 1,
    answers: Several = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "literal",
):
    """BROKEN: add noise to the threshold, and none to queries (Stoddard et al. 2014; Lyu, Su & Li
    2017, Algorithm 5); some answers are possible on one of two neighbours only."""

    def made():
        from jaxsel.families.sparse_vector.variants import stoddard

        return stoddard(method=method)

    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold},
        lambda: _turned(answers, threshold),
        _hoped("SVT-LSL-Alg5-printed", epsilon),
    )


@mechanism("SVT-LSL-Alg6", broken=True, generic=_GENERIC)
def sparse_vector_chen(
    *,
    epsilon: Epsilon = 1,
    answers: Several = "0,0,0,0,1",
    threshold: Threshold = 0,
    method: Method = "literal",
):
    """BROKEN: never stop, however many answers are above (Chen et al. 2015; Lyu, Su & Li 2017,
    Algorithm 6); the loss grows with the number of queries."""

    def made():
        from jaxsel.families.sparse_vector.variants import chen

        return chen(method=method)

    return Trial(
        made,
        answers,
        {"epsilon": epsilon, "threshold": threshold},
        lambda: _turned(answers, threshold),
        _hoped("SVT-LSL-Alg6-printed", epsilon),
    )
