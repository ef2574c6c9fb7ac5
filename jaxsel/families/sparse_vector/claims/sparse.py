"""Dwork & Roth 2014, Theorem 3.25: the privacy of Sparse.

AboveThreshold restarted after each "above", with the noise of basic and of advanced
composition; for monotone neighbours as Lyu, Su & Li 2017, Section 4.3.
"""

import functools
import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from scipy import stats

from jaxsel.families.sparse_vector.bounds import sparse_noise, sparse_vector_epsilon
from jaxsel.families.sparse_vector.claims.cases import (
    Cutoff,
    Drawn,
    Epsilon,
    Scale,
    drawn_on_monotone,
    on_monotone,
    pair_cases,
    some_epsilon,
    stated,
    tight_cases,
)
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.domains import probability
from jaxsel.language.papers import DR, JX

Delta = Annotated[float, probability("that the noise scales are set by")]


def _drawn(cutoffs: int, relation: Relation = Relation.GENERAL) -> Drawn:
    """Sparse with delta = 0, and with at most so many answers."""

    def draw(generator: np.random.Generator) -> tuple[float, SparseNoise, str]:
        epsilon = some_epsilon(generator)
        cutoff = int(generator.integers(1, cutoffs + 1))
        noise = sparse_noise(epsilon, cutoff, relation)
        return epsilon, noise, f"{epsilon=}, c={cutoff}"

    return draw


# --- Advanced composition -------------------------------------------------------------


def _advanced(*, delta: Delta = 1e-6) -> float:
    """delta, at epsilon, of Sparse with the noise of advanced composition."""
    return delta


def _advanced_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 200)):
        epsilon = float(generator.uniform(0.01, 1.0))
        delta = float(10.0 ** generator.uniform(-12.0, -0.01))
        cutoff = int(10.0 ** generator.uniform(0.0, 4.0))
        noise = sparse_noise(epsilon, cutoff, delta=delta)
        run = sparse_vector_epsilon(noise._replace(cutoff=1), Relation.GENERAL)
        # The worst composition of c pure mechanisms is randomised response, c times.
        truths = np.arange(cutoff + 1)
        loss = (2 * truths - cutoff) * run
        mass = stats.binom.pmf(truths, cutoff, 1.0 / (1.0 + math.exp(-run)))
        spent = -np.sum(mass * np.expm1(np.minimum(0.0, epsilon - loss)))
        where = f"{epsilon=!r}, {delta=!r}, c={cutoff}, worst composition"
        yield _advanced(delta=delta) / delta, float(spent) / delta, where


def _pure(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 2, delta: Delta = 1e-6) -> float:
    """Pure epsilon of Sparse with that noise, epsilon sqrt(c/(8 log(1/delta)))."""
    return epsilon * math.sqrt(-cutoff / (8.0 * math.log(delta)))


def _pure_monotone(
    *, epsilon: Epsilon = 1.0, cutoff: Cutoff = 2, delta: Delta = 1e-6, scale: Scale = 4.0
) -> float:
    """(1/2 + 1/s) times that, for monotone neighbours."""
    pure = _pure(epsilon=epsilon, cutoff=cutoff, delta=delta)
    return on_monotone(epsilon=pure, scale=scale)


def _drawn_advanced(relation: Relation) -> Drawn:
    def draw(generator: np.random.Generator) -> tuple[float, SparseNoise, str]:
        epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
        delta = float(10.0 ** generator.uniform(-9.0, -0.1))
        noise = sparse_noise(epsilon, cutoff, relation, delta)
        proven = _pure(epsilon=epsilon, cutoff=cutoff, delta=delta)
        return proven, noise, f"{epsilon=}, c={cutoff}, {delta=!r}"

    return draw


STATEMENTS = (
    DR.privacy(
        "SVT-Sparse",
        "Theorem 3.25, with delta = 0",
        "Sparse, AboveThreshold restarted c times with Lap(2c/epsilon) on the threshold "
        "and Lap(4c/epsilon) on queries, is epsilon-DP.",
        Relation.GENERAL,
        stated,
        at_most(pair_cases(_drawn(3), Relation.GENERAL, 40)),
    ),
    JX.privacy(
        "SVT-Sparse-monotone",
        "as Lyu, Su & Li 2017, Section 4.3",
        "For monotone neighbours, Sparse with Lap(2c/epsilon) on the threshold and "
        "Lap(s c/epsilon) on queries is (1/2 + 1/s) epsilon-DP.",
        Relation.MONOTONE,
        on_monotone,
        at_most(pair_cases(drawn_on_monotone(functools.partial(_drawn, 3)), Relation.MONOTONE, 40)),
    ),
    JX.privacy(
        "SVT-Sparse-tight",
        "for Dwork & Roth 2014, Theorem 3.25",
        "Sparse loses its epsilon, to within 1/1000, on (0^1000, 1)^c against (1^1000, 0)^c.",
        Relation.GENERAL,
        stated,
        at_least(tight_cases(_drawn(2), Relation.GENERAL)),
    ),
    DR.privacy(
        "SVT-Sparse-advanced",
        "Theorem 3.25, with delta > 0",
        "Sparse with Lap(s) on the threshold and Lap(2s) on queries, s = sqrt(32 c "
        "log(1/delta))/epsilon, is (epsilon, delta)-DP for epsilon <= 1 (spent delta "
        "over delta, in the worst composition of its runs).",
        Relation.GENERAL,
        _advanced,
        at_most(_advanced_cases),
        loose="the theorem's share of epsilon for a run is half of what advanced "
        "composition allows, so that the worst composition spends about delta^4; the "
        "noise itself is put to the test with power: SVT-Sparse-advanced-pure",
    ),
    JX.privacy(
        "SVT-Sparse-advanced-pure",
        "for Dwork & Roth 2014, Theorem 3.25",
        "With that noise Sparse is epsilon sqrt(c/(8 log(1/delta)))-DP.",
        Relation.GENERAL,
        _pure,
        at_most(pair_cases(_drawn_advanced(Relation.GENERAL), Relation.GENERAL, 20)),
    ),
    JX.privacy(
        "SVT-Sparse-advanced-pure-monotone",
        "for Dwork & Roth 2014, Theorem 3.25",
        "For monotone neighbours, with Lap(s' s/2) on queries, it is (1/2 + 1/s') "
        "epsilon sqrt(c/(8 log(1/delta)))-DP.",
        Relation.MONOTONE,
        _pure_monotone,
        at_most(pair_cases(drawn_on_monotone(_drawn_advanced), Relation.MONOTONE, 20)),
    ),
)
