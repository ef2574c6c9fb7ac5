"""Claims of Liu & Talwar 2019, Theorems 4.4(a) and 4.6(a): the privacy of Algorithms 4 and 5."""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta, exact_epsilon, profile_delta
from jaxsel.accounting.single_run.pairs import extreme_neighbours, random_pure_pair
from jaxsel.families.percentile.claims.above_threshold import low_then_high, random_shares
from jaxsel.families.percentile.claims.formulas import final_itself
from jaxsel.families.percentile.laws import extended_law, found_threshold_law, share_counts
from jaxsel.families.percentile.parameters import BaseEpsilon, FinalEpsilon, Samples, Shift, Slack
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Relation
from jaxsel.language.domains import numbers, positive, probability, whole
from jaxsel.language.papers import LT

Sensitivity = Annotated[float, positive("S, which the noise is made for")]


def _falling_thresholds(
    generator: np.random.Generator, epsilon: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """The shares of falling thresholds on two sides, whose base laws are epsilon-close.

    Args:
      generator: draws the base laws.
      epsilon: of one run.
      size: number of thresholds.

    Returns:
      Two Float["size"], increasing.
    """
    laws = random_pure_pair(generator, size, epsilon, 1.0)
    # A little of the uniform law keeps them close, and no two shares nearly equal.
    first, second = (np.cumsum(0.8 * law + 0.2 / size) for law in laws)
    return np.minimum(first, 1.0), np.minimum(second, 1.0)


def _sides(algorithm: int, pair, test: PercentileTest) -> tuple[np.ndarray, np.ndarray]:
    """The exact laws of Algorithm 4's or 5's halt for a pair of lists of shares."""
    law = extended_law if algorithm == 4 else found_threshold_law
    return law(pair[0], test), law(pair[1], test)


def _shares(pair) -> str:
    """A pair of lists of shares in words."""
    return f"shares {pair[0].tolist()} and {pair[1].tolist()}"


def _instances(algorithm: int, budget: Budget, cases: int):
    """Random cases of Algorithm 4 or 5: (plan, pair of shares, settings, generator)."""
    for generator in budget.draws(cases, stream=algorithm):
        plan: dict[str, Any] = {
            "target": float(generator.uniform(0.1, 0.9)),
            "beta": float(generator.uniform(0.05, 0.9)),
            "slack": float(generator.uniform(0.1, 0.95)),
            "base_epsilon": float(generator.uniform(0.1, 0.95)),
            "final_epsilon": float(generator.uniform(0.3, 3.0)),
            "delta": float(10.0 ** generator.uniform(-5.0, -1.0)),
        }
        size = int(generator.integers(2, 5))
        if algorithm == 4:
            test = algorithm_4(**plan, queries=size)
            pair = random_shares(generator, plan["base_epsilon"], size)
        else:
            test = algorithm_5(**plan, thresholds=size)
            pair = _falling_thresholds(generator, plan["base_epsilon"], size)
        # The theorem's N, or a small one: privacy holds for any.
        if chosen := int(generator.choice([0, 3, 30, 150])):
            test = test._replace(samples=chosen)
        yield plan, pair, test, generator


def _rising_then_high(epsilon: float, low: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares on two sides: ``low`` thresholds that few runs reach, then one that more reach.

    On the other side the first ones are reached e^epsilon times as often, and the last one
    e^epsilon times as rarely.
    """
    rare = 0.01
    first = np.append(np.full(low, rare), rare * math.exp(2.0 * epsilon))
    return first, np.full(low + 1, rare * math.exp(epsilon))


def _worst(algorithm: int) -> Iterator[tuple[dict[str, Any], Any, PercentileTest]]:
    """Pairs on which nearly all of epsilon_3 is spent, with the theorems' own settings.

    Their N is so large that the shares are as good as known, and the logarithms of the shares move
    by nearly as much as the noise is made for.
    """
    for slack, final, low in ((0.1, 1.0, 20), (0.02, 1.0, 20), (0.1, 0.3, 200)):
        plan: dict[str, Any] = {"base_epsilon": 0.9, "slack": slack}
        plan |= {"final_epsilon": final, "beta": 0.1, "delta": 1e-6}
        if algorithm == 4:
            test = algorithm_4(target=0.5, queries=low + 1, **plan)
            yield plan, low_then_high(0.9, low), test
        else:
            test = algorithm_5(target=0.1, thresholds=low + 1, **plan)
            # An offset is another target, for which the same is proved.
            yield plan, _rising_then_high(0.9, low), test._replace(offset=0.0)


@LT.privacy("LT-Thm4.4(a)", "Theorem 4.4(a)", Relation.BASE, formula=final_itself)
def private_4():
    """Over epsilon_1-DP bases Algorithm 4 with the Delta of the theorem and any number of samples
    is (epsilon_3, delta)-DP (compared: epsilon_3, with the exact epsilon at delta)."""


@LT.privacy("LT-Thm4.6(a)", "Theorem 4.6(a)", Relation.BASE, formula=final_itself)
def private_5():
    """Over an epsilon_1-DP base Algorithm 5 with the Delta of the theorem and any number of samples
    is (epsilon_3, delta)-DP (compared: epsilon_3, with the exact epsilon at delta)."""


@private_4.bounds(algorithm=4)
@private_5.bounds(algorithm=5)
def approximate(budget, algorithm):
    tried = [*_worst(algorithm), *(found[:3] for found in _instances(algorithm, budget, 16))]
    for plan, pair, test in tried:
        seen = epsilon_at_delta(*_sides(algorithm, pair, test), plan["delta"])
        where = f"{_shares(pair)}, {plan}, N={test.samples}"
        yield {"final_epsilon": plan["final_epsilon"]}, seen, where


@LT.privacy("LT-Thm4.4(a)-sharp", "Theorem 4.4(a), a bound of this project", Relation.BASE)
def pure_4(
    *,
    samples: Samples = 40,
    shift: Shift = 5.0,
    sensitivity: Sensitivity = 1.2,
    final_epsilon: FinalEpsilon = 1.0,
) -> float:
    """For any N, Delta and bases, Algorithm 4 is purely (L/S) epsilon_3-DP, L = 2 log(1 + N/Delta)
    being the most by which the log-odds of two counts can differ."""
    return 2.0 * pure_of_search(
        samples=samples, shift=shift, sensitivity=sensitivity, final_epsilon=final_epsilon
    )


@LT.privacy("LT-Thm4.6(a)-sharp", "Theorem 4.6(a), a bound of this project", Relation.BASE)
def pure_of_search(
    *,
    samples: Samples = 40,
    shift: Shift = 5.0,
    sensitivity: Sensitivity = 0.6,
    final_epsilon: FinalEpsilon = 1.0,
) -> float:
    """For any N, Delta and base, Algorithm 5 is purely (L/S) epsilon_3-DP, L = log(1 + N/Delta)
    being the most by which the logarithms of two counts can differ."""
    return math.log1p(samples / shift) / sensitivity * final_epsilon


def _small(algorithm: int, budget: Budget):
    """Cases with few samples and a small Delta, far from the theorem's settings."""
    for plan, pair, test, generator in _instances(algorithm, budget, 40):
        samples = int(generator.integers(1, 60))
        shift = float(10.0 ** generator.uniform(-0.5, 2.0))
        yield plan, pair, test._replace(samples=samples, shift=shift)
    # On one side no run reaches any of the first 60 queries, on the other all runs reach all of
    # them. With so many queries the noise of the threshold is as good as known.
    plan: dict[str, Any] = {"base_epsilon": 0.1, "slack": 0.5, "final_epsilon": 1.0}
    four = algorithm == 4
    test = algorithm_4(queries=60, **plan) if four else algorithm_5(thresholds=60, **plan)
    pair = np.append(np.zeros(60), 1.0), np.append(np.ones(60), 0.0 if four else 1.0)
    yield plan, pair, test._replace(samples=4, shift=1.0, offset=0.0)


@pure_4.bounds(algorithm=4)
@pure_of_search.bounds(algorithm=5)
def any_counts(budget, algorithm):
    sides = 2.0 if algorithm == 4 else 1.0
    for plan, pair, test in _small(algorithm, budget):
        point = {"samples": test.samples, "shift": test.shift}
        point["sensitivity"] = sides * (plan["base_epsilon"] + plan["slack"])
        point["final_epsilon"] = plan["final_epsilon"]
        seen = exact_epsilon(*_sides(algorithm, pair, test))
        yield point, seen, f"{_shares(pair)}, {test}"


def coupling_failure(
    first: float, second: float, test: PercentileTest, sensitivity: float
) -> float:
    """The probability that two coupled counts lie more than ``sensitivity`` apart in log Phi.

    Both are counts of N runs, and are made from one uniform number by inversion.

    Args:
      first, second: the shares on the two sides.
      test: the settings, of which N and Delta are used.
      sensitivity: S.
    """
    sides = [share_counts(test.samples, share) for share in (first, second)]
    ranks = [np.argsort(side.values) for side in sides]
    ends = [np.cumsum(side.weights[rank]) for side, rank in zip(sides, ranks, strict=True)]
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


@LT.privacy("LT-Thm4.4(a)-coupling", "Theorem 4.4(a), a bound of this project", Relation.BASE)
def coupled(
    *,
    share: Annotated[float, probability("p on one side")] = 0.3,
    base_epsilon: BaseEpsilon = 0.1,
    slack: Slack = 0.5,
    samples: Samples = 40,
    shift: Shift = 5.0,
    queries: Annotated[int, whole("T", at_least=1)] = 5,
    shares: Annotated[
        np.ndarray | None, numbers("p of each query on one side", at_least=0.0, at_most=1.0)
    ] = None,
    others: Annotated[
        np.ndarray | None, numbers("p of each query on the other", at_least=0.0, at_most=1.0)
    ] = None,
) -> float:
    """For any N and Delta, Algorithm 4 is (epsilon_3, delta)-DP with delta the sum over queries of
    the chance that the two counts, coupled by inversion, lie more than S apart in log Phi.

    Returns this delta, with S = 2 (epsilon_1 + epsilon_0). By default there are T queries, all
    with the share p on one side and the largest epsilon_1-close share on the other. If ``shares``
    and ``others`` are given, they are the shares of each query, and ``queries`` is not used.
    """
    if (shares is None) != (others is None):
        raise InputError("shares and others belong together; give both, or neither")
    if shares is None or others is None:
        shares = np.array([share])
        others = np.array([extreme_neighbours(share, base_epsilon)[1]])
    else:
        queries = 1
    if shares.size != others.size:
        raise InputError(
            f"there are {shares.size} shares and {others.size} others; they must be equally many"
        )
    test = algorithm_4(base_epsilon=base_epsilon, slack=slack)._replace(
        samples=samples, shift=shift
    )
    sensitivity = 2.0 * (base_epsilon + slack)
    failing = [
        coupling_failure(float(p), float(q), test, sensitivity)
        for p, q in zip(shares, others, strict=True)
    ]
    return queries * sum(failing)


@coupled.bounds()
def coupling_cases(budget):
    # With one run and hardly any Delta, the result of the run is as good as released, and its
    # epsilon_1 is far more than the answers may spend.
    plan: dict[str, Any] = {"base_epsilon": 3.0, "slack": 0.05, "final_epsilon": 0.5}
    pair = np.array([0.5 * math.exp(-3.0)]), np.array([0.5])
    tried = [(plan, pair, algorithm_4(**plan)._replace(samples=1, shift=1e-60))]
    default = {name: domain.default for name, domain in coupled.parameters.items()}
    for plan, pair, test, generator in _instances(4, budget, 40):
        samples = int(generator.integers(5, 100))
        shift = float(10.0 ** generator.uniform(-0.5, 1.5))
        tried.append((plan, pair, test._replace(samples=samples, shift=shift)))
    for plan, pair, test in tried:
        point = default | {name: plan[name] for name in ("base_epsilon", "slack")}
        point |= {"samples": test.samples, "shift": test.shift}
        seen = float(profile_delta(*_sides(4, pair, test), plan["final_epsilon"]))
        yield point | {"shares": pair[0], "others": pair[1]}, seen, f"{test}"
