"""Catalogue entries of Liu & Talwar 2019, Section 5, and the classical mechanisms."""

from typing import Annotated, Any

import numpy as np

from jaxsel.families.score_selection import parameters
from jaxsel.families.score_selection.classical_laws import check_each_positive
from jaxsel.host.errors import InputError
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import numbers, parsed, positive, whole
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial
from jaxsel.language.utility import by_scores

Scores = Annotated[Any, numbers("the candidates' scores")]
Sensitivities = Annotated[Any, numbers("how much each score may change, or one for all", above=0.0)]
Method = Annotated[str, methods(*parameters.METHODS)]
_ROW = numbers("one list")


def _rows(text: str) -> np.ndarray:
    """Reads a table from text, whose rows are separated by slashes."""
    rows = [_ROW.read("lists", row) for row in text.split("/")]
    if len({len(row) for row in rows}) > 1:
        raise InputError("the rows of lists must be equally long")
    return np.array(rows)


def _first_behind(scores, moves, epsilon):
    """Pairs of neighbouring scores on which random stopping loses much.

    Args:
      scores: Float["candidates"], of which only the number is used.
      moves: the sensitivity of each score, or of all.
      epsilon: of the mechanism, with which the first candidate is the less behind.
    """
    moves = np.broadcast_to(moves, max(2, scores.size))
    first = np.arange(moves.size) == 0
    behind = np.where(first, -2.0 * moves[0] / epsilon, 0.0)
    before, others = behind + np.where(first, moves, 0.0), behind + np.where(first, 0.0, moves)
    why = "one candidate, behind, falls while all others rise"
    yield "opposed", before, others, Relation.GENERAL, why
    yield "one-alone", before, behind, Relation.MONOTONE, "one candidate, behind, moves"


def _of_sensitivities(made, scores, sensitivities, epsilon, beta, claim) -> Trial:
    """The trial of a selection by scores of different sensitivities, one each or one for all."""
    if sensitivities.size == 1:
        sensitivities = float(sensitivities[0])
    check_each_positive("sensitivities", sensitivities, scores.size)
    return Trial(
        made,
        scores,
        {"epsilon": epsilon, "beta": beta, "sensitivities": sensitivities},
        lambda: _first_behind(scores, sensitivities, epsilon),
        lambda pair: guarantee(claim, epsilon=epsilon),
        by_scores(scores),
    )


# --- Random stopping over noisy scores ------------------------------------------------


@mechanism("LT-Thm5.2-EM", generic="scores=1,1,0.5 sensitivity=1.5 epsilon=0.7 beta=0.35")
def selection_exponential(
    *,
    scores: Scores = "2,1,0",
    sensitivity: parameters.Sensitivity = 1,
    epsilon: parameters.Epsilon = 1,
    beta: parameters.Beta = 0.2,
    method: Method = "jump",
):
    """The exponential mechanism by random stopping over noisy scores (Liu & Talwar 2019, Theorem
    5.2)."""

    def made():
        from jaxsel.families.score_selection.selections import selection_exponential

        return selection_exponential(method=method)

    return Trial(
        made,
        scores,
        {"sensitivity": sensitivity, "epsilon": epsilon, "beta": beta},
        lambda: _first_behind(scores, sensitivity, epsilon),
        lambda pair: guarantee("LT-Thm5.2-exponential-privacy", epsilon=epsilon),
        by_scores(scores),
    )


@mechanism("LT-Thm5.2-GEM", generic="scores=1,1,0.5 sensitivities=2,1,0.5 epsilon=0.7 beta=0.35")
def selection_generalised_exponential(
    *,
    scores: Scores = "2,1,0",
    sensitivities: Sensitivities = "1,1,4",
    epsilon: parameters.Epsilon = 1,
    beta: parameters.Beta = 0.2,
    method: Method = "jump",
):
    """The exponential mechanism for scores of different sensitivities, by random stopping (Liu &
    Talwar 2019, Theorem 5.2)."""

    def made():
        from jaxsel.families.score_selection.selections import selection_generalised_exponential

        return selection_generalised_exponential(method=method)

    return _of_sensitivities(
        made, scores, sensitivities, epsilon, beta, "LT-Thm5.2-generalised-privacy"
    )


@mechanism(
    "LT-Thm5.2-Margin", generic="scores=4,4,1 sensitivity=1.5 epsilon=0.7 delta=0.01 beta=0.35"
)
def selection_margin(
    *,
    scores: Scores = "2,1,0",
    sensitivity: parameters.Sensitivity = 1,
    epsilon: parameters.Epsilon = 1,
    delta: parameters.Delta = 1e-3,
    beta: parameters.Beta = 0.2,
    method: Method = "jump",
):
    """Find a best candidate that leads by a margin, by random stopping over scores with truncated
    Laplace noise (Liu & Talwar 2019, Theorem 5.2)."""

    def made():
        from jaxsel.families.score_selection.selections import selection_margin

        return selection_margin(method=method)

    def halves():
        yield next(_first_behind(scores, sensitivity, epsilon))
        count = max(2, scores.size)
        risen = np.where(np.arange(count) < count // 2, 0.0, sensitivity)
        why = "half of the candidates fall while half rise"
        yield "halves", sensitivity - risen, risen, Relation.GENERAL, why

    params = {"sensitivity": sensitivity, "epsilon": epsilon, "delta": delta, "beta": beta}
    return Trial(made, scores, params, halves, utility=by_scores(scores))


# --- Medians --------------------------------------------------------------------------


@mechanism(
    "LT-Thm5.2-SmoothSens",
    generic=(
        "lists=1,4,4,6,7,7,8/2,2,3,6,8,8,8/0,1,1,3,5,5,7 high=8 epsilon=0.7 delta=0.01 beta=0.35"
    ),
)
def selection_smooth_sensitivity(
    *,
    lists: Annotated[
        Any,
        parsed(
            _rows, "lists of equally many numbers, separated by slashes", "the candidates' lists"
        ),
    ] = "0,4,5,5,6,9,9/1,2,4,4,4,6,8/0,2,3,3,3,3,7",
    high: parameters.High = 10,
    epsilon: parameters.Epsilon = 1,
    delta: parameters.Delta = 1e-3,
    beta: parameters.Beta = 0.2,
    method: Method = "jump",
):
    """Find the list with the largest median, with noise scaled to smooth sensitivity (Liu & Talwar
    2019, Theorem 5.2)."""

    def made():
        from jaxsel.families.score_selection.selections import selection_smooth_sensitivity

        return selection_smooth_sensitivity(method=method)

    def medians_jump():
        """Lists half of low and half of high values, in each of which one value crosses over."""
        count, size = lists.shape
        count, middle = max(2, count), (size - 1) // 2
        split = np.where(np.arange(size) <= middle, 0.4, 0.6) * high
        table = np.tile(split, (count, 1))
        # The value at the median is replaced by a high one, so that the median jumps.
        up, down = table.copy(), table.copy()
        up[:, middle] = np.where(np.arange(count) == 0, split[middle], split[-1])
        down[0, middle] = split[-1]
        why = "one column: the first list's median jumps up, all others' jump down"
        yield "opposed", up, down, Relation.GENERAL, why
        why = "one column: all medians but the first list's jump up"
        yield "together", table, up, Relation.GENERAL, why

    params = {"high": high, "epsilon": epsilon, "delta": delta, "beta": beta}
    return Trial(made, lists, params, medians_jump)


# --- Learners -------------------------------------------------------------------------


@mechanism(
    "LT-Lem5.1", generic="learner_epsilon=0.7 scores=5,4 sensitivity=1.5 epsilon=0.4 gamma=0.3"
)
def validation_selection(
    *,
    learners: Annotated[
        int, whole("how many learners, each of two models", at_least=1, at_most=1000)
    ] = 3,
    learner_epsilon: Annotated[float, positive("of one learner, for the training set")] = 0.5,
    scores: Annotated[
        Any, numbers("validation scores of the good and of the bad model", size=2)
    ] = "8,2",
    sensitivity: parameters.Sensitivity = 1,
    epsilon: parameters.ScoreEpsilon = 0.5,
    gamma: parameters.Gamma = 0.1,
    method: Method = "jump",
):
    """Tune hyperparameters: train a random learner, validate with noise, and release the best of a
    random number of runs (Liu & Talwar 2019, Section 5.1)."""

    def made():
        from jaxsel.families.score_selection.selections import validation_selection

        return validation_selection(method=method)

    good = float(1.0 / (1.0 + np.exp(-learner_epsilon)))
    # Each learner returns the good model (0) with that probability, or the bad one.
    laws, other = (np.tile([p, 1.0 - p], (learners, 1)) for p in (good, 1.0 - good))
    data = {"model_laws": laws, "scores": scores}

    def either_set():
        why = "every learner's randomised response sees the other bit"
        yield "training", data, data | {"model_laws": other}, Relation.BASE, why
        moved = scores + sensitivity * np.where(np.arange(scores.size) == 0, 1.0, -1.0)
        why = "the first model gains one validation example, the other loses one"
        yield "validation", data, data | {"scores": moved}, Relation.BASE, why

    def tuned(pair):
        moved = learner_epsilon if pair.name == "training" else epsilon
        return guarantee("LT-Lem5.1-tuned", epsilon=moved)

    params = {"sensitivity": sensitivity, "epsilon": epsilon, "gamma": gamma}
    return Trial(made, data, params, either_set, tuned)


# --- Classical mechanisms -------------------------------------------------------------


@mechanism("RS-GEM", generic="scores=1,1,0.5 sensitivities=2,1,0.5 epsilon=0.7 beta=0.35")
def generalised_exponential_mechanism(
    *,
    scores: Scores = "2,1,0",
    sensitivities: Sensitivities = "1,1,4",
    epsilon: parameters.Epsilon = 1,
    beta: parameters.Beta = 0.2,
    method: Annotated[str, methods("race", "literal", help="how trials are drawn")] = "race",
):
    """The exponential mechanism for scores of different sensitivities (Raskhodnikova & Smith
    2016)."""

    def made():
        from jaxsel.families.score_selection.classical import generalised_exponential_mechanism

        return generalised_exponential_mechanism(method=method)

    return _of_sensitivities(made, scores, sensitivities, epsilon, beta, "RS-GEM-privacy")


@mechanism("BNS-Adist", generic="scores=9,9,4 sensitivity=1.5 epsilon=0.7 delta=0.01")
def margin_mechanism(
    *,
    scores: Annotated[Any, numbers("the candidates' scores", size=2)] = "20,1,0",
    sensitivity: parameters.Sensitivity = 1,
    epsilon: parameters.Epsilon = 1,
    delta: parameters.SmallDelta = 1e-3,
    method: Annotated[str, methods("literal", help="how trials are drawn")] = "literal",
):
    """A_dist: release the best candidate if its noisy lead is large, else nothing (Smith &
    Thakurta 2013; Beimel, Nissim & Stemmer 2013)."""

    def made():
        from jaxsel.families.score_selection.classical import margin_mechanism

        return margin_mechanism()

    def lead_shrinks():
        first, second = (np.arange(scores.size) == i for i in (0, 1))
        ahead = sensitivity * (2.0 - 2.0 * np.log(2.0 * delta) / epsilon) * first
        less = ahead - sensitivity * first + sensitivity * second
        yield "lead", ahead, less, Relation.GENERAL, "a lead that matters shrinks by twice s"
        best, other = sensitivity * first, sensitivity * second
        yield "best", best, other, Relation.GENERAL, "another candidate becomes the best"

    params = {"sensitivity": sensitivity, "epsilon": epsilon, "delta": delta}
    return Trial(made, scores, params, lead_shrinks, utility=by_scores(scores))
