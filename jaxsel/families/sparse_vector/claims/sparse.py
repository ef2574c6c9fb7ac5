"""Dwork & Roth 2014, Theorem 3.25: the privacy of Sparse.

Sparse restarts AboveThreshold after each "above". Its noise is calibrated by basic or by advanced
composition; for monotone neighbours it is that of Lyu, Su & Li 2017, Section 4.3.
"""

import functools
import math
from typing import Annotated

import numpy as np
import scipy

from jaxsel.families.sparse_vector.bounds import sparse_noise, sparse_vector_epsilon
from jaxsel.families.sparse_vector.claims.cases import (
    Scale,
    drawn_on_monotone,
    on_long_pairs,
    on_monotone,
    on_pairs,
    some_epsilon,
    stated,
)
from jaxsel.families.sparse_vector.parameters import Cutoff, Epsilon
from jaxsel.language.base import Relation
from jaxsel.language.checking import in_units
from jaxsel.language.domains import probability
from jaxsel.language.papers import DR, JX

Delta = Annotated[float, probability("that the noise scales are set by")]


# --- Advanced composition -------------------------------------------------------------


@DR.privacy(
    "SVT-Sparse-advanced",
    "Theorem 3.25, with delta > 0",
    Relation.GENERAL,
    loose="the theorem's share of epsilon for a run is half of what advanced "
    "composition allows, so that the worst composition spends about delta^4; the "
    "noise itself is put to the test with power: SVT-Sparse-advanced-pure",
)
def advanced(*, delta: Delta = 1e-6) -> float:
    """Sparse with Lap(s) on the threshold and Lap(2s) on queries, s = sqrt(32 c
    log(1/delta))/epsilon, is (epsilon, delta)-DP for epsilon <= 1.

    Returns delta. The check compares it with the delta that the worst composition of the runs of
    AboveThreshold spends.
    """
    return delta


@advanced.bounds()
def worst_compositions(budget):
    for generator in budget.draws(200):
        epsilon = float(generator.uniform(0.01, 1.0))
        delta = float(10.0 ** generator.uniform(-12.0, -0.01))
        cutoff = int(10.0 ** generator.uniform(0.0, 4.0))
        noise = sparse_noise(epsilon, cutoff, delta=delta)
        run = sparse_vector_epsilon(noise._replace(cutoff=1), Relation.GENERAL)
        # The worst composition of c pure mechanisms is randomised response, c times.
        truths = np.arange(cutoff + 1)
        loss = (2 * truths - cutoff) * run
        mass = scipy.stats.binom.pmf(truths, cutoff, 1.0 / (1.0 + math.exp(-run)))
        spent = -np.sum(mass * np.expm1(np.minimum(0.0, epsilon - loss)))
        where = f"{epsilon=!r}, c={cutoff}, worst composition, relative to delta"
        yield {"delta": delta}, in_units(float(spent)), where


def _drawn_advanced(generator, relation):
    epsilon, cutoff = some_epsilon(generator), int(generator.integers(1, 4))
    delta = float(10.0 ** generator.uniform(-9.0, -0.1))
    noise = sparse_noise(epsilon, cutoff, relation, delta)
    return {"epsilon": epsilon, "cutoff": cutoff, "delta": delta}, noise, ""


@on_pairs(_drawn_advanced, 20)
@JX.privacy("SVT-Sparse-advanced-pure", "for Dwork & Roth 2014, Theorem 3.25", Relation.GENERAL)
def pure(*, epsilon: Epsilon = 1.0, cutoff: Cutoff = 2, delta: Delta = 1e-6) -> float:
    """With the noise of SVT-Sparse-advanced, Sparse is epsilon sqrt(c/(8 log(1/delta)))-DP."""
    return epsilon * math.sqrt(-cutoff / (8.0 * math.log(delta)))


@on_pairs(drawn_on_monotone(_drawn_advanced), 20)
@JX.privacy(
    "SVT-Sparse-advanced-pure-monotone", "for Dwork & Roth 2014, Theorem 3.25", Relation.MONOTONE
)
def pure_monotone(
    *, epsilon: Epsilon = 1.0, cutoff: Cutoff = 2, delta: Delta = 1e-6, scale: Scale = 4.0
) -> float:
    """With Lap(s) on the threshold, s as in SVT-Sparse-advanced, and Lap(s' s/2) on queries, Sparse
    is (1/2 + 1/s') epsilon sqrt(c/(8 log(1/delta)))-DP for monotone neighbours."""
    general = pure(epsilon=epsilon, cutoff=cutoff, delta=delta)
    return on_monotone(epsilon=general, scale=scale)


# --- Basic composition ----------------------------------------------------------------


def _drawn(generator, relation, cutoffs: int = 3):
    """Settings of Sparse calibrated by basic composition; c is at most ``cutoffs``."""
    epsilon = some_epsilon(generator)
    cutoff = int(generator.integers(1, cutoffs + 1))
    return {"epsilon": epsilon}, sparse_noise(epsilon, cutoff, relation), f"c={cutoff}"


_FEW = functools.partial(_drawn, cutoffs=2)
_WHERE, _AT = "(0^1000, 1)^c against (1^1000, 0)^c", "epsilon of 0.1 to 4 and c up to 2"


@on_long_pairs(_FEW, _WHERE, _AT)
@on_pairs(_drawn, 40)
@DR.privacy("SVT-Sparse", "Theorem 3.25, with delta = 0", Relation.GENERAL, formula=stated)
def basic():
    """Sparse, AboveThreshold restarted c times with Lap(2c/epsilon) on the threshold and
    Lap(4c/epsilon) on queries, is epsilon-DP."""


@on_pairs(drawn_on_monotone(_drawn), 40)
@JX.privacy(
    "SVT-Sparse-monotone",
    "as Lyu, Su & Li 2017, Section 4.3",
    Relation.MONOTONE,
    formula=on_monotone,
)
def monotone():
    """For monotone neighbours, Sparse with Lap(2c/epsilon) on the threshold and Lap(s c/epsilon) on
    queries is (1/2 + 1/s) epsilon-DP."""
