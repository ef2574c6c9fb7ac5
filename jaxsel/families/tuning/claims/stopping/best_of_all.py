"""Liu & Talwar 2019, Appendix B.1: releasing the best of all candidates."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.papers import LT

Epsilon = Annotated[float, positive("of each candidate")]


def _naive(
    *,
    epsilon: Epsilon = 1.0,
    count: Annotated[int, whole("K, how many candidates", at_least=1)] = 5,
) -> float:
    """Pure epsilon K epsilon of the best of K epsilon-DP candidates."""
    return count * epsilon


def _settings(budget: Budget) -> Iterator[tuple[float, int]]:
    for epsilon in (0.01, 0.1, 1.0, 3.0):
        for count in (1, 2, 5, 50):
            yield epsilon, count
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 150)):
        yield float(generator.uniform(0.01, 3.0)), int(generator.integers(1, 60))


def _naive_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        claimed = _naive(epsilon=epsilon, count=count)
        fixed = laws.point_mass(count)
        for name, base in (
            ("randomised response", pairs.randomised_response(epsilon)),
            # the first example of the paper, as corrected: scores 0.95 and 0.8, and one
            # more candidate at 0.9, which wins if all others score 0.8
            ("P[0.8] = 1/2, e^-epsilon/2", _halves(epsilon)),
        ):
            tuned = [tuned_law(side, fixed) for side in base]
            where = f"{name}, epsilon={epsilon!r}, {count} candidates"
            yield claimed, exact_epsilon(*tuned), where


def _halves(epsilon: float) -> pairs.LawPair:
    low = math.exp(-epsilon) / 2.0
    return pairs.LawPair(np.array([0.5, 0.5]), np.array([1.0 - low, low]))


def _example_printed(
    *,
    # e^epsilon/2 is a probability
    epsilon: Annotated[float, number("of each candidate", above=0.0, below=math.log(2.0))] = 0.1,
) -> float:
    """Pure epsilon that the printed candidates are said to have."""
    return epsilon


def _example_printed_cases(budget: Budget) -> Iterator[Case]:
    for epsilon in (0.01, 0.1, 0.5):
        high = math.exp(epsilon) / 2.0
        # the complement is printed as (1 - e^epsilon)/2, which is negative
        seen = exact_epsilon([0.5, 0.5], [1.0 - high, high])
        where = f"P[0.8] = 1/2 and e^epsilon/2, epsilon={epsilon:g}"
        yield _example_printed(epsilon=epsilon), seen, where


def _example(*, epsilon: Epsilon = 0.1) -> float:
    """Pure epsilon of the candidates P[0.8] = 1/2 and e^-epsilon/2."""
    return epsilon


def _example_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, _ in _settings(budget):
        seen = exact_epsilon(*_halves(epsilon))
        yield _example(epsilon=epsilon), seen, f"epsilon={epsilon!r}"


def _at_delta(
    *,
    epsilon: Epsilon = 1.0,
    delta: Annotated[float, probability("d, where the loss is taken")] = 1e-6,
) -> float:
    """Privacy loss log(d^(e^-epsilon - 1) - 1) of the second example, many candidates."""
    return math.log(math.expm1(math.expm1(-epsilon) * math.log(delta)))


def _at_delta_cases(budget: Budget) -> Iterator[Case]:
    count = 10**9
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        for delta in (1e-3, 1e-6, 1e-12):
            # every other candidate beats the fixed one with this probability
            chance = -math.log(delta) / count
            first = math.exp(count * math.log1p(-chance))
            second = math.exp(count * math.log1p(-math.exp(-epsilon) * chance))
            seen = math.log((second - delta) / first)
            where = f"epsilon={epsilon:g}, delta={delta:g}, {count} candidates"
            yield _at_delta(epsilon=epsilon, delta=delta), seen, where


STATEMENTS = (
    LT.misprint(
        "LT-E14",
        "Appendix B.1, first example",
        "misprint",
        printed="On d_1' the score is 0.8 with probability e^epsilon/2 and 0.95 with "
        "probability (1 - e^epsilon)/2.",
        correct="(1 - e^epsilon)/2 is negative. With 1 - e^epsilon/2 the candidate is "
        "not epsilon-DP either, since (1/2)/(1 - e^epsilon/2) > e^epsilon for every "
        "epsilon > 0. With e^-epsilon/2 and 1 - e^-epsilon/2 it is, and the loss K "
        "epsilon follows.",
        refuted=(
            LT.privacy(
                "LT-B.1-example-printed",
                "Appendix B.1, first example",
                "Candidates that score 0.8 with probability 1/2 on one data set and "
                "e^epsilon/2 on the other are epsilon-DP.",
                Relation.BASE,
                _example_printed,
                at_most(_example_printed_cases),
            ),
        ),
        corrected=(
            LT.privacy(
                "LT-B.1-example",
                "Appendix B.1, first example corrected",
                "Candidates that score 0.8 with probability 1/2 on one data set and "
                "e^-epsilon/2 on the other have pure epsilon exactly epsilon.",
                Relation.BASE,
                _example,
                equal(_example_cases, 1e-9),
            ),
            LT.privacy(
                "LT-B.1",
                "Appendix B.1",
                "Releasing the best of K epsilon-DP candidates has pure epsilon "
                "exactly K epsilon in the worst case.",
                Relation.BASE,
                _naive,
                equal(_naive_cases, 1e-9),
            ),
        ),
    ),
    LT.privacy(
        "LT-B.1(delta)",
        "Appendix B.1, second example",
        "With a chance log(1/d)/K against e^-epsilon log(1/d)/K to beat a fixed "
        "candidate, the best of K has log((P' - d)/P) -> log(d^(e^-epsilon - 1) - 1), "
        "which grows as log(1/d).",
        Relation.BASE,
        _at_delta,
        equal(_at_delta_cases, 1e-5),
    ),
)
