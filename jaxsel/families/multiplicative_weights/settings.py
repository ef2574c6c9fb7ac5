"""Settings with which private multiplicative weights are (epsilon, delta)-DP and accurate.

They are worked out, with all constants, for the mechanism of Hardt & Rothblum 2010 as stated by
Dwork & Roth 2014 (Cohen et al. 2022, Theorem 9), and for the one with the repetitive sparse vector
(Theorem 11). Both minimise alpha, which bounds all errors with probability 1 - beta.
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
    """Settings of the mechanism of Theorem 9, whose scales are in units of an answer, in [0, 1].

    Attributes:
      error: alpha; with probability 1 - beta all answers err by no more.
      gap: g; with that probability the hypothesis errs by g or more at each query that updates.
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
    """Settings of the mechanism of Theorem 9 with the least bound alpha on all errors.

    The sparse vectors and the answers get epsilon/2 and delta/2 each. There are k sparse vectors,
    each epsilon_0-DP with noises Lap(2/(n epsilon_0)) on the threshold and Lap(4/(n epsilon_0))
    on queries, and k answers, each epsilon_0-DP; both are composed. By a union bound with beta/3
    each, with probability 1 - beta all threshold noises are at most a, all query noises at most b
    and all answer noises at most c. With the threshold g + a + b, the hypothesis therefore errs by
    at least g at each query that updates, and all answers err by at most alpha = g + 2(a + b). As
    k depends on g, alpha is minimised over g.

    Args:
      cells: |X|.
      rows: n.
      queries: m.
      epsilon, delta: of the whole interaction; delta = 0 for pure composition.
      beta: probability that the bound does not hold.
      sharp: take the learning rate 4 g, with which there are 8 times fewer updates than with g/2.
    """

    def error(log_gap):
        """The bound alpha at each g, or inf where a noisy answer might mislead the update."""
        gap = np.exp(log_gap)
        noise = _hardt_rothblum_noise(cells, queries, gap, epsilon, delta, beta, sharp)
        # Answer noises below g: a noisy answer is on the same side of h's answer as the true one.
        known = gap >= noise.answers / rows
        return np.where(known, gap + 2.0 * noise.tests / rows, np.inf)

    # An alpha below 1 has a g below 1. Larger g, up to 3 and the noise of a single update, are for
    # tables that are so small that no useful alpha is possible.
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
    """The noise of Theorem 9's mechanism for a table of one row, at each of several gaps g.

    With n rows all noises are n times smaller.

    Attributes:
      updates: Float["gaps"], k.
      scale: Float["gaps"], 1/epsilon_0, the scale of the noise on an answer.
      tests: Float["gaps"], a + b, which bounds the noises on threshold and query together.
      answers: Float["gaps"], c, which bounds the noise on an answer.
    """

    updates: np.ndarray
    scale: np.ndarray
    tests: np.ndarray
    answers: np.ndarray


def _hardt_rothblum_noise(
    cells: int, queries: int, gap, epsilon: float, delta: float, beta: float, sharp: bool
) -> _Noise:
    """The noise at ``gap``, a number or Float["gaps"]; other arguments as of ``hardt_rothblum``."""
    k = np.clip(update_bound(cells, gap, sharp), 1.0, queries)
    scale = 1.0 / composition_share(epsilon / 2.0, k, delta / 2.0)
    if beta > 1e-290:
        few, many = np.log(3.0 * k / beta), math.log(3.0 * queries / beta)
    else:  # the quotients may be no floats
        few, many = np.log(3.0 * k) - math.log(beta), math.log(3.0 * queries) - math.log(beta)
    return _Noise(k, scale, scale * (2.0 * few + 4.0 * many), scale * few)


def parameters(settings: "Settings") -> dict[str, float]:
    """The parameters, by name, that the mechanism of Theorem 9 or 11 takes for these settings."""
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
    """The least number of rows, as a real number, at which ``hardt_rothblum`` has error ``alpha``.

    Args:
      alpha: the bound on all errors, which holds with probability 1 - beta.
      cells, queries, epsilon, delta, beta, sharp: as of ``hardt_rothblum``.
    """

    def rows(share):
        """The rows that suffice if g is this share of alpha."""
        gap = share * alpha
        noise = _hardt_rothblum_noise(cells, queries, gap, epsilon, delta, beta, sharp)
        return np.maximum(2.0 * noise.tests / (alpha - gap), noise.answers / gap)

    return float(minimise(rows, 1e-3, 1.0 - 1e-3)[1])


class Repetitive(NamedTuple):
    """Settings of the mechanism of Theorem 11, whose scales are in units of an answer, in [0, 1].

    Attributes:
      error: alpha; with probability 1 - beta all answers err by no more.
      gap: alpha/2; with that probability the hypothesis errs by as much or more at each query
        that updates.
      rate: learning rate.
      updates: k, most updates.
      gamma: exponent of the law of p.
      repetitions: tau, Tests a batch.
      failures: k', failed batches at which the sparse vector halts.
      answers: noisy answers that may be drawn, rejected ones included.
      distance: d; a question tests "below the threshold" against "above the threshold minus d".
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

    The repetitive sparse vector decides whether |q(D) - q(h)| is below alpha, with d = alpha/2,
    and, for each noisy answer v, whether |q(D) - v| is below alpha/2; "top" rejects v. These are
    M = 2 m + R + 1 questions at most. Among them are at most R = ceil(3 log(1/beta)/log M)
    mistakes, where a noisy answer that is off by more than alpha/4 counts as one. By Section 4.2,
    gamma = log(20/beta)/log M, tau = 5 M^2, k' = k + 2 R + 1 and d >= 10 log M/(n epsilon'). The
    sparse vector and the answers get epsilon/2 and delta/2 each. As k depends on alpha, alpha is
    minimised over k.

    Arguments as of ``hardt_rothblum``.

    Raises:
      InputError: unless m >= 10 and beta >= 2^-m (Lemma 4).
    """
    plan = repetitive_plan(queries, beta)

    def alpha(updates: int) -> float:
        """The least alpha that allows for the noises of k = ``updates``, and for no more updates.

        There are never more updates than queries, so that k = m asks for nothing of alpha.
        """
        noise = 20.0 * plan.size * max(_scales(plan, updates, epsilon, delta)) / rows
        if updates == queries:
            return noise
        return max(noise, 2.0 * least_gap(cells, updates, sharp))

    # As k grows, alpha first decreases, since smaller errors need more updates, and then
    # increases, since more updates need more noise.
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
    """The settings of the repetitive sparse vector that depend on m and beta only (Section 4.2).

    Attributes:
      questions: M, the largest number of questions to the sparse vector.
      size: log M.
      mistakes: R, the number of mistakes that is not exceeded with high probability.
      gamma: exponent of the law of p.
    """

    questions: int
    size: float
    mistakes: int
    gamma: float


@validated
def repetitive_plan(queries: Queries, beta: Beta) -> RepetitivePlan:
    """The settings of the repetitive sparse vector that depend on m and beta only.

    M counts mistakes as if there were ceil(3 log(1/beta)/log m) of them; R, with log M in place
    of log m, is no larger.

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
    """The noise scales of a Test and of an answer for a table of one row.

    Args:
      plan: what depends on m and beta.
      updates: k.
      epsilon, delta: of the whole interaction.
    """
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
    """The least number of rows, as a real number, at which ``repetitive`` has error ``alpha``.

    Args:
      alpha: the bound on all errors, which holds with probability 1 - beta.
      cells, queries, epsilon, delta, beta, sharp: as of ``repetitive``.
    """
    plan = repetitive_plan(queries, beta)
    updates = int(np.clip(update_bound(cells, alpha / 2.0, sharp), 1.0, queries))
    return 20.0 * plan.size * max(_scales(plan, updates, epsilon, delta)) / alpha
