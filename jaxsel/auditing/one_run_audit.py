"""Auditing with one training run, by guessing which of many random canaries it included.

Each canary is included with probability 1/2. After the run the auditor scores each one,
guesses "in" for those with the highest scores and "out" for those with the lowest, and
abstains on the rest. If the run is (epsilon, delta)-DP for one example more or less, then

    P[at least v of r guesses are right]
        <= b (1 + m delta (1 - b) / (v P[W = v])),    b = P[W >= v],

where m is the number of canaries and W is binomial: r guesses, each right with probability
e^epsilon/(1 + e^epsilon), as against randomised response. Too many right guesses
therefore refute epsilon. Steinke, Nasr & Jagielski 2023, "Privacy auditing with one (1)
training run", have 2 m delta max_i P[v - i <= W < v]/i in place of the second term.
For b below 1/2 ours is less than half of theirs; theirs is no bound for b near 1.

Proof. Let V be the number of right guesses and q = e^epsilon/(1 + e^epsilon), and choose
c(0) = 0, c(1), ..., c(r) with

    w c(w) - e^epsilon (r - w) c(w + 1) = 1[w >= v] - b    for w = 0, ..., r.

That is c(w) = (P[W >= max(w, v)] - b P[W >= w]) / (w P[W = w]): never negative, and
largest at w = v, where it is b (1 - b)/(v P[W = v]), since P[W >= w]/P[W = w] falls in w
and P[W < w]/P[W = w]/w grows. For any A that makes r guesses t from coins s,

    P[V >= v] - b = sum over i of E[1[i right] c(V) - e^epsilon 1[i wrong] c(V + 1)].

Flipping coin i turns the wrong guesses into right ones and V + 1 into V, so the i-th term
is the mean over s of the sum over t with i right of c(V) (P[t|s] - e^epsilon P[t|s']),
where s' is s with coin i flipped: at most delta max c. There are m terms. The bound is
attained if m delta is small: it is the value of the linear program over all such A.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from jaxsel.host.errors import InputError, check_finite, check_integer, check_interval


class OneRunBound(NamedTuple):
    """A lower bound on epsilon from one run.

    Attributes:
      lower: the bound, >= 0; exceeds the truth with probability at most 1 - confidence.
      delta: the delta at which epsilon is bounded.
      confidence: of the bound.
      canaries: m.
      guesses: (guessed in, guessed out).
      correct: the number of right guesses.
      comparisons: how many numbers of guesses were tried; they share the error probability.
    """

    lower: float
    delta: float
    confidence: float
    canaries: int
    guesses: tuple[int, int]
    correct: int
    comparisons: int


def _tallies(correct: int, guesses: int, canaries: int) -> tuple[int, int, int]:
    canaries = check_integer("canaries", canaries, 1)
    guesses = check_integer("guesses", guesses, 0)
    correct = check_integer("correct", correct, 0)
    if not correct <= guesses <= canaries:
        raise InputError(
            f"{correct} right guesses of {guesses} about {canaries} canaries are impossible"
        )
    return correct, guesses, canaries


def one_run_p_value(v: int, r: int, m: int, epsilon: float, delta: float = 0.0) -> float:
    """Bound on the probability of so many right guesses, or more, for an (epsilon, delta)-DP run.

    Args:
      v, r: the number of right guesses, and of guesses, which is fixed beforehand.
      m: the number of canaries, each included by an independent fair coin.
      epsilon: >= 0.
      delta: in [0, 1].
    """
    if v == 0:
        return 1.0
    # in terms of wrong guesses, since 1 - q is accurate where q rounds to 1
    wrong = scipy.special.expit(-epsilon)
    b = float(scipy.special.betaincc(r - v + 1.0, v, wrong))
    rest = float(scipy.special.betainc(r - v + 1.0, v, wrong))
    if delta == 0.0 or rest == 0.0:
        return b
    # b/P[W = v] term by term: either may be too small for a float
    steps = np.arange(r - v)
    ratios = np.log((r - v - steps) / (v + 1.0 + steps)) + epsilon
    sums = np.append(0.0, np.cumsum(ratios))
    log_ratio = float(np.asarray(scipy.special.logsumexp(sums)))
    log_more = math.log(m * delta / v) + math.log(rest) + log_ratio
    return min(1.0, b + math.exp(min(log_more, 0.0)))


def one_run_epsilon(
    correct: int, guesses: int, canaries: int, *, delta: float, error: float
) -> float:
    """The largest epsilon found whose p-value is at most ``error``; 0 if there is none.

    It exceeds the truth with probability at most ``error``: consider the least number of
    right guesses whose returned epsilon exceeds the truth. The run is (that epsilon,
    delta)-DP, so the p-value bounds the probability of as many or more right guesses.

    Args:
      correct, guesses, canaries, delta: v, r, m and delta of ``one_run_p_value``.
      error: in (0, 1).
    """
    tallies = _tallies(correct, guesses, canaries)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    error = check_interval("error", error, 0.0, 1.0)
    guesses = tallies[1]
    if guesses == 0 or one_run_p_value(*tallies, 0.0, delta) > error:
        return 0.0
    # where r right guesses have probability ``error``: no tally refutes a larger epsilon
    log_all = math.log(error) / guesses
    low, high = 0.0, max(0.0, log_all - math.log(-math.expm1(log_all)))
    for _ in range(60):
        middle = (low + high) / 2.0
        if one_run_p_value(*tallies, middle, delta) <= error:
            low = middle
        else:
            high = middle
    return low


def guess_membership(scores: ArrayLike, members: int, others: int) -> np.ndarray:
    """Int8["canaries"]: 1 for the highest scores, -1 for the lowest, 0 for the rest.

    Args:
      scores: Float["canaries"], higher for likelier members; ties are broken by position.
      members, others: the numbers of "in" and "out" guesses.

    Raises:
      InputError: for scores that are not finite, or more guesses than canaries.
    """
    values = check_finite("scores", scores)
    members = check_integer("guesses", members, 0)
    others = check_integer("guesses", others, 0)
    if values.ndim != 1 or members + others > values.size:
        raise InputError(
            f"{members} + {others} guesses about scores of shape {values.shape}; there "
            "must be one score a canary and at most one guess"
        )
    order = np.argsort(values, kind="stable")
    guesses = np.zeros(values.size, dtype=np.int8)
    guesses[order[:others]] = -1
    guesses[order[values.size - members :]] = 1
    return guesses


def one_run_bound(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    guesses: Sequence[tuple[int, int]],
    delta: float,
    confidence: float = 0.95,
) -> OneRunBound:
    """Lower bound on epsilon from the scores of one run's canaries.

    Args:
      scores: Float["canaries"], higher for likelier members; computed without ``included``.
      included: Bool["canaries"], fair independent coins.
      guesses: numbers of (in, out) guesses to try, chosen before seeing the scores; they
        share the error probability, and the best bound is returned.
      delta: in [0, 1).
      confidence: in (0, 1).

    Raises:
      InputError: for shapes that differ, no guesses, or parameters out of range.
    """
    confidence = check_interval("confidence", confidence, 0.0, 1.0)
    coins = np.asarray(included)
    if coins.dtype != bool or coins.shape != np.shape(scores):
        raise InputError(
            f"included is {coins.dtype} of shape {coins.shape}; it must be bool, one a "
            f"score, and scores have shape {np.shape(scores)}"
        )
    if not guesses:
        raise InputError("guesses are empty; give at least one pair (in, out)")
    error = (1.0 - confidence) / len(guesses)
    found = []
    for members, others in guesses:
        said = guess_membership(scores, members, others)
        correct = int(np.sum(np.where(coins, said == 1, said == -1)))
        lower = one_run_epsilon(correct, members + others, coins.size, delta=delta, error=error)
        found.append((lower, (members, others), correct))
    lower, pair, correct = max(found, key=lambda one: one[0])
    return OneRunBound(lower, delta, confidence, coins.size, pair, correct, len(guesses))
