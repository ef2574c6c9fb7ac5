"""Settings of the repetitive sparse vector, and their proven privacy.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Section 4.2, Remark 2 and Lemma 3. Algorithm
3 itself is written out in ``jaxsel.families.repetitive_sparse_vector.laws``.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.families.repetitive_sparse_vector import parameters
from jaxsel.families.selection_and_test.coin_game_laws import known_chance_rate
from jaxsel.host.errors import InputError
from jaxsel.language.signature import read_arguments, validated


class RepetitiveSettings(NamedTuple):
    """The parameters of Algorithm 3.

    Attributes:
      gamma: exponent of the law of p, the chance that a Test is made: P[p <= x] = x^gamma. If it
        is inf, p = 1.
      repetitions: tau, the number of Tests in a batch.
      query_epsilon: epsilon'; each Test adds Laplace noise of scale 1/epsilon'.
      failures: k', the number of failed batches at which the algorithm halts.
      margin: d; queries from t - d on may be answered top. If it is inf, a batch of V never fails.
    """

    gamma: parameters.Gamma
    repetitions: parameters.Repetitions
    query_epsilon: parameters.QueryEpsilon
    failures: parameters.Failures
    margin: parameters.Margin


def checked(settings: RepetitiveSettings) -> RepetitiveSettings:
    """Converts the settings to numbers, and raises InputError for one outside its domain."""
    return RepetitiveSettings(**read_arguments(RepetitiveSettings, settings._asdict()))


# --- Settings of Section 4.2 ----------------------------------------------------------


def allowed_mistakes(queries: int, beta: float) -> int:
    """How many mistakes the proof of Lemma 4 allows for, R = ceil(3 log(1/beta)/log m).

    Mistakes are batches that fail although their hypothesis holds: of U at levels of at most -d/2,
    and of V at levels of at least -d/2.
    """
    return math.ceil(-3.0 * math.log(beta) / math.log(queries))


class Plan(NamedTuple):
    """Some of the settings of Section 4.2 for k, m, beta and delta, at epsilon = 1.

    Attributes:
      gamma: log(20/beta)/log m.
      query_epsilon: epsilon', 1/(gamma + sqrt(k log(1/delta))) or 1/(gamma + k).
      failures: k' as printed, k + 7 log(1/beta)/log m, not rounded.
    """

    gamma: float
    query_epsilon: float
    failures: float


def plan(wanted: float, queries: float, low_beta: float, low_delta: float = math.inf) -> Plan:
    """The settings of Section 4.2 for a beta and a delta that may be too small for floats.

    Args:
      wanted: k, answers top to be found.
      queries: m, how many there are.
      low_beta: log(1/beta).
      low_delta: log(1/delta); inf for the pure settings of Remark 2.
    """
    log_m = math.log(queries)
    gamma = (math.log(20.0) + low_beta) / log_m
    root = wanted if math.isinf(low_delta) else math.sqrt(wanted * low_delta)
    return Plan(gamma, 1.0 / (gamma + root), wanted + 7.0 * low_beta / log_m)


@validated
def repetitive_settings(
    wanted: parameters.Wanted,
    queries: parameters.Queries,
    beta: parameters.Beta,
    epsilon: parameters.Epsilon = 1.0,
    delta: parameters.DeltaOrZero = 0.0,
    *,
    corrected: bool = True,
) -> RepetitiveSettings:
    """The settings that Section 4.2 (delta > 0) or Remark 2 (delta = 0) prescribes.

    They are gamma = log(20/beta)/log m, tau = 5 m^2, d = 10 log(m)/epsilon', and epsilon' =
    epsilon/(gamma + sqrt(k log(1/delta))), or epsilon/(gamma + k) for delta = 0. Their privacy is
    only of the ORDER of epsilon, as the paper says. ``privacy_epsilon`` gives it, and
    ``calibrated`` changes epsilon' so that it is epsilon.

    Args:
      wanted: k, answers top to be found.
      queries: m, how many there are.
      beta: failure probability, at least 2^-m.
      epsilon, delta: the privacy that the settings are made for, up to a constant.
      corrected: k' = k + 2 R + 1 (CL-E14), else k' = k + 7 log(1/beta)/log m, rounded
        up, as printed.

    Raises:
      InputError: for beta < 2^-m, or if k' > m.
    """
    k, m = wanted, queries
    if math.log2(beta) < -m:
        raise InputError(f"beta is {beta:g}; it must be at least 2^-m, m = {m}")
    low_delta = -math.log(delta) if delta > 0.0 else math.inf
    found = plan(k, m, -math.log(beta), low_delta)
    inner = epsilon * found.query_epsilon
    if corrected:
        failures = k + 2 * allowed_mistakes(m, beta) + 1
    else:
        failures = math.ceil(found.failures)
    if failures > m:
        raise InputError(
            f"k' is {failures} for wanted={k} and beta={beta:g}; it must be at most "
            f"the number of queries, {m}"
        )
    margin = 10.0 * math.log(m) / inner
    return RepetitiveSettings(found.gamma, 5 * m * m, inner, failures, margin)


# --- Privacy (Lemma 3) ----------------------------------------------------------------


def pure_epsilon(settings: RepetitiveSettings) -> float:
    """The pure epsilon of Algorithm 3, (2 k' + gamma) epsilon', which is sharp.

    Lemma 3: it is Theorem 2 with c = k', as each failed batch has one Test that answered top.
    """
    return (2.0 * settings.failures + settings.gamma) * settings.query_epsilon


@validated
def approximate_epsilon(settings: RepetitiveSettings, delta: parameters.Delta) -> float:
    """The epsilon of Algorithm 3 at delta, by Renyi divergences at a known p (Theorem 2, CL-E3).

    For any p the Renyi divergence is at most k' times ``known_chance_rate``, since k' Tests answer
    top. The result is of order epsilon' sqrt(k' log(1/delta)) + k' epsilon'^2.
    """

    def curve(order):
        rate = known_chance_rate(order, settings.query_epsilon)
        return settings.failures * np.asarray(rate)

    return renyi_to_epsilon(curve, delta).epsilon


@validated
def privacy_epsilon(settings: RepetitiveSettings, delta: parameters.DeltaOrZero = 0.0) -> float:
    """The proven epsilon at delta: the smaller of ``pure_epsilon`` and ``approximate_epsilon``."""
    settings = checked(settings)
    pure = pure_epsilon(settings)
    return pure if delta == 0.0 else min(pure, approximate_epsilon(settings, delta))


@validated
def calibrated(
    settings: RepetitiveSettings, epsilon: parameters.Epsilon, delta: parameters.DeltaOrZero = 0.0
) -> RepetitiveSettings:
    """The same settings with the largest epsilon' that is proven (epsilon, delta)-DP.

    The margin d is scaled with the noise, so that epsilon' d is unchanged.

    Args:
      settings: of the algorithm; their epsilon' is replaced.
      epsilon, delta: of the whole run.

    Raises:
      InputError: for an infinite gamma with delta = 0.
    """
    settings = checked(settings)

    def at(log_inner: float) -> RepetitiveSettings:
        inner = math.exp(log_inner)
        margin = settings.margin * settings.query_epsilon / inner
        return settings._replace(query_epsilon=inner, margin=margin)

    if delta == 0.0:
        if math.isinf(settings.gamma):
            raise InputError("gamma is inf; only delta > 0 is private then")
        return at(math.log(epsilon / (2.0 * settings.failures + settings.gamma)))
    low = math.log(epsilon / (2.0 * settings.failures)) - 4.0
    while privacy_epsilon(at(low), delta) > epsilon:
        low -= 4.0
    high = low
    while privacy_epsilon(at(high), delta) <= epsilon:
        low, high = high, high + 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        fits = privacy_epsilon(at(middle), delta) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return at(low)
