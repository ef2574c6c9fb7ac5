r"""Exact laws of the answers of the repetitive sparse vector.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Algorithm 3. The page with its pseudocode and
with Lemma 3 was not available to us; both are reconstructed from Sections 1.5.2 and
4.1, from the settings of Section 4.2 and from the proof of Lemma 4::

     1  draw p with P[p <= x] = x^gamma, once (Algorithm 1)
     2  c = 0
     3  for each query (f, t), of sensitivity 1:
     4      hypothesis = U
     5      repeat:
     6          W = U if hypothesis == U else V
     7          #   U answers top iff f + Lap(1/epsilon') >= t      (refutes f <~ t)
     8          #   V answers top iff f + Lap(1/epsilon') <= t - d  (refutes f >~ t - d)
     9          for j = 1..tau: if Test(W) = top: the batch fails, leave this loop
    10          if all tau said bottom: answer bottom if W is U, else top; next query
    11          c = c + 1; if c >= k': halt, this query unanswered
    12          hypothesis = the other one

Every line follows from the paper. Line 1: "the pass probability sampled during the initialization".
Lines 7, 8: Section 4.1 defines U and V so. Line 9: "the for loop starting at Line 9" is
the batch; it stops at its first top, else a failed batch would cost more than the one
top that k' counts. Line 4: the proof counts the top answers as the queries with an even
number c_i of batches, so that U comes first. Line 12: "alternate between the two
tests". Line 11: k' = sum (c_i - 1) counts failed batches at the halt, and at most m +
k' batches are run.

Given p, one batch of U passes with chance A = (1 - p u)^tau and one of V with
B = (1 - p v)^tau, u and v being the chances that U and V answer top. Failed batches come in pairs,
one of U and one of V. A query has J such pairs with P[J >= j] = ((1-A)(1-B))^j, and is then
answered bottom with chance A/(A + B - AB), else top after one more failure of U. The laws are found
exactly by a recursion over the number of failures and a quadrature over p.

Levels below are f - t, in units of the sensitivity.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.families.repetitive_sparse_vector.parameters import LargestOrNone
from jaxsel.families.repetitive_sparse_vector.settings import RepetitiveSettings, checked
from jaxsel.host.errors import InputError, check_finite, check_integer
from jaxsel.language.signature import validated

MAX_PATTERN = 10  # the largest number of queries with patterns as events


# --- One query ------------------------------------------------------------------------


def _laplace_tail(x: np.ndarray, rate: float) -> np.ndarray:
    """P[Lap(1/rate) >= x]."""
    with np.errstate(over="ignore", invalid="ignore"):
        half = 0.5 * np.exp(-rate * np.abs(x))
    return np.where(x > 0.0, half, 1.0 - half)


def top_chances(
    levels: npt.ArrayLike, settings: RepetitiveSettings
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities u and v that one Test of U, and one of V, answers top, at levels f - t."""
    x = np.asarray(levels, dtype=np.float64)
    rate = settings.query_epsilon
    return _laplace_tail(-x, rate), _laplace_tail(x + settings.margin, rate)


class Batches(NamedTuple):
    """The probabilities A and B that a batch of U and one of V passes, given p.

    They are kept as logarithms, as A, B, 1 - A and 1 - B may all be tiny.
    """

    log_u: np.ndarray
    log_v: np.ndarray

    @property
    def pass_u(self) -> np.ndarray:
        return np.exp(self.log_u)

    @property
    def pass_v(self) -> np.ndarray:
        return np.exp(self.log_v)

    @property
    def fail_u(self) -> np.ndarray:
        return -np.expm1(self.log_u)

    @property
    def fail_v(self) -> np.ndarray:
        return -np.expm1(self.log_v)

    @property
    def top(self) -> np.ndarray:
        """(1 - A) B/(A + B - AB), the probability of top without a halt, also for tiny A, B."""
        with np.errstate(divide="ignore"):
            return special.expit(np.log(self.fail_u) + self.log_v - self.log_u)

    @property
    def bottom(self) -> np.ndarray:
        """A/(A + B - AB), the probability of bottom without a halt, also for tiny A, B."""
        with np.errstate(divide="ignore"):
            return special.expit(self.log_u - self.log_v - np.log(self.fail_u))


def batches(log_p: np.ndarray, level, settings: RepetitiveSettings) -> Batches:
    """The probabilities that a whole batch of U, and one of V, passes.

    Args:
      log_p: log of p, the chance that a Test is made (else it answers bottom).
      level: f - t, broadcast against log_p.
      settings: of the algorithm.
    """
    u, v = top_chances(level, settings)
    p, tau = np.exp(log_p), float(settings.repetitions)
    with np.errstate(divide="ignore"):
        return Batches(tau * np.log1p(-p * u), tau * np.log1p(-p * v))


def prior(settings: RepetitiveSettings, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes log p of a quadrature over the law of p, and their weights: both Float["nodes"].

    The last node stands for all p below the least one, where the probability that any Test of the
    whole run happens is 1e-19; it is log p = -inf.
    """
    if math.isinf(settings.gamma):
        return np.zeros(1), np.ones(1)
    depth = math.log(settings.repetitions) + math.log(queries + settings.failures) + 44
    gamma = settings.gamma
    depth = min(depth, 740.0 / gamma)  # e^-740 is close to the least float64 number
    nodes, step = panels([-depth, 0.0], min(1.5, 6.0 / gamma))
    weights = np.append(step * gamma * np.exp(gamma * nodes), math.exp(-gamma * depth))
    return np.append(nodes, -np.inf), weights


class QueryLaw(NamedTuple):
    """The law of what happens at the first query.

    Attributes:
      bottom, top, halted: probabilities of the two answers, and of a halt at this query.
      failures: expected number of failed batches, at most k'.
      wasted: probability that the first batches of U and of V both fail. (The one failure of U
        before an answer top is not wasted.)
    """

    bottom: np.ndarray
    top: np.ndarray
    halted: np.ndarray
    failures: np.ndarray
    wasted: np.ndarray


def query_law(
    levels: npt.ArrayLike, settings: RepetitiveSettings, p: npt.ArrayLike | None = None
) -> QueryLaw:
    """The exact law of a first query at each level.

    Args:
      levels: f - t, any shape.
      settings: of the algorithm.
      p: the probability that a Test is made, in (0, 1], broadcast against the levels; None
        averages over the law of p.
    """
    settings, levels = checked(settings), np.asarray(levels, dtype=np.float64)
    if p is None:
        log_p, weights = prior(settings, 1)
    else:
        log_p, weights = np.log(p)[..., None], np.ones(1)
    found = batches(log_p, levels[..., None], settings)
    pair = found.fail_u * found.fail_v
    # 1 - (1-A)(1-B), without cancellation
    ends = found.pass_u + found.fail_u * found.pass_v

    def powers(count: int) -> np.ndarray:
        """1 + r + ... + r^(count - 1)."""
        if count == 0:
            return np.zeros_like(pair)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = -np.expm1(count * np.log1p(-ends)) / ends
        return np.where(ends > 0.0, total, count)

    odd, even = (settings.failures + 1) // 2, settings.failures // 2
    last = found.fail_u if settings.failures % 2 else np.ones_like(pair)
    parts = (
        found.pass_u * powers(odd),
        found.fail_u * found.pass_v * powers(even),
        pair**even * last,
        found.fail_u * powers(odd) + pair * powers(even),
        pair,
    )
    return QueryLaw(*(part @ weights for part in parts))


# --- All answers ----------------------------------------------------------------------


def _answer(alive: np.ndarray, found: Batches):
    """One step of the recursion over queries: what one more query does to the probabilities.

    Args:
      alive: Float["... nodes failures"], the probability of each number of failed batches so far,
        at each node of p.
      found: the batches of this query, at the nodes.

    Returns:
      The part of ``alive`` in which the query is answered bottom, by the number of failures after
      it; the part in which it is answered top; and the probability of a halt, Float["... nodes"].
    """
    size = alive.shape[-1]
    bottom, top = np.zeros_like(alive), np.zeros_like(alive)
    halted = np.zeros(alive.shape[:-1])
    power = np.ones(alive.shape[-2])  # probability of 2 j failed batches
    for done in range(0, size + 1, 2):
        if done < size:
            bottom[..., done:] += alive[..., : size - done] * ((power * found.pass_u)[:, None])
        if done > 0:  # the done-th failure is the last one allowed
            halted += alive[..., size - done] * power
        power = power * found.fail_u
        if done + 1 < size:
            top[..., done + 1 :] += (
                alive[..., : size - done - 1] * ((power * found.pass_v)[:, None])
            )
        if done + 1 <= size:
            halted += alive[..., size - done - 1] * power
        power = power * found.fail_v
    return bottom, top, halted


def pattern_law(levels: npt.ArrayLike, settings: RepetitiveSettings) -> np.ndarray:
    """The exact law of the whole sequence of answers.

    Args:
      levels: Float["queries"], f - t of each query; at most MAX_PATTERN.
      settings: of the algorithm.

    Returns:
      Float[np.ndarray, "2^(queries+1) - 1"], in the order of ``pattern_labels``. Entry 2^n - 1 + b
      is of n answered queries whose answers are the binary digits of b, the first one leading and
      1 for top. If n is less than the number of queries, it halted.
    """
    settings, levels = checked(settings), check_finite("levels", levels)
    if levels.ndim != 1 or levels.size > MAX_PATTERN:
        raise InputError(f"levels must be one list of at most {MAX_PATTERN} numbers")
    log_p, weights = prior(settings, levels.size)
    alive = np.zeros((1, log_p.size, settings.failures))
    alive[0, :, 0] = weights
    law = []
    for level in levels:
        bottom, top, halted = _answer(alive, batches(log_p, level, settings))
        law.append(halted.sum(axis=-1))
        alive = np.stack([bottom, top], axis=1).reshape(-1, *alive.shape[1:])
    return np.concatenate([*law, alive.sum(axis=(-2, -1))])


def pattern_labels(queries: int) -> tuple[str, ...]:
    """Labels of the entries of ``pattern_law``: T is top, - is bottom, # the halt."""
    labels = []
    for answered in range(queries + 1):
        end = "#" if answered < queries else ""
        for bits in range(2**answered):
            text = f"{bits:0{answered}b}" if answered else ""
            labels.append(text.replace("0", "-").replace("1", "T") + end)
    return tuple(labels)


def pattern_chance(
    runs: Sequence[tuple[float, bool, int]],
    settings: RepetitiveSettings,
    halt_level: float | None = None,
) -> float:
    """The exact probability of one sequence of answers, of any length.

    Args:
      runs: in order, runs of equal queries with equal answers: (level, whether the answer is top,
        number of queries).
      settings: of the algorithm.
      halt_level: level of one more query, at which it halts; None if it does not halt there.
    """
    settings = checked(settings)
    size = settings.failures
    total = sum(check_integer("count", count, 0) for _, _, count in runs)
    log_p, weights = prior(settings, max(total, 1))
    alive = np.zeros((log_p.size, size))
    alive[:, 0] = weights
    for level, top, count in runs:
        found = batches(log_p, level, settings)
        inevitable = count if top else 0
        wasted = found.fail_u * found.fail_v
        # The number of wasted pairs is negative binomial, and each top costs one more failure.
        if top:
            term = found.fail_u**count * np.exp(count * found.log_v)
        else:
            term = np.exp(count * found.log_u)
        after = np.zeros_like(alive)
        for pairs in range(size):
            shift = inevitable + 2 * pairs
            if shift >= size:
                break
            after[:, shift:] += alive[:, : size - shift] * term[:, None]
            term = term * wasted * ((count + pairs) / (pairs + 1.0))
        alive = after
    if halt_level is not None:
        found = batches(log_p, halt_level, settings)
        return float(_answer(alive, found)[2].sum())
    return float(alive.sum())


class AnswerCounts(NamedTuple):
    """The exact law of the number of answers top, and of whether the algorithm halts early.

    Attributes:
      completed, halted: Float[np.ndarray, "tops"]: entry i is the probability of i answers top,
        with all queries answered, or with an early halt; the last entry is of so many or more.
      wrong: probability of a wrong answer, if ``answer_counts`` excluded these, else 0.
    """

    completed: np.ndarray
    halted: np.ndarray
    wrong: float


@validated
def answer_counts(
    levels: npt.ArrayLike,
    settings: RepetitiveSettings,
    *,
    largest: LargestOrNone = None,
    right_only: bool = False,
) -> AnswerCounts:
    """The exact law of the number of answers top.

    Args:
      levels: Float["queries"], f - t of each query, in order.
      settings: of the algorithm.
      largest: the number of tops from which on they are not told apart; default k' - 1, the
        largest possible number.
      right_only: whether to exclude what follows a wrong answer, which is bottom at a level above
        0, or top at a level below -d (Lemma 4); ``wrong`` is then the probability of one.
    """
    settings, levels = checked(settings), check_finite("levels", levels)
    if levels.ndim != 1:
        raise InputError("levels must be one list of numbers")
    most = settings.failures - 1
    most = most if largest is None else min(largest, most)
    log_p, weights = prior(settings, levels.size)
    alive = np.zeros((most + 1, log_p.size, settings.failures))
    alive[0, :, 0] = weights
    halted, wrong = np.zeros(most + 1), 0.0
    seen: dict[float, Batches] = {}
    for level in levels.tolist():
        if level not in seen:
            seen[level] = batches(log_p, level, settings)
        bottom, top, stopped = _answer(alive, seen[level])
        halted += stopped.sum(axis=-1)
        if right_only and level > 0.0:
            wrong, bottom = wrong + float(bottom.sum()), np.zeros_like(bottom)
        if right_only and level < -settings.margin:
            wrong, top = wrong + float(top.sum()), np.zeros_like(top)
        alive = bottom
        alive[1:] += top[:-1]
        alive[-1] += top[-1]
    return AnswerCounts(alive.sum(axis=(1, 2)), halted, wrong)
