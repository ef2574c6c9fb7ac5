"""Cohen et al. 2022, Theorems 9 to 12: displays of errors and of sample sizes.

Each is put into another: the n of one theorem must give the error of the other.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Erratum
from jaxsel.checking import Case, at_most, equal
from jaxsel.errata_numbers import one_to_infinity, probability
from jaxsel.errors import check_integer, check_positive
from jaxsel.families.multiplicative_weights import sample_complexity as sizes

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


def _wanted(*, alpha: float = 0.1) -> float:
    """The error alpha for which n was computed.

    Args:
      alpha: in (0, 1).
    """
    return probability("alpha", alpha)


def _displays(solve, *, loose: float = 1.0):
    """Compares alpha with the error that one display gives at the n of another."""

    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for _ in range(min(budget.cases, 100)):
            cells = int(10 ** generator.uniform(0.5, 6.0))
            queries = float(10 ** generator.uniform(1.0, 9.0))
            alpha, beta = (float(x) for x in 10 ** generator.uniform(-3.0, -0.1, 2))
            where = f"{cells=}, {queries=!r}, {alpha=!r}, {beta=!r}"
            seen = solve(cells, queries, alpha, beta)
            yield _wanted(alpha=alpha), seen / loose, where

    return cases


def _nine(printed: bool):
    def solve(cells, queries, alpha, beta):
        rows = sizes.theorem_10(cells, queries, alpha, beta)
        return sizes.theorem_9(cells, rows, queries, alpha, beta, beta, printed=printed)

    return solve


def _branch(cells, queries, alpha, beta) -> float:
    """The first of the two bounds of Theorem 12, which Theorem 11 gives."""
    root = math.sqrt(-math.log(cells) * math.log(beta))
    return root * math.log(queries) / alpha**3 - math.log(beta) / alpha**2


def _eleven(printed: bool):
    def solve(cells, queries, alpha, beta):
        rows = _branch(cells, queries, alpha, beta)
        return sizes.theorem_11(
            cells, rows, queries, alpha, beta, beta, printed=printed
        )

    return solve


def _degraded(noiseless: bool):
    """Error of the weaker Theorem 11, at the n of the weaker Theorem 12."""

    def solve(cells, queries, alpha, beta):
        rows = sizes.theorem_12(
            cells, queries, alpha, beta, noiseless_threshold=noiseless
        )
        # The pure bound of the minimum: k log(m)/(n epsilon), epsilon = alpha.
        size, low_beta = math.log(queries), -math.log(beta)
        first = min(
            math.sqrt(math.log(cells) * low_beta) / alpha, math.log(cells) / alpha**2
        )
        return (first + low_beta) * size / (rows * alpha)

    return solve


def _transfer(*, alpha: float = 1e-9, constant: float = 2.0) -> float:
    """Error C alpha that is wanted of the mechanism behind Theorem 12.

    Args:
      alpha: in (0, 1).
      constant: C, > 0.
    """
    return check_positive("constant", constant) * probability("alpha", alpha)


def _transfers(corrected: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        for alpha, beta in ((1e-9, 0.5), (1e-6, 0.5), (0.1, 0.01)):
            # beta' = O(beta + delta/epsilon) asks for delta = alpha beta.
            delta = alpha * beta
            rows = _branch(512, 1e4, alpha, beta)
            if corrected:
                root = math.sqrt(-math.log(512) * math.log(delta))
                rows = root * math.log(1e4) / alpha**3 - math.log(beta) / alpha**2
            seen = sizes.theorem_11(512, rows, 1e4, alpha, delta, beta)
            where = f"|X|=512, m=1e4, {alpha=}, {beta=}, epsilon=alpha, {delta=}"
            yield _transfer(alpha=alpha), seen, where

    # Errors of 1e-9 would vanish in a tolerance made for numbers near 1.
    return lambda budget: (
        (claimed / claimed, seen / claimed, where)
        for claimed, seen, where in cases(budget)
    )


def _twice(*, queries: float = 1e4, alpha: float = 0.1, beta: float = 1e-300) -> float:
    """Twice the non-adaptive sample size log(m/beta)/alpha^2.

    Args:
      queries: m, > 1.
      alpha, beta: in (0, 1).
    """
    queries, alpha = one_to_infinity("queries", queries), probability("alpha", alpha)
    return 2.0 * math.log(queries / probability("beta", beta)) / alpha**2


def _high_confidence(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 200)):
        cells = int(10 ** generator.uniform(0.31, 3.0))
        queries = float(10 ** generator.uniform(0.4, 3.0))
        alpha = float(generator.uniform(0.45, 0.95))
        edge = math.log(cells) * math.log(queries) / alpha**2
        beta = math.exp(-min(edge * generator.uniform(1.0, 3.0), 700.0))
        if -math.log(beta) < edge:
            continue
        seen = sizes.theorem_12(cells, queries, alpha, beta)
        where = f"{cells=}, {queries=!r}, {alpha=!r}, {beta=!r}"
        yield _twice(queries=queries, alpha=alpha, beta=beta), seen, where


def _ten(
    *, cells: int = 512, queries: float = 1e4, alpha: float = 0.1, beta: float = 0.01
) -> float:
    """n of Theorem 10.

    Args:
      cells: |X|, at least 3.
      queries: m, > 1.
      alpha, beta: in (0, 1).
    """
    cells, queries = (
        check_integer("cells", cells, 3),
        one_to_infinity("queries", queries),
    )
    alpha, beta = probability("alpha", alpha), probability("beta", beta)
    return sizes.theorem_10(cells, queries, alpha, beta)


def _improved(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 300)):
        cells = int(10 ** generator.uniform(0.5, 6.0))
        queries = float(10 ** generator.uniform(0.5, 9.0))
        alpha = float(10 ** generator.uniform(-3.0, 0.0))
        # sqrt(log|X| log(1/beta)) >= alpha is all that is needed.
        beta = math.exp(-float(10 ** generator.uniform(0.0, 2.8)))
        seen = sizes.theorem_12(cells, queries, alpha, beta)
        where = f"{cells=}, {queries=!r}, {alpha=!r}, {beta=!r}"
        yield (
            1.0,
            seen / _ten(cells=cells, queries=queries, alpha=alpha, beta=beta),
            where,
        )


def _claim(id, place, statement, evaluate, check, kind="utility", **settings) -> Claim:
    return Claim(
        id=id, source=f"{_PAPER}, {place}", statement=statement, kind=kind,
        relation=None, evaluate=evaluate, check=check, **settings,
    )  # fmt: skip


CLAIMS: tuple[Claim, ...] = (
    _claim(
        "CL-Thm9-display-printed",
        "Theorem 9 (Section 1.5.1)",
        "alpha^2 = sqrt(log|X| log(1/delta) log(m/beta))/(n epsilon), at the n of "
        "Theorem 10 and epsilon = alpha, gives alpha.",
        _wanted,
        equal(_displays(_nine(True))),
        "identity",
        holds=False,
        erratum="CL-E16",
        correction="log(m/beta) stands outside the root: CL-Thm10.",
    ),
    _claim(
        "CL-Thm10",
        "Theorems 9 (corrected) and 10",
        "alpha^2 = sqrt(log|X| log(1/delta)) log(m/beta)/(n epsilon), at the n of "
        "Theorem 10, epsilon = alpha and delta = beta, gives alpha.",
        _wanted,
        equal(_displays(_nine(False))),
        "identity",
        erratum="CL-E16",
    ),
    _claim(
        "CL-Thm11-display-printed",
        "Theorem 11 (Section 4.3.1)",
        "alpha = sqrt(log|X| log(1/delta) log(m))/(n epsilon alpha) + log(1/beta)/(n "
        "epsilon), at the first n of Theorem 12 and epsilon = alpha, gives alpha.",
        _wanted,
        equal(_displays(_eleven(True))),
        "identity",
        holds=False,
        erratum="CL-E16",
        correction="log(m) stands outside the root, as in Section 1.5.1: CL-Thm12.",
    ),
    _claim(
        "CL-Thm12",
        "Theorems 11 and 12",
        "alpha = sqrt(log|X| log(1/delta)) log(m)/(n epsilon alpha) + log(1/beta)/(n "
        "epsilon), at the first n of Theorem 12, epsilon = alpha and delta = beta, gives "
        "alpha.",
        _wanted,
        equal(_displays(_eleven(False))),
        "identity",
        erratum="CL-E16",
    ),
    _claim(
        "CL-Sec1.5.2-degraded-printed",
        "Section 1.5.2",
        "Without noise on the threshold the n of Theorem 12 still gives error alpha, as "
        "'degrades to' prints Theorem 12 itself.",
        _wanted,
        at_most(_displays(_degraded(False))),
        holds=False,
        erratum="CL-E16",
        correction="The last term is log(1/beta) log(m)/alpha^2: CL-Sec1.5.2-degraded.",
    ),
    _claim(
        "CL-Sec1.5.2-degraded",
        "Section 1.5.2, corrected",
        "Without noise on the threshold, n with the last term log(1/beta) log(m)/alpha^2 "
        "gives error alpha.",
        _wanted,
        at_most(_displays(_degraded(True))),
        erratum="CL-E16",
    ),
    _claim(
        "CL-Thm12-step-delta-printed",
        "proof of Theorem 12",
        "With epsilon = alpha and delta = alpha beta, n of Theorem 12's first bound "
        "(with log(1/beta) for log(1/delta)) gives error 2 alpha; shown as multiples "
        "of it.",
        _transfer,
        at_most(_transfers(False)),
        holds=False,
        erratum="CL-E21",
        correction="log(1/(alpha beta)) must stand for log(1/delta): CL-Thm12-step-delta.",
    ),
    _claim(
        "CL-Thm12-step-delta",
        "proof of Theorem 12, corrected",
        "With epsilon = alpha and delta = alpha beta, n = sqrt(log|X| log(1/(alpha "
        "beta))) log(m)/alpha^3 + log(1/beta)/alpha^2 gives error 2 alpha; shown as "
        "multiples of it.",
        _transfer,
        at_most(_transfers(True)),
        erratum="CL-E21",
    ),
    _claim(
        "CL-Thm12-high-confidence",
        "after Theorem 12",
        "For log(1/beta) > log|X| log(m)/alpha^2, n of Theorem 12 is at most twice the "
        "non-adaptive log(m/beta)/alpha^2.",
        _twice,
        at_most(_high_confidence),
    ),
    _claim(
        "CL-Thm12-improves",
        "Theorems 10 and 12",
        "For |X| >= 3 and beta <= 1/e, n of Theorem 12 is at most that of Theorem 10 (all "
        "constants 1); shown as a ratio.",
        _ten,
        at_most(_improved),
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E21",
        source=f"{_PAPER}, Theorems 10 and 12",
        kind="proof",
        printed="With beta' = O(beta + delta/epsilon) and epsilon of order alpha, "
        "log(1/delta) becomes log(1/beta).",
        correct="delta must be alpha beta, so it becomes log(1/(alpha beta)): for fixed "
        "beta and small alpha no constant makes up for it. Nothing is lost for beta <= "
        "alpha.",
        refuted=("CL-Thm12-step-delta-printed",),
        corrected=("CL-Thm12-step-delta",),
    ),
)
