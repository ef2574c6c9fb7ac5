"""Cohen et al. 2022, Section 4: all claims on the repetitive sparse vector.

Here is Lemma 3. It and the pseudocode of Algorithm 3 were on a page that was not
available to us; both are reconstructed, see
``jaxsel.families.repetitive_sparse_vector.laws``.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.base import Budget, Claim
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_positive
from jaxsel.families.repetitive_sparse_vector.claims.accuracy import (
    logs,
    section_4_claim,
    shown,
)
from jaxsel.families.repetitive_sparse_vector.laws import pattern_chance, pattern_law
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    privacy_epsilon,
    pure_epsilon,
)

# --- Lemma 3 --------------------------------------------------------------------------


def _pure(
    *, query_epsilon: float = 0.1, failures: int = 10, gamma: float = 1.0
) -> float:
    """Pure epsilon (2 k' + gamma) epsilon'.

    Args:
      query_epsilon: epsilon', of each Test, > 0.
      failures: k', at least 1.
      gamma: exponent of the prior of p, > 0.
    """
    inner = check_positive("query_epsilon", query_epsilon)
    failures = check_integer("failures", failures, 1)
    return (2.0 * failures + check_positive("gamma", gamma)) * inner


def _attained(
    *,
    query_epsilon: float = 0.1,
    failures: int = 10,
    gamma: float = 1.0,
    share: float = 0.999,
) -> float:
    """Share of (2 k' + gamma) epsilon' that a loss exceeds.

    Args:
      query_epsilon: epsilon', > 0.
      failures: k', at least 1.
      gamma: > 0.
      share: in (0, 1).
    """
    whole = _pure(query_epsilon=query_epsilon, failures=failures, gamma=gamma)
    return probability("share", share) * whole


def _approximate(
    *,
    query_epsilon: float = 0.1,
    failures: int = 100,
    gamma: float = 1.0,
    delta: float = 1e-6,
) -> float:
    """Epsilon at delta: min of (2 k' + gamma) epsilon' and the Renyi bound.

    Args:
      query_epsilon: epsilon', > 0.
      failures: k', at least 1.
      gamma: > 0; inf: p = 1.
      delta: in (0, 1).
    """
    settings = RepetitiveSettings(gamma, 1, query_epsilon, failures, 1.0)
    return privacy_epsilon(settings, probability("delta", delta))


def _random_settings(generator: np.random.Generator) -> RepetitiveSettings:
    return RepetitiveSettings(
        gamma=float(generator.choice([0.3, 1.0, 3.0])),
        repetitions=int(generator.choice([1, 2, 5, 50])),
        query_epsilon=float(10.0 ** generator.uniform(-1.0, 0.3)),
        failures=int(generator.integers(1, 6)),
        margin=float(generator.choice([0.1, 1.0, 4.0])),
    )


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for number in range(min(budget.cases, 60)):
        settings = _random_settings(generator)
        size = int(generator.integers(1, 6))
        first = generator.uniform(-4.0, 1.5, size)
        change = generator.uniform(-1.0, 1.0, size)
        if number % 2 == 0:
            # Zeros and a one against ones and a zero.
            first = np.append(np.full(size, -2.0), -1.0)
            change = np.append(np.ones(size), -1.0)
        laws = [pattern_law(row, settings) for row in (first, first + change)]
        exact = exact_epsilon(laws[0], laws[1])
        levels = f"levels {first.tolist()} and {(first + change).tolist()}"
        yield pure_epsilon(settings), exact, f"{shown(settings)}, {levels}"


def _sharp_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    count = 10**8
    for _ in range(min(budget.cases, 40)):
        settings = _random_settings(generator)
        settings = settings._replace(margin=60.0 / settings.query_epsilon)
        sides = []
        for many, few in ((-3.0, -2.0), (-2.0, -3.0)):
            runs = [(many, False, count), (few, True, settings.failures - 1)]
            sides.append(pattern_chance(runs, settings, few))
        loss = math.log(sides[0]) - math.log(sides[1])
        claimed = _attained(
            query_epsilon=settings.query_epsilon,
            failures=settings.failures,
            gamma=settings.gamma,
        )
        yield claimed, loss, f"{shown(settings)}, {count} bottoms at -3, tops at -2"


def _equal_queries(count: int, level: float, settings: RepetitiveSettings):
    """Law of what a row of equal queries tells: how many answers, how many tops.

    All sequences with the same numbers are equally likely, whatever the level.
    """
    size, law = settings.failures, []
    # V never fails if the margin is infinite: then it halts at the k'-th top.
    least = size - 1 if math.isinf(settings.margin) else 0
    for answered in range(count + 1):
        halts = answered < count
        for tops in range(least if halts else 0, min(size - 1, answered) + 1):
            runs = [(level, False, answered - tops), (level, True, tops)]
            ways = special.binom(answered, tops)
            end = level if halts else None
            law.append(ways * pattern_chance(runs, settings, end))
    return np.array(law)


def _approximate_cases(budget: Budget) -> Iterator[Case]:
    settings = [
        (10, 0.0, 0.1, RepetitiveSettings(1.0, 2, 0.3, 6, 1.0)),
        (12, -1.0, 0.01, RepetitiveSettings(1.0, 1, 0.2, 4, math.inf)),
        (150, -2.0, 1e-3, RepetitiveSettings(math.inf, 1, 0.2, 30, math.inf)),
        (300, -20.0, 1e-2, RepetitiveSettings(math.inf, 1, 0.1, 20, math.inf)),
        (300, -3.0, 1e-6, RepetitiveSettings(math.inf, 3, 0.5, 8, math.inf)),
    ]
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 4)):
        drawn = _random_settings(generator)._replace(gamma=math.inf, margin=math.inf)
        drawn = drawn._replace(failures=drawn.failures + 4, repetitions=1)
        delta = float(10.0 ** generator.uniform(-4.0, -1.0))
        settings.append((60, float(generator.uniform(-5.0, 0.0)), delta, drawn))
    for count, level, delta, chosen in settings:
        laws = [_equal_queries(count, x, chosen) for x in (level, level + 1.0)]
        claimed = _approximate(
            query_epsilon=chosen.query_epsilon,
            failures=chosen.failures,
            gamma=chosen.gamma,
            delta=delta,
        )
        for first, second in (laws, laws[::-1]):
            exact = float(profile_delta(first, second, claimed))
            text = f"{count} queries at {level!r} and one more, epsilon {claimed!r}"
            yield logs(delta, exact, f"{shown(chosen)}, {text}")


CLAIMS: tuple[Claim, ...] = (
    section_4_claim(
        "CL-Lem3",
        "Lemma 3 (reconstructed)",
        "Algorithm 3 is (2 k' + gamma) epsilon'-DP.",
        _pure,
        at_most(_pure_cases),
        "privacy",
    ),
    section_4_claim(
        "CL-Lem3-sharp",
        "Lemma 3; that it is attained is found here",
        "(2 k' + gamma) epsilon' cannot be lowered: many bottoms, then k' - 1 tops and "
        "the halt have a privacy loss that tends to it.",
        _attained,
        at_least(_sharp_cases),
        "privacy",
    ),
    section_4_claim(
        "CL-Lem3-approximate",
        "Lemma 3 (reconstructed), with Theorem 2 as corrected",
        "Algorithm 3 is (epsilon, delta)-DP with epsilon the smaller of (2 k' + gamma) "
        "epsilon' and what k' tops at a known p cost by Renyi divergences, of order "
        "epsilon' sqrt(k' log(1/delta)) + k' epsilon'^2, whatever gamma is; even at p "
        "= 1.",
        _approximate,
        at_most(_approximate_cases),
        "privacy",
        "CL-E3",
    ),
)
