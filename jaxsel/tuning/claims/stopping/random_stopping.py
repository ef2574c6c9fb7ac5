"""Liu & Talwar 2019, Theorems 1.3, 3.2 and 3.3: random stopping (Algorithm 2)."""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import in_units, listed
from jaxsel.language.domains import number, whole
from jaxsel.language.papers import LT
from jaxsel.tuning.bounds.random_stopping import (
    percentile_failure,
    percentile_failure_bound,
    stopping_failure,
    stopping_law,
)
from jaxsel.tuning.claims.base_pairs import approximate_pairs, pure_pairs
from jaxsel.tuning.parameters import Delta, Epsilon, Share, Stop


@LT.privacy("LT-Thm3.2", "Theorems 1.3(a) and 3.2", Relation.BASE, aliases=("LT-Thm1.3",))
def pure(*, epsilon: Epsilon = 1.0):
    """Drawing from an epsilon-DP base, stopping with probability gamma after each draw, and
    releasing the best draw (Algorithm 2) is 3 epsilon-DP, for every gamma in (0, 1]."""
    return 3.0 * epsilon


@pure.bounds()
def stopped(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        gammas = [10.0 ** generator.uniform(-6.0, 0.0)]
        if pair.where.startswith("pairs"):
            # three outcomes approach the bound as gamma and the middle mass vanish
            gammas += [1e-4, 1.0]
        point = {"epsilon": exact_epsilon(pair.first, pair.second)}
        for gamma in gammas:
            tuned = (stopping_law(side, gamma) for side in pair[:2])
            yield point, exact_epsilon(*tuned), f"{gamma=}, {pair.where}"


@LT.privacy("LT-Alg2-sharp", "Algorithm 2, for an approximate base", Relation.BASE)
def approximate(*, epsilon: Epsilon = 1.0, delta: Delta = 1e-6, gamma: Stop = 0.1):
    """For an (epsilon, d)-DP base Algorithm 2 is (3 epsilon, d/(gamma + d (1 - gamma)))-DP.

    delta of Algorithm 2 at 3 epsilon: d/(gamma + d (1 - gamma)).
    """
    del epsilon
    return stopping_failure(delta, gamma)


@approximate.bounds()
def failures(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        gamma = 10.0 ** generator.uniform(-4.0, 0.0)
        tuned = stopping_law(pair.first, gamma), stopping_law(pair.second, gamma)
        seen = float(profile_delta(*tuned, 3.0 * pair.epsilon))
        point = {"epsilon": pair.epsilon, "delta": pair.delta, "gamma": gamma}
        # relative: delta may be tiny
        yield point, in_units(seen), f"share of delta, {pair.where}"


@LT.utility("LT-Thm1.3(b)", "Theorem 1.3(b)")
def draws(*, gamma: Stop = 0.1):
    """Algorithm 2 makes 1/gamma draws on average."""
    return 1.0 / gamma


@draws.equals()
def enumerated(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        gamma = 10.0 ** generator.uniform(-3.0, 0.0)
        draw = np.arange(1, math.ceil(45.0 / gamma) + 2)
        mean = np.sum(draw * (gamma * (1.0 - gamma) ** (draw - 1.0)))
        yield {"gamma": gamma}, in_units(mean)


@LT.utility("LT-Thm1.3-printed", "Theorem 1.3, Algorithm 2")
def halting(
    *,
    gamma: Annotated[float, number("stopping probability", at_least=0.0, at_most=1.0)] = 0.0,
    draws: Annotated[int, whole("how many draws", at_least=1)] = 10**6,
):
    """For every gamma in [0, 1], 0 included, the algorithm outputs a sample, that is, with
    probability 1.

    Probability 1 - (1 - gamma)^draws that Algorithm 2 has put out a sample by then.

    The statement says that it does so, surely, in the end.
    """
    if gamma == 1.0:
        return 1.0
    return -math.expm1(draws * math.log1p(-gamma))


# at gamma > 0 the chance of no output is below 1e-300 by then
@halting.bounds_below(listed("gamma draws", (1.0, 10**6), (1e-3, 10**6), (0.0, 10**6)))
def halted():
    return lambda chance: (1.0, chance)


@LT.utility("LT-Thm3.3", "Theorem 3.3")
def percentile(*, share: Share = 0.1, gamma: Stop = 0.01):
    """With Q^(p) = sup{z : P[score >= z] > p}, the output of Algorithm 2 is below Q^(p) with
    probability at most gamma/p."""
    return percentile_failure_bound(share, gamma)


@LT.utility("LT-Thm3.3-printed", "proof of Theorem 3.3, second equality")
def percentile_printed(*, share: Share = 0.3, gamma: Stop = 0.1):
    """The output of Algorithm 2 is below Q^(p) with probability exactly sum_j (1 - gamma)^(j-1)
    gamma (1 - p)^j."""
    return percentile_failure(share, gamma)


def _missed(q: np.ndarray, share: float, gamma: float) -> float:
    """P[out < Q^(p)], Q^(p) = sup{z : P[score >= z] > p}, for distinct scores."""
    reaching = np.cumsum(q)
    # the best level that more than p of the mass reaches
    level = min(int(np.searchsorted(reaching, share, side="right")), q.size - 1)
    return float(np.sum(stopping_law(q, gamma)[level + 1 :]))


def _percentile_instances(budget: Budget) -> Iterator[tuple[np.ndarray, float, float]]:
    yield np.array([0.5, 0.5]), 0.3, 0.1
    for share, gamma in itertools.product((0.5, 0.1, 0.01), (0.5, 0.01, 1e-4)):
        yield np.full(1000, 1e-3), share - 5e-4, gamma
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        q = generator.dirichlet(np.full(int(generator.integers(2, 12)), 0.5)) + 1e-9
        share = generator.uniform(0.001, 1.0)
        yield q / q.sum(), share, 10.0 ** generator.uniform(-4.0, 0.0)


@percentile.bounds()
def missed(budget):
    for q, share, gamma in _percentile_instances(budget):
        where = f"{q.size} outcomes, best {q[0]:.17g}"
        yield {"share": share, "gamma": gamma}, _missed(q, share, gamma), where


@percentile_printed.equals(listed("share gamma", (0.3, 0.1), (0.1, 0.01)))
def few_outcomes(share, gamma):
    for masses in ([0.5, 0.5], [0.2, 0.3, 0.5]):
        yield _missed(np.array(masses), share, gamma), f"q={masses}"


R_LT_19 = LT.remark(
    "R-LT-19",
    "Theorems 1.3, 3.2 to 3.5; proof of Theorem 3.3",
    "gamma is said to be in [0, 1]. At gamma = 0 Algorithm 2 never halts, and the hard stops "
    "(1/gamma) log(...) are not defined: read gamma > 0. In the proof of Theorem 3.3 the second "
    "'=' is '<=' where more than p of the runs reach Q^(p); the theorem stands.",
    readings=[halting, percentile_printed],
    holds=[pure, percentile],
)
