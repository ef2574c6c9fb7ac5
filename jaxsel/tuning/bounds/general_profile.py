"""The general bound for finite bases and any K (Koskela, Redberg & Wang 2024, Section 4).

Outcomes are listed best first; u is the mass of better outcomes on the first side, u' on
the second, and f the generating function of K. Ties inside an outcome are broken by an
independent uniform score, after which (u, u') runs along straight lines, one an outcome.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.generic import correct_for_no_runs, generic_pair_epsilon

# Parts of an outcome on the logit scale: 4e-18 to 1 - 2e-16 of it, and both ends.
_LOGITS = (-40.0, 36.0)


class _Outcomes(NamedTuple):
    """Masses of the outcomes and of all better ones, on both sides."""

    first: np.ndarray
    second: np.ndarray
    better_first: np.ndarray
    better_second: np.ndarray


def _outcomes(first: npt.ArrayLike, second: npt.ArrayLike) -> _Outcomes:
    p = check_probability_vector("first", first)
    r = check_probability_vector("second", second)
    if p.shape != r.shape:
        raise InputError(f"first has {p.size} outcomes, second {r.size}; give as many")
    p, r = p / p.sum(), r / r.sum()
    seen = (p > 0) | (r > 0)
    p, r = p[seen], r[seen]
    return _Outcomes(
        p, r, np.concatenate([[0.0], np.cumsum(p)[:-1]]), np.concatenate([[0.0], np.cumsum(r)[:-1]])
    )


def _along(outcomes: _Outcomes, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(u, u') after that part of each outcome; the outcomes are the last axis."""
    u = outcomes.better_first + outcomes.first * part
    v = outcomes.better_second + outcomes.second * part
    return np.minimum(u, 1.0), np.minimum(v, 1.0)


def _no_run(epsilon: float, repetitions: Repetitions) -> float:
    """The contribution of the outcome "no run": (1 - e^epsilon)_+ P[K = 0]."""
    return -repetitions.probability_zero * float(np.expm1(min(epsilon, 0.0)))


def general_hockey_stick(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    repetitions: Repetitions,
    *,
    steps: int = 44,
) -> np.ndarray:
    """A bound on the hockey-stick divergence of the tuned laws, by Theorem 4.1.

    The sum over outcomes y of sup (Q(y) f'(q) - e^epsilon Q'(y) f'(q'))_+, the supremum
    being over the pairs (q, q') of masses of the worse outcomes, ties broken anyhow, as
    in the proof; it is found for each y on a grid and by golden-section search. "No run"
    adds (1 - e^epsilon)_+ P[K = 0].

    Args:
      first, second: the two base laws, best outcome first.
      epsilon: any real numbers, any shape.
      repetitions: law of K.
      steps: of the golden-section search; with 0, the supremum over the grid, which can
        only be smaller.

    Returns:
      A bound on the hockey-stick divergence of the tuned laws, at most 1, in the shape
      of epsilon.

    Raises:
      InputError: if a law is no probability vector or the lengths differ.
    """
    outcomes = _outcomes(first, second)
    epsilon = np.asarray(epsilon, dtype=np.float64)

    def at(level: float) -> float:
        weight = np.exp(level)

        def objective(part: np.ndarray) -> np.ndarray:
            # Rows: the outcome y of the sum; columns: the position of (q, q').
            a, b = (repetitions.pgf_derivative_tail(u) for u in _along(outcomes, part))
            return weight * outcomes.second[:, None] * b - outcomes.first[:, None] * a

        least = np.minimum(objective(np.asarray(0.0)), objective(np.asarray(1.0)))
        inner = minimise(lambda z: objective(special.expit(z)), *_LOGITS, count=129, steps=steps)[1]
        least = np.minimum(least, inner).min(axis=1)
        total = float(np.sum(np.maximum(-least, 0.0))) + _no_run(level, repetitions)
        return min(1.0, total)

    values = [at(float(level)) for level in epsilon.ravel()]
    return np.array(values).reshape(epsilon.shape)[()]


def general_renyi(
    first: npt.ArrayLike, second: npt.ArrayLike, order: npt.ArrayLike, repetitions: Repetitions
) -> np.ndarray:
    """A bound on the Renyi divergence of the tuned laws, by Theorem 4.1 with f(z) = z^order.

    Here each outcome has the same worst (q, q'), so that the sum is a product, and
    Remark 4.2 an equality: the bound is Lemma 7 of Papernot & Steinke (2022). "No run"
    adds P[K = 0] to exp((order - 1) D).

    Args:
      first, second: the two base laws, best outcome first.
      order: > 1, any shape.
      repetitions: law of K.
    """
    bound = generic_pair_epsilon(order, first, second, repetitions, corrected=False)
    return correct_for_no_runs(order, bound, repetitions.probability_zero)


def _pieces(
    outcomes: _Outcomes, epsilon: float, repetitions: Repetitions, count: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Intervals of parts of outcomes in which the tuned loss does not cross epsilon.

    Yields (start, end), Float[np.ndarray, "cells outcomes"].
    """
    grid = np.concatenate([[0.0], special.expit(np.linspace(*_LOGITS, count)), [1.0]])

    def excess(part: np.ndarray) -> np.ndarray:
        u, v = _along(outcomes, part)
        with np.errstate(divide="ignore", invalid="ignore"):
            base = np.log(outcomes.first) - np.log(outcomes.second)
            slopes = repetitions.log_pgf_derivative_tail(u) - repetitions.log_pgf_derivative_tail(v)
        return base + slopes - epsilon

    knots = np.broadcast_to(grid[:, None], (grid.size, outcomes.first.size))
    above = excess(knots) > 0.0
    low, high = knots[:-1].copy(), knots[1:].copy()
    crosses = above[:-1] != above[1:]
    for _ in range(80):
        middle = 0.5 * (low + high)
        same = (excess(middle) > 0.0) == above[:-1]
        low = np.where(crosses & same, middle, low)
        high = np.where(crosses & ~same, middle, high)
    cut = np.where(crosses, high, knots[1:])
    yield knots[:-1], cut
    yield cut, knots[1:]


def refined_hockey_stick(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    repetitions: Repetitions,
    *,
    count: int = 257,
) -> np.ndarray:
    """Exact hockey-stick divergence of the tuned laws, ties broken (Theorem B.2).

    The tie-breaking score is released too, so that the answer is at least the
    divergence of tuned_law, which is a function of the outputs, and at most
    general_hockey_stick. The integral of A - e^epsilon A' over {A > e^epsilon A'} is a
    sum of differences of generating functions between the roots of the loss, which are
    found by bisection.

    Args:
      first, second: the two base laws, best outcome first.
      epsilon: any real numbers, any shape.
      repetitions: law of K.
      count: points inside each outcome, between which at most one root is searched.

    Returns:
      The divergence, to about 1e-12, in the shape of epsilon; "no run" included.

    Raises:
      InputError: if a law is no probability vector or the lengths differ.
    """
    outcomes = _outcomes(first, second)
    epsilon = np.asarray(epsilon, dtype=np.float64)

    def at(level: float) -> float:
        total = _no_run(level, repetitions)
        for start, end in _pieces(outcomes, level, repetitions, count):
            gaps = [
                repetitions.pgf_gap(right) - repetitions.pgf_gap(left)
                for left, right in zip(_along(outcomes, start), _along(outcomes, end), strict=True)
            ]
            part = gaps[0] - np.exp(level) * gaps[1]
            total += float(np.sum(np.maximum(part, 0.0)))
        return total

    values = [at(float(level)) for level in epsilon.ravel()]
    return np.array(values).reshape(epsilon.shape)[()]
