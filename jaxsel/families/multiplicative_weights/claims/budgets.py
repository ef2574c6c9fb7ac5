"""Cohen et al. 2022, Theorems 9 and 11: budgets of private multiplicative weights.

By exact laws of the path of updates in short interactions.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Relation
from jaxsel.checking import Case, at_most
from jaxsel.domains import positive, whole
from jaxsel.families.multiplicative_weights.laws import (
    hardt_rothblum_law,
    repetitive_law,
)
from jaxsel.papers import CL

Updates = Annotated[int, whole("k, most updates", at_least=1)]
Vector = Annotated[float, positive("epsilon_0 of a sparse vector")]
Answer = Annotated[float, positive("epsilon_a of an answer")]
Failures = Annotated[int, whole("k', failed batches at which it halts", at_least=1)]
Gamma = Annotated[float, positive("exponent of the law of p")]
Test = Annotated[float, positive("epsilon' of a Test")]
Answers = Annotated[int, whole("k, noisy answers at most", at_least=1)]


def _budget(*, updates: Updates = 2, test: Vector = 0.5, answer: Answer = 0.5) -> float:
    """epsilon of k sparse vectors and k answers, k (epsilon_0 + epsilon_a)."""
    return updates * (test + answer)


def _budget_repetitive(
    *,
    failures: Failures = 3,
    gamma: Gamma = 1.0,
    test: Test = 0.5,
    answers: Answers = 2,
    answer: Answer = 0.5,
) -> float:
    """epsilon (2 k' + gamma) epsilon' of the sparse vector and the answers' k epsilon_a."""
    return (2.0 * failures + gamma) * test + answers * answer


def _neighbours(
    generator: np.random.Generator,
) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Two tables that differ in a row, with the same queries, and their size."""
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
    found = [law(table, settings, queries, paths=True) for table in tables]
    return exact_epsilon(found[0], found[1])


def _budgets(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 30)):
        *tables, rows = _neighbours(generator)
        test, answer = (float(x) for x in generator.uniform(0.2, 3.0, 2))
        most = int(generator.integers(1, 3))
        settings = {
            "threshold": float(generator.uniform(0.0, 0.6)),
            "rate": float(generator.uniform(0.1, 2.0)),
            "max_updates": most,
            "threshold_scale": 2.0 / (rows * test),
            "query_scale": 4.0 / (rows * test),
            "answer_scale": 1.0 / (rows * answer),
        }
        loss = _loss(hardt_rothblum_law, tables, settings, 3)
        where = f"{rows:g} rows, three queries, {test=!r}, {answer=!r}, {most=}"
        yield _budget(updates=most, test=test, answer=answer), loss, where


def _budgets_repetitive(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 4)):
        *tables, rows = _neighbours(generator)
        test, answer = (float(x) for x in generator.uniform(0.2, 2.0, 2))
        spent = {
            "failures": int(generator.integers(2, 4)),
            "gamma": float(generator.choice([0.5, 1.0, 2.0])),
            "answers": int(generator.integers(1, 3)),
        }
        threshold = float(generator.uniform(0.1, 0.5))
        settings = {
            "threshold": threshold,
            "check_threshold": threshold / 2.0,
            "distance": threshold / 2.0,
            "rate": float(generator.uniform(0.1, 2.0)),
            "gamma": spent["gamma"],
            "repetitions": int(generator.choice([1, 5, 50])),
            "max_failures": spent["failures"],
            "max_answers": spent["answers"],
            "test_scale": 1.0 / (rows * test),
            "answer_scale": 1.0 / (rows * answer),
        }
        loss = _loss(repetitive_law, tables, settings, 2)
        where = f"{rows:g} rows, two queries, {test=!r}, {answer=!r}, {settings}"
        yield _budget_repetitive(test=test, answer=answer, **spent), loss, where


STATEMENTS = (
    CL.privacy(
        "CL-Thm9-budget",
        "Theorem 9, pure",
        "k sparse vectors of epsilon_0 and k answers of epsilon_a make the path of "
        "updates k (epsilon_0 + epsilon_a)-DP.",
        Relation.GENERAL,
        _budget,
        at_most(_budgets),
    ),
    CL.privacy(
        "CL-Thm11-budget",
        "Theorem 11, pure (concurrent composition)",
        "One repetitive sparse vector, which also rejects answers, and at most k answers "
        "make the path of updates ((2 k' + gamma) epsilon' + k epsilon_a)-DP.",
        Relation.GENERAL,
        _budget_repetitive,
        at_most(_budgets_repetitive),
    ),
)
