"""A run as good as the best of K medians: settings and law of Liu & Talwar 2019, Theorem 4.7 (1.4).

Algorithm 5 finds a threshold that a share of about p* = 1/(2 K) of the runs of a random candidate
reaches, and Algorithm 1 draws until a run reaches it. For the same purpose the algorithm of Cohen
et al. 2022, Theorem 4, makes at most ``median_laws.median_rounds`` runs.
Names: ``slack`` is epsilon_0, ``base_epsilon`` epsilon_1, ``thresholds`` R and
``candidates`` K.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.families.percentile import parameters
from jaxsel.families.percentile.laws import found_threshold_law, threshold_grid
from jaxsel.families.percentile.settings import PercentileTest, algorithm_5
from jaxsel.host.errors import InputError, check_finite, check_probability_vector
from jaxsel.language.signature import validated


class Pipeline(NamedTuple):
    """Settings of Algorithm 5 followed by Algorithm 1.

    Attributes:
      test: settings of Algorithm 5; test.samples is its N.
      thresholds: R, how many thresholds Algorithm 5 tries.
      least_share: p_1; the share of the runs that reach the threshold found is at least this with
        high probability.
      stop_probability: gamma of Algorithm 1, with which it gives up after each run.
      max_draws: T of Algorithm 1, its largest number of runs.
    """

    test: PercentileTest
    thresholds: int
    least_share: float
    stop_probability: float
    max_draws: int


@validated
def pipeline(
    *,
    base_epsilon: parameters.BaseEpsilon = 0.1,
    slack: parameters.FullSlack = 1.0,
    beta: parameters.Beta = 0.1,
    delta: parameters.Delta = 1e-6,
    thresholds: parameters.Thresholds = 5,
    candidates: parameters.Candidates = 1,
    reading: parameters.Reading = "corrected",
) -> Pipeline:
    """The settings of both algorithms with which Theorem 4.7 holds, as corrected.

    The release is then (2 epsilon_1 + epsilon_0, delta)-DP.

    Args:
      base_epsilon: epsilon_1 of one run.
      slack: epsilon_0, of which each algorithm gets half (LT-E10).
      beta: with delta, a bound on the failure probabilities.
      delta: of (epsilon, delta).
      thresholds: R, how many thresholds Algorithm 5 tries.
      candidates: K, how many candidates there are.
      reading: "corrected" runs both algorithms at beta/4 (LT-E10); "sharp" runs
        Algorithm 5 at beta, where its exact failure is of order beta^(3/2), and stops
        Algorithm 1 with gamma = p_1 beta/4; enough for beta <= 1/2.

    Raises:
      InputError: if the theorem asks for more than 1e190 runs.
    """
    used = beta / 4.0 if reading == "corrected" else beta
    half = slack / 2.0
    exponent = 6.0 + 12.0 * base_epsilon / slack
    log_least = -exponent * (math.log(thresholds + 1.0) - 2.0 * math.log(used))
    log_least -= math.log(12.0 * candidates)
    if log_least < -440.0:
        raise InputError(
            f"Theorem 4.7 asks for more than 1e{-log_least / math.log(10):.0f} runs "
            "here, beyond 1e190; take a larger slack or beta"
        )
    test = algorithm_5(
        target=1.0 / (2.0 * candidates),
        beta=used,
        slack=half,
        base_epsilon=base_epsilon,
        final_epsilon=half,
        delta=delta,
        thresholds=thresholds,
        corrected=True,
    )
    least = math.exp(log_least)
    stop = least * beta / 4.0
    # T of Theorem 3.1 for a slack of epsilon_0/2 in Algorithm 1 (``threshold_steps``).
    most = max(math.log(2.0 / half) / stop, 1.0 + 1.0 / (math.e * stop))
    return Pipeline(test, thresholds, least, stop, math.ceil(most))


def pipeline_params(settings: Pipeline) -> dict:
    """The parameters that the mechanism ``percentile_pipeline`` takes for these settings."""
    return settings.test._asdict() | {
        "thresholds": settings.thresholds,
        "stop_probability": settings.stop_probability,
        "max_draws": settings.max_draws,
    }


def most_calls(settings: Pipeline) -> float:
    """The largest number of runs of base algorithms, N + T."""
    return float(settings.test.samples) + float(settings.max_draws)


# --- The exact law of what is released ------------------------------------------------


class Outcomes(NamedTuple):
    """The possible outcomes of one run of a random candidate.

    Attributes:
      scores: Float[np.ndarray, "outcomes"], in [0, 1].
      probabilities: Float[np.ndarray, "outcomes"], their law for a uniformly random candidate.
      names: of the outcomes. With several candidates, each has outcomes of its own, which stand
        candidate by candidate.
    """

    scores: np.ndarray
    probabilities: np.ndarray
    names: tuple[str, ...]


def run_outcomes(scores: npt.ArrayLike, probabilities: npt.ArrayLike) -> Outcomes:
    """The outcomes of one run, of one candidate or of a uniformly random one of K.

    Args:
      scores: Float["outcomes"], in [0, 1].
      probabilities: Float["outcomes"], or Float["candidates outcomes"], one law each.

    Raises:
      InputError: for invalid laws, or scores outside [0, 1].
    """
    scores = check_finite("scores", scores)
    laws = check_finite("probabilities", probabilities)
    several = laws.ndim == 2
    rows = [check_probability_vector("probabilities", law) for law in np.atleast_2d(laws)]
    if any(scores.shape != law.shape for law in rows):
        raise InputError(
            f"there are {rows[0].size} probabilities and {scores.size} scores; they must "
            "be equally many"
        )
    if not np.all((scores >= 0.0) & (scores <= 1.0)):
        raise InputError("scores must lie in [0, 1], where the thresholds are")
    numbers = range(scores.size)
    names = tuple(
        f"candidate {i} outcome {x}" if several else str(x)
        for i in range(len(rows))
        for x in numbers
    )
    return Outcomes(np.tile(scores, len(rows)), np.concatenate(rows) / len(rows), names)


def grid_shares(outcomes: Outcomes, thresholds: int) -> np.ndarray:
    """The probability that one run reaches each threshold of Algorithm 5's grid.

    Args:
      outcomes: of one run.
      thresholds: R.

    Returns:
      Float["thresholds"], not decreasing.
    """
    reached = outcomes.scores >= threshold_grid(thresholds)[:, None] - 1e-12
    return np.minimum(np.where(reached, outcomes.probabilities, 0.0).sum(axis=1), 1.0)


def pipeline_law(
    scores: npt.ArrayLike, probabilities: npt.ArrayLike, settings: Pipeline
) -> np.ndarray:
    """The exact law of what Algorithms 5 and 1 in a row release.

    Args:
      scores, probabilities: of one run, as ``run_outcomes`` takes them.
      settings: of both algorithms.

    Returns:
      Float[np.ndarray, "outcomes+1"], the probability of each outcome, and last of nothing.
    """
    outcomes = run_outcomes(scores, probabilities)
    scores, mass, _ = outcomes
    shares = grid_shares(outcomes, settings.thresholds)
    found = found_threshold_law(shares, settings.test)
    law = np.zeros(scores.size + 1)
    law[-1] = found[-1]
    stop, most = settings.stop_probability, float(settings.max_draws)
    for chance, success, level in zip(
        found[:-1], shares, threshold_grid(settings.thresholds), strict=True
    ):
        # By Theorem 3.1(a) an outcome is released in proportion to its probability in the base.
        # Logarithms are used since gamma and the success may be tiny.
        with np.errstate(divide="ignore"):
            log_again = float(np.log1p(-success) + np.log1p(-stop))
        draws = -math.expm1(most * log_again) / (success * (1.0 - stop) + stop)
        law[:-1] += chance * draws * np.where(scores >= level - 1e-12, mass, 0.0)
        gave_up = (1.0 - success) * stop * draws + math.exp(most * log_again)
        law[-1] += chance * gave_up
    return law
