"""Settings of the repetitive sparse vector, and their proven privacy.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Section 4.2, Remark 2 and Lemma 3. Algorithm
3 itself is written out in ``jaxsel.families.repetitive_sparse_vector.laws``.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.families.selection_and_test.coin_game_laws import known_chance_rate
from jaxsel.host.errors import InputError, check_integer, check_interval, check_positive


class RepetitiveSettings(NamedTuple):
    """Parameters of Algorithm 3.

    Attributes:
      gamma: exponent of the prior of p, > 0; inf: p = 1.
      repetitions: tau, Tests in a batch, >= 1.
      query_epsilon: epsilon', each Test adds Laplace noise of scale 1/epsilon'.
      failures: k', failed batches until it halts, >= 1.
      margin: d > 0 (inf: V never fails).
    """

    gamma: float
    repetitions: int
    query_epsilon: float
    failures: int
    margin: float


def checked(settings: RepetitiveSettings) -> RepetitiveSettings:
    """The settings as numbers; raises InputError for one outside its range."""
    return RepetitiveSettings(
        check_interval("gamma", settings.gamma, 0.0, math.inf, high_open=False),
        check_integer("repetitions", settings.repetitions, 1),
        check_positive("query_epsilon", settings.query_epsilon),
        check_integer("failures", settings.failures, 1),
        check_interval("margin", settings.margin, 0.0, math.inf, high_open=False),
    )


# --- Settings of Section 4.2 ----------------------------------------------------------


def allowed_mistakes(queries: int, beta: float) -> int:
    """R = ceil(3 log(1/beta)/log m), the mistakes of the proof of Lemma 4."""
    return math.ceil(-3.0 * math.log(beta) / math.log(queries))


class Plan(NamedTuple):
    """The settings of Section 4.2 for k, m, beta and delta, at epsilon = 1.

    Attributes:
      gamma: log(20/beta)/log m.
      query_epsilon: epsilon', 1/(gamma + sqrt(k log(1/delta))) or 1/(gamma + k).
      failures: k' as printed, k + 7 log(1/beta)/log m, not rounded.
    """

    gamma: float
    query_epsilon: float
    failures: float


def plan(wanted: float, queries: float, low_beta: float, low_delta: float = math.inf) -> Plan:
    """The plan at log(1/beta) and log(1/delta), which may be beyond all floats.

    Args:
      wanted: k.
      queries: m.
      low_beta: log(1/beta).
      low_delta: log(1/delta); inf for the pure settings of Remark 2.
    """
    log_m = math.log(queries)
    gamma = (math.log(20.0) + low_beta) / log_m
    root = wanted if math.isinf(low_delta) else math.sqrt(wanted * low_delta)
    return Plan(gamma, 1.0 / (gamma + root), wanted + 7.0 * low_beta / log_m)


def repetitive_settings(
    wanted: int,
    queries: int,
    beta: float,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    corrected: bool = True,
) -> RepetitiveSettings:
    """Settings of Section 4.2 (delta > 0) or of Remark 2 (delta = 0).

    gamma = log(20/beta)/log m, tau = 5 m^2, d = 10 log(m)/epsilon', and epsilon' =
    epsilon/(gamma + sqrt(k log(1/delta))), or epsilon/(gamma + k) for delta = 0. As the
    paper says, the privacy is of ORDER epsilon: ``privacy_epsilon`` states it, and
    ``calibrated`` brings it to epsilon.

    Args:
      wanted: k >= 1, answers top to be found.
      queries: m >= 10.
      beta: failure probability, in [2^-m, 1).
      epsilon: > 0.
      delta: in [0, 1).
      corrected: k' = k + 2 R + 1 (CL-E14), else k' = k + 7 log(1/beta)/log m, rounded
        up, as printed.

    Raises:
      InputError: for values outside these ranges, or if k' > m.
    """
    k, m = check_integer("wanted", wanted, 1), check_integer("queries", queries, 10)
    beta = check_interval("beta", beta, 0.0, 1.0)
    if math.log2(beta) < -m:
        raise InputError(f"beta is {beta:g}; it must be at least 2^-m, m = {m}")
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
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
    """(2 k' + gamma) epsilon', pure (Lemma 3: Theorem 2 with c = k'); it is sharp."""
    return (2.0 * settings.failures + settings.gamma) * settings.query_epsilon


def approximate_epsilon(settings: RepetitiveSettings, delta: float) -> float:
    """Epsilon at delta by Renyi divergences of Tests at a known p (Theorem 2, CL-E3).

    k' tops cost k' times ``known_chance_rate`` for any p; of order epsilon'
    sqrt(k' log(1/delta)) + k' epsilon'^2.

    Args:
      settings: of the algorithm.
      delta: in (0, 1).
    """
    delta = check_interval("delta", delta, 0.0, 1.0)

    def curve(order):
        rate = known_chance_rate(order, settings.query_epsilon)
        return settings.failures * np.asarray(rate)

    return renyi_to_epsilon(curve, delta).epsilon


def privacy_epsilon(settings: RepetitiveSettings, delta: float = 0.0) -> float:
    """The proven epsilon at delta: the smaller of the two bounds above."""
    settings = checked(settings)
    pure = pure_epsilon(settings)
    return pure if delta == 0.0 else min(pure, approximate_epsilon(settings, delta))


def calibrated(
    settings: RepetitiveSettings, epsilon: float, delta: float = 0.0
) -> RepetitiveSettings:
    """The same settings with the largest epsilon' that is proven (epsilon, delta)-DP.

    The margin in units of the noise, epsilon' d, is unchanged.
    """
    settings, epsilon = checked(settings), check_positive("epsilon", epsilon)

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
