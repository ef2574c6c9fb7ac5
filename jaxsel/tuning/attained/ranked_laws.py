"""Tuned laws of finitely many outcomes under a ranking that may have ties."""

import functools
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.repetitions import Repetitions

# Replaces a tuned mass that underflows although the outcome is possible: larger than the
# true mass, so that underflow does not make a privacy loss infinite.
_LEAST = 2.3e-308


class Ranking(NamedTuple):
    """A total preorder of outcomes.

    Attributes:
      order: Int[np.ndarray, "outcomes"], indices of the outcomes, best first.
      tied: Bool[np.ndarray, "outcomes"], whether an entry ties with the one before it.
    """

    order: np.ndarray
    tied: np.ndarray

    @classmethod
    def strict(cls, order: np.ndarray) -> "Ranking":
        """No ties."""
        return cls(order, np.zeros(len(order), dtype=bool))


_nodes = functools.cache(np.polynomial.legendre.leggauss)


def _differences(
    start: np.ndarray,
    mass: np.ndarray,
    gaps: tuple[np.ndarray, np.ndarray],
    tails: tuple[np.ndarray, np.ndarray],
    repetitions: Repetitions,
) -> np.ndarray:
    """f(1 - start) - f(1 - start - mass) from 1 - f and f at both ends.

    Computed from the smaller of f and 1 - f. Where that difference cancels it is the
    integral of f'; an outcome with less than a thousandth of the mass on either side of it
    needs only three nodes.
    """
    law = np.where(gaps[1] < tails[0], gaps[1] - gaps[0], tails[0] - tails[1])
    kept = law / np.maximum(np.minimum(gaps[1], tails[0]), 5e-324)
    for count, chosen in ((3, kept < 1e-3), (24, (kept >= 1e-3) & (kept < 0.01))):
        nodes, weights = _nodes(count)
        low, width = start[chosen][:, None], mass[chosen][:, None]
        u = np.minimum(low + width * (1.0 + nodes) / 2.0, 1.0)
        slope = repetitions.pgf_derivative_tail(u)
        law[chosen] = np.sum(weights * slope, axis=1) * width[:, 0] / 2.0
    return np.where(mass > 0, np.maximum(law, 0.0), 0.0)


def _tail(better: np.ndarray, worse: np.ndarray, repetitions: Repetitions):
    """f(worse), worse = 1 - better, computed from the smaller of the two."""
    near, far = repetitions.pgf_tail(better), repetitions.pgf(worse)
    return np.where(better < 0.5, near, far)


def masses_between(
    start: np.ndarray, mass: np.ndarray, rest: np.ndarray, repetitions: Repetitions
) -> np.ndarray:
    """Probability that the best of K is among outcomes of this mass.

    Args:
      start: Float[np.ndarray, "outcomes"], mass of the better outcomes.
      mass: their own.
      rest: mass of the worse outcomes; the three sum to 1.
      repetitions: law of K.
    """
    end = np.minimum(start + mass, 1.0)
    gaps = repetitions.pgf_gap(start), repetitions.pgf_gap(end)
    tails = _tail(start, mass + rest, repetitions), _tail(end, rest, repetitions)
    return _differences(start, mass, gaps, tails, repetitions)


def tuned_masses(q_best_first: np.ndarray, repetitions: Repetitions) -> np.ndarray:
    """As ``tuned_law``, but faster for many small outcomes."""
    q = q_best_first
    # Masses from the best down and from the worst up, each accurate where it is small.
    edges = np.minimum(np.concatenate([[0.0], np.cumsum(q)]), 1.0)
    worse = np.minimum(np.concatenate([[0.0], np.cumsum(q[::-1])]), 1.0)[::-1]
    gap, tail = repetitions.pgf_gap(edges), _tail(edges, worse, repetitions)
    gaps, tails = (gap[:-1], gap[1:]), (tail[:-1], tail[1:])
    law = _differences(edges[:-1], q, gaps, tails, repetitions)
    return np.append(law, repetitions.probability_zero)


def ranked_law(q: np.ndarray, ranking: Ranking, repetitions: Repetitions) -> np.ndarray:
    """Law of the released outcome, in the order of the ranking; no run last.

    Tied outcomes share the mass of their group in proportion to their own masses.

    Args:
      q: Float["outcomes"], the law of one run.
      ranking: of its outcomes.
      repetitions: law of K.
    """
    masses = q[ranking.order]
    if not np.any(ranking.tied):
        return tuned_masses(masses, repetitions)
    group = np.cumsum(~ranking.tied) - 1
    held = np.bincount(group, masses)
    tuned = tuned_masses(held, repetitions)
    share = masses / np.maximum(held[group], 5e-324)
    return np.append(share * tuned[group], tuned[-1])


def _tuned(side: np.ndarray, ranking: Ranking, repetitions: Repetitions) -> np.ndarray:
    """``ranked_law`` without mass lost to underflow."""
    law = ranked_law(side, ranking, repetitions)
    possible = np.append(side[ranking.order] > 0.0, False)
    law = np.where(possible, np.maximum(law, _LEAST), law)
    return law / law.sum()


def ranked_epsilon(
    first: np.ndarray, second: np.ndarray, ranking: Ranking, repetitions: Repetitions, delta: float
) -> float:
    """Epsilon at delta, in both directions, of the tuned laws under a ranking.

    Exact, or slightly too small if one of two tuned masses underflows.

    Args:
      first, second: the laws of one run.
      ranking: of their outcomes.
      repetitions: law of K.
      delta: where epsilon is taken.
    """
    one, two = (_tuned(side, ranking, repetitions) for side in (first, second))
    return epsilon_at_delta(one, two, delta)
