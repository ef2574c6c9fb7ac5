"""Koskela, Redberg & Wang 2024, Theorem 6.1: generalised propose-test-release.

The second claim is what its tuning gains (Section 6.1). The privacy of this scheme around a
posterior sample is claimed in ``shipped_runs``.
"""

import math
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.families.ridge_regression import settings as ptr
from jaxsel.families.ridge_regression.parameters import Failure, RunDelta, TunedEpsilon
from jaxsel.families.ridge_regression.tuned import calibrate_tuned
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid
from jaxsel.language.domains import number
from jaxsel.language.papers import KRW


@KRW.privacy("KRW-Thm6.1", "Theorem 6.1 (Redberg, Zhu & Wang 2023)", Relation.BASE)
def general(
    *,
    epsilon: Annotated[
        float, number("of the mechanism on data that should pass", at_least=0.0)
    ] = 0.5,
    delta: Annotated[float, number("with it", at_least=0.0, below=1.0)] = 1e-2,
    test_epsilon: Annotated[float, number("of the test", at_least=0.0)] = 0.5,
    test_delta: Annotated[float, number("with it", at_least=0.0, below=1.0)] = 1e-2,
    failure: Failure = 1e-2,
) -> float:
    """A mechanism that is (epsilon, delta)-DP on data that should pass, run behind an (epsilon^,
    delta^)-DP test that passes other data with probability delta' at most, is (epsilon + epsilon^,
    delta + delta^ + delta')-DP.

    Returns the delta of the whole, delta + test_delta + failure, at epsilon + test_epsilon.
    """
    release = ApproximateGuarantee(epsilon, delta)
    test = ApproximateGuarantee(test_epsilon, test_delta)
    return ptr.propose_test_release(release, test, failure).delta


def _two_way(rows: np.ndarray, epsilon: float) -> float:
    """The larger one of the two hockey-stick divergences between two laws, the rows."""
    excess = rows - math.exp(epsilon) * rows[::-1]
    return float(np.maximum(excess, 0.0).sum(axis=1).max())


@general.bounds()
def general_cases(budget):
    generator = np.random.default_rng(budget.seed)
    for case in range(3 * budget.cases):
        size = int(generator.integers(2, 6))
        runs = generator.dirichlet(np.full(size, generator.choice([0.2, 1.0])), 2)
        shapes = generator.choice([0.3, 1.0, 3.0], 2)
        passing = generator.beta(shapes[0], shapes[1], size=2)
        # Which of the two data sets should pass: both, the first only, or none.
        good = ((True, True), (True, False), (False, False))[case % 3]
        failure = float(generator.choice([1e-3, 1e-2, 0.1]))
        passing = np.where(good, passing, np.minimum(passing, failure))
        epsilon, extra = (float(e) for e in generator.uniform(0.0, 1.5, 2))
        tests = np.stack([passing, 1.0 - passing], axis=1)
        outputs = np.concatenate([passing[:, None] * runs, 1.0 - passing[:, None]], axis=1)
        point = {
            "epsilon": epsilon,
            # A data set that should pass certifies both directions of the pair.
            "delta": _two_way(runs, epsilon) if any(good) else 0.0,
            "test_epsilon": extra,
            "test_delta": _two_way(tests, extra),
            "failure": failure,
        }
        where = f"case {case} of seed {budget.seed}, should pass: {good}"
        yield point, _two_way(outputs, epsilon + extra), where


@KRW.privacy("KRW-Sec6.1-tighter", "Section 6.1", Relation.BASE)
def tighter(
    *,
    epsilon: TunedEpsilon = 1.0,
    delta: RunDelta = 1e-6,
    mean: Annotated[float, number("E[K] of the geometric law", above=1.0)] = 30.0,
) -> float:
    """At equal (epsilon, delta) of the tuned algorithm, Corollary 6.2 leaves a run more epsilon
    than Liu & Talwar's bound.

    Returns the ratio of the two, which is above 1.
    """
    law = laws.geometric(1.0 / mean)
    ours, theirs = (
        calibrate_tuned(epsilon, delta, law, theorem).run.epsilon
        for theorem in ("KRW-Cor6.2", "LT-Thm3.4")
    )
    return ours / theirs


@tighter.bounds(grid(epsilon=[0.1, 1.0, 5.0], delta=[1e-6], mean=[30.0]))
def tighter_cases():
    return 1.0, "no more epsilon"
