"""Privacy and exact accuracy of private multi-label PATE (Zhu & Wang 2022, EXP3).

A query releases a set of labels: those whose noisy votes exceed half of the teachers
(PATE, PATE-tau), or a top set of adaptive size (StableTopK), and nothing where its test
fails. All queries together are (epsilon, delta)-DP for one teacher more or less.
"""

import dataclasses
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.conversions import mironov_epsilon_at_order
from jaxsel.families.top_k.baselines import labels_renyi
from jaxsel.families.top_k.calibration import calibrate
from jaxsel.families.top_k.curves import (
    ApproximateRenyiCurve,
    approximate_renyi_to_epsilon,
    compose_curves,
    gap_test_curve,
    stable_top_k_variant_curve,
)
from jaxsel.families.top_k.gaps import pass_probability
from jaxsel.language.domains import probability
from sims.common.multi_label_votes import Scenario, Votes

SELECTION, TEST = 50.0, 60.0  # the paper's noise
_NEGLIGIBLE = 1e-9  # for queries released less often, the law of the size is not computed


@dataclasses.dataclass(frozen=True)
class Labelling(Votes):
    """The privacy budget for releasing labels."""

    delta: Annotated[float, probability("delta of all queries")] = 1e-6
    delta_t: Annotated[float, probability("delta of one test")] = 1e-9


class Method(NamedTuple):
    """One mechanism with one analysis.

    Attributes:
      name: for records and legends.
      mechanism: "pate", "pate-tau", "gumbel" or "gaussian" (StableTopK's selection).
      ratio: selection scale over test scale of StableTopK; 0 for PATE.
      curve: (noise scale of PATE or of StableTopK's test, number of labels, settings) ->
        Renyi curve of one query.
    """

    name: str
    mechanism: str
    ratio: float
    curve: Callable[[float, int, Labelling], ApproximateRenyiCurve]


def _pate(scale: float, labels: int, asked: Labelling) -> ApproximateRenyiCurve:
    del asked
    return ApproximateRenyiCurve(lambda order: labels_renyi(order, scale, labels))


def _pate_tau(scale: float, labels: int, asked: Labelling) -> ApproximateRenyiCurve:
    return _pate(scale, min(asked.tau, labels), asked)


def _stable(selection: str, ratio: float):
    def curve(scale: float, labels: int, asked: Labelling) -> ApproximateRenyiCurve:
        return stable_top_k_variant_curve(
            ratio * scale, scale, asked.delta_t, labels, selection=selection
        )

    return curve


def _jointly(scale: float, labels: int, asked: Labelling) -> ApproximateRenyiCurve:
    """Curve of the Gaussian variant that releases all gaps: l2 sensitivity sqrt(labels - 1)."""
    gaps = ApproximateRenyiCurve(
        lambda order: labels_renyi(order, SELECTION / TEST * scale, labels - 1)
    )
    return compose_curves(gaps, gap_test_curve(scale, asked.delta_t))


_HALF = SELECTION / 2.0  # Gumbel scale with the Renyi slope of the paper's Gaussian noise

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("PATE", "pate", 0.0, _pate),
        Method("PATE-tau", "pate-tau", 0.0, _pate_tau),
        # Theorem 11: both scales are 1/sqrt(rho).
        Method("StableTopK", "gumbel", 1.0, _stable("gumbel", 1.0)),
        Method(
            "Gaussian, corollaries",
            "gaussian",
            SELECTION / TEST,
            _stable("gaussian", SELECTION / TEST),
        ),
        Method("Gaussian, gaps released", "gaussian", SELECTION / TEST, _jointly),
    )
}
# The methods of the table, which compares two more.
TABLE: dict[str, Method] = {
    **METHODS,
    "Gumbel": Method("Gumbel", "gumbel", _HALF / TEST, _stable("gumbel", _HALF / TEST)),
    "test alone": Method(
        "test alone", "none", 0.0, lambda scale, labels, asked: gap_test_curve(scale, asked.delta_t)
    ),
}


def total_epsilon(
    method: Method,
    scale: float,
    queries: int,
    labels: int,
    asked: Labelling = Labelling(),
    *,
    tight: bool = True,
) -> float:
    """Epsilon at delta of all queries.

    Args:
      method: the mechanism and its analysis.
      scale: scale of its noise, in votes.
      queries: number of queries.
      labels: number m of labels.
      asked: the privacy budget; its delta is that of all queries together.
      tight: whether to use the best conversion from Renyi DP; False means that of Lemma 17.
    """
    total = compose_curves(method.curve(scale, labels, asked), times=queries)
    if tight:
        return approximate_renyi_to_epsilon(total, asked.delta).epsilon
    return approximate_renyi_to_epsilon(total, asked.delta, rule=mironov_epsilon_at_order).epsilon


def scale_at(
    method: Method, epsilon: float, queries: int, labels: int, asked: Labelling = Labelling()
) -> float:
    """The least noise scale with which all queries are (epsilon, delta)-DP."""
    return calibrate(
        lambda scale: method.curve(scale, labels, asked), epsilon, asked.delta, releases=queries
    )


# --- Accuracy -------------------------------------------------------------------------


class Quality(NamedTuple):
    """Exact expectations of what is released.

    Attributes:
      accuracy: fraction of labels that are correct, where labels of an unreleased set count
        as absent.
      precision: expected right labels released over expected labels released.
      recall: expected right labels released over all present ones.
      answered: fraction of queries for which a set was released.
      by_label: Float["labels"], accuracy of each label.
    """

    accuracy: float
    precision: float
    recall: float
    answered: float
    by_label: np.ndarray


def selection_law(gaps: np.ndarray, scale: float, noise: str) -> np.ndarray:
    """Law of the size with the largest noisy gap, for many queries at once.

    Args:
      gaps: Float["queries sizes"].
      scale: scale of the noise, in votes.
      noise: "gumbel", whose law is the softmax; or "gaussian", the integral of the density of
        each level times the distribution functions of all others, by a trapezoidal sum that
        is accurate to 1e-8.

    Returns:
      Float["queries sizes"].
    """
    levels = (gaps - gaps.max(axis=1, keepdims=True)) / scale
    if noise == "gumbel":
        return special.softmax(levels, axis=1)
    step = 0.25
    values = np.arange(-6.0, 9.0, step)
    law = np.zeros_like(levels)
    for value in values:
        z = value - levels
        below = special.log_ndtr(z)
        total = below.sum(axis=1, keepdims=True)
        law += np.exp(total - below - 0.5 * z * z)
    law *= step / np.sqrt(2.0 * np.pi)
    return law


def _released(scenario: Scenario, method: Method, scale: float, delta_t: float):
    """Probabilities that each label of each query is released, and that any set is."""
    if method.ratio == 0.0:
        votes = scenario.votes if method.mechanism == "pate" else scenario.scaled
        chance = special.ndtr((votes - scenario.teachers / 2.0) / scale)
        return chance, 1.0
    order = np.argsort(-scenario.votes, axis=1, kind="stable")
    ranked = np.take_along_axis(scenario.votes, order, axis=1)
    gaps = ranked[:, :-1] - ranked[:, 1:]
    passed = pass_probability(gaps, scale, delta_t)
    chance = np.zeros_like(ranked)
    answered = np.zeros(len(gaps))
    some = passed.max(axis=1) > _NEGLIGIBLE
    if np.any(some):
        law = selection_law(gaps[some], method.ratio * scale, method.mechanism)
        both = law * passed[some]
        answered[some] = both.sum(axis=1)
        # A label of rank r is in every top set of size r or more.
        chance[some, :-1] = np.cumsum(both[:, ::-1], axis=1)[:, ::-1]
    found = np.empty_like(chance)
    np.put_along_axis(found, order, chance, axis=1)
    return found, float(answered.mean())


def quality(scenario: Scenario, method: Method, scale: float, delta_t: float = 1e-9) -> Quality:
    """Exact expectations over the noise, for these votes.

    Args:
      scenario: the votes.
      method: the mechanism.
      scale: noise scale of PATE, or of StableTopK's test, in votes.
      delta_t: delta of one such test.
    """
    chance, answered = _released(scenario, method, scale, delta_t)
    truth = scenario.truth
    right = np.where(truth, chance, 1.0 - chance)
    hits, size = float(chance[truth].sum()), float(chance.sum())
    return Quality(
        float(right.mean()),
        hits / size if size > 0.0 else float("nan"),
        hits / float(truth.sum()),
        answered,
        right.mean(axis=0),
    )


def aligned_scale(scenario: Scenario, method: Method, accuracy: float) -> float:
    """The largest noise with which PATE has this accuracy; NaN if there is none."""
    scales = np.geomspace(1e5, 0.1, 121)
    high = None
    for scale in scales:
        if quality(scenario, method, scale).accuracy >= accuracy:
            break
        high = scale
    else:
        return float("nan")
    if high is None:
        return float(scale)
    low = float(scale)
    while high - low > 1e-6 * high:
        middle = (low + high) / 2.0
        if quality(scenario, method, middle).accuracy >= accuracy:
            low = middle
        else:
            high = middle
    return low
