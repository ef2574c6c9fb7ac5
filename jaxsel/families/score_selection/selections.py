"""Liu & Talwar 2019, Theorem 5.2 and Lemma 5.1, as mechanisms.

Each scores its candidates with noise of its own kind and runs Algorithm 2 on them; it
may release the chosen candidate and its noisy score. Methods are those of ``stopping``.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxsel.base import Mechanism
from jaxsel.errors import (
    InputError,
    check_finite,
    check_interval,
    check_positive,
)
from jaxsel.families.score_selection import (
    settings as score_selection,
)
from jaxsel.families.score_selection import (
    smooth_sensitivity,
)
from jaxsel.families.score_selection.settings import ScoreSelection
from jaxsel.families.score_selection.stopping import candidate_stopping


def _needed(params: Mapping[str, Any], *names: str) -> list[Any]:
    for name in names:
        if name not in params:
            raise InputError(f"{name} is missing; give it in params")
    return [params[name] for name in names]


def _indices(data, params) -> tuple[str, ...]:
    del params
    return tuple(str(i) for i in range(np.shape(data)[0]))


def _exponential(data, params) -> ScoreSelection:
    epsilon, beta = _needed(params, "epsilon", "beta")
    return score_selection.exponential_selection(
        data, params.get("sensitivity", 1.0), epsilon, beta
    )


@functools.cache
def selection_exponential(*, method: str = "jump") -> Mechanism:
    """The exponential mechanism by random stopping: noise Lap(3 s/epsilon).

    Args:
      method: "literal", "count", "rank" or "jump".

    Data: scores, Float["candidates"].
    Params: "epsilon", "beta", "sensitivity" (s, default 1).
    Outcome: Selection; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-exponential-privacy, -utility.
    """
    return candidate_stopping("selection_exponential", _exponential, _indices, method)


def _generalised(data, params) -> ScoreSelection:
    found = _needed(params, "sensitivities", "epsilon", "beta")
    return score_selection.generalised_selection(data, *found)


@functools.cache
def selection_generalised_exponential(*, method: str = "jump") -> Mechanism:
    """The generalised exponential mechanism by random stopping.

    Data: scores, Float["candidates"].
    Params: "sensitivities" (s_i, one a candidate or one for all), "epsilon", "beta".
    Outcome: Selection, whose score is the shifted one; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-generalised-privacy, -utility.
    """
    name = "selection_generalised_exponential"
    return candidate_stopping(name, _generalised, _indices, method)


def _margin(data, params) -> ScoreSelection:
    epsilon, delta, beta = _needed(params, "epsilon", "delta", "beta")
    return score_selection.margin_selection(
        data, params.get("sensitivity", 1.0), epsilon, delta, beta
    )


@functools.cache
def selection_margin(*, method: str = "jump") -> Mechanism:
    """Margin-based selection by random stopping over truncated Laplace scores.

    Data: scores, Float["candidates"].
    Params: "epsilon", "delta", "beta", "sensitivity" (s, default 1).
    Outcome: Selection; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-margin-privacy, LT-Thm5.2-margin-utility.
    """
    return candidate_stopping("selection_margin", _margin, _indices, method)


def median_selection_setting(data, params) -> ScoreSelection:
    """Candidates of ``selection_smooth_sensitivity``: medians, smooth sensitivities."""
    high, epsilon, delta, beta = _needed(params, "high", "epsilon", "delta", "beta")
    table = check_finite("lists", data)
    if table.ndim != 2:
        raise InputError("lists must be a table with one row a candidate")
    eta = score_selection.smooth_selection_smoothness(len(table), epsilon, delta, beta)
    bounds = [
        smooth_sensitivity.median_smooth_sensitivity(row, high, eta) for row in table
    ]
    medians = [smooth_sensitivity.median(row) for row in table]
    return score_selection.smooth_selection(medians, bounds, epsilon, beta)


@functools.cache
def selection_smooth_sensitivity(*, method: str = "jump") -> Mechanism:
    """Which list has the largest median: the smooth-sensitivity exponential mechanism.

    Neighbouring tables differ in one column: one value of each list.

    Data: Float["candidates values"], one list a candidate, values in [0, high].
    Params: "high", "epsilon", "delta", "beta".
    Outcome: Selection, whose score is the shifted noisy median; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-smooth-privacy, LT-Thm5.2-smooth-utility.
    """
    name = "selection_smooth_sensitivity"
    return candidate_stopping(name, median_selection_setting, _indices, method)


def _validation(data, params) -> ScoreSelection:
    epsilon, gamma = _needed(params, "epsilon", "gamma")
    if not isinstance(data, Mapping) or set(data) != {"model_laws", "scores"}:
        raise InputError("data must be a mapping with model_laws and scores")
    scale = params.get("sensitivity", 1.0) / check_positive("epsilon", epsilon)
    runs = score_selection.validation_runs(data["model_laws"], data["scores"], scale)
    return ScoreSelection(runs, check_interval("gamma", gamma, 0.0, 1.0))


def _learners_and_models(data, params) -> tuple[str, ...]:
    del params
    learners, models = np.shape(data["model_laws"])
    return tuple(
        f"learner {i} model {m}" for i in range(learners) for m in range(models)
    )


@functools.cache
def validation_selection(*, method: str = "jump") -> Mechanism:
    """Hyperparameters by random stopping: train a random learner, validate with noise.

    Data: {"model_laws": Float["learners models"], what each learner returns for the
      training data; "scores": Float["learners models"] or Float["models"], numbers of
      correct validation labels}.
    Params: "epsilon" (epsilon_2 of one noisy score), "gamma", "sensitivity" (of a
      score, default 1).
    Outcome: Selection; event: the pair of learner and model.

    Formal guarantees (claims): LT-Lem5.1(validation), LT-Lem5.1(training); the released
    pair costs three times those of one run (LT-Lem5.1-tuned).
    """
    return candidate_stopping(
        "validation_selection", _validation, _learners_and_models, method
    )
