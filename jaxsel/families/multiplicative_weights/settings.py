"""Settings of private multiplicative weights, with their constants.

For the mechanism of Hardt & Rothblum 2010 as stated by Dwork & Roth 2014 (Cohen et al.
2022, Theorem 9), and the one with the repetitive sparse vector (Theorem 11): the least
alpha that bounds all errors with probability 1 - beta, and the settings for it.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.families.multiplicative_weights.parameters import (
    Alpha,
    Beta,
    Cells,
    Delta,
    Epsilon,
    Queries,
    Rows,
)
from jaxsel.families.multiplicative_weights.updates import (
    composition_share,
    learning_rate,
    least_gap,
    tests_share,
    update_bound,
)
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated


class HardtRothblum(NamedTuple):
    """Settings of the mechanism of Theorem 9, scales in units of an answer.

    Attributes:
      error: alpha, which all answers keep with probability 1 - beta.
      gap: least true error of a query that updates, with that probability.
      threshold: T of the sparse vector.
      rate: learning rate.
      updates: k, the number of updates after which the data are no longer used.
      threshold_scale, query_scale: of the Laplace noises of the sparse vector.
      answer_scale: of the Laplace noise of an answer.
    """

    error: float
    gap: float
    threshold: float
    rate: float
    updates: int
    threshold_scale: float
    query_scale: float
    answer_scale: float


@validated
def hardt_rothblum(
    cells: Cells,
    rows: Rows,
    queries: Queries,
    epsilon: Epsilon,
    delta: Delta,
    beta: Beta,
    *,
    sharp: bool = False,
) -> HardtRothblum:
    """Settings of the mechanism of Theorem 9 with the least bound on all errors.

    The sparse vector and the answers get epsilon/2 and delta/2 each; the k restarts of
    the one, each epsilon_0-DP with noises Lap(2/(n epsilon_0)) and Lap(4/(n epsilon_0)),
    and the k of the other compose. With probability 1 - beta all threshold noises are at
    most a, all query noises at most b and all answer noises at most c, a union bound
    with beta/3 each; so with T = g + a + b updates have error g at least, and alpha =
    g + 2(a + b). Solved for g, as k depends on it.

    Args:
      cells: |X|.
      rows: n.
      queries: m.
      epsilon, delta: of the whole; delta = 0 for pure composition.
      beta: chance that the bound does not hold.
      sharp: take the learning rate 4 g, which needs 8 times fewer updates than g/2.
    """

    def error(log_gap):
        gap = np.exp(log_gap)
        noise = _hardt_rothblum_noise(cells, queries, gap, epsilon, delta, beta, sharp)
        known = gap >= noise.answers / rows  # on which side of h the truth is
        return np.where(known, gap + 2.0 * noise.tests / rows, np.inf)

    one = _hardt_rothblum_noise(cells, queries, 1e9, epsilon, delta, beta, sharp)
    log_gap, least = minimise(error, math.log(1e-6), math.log(3.0 + one.tests / rows))
    gap = float(np.exp(log_gap))
    noise = _hardt_rothblum_noise(cells, queries, gap, epsilon, delta, beta, sharp)
    answer = float(noise.scale) / rows
    return HardtRothblum(
        error=float(least),
        gap=gap,
        threshold=gap + float(noise.tests) / rows,
        rate=learning_rate(gap, sharp=sharp),
        updates=int(noise.updates),
        threshold_scale=2.0 * answer,
        query_scale=4.0 * answer,
        answer_scale=answer,
    )


class _Noise(NamedTuple):
    """Noise of the sparse vector and of the answers for one row, as functions of the gap."""

    updates: np.ndarray
    scale: np.ndarray  # of an answer
    tests: np.ndarray  # a + b
    answers: np.ndarray  # c


def _hardt_rothblum_noise(
    cells: int, queries: int, gap, epsilon: float, delta: float, beta: float, sharp: bool
) -> _Noise:
    k = np.clip(update_bound(cells, gap, sharp), 1.0, queries)
    scale = 1.0 / composition_share(epsilon / 2.0, k, delta / 2.0)
    if beta > 1e-290:
        few, many = np.log(3.0 * k / beta), math.log(3.0 * queries / beta)
    else:  # the quotients may be no floats
        few, many = np.log(3.0 * k) - math.log(beta), math.log(3.0 * queries) - math.log(beta)
    return _Noise(k, scale, scale * (2.0 * few + 4.0 * many), scale * few)


def parameters(settings: "Settings") -> dict[str, float]:
    """The parameters that the mechanism takes, by name, for these settings."""
    found: dict[str, float]
    if isinstance(settings, HardtRothblum):
        names = ("threshold", "rate", "threshold_scale", "query_scale", "answer_scale")
        found = {name: float(getattr(settings, name)) for name in names}
        return found | {"max_updates": settings.updates}
    names = ("rate", "gamma", "repetitions", "distance", "test_scale", "answer_scale")
    found = {name: float(getattr(settings, name)) for name in names}
    return found | {
        "threshold": settings.error,
        "check_threshold": settings.error / 2.0,
        "max_failures": settings.failures,
        "max_answers": settings.answers,
    }


@validated
def hardt_rothblum_rows(
    cells: Cells,
    queries: Queries,
    alpha: Alpha,
    epsilon: Epsilon,
    delta: Delta,
    beta: Beta,
    *,
    sharp: bool = False,
) -> float:
    """The least number of rows at which ``hardt_rothblum`` has error ``alpha``, as a real number.

    Args:
      alpha: error that all answers keep with probability 1 - beta.
      cells, queries, epsilon, delta, beta, sharp: as of ``hardt_rothblum``.
    """

    def rows(share):
        gap = share * alpha
        noise = _hardt_rothblum_noise(cells, queries, gap, epsilon, delta, beta, sharp)
        return np.maximum(2.0 * noise.tests / (alpha - gap), noise.answers / gap)

    return float(minimise(rows, 1e-3, 1.0 - 1e-3)[1])


class Repetitive(NamedTuple):
    """Settings of the mechanism of Theorem 11, scales in units of an answer.

    Attributes:
      error: alpha, which all answers keep with probability 1 - beta.
      gap: alpha/2, least true error of a query that updates, with that probability.
      rate: learning rate.
      updates: k, most updates.
      gamma: exponent of the law of p.
      repetitions: tau, Tests a batch.
      failures: k', failed batches at which the sparse vector halts.
      answers: noisy answers that may be drawn, rejected ones included.
      distance: d, between the thresholds of the two hypotheses.
      test_scale: of the Laplace noise of a Test.
      answer_scale: of the Laplace noise of an answer.
    """

    error: float
    gap: float
    rate: float
    updates: int
    gamma: float
    repetitions: float
    failures: int
    answers: int
    distance: float
    test_scale: float
    answer_scale: float


@validated
def repetitive(
    cells: Cells,
    rows: Rows,
    queries: Queries,
    epsilon: Epsilon,
    delta: Delta,
    beta: Beta,
    *,
    sharp: bool = False,
) -> Repetitive:
    """Settings of the mechanism of Theorem 11 with the least bound alpha on all errors.

    The repetitive sparse vector asks whether |q(D) - q(h)| is below alpha, with d =
    alpha/2, and after an update round whether |q(D) - v| is below alpha/2 for the noisy
    answer v; "top" rejects v. That makes M = 2 m + R + 1 questions at most, and
    gamma = log(20/beta)/log M, tau = 5 M^2, R = ceil(3 log(1/beta)/log M) mistakes,
    a noisy answer off by more than alpha/4 counted among them, k' = k + 2 R + 1, and
    d >= 10 log M/(n epsilon'). The sparse vector and the answers get epsilon/2 and
    delta/2 each. Solved for alpha, as k depends on it.

    Arguments as of ``hardt_rothblum``.

    Raises:
      InputError: unless m >= 10 and beta >= 2^-m (Lemma 4).
    """
    plan = repetitive_plan(queries, beta)

    def alpha(updates: int) -> float:
        """The least error for the noises, and for the bound on updates if it is below m."""
        noise = 20.0 * plan.size * max(_scales(plan, updates, epsilon, delta)) / rows
        if updates == queries:
            return noise
        return max(noise, 2.0 * least_gap(cells, updates, sharp))

    # As a function of the number of updates alpha first decreases, then, where noise
    # dominates, increases.
    low, high = 0, queries - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if alpha(middle + 1) < alpha(middle) else (low, middle)
    least, updates = min((alpha(k), k) for k in {max(low, 1), high, queries})
    test, answer = _scales(plan, updates, epsilon, delta)
    return Repetitive(
        error=least,
        gap=least / 2.0,
        rate=learning_rate(least / 2.0, sharp=sharp),
        updates=updates,
        gamma=plan.gamma,
        repetitions=5.0 * plan.questions**2,
        failures=updates + 2 * plan.mistakes + 1,
        answers=updates + plan.mistakes,
        distance=least / 2.0,
        test_scale=test / rows,
        answer_scale=answer / rows,
    )


Settings = HardtRothblum | Repetitive


class RepetitivePlan(NamedTuple):
    """The settings of Section 4.2 that depend on m and beta only.

    Attributes:
      questions: M, the largest number of questions to the sparse vector.
      size: log M.
      mistakes: R.
      gamma: exponent of the law of p.
    """

    questions: int
    size: float
    mistakes: int
    gamma: float


@validated
def repetitive_plan(queries: Queries, beta: Beta) -> RepetitivePlan:
    """The settings that depend on the number m of queries and the failure probability only.

    Raises:
      InputError: unless m >= 10 and beta >= 2^-m (Lemma 4).
    """
    if queries < 10 or beta < 2.0 ** -min(queries, 1000):
        raise InputError(
            f"queries is {queries} and beta is {beta:g}; Lemma 4 needs at least 10 "
            "queries and beta >= 2^-queries"
        )
    log_beta = -math.log(beta)
    questions = 2 * queries + math.ceil(3.0 * log_beta / math.log(queries)) + 1
    size = math.log(questions)
    mistakes = math.ceil(3.0 * log_beta / size)
    return RepetitivePlan(questions, size, mistakes, (math.log(20.0) + log_beta) / size)


def _scales(plan: RepetitivePlan, updates: int, epsilon: float, delta: float):
    """Noise scales of a Test and of an answer at one row."""
    tops, answers = updates + 2 * plan.mistakes + 1, updates + plan.mistakes
    test = 1.0 / tests_share(epsilon / 2.0, tops, plan.gamma, delta / 2.0)
    return test, float(1.0 / composition_share(epsilon / 2.0, answers, delta / 2.0))


@validated
def repetitive_rows(
    cells: Cells,
    queries: Queries,
    alpha: Alpha,
    epsilon: Epsilon,
    delta: Delta,
    beta: Beta,
    *,
    sharp: bool = False,
) -> float:
    """The least number of rows at which ``repetitive`` has error ``alpha``, as a real number.

    Args:
      alpha: error that all answers keep with probability 1 - beta.
      cells, queries, epsilon, delta, beta, sharp: as of ``repetitive``.
    """
    plan = repetitive_plan(queries, beta)
    updates = int(np.clip(update_bound(cells, alpha / 2.0, sharp), 1.0, queries))
    return 20.0 * plan.size * max(_scales(plan, updates, epsilon, delta)) / alpha
