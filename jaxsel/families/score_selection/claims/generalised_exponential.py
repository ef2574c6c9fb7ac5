"""Liu & Talwar 2019, Theorem 5.2, second part: candidates of different sensitivities.

It is compared with the generalised exponential mechanism of Raskhodnikova & Smith (2016).
"""

import functools
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.score_selection import settings
from jaxsel.families.score_selection.claims import instances, stated
from jaxsel.families.score_selection.classical_laws import (
    generalised_exponential_law,
    generalised_exponential_loss,
)
from jaxsel.families.score_selection.parameters import Beta, Candidates
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import drawn, in_units
from jaxsel.language.papers import JX, LT, RS

private = LT.privacy(
    "LT-Thm5.2-generalised-privacy",
    "Theorem 5.2, generalised exponential mechanism, corrected",
    Relation.GENERAL,
    statement="Random stopping over the scores q_i - 2 b_i log(K/beta) + Lap(b_i), b_i = 3 "
    "s_i/epsilon, is epsilon-DP, with no delta, the noisy score of the chosen candidate released "
    "as well.",
    erratum="LT-E18",
)(stated.pure)


private.bounds(select=settings.generalised_selection, equal=False, limit=80)(instances.losses)


classical_private = RS.privacy(
    "RS-GEM-privacy",
    "the generalised exponential mechanism",
    Relation.GENERAL,
    statement="The exponential mechanism on the least (v_i - v_j)/(s_i + s_j) over j, v_i = q_i - "
    "(2 s_i/epsilon) log(K/beta), is epsilon-DP.",
)(stated.pure)


@classical_private.bounds()
def classical_privacy_cases(budget):
    for case in instances.neighbours(budget, equal=False, limit=300):
        laws = (
            generalised_exponential_law(scores, case.sensitivities, case.epsilon, case.beta)
            for scores in (case.first, case.second)
        )
        yield {"epsilon": case.epsilon}, exact_epsilon(*laws), case.where


def _landscapes(budget: Budget, loss, limit: int) -> Iterator[instances.Landscape]:
    """Score lists: all but one just beyond the loss, a decoy of large sensitivity, and random ones.

    A decoy is a bad candidate whose noise is large.
    """
    ones = np.ones(1000)
    scores = np.append(0.0, np.full(999, -1.0001 * loss(0.0 * ones, ones, 1.0, 0.01)))
    yield instances.Landscape(scores, ones, 1.0, 0.01, "one good of K=1000, all alike")
    yield instances.quiet_and_noisy(loss)
    for count in (3, 30, 1000):
        for decoy in (1.0, 100.0):
            epsilon, beta = 1.0, 0.1
            sensitivities = np.ones(count)
            sensitivities[1] = decoy
            scores = np.full(count, -40.0)
            scores[:2] = 0.0, -90.0
            where = f"decoy of sensitivity {decoy:g}, K={count}, {epsilon=}, {beta=}"
            yield instances.Landscape(scores, sensitivities, epsilon, beta, where)
    for number, generator in enumerate(budget.draws(limit)):
        count = int(generator.integers(2, 20))
        sensitivities = 10.0 ** generator.uniform(-1.5, 1.5, count)
        epsilon = float(generator.uniform(0.1, 3.0))
        beta = float(10.0 ** generator.uniform(-3.0, -0.05))
        spread = float(10.0 ** generator.uniform(0.0, 3.0))
        scores = spread * generator.uniform(-1.0, 0.0, count)
        where = f"random landscape {number}: K={count}, {epsilon=!r}, {beta=!r}"
        yield instances.Landscape(scores, sensitivities, epsilon, beta, where)


accurate = LT.utility(
    "LT-Thm5.2-generalised-utility",
    "Theorem 5.2, generalised exponential mechanism, corrected",
    statement="With gamma = beta/(2 K) the score of the candidate that is chosen as in "
    "LT-Thm5.2-generalised-privacy is at least q_j - (6 s_j/epsilon) log(K/beta) for every j, "
    "except with probability beta (1 + 1/K).",
    erratum="LT-E18",
)(stated.failure_given_candidates)


sharper = JX.utility(
    "LT-Thm5.2-generalised-utility-sharp",
    "from the proof of Theorem 5.2",
    statement="With shifts b_i log(4 K/beta^2) and gamma = beta/(4 K) the chosen candidate's "
    "score is at least q_j - (3 s_j/epsilon) log(4 K/beta^2) for every j, except with probability "
    "beta.",
)(stated.failure)


accurate.bounds(
    landscapes=_landscapes,
    select=settings.generalised_selection,
    loss=settings.generalised_selection_loss,
    names=("beta", "candidates"),
)(instances.failures)
sharper.bounds(
    landscapes=_landscapes,
    select=functools.partial(settings.generalised_selection, sharp=True),
    loss=functools.partial(settings.generalised_selection_loss, sharp=True),
)(instances.failures)


classical_accurate = RS.utility(
    "RS-GEM-utility",
    "the generalised exponential mechanism",
    statement="The generalised exponential mechanism chooses a score of at least q_j - (4 "
    "s_j/epsilon) log(K/beta) for every j, except with probability beta.",
)(stated.failure)


classical_accurate.bounds(
    landscapes=_landscapes,
    select=generalised_exponential_law,
    loss=generalised_exponential_loss,
    limit=300,
)(instances.failures)


@LT.utility(
    "LT-Thm5.2-generalised-shift", "proof of Theorem 5.2, second part, corrected", erratum="LT-E18"
)
def exceeding(*, beta: Beta = 0.1, candidates: Candidates = 10) -> float:
    """With gamma = beta/(2 K), in no run the shifted noisy score exceeds the score of the run's
    candidate, except with probability beta/K."""
    return beta / candidates


def _draw(generator: np.random.Generator) -> tuple[int, float]:
    return int(10 ** generator.uniform(0.0, 6.0)), 10.0 ** generator.uniform(-4.0, -0.001)


@exceeding.bounds(drawn("candidates beta", _draw))
def exceeding_cases(candidates, beta):
    # A run exceeds with this chance; the number of runs is geometric.
    above = 0.5 * (beta / candidates) ** 2
    # Relative: both are small.
    return in_units(above / (above + settings.stopping_for(candidates, beta) * (1.0 - above)))
