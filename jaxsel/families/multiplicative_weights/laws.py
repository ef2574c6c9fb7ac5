"""Exact laws of short interactions with private multiplicative weights.

An interaction is a path in a tree with three branches at each query: the hypothesis is not
updated, or it is updated by a noisy answer below its own answer, or by one that is not below.
The probability of each branch is an integral over a single noise or over p, so that the law of m
queries on 3^m paths is computed exactly.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.families.multiplicative_weights.updates import updated
from jaxsel.families.sparse_vector.halting_law import halting_law

_REACH = 38.0  # scales of Laplace noise, beyond which the tail is below 1e-16
TIE = 1e-12  # shares that differ by less are equal to the worst-case analyst, despite rounding


def _question(table: Mapping[str, Any], analyst: str) -> Callable[..., np.ndarray]:
    """The analyst as a function (h, i) -> query number i, Float["cells"]."""
    queries, reference = table["queries"], table["reference"]
    if analyst == "worst":
        return lambda h, i: (reference - h > TIE).astype(np.float64)
    return lambda h, i: queries[i % len(queries)]


def _laplace_below(x: float, scale: float) -> float:
    """P[Lap(scale) < x]."""
    half = 0.5 * np.exp(-abs(x) / scale)
    return float(1.0 - half if x > 0.0 else half)


def _events(law: np.ndarray, queries: int, paths: bool) -> np.ndarray:
    """The law of paths as it is, or the law of the number of updates that follows from it.

    Args:
      law: Float["3^m"], of the paths in base 3.
      queries: m.
      paths: whether the law of paths is wanted.
    """
    if paths:
        return law
    digits = np.arange(3**queries)
    count = sum((digits // 3**place % 3 > 0).astype(int) for place in range(queries))
    return np.bincount(count, weights=law, minlength=queries + 1)


def hardt_rothblum_law(
    table: Mapping[str, Any],
    settings: Mapping[str, Any],
    queries: int,
    *,
    analyst: str = "pool",
    paths: bool = False,
) -> np.ndarray:
    """The exact law of the updates that the mechanism of Theorem 9 makes.

    Args:
      table: "shares" and "reference", Float["cells"]; "queries", Float["pool cells"]; as
        ``universe.prepare_universe`` makes them.
      settings: "threshold", "rate", "threshold_scale", "query_scale", "answer_scale" and
        "max_updates".
      queries: m, a small number, since all 3^m paths are enumerated.
      analyst: "pool" or "worst"; see ``universe.next_query``.
      paths: whether to return the law of paths instead of that of the number of updates.

    Returns:
      Float64["3^m"], by the path as a number in base 3 (``universe.Interaction``); or
      Float64["m+1"], by the number of updates.
    """
    shares, ask = table["shares"], _question(table, analyst)
    law = np.zeros(3**queries)

    def walk(start: int, h: np.ndarray, done: int, path: int, weight: float) -> None:
        """Adds the paths that reach query ``start`` with probability ``weight`` to the law.

        Args:
          start: number of the next query.
          h: the hypothesis.
          done: how many updates were made.
          path: the digits so far, in base 3.
          weight: probability of these digits.
        """
        rest = queries - start
        if rest == 0 or done == settings["max_updates"]:
            law[path * 3**rest] += weight
            return
        asked = [ask(h, i) for i in range(start, queries)]
        errors = [float(q @ (shares - h)) for q in asked]
        chances = halting_law(
            [abs(error) - float(settings["threshold"]) for error in errors],
            float(settings["query_scale"]),
            float(settings["threshold_scale"]),
        )
        law[path * 3**rest] += weight * chances[-1]
        for step, (query, error) in enumerate(zip(asked, errors, strict=True)):
            below = _laplace_below(-error, float(settings["answer_scale"]))
            code = path * 3 ** (step + 1)
            for digit, chance, penalty in ((1, below, query), (2, 1.0 - below, 1.0 - query)):
                new = updated(h, penalty, float(settings["rate"]))
                reached = weight * chances[step] * chance
                walk(start + step + 1, new, done + 1, code + digit, reached)

    walk(0, np.full(shares.size, 1.0 / shares.size), 0, 0, 1.0)
    return _events(law, queries, paths)


# --- With the repetitive sparse vector -------------------------------------------------


class _SparseVector:
    """The repetitive sparse vector (Cohen et al. 2022, Algorithm 3), at many values of p at once.

    All questions of an interaction share p, over which the law is integrated. ``log_p`` and
    ``weights`` are the nodes and weights of this quadrature.
    """

    def __init__(self, settings: Mapping[str, Any]):
        self.distance = float(settings["distance"])
        self.scale = float(settings["test_scale"])
        self.tau = float(settings["repetitions"])
        gamma = float(settings["gamma"])
        # A smaller p than e^-depth is as good as 0: then a batch fails with probability tau p at
        # most, and so small a p has itself the probability p^gamma.
        depth = (40.0 + np.log(self.tau)) / (1.0 + gamma)
        nodes, step = panels([-depth, 0.0], min(2.0, 6.0 / gamma))
        self.log_p = np.append(nodes, -np.inf)
        self.weights = np.append(step * gamma * np.exp(gamma * nodes), np.exp(-gamma * depth))

    def batches(self, level: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """The log-probabilities that a batch passes: log A and log B, Float["... nodes"].

        A batch is up to tau Tests of one hypothesis, and passes if none of them refutes it. A is
        for "the value is below the threshold", B for "it is above threshold - distance".

        Args:
          level: Float["..."], the tested values minus their threshold.
        """

        def tail(x):
            half = 0.5 * np.exp(-np.abs(x) / self.scale)
            return np.where(x > 0.0, half, 1.0 - half)

        level = np.asarray(level)[..., None]
        p = np.exp(self.log_p)
        with np.errstate(divide="ignore"):
            log_a = self.tau * np.log1p(-p * tail(-level))
            log_b = self.tau * np.log1p(-p * tail(level + self.distance))
        return log_a, log_b

    def answers(self, level: npt.ArrayLike, most: int) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities that a question is answered after so many failed batches.

        Args:
          level: Float["..."], the tested values minus their threshold.
          most: k', the number of failed batches at which the sparse vector halts.

        Returns:
          Float["... nodes most"] for the answer "bottom", and the same for "top": entry f of the
          last axis is the probability of this answer after f failed batches.
        """
        log_a, log_b = self.batches(level)
        fail_a, fail_b = -np.expm1(log_a), -np.expm1(log_b)
        bottom = np.zeros((*log_a.shape, most))
        top = np.zeros_like(bottom)
        power = np.ones_like(log_a)
        for failures in range(most):
            if failures % 2 == 0:
                bottom[..., failures] = power * np.exp(log_a)
                power = power * fail_a
            else:
                top[..., failures] = power * np.exp(log_b)
                power = power * fail_b
        return bottom, top


def _convolved(alive: np.ndarray, more: np.ndarray) -> np.ndarray:
    """The law of the failed batches in all, after a question; sums that reach k' are dropped.

    Args:
      alive: Float["... failures"], the law of the failed batches so far.
      more: Float["... failures"], that of the failed batches of the question.
    """
    total = np.zeros_like(alive)
    size = alive.shape[-1]
    for failures in range(size):
        total[..., failures:] += alive[..., : size - failures] * more[..., failures : failures + 1]
    return total


def repetitive_law(
    table: Mapping[str, Any],
    settings: Mapping[str, Any],
    queries: int,
    *,
    analyst: str = "pool",
    paths: bool = False,
) -> np.ndarray:
    """The exact law of the updates that the mechanism of Theorem 11 makes.

    Arguments and result as of ``hardt_rothblum_law``, with the settings of
    ``repetitive.repetitive``.
    """
    shares, ask = table["shares"], _question(table, analyst)
    vector = _SparseVector(settings)
    most, drawn = int(settings["max_failures"]), int(settings["max_answers"])
    scale = float(settings["answer_scale"])
    law = np.zeros(3**queries)

    # Quadrature over the noise of an answer, split at the kinks of its question's
    # probabilities.
    reach = _REACH * scale
    check, half = float(settings["check_threshold"]), vector.distance / 2.0
    edges = np.array([0.0, check, check - half, check - 2.0 * half, reach])
    width = min(scale, vector.scale)

    def draw(guess: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What becomes of one noisy answer, by the batches that fail while it is checked.

        Args:
          guess: the hypothesis' answer minus the true one.

        Returns:
          The probabilities that it is rejected, accepted below the hypothesis' answer, and
          accepted above it, each Float["nodes failures"].
        """
        cuts = np.concatenate([edges, -edges, [guess]])
        nodes, step = panels(cuts[np.abs(cuts) <= reach], width)
        weights = step * np.exp(-np.abs(nodes) / scale) / (2.0 * scale)
        bottom, top = vector.answers(np.abs(nodes) - check, most)
        low = nodes < guess
        return (
            np.einsum("v,vpf->pf", weights, top),
            np.einsum("v,vpf->pf", weights[low], bottom[low]),
            np.einsum("v,vpf->pf", weights[~low], bottom[~low]),
        )

    def walk(i: int, h: np.ndarray, path: int, alive: np.ndarray) -> None:
        """Adds the paths that have reached query i to the law.

        Args:
          i: number of the next query.
          h: the hypothesis.
          path: the digits so far, in base 3.
          alive: Float["nodes failures answers"], the probability of having reached it with so many
            failed batches and so many noisy answers drawn, at each node of p.
        """
        if i == queries:
            law[path] += alive.sum()
            return
        query = ask(h, i)
        error = float(query @ (shares - h))
        bottom, top = vector.answers(abs(error) - float(settings["threshold"]), most)
        passed = np.moveaxis(alive, -1, 0)  # answers, nodes, failures
        still = _convolved(passed, bottom)
        walk(i + 1, h, path * 3, np.moveaxis(still, 0, -1))
        rounds = _convolved(passed, top)
        rejected, low, high = draw(-error)
        accepted = [np.zeros_like(rounds), np.zeros_like(rounds)]
        for count in range(drawn):
            waiting = rounds[count]
            accepted[0][count + 1] += _convolved(waiting, low)
            accepted[1][count + 1] += _convolved(waiting, high)
            rounds[count + 1] += _convolved(waiting, rejected)
        lost = alive.sum() - still.sum() - accepted[0].sum() - accepted[1].sum()
        law[path * 3 ** (queries - i)] += lost  # halted: no more updates
        for digit, part, penalty in ((1, accepted[0], query), (2, accepted[1], 1.0 - query)):
            new = updated(h, penalty, float(settings["rate"]))
            walk(i + 1, new, path * 3 + digit, np.moveaxis(part, 0, -1))

    start = np.zeros((vector.weights.size, most, drawn + 1))
    start[:, 0, 0] = vector.weights
    walk(0, np.full(shares.size, 1.0 / shares.size), 0, start)
    return _events(law, queries, paths)
