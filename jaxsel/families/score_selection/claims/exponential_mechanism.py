"""Theorem 5.2, first part: the exponential mechanism by random stopping."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_positive
from jaxsel.families.score_selection.candidate_laws import largest_loss
from jaxsel.families.score_selection.claims.instances import (
    chance_of_loss,
    failure,
    failure_given_candidates,
    neighbours,
    selection_law,
)
from jaxsel.families.score_selection.classical_laws import (
    exponential_law,
    exponential_loss,
)
from jaxsel.families.score_selection.settings import (
    exponential_selection,
    generalised_selection,
    generalised_selection_loss,
)
from jaxsel.repetitions import geometric

_PAPER = "Liu & Talwar 2019"


def _epsilon(*, epsilon: float = 1.0) -> float:
    """Pure epsilon of the selection with noise Lap(3 s/epsilon).

    Args:
      epsilon: > 0.
    """
    return check_positive("epsilon", epsilon)


def _privacy_cases(budget: Budget) -> Iterator[Case]:
    for case in neighbours(budget, equal=True, limit=100):
        first, second = (
            exponential_selection(scores, 1.0, case.epsilon, case.beta)
            for scores in (case.first, case.second)
        )
        law = geometric(first.gamma)
        seen = largest_loss(first.candidates, second.candidates, law)
        yield _epsilon(epsilon=case.epsilon), seen, case.where


def landscapes(
    budget: Budget, loss, limit: int = 100
) -> Iterator[tuple[np.ndarray, float, float, str]]:
    """Scores with all but one candidate just beyond the claimed loss, or at random.

    Args:
      budget: its seed and number of cases.
      loss: (K, epsilon, beta) -> claimed loss for sensitivity 1.
      limit: most random instances.

    Yields:
      (scores, epsilon, beta, where).
    """
    generator = np.random.default_rng(budget.seed)
    for count in (2, 10, 1000, 10**5):
        for epsilon, beta in ((1.0, 0.1), (0.2, 0.01)):
            scores = np.full(count, -1.0001 * loss(count, epsilon, beta))
            scores[0] = 0.0
            yield scores, epsilon, beta, f"one good of K={count}, {epsilon=}, {beta=}"
    for number in range(min(budget.cases, limit)):
        count = int(generator.integers(2, 40))
        epsilon = float(generator.uniform(0.1, 3.0))
        beta = float(10.0 ** generator.uniform(-3.0, -0.05))
        spread = loss(count, epsilon, beta) * generator.uniform(1.0, 3.0)
        scores = spread * generator.uniform(-1.0, 0.0, count)
        where = f"random landscape {number}: K={count}, {epsilon=!r}, {beta=!r}"
        yield scores, epsilon, beta, where


def _paper_loss(count: int, epsilon: float, beta: float) -> float:
    return 6.0 / epsilon * math.log(count / beta)


def _sharp_loss(count: int, epsilon: float, beta: float) -> float:
    return generalised_selection_loss(np.zeros(count), 1.0, epsilon, beta, sharp=True)


def _classical_loss(count: int, epsilon: float, beta: float) -> float:
    return exponential_loss(count, 1.0, epsilon, beta)


def _utility_cases(budget: Budget) -> Iterator[Case]:
    for scores, epsilon, beta, where in landscapes(budget, _paper_loss):
        law = selection_law(exponential_selection(scores, 1.0, epsilon, beta))
        seen = chance_of_loss(scores, law, _paper_loss(scores.size, epsilon, beta))
        yield failure_given_candidates(beta=beta, candidates=scores.size), seen, where


def _sharp_cases(budget: Budget) -> Iterator[Case]:
    for scores, epsilon, beta, where in landscapes(budget, _sharp_loss):
        chosen = generalised_selection(scores, 1.0, epsilon, beta, sharp=True)
        law = selection_law(chosen)
        seen = chance_of_loss(scores, law, _sharp_loss(scores.size, epsilon, beta))
        yield failure(beta=beta), seen, where


def _classical_cases(budget: Budget) -> Iterator[Case]:
    for scores, epsilon, beta, where in landscapes(budget, _classical_loss):
        law = exponential_law(scores, 1.0, epsilon)
        seen = chance_of_loss(scores, law, _classical_loss(scores.size, epsilon, beta))
        yield failure(beta=beta), seen, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm5.2-exponential-privacy",
        source=f"{_PAPER}, Theorem 5.2, exponential mechanism, corrected",
        statement="Random stopping over scores of sensitivity s with noise "
        "Lap(3 s/epsilon) is epsilon-DP, the noisy score of the chosen candidate "
        "released as well.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_epsilon,
        check=at_most(_privacy_cases),
        erratum="LT-E18",
    ),
    Claim(
        id="LT-Thm5.2-exponential-utility",
        source=f"{_PAPER}, Theorem 5.2, exponential mechanism, corrected",
        statement="With gamma = beta/(2 K) and noise Lap(3 s/epsilon) the chosen "
        "candidate's score is at least q* - (6 s/epsilon) log(K/beta), except with "
        "probability beta (1 + 1/K).",
        kind="utility",
        relation=None,
        evaluate=failure_given_candidates,
        check=at_most(_utility_cases),
        erratum="LT-E18",
    ),
    Claim(
        id="LT-Thm5.2-exponential-utility-sharp",
        source="this project, from the proof of Theorem 5.2",
        statement="With gamma = beta/(4 K) the chosen candidate's score is at least "
        "q* - (3 s/epsilon) log(4 K/beta^2), except with probability beta.",
        kind="utility",
        relation=None,
        evaluate=failure,
        check=at_most(_sharp_cases),
    ),
    Claim(
        id="MT-EM-utility",
        source="McSherry & Talwar 2007, the exponential mechanism",
        statement="The exponential mechanism chooses a score of at least "
        "q* - (2 s/epsilon) log(K/beta), except with probability beta.",
        kind="utility",
        relation=None,
        evaluate=failure,
        check=at_most(_classical_cases),
    ),
)
