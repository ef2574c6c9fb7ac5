"""Cohen et al. 2022, Section 4.3.1: private multiplicative weights, Theorems 9 and 11.

The update of the hypothesis and the budgets are checked exactly; errors, which no closed
form gives, by simulation with an exact confidence bound.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import CONFIDENCE, Case, at_least, at_most
from jaxsel.engine import Performance, simulate_grid
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_positive
from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights import updates
from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum
from jaxsel.families.multiplicative_weights.laws import (
    hardt_rothblum_law,
    repetitive_law,
)
from jaxsel.families.multiplicative_weights.repetitive import repetitive
from jaxsel.intervals import clopper_pearson
from jaxsel.statistics import histogram

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


# --- The update ------------------------------------------------------------------------


def _drop(*, rate: float = 0.1, gap: float = 0.2) -> float:
    """Least fall of KL(D || h), eta g - eta^2.

    Args:
      rate: eta, > 0.
      gap: g, the error of the query, in [0, 1].
    """
    return updates.entropy_drop(rate, gap)


def _drop_sharp(*, rate: float = 0.8, gap: float = 0.2) -> float:
    """Least fall of KL(D || h), eta g - eta^2/8.

    Args:
      rate: eta, > 0.
      gap: g, the error of the query, in [0, 1].
    """
    return updates.entropy_drop(rate, gap, sharp=True)


def _error(shares, h, query) -> float:
    return float(query @ (h - shares))


def _moved(shares, h, query, rate):
    """The hypothesis updated in the right direction."""
    above = _error(shares, h, query) > 0.0
    return updates.updated(h, query if above else 1.0 - query, rate)


def _drops(bound):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for number in range(budget.cases):
            cells = int(generator.choice([2, 3, 20]))
            shares = generator.dirichlet(np.full(cells, 0.3))
            h = generator.dirichlet(np.ones(cells))
            query = generator.random(cells)
            if number % 2:
                query = np.round(query)
            if (
                number % 5 == 0
            ):  # two cells and a small gap, where the sharp bound is met
                half = np.array([0.5, 0.5])
                shift = float(generator.uniform(1e-3, 0.1))
                h, shares = half, half + np.array([-shift, shift])
                query = np.array([1.0, 0.0])
            gap = abs(_error(shares, h, query))
            best = 4.0 * gap if number % 5 == 0 else float(generator.uniform(0.01, 3.0))
            rate = max(best, 1e-3)
            after = _moved(shares, h, query, rate)
            fall = updates.relative_entropy(shares, h)
            fall -= updates.relative_entropy(shares, after)
            where = f"{cells} cells, case {number}, {rate=!r}, {gap=!r}"
            yield bound(rate=rate, gap=gap), fall, where

    return cases


def _most(*, cells: int = 512, gap: float = 0.1) -> float:
    """Most updates ceil(4 log|X|/g^2) with the learning rate g/2.

    Args:
      cells: |X|, at least 2.
      gap: g, least error of a query that updates, in (0, 1].
    """
    return float(updates.max_updates(cells, gap))


def _most_sharp(*, cells: int = 512, gap: float = 0.1) -> float:
    """Most updates ceil(log|X|/(2 g^2)) with the learning rate 4 g.

    Args:
      cells: |X|, at least 2.
      gap: g, least error of a query that updates, in (0, 1].
    """
    return float(updates.max_updates(cells, gap, sharp=True))


def _most_printed(*, cells: int = 1000, gap: float = 0.9) -> float:
    """Most updates log|X|/alpha^2, as Section 4.3.1 has it.

    Args:
      cells: |X|, at least 2.
      gap: alpha, least error of a query that updates, in (0, 1].
    """
    cells = check_integer("cells", cells, 2)
    return math.log(cells) / check_positive("gap", gap) ** 2


def _count_updates(shares: np.ndarray, gap: float, rate: float) -> int:
    """Updates until no query errs by ``gap``, each at the query that errs most."""
    h = np.full(shares.size, 1.0 / shares.size)
    count = 0
    while 0.5 * np.abs(shares - h).sum() >= gap:
        h = updates.updated(h, (shares <= h).astype(np.float64), rate)
        count += 1
    return count


def _point(cells: int) -> np.ndarray:
    return np.eye(1, cells)[0]


def _update_counts(bound, *, sharp: bool, grid: int):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(_point(1000), 0.9), (_point(1000), 0.5)]
        for _ in range(min(budget.cases, grid)):
            cells = int(10 ** generator.uniform(0.5, 2.5))
            shares = generator.dirichlet(np.full(cells, 10 ** generator.uniform(-2, 0)))
            settings.append((shares, float(generator.uniform(0.1, 0.9))))
        for shares, gap in settings:
            rate = updates.learning_rate(gap, sharp=sharp)
            seen = _count_updates(shares, gap, rate)
            where = f"{shares.size} cells, largest share {shares.max():g}, {gap=!r}"
            yield bound(cells=shares.size, gap=gap), float(seen), where

    return cases


# --- Budgets ---------------------------------------------------------------------------


def _budget(*, updates: int = 2, test: float = 0.5, answer: float = 0.5) -> float:
    """epsilon of k sparse vectors and k answers, k (epsilon_0 + epsilon_a).

    Args:
      updates: k >= 1.
      test: epsilon_0 of a sparse vector, > 0.
      answer: epsilon_a of an answer, > 0.
    """
    each = check_positive("test", test) + check_positive("answer", answer)
    return check_integer("updates", updates, 1) * each


def _budget_repetitive(
    *,
    failures: int = 3,
    gamma: float = 1.0,
    test: float = 0.5,
    answers: int = 2,
    answer: float = 0.5,
) -> float:
    """epsilon (2 k' + gamma) epsilon' of the sparse vector and the answers' k epsilon_a.

    Args:
      failures: k' >= 1, failed batches at which it halts.
      gamma: exponent of the law of p, > 0.
      test: epsilon' of a Test, > 0.
      answers: k >= 1, noisy answers at most.
      answer: epsilon_a of an answer, > 0.
    """
    failures = check_integer("failures", failures, 1)
    tests = (2.0 * failures + check_positive("gamma", gamma)) * check_positive(
        "test", test
    )
    answers = check_integer("answers", answers, 1)
    return tests + answers * check_positive("answer", answer)


def _neighbours(generator) -> tuple[dict[str, Any], dict[str, Any], float]:
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


def _loss(law, tables, settings, queries: int) -> float:
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


# --- Errors ----------------------------------------------------------------------------

_CELLS, _QUERIES, _ROWS = 16, 60, 30_000


def _alpha(
    *,
    rows: float = 3e4,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    beta: float = 0.05,
) -> float:
    """alpha of Theorem 9 with its constants, for 16 cells and 60 queries.

    Args:
      rows: n, > 0.
      epsilon, delta: of the whole, delta in [0, 1).
      beta: in (0, 1).
    """
    return weights.hardt_rothblum(_CELLS, rows, _QUERIES, epsilon, delta, beta).error


def _alpha_repetitive(
    *,
    rows: float = 3e4,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    beta: float = 0.05,
) -> float:
    """alpha of Theorem 11 with its constants, for 16 cells and 60 queries.

    Args:
      rows: n, > 0.
      epsilon, delta: of the whole, delta in [0, 1).
      beta: in (0, 1), at least 2^-60.
    """
    return weights.repetitive(_CELLS, rows, _QUERIES, epsilon, delta, beta).error


def _errors(mechanism, settings):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        shares = generator.dirichlet(np.full(_CELLS, 0.1))
        table = generator.multinomial(_ROWS, shares)
        trials = max(min(budget.trials, 1000), 1)
        found = [
            settings(_CELLS, _ROWS, _QUERIES, 1.0, 1e-6, 0.05, sharp=sharp)
            for sharp in (False, True)
        ]
        errors = np.unique([one.error for one in found])
        counts = simulate_grid(
            mechanism(_QUERIES, analyst="worst"),
            [(table, weights.parameters(one)) for one in found],
            trials=trials,
            seed=budget.seed,
            statistic=histogram(_max_error, errors),
            progress=False,
            performance=Performance(block_size=256),
        ).values
        for one, row in zip(found, counts, strict=True):
            misses = int(row[np.searchsorted(errors, one.error) + 1 :].sum())
            low, _ = clopper_pearson(misses, trials, CONFIDENCE)
            where = (
                f"{misses} of {trials} interactions with the worst analyst err by more "
                f"than {one.error:.4g}, learning rate {one.rate:.3g}"
            )
            yield 0.05, float(low), where

    return cases


def _max_error(outcome):
    return outcome.max_error


def _slips(*, beta: float = 0.01) -> float:
    """Chance beta/10 of more than R mistakes, bad noisy answers included.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta) / 10.0


def _slip_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 200)):
        queries = int(10 ** generator.uniform(1.0, 6.0))
        low_beta = float(10 ** generator.uniform(-1.0, 2.0))
        beta = math.exp(-min(low_beta, queries * 0.693))
        plan = weights.repetitive_plan(queries, beta)
        size = plan.questions
        # Batches of M + k' <= 2 M, and no more than M noisy answers.
        chance = stats.binom.sf(plan.mistakes, 3 * size, 5.0 / size**3)
        where = f"m={queries}, {beta=!r}, M={size}, as a share of beta/10"
        yield 1.0, float(chance) / _slips(beta=beta), where


def _claim(id, place, statement, evaluate, check, kind="utility", **settings) -> Claim:
    relation = Relation.GENERAL if kind == "privacy" else None
    return Claim(
        id=id, source=f"{_PAPER}, {place}", statement=statement, kind=kind,
        relation=relation, evaluate=evaluate, check=check, **settings,
    )  # fmt: skip


CLAIMS: tuple[Claim, ...] = (
    _claim(
        "CL-Thm9-drop",
        "Section 4.3.1 (Dwork & Roth 2014, Theorem 4.10)",
        "An update at a query of error g lowers KL(D || h) by eta g - eta^2 or more.",
        _drop,
        at_least(_drops(_drop)),
    ),
    _claim(
        "CL-Thm9-drop-sharp",
        "Section 4.3.1, sharpened",
        "An update at a query of error g lowers KL(D || h) by eta g - eta^2/8 or more "
        "(Hoeffding's lemma), tight as g falls.",
        _drop_sharp,
        at_least(_drops(_drop_sharp)),
    ),
    _claim(
        "CL-Sec4.3.1-updates-printed",
        "Section 4.3.1",
        "There are no more than log|X|/alpha^2 updates at errors of alpha or more (with "
        "the learning rate alpha/2).",
        _most_printed,
        at_most(_update_counts(_most_printed, sharp=False, grid=0)),
        holds=False,
        erratum="CL-E16",
        correction="ceil(4 log|X|/g^2) with the rate g/2, ceil(log|X|/(2 g^2)) with 4 g: "
        "CL-Thm9-updates, CL-Thm9-updates-sharp.",
    ),
    _claim(
        "CL-Thm9-updates",
        "Theorem 9 (Dwork & Roth 2014, Theorem 4.10)",
        "From the uniform hypothesis there are at most ceil(4 log|X|/g^2) updates at "
        "errors of g or more, with the learning rate g/2.",
        _most,
        at_most(_update_counts(_most, sharp=False, grid=60)),
        erratum="CL-E16",
    ),
    _claim(
        "CL-Thm9-updates-sharp",
        "Theorem 9, sharpened",
        "From the uniform hypothesis there are at most ceil(log|X|/(2 g^2)) updates at "
        "errors of g or more, with the learning rate 4 g.",
        _most_sharp,
        at_most(_update_counts(_most_sharp, sharp=True, grid=60)),
    ),
    _claim(
        "CL-Thm9-budget",
        "Theorem 9, pure",
        "k sparse vectors of epsilon_0 and k answers of epsilon_a make the path of "
        "updates k (epsilon_0 + epsilon_a)-DP.",
        _budget,
        at_most(_budgets),
        "privacy",
    ),
    _claim(
        "CL-Thm11-budget",
        "Theorem 11, pure (concurrent composition)",
        "One repetitive sparse vector, which also rejects answers, and at most k answers "
        "make the path of updates ((2 k' + gamma) epsilon' + k epsilon_a)-DP.",
        _budget_repetitive,
        at_most(_budgets_repetitive),
        "privacy",
    ),
    _claim(
        "CL-Thm9",
        "Theorem 9, with constants",
        "With probability 1 - beta all answers of private multiplicative weights, with "
        "the settings derived for it, are within alpha, for the worst analyst.",
        _alpha,
        at_most(_errors(hardt_rothblum, weights.hardt_rothblum)),
    ),
    _claim(
        "CL-Thm11",
        "Theorem 11, with constants",
        "With probability 1 - beta all answers of the mechanism with the repetitive "
        "sparse vector, with the settings derived for it, are within alpha, for the "
        "worst analyst.",
        _alpha_repetitive,
        at_most(_errors(repetitive, weights.repetitive)),
    ),
    _claim(
        "CL-Thm11-rejections",
        "Section 4.3.1, 'the number of such rejections is small'",
        "With R = ceil(3 log(1/beta)/log M) for M = 2 m + R + 1 questions, more than R "
        "mistakes and bad answers in all have probability at most beta/10.",
        _slips,
        at_most(_slip_cases),
    ),
)
