"""Liu & Talwar 2019, Theorem 5.2, first part: the exponential mechanism.

Recovered by random stopping over noisy scores; with the constants of the proof as printed
and as corrected (LT-E18), which the other parts share.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.score_selection.candidate_laws import largest_loss
from jaxsel.families.score_selection.claims.instances import (
    chance_of_loss,
    neighbours,
    selection_law,
)
from jaxsel.families.score_selection.claims.parameters import (
    failure,
    failure_given_candidates,
    pure,
)
from jaxsel.families.score_selection.classical_laws import exponential_law, exponential_loss
from jaxsel.families.score_selection.settings import (
    exponential_selection,
    generalised_selection,
    generalised_selection_loss,
)
from jaxsel.families.tuning.attained.exact_laws import tuned_index_law
from jaxsel.families.tuning.bounds.random_stopping import percentile_failure
from jaxsel.language.base import Budget, Relation
from jaxsel.language.papers import JX, LT, MT
from jaxsel.repetitions import geometric

# --- Constants of the proof -----------------------------------------------------------


missing_printed = LT.utility(
    "LT-Thm5.2-gamma-printed",
    "proof of Theorem 5.2, first part",
    statement="With gamma = beta/K the noisy score released is at least the best score except "
    "with probability beta.",
    correction="With gamma = beta/(2 K): LT-Thm5.2-gamma.",
)(failure)


missing = LT.utility(
    "LT-Thm5.2-gamma",
    "proof of Theorem 5.2, corrected",
    statement="With gamma = beta/(2 K) the noisy score released is at least the best score except "
    "with probability beta.",
)(failure)


def _misses(factor: float, cases: int):
    def draws(budget):
        generator = np.random.default_rng(budget.seed)
        settings = [(100, 0.1)]
        for _ in range(min(budget.cases, cases)):
            beta = float(generator.uniform(1e-3, 0.99))
            settings.append((int(10 ** generator.uniform(0.0, 6.0)), beta))
        for candidates, beta in settings:
            gamma = factor * beta / candidates
            # Best candidate drawn with noise >= 0; all others are far below.
            missed = percentile_failure(0.5 / candidates, gamma)
            where = f"K={candidates}, gamma={factor} beta/K"
            yield {"beta": beta}, missed, where

    return draws


missing_printed.bounds()(_misses(1.0, 0))
missing.bounds()(_misses(0.5, 200))


noise_printed = LT.privacy(
    "LT-Thm5.2-epsilon-printed",
    "proof of Theorem 5.2, first part",
    Relation.GENERAL,
    statement="Random stopping over scores plus Lap(s/epsilon) is epsilon-DP.",
    correction="It is 3 epsilon-DP; add noise Lap(3 s/epsilon): LT-Thm5.2-epsilon.",
)(pure)


noise = LT.privacy(
    "LT-Thm5.2-epsilon",
    "proof of Theorem 5.2, corrected",
    Relation.GENERAL,
    statement="Random stopping over scores with noise Lap(3 s/epsilon) is epsilon-DP.",
)(pure)


def _index_losses(base_share: float):
    def cases(budget):
        for candidates, beta, epsilon in ((50, 0.01, 1.0), (20, 0.1, 0.5)):
            stopping = geometric(beta / (2.0 * candidates))
            first = np.arange(candidates) == 0
            # One candidate falls by 1 while all others rise by 1, shifted by 1.
            scale = 1.0 / (base_share * epsilon)
            up = tuned_index_law(np.where(first, 1.0, 0.0), scale, stopping)
            down = tuned_index_law(np.where(first, 0.0, 1.0), scale, stopping)
            loss = exact_epsilon(up[:-1] / up[:-1].sum(), down[:-1] / down[:-1].sum())
            where = f"K={candidates}, gamma=beta/(2 K), beta={beta}, noise {scale:g}"
            yield {"epsilon": epsilon}, loss, where

    return cases


noise_printed.bounds()(_index_losses(1.0))
noise.bounds()(_index_losses(1.0 / 3.0))


# --- The mechanism --------------------------------------------------------------------


private = LT.privacy(
    "LT-Thm5.2-exponential-privacy",
    "Theorem 5.2, exponential mechanism, corrected",
    Relation.GENERAL,
    statement="Random stopping over scores of sensitivity s with noise Lap(3 s/epsilon) is "
    "epsilon-DP, the noisy score of the chosen candidate released as well.",
)(pure)


@private.bounds()
def privacy_cases(budget):
    for case in neighbours(budget, equal=True, limit=100):
        first, second = (
            exponential_selection(scores, 1.0, case.epsilon, case.beta)
            for scores in (case.first, case.second)
        )
        law = geometric(first.gamma)
        seen = largest_loss(first.candidates, second.candidates, law)
        yield {"epsilon": case.epsilon}, seen, case.where


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


accurate = LT.utility(
    "LT-Thm5.2-exponential-utility",
    "Theorem 5.2, exponential mechanism, corrected",
    statement="With gamma = beta/(2 K) and noise Lap(3 s/epsilon) the chosen candidate's score is "
    "at least q* - (6 s/epsilon) log(K/beta), except with probability beta (1 + 1/K).",
)(failure_given_candidates)


@accurate.bounds()
def utility_cases(budget):
    for scores, epsilon, beta, where in landscapes(budget, _paper_loss):
        law = selection_law(exponential_selection(scores, 1.0, epsilon, beta))
        seen = chance_of_loss(scores, law, _paper_loss(scores.size, epsilon, beta))
        yield {"beta": beta, "candidates": scores.size}, seen, where


sharper = JX.utility(
    "LT-Thm5.2-exponential-utility-sharp",
    "from the proof of Theorem 5.2",
    statement="With gamma = beta/(4 K) the chosen candidate's score is at least q* - (3 "
    "s/epsilon) log(4 K/beta^2), except with probability beta.",
)(failure)


@sharper.bounds()
def sharp_cases(budget):
    for scores, epsilon, beta, where in landscapes(budget, _sharp_loss):
        chosen = generalised_selection(scores, 1.0, epsilon, beta, sharp=True)
        law = selection_law(chosen)
        seen = chance_of_loss(scores, law, _sharp_loss(scores.size, epsilon, beta))
        yield {"beta": beta}, seen, where


classical = MT.utility(
    "MT-EM-utility",
    "the exponential mechanism",
    statement="The exponential mechanism chooses a score of at least q* - (2 s/epsilon) "
    "log(K/beta), except with probability beta.",
)(failure)


@classical.bounds()
def classical_cases(budget):
    for scores, epsilon, beta, where in landscapes(budget, _classical_loss):
        law = exponential_law(scores, 1.0, epsilon)
        seen = chance_of_loss(scores, law, _classical_loss(scores.size, epsilon, beta))
        yield {"beta": beta}, seen, where


LT_E18 = LT.misprint(
    "LT-E18",
    "proof of Theorem 5.2",
    "statement",
    printed="gamma = beta/K; noise Lap(s/epsilon); eta > epsilon/log(K/beta), "
    "which eta = epsilon/(4 log(2/delta)) ensures; q_i - 2 s_(i*) "
    "log(K/beta)/epsilon.",
    correct="gamma = beta/(2 K), since the best candidate exceeds its score half "
    "of the time; noise Lap(3 s/epsilon), since random stopping triples epsilon; "
    "eta must be at most log(1 + epsilon/(2 log(K/beta))), and the chosen eta is "
    "indeed smaller than epsilon/log(K/beta); s_i for s_(i*).",
    refuted=[missing_printed, noise_printed, "LT-Thm5.2-smooth-printed"],
    corrected=[
        missing,
        noise,
        "LT-Thm5.2-smooth",
        private,
        accurate,
        "LT-Thm5.2-generalised-privacy",
        "LT-Thm5.2-generalised-shift",
        "LT-Thm5.2-generalised-utility",
        "LT-Thm5.2-smooth-privacy",
        "LT-Thm5.2-smooth-utility",
    ],
)
