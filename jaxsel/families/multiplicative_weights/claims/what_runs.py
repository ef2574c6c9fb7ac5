"""Cohen et al. 2022, Theorems 9 and 11: what runs has the constants of the derivations.

The parameters that the mechanisms take, against the text written out here: the sparse
vector of Dwork & Roth 2014 (Theorem 3.23) with a union bound, and Sections 4.2 and 4.3.1.
"""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.entries import repetitive_params, weights_params
from jaxsel.language.base import Budget
from jaxsel.language.checking import Case, equal
from jaxsel.language.domains import number, probability, whole
from jaxsel.language.papers import CL

Queries = Annotated[int, whole("m", at_least=10)]
Beta = Annotated[float, probability("chance of failure")]
Updates = Annotated[int, whole("k, most updates", at_least=1)]
Epsilon = Annotated[float, number("of the whole, pure", above=0.0)]

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


def _each(*, epsilon: Epsilon = 1.0, updates: Updates = 10) -> float:
    """epsilon/(2 k) of a sparse vector, and of an answer, at delta = 0."""
    return epsilon / (2.0 * updates)


def _restart_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon, m, beta, sharp in ((1.0, 60, 0.05, False), (0.4, 500, 0.2, True)):
        made = weights.hardt_rothblum(_CELLS, _ROWS, m, epsilon, 0.0, beta, sharp=sharp)
        found = weights.parameters(made)
        k, g = found["max_updates"], made.gap
        where = f"{epsilon=}, {m=}, {beta=}, {sharp=}"
        # KL(D || h) falls by g^2/4, or 2 g^2, an update.
        most = math.log(_CELLS) / (2.0 * g * g if sharp else g * g / 4.0)
        yield float(min(math.floor(most), m)), k, f"updates, {where}"
        yield (4.0 * g if sharp else g / 2.0), found["rate"], f"learning rate, {where}"
        unit = 1.0 / (_ROWS * _each(epsilon=epsilon, updates=int(k)))
        yield 2.0 * unit, found["threshold_scale"], f"noise on a threshold, {where}"
        yield 4.0 * unit, found["query_scale"], f"noise on a query, {where}"
        yield unit, found["answer_scale"], f"noise on an answer, {where}"
        # Thresholds and queries stay within a and b with beta/3 each.
        a = 2.0 * unit * math.log(3.0 * k / beta)
        b = 4.0 * unit * math.log(3.0 * m / beta)
        yield g + a + b, found["threshold"], f"threshold, {where}"
        yield g + 2.0 * (a + b), made.error, f"alpha, {where}"
    # The catalogue's, of any threshold, rate and k.
    found, unit = weights_params(_ENTRY), 1.0 / (20.0 * _each(epsilon=3.0, updates=2))
    yield 2.0 * unit, found["threshold_scale"], "noise on a threshold, the entry's"
    yield 4.0 * unit, found["query_scale"], "noise on a query, the entry's"
    yield unit, found["answer_scale"], "noise on an answer, the entry's"


def _questions(*, queries: Queries = 60, beta: Beta = 0.05) -> float:
    """M = 2 m + R + 1, R = ceil(3 log(1/beta)/log m): questions at most."""
    return 2.0 * queries + math.ceil(-3.0 * math.log(beta) / math.log(queries)) + 1.0


def _repetitive_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon, m, beta, sharp in ((1.0, 60, 0.05, False), (0.4, 500, 1e-9, True)):
        made = weights.repetitive(_CELLS, _ROWS, m, epsilon, 0.0, beta, sharp=sharp)
        found = weights.parameters(made)
        size = math.log(_questions(queries=m, beta=beta))
        alpha, k = made.error, made.updates
        where = f"{epsilon=}, {m=}, {beta=}, {sharp=}"
        g = alpha / 2.0
        if k < m:
            most = math.log(_CELLS) / (2.0 * g * g if sharp else g * g / 4.0)
            # The solver may leave alpha where one update less would do.
            yield 1.0, float(k >= math.floor(most * (1.0 - 1e-9))), f"k, {where}"
        yield (4.0 * g if sharp else g / 2.0), found["rate"], f"learning rate, {where}"
        gamma = math.log(20.0 / beta) / size
        yield gamma, found["gamma"], f"gamma = log(20/beta)/log M, {where}"
        tests = 5.0 * math.exp(2.0 * size)
        yield tests, found["repetitions"], f"tau = 5 M^2, {where}"
        slips = math.ceil(-3.0 * math.log(beta) / size)
        halt = k + 2 * slips + 1
        yield float(halt), found["max_failures"], f"k' = k + 2 R + 1, {where}"
        yield float(k + slips), found["max_answers"], f"noisy answers k + R, {where}"
        test = (2.0 * halt + gamma) / (epsilon / 2.0) / _ROWS
        answer = (k + slips) / (epsilon / 2.0) / _ROWS
        yield test, found["test_scale"], f"noise of a Test, {where}"
        yield answer, found["answer_scale"], f"noise of an answer, {where}"
        yield alpha, found["threshold"], f"threshold alpha, {where}"
        yield g, found["check_threshold"], f"threshold alpha/2 of a check, {where}"
        yield g, found["distance"], f"d = alpha/2, {where}"
        # d >= 10 log(M) noises, and answers are off by alpha/4 with 5/M^3: the larger.
        least = 20.0 * size * max(test, answer)
        yield 1.0, float(alpha >= least * (1.0 - 1e-9)), f"alpha is enough, {where}"
    # The catalogue's: (2 k' + gamma) Tests share 1.5, two answers 1.5; 20 rows.
    found = repetitive_params(_ENTRY)
    yield 10.5 / 1.5 / 20.0, found["test_scale"], "noise of a Test, the entry's"
    yield 2.0 / 1.5 / 20.0, found["answer_scale"], "noise of an answer, the entry's"


STATEMENTS = (
    CL.identity(
        "CL-Thm9-settings",
        "Theorem 9, with constants",
        "What runs at delta = 0 has half of epsilon for k sparse vectors, with noises "
        "Lap(2/(n epsilon_0)) and Lap(4/(n epsilon_0)), half for k answers, and the rate, "
        "threshold and k of its least error g.",
        _each,
        equal(_restart_cases, 1e-9),
    ),
    CL.identity(
        "CL-Thm11-settings",
        "Theorem 11, with constants",
        "What runs at delta = 0 has gamma = log(20/beta)/log M, tau = 5 M^2, k' = k + 2 R "
        "+ 1, d = alpha/2 and half of epsilon each for (2 k' + gamma) Tests and k + R "
        "answers.",
        _questions,
        equal(_repetitive_cases, 1e-9),
    ),
)
