"""Liu & Talwar 2019, Theorem 5.2, second part: candidates of different sensitivities.

Beside the generalised exponential mechanism of Raskhodnikova & Smith (2016).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.score_selection.candidate_laws import largest_loss
from jaxsel.families.score_selection.claims.instances import (
    chance_of_loss,
    neighbours,
    selection_law,
)
from jaxsel.families.score_selection.claims.parameters import (
    Beta,
    Candidates,
    failure,
    failure_given_candidates,
    pure,
)
from jaxsel.families.score_selection.classical_laws import (
    generalised_exponential_law,
    generalised_exponential_loss,
)
from jaxsel.families.score_selection.settings import (
    generalised_selection,
    generalised_selection_loss,
    stopping_for,
)
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import in_units
from jaxsel.language.papers import JX, LT, RS
from jaxsel.repetitions import geometric

private = LT.privacy(
    "LT-Thm5.2-generalised-privacy",
    "Theorem 5.2, generalised exponential mechanism, corrected",
    Relation.GENERAL,
    statement="Random stopping over the scores q_i - 2 b_i log(K/beta) + Lap(b_i), b_i = 3 "
    "s_i/epsilon, is epsilon-DP, with no delta, the noisy score of the chosen candidate released "
    "as well.",
    erratum="LT-E18",
)(pure)


@private.bounds()
def privacy_cases(budget):
    for case in neighbours(budget, equal=False, limit=80):
        first, second = (
            generalised_selection(scores, case.sensitivities, case.epsilon, case.beta)
            for scores in (case.first, case.second)
        )
        law = geometric(first.gamma)
        seen = largest_loss(first.candidates, second.candidates, law)
        yield {"epsilon": case.epsilon}, seen, case.where


classical_private = RS.privacy(
    "RS-GEM-privacy",
    "the generalised exponential mechanism",
    Relation.GENERAL,
    statement="The exponential mechanism on the least (v_i - v_j)/(s_i + s_j) over j, v_i = q_i - "
    "(2 s_i/epsilon) log(K/beta), is epsilon-DP.",
)(pure)


@classical_private.bounds()
def classical_privacy_cases(budget):
    for case in neighbours(budget, equal=False, limit=300):
        laws = (
            generalised_exponential_law(scores, case.sensitivities, case.epsilon, case.beta)
            for scores in (case.first, case.second)
        )
        yield {"epsilon": case.epsilon}, exact_epsilon(*laws), case.where


class _Landscape(NamedTuple):
    scores: np.ndarray
    sensitivities: np.ndarray
    epsilon: float
    beta: float
    where: str


def _landscapes(budget: Budget, limit: int) -> Iterator[_Landscape]:
    """A decoy of large sensitivity, all others just beyond the loss; random ones."""
    generator = np.random.default_rng(budget.seed)
    for count in (3, 30, 1000):
        for decoy in (1.0, 100.0):
            epsilon, beta = 1.0, 0.1
            sensitivities = np.ones(count)
            sensitivities[1] = decoy
            scores = np.full(count, -40.0)
            scores[:2] = 0.0, -90.0
            where = f"decoy of sensitivity {decoy:g}, K={count}, {epsilon=}, {beta=}"
            yield _Landscape(scores, sensitivities, epsilon, beta, where)
    for number in range(min(budget.cases, limit)):
        count = int(generator.integers(2, 20))
        sensitivities = 10.0 ** generator.uniform(-1.5, 1.5, count)
        epsilon = float(generator.uniform(0.1, 3.0))
        beta = float(10.0 ** generator.uniform(-3.0, -0.05))
        spread = float(10.0 ** generator.uniform(0.0, 3.0))
        scores = spread * generator.uniform(-1.0, 0.0, count)
        where = f"random landscape {number}: K={count}, {epsilon=!r}, {beta=!r}"
        yield _Landscape(scores, sensitivities, epsilon, beta, where)


accurate = LT.utility(
    "LT-Thm5.2-generalised-utility",
    "Theorem 5.2, generalised exponential mechanism, corrected",
    statement="With gamma = beta/(2 K) the chosen candidate's score is at least q_j - (6 "
    "s_j/epsilon) log(K/beta) for every j, except with probability beta (1 + 1/K).",
    erratum="LT-E18",
)(failure_given_candidates)


sharper = JX.utility(
    "LT-Thm5.2-generalised-utility-sharp",
    "from the proof of Theorem 5.2",
    statement="With shifts b_i log(4 K/beta^2) and gamma = beta/(4 K) the chosen candidate's "
    "score is at least q_j - (3 s_j/epsilon) log(4 K/beta^2) for every j, except with probability "
    "beta.",
)(failure)


def _utility_cases(sharp: bool):
    def cases(budget):
        for case in _landscapes(budget, 100):
            settings = case[:4]
            law = selection_law(generalised_selection(*settings, sharp=sharp))
            loss = generalised_selection_loss(*settings, sharp=sharp)
            seen = chance_of_loss(case.scores, law, loss)
            point = {"beta": case.beta}
            if not sharp:
                point |= {"candidates": case.scores.size}
            yield point, seen, case.where

    return cases


accurate.bounds()(_utility_cases(sharp=False))
sharper.bounds()(_utility_cases(sharp=True))


classical_accurate = RS.utility(
    "RS-GEM-utility",
    "the generalised exponential mechanism",
    statement="It chooses a score of at least q_j - (4 s_j/epsilon) log(K/beta) for every j, "
    "except with probability beta.",
)(failure)


@classical_accurate.bounds()
def classical_utility_cases(budget):
    for case in _landscapes(budget, 300):
        settings = case[:4]
        law = generalised_exponential_law(*settings)
        loss = generalised_exponential_loss(*settings)
        seen = chance_of_loss(case.scores, law, loss)
        yield {"beta": case.beta}, seen, case.where


@LT.utility(
    "LT-Thm5.2-generalised-shift", "proof of Theorem 5.2, second part, corrected", erratum="LT-E18"
)
def exceeding(*, beta: Beta = 0.1, candidates: Candidates = 10) -> float:
    """With gamma = beta/(2 K), no run scores above its candidate, except with probability beta/K.

    Allowed chance beta/K that some run scores above its candidate.
    """
    return beta / candidates


@exceeding.bounds()
def exceeding_cases(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        count = int(10 ** generator.uniform(0.0, 6.0))
        beta = float(10.0 ** generator.uniform(-4.0, -0.001))
        # A run exceeds with this chance; the number of runs is geometric.
        above = 0.5 * (beta / count) ** 2
        seen = above / (above + stopping_for(count, beta) * (1.0 - above))
        # Relative: both are small.
        yield {"beta": beta, "candidates": count}, in_units(seen)
