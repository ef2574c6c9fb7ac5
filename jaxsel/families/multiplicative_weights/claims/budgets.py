"""Claims of Cohen et al. 2022, Theorems 9 and 11: what private multiplicative weights spend.

Short interactions, with the parameters of the catalogue's entries, are checked by the exact law of
the path of updates. The settings for many queries are checked by exact laws of the worst
releases that each part may make, whatever the queries.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from scipy import special

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, exact_epsilon
from jaxsel.families.multiplicative_weights import entries, parameters
from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.laws import hardt_rothblum_law, repetitive_law
from jaxsel.families.selection_and_test.claims.many_tests import randomised_tests
from jaxsel.families.selection_and_test.coin_game_laws import known_chance_rate
from jaxsel.families.selection_and_test.laws import prior, top_after_bottoms
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, in_units, listed
from jaxsel.language.domains import positive
from jaxsel.language.papers import CL

Vector = Annotated[float, positive("epsilon_0 of a sparse vector")]
Answer = Annotated[float, positive("epsilon_a of an answer")]
Test = Annotated[float, positive("epsilon' of a Test")]


@CL.privacy("CL-Thm9-budget", "Theorem 9, pure", Relation.GENERAL)
def updated(*, updates: parameters.Updates = 2, test: Vector = 0.5, answer: Answer = 0.5) -> float:
    """With k sparse vectors, each epsilon_0-DP, and k answers, each epsilon_a-DP, the path of
    updates is k (epsilon_0 + epsilon_a)-DP."""
    return updates * (test + answer)


@CL.privacy("CL-Thm11-budget", "Theorem 11, pure (concurrent composition)", Relation.GENERAL)
def updated_repetitively(
    *,
    failures: parameters.Failures = 3,
    gamma: parameters.Gamma = 1.0,
    test: Test = 0.5,
    answers: parameters.Answers = 2,
    answer: Answer = 0.5,
) -> float:
    """With one repetitive sparse vector, which also rejects answers and halts at k' failed batches
    of Tests, each epsilon'-DP, and with at most k answers, each epsilon_a-DP, the path of updates
    is ((2 k' + gamma) epsilon' + k epsilon_a)-DP."""
    return (2.0 * failures + gamma) * test + answers * answer


def _neighbours(generator: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Two random tables, of which one row lies in another cell, and their number of rows.

    Both have the same queries and the same reference, as the laws of ``laws`` take them.
    """
    cells = int(generator.integers(2, 5))
    counts = generator.integers(1, 4, cells).astype(np.float64)
    other = counts.copy()
    source, target = generator.permutation(cells)[:2]
    other[source] -= 1.0
    other[target] += 1.0
    rows = float(counts.sum())
    queries = np.round(generator.random((2, cells)))
    queries[0] = np.eye(cells)[target]
    tables = [
        {"shares": side / rows, "queries": queries, "reference": counts / rows}
        for side in (counts, other)
    ]
    return tables[0], tables[1], rows


def _loss(
    law: Callable[..., np.ndarray],
    tables: list[dict[str, Any]],
    settings: dict[str, Any],
    queries: int,
) -> float:
    """The exact pure epsilon between the laws of the path of updates on two tables.

    Args:
      law: ``hardt_rothblum_law`` or ``repetitive_law``.
      tables, settings, queries: as the law takes them, with a table for each side.
    """
    found = [law(table, settings, queries, paths=True) for table in tables]
    return exact_epsilon(found[0], found[1])


def _drawn(generator: np.random.Generator, rows: float) -> dict[str, Any]:
    """Random settings of both catalogue entries, by name, from which their parameters are made."""
    return {
        "table": np.array([rows]),  # only the number of rows matters here
        "epsilon": float(generator.uniform(0.5, 8.0)),
        "updates": int(generator.integers(1, 4)),
        "threshold": float(generator.uniform(0.1, 0.6)),
        "rate": float(generator.uniform(0.1, 2.0)),
    }


def _crowded(rows: int, queries: int) -> list[dict[str, Any]]:
    """Two tables of three cells that differ in one moved row, with queries that cost them most.

    The first hypothesis gives each cell a third of the rows. All queries but the last ask for the
    second cell, which holds nearly all other rows: the hypothesis errs, and less after the move.
    The last query asks for the first cell, which holds a third of the rows: the hypothesis is
    right, and errs after the move.
    """
    third = rows // 3
    asked = np.eye(3)[[1] * (queries - 1) + [0]]
    return [
        {"shares": np.array(counts) / rows, "queries": asked} | {"reference": np.full(3, 1.0 / 3.0)}
        for counts in ((third, rows - third - 1, 1), (third + 1, rows - third - 2, 1))
    ]


@updated.bounds()
def restart_updates(budget):
    # Unlikely answers "bottom" and then an update cost all that a sparse vector may. Where the
    # sparse vector has little to spend, the costly part is an answer on the wrong side of the
    # hypothesis'.
    rows, queries = 90, 6
    for test, answer in ((1.0, 0.1), (0.1, 1.0)):
        params = {
            "threshold": 1.0 / 6.0,
            "rate": 0.5,
            "max_updates": 1,
            "threshold_scale": 2.0 / (test * rows),
            "query_scale": 4.0 / (test * rows),
            "answer_scale": 1.0 / (answer * rows),
        }
        loss = _loss(hardt_rothblum_law, _crowded(rows, queries), params, queries)
        yield {"updates": 1, "test": test, "answer": answer}, loss, f"{queries} queries, {params}"
    for generator in budget.draws(30):
        *tables, rows = _neighbours(generator)
        values = _drawn(generator, rows)
        loss = _loss(hardt_rothblum_law, tables, entries.weights_params(values), 3)
        yield entries.weights_shares(values), loss, f"three queries, {values}"
        yield Judged(values["epsilon"], loss, f"three queries, {values}, epsilon itself")


@updated_repetitively.bounds()
def repetitive_updates(budget):
    # An answer on the wrong side of the hypothesis' costs all that an answer may.
    rows = 30
    point = {"failures": 2, "gamma": 1.0, "test": 0.02, "answers": 1, "answer": 1.0}
    params = {
        "threshold": 1.0 / 6.0,
        "check_threshold": 1.0,
        "distance": 0.1,
        "rate": 0.5,
        "repetitions": 5,
        "gamma": point["gamma"],
        "max_failures": point["failures"],
        "max_answers": point["answers"],
        "test_scale": 1.0 / (point["test"] * rows),
        "answer_scale": 1.0 / (point["answer"] * rows),
    }
    yield point, _loss(repetitive_law, _crowded(rows, 1), params, 1), f"one query, {params}"
    for generator in budget.draws(4):
        *tables, rows = _neighbours(generator)
        values = _drawn(generator, rows) | {
            "updates": int(generator.integers(1, 3)),
            "max_failures": int(generator.integers(2, 4)),
            "gamma": float(generator.choice([0.5, 1.0, 2.0])),
            "repetitions": int(generator.choice([1, 5, 50])),
        }
        values["distance"] = values["threshold"] / 2.0
        params = entries.repetitive_params(values)
        params["check_threshold"] = values["threshold"] / 2.0
        loss = _loss(repetitive_law, tables, params, 2)
        yield entries.repetitive_shares(values), loss, f"two queries, {values}"
        yield Judged(values["epsilon"], loss, f"two queries, {values}, epsilon itself")


# --- The settings that are shipped, at (epsilon, delta) ---------------------------------


@CL.privacy("CL-Thm9-privacy", "Theorem 9, with constants", Relation.GENERAL)
def restarts(*, epsilon: parameters.Epsilon = 1.0, delta: parameters.Delta = 1e-6) -> float:
    """With the settings derived for (epsilon, delta) and beta, k sparse vectors and k answers are
    (epsilon, delta)-DP, whatever their mechanisms.

    Returns epsilon of the whole interaction, at delta.
    """
    del delta
    return epsilon


tests = CL.privacy(
    "CL-Thm11-privacy",
    "Theorem 11, with constants (concurrent composition)",
    Relation.GENERAL,
    statement="With the settings derived for (epsilon, delta) and beta, Tests until k' tops and "
    "the answers together are (epsilon, delta)-DP.",
)(restarts.evaluate)


_NAMES = "cells rows queries epsilon delta beta"
_SHIPPED = listed(
    _NAMES,
    (16, 1e4, 60, 1.0, 0.0, 0.05),
    (16, 3e3, 200, 1.0, 1e-6, 0.05),
    (64, 1e3, 300, 0.3, 1e-9, 0.3),
    (4, 100.0, 12, 4.0, 1e-3, 0.01),
)


def _composed_response(*parts: tuple[float, int]) -> pairs.LawPair:
    """The laws of many randomised responses on two neighbours: the worst that pure DP composes to.

    No composition of as many epsilon-DP releases has a larger delta at any level (Kairouz,
    Oh & Viswanath 2015). Only the number of answers of each kind is told apart, which costs as
    much as all answers.

    Args:
      *parts: (epsilon, times) for each kind of release.
    """
    logs = np.zeros((2, 1))
    for epsilon, times in parts:
        count = np.arange(times + 1.0)
        ways = special.gammaln(times + 1.0) - special.gammaln(count + 1.0)
        ways -= special.gammaln(times - count + 1.0)
        rare = -np.log1p(np.exp(epsilon))
        row = ways + times * rare + np.stack([count, times - count]) * epsilon
        logs = (logs[:, :, None] + row[:, None, :]).reshape(2, -1)
    return pairs.LawPair(*np.exp(logs))


def _worst_restarts(found: weights.HardtRothblum, rows: float, delta: float) -> float:
    """The exact epsilon, at delta, of k randomised responses like the sparse vectors and k answers.

    Queries move by 1/n. A sparse vector whose threshold has noise Lap(b) and whose queries have
    noise Lap(c) is therefore 1/(n b) + 2/(n c)-DP (Dwork & Roth 2014, Theorem 3.23).

    Args:
      found: the settings.
      rows: n.
      delta: of (epsilon, delta).
    """
    vector = (1.0 / found.threshold_scale + 2.0 / found.query_scale) / rows
    answer = 1.0 / (rows * found.answer_scale)
    laws = _composed_response((vector, found.updates), (answer, found.updates))
    return epsilon_at_delta(*laws, delta)


def _worst_tests(found: weights.Repetitive, rows: float, delta: float) -> float:
    """The exact epsilon, at delta, of Tests by randomised response until k' tops, and of answers.

    At delta = 0 it is the loss of many bottoms and then k' tops, which comes near the proven
    epsilon. Arguments as of ``_worst_restarts``.
    """
    test, answer = 1.0 / (rows * found.test_scale), 1.0 / (rows * found.answer_scale)
    if delta == 0.0:
        low = 1.0 / (1.0 + math.exp(test))
        bottoms, high = 10**7, low * math.exp(test)
        loss = top_after_bottoms(found.gamma, bottoms, low, found.failures, high)
        loss -= top_after_bottoms(found.gamma, bottoms, high, found.failures, low)
        return loss + found.answers * answer
    count = 3 * found.failures + 40
    nodes = prior(found.gamma, count, found.failures)
    tests = randomised_tests(test, found.failures, count, nodes)
    answers = _composed_response((answer, found.answers))
    laws = [np.outer(np.exp(log), law).ravel() for log, law in zip(tests, answers, strict=True)]
    return epsilon_at_delta(laws[0], laws[1], delta)


@restarts.bounds(_SHIPPED, worst=_worst_restarts, settings=weights.hardt_rothblum)
@tests.bounds(_SHIPPED, worst=_worst_tests, settings=weights.repetitive)
def shipped(cells, rows, queries, epsilon, delta, beta, worst, settings):
    """The exact epsilon of the ``worst`` releases with the shipped settings, sharp or not."""
    for sharp in (False, True):
        found = settings(cells, rows, queries, epsilon, delta, beta, sharp=sharp)
        yield worst(found, rows, delta), f"{sharp=}, {found}"


# --- How delta is divided between the sparse vectors and the answers --------------------


def _spent(each: float, times: int, epsilon: float) -> float:
    """The delta at which several pure releases are epsilon-DP together.

    It is that of the simpler form of Kairouz, Oh & Viswanath 2015, Theorem 3.4; or 0 if the pure
    epsilons add up to no more than epsilon.

    Args:
      each: the pure epsilon of one release.
      times: how many releases there are.
      epsilon: of all of them.
    """
    if times * each <= epsilon * (1.0 + 1e-12):
        return 0.0
    left = epsilon - 0.5 * times * each**2
    return math.exp(-(left**2) / (2.0 * times * each**2))


def _spent_on_tests(each: float, tops: int, gamma: float, epsilon: float) -> float:
    """The delta at which Tests until a number of tops are epsilon-DP, by the best Renyi order.

    Args:
      each: the pure epsilon of one Test.
      tops: how many Tests may answer "top".
      gamma: exponent of the law of p.
      epsilon: of all Tests together.
    """
    if (2.0 * tops + gamma) * each <= epsilon * (1.0 + 1e-12):
        return 0.0
    orders = 1.0 + np.exp(np.linspace(-4.0, 9.0, 4001))
    rates = tops * known_chance_rate(orders, each)
    return float(np.exp(np.min((orders - 1.0) * (rates - epsilon))))


@CL.privacy("CL-Thm9-parts", "Theorem 9, with constants", Relation.GENERAL)
def restart_parts(*, delta: parameters.Delta = 1e-6) -> float:
    """With the settings derived for (epsilon, delta), the delta at which the sparse vectors are
    epsilon/2-DP and the one at which the answers are add up to at most delta (checked in units of
    delta)."""
    return delta


test_parts = CL.privacy(
    "CL-Thm11-parts",
    "Theorem 11, with constants",
    Relation.GENERAL,
    statement="With the settings derived for (epsilon, delta), the delta at which the Tests are "
    "epsilon/2-DP and the one at which the answers are add up to at most delta (checked in units "
    "of delta).",
)(restart_parts.evaluate)


# So many updates that delta buys something.
_SPLIT = listed(
    _NAMES,
    (2**20, 1e6, 10_000, 0.5, 1e-6, 0.05),
    (1024, 3e5, 3_000, 1.0, 1e-3, 0.3),
    (64, 1e6, 50_000, 0.1, 1e-9, 1e-3),
)


def _restart_shares(found: weights.HardtRothblum, rows: float, half: float) -> list[float]:
    """The deltas at which sparse vectors, and answers, are ``half``-DP; ``rows`` is n."""
    each = 2.0 / (rows * found.threshold_scale), 1.0 / (rows * found.answer_scale)
    return [_spent(one, found.updates, half) for one in each]


def _test_shares(found: weights.Repetitive, rows: float, half: float) -> list[float]:
    """The deltas at which the Tests, and the answers, are ``half``-DP; ``rows`` is n."""
    test, answer = 1.0 / (rows * found.test_scale), 1.0 / (rows * found.answer_scale)
    tested = _spent_on_tests(test, found.failures, found.gamma, half)
    return [tested, _spent(answer, found.answers, half)]


@restart_parts.bounds(
    _SPLIT, shares=_restart_shares, settings=weights.hardt_rothblum, tolerance=1e-6
)
@test_parts.bounds(_SPLIT, shares=_test_shares, settings=weights.repetitive, tolerance=1e-6)
def parts_of_delta(cells, rows, queries, epsilon, delta, beta, shares, settings):
    """The sum of the deltas (``shares``) that the parts spend with the shipped settings."""
    for sharp in (False, True):
        found = settings(cells, rows, queries, epsilon, delta, beta, sharp=sharp)
        parts = shares(found, rows, epsilon / 2.0)
        yield in_units(math.fsum(parts)), f"{parts}, {sharp=}, {found}"
