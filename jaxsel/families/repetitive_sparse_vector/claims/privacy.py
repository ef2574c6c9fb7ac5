"""Cohen et al. 2022, Lemma 3: the privacy of the repetitive sparse vector.

The page with this lemma and with the pseudocode of Algorithm 3 was not available to us; both are
reconstructed, as ``jaxsel.families.repetitive_sparse_vector.laws`` says.
"""

import math

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.repetitive_sparse_vector import parameters
from jaxsel.families.repetitive_sparse_vector.claims.cases import (
    Failures,
    Gamma,
    QueryEpsilon,
    logs,
)
from jaxsel.families.repetitive_sparse_vector.laws import pattern_chance, pattern_law
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    privacy_epsilon,
    pure_epsilon,
)
from jaxsel.language.base import Relation
from jaxsel.language.papers import CL


@CL.privacy("CL-Lem3", "Lemma 3 (reconstructed)", Relation.GENERAL)
def pure(
    *, query_epsilon: QueryEpsilon = 0.1, failures: Failures = 10, gamma: Gamma = 1.0
) -> float:
    """Algorithm 3 is (2 k' + gamma) epsilon'-DP."""
    return pure_epsilon(RepetitiveSettings(gamma, 1, query_epsilon, failures, 1.0))


@CL.privacy(
    "CL-Lem3-approximate",
    "Lemma 3 (reconstructed), with Theorem 2 as corrected",
    Relation.GENERAL,
    erratum="CL-E3",
)
def approximate(
    *,
    query_epsilon: QueryEpsilon = 0.1,
    failures: Failures = 100,
    gamma: parameters.Gamma = 1.0,
    delta: parameters.Delta = 1e-6,
) -> float:
    """Algorithm 3 is (epsilon, delta)-DP with epsilon the smaller of (2 k' + gamma) epsilon' and
    what k' tops at a known p cost by Renyi divergences, of order epsilon' sqrt(k' log(1/delta)) +
    k' epsilon'^2, whatever gamma is; even at p = 1."""
    settings = RepetitiveSettings(gamma, 1, query_epsilon, failures, 1.0)
    return privacy_epsilon(settings, delta)


def _spent(settings: RepetitiveSettings) -> dict[str, float]:
    """The settings on which privacy depends, as parameters of the claims."""
    return {name: getattr(settings, name) for name in ("query_epsilon", "failures", "gamma")}


def _unspent(settings: RepetitiveSettings) -> str:
    """The settings on which privacy does not depend, in words."""
    return f"repetitions={settings.repetitions}, margin={settings.margin!r}"


def _random_settings(generator: np.random.Generator) -> RepetitiveSettings:
    return RepetitiveSettings(
        gamma=float(generator.choice([0.3, 1.0, 3.0])),
        repetitions=int(generator.choice([1, 2, 5, 50])),
        query_epsilon=float(10.0 ** generator.uniform(-1.0, 0.3)),
        failures=int(generator.integers(1, 6)),
        margin=float(generator.choice([0.1, 1.0, 4.0])),
    )


@pure.bounds()
def pure_cases(budget):
    for case, generator in enumerate(budget.draws(60)):
        settings = _random_settings(generator)
        size = int(generator.integers(1, 6))
        first = generator.uniform(-4.0, 1.5, size)
        change = generator.uniform(-1.0, 1.0, size)
        if case % 2 == 0:
            # Zeros and a one against ones and a zero.
            first = np.append(np.full(size, -2.0), -1.0)
            change = np.append(np.ones(size), -1.0)
        laws = [pattern_law(row, settings) for row in (first, first + change)]
        exact = exact_epsilon(laws[0], laws[1])
        levels = f"levels {first.tolist()} and {(first + change).tolist()}"
        yield _spent(settings), exact, f"{_unspent(settings)}, {levels}"


@pure.attains(
    share=0.999,
    where="many bottoms, then k' - 1 tops and the halt",
    at="epsilon' of 0.1 to 2 and k' up to 5",
)
def many_bottoms(budget):
    count = 10**8
    for generator in budget.draws(40):
        settings = _random_settings(generator)
        settings = settings._replace(margin=60.0 / settings.query_epsilon)
        sides = []
        for many, few in ((-3.0, -2.0), (-2.0, -3.0)):
            runs = [(many, False, count), (few, True, settings.failures - 1)]
            sides.append(pattern_chance(runs, settings, few))
        loss = math.log(sides[0]) - math.log(sides[1])
        where = f"{_unspent(settings)}, {count} bottoms at -3, tops at -2"
        yield _spent(settings), loss, where


def _equal_queries(count: int, level: float, settings: RepetitiveSettings):
    """The law of how many of some equal queries are answered, and how many of them top.

    Sequences of answers with the same two numbers are equally likely, at every level, so that the
    divergences of these laws are those of the sequences.

    Args:
      count: how many queries there are.
      level: f - t of each.
      settings: of the algorithm.

    Returns:
      Float["outcomes"]: the probabilities of all possible pairs of numbers.
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


@approximate.bounds()
def approximate_cases(budget):
    settings = [
        (10, 0.0, 0.1, RepetitiveSettings(1.0, 2, 0.3, 6, 1.0)),
        (12, -1.0, 0.01, RepetitiveSettings(1.0, 1, 0.2, 4, math.inf)),
        (150, -2.0, 1e-3, RepetitiveSettings(math.inf, 1, 0.2, 30, math.inf)),
        (300, -20.0, 1e-2, RepetitiveSettings(math.inf, 1, 0.1, 20, math.inf)),
        (300, -3.0, 1e-6, RepetitiveSettings(math.inf, 3, 0.5, 8, math.inf)),
    ]
    for generator in budget.draws(4):
        drawn = _random_settings(generator)._replace(gamma=math.inf, margin=math.inf)
        drawn = drawn._replace(failures=drawn.failures + 4, repetitions=1)
        delta = float(10.0 ** generator.uniform(-4.0, -1.0))
        settings.append((60, float(generator.uniform(-5.0, 0.0)), delta, drawn))
    for count, level, delta, chosen in settings:
        laws = [_equal_queries(count, x, chosen) for x in (level, level + 1.0)]
        for sides in (laws, laws[::-1]):

            def deltas(epsilon, sides=sides, delta=delta):
                return logs(float(profile_delta(sides[0], sides[1], epsilon)))(delta)

            text = f"{_unspent(chosen)}, {count} queries at {level!r} and one more"
            yield _spent(chosen) | {"delta": delta}, deltas, text
