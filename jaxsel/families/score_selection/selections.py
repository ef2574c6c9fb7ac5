"""Liu & Talwar 2019, Theorem 5.2 and Lemma 5.1, as mechanisms.

Each adds its own kind of noise to the scores of its candidates and runs Algorithm 2 on them, random
stopping; it releases the chosen candidate and its noisy score. The methods of drawing are those of
``stopping``.
"""

from collections.abc import Mapping

import numpy as np

from jaxsel.families.score_selection import smooth_sensitivity
from jaxsel.families.score_selection.parameters import (
    Beta,
    Delta,
    Epsilon,
    Gamma,
    High,
    Method,
    ScoreEpsilon,
    Sensitivity,
)
from jaxsel.families.score_selection.settings import (
    ScoreSelection,
    exponential_selection,
    generalised_selection,
    margin_selection,
    smooth_selection,
    smooth_selection_smoothness,
    validation_runs,
)
from jaxsel.families.score_selection.stopping import candidate_stopping
from jaxsel.host.errors import InputError, check_finite, check_params
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.signature import read_params


def _indices(data, params) -> tuple[str, ...]:
    del params
    return tuple(str(i) for i in range(np.shape(data)[0]))


def _exponential(data, params) -> ScoreSelection:
    check_params(params, ("epsilon", "beta"), ("sensitivity",))
    return exponential_selection(data, **{"sensitivity": 1.0, **params})


@factory
def selection_exponential(*, method: Method = "jump") -> Mechanism:
    """The exponential mechanism by random stopping over scores with noise Lap(3 s/epsilon).

    Args:
      method: how trials are drawn, see ``stopping``.

    Data: scores, Float["candidates"].
    Params: "epsilon", "beta", "sensitivity" (s, default 1).
    Outcome: Selection; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-exponential-privacy, -utility.
    """
    return candidate_stopping(_exponential, _indices, method)


def _generalised(data, params) -> ScoreSelection:
    check_params(params, ("sensitivities", "epsilon", "beta"))
    return generalised_selection(data, **params)


@factory
def selection_generalised_exponential(*, method: Method = "jump") -> Mechanism:
    """The generalised exponential mechanism, by random stopping over shifted scores with noise.

    See ``settings.generalised_selection``.

    Data: scores, Float["candidates"].
    Params: "sensitivities" (s_i, one a candidate or one for all), "epsilon", "beta".
    Outcome: Selection, whose score is the shifted one; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-generalised-privacy, -utility.
    """
    return candidate_stopping(_generalised, _indices, method)


def _margin(data, params) -> ScoreSelection:
    check_params(params, ("epsilon", "delta", "beta"), ("sensitivity",))
    return margin_selection(data, **{"sensitivity": 1.0, **params})


@factory
def selection_margin(*, method: Method = "jump") -> Mechanism:
    """Margin-based selection, by random stopping over scores with truncated Laplace noise.

    See ``settings.margin_selection``.

    Data: scores, Float["candidates"].
    Params: "epsilon", "delta", "beta", "sensitivity" (s, default 1).
    Outcome: Selection; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-margin-privacy, LT-Thm5.2-margin-utility.
    """
    return candidate_stopping(_margin, _indices, method)


def _smooth(data, params) -> ScoreSelection:
    """The selection of ``selection_smooth_sensitivity``, from medians and smooth sensitivities."""
    domains = {"high": High, "epsilon": Epsilon, "delta": Delta, "beta": Beta}
    read = read_params(params, domains)
    high, epsilon, delta, beta = (read[name] for name in domains)
    table = check_finite("lists", data)
    if table.ndim != 2:
        raise InputError("lists must be a table with one row a candidate")
    eta = smooth_selection_smoothness(len(table), epsilon, delta, beta)
    bounds = [smooth_sensitivity.median_smooth_sensitivity(row, high, eta) for row in table]
    medians = [smooth_sensitivity.median(row) for row in table]
    return smooth_selection(medians, bounds, epsilon, beta)


@factory
def selection_smooth_sensitivity(*, method: Method = "jump") -> Mechanism:
    """The smooth-sensitivity exponential mechanism: selects the list with the largest median.

    Neighbouring tables differ in one column: one value of each list.

    Data: Float["candidates values"], one list a candidate, values in [0, high].
    Params: "high", "epsilon", "delta", "beta".
    Outcome: Selection, whose score is the shifted noisy median; event: the candidate.

    Formal guarantees (claims): LT-Thm5.2-smooth-privacy, LT-Thm5.2-smooth-utility.
    """
    return candidate_stopping(_smooth, _indices, method)


def _validation(data, params) -> ScoreSelection:
    domains = {"epsilon": ScoreEpsilon, "gamma": Gamma}
    read = {"sensitivity": 1.0, **read_params(params, domains, {"sensitivity": Sensitivity})}
    if not isinstance(data, Mapping) or set(data) != {"model_laws", "scores"}:
        raise InputError("data must be a mapping with model_laws and scores")
    scale = read["sensitivity"] / read["epsilon"]
    return ScoreSelection(validation_runs(data["model_laws"], data["scores"], scale), read["gamma"])


def _learners_and_models(data, params) -> tuple[str, ...]:
    del params
    learners, models = np.shape(data["model_laws"])
    return tuple(f"learner {i} model {m}" for i in range(learners) for m in range(models))


@factory
def validation_selection(*, method: Method = "jump") -> Mechanism:
    """Hyperparameter tuning by random stopping: trains random learners, validates with noise.

    Data: {"model_laws": Float["learners models"], what each learner returns for the
      training data; "scores": Float["learners models"] or Float["models"], numbers of
      correct validation labels}.
    Params: "epsilon" (epsilon_2 of one noisy score), "gamma", "sensitivity" (of a
      score, default 1).
    Outcome: Selection; event: the pair of learner and model.

    Formal guarantees (claims): LT-Lem5.1(validation) and LT-Lem5.1(training) for one run; the
    release costs three times as much (LT-Lem5.1-tuned).
    """
    return candidate_stopping(_validation, _learners_and_models, method)
