"""Dwork & Roth 2014, Theorems 3.24 and 3.26: how far sparse vectors err.

And, from Lyu, Su & Li 2017, Section 5, the exponential mechanism, to which all queries are
known at once.
"""

import math
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel.families.sparse_vector.bounds import sparse_noise
from jaxsel.families.sparse_vector.claims.cases import Cutoff, some_epsilon
from jaxsel.families.sparse_vector.stopping_laws import right_probability, stopping_law
from jaxsel.language.base import Budget
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.papers import DR, JX, LSL

Epsilon = Annotated[float, positive("of the mechanism")]
Queries = Annotated[int, whole("k, how many there are", at_least=1)]
TwoQueries = Annotated[int, whole("k, how many there are", at_least=2)]
Beta = Annotated[float, probability("chance of a wrong answer")]


# --- Sparse vectors -------------------------------------------------------------------


def _sparse(
    *, epsilon: Epsilon = 1.0, cutoff: Cutoff = 3, queries: Queries = 1000, beta: Beta = 0.05
) -> float:
    """alpha = 8 c (log k + log(2c/beta))/epsilon."""
    size = math.log(queries) + math.log(2.0 * cutoff / beta)
    return 8.0 * cutoff * size / epsilon


def _above_threshold(
    *, epsilon: Epsilon = 1.0, queries: Queries = 1000, beta: Beta = 0.05
) -> float:
    """alpha = 8 (log k + log(2/beta))/epsilon."""
    return _sparse(epsilon=epsilon, cutoff=1, queries=queries, beta=beta)


def _accuracy_cases(largest: int) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        # One query as near as it may be, and beta near 1: most of the bound is seen.
        alpha = _sparse(epsilon=1.0, cutoff=1, queries=1, beta=0.999)
        levels = np.array([-alpha * (1.0 + 1e-12)])
        wrong = 1.0 - right_probability(levels, sparse_noise(1.0, 1), alpha)
        yield 0.999, wrong, "epsilon=1, c=1, one query at -alpha, beta=0.999"
        for _ in range(min(budget.cases, 40)):
            epsilon = some_epsilon(generator)
            queries = int(10.0 ** generator.uniform(0.0, 2.7))
            cutoff = int(generator.integers(1, largest + 1))
            beta = float(10.0 ** generator.uniform(-6.0, -0.01))
            alpha = _sparse(epsilon=epsilon, cutoff=cutoff, queries=queries, beta=beta)
            levels = np.full(queries, -alpha * (1.0 + 1e-12))
            near = min(int(generator.integers(0, cutoff + 1)), queries)
            places = generator.choice(queries, near, replace=False)
            if largest == 1:
                places = np.full(near, queries - 1)  # only the last may be near
            heights = generator.choice([-1.0, 0.0, 1.0, 1.0 + 1e-12], near)
            levels[places] = alpha * heights
            noise = sparse_noise(epsilon, cutoff)
            wrong = 1.0 - right_probability(levels, noise, alpha)
            where = f"{epsilon=}, c={cutoff}, k={queries}, near {heights * alpha}"
            yield beta, wrong, f"{where}, beta={beta!r}"

    return cases


def _sharp(*, cutoff: Cutoff = 3, queries: Queries = 1000, beta: Beta = 0.05) -> float:
    """Chance beta^2/(6 k c^2) that one of k queries at -alpha is answered "above".

    Noise 4c/epsilon less noise 2c/epsilon exceeds alpha = 8 c log(2 k c/beta)/epsilon
    with probability below (2/3) exp(-2 log(2 k c/beta)); k times that.
    """
    return beta**2 / (6.0 * queries * cutoff**2)


def _sharp_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 20)):
        epsilon = some_epsilon(generator)
        queries = int(10.0 ** generator.uniform(0.0, 2.7))
        cutoff = int(generator.integers(1, 5))
        beta = float(generator.uniform(0.05, 0.99))
        alpha = _sparse(epsilon=epsilon, cutoff=cutoff, queries=queries, beta=beta)
        levels = np.full(queries, -alpha)
        law = stopping_law(levels, sparse_noise(epsilon, cutoff)._replace(cutoff=1))
        claimed = _sharp(cutoff=cutoff, queries=queries, beta=beta)
        # Relative: the chances are small.
        where = f"{epsilon=}, c={cutoff}, k={queries}, beta={beta!r}"
        yield 1.0, float(law[:-1].sum()) / claimed, f"over the bound, {where}"


# --- The exponential mechanism --------------------------------------------------------


def _alpha(epsilon: float, queries: int, beta: float) -> float:
    """(log(k - 1) + log((1 - beta)/beta))/epsilon, at least 0."""
    size = math.log(queries - 1) + math.log1p(-beta) - math.log(beta)
    return max(0.0, size) / epsilon


def _missed(*, beta: Beta = 0.05) -> float:
    """Chance beta that the exponential mechanism misses the one good query."""
    return beta


def _settings(budget: Budget) -> Iterator[tuple[float, int, float]]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 200)):
        queries = int(10.0 ** generator.uniform(0.5, 6.0))
        yield (some_epsilon(generator), queries, float(10.0 ** generator.uniform(-6, -0.4)))


def _missed_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, queries, beta in _settings(budget):
        alpha = _alpha(epsilon, queries, beta)
        # weights e^(epsilon f/2): the good query is 2 alpha above the others
        missed = (queries - 1) / (math.exp(epsilon * alpha) + queries - 1)
        yield beta, missed, f"{epsilon=}, k={queries}, beta={beta!r}"


def _eighth(*, epsilon: Epsilon = 1.0, queries: TwoQueries = 1000, beta: Beta = 0.05) -> float:
    """An eighth of the alpha that is proven for AboveThreshold."""
    return _above_threshold(epsilon=epsilon, queries=queries, beta=beta) / 8.0


def _eighth_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, queries, beta in _settings(budget):
        alpha = _alpha(epsilon, queries, beta)
        claimed = _eighth(epsilon=epsilon, queries=queries, beta=beta)
        yield claimed, alpha, f"{epsilon=}, k={queries}, beta={beta!r}"


STATEMENTS = (
    DR.utility(
        "SVT-AboveThreshold-accuracy",
        "Theorem 3.24",
        "If only the last of k queries may lie above the threshold minus alpha = "
        "8 (log k + log(2/beta))/epsilon, AboveThreshold errs by more than alpha with "
        "probability at most beta.",
        _above_threshold,
        at_most(_accuracy_cases(1), 1e-12),
    ),
    DR.utility(
        "SVT-Sparse-accuracy",
        "Theorem 3.26, with delta = 0",
        "If at most c of k queries lie above the threshold minus alpha = 8 c (log k + "
        "log(2c/beta))/epsilon, Sparse errs by more than alpha in one of its answers "
        "with probability at most beta.",
        _sparse,
        at_most(_accuracy_cases(4), 1e-12),
    ),
    JX.utility(
        "SVT-Sparse-accuracy-sharp",
        "for Dwork & Roth 2014, Theorem 3.26",
        "If all k queries lie at that alpha below the threshold, Sparse answers one of "
        "them above with probability at most beta^2/(6 k c^2).",
        _sharp,
        at_most(_sharp_cases),
    ),
    LSL.identity(
        "SVT-LSL-Sec5-exponential",
        "Section 5",
        "The exponential mechanism misses one query at +alpha among k - 1 at -alpha, "
        "alpha = (log(k - 1) + log((1 - beta)/beta))/epsilon, with probability beta.",
        _missed,
        equal(_missed_cases),
    ),
    LSL.utility(
        "SVT-LSL-Sec5-eighth",
        "Section 5",
        "That alpha is at most an eighth of the one proven for AboveThreshold.",
        _eighth,
        at_most(_eighth_cases),
    ),
)
