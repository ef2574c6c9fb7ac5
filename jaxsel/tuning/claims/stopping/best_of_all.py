"""Liu & Talwar 2019, Appendix B.1: releasing the best of all candidates."""

import math
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid, listed
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.papers import LT
from jaxsel.tuning.attained.exact_laws import tuned_law

Epsilon = Annotated[float, positive("of each candidate")]


@LT.privacy("LT-B.1", "Appendix B.1", Relation.BASE)
def best_of_all(
    *,
    epsilon: Epsilon = 1.0,
    count: Annotated[int, whole("K, how many candidates", at_least=1)] = 5,
):
    """Releasing the best of K candidates, each epsilon-DP, has pure epsilon exactly K epsilon in
    the worst case."""
    return count * epsilon


def _settings(budget):
    yield from grid(epsilon=(0.01, 0.1, 1.0, 3.0), count=(1, 2, 5, 50))(budget)
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 150)):
        epsilon = generator.uniform(0.01, 3.0)
        yield {"epsilon": epsilon, "count": int(generator.integers(1, 60))}


@best_of_all.equals(_settings)
def attained(epsilon, count):
    fixed = laws.point_mass(count)
    for name, base in (
        ("randomised response", pairs.randomised_response(epsilon)),
        # the first example of the paper, as corrected: scores 0.95 and 0.8, and one
        # more candidate at 0.9, which wins if all others score 0.8
        ("P[0.8] = 1/2, e^-epsilon/2", _halves(epsilon)),
    ):
        yield exact_epsilon(*(tuned_law(side, fixed) for side in base)), name


def _halves(epsilon: float) -> pairs.LawPair:
    low = math.exp(-epsilon) / 2.0
    return pairs.LawPair(np.array([0.5, 0.5]), np.array([1.0 - low, low]))


@LT.privacy("LT-B.1-example-printed", "Appendix B.1, first example", Relation.BASE)
def example_printed(
    *,
    # e^epsilon/2 is a probability
    epsilon: Annotated[float, number("of each candidate", above=0.0, below=math.log(2.0))] = 0.1,
):
    """Candidates that score 0.8 with probability 1/2 on one data set and e^epsilon/2 on the other
    are epsilon-DP."""
    return epsilon


@example_printed.bounds(listed("epsilon", 0.01, 0.1, 0.5))
def positive_part(epsilon):
    high = math.exp(epsilon) / 2.0
    # the complement is printed as (1 - e^epsilon)/2, which is negative
    return exact_epsilon([0.5, 0.5], [1.0 - high, high])


@LT.privacy("LT-B.1-example", "Appendix B.1, first example corrected", Relation.BASE)
def example(*, epsilon: Epsilon = 0.1):
    """Candidates that score 0.8 with probability 1/2 on one data set and e^-epsilon/2 on the other
    have pure epsilon exactly epsilon."""
    return epsilon


@example.equals(_settings)
def halves(epsilon):
    return exact_epsilon(*_halves(epsilon))


@LT.privacy("LT-B.1(delta)", "Appendix B.1, second example", Relation.BASE)
def at_delta(
    *,
    epsilon: Epsilon = 1.0,
    delta: Annotated[float, probability("d, where the loss is taken")] = 1e-6,
):
    """With a chance log(1/d)/K against e^-epsilon log(1/d)/K to beat a fixed candidate, the best of
    K has log((P' - d)/P) -> log(d^(e^-epsilon - 1) - 1), which grows as log(1/d)."""
    return math.log(math.expm1(math.expm1(-epsilon) * math.log(delta)))


@at_delta.equals(grid(epsilon=(0.1, 0.5, 1.0, 2.0), delta=(1e-3, 1e-6, 1e-12)), tolerance=1e-5)
def many_candidates(epsilon, delta):
    count = 10**9
    # every other candidate beats the fixed one with this probability
    chance = -math.log(delta) / count
    first = math.exp(count * math.log1p(-chance))
    second = math.exp(count * math.log1p(-math.exp(-epsilon) * chance))
    return math.log((second - delta) / first), f"{count} candidates"


LT_E14 = LT.misprint(
    "LT-E14",
    "Appendix B.1, first example",
    "misprint",
    printed="On d_1' the score is 0.8 with probability e^epsilon/2 and 0.95 with probability (1 - "
    "e^epsilon)/2.",
    correct="(1 - e^epsilon)/2 is negative. With 1 - e^epsilon/2 the candidate is not epsilon-DP "
    "either, since (1/2)/(1 - e^epsilon/2) > e^epsilon for every epsilon > 0. With e^-epsilon/2 "
    "and 1 - e^-epsilon/2 it is, and the loss K epsilon follows.",
    refuted=[example_printed],
    corrected=[example, best_of_all],
)
