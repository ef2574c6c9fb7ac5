"""Liu & Talwar 2019, Theorems 4.4(a) and 4.6(a): privacy of Algorithms 4 and 5."""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.accounting.single_run.pairs import extreme_neighbours, random_pure_pair
from jaxsel.base import Budget, Relation
from jaxsel.checking import Case, at_most
from jaxsel.domains import positive, probability, whole
from jaxsel.families.percentile.claims.above_threshold import random_shares
from jaxsel.families.percentile.claims.parameters import (
    BaseEpsilon,
    Delta,
    FinalEpsilon,
    Samples,
    Shift,
    Slack,
)
from jaxsel.families.percentile.laws import (
    extended_law,
    found_threshold_law,
    share_counts,
)
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5
from jaxsel.papers import LT

Sensitivity = Annotated[float, positive("S, which the noise is made for")]


def _falling_thresholds(
    generator: np.random.Generator, epsilon: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of falling thresholds under an epsilon-close pair of base laws."""
    laws = random_pure_pair(generator, size, epsilon, 1.0)
    # A little of the uniform law keeps them close, and no two shares nearly equal.
    first, second = (np.cumsum(0.8 * law + 0.2 / size) for law in laws)
    return np.minimum(first, 1.0), np.minimum(second, 1.0)


def _delta(*, delta: Delta = 1e-3) -> float:
    """delta itself, at epsilon_3."""
    return delta


def _plan(generator: np.random.Generator) -> dict[str, Any]:
    return {
        "target": float(generator.uniform(0.1, 0.9)),
        "beta": float(generator.uniform(0.05, 0.9)),
        "slack": float(generator.uniform(0.1, 0.95)),
        "base_epsilon": float(generator.uniform(0.1, 0.95)),
        "final_epsilon": float(generator.uniform(0.3, 3.0)),
        "delta": float(10.0 ** generator.uniform(-5.0, -1.0)),
    }


def _samples(generator: np.random.Generator, test: PercentileTest) -> PercentileTest:
    """The theorem's N, or a small one: privacy holds for any."""
    chosen = generator.choice([0, 3, 30, 150])
    return test._replace(samples=int(chosen)) if chosen else test


def _sides(algorithm: int, first, second, test) -> tuple[np.ndarray, np.ndarray]:
    law = extended_law if algorithm == 4 else found_threshold_law
    return law(first, test), law(second, test)


def _instances(algorithm: int, budget: Budget, cases: int):
    generator = np.random.default_rng(budget.seed + algorithm)
    for _ in range(min(budget.cases, cases)):
        plan, size = _plan(generator), int(generator.integers(2, 5))
        if algorithm == 4:
            test = algorithm_4(**plan, queries=size)
            pair = random_shares(generator, plan["base_epsilon"], size)
        else:
            test = algorithm_5(**plan, thresholds=size)
            pair = _falling_thresholds(generator, plan["base_epsilon"], size)
        yield plan, pair, _samples(generator, test), generator


def _approximate(algorithm: int):
    def cases(budget: Budget) -> Iterator[Case]:
        for plan, pair, test, _ in _instances(algorithm, budget, 16):
            laws = _sides(algorithm, *pair, test)
            seen = float(profile_delta(*laws, plan["final_epsilon"]))
            where = f"shares {pair[0].tolist()} and {pair[1].tolist()}, {plan}"
            yield plan["delta"], seen, f"{where}, N={test.samples}"

    return cases


def _pure_4(
    *,
    samples: Samples = 40,
    shift: Shift = 5.0,
    sensitivity: Sensitivity = 1.2,
    final_epsilon: FinalEpsilon = 1.0,
) -> float:
    """(L/S) epsilon_3 with L = 2 log(1 + N/Delta)."""
    return 2.0 * pure_of_search(
        samples=samples,
        shift=shift,
        sensitivity=sensitivity,
        final_epsilon=final_epsilon,
    )


def pure_of_search(
    *,
    samples: Samples = 40,
    shift: Shift = 5.0,
    sensitivity: Sensitivity = 0.6,
    final_epsilon: FinalEpsilon = 1.0,
) -> float:
    """(L/S) epsilon_3 with L = log(1 + N/Delta), how far two counts can lie apart."""
    return math.log1p(samples / shift) / sensitivity * final_epsilon


def _small(algorithm: int, budget: Budget):
    """Pairs with few samples and a small Delta, far outside the theorem's settings."""
    for _, pair, test, generator in _instances(algorithm, budget, 40):
        yield (
            pair,
            test._replace(
                samples=int(generator.integers(1, 60)),
                shift=float(10.0 ** generator.uniform(-0.5, 2.0)),
            ),
        )
    for p in (1e-3, 0.5):
        test = algorithm_4(queries=3) if algorithm == 4 else algorithm_5(thresholds=3)
        test = test._replace(samples=4, shift=1.0, offset=0.0)
        yield (np.full(3, p), np.full(3, 1.0 - p)), test


def _any_counts(algorithm: int):
    bound = _pure_4 if algorithm == 4 else pure_of_search

    def cases(budget: Budget) -> Iterator[Case]:
        for pair, test in _small(algorithm, budget):
            claimed = bound(
                samples=test.samples,
                shift=test.shift,
                sensitivity=test.threshold_scale / 2.0,  # S/epsilon_3 is what counts
            )
            seen = exact_epsilon(*_sides(algorithm, *pair, test))
            where = f"shares {pair[0].tolist()} and {pair[1].tolist()}, {test}"
            yield claimed, seen, where

    return cases


def coupling_failure(
    first: float, second: float, test: PercentileTest, sensitivity: float
) -> float:
    """Chance that two coupled counts lie more than ``sensitivity`` apart in log Phi.

    The counts of N runs at shares ``first`` and ``second`` are made from one uniform
    number by inversion.
    """
    sides = [share_counts(test.samples, share) for share in (first, second)]
    ranks = [np.argsort(side.values) for side in sides]
    ends = [
        np.cumsum(side.weights[rank]) for side, rank in zip(sides, ranks, strict=True)
    ]
    heights = [
        (np.log(side.values + test.shift) - np.log(side.failures + test.shift))[rank]
        for side, rank in zip(sides, ranks, strict=True)
    ]
    cuts = np.unique(np.clip(np.concatenate([np.zeros(1), *ends]), 0.0, 1.0))
    middle = (cuts[1:] + cuts[:-1]) / 2.0
    at = [
        height[np.minimum(np.searchsorted(end, middle), height.size - 1)]
        for height, end in zip(heights, ends, strict=True)
    ]
    apart = np.abs(at[0] - at[1]) > sensitivity * (1.0 + 1e-12)
    return float(np.sum(np.diff(cuts)[apart]))


def _coupled(
    *,
    share: Annotated[float, probability("p on one side")] = 0.3,
    base_epsilon: BaseEpsilon = 0.1,
    slack: Slack = 0.5,
    samples: Samples = 40,
    shift: Shift = 5.0,
    queries: Annotated[int, whole("T", at_least=1)] = 5,
) -> float:
    """Delta at epsilon_3: T times the chance that coupled counts lie S apart.

    S is 2 (epsilon_1 + epsilon_0); p on the other side is the largest epsilon_1-close.
    """
    other = extreme_neighbours(share, base_epsilon)[1]
    test = algorithm_4(base_epsilon=base_epsilon, slack=slack)._replace(
        samples=samples, shift=shift
    )
    sensitivity = 2.0 * (base_epsilon + slack)
    return queries * coupling_failure(share, other, test, sensitivity)


def _coupling_cases(budget: Budget) -> Iterator[Case]:
    for plan, pair, test, generator in _instances(4, budget, 40):
        test = test._replace(
            samples=int(generator.integers(5, 100)),
            shift=float(10.0 ** generator.uniform(-0.5, 1.5)),
        )
        sensitivity = 2.0 * (plan["base_epsilon"] + plan["slack"])
        failing = [
            coupling_failure(p, q, test, sensitivity)
            for p, q in zip(*pair, strict=True)
        ]
        laws = _sides(4, *pair, test)
        seen = float(profile_delta(*laws, plan["final_epsilon"]))
        where = f"shares {pair[0].tolist()} and {pair[1].tolist()}, {test}"
        yield min(1.0, sum(failing)), seen, where


STATEMENTS = (
    LT.privacy(
        "LT-Thm4.4(a)",
        "Theorem 4.4(a)",
        "Over epsilon_1-DP bases Algorithm 4 with the Delta of the theorem and any "
        "number of samples is (epsilon_3, delta)-DP.",
        Relation.BASE,
        _delta,
        at_most(_approximate(4)),
    ),
    LT.privacy(
        "LT-Thm4.4(a)-sharp",
        "Theorem 4.4(a), a bound of this project",
        "For any N, Delta and bases, Algorithm 4 is purely (L/S) epsilon_3-DP, L = 2 "
        "log(1 + N/Delta): the counts cannot lie further apart.",
        Relation.BASE,
        _pure_4,
        at_most(_any_counts(4)),
    ),
    LT.privacy(
        "LT-Thm4.4(a)-coupling",
        "Theorem 4.4(a), a bound of this project",
        "For any N and Delta, Algorithm 4 is (epsilon_3, delta)-DP with delta the sum "
        "over queries of the chance that the two counts, coupled by inversion, lie "
        "more than S apart in log Phi.",
        Relation.BASE,
        _coupled,
        at_most(_coupling_cases),
    ),
    LT.privacy(
        "LT-Thm4.6(a)",
        "Theorem 4.6(a)",
        "Over an epsilon_1-DP base Algorithm 5 with the Delta of the theorem and any "
        "number of samples is (epsilon_3, delta)-DP.",
        Relation.BASE,
        _delta,
        at_most(_approximate(5)),
    ),
    LT.privacy(
        "LT-Thm4.6(a)-sharp",
        "Theorem 4.6(a), a bound of this project",
        "For any N, Delta and base, Algorithm 5 is purely (L/S) epsilon_3-DP, L = "
        "log(1 + N/Delta).",
        Relation.BASE,
        pure_of_search,
        at_most(_any_counts(5)),
    ),
)
