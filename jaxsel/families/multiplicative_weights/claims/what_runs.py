"""Both mechanisms run with the constants that follow from Cohen et al. 2022, Theorems 9 and 11.

The parameters that the mechanisms take are compared with the derivations, written out here: the
sparse vector of Dwork & Roth 2014 (Theorem 3.23) with a union bound, and Sections 4.2 and 4.3.1
of Cohen et al.
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.entries import repetitive_params, weights_params
from jaxsel.families.multiplicative_weights.parameters import Beta, Epsilon, Updates
from jaxsel.language.checking import Judged
from jaxsel.language.domains import whole
from jaxsel.language.papers import CL

Queries = Annotated[int, whole("m", at_least=10)]

_Numbers = dict[str, tuple[float, float]]

_CELLS, _ROWS = 16, 1e4
_ENTRY = {
    "table": np.array([12.0, 5.0, 3.0]),
    "epsilon": 3.0,
    "updates": 2,
    "threshold": 0.2,
    "rate": 0.5,
    "distance": 0.1,
    "gamma": 2.5,
    "repetitions": 7,
    "max_failures": 4,
}


@CL.identity("CL-Thm9-settings", "Theorem 9, with constants")
def each(*, epsilon: Epsilon = 1.0, updates: Updates = 10) -> float:
    """At delta = 0 the mechanism of Theorem 9 runs with half of epsilon for k sparse vectors, with
    noises Lap(2/(n epsilon_0)) and Lap(4/(n epsilon_0)), half for k answers, and the rate, the
    threshold and the k that follow from g, the least error of a query that updates.

    Returns epsilon/(2 k), the epsilon of one sparse vector and of one answer at delta = 0.
    """
    return epsilon / (2.0 * updates)


def _compared(point: dict[str, float], numbers: Callable[[float], _Numbers], where: str):
    """Cases that compare each number that follows from the claim's with the one that runs.

    Args:
      point: the claim's parameters.
      numbers: from the claim's number to pairs (derived, as it runs), by their names.
      where: the setting in words.
    """
    for what in numbers(10.0):
        yield point, lambda number, what=what: numbers(number)[what], f"{what}, {where}"


def _noises(unit: float, found: dict[str, float]) -> _Numbers:
    """The scales of Theorem 9's noises, derived from ``unit`` = 1/(n epsilon_0) and as they run."""
    return {
        "noise on a threshold": (2.0 * unit, found["threshold_scale"]),
        "noise on a query": (4.0 * unit, found["query_scale"]),
        "noise on an answer": (unit, found["answer_scale"]),
    }


def _restarts(epsilon: float, m: int, beta: float, sharp: bool):
    """Cases of ``settings.hardt_rothblum`` at delta = 0; arguments as there, m being queries."""
    made = weights.hardt_rothblum(_CELLS, _ROWS, m, epsilon, 0.0, beta, sharp=sharp)
    found = weights.parameters(made)
    k, g = found["max_updates"], made.gap

    def numbers(each: float) -> _Numbers:
        unit = 1.0 / (_ROWS * each)
        # KL(D || h) falls by g^2/4, or 2 g^2, an update.
        most = math.log(_CELLS) / (2.0 * g * g if sharp else g * g / 4.0)
        # Thresholds and queries stay within a and b with beta/3 each.
        a = 2.0 * unit * math.log(3.0 * k / beta)
        b = 4.0 * unit * math.log(3.0 * m / beta)
        return _noises(unit, found) | {
            "updates": (float(min(math.floor(most), m)), k),
            "learning rate": (4.0 * g if sharp else g / 2.0, found["rate"]),
            "threshold": (g + a + b, found["threshold"]),
            "alpha": (g + 2.0 * (a + b), made.error),
        }

    yield from _compared(
        {"epsilon": epsilon, "updates": int(k)}, numbers, f"{m=}, {beta=}, {sharp=}"
    )


@each.equals(tolerance=1e-9)
def restart_cases(budget):
    del budget
    for settings in ((1.0, 60, 0.05, False), (0.4, 500, 0.2, True)):
        yield from _restarts(*settings)
    # The catalogue's, of any threshold, rate and k.
    point = {"epsilon": 3.0, "updates": 2}
    found = weights_params(_ENTRY)
    yield from _compared(point, lambda each: _noises(1.0 / (20.0 * each), found), "the entry's")


@CL.identity("CL-Thm11-settings", "Theorem 11, with constants")
def questions(*, queries: Queries = 60, beta: Beta = 0.05) -> float:
    """At delta = 0 the mechanism of Theorem 11 runs with gamma = log(20/beta)/log M, tau = 5 M^2,
    k' = k + 2 R + 1, d = alpha/2 and half of epsilon each for (2 k' + gamma) Tests and k + R
    answers.

    Returns M = 2 m + R + 1, the most questions, where R is ceil(3 log(1/beta)/log m).
    """
    return 2.0 * queries + math.ceil(-3.0 * math.log(beta) / math.log(queries)) + 1.0


def _repetitive(epsilon: float, m: int, beta: float, sharp: bool):
    """Cases of ``settings.repetitive`` at delta = 0; arguments as there, m being queries."""
    made = weights.repetitive(_CELLS, _ROWS, m, epsilon, 0.0, beta, sharp=sharp)
    found = weights.parameters(made)
    alpha, k = made.error, made.updates
    g = alpha / 2.0

    def numbers(questions: float) -> _Numbers:
        size = math.log(questions)
        most = math.log(_CELLS) / (2.0 * g * g if sharp else g * g / 4.0)
        gamma = math.log(20.0 / beta) / size
        slips = math.ceil(-3.0 * math.log(beta) / size)
        halt = k + 2 * slips + 1
        test = (2.0 * halt + gamma) / (epsilon / 2.0) / _ROWS
        answer = (k + slips) / (epsilon / 2.0) / _ROWS
        # alpha must be so large that d = alpha/2 is at least 10 log(M) noises of a Test, and that
        # an answer is off by more than alpha/4 with probability at most 5/M^3.
        least = 20.0 * size * max(test, answer)
        return {
            # The solver's alpha may be so large that one update less would be enough.
            "k": (1.0, float(k == m or k >= math.floor(most * (1.0 - 1e-9)))),
            "learning rate": (4.0 * g if sharp else g / 2.0, found["rate"]),
            "gamma = log(20/beta)/log M": (gamma, found["gamma"]),
            "tau = 5 M^2": (5.0 * math.exp(2.0 * size), found["repetitions"]),
            "k' = k + 2 R + 1": (float(halt), found["max_failures"]),
            "noisy answers k + R": (float(k + slips), found["max_answers"]),
            "noise of a Test": (test, found["test_scale"]),
            "noise of an answer": (answer, found["answer_scale"]),
            "threshold alpha": (alpha, found["threshold"]),
            "threshold alpha/2 of a check": (g, found["check_threshold"]),
            "d = alpha/2": (g, found["distance"]),
            "alpha is enough": (1.0, float(alpha >= least * (1.0 - 1e-9))),
        }

    yield from _compared({"queries": m, "beta": beta}, numbers, f"{epsilon=}, {sharp=}")


@questions.equals(tolerance=1e-9)
def repetitive_cases(budget):
    del budget
    for settings in ((1.0, 60, 0.05, False), (0.4, 500, 1e-9, True)):
        yield from _repetitive(*settings)
    # The catalogue's: (2 k' + gamma) Tests share 1.5, two answers 1.5; 20 rows.
    found = repetitive_params(_ENTRY)
    yield Judged(10.5 / 1.5 / 20.0, found["test_scale"], "noise of a Test, the entry's")
    yield Judged(2.0 / 1.5 / 20.0, found["answer_scale"], "noise of an answer, the entry's")
