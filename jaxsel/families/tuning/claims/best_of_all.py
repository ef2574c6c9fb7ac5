"""Outputting the best candidate: Appendix B.1."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.tuning.attained.exact_laws import tuned_law

_PAPER = "Liu & Talwar 2019"


def _naive(*, epsilon: float = 1.0, count: int = 5) -> float:
    """Pure epsilon K epsilon of the best of K epsilon-DP candidates.

    Args:
      epsilon: of each candidate, > 0.
      count: K, >= 1.
    """
    return check_integer("count", count, 1) * check_positive("epsilon", epsilon)


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


def _example_printed(*, epsilon: float = 0.1) -> float:
    """Pure epsilon that the printed candidates are said to have.

    Args:
      epsilon: in (0, log 2), so that e^epsilon/2 is a probability.
    """
    return check_interval("epsilon", epsilon, 0.0, math.log(2.0))


def _example_printed_cases(budget: Budget) -> Iterator[Case]:
    for epsilon in (0.01, 0.1, 0.5):
        high = math.exp(epsilon) / 2.0
        # the complement is printed as (1 - e^epsilon)/2, which is negative
        seen = exact_epsilon([0.5, 0.5], [1.0 - high, high])
        where = f"P[0.8] = 1/2 and e^epsilon/2, epsilon={epsilon:g}"
        yield _example_printed(epsilon=epsilon), seen, where


def _example(*, epsilon: float = 0.1) -> float:
    """Pure epsilon of the candidates P[0.8] = 1/2 and e^-epsilon/2.

    Args:
      epsilon: > 0.
    """
    return check_positive("epsilon", epsilon)


def _example_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, _ in _settings(budget):
        seen = exact_epsilon(*_halves(epsilon))
        yield _example(epsilon=epsilon), seen, f"epsilon={epsilon!r}"


def _at_delta(*, epsilon: float = 1.0, delta: float = 1e-6) -> float:
    """Privacy loss at ``delta`` of the second example, for many candidates.

    log(d^(e^-epsilon - 1) - 1), with d for delta.

    Args:
      epsilon: of each candidate, > 0.
      delta: d in (0, 1).
    """
    epsilon = check_positive("epsilon", epsilon)
    log_inverse = -math.log(check_interval("delta", delta, 0.0, 1.0))
    return math.log(math.expm1(-math.expm1(-epsilon) * log_inverse))


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


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-B.1",
        source=f"{_PAPER}, Appendix B.1",
        statement="Releasing the best of K epsilon-DP candidates has pure epsilon exactly "
        "K epsilon in the worst case.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_naive,
        check=equal(_naive_cases, 1e-9),
        erratum="LT-E14",
    ),
    Claim(
        id="LT-B.1-example-printed",
        source=f"{_PAPER}, Appendix B.1, first example",
        statement="Candidates that score 0.8 with probability 1/2 on one data set and "
        "e^epsilon/2 on the other are epsilon-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_example_printed,
        check=at_most(_example_printed_cases),
        holds=False,
        erratum="LT-E14",
        correction="The probabilities of 0.95, 1/2 and 1 - e^epsilon/2, are further apart "
        "than e^epsilon; take e^-epsilon/2: LT-B.1-example.",
    ),
    Claim(
        id="LT-B.1-example",
        source=f"{_PAPER}, Appendix B.1, first example corrected",
        statement="Candidates that score 0.8 with probability 1/2 on one data set and "
        "e^-epsilon/2 on the other have pure epsilon exactly epsilon.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_example,
        check=equal(_example_cases, 1e-9),
        erratum="LT-E14",
    ),
    Claim(
        id="LT-B.1(delta)",
        source=f"{_PAPER}, Appendix B.1, second example",
        statement="With a chance log(1/d)/K against e^-epsilon log(1/d)/K to beat a fixed "
        "candidate, the best of K has log((P' - d)/P) -> log(d^(e^-epsilon - 1) - 1), "
        "which grows as log(1/d).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_at_delta,
        # first order in 1/K: off by about log(1/d)^2/(2 K), K = 10^9
        check=equal(_at_delta_cases, 1e-5),
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E14",
        source=f"{_PAPER}, Appendix B.1, first example",
        kind="misprint",
        printed="On d_1' the score is 0.8 with probability e^epsilon/2 and 0.95 with "
        "probability (1 - e^epsilon)/2.",
        correct="(1 - e^epsilon)/2 is negative. With 1 - e^epsilon/2 the candidate is not "
        "epsilon-DP either, since (1/2)/(1 - e^epsilon/2) > e^epsilon for every "
        "epsilon > 0. With e^-epsilon/2 and 1 - e^-epsilon/2 it is, and the loss K epsilon "
        "follows.",
        refuted=("LT-B.1-example-printed",),
        corrected=("LT-B.1-example", "LT-B.1"),
    ),
)
