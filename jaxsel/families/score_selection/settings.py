"""Selection by random stopping over noisy scores.

Liu & Talwar 2019, Section 5: Theorem 5.2 recovers the exponential mechanism and three of its
generalisations from Algorithm 2, by a choice of noise, shift and stopping probability for the
candidates that it draws; Lemma 5.1 applies it to learners. The constants are corrected by LT-E17
and LT-E18: one run is epsilon/3-DP, and gamma is beta/(2 K). The classical mechanisms are in
``classical_laws``.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.families.score_selection.candidate_laws import NoisyCandidates, noisy_candidates
from jaxsel.families.score_selection.classical_laws import check_each_positive, check_scores
from jaxsel.families.score_selection.parameters import Beta, Candidates, Delta, Epsilon, Sensitivity
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.signature import validated

_PER_RUN = 3.0  # random stopping multiplies epsilon by three


class ScoreSelection(NamedTuple):
    """Random stopping over noisy candidates.

    Attributes:
      candidates: the candidates of one run.
      gamma: stopping probability after each run.
    """

    candidates: NoisyCandidates
    gamma: float


@validated
def stopping_for(candidates: Candidates, beta: Beta) -> float:
    """The stopping probability gamma = beta/(2 K), as corrected by LT-E18.

    With it some run draws the best of K candidates with noise >= 0, except with probability beta.
    """
    return beta / (2.0 * candidates)


# --- Random stopping over noisy scores: Theorem 5.2 -----------------------------------


@validated
def exponential_selection(
    scores: npt.ArrayLike, sensitivity: Sensitivity, epsilon: Epsilon, beta: Beta
) -> ScoreSelection:
    """Random stopping that recovers the exponential mechanism, which is epsilon-DP.

    Theorem 5.2, first part. Every score, of sensitivity s, gets noise Lap(3 s/epsilon).

    Args:
      scores: Float["candidates"].
      sensitivity: s, how much a score may change.
      epsilon: of the whole.
      beta: allowed failure probability.
    """
    scores = check_scores(scores)
    scale = _PER_RUN * sensitivity / epsilon
    return ScoreSelection(noisy_candidates(scores, scale), stopping_for(scores.size, beta))


def _shift(candidates: int, beta: float, sharp: bool) -> float:
    """The shift of every score, in units of its noise: 2 log(K/beta), or log(4 K/beta^2)."""
    share = candidates / beta
    return math.log(4.0 * share / beta) if sharp else 2.0 * math.log(share)


def _shifted(
    scores: np.ndarray, scales: np.ndarray, beta: float, sharp: bool = False
) -> ScoreSelection:
    """Random stopping over noisy scores, each lowered by a bound that its noise rarely exceeds."""
    gamma = stopping_for(scores.size, beta / 2.0 if sharp else beta)
    shifts = _shift(scores.size, beta, sharp) * scales
    return ScoreSelection(noisy_candidates(scores - shifts, scales), gamma)


@validated
def generalised_selection(
    scores: npt.ArrayLike,
    sensitivities: npt.ArrayLike,
    epsilon: Epsilon,
    beta: Beta,
    *,
    sharp: bool = False,
) -> ScoreSelection:
    """Random stopping over scores of different sensitivities, which is epsilon-DP.

    Theorem 5.2, second part. Candidate i is scored q_i - 2 b_i log(K/beta) + Lap(b_i), where b_i is
    3 s_i/epsilon.

    Args:
      scores: q_i, Float["candidates"].
      sensitivities: s_i, one each or one for all.
      epsilon: of the whole.
      beta: allowed failure probability.
      sharp: whether to shift by b_i log(4 K/beta^2) instead, and to stop with probability
        beta/(4 K). Half of beta is then for the case that no run of the best candidate reaches its
        score, and half for noise beyond a shift.
    """
    scores = check_scores(scores)
    s = check_each_positive("sensitivities", sensitivities, scores.size)
    with np.errstate(over="ignore"):
        scales = _PER_RUN * s / epsilon
    return _shifted(scores, scales, beta, sharp)


@validated
def generalised_selection_loss(
    scores: npt.ArrayLike,
    sensitivities: npt.ArrayLike,
    epsilon: Epsilon,
    beta: Beta,
    *,
    sharp: bool = False,
) -> float:
    """A bound on how far the candidate of ``generalised_selection`` is below the best score.

    It is the least q* - q_j + (6 s_j/epsilon) log(K/beta) over j, where q* is the best score, and
    is exceeded with probability at most beta (1 + 1/K). If ``sharp``, (3 s_j/epsilon)
    log(4 K/beta^2) takes the place of the last term, and the probability is at most beta.

    Args:
      scores, sensitivities, epsilon, beta, sharp: as of ``generalised_selection``.
    """
    scores = check_scores(scores)
    s = check_each_positive("sensitivities", sensitivities, scores.size)
    per = _PER_RUN * _shift(scores.size, beta, sharp) / epsilon
    return float(np.min(scores.max() - scores + per * s))


def _support(gamma: float, delta: float) -> float:
    """Where the truncated noise ends, in units of its scale: log(1/(gamma delta))."""
    return -math.log(gamma) - math.log(delta)


@validated
def margin_selection(
    scores: npt.ArrayLike, sensitivity: Sensitivity, epsilon: Epsilon, delta: Delta, beta: Beta
) -> ScoreSelection:
    """Random stopping that finds a leading candidate, which is (epsilon, delta)-DP.

    Theorem 5.2, third part, corrected by LT-E17. Every score gets Laplace noise of scale b = 3
    s/epsilon, truncated to +- b log(1/(gamma delta)).

    Args:
      scores: Float["candidates"].
      sensitivity: s, how much a score may change.
      epsilon, delta: of the whole.
      beta: allowed failure probability.

    Raises:
      InputError: if epsilon is too large: e^(epsilon/3) - 1 <= 2 (1 - gamma delta) must
        hold.
    """
    scores = check_scores(scores)
    gamma = stopping_for(scores.size, beta)
    if epsilon > _PER_RUN * math.log1p(2.0 * (1.0 - gamma * delta)):
        raise InputError(
            f"epsilon is {epsilon:g}; e^(epsilon/3) - 1 must be at most 2 (1 - gamma delta)"
        )
    scale = _PER_RUN * sensitivity / epsilon
    candidates = noisy_candidates(scores, scale, noise_bound=_support(gamma, delta))
    return ScoreSelection(candidates, gamma)


@validated
def margin_selection_needed(
    candidates: Candidates, sensitivity: Sensitivity, epsilon: Epsilon, delta: Delta, beta: Beta
) -> float:
    """The lead at which ``margin_selection`` fails with probability at most beta.

    It fails if it does not release the best candidate. The lead, of the best score over the second
    best, is (3 s/epsilon) log(2 K/(beta delta)), half the width of the noise's support.

    Args:
      candidates: K, how many there are.
      sensitivity, epsilon, delta, beta: as of ``margin_selection``.
    """
    support = _support(stopping_for(candidates, beta), delta)
    return _PER_RUN * sensitivity / epsilon * support


@validated
def smooth_selection_smoothness(
    candidates: Candidates, epsilon: Epsilon, delta: Delta, beta: Beta
) -> float:
    """The largest eta of the smooth sensitivities for which ``smooth_selection`` is private.

    With e = epsilon/3 and d = gamma delta of one run, eta is the smaller of e/(2 log(2/d)), which
    the noise needs, and log(1 + e/(8 log(K/beta))), which the shift needs.

    Args:
      candidates: K, how many there are.
      epsilon, delta: of the whole.
      beta: allowed failure probability.
    """
    gamma = stopping_for(candidates, beta)
    one = epsilon / _PER_RUN
    shift = math.log1p(one / (8.0 * math.log(candidates / beta)))
    return min(one / (2.0 * (math.log(2.0) + _support(gamma, delta))), shift)


@validated
def smooth_selection(
    scores: npt.ArrayLike, smooth_sensitivities: npt.ArrayLike, epsilon: Epsilon, beta: Beta
) -> ScoreSelection:
    """Random stopping over scores of small smooth sensitivity, which is (epsilon, delta)-DP.

    Theorem 5.2, fourth part. Candidate i is scored q_i - 2 b_i log(K/beta) + Lap(b_i), where b_i is
    12 S_i/epsilon. This is twice 2 S_i over epsilon/3, as 2 S_i is a smooth bound for the shifted
    score, and one run has epsilon/3. delta enters only by the smoothness that it requires of S_i.

    Args:
      scores: q_i, Float["candidates"].
      smooth_sensitivities: S_i, eta-smooth bounds on the sensitivities of the scores, one each or
        one for all, where eta is ``smooth_selection_smoothness(K, epsilon, delta, beta)``.
      epsilon: of the whole.
      beta: allowed failure probability.
    """
    scores = check_scores(scores)
    bounds = check_each_positive("smooth_sensitivities", smooth_sensitivities, scores.size)
    with np.errstate(over="ignore"):
        scales = 4.0 * _PER_RUN * bounds / epsilon
    return _shifted(scores, scales, beta)


def smooth_selection_loss(
    scores: npt.ArrayLike, smooth_sensitivities: npt.ArrayLike, epsilon: float, beta: float
) -> float:
    """A bound on how far the candidate of ``smooth_selection`` is below the best score.

    It is the least q* - q_j + (24 S_j/epsilon) log(K/beta) over j, where q* is the best score, and
    is exceeded with probability at most beta (1 + 1/K).

    Args:
      scores, smooth_sensitivities, epsilon, beta: as of ``smooth_selection``.
    """
    bounds = check_each_positive("smooth_sensitivities", smooth_sensitivities, np.size(scores))
    return generalised_selection_loss(scores, 4.0 * bounds, epsilon, beta)


# --- Learners: Lemma 5.1 --------------------------------------------------------------


def validation_runs(
    model_laws: npt.ArrayLike, scores: npt.ArrayLike, noise_scale: float
) -> NoisyCandidates:
    """The candidates of one run: a learner drawn uniformly, its model, the model's noisy score.

    Args:
      model_laws: Float["learners models"]: in each row the law of the model that a learner returns
        for the training data.
      scores: Float["learners models"] or Float["models"]: validation scores.
      noise_scale: s/epsilon_2, where s is how much one validation example changes a score.

    Returns:
      The pairs (learner, model) as candidates, learner by learner.
    """
    laws = check_finite("model_laws", model_laws)
    if laws.ndim != 2 or np.any(laws < 0.0) or np.any(abs(laws.sum(1) - 1.0) > 1e-9):
        raise InputError("model_laws must have one probability vector a learner")
    values = check_finite("scores", scores)
    if values.shape not in (laws.shape, laws.shape[1:]):
        raise InputError("scores must have one number a model, or a learner and model")
    values = np.broadcast_to(values, laws.shape)
    weights = laws / laws.sum(axis=1, keepdims=True) / laws.shape[0]
    return noisy_candidates(values.ravel(), noise_scale, weights=weights.ravel())
