"""Exact laws of transcripts of Selection and Test.

Cohen et al. 2022, Algorithm 1. Given p, which is drawn once with P[p <= x] = x^gamma, all calls
are independent, so that the probability of a transcript is an integral over p of a product. The
integral is found by Gauss-Legendre quadrature in log p, or in closed form where there is one.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.families.selection_and_test.parameters import Bottoms, Calls, Gamma, Rounds, TopsOrZero
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.signature import validated

Choose = Callable[[tuple], Any]

_MOST_TERMS = 2 * 10**8  # a few seconds


class Prior(NamedTuple):
    """The nodes of a quadrature over the law of p.

    Attributes:
      p, rest: Float[np.ndarray, "nodes"], p and 1 - p, each accurate where it is small.
      weights: Float[np.ndarray, "nodes"], the probabilities of the nodes; they sum to 1.
    """

    p: np.ndarray
    rest: np.ndarray
    weights: np.ndarray


@validated
def prior(gamma: Gamma, scale: float = 1.0, power: float = 0.0) -> Prior:
    """The nodes of a quadrature over p, for integrands like p^a (1 - p h)^b with h in [0, 1].

    Args:
      gamma: exponent of the law of p, P[p <= x] = x^gamma.
      scale: the largest b that occurs: all potential runs of the Selections, and all Tests.
      power: the largest a that occurs: all Selections that may release a run, and all tops.

    Raises:
      InputError: for a gamma that needs too many nodes.
    """
    # p = e^-x. Integrands that fall to 0 near p = 1 live at p of order (gamma+a)/scale.
    end = math.log1p(scale / gamma) + 40.0 / gamma + 3.0
    width = min(1.0, 6.0 / (gamma + power))
    if end / width > 20_000:
        raise InputError(f"gamma is {gamma:g}; the exact law needs a gamma nearer to 1 than this")
    nodes, steps = panels([0.0, end], width)
    weights = steps * gamma * np.exp(-gamma * nodes)
    return Prior(np.exp(-nodes), -np.expm1(-nodes), weights / weights.sum())


class SelectionCall(NamedTuple):
    """One call of Selection.

    Attributes:
      laws: Float["branches candidates outcomes"], each candidate's law over common
        outcomes, best first; which branch is called may depend on the transcript so far.
      rounds: Int["candidates"], the number of potential runs of each candidate (tau).
    """

    laws: np.ndarray
    rounds: np.ndarray


class RowOfTests(NamedTuple):
    """Consecutive Tests of one H, until ``stop`` of them answered top.

    Attributes:
      tops: Float["branches"], the probability that H answers top.
      count: the largest number of Tests.
      stop: the number of tops after which the row ends.
    """

    tops: np.ndarray
    count: int
    stop: int


class Transcripts(NamedTuple):
    """A law of transcripts.

    Attributes:
      probabilities: Float["transcripts"].
      outcomes: Int["transcripts calls"], the outcome of each call: of a Selection the index of the
        best run's outcome (0 is the best), or the number of outcomes if there was no run; of Tests
        the number of tops.
    """

    probabilities: np.ndarray
    outcomes: np.ndarray


def selection_chances(
    candidate_laws: np.ndarray, rounds: npt.ArrayLike, nodes: Prior
) -> np.ndarray:
    """The law of the outcome of one Selection, at every p.

    Args:
      candidate_laws: Float["candidates outcomes"], best outcome first.
      rounds: tau, of all or of each of the candidates.
      nodes: the values of p.

    Returns:
      Float["outcomes+1 nodes"]: the chance that the best run has each outcome; last, that there is
      no run.
    """
    q = np.asarray(candidate_laws, dtype=np.float64)
    rounds = np.broadcast_to(np.asarray(rounds, dtype=np.float64), q.shape[:1])
    # A run does not give a better outcome with probability 1 - p (mass of better outcomes), which
    # is computed as rest + p (mass of this outcome and of worse ones), without subtraction.
    worse = np.cumsum(q[:, ::-1], axis=1)[:, ::-1]  # this outcome or a worse one
    log_not_better = np.zeros((q.shape[1], nodes.p.size))
    log_step = np.zeros_like(log_not_better)
    for law, tail, tau in zip(q, worse, rounds, strict=True):
        stay = nodes.rest + nodes.p * tail[:, None]
        with np.errstate(divide="ignore"):
            log_not_better += tau * np.log(stay)
            log_step += tau * np.log1p(-np.minimum(nodes.p * law[:, None] / stay, 1.0))
    chances = -np.exp(log_not_better) * np.expm1(log_step)
    return np.vstack([chances, np.exp(rounds.sum() * np.log(nodes.rest))])


def row_chances(top: float, count: int, stop: int, nodes: Prior) -> np.ndarray:
    """The law of the number of tops in a row of Tests, at every p.

    Args:
      top: the probability that H answers top.
      count: the largest number of Tests.
      stop: the number of tops after which the row ends.
      nodes: the values of p.

    Returns:
      Float["stop+1 nodes"]: the chance of each number of tops; the last, of ``stop`` tops.
    """
    hit, stay = nodes.p * top, nodes.rest + nodes.p * (1.0 - top)
    tops = np.arange(stop)[:, None]
    with np.errstate(divide="ignore"):
        log_chance = (
            special.gammaln(count + 1.0)
            - special.gammaln(tops + 1.0)
            - special.gammaln(np.maximum(count - tops, 0) + 1.0)
            + special.xlogy(tops, hit)
            + special.xlogy(np.maximum(count - tops, 0), stay)
        )
    fewer = np.where(tops <= count, np.exp(log_chance), 0.0)
    if stop > count:
        reached = np.zeros_like(hit)
    else:
        reached = special.betainc(stop, count - stop + 1.0, np.minimum(hit, 1.0))
    return np.vstack([fewer, reached])


def first_branch(outcomes: tuple) -> int:
    """Chooses branch 0 always: the default of ``choose``, for programs without branches."""
    del outcomes
    return 0


def transcript_law(
    calls: Sequence[SelectionCall | RowOfTests],
    gamma: float,
    *,
    limit: int | None = None,
    choose: Choose = first_branch,
) -> Transcripts:
    """The exact law of the transcript of a fixed, possibly adaptive, program of calls.

    Args:
      calls: in order.
      gamma: exponent of the law of p.
      limit: the number of tops in all calls together after which the program halts; later calls
        have outcome 0. None: it never halts early.
      choose: outcomes so far -> branch of the next call.

    Returns:
      All transcripts in lexicographic order; impossible ones have probability 0.
    """
    scale = sum(
        float(np.sum(call.rounds)) if isinstance(call, SelectionCall) else call.count
        for call in calls
    )
    power = sum(1 if isinstance(call, SelectionCall) else call.stop for call in calls)
    nodes = prior(gamma, scale, power)
    sizes = [
        call.laws.shape[2] + 1 if isinstance(call, SelectionCall) else call.stop + 1
        for call in calls
    ]
    most = sum(sizes) if limit is None else limit
    result = np.zeros(sizes)
    cache: dict[tuple, np.ndarray] = {}

    def chances(place: int, branch: int, stop: int) -> np.ndarray:
        if (place, branch, stop) not in cache:
            call = calls[place]
            if isinstance(call, SelectionCall):
                found = selection_chances(call.laws[branch], call.rounds, nodes)
            else:
                found = row_chances(float(call.tops[branch]), call.count, stop, nodes)
            cache[place, branch, stop] = found
        return cache[place, branch, stop]

    def walk(done: tuple[int, ...], tops: int, alive: np.ndarray) -> None:
        if len(done) == len(calls):
            result[done] = alive.sum()
            return
        call = calls[len(done)]
        if tops >= most:
            walk((*done, 0), tops, alive)
            return
        is_test = isinstance(call, RowOfTests)
        stop = min(call.stop, most - tops) if is_test else 0
        table = chances(len(done), int(choose(done)), stop)
        for outcome, row in enumerate(table):
            walk((*done, outcome), tops + outcome * is_test, alive * row)

    walk((), 0, nodes.weights)
    outcomes = np.stack(np.unravel_index(np.arange(result.size), sizes), axis=1)
    return Transcripts(result.ravel(), outcomes)


@validated
def repeated_selection_law(
    q_best_first: npt.ArrayLike, rounds: Rounds, gamma: Gamma, calls: Calls
) -> np.ndarray:
    """The exact law of how often each outcome occurs in c equal Selections of one candidate.

    Transcripts in which each outcome occurs equally often are equally likely, on every data set.
    So a divergence of two of these laws equals that of the laws of the transcripts.

    Args:
      q_best_first: Float["outcomes"], law of the candidate, best outcome first.
      rounds: tau, potential runs in a Selection.
      gamma: exponent of the law of p.
      calls: c, how many Selections.

    Returns:
      Float["multisets"]: the probability of each multiset of c outcomes, where "no run" is the last
      outcome, in the order of itertools.combinations_with_replacement.
    """
    q = check_probability_vector("q_best_first", q_best_first)
    nodes = prior(gamma, rounds * calls, calls)
    table = selection_chances(q[None], rounds, nodes)
    with np.errstate(divide="ignore"):
        log_table = np.maximum(np.log(table), -1e30)
    size = table.shape[0]
    # With many calls the number of transcripts, calls^outcomes and more, may be no float.
    transcripts = math.comb(size + calls - 1, size - 1)
    if transcripts * nodes.p.size > _MOST_TERMS:
        raise InputError(
            f"calls is {calls}; the exact law of so many has too many transcripts: take fewer"
        )
    chosen = np.array(list(itertools.combinations_with_replacement(range(size), calls)), dtype=int)
    counts = np.stack([(chosen == i).sum(axis=1) for i in range(size)], axis=1)
    orders = special.gammaln(calls + 1.0) - special.gammaln(counts + 1.0).sum(axis=1)
    found = [
        np.exp(part @ log_table) @ nodes.weights
        for part in np.array_split(counts, max(1, len(counts) // 1024))
    ]
    return np.exp(orders) * np.concatenate(found)


@validated
def top_after_bottoms(
    gamma: Gamma, bottoms: Bottoms, top: float, tops: TopsOrZero = 0, last: float = 1.0
) -> float:
    r"""The log probability that n Tests answer bottom and then c Tests answer top.

    It is the logarithm of the closed form

    .. math:: E[(1-ph)^n (p h')^c] = \gamma h^{-(\gamma+c)} B(\gamma+c, n+1)
        I_h(\gamma+c, n+1) h'^c

    Args:
      gamma: exponent of the law of p.
      bottoms: n, the number of Tests that answer bottom.
      top: h in [0, 1], the chance that their H answers top.
      tops: c, the number of Tests that answer top after them.
      last: h' in (0, 1], the chance that their H answers top.
    """
    share = math.log(gamma) - math.log(gamma + tops) + tops * math.log(last)
    if bottoms == 0:
        return share
    # The mean of (1 - p h)^n under the exponent gamma + c is f'(1 - h) over the mean, where f is
    # the generating function of the beta-binomial law with n + 1 runs and exponent gamma + c - 1.
    # Its logarithm is at hand, and does not underflow.
    if gamma + tops > 1.0:
        law = laws.beta_binomial(bottoms + 1, gamma + tops - 1.0)
        return share + float(law.log_pgf_derivative_tail(top)) - math.log(law.mean)
    law = laws.beta_binomial(bottoms, gamma + tops)
    return share + math.log(float(law.pgf_tail(top)))
