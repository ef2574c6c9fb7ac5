"""Dwork & Roth 2014, Theorems 3.24 and 3.26: how far the answers of sparse vectors are wrong.

Lyu, Su & Li 2017, Section 5, compare this with the exponential mechanism, which sees all queries at
once.
"""

import math
from typing import Annotated

import numpy as np

from jaxsel.families.sparse_vector.bounds import sparse_noise
from jaxsel.families.sparse_vector.claims.cases import some_epsilon
from jaxsel.families.sparse_vector.parameters import Cutoff
from jaxsel.families.sparse_vector.stopping_laws import right_probability, stopping_law
from jaxsel.host import floats
from jaxsel.language.checking import drawn, in_units
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.papers import DR, JX, LSL

Epsilon = Annotated[float, positive("of the mechanism")]
Queries = Annotated[int, whole("k, how many there are", at_least=1)]
TwoQueries = Annotated[int, whole("k, how many there are", at_least=2)]
Beta = Annotated[float, probability("chance of a wrong answer")]


# --- Sparse vectors -------------------------------------------------------------------


# Why the check of these theorems finds no levels that come near their alpha.
_HALF = (
    "half of alpha would do: the noises of a query and of the threshold add up to more than "
    "alpha/2 with probability (2/3) beta/(2 c k) at most, while the proof gives either of them "
    "alpha/2"
)


@DR.utility("SVT-Sparse-accuracy", "Theorem 3.26, with delta = 0", loose=_HALF)
def sparse(
    *, epsilon: Epsilon = 1.0, cutoff: Cutoff = 3, queries: Queries = 1000, beta: Beta = 0.05
) -> float:
    """If at most c of k queries lie above the threshold minus alpha = 8 c (log k +
    log(2c/beta))/epsilon, Sparse errs by more than alpha in one of its answers with probability at
    most beta.

    Returns this alpha, in units of the sensitivity.
    """
    size = math.log(queries) + math.log(2.0 * cutoff / beta)
    return 8.0 * cutoff * size / epsilon


@DR.utility("SVT-AboveThreshold-accuracy", "Theorem 3.24", loose=_HALF)
def above_threshold(*, epsilon: Epsilon = 1.0, queries: Queries = 1000, beta: Beta = 0.05) -> float:
    """If only the last of k queries may lie above the threshold minus alpha = 8 (log k +
    log(2/beta))/epsilon, AboveThreshold errs by more than alpha with probability at most beta.

    Returns this alpha, in units of the sensitivity.
    """
    return sparse(epsilon=epsilon, cutoff=1, queries=queries, beta=beta)


def _wrong(shape: np.ndarray, noise, beta: float):
    """To judge a claimed alpha: the function that returns beta and the exact chance of an error.

    An error is an answer that is wrong by more than alpha, where the levels are alpha * shape.
    """
    return lambda alpha: (beta, 1.0 - right_probability(alpha * shape, noise, alpha))


@sparse.bounds(tolerance=1e-12, largest=4)
def some_near(budget, largest):
    # One query as near as it may be, and beta near 1: most of the bound is seen.
    low = -(1.0 + 1e-12)
    point = {"epsilon": 1.0, "cutoff": 1, "queries": 1, "beta": 0.999}
    yield point, _wrong(np.array([low]), sparse_noise(1.0, 1), 0.999), "the query at -alpha"
    for generator in budget.draws(40):
        epsilon = some_epsilon(generator)
        queries = int(10.0 ** generator.uniform(0.0, 2.7))
        cutoff = int(generator.integers(1, largest + 1))
        beta = float(10.0 ** generator.uniform(-6.0, -0.01))
        shape = np.full(queries, low)
        near = min(int(generator.integers(0, cutoff + 1)), queries)
        places = generator.choice(queries, near, replace=False)
        if largest == 1:
            places = np.full(near, queries - 1)  # only the last may be near
        heights = generator.choice([-1.0, 0.0, 1.0, 1.0 + 1e-12], near)
        shape[places] = heights
        point = {"epsilon": epsilon, "cutoff": cutoff, "queries": queries, "beta": beta}
        wrong = _wrong(shape, sparse_noise(epsilon, cutoff), beta)
        yield point, wrong, f"near, in units of alpha: {heights}"


@above_threshold.bounds(tolerance=1e-12)
def last_near(budget):
    for point, wrong, where in some_near(budget, 1):
        yield {name: point[name] for name in ("epsilon", "queries", "beta")}, wrong, where


@JX.utility("SVT-Sparse-accuracy-sharp", "for Dwork & Roth 2014, Theorem 3.26")
def one_above(*, cutoff: Cutoff = 3, queries: Queries = 1000, beta: Beta = 0.05) -> float:
    """If all k queries lie below the threshold by the alpha of SVT-Sparse-accuracy, Sparse answers
    one of them above with probability at most beta^2/(6 k c^2).

    Laplace noise of scale 4c/epsilon minus Laplace noise of scale 2c/epsilon exceeds this alpha, 8
    c log(2 k c/beta)/epsilon, with probability below (2/3) exp(-2 log(2 k c/beta)). The bound
    returned is k times that.
    """
    return beta**2 / (6.0 * queries * floats.square(cutoff))


@one_above.bounds()
def far_below(budget):
    for generator in budget.draws(20):
        epsilon = some_epsilon(generator)
        queries = int(10.0 ** generator.uniform(0.0, 2.7))
        cutoff = int(generator.integers(1, 5))
        beta = float(generator.uniform(0.05, 0.99))
        alpha = sparse(epsilon=epsilon, cutoff=cutoff, queries=queries, beta=beta)
        levels = np.full(queries, -alpha)
        law = stopping_law(levels, sparse_noise(epsilon, cutoff)._replace(cutoff=1))
        point = {"cutoff": cutoff, "queries": queries, "beta": beta}
        yield point, in_units(float(law[:-1].sum())), f"{epsilon=}, over the bound"


# --- The exponential mechanism --------------------------------------------------------


def _alpha(epsilon: float, queries: int, beta: float) -> float:
    """The alpha of the exponential mechanism, (log(k - 1) + log((1 - beta)/beta))/epsilon >= 0."""
    size = math.log(queries - 1) + math.log1p(-beta) - math.log(beta)
    return max(0.0, size) / epsilon


@LSL.identity("SVT-LSL-Sec5-exponential", "Section 5")
def exponential(*, beta: Beta = 0.05) -> float:
    """The exponential mechanism misses one query at +alpha among k - 1 at -alpha, alpha = (log(k -
    1) + log((1 - beta)/beta))/epsilon, with probability beta."""
    return beta


def _setting(generator):
    queries = int(10.0 ** generator.uniform(0.5, 6.0))
    epsilon, beta = some_epsilon(generator), float(10.0 ** generator.uniform(-6, -0.4))
    return epsilon, queries, beta


@exponential.equals(drawn("epsilon queries beta", _setting, 200))
def one_good_query(epsilon, queries, beta):
    # weights e^(epsilon f/2): the good query is 2 alpha above the others
    return (queries - 1) / (math.exp(epsilon * _alpha(epsilon, queries, beta)) + queries - 1)


@LSL.utility("SVT-LSL-Sec5-eighth", "Section 5")
def eighth(*, epsilon: Epsilon = 1.0, queries: TwoQueries = 1000, beta: Beta = 0.05) -> float:
    """The alpha of the exponential mechanism (SVT-LSL-Sec5-exponential) is at most an eighth of the
    one proven for AboveThreshold (SVT-AboveThreshold-accuracy).

    Returns this eighth.
    """
    return above_threshold(epsilon=epsilon, queries=queries, beta=beta) / 8.0


eighth.bounds(drawn("epsilon queries beta", _setting, 200))(_alpha)
