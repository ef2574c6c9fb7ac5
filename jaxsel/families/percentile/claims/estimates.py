"""Liu & Talwar 2019, Theorems 4.4(a) and 4.6(a): privacy of Algorithms 4 and 5."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.accounting.single_run.pairs import extreme_neighbours, random_pure_pair
from jaxsel.base import Budget, Claim
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.percentile.claims.above_threshold import (
    privacy_claim,
    random_shares,
)
from jaxsel.families.percentile.laws import (
    count_range,
    extended_law,
    found_threshold_law,
    share_counts,
    sparse_vector_epsilon,
)
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5


def _falling_thresholds(
    generator: np.random.Generator, epsilon: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of falling thresholds under an epsilon-close pair of base laws."""
    laws = random_pure_pair(generator, size, epsilon, 1.0)
    # A little of the uniform law keeps them close, and no two shares nearly equal.
    first, second = (np.cumsum(0.8 * law + 0.2 / size) for law in laws)
    return np.minimum(first, 1.0), np.minimum(second, 1.0)


# --- Algorithms 4 and 5: Theorems 4.4(a) and 4.6(a) -----------------------------------


def _delta(*, delta: float = 1e-3) -> float:
    """delta itself, at epsilon_3.

    Args:
      delta: in (0, 1).
    """
    return check_interval("delta", delta, 0.0, 1.0)


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


def _pure(
    *, samples: int = 40, shift: float = 5.0, sensitivity: float = 1.2, sides: int = 2
) -> float:
    """(L/S) epsilon_3 at epsilon_3 = 1, with L = sides log(1 + N/Delta).

    Args:
      samples: N >= 1.
      shift: Delta > 0.
      sensitivity: S > 0, which the noise is made for.
      sides: 2 for Algorithm 4, 1 for Algorithm 5.
    """
    sensitivity = check_positive("sensitivity", sensitivity)
    shift = check_positive("shift", shift)
    test = PercentileTest(
        0.5, samples, shift, 4.0 * sensitivity, 2.0 * sensitivity, math.nan
    )
    return sparse_vector_epsilon(count_range(test, sides), *test[3:5])


def _pure_5(
    *, samples: int = 40, shift: float = 5.0, sensitivity: float = 0.6
) -> float:
    """(L/S) epsilon_3 at epsilon_3 = 1, with L = log(1 + N/Delta).

    Args:
      samples: N >= 1.
      shift: Delta > 0.
      sensitivity: S > 0, which the noise is made for.
    """
    return _pure(samples=samples, shift=shift, sensitivity=sensitivity, sides=1)


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
    sides = 2 if algorithm == 4 else 1

    def cases(budget: Budget) -> Iterator[Case]:
        for pair, test in _small(algorithm, budget):
            seen = exact_epsilon(*_sides(algorithm, *pair, test))
            scales = test.query_scale, test.threshold_scale
            claimed = sparse_vector_epsilon(count_range(test, sides), *scales)
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
    share: float = 0.3,
    base_epsilon: float = 0.1,
    slack: float = 0.5,
    samples: int = 40,
    shift: float = 5.0,
    queries: int = 5,
) -> float:
    """Delta at epsilon_3: T times the chance that coupled counts lie S apart.

    Args:
      share: p on one side, the largest epsilon_1-close share on the other.
      base_epsilon, slack: epsilon_1 > 0 and epsilon_0 in (0, 1); S is twice their sum.
      samples: N.
      shift: Delta.
      queries: T.
    """
    other = extreme_neighbours(share, base_epsilon)[1]
    test = algorithm_4(base_epsilon=base_epsilon, slack=slack)._replace(
        samples=check_integer("samples", samples, 1),
        shift=check_positive("shift", shift),
    )
    sensitivity = 2.0 * (base_epsilon + slack)
    return check_integer("queries", queries, 1) * coupling_failure(
        share, other, test, sensitivity
    )


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


CLAIMS: tuple[Claim, ...] = (
    privacy_claim(
        "LT-Thm4.4(a)",
        "Theorem 4.4(a)",
        "Over epsilon_1-DP bases Algorithm 4 with the Delta of the theorem and any "
        "number of samples is (epsilon_3, delta)-DP.",
        _delta,
        at_most(_approximate(4)),
    ),
    privacy_claim(
        "LT-Thm4.4(a)-sharp",
        "Theorem 4.4(a), a bound of this project",
        "For any N, Delta and bases, Algorithm 4 is purely (L/S) epsilon_3-DP, L = 2 "
        "log(1 + N/Delta): the counts cannot lie further apart.",
        _pure,
        at_most(_any_counts(4)),
    ),
    privacy_claim(
        "LT-Thm4.4(a)-coupling",
        "Theorem 4.4(a), a bound of this project",
        "For any N and Delta, Algorithm 4 is (epsilon_3, delta)-DP with delta the sum "
        "over queries of the chance that the two counts, coupled by inversion, lie "
        "more than S apart in log Phi.",
        _coupled,
        at_most(_coupling_cases),
    ),
    privacy_claim(
        "LT-Thm4.6(a)",
        "Theorem 4.6(a)",
        "Over an epsilon_1-DP base Algorithm 5 with the Delta of the theorem and any "
        "number of samples is (epsilon_3, delta)-DP.",
        _delta,
        at_most(_approximate(5)),
    ),
    privacy_claim(
        "LT-Thm4.6(a)-sharp",
        "Theorem 4.6(a), a bound of this project",
        "For any N, Delta and base, Algorithm 5 is purely (L/S) epsilon_3-DP, L = "
        "log(1 + N/Delta).",
        _pure_5,
        at_most(_any_counts(5)),
    ),
)
