"""Liu & Talwar 2019, Theorem 5.2, first part: the exponential mechanism.

It is recovered by random stopping over noisy scores. Some constants of the proof, which the other
parts share, are wrong in print (LT-E18).
"""

import functools
import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.score_selection.claims import instances, stated
from jaxsel.families.score_selection.classical_laws import exponential_law, exponential_loss
from jaxsel.families.score_selection.settings import (
    exponential_selection,
    generalised_selection,
    generalised_selection_loss,
)
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import drawn, listed
from jaxsel.language.papers import JX, LT, MT
from jaxsel.repetitions import geometric
from jaxsel.tuning.attained.exact_laws import tuned_index_law
from jaxsel.tuning.bounds.random_stopping import percentile_failure

# --- Constants of the proof -----------------------------------------------------------


missing_printed = LT.utility(
    "LT-Thm5.2-gamma-printed",
    "proof of Theorem 5.2, first part",
    statement="With gamma = beta/K the noisy score released is at least the best score except "
    "with probability beta.",
    correction="With gamma = beta/(2 K): LT-Thm5.2-gamma.",
)(stated.failure)


missing = LT.utility(
    "LT-Thm5.2-gamma",
    "proof of Theorem 5.2, corrected",
    statement="With gamma = beta/(2 K) the noisy score released is at least the best score except "
    "with probability beta.",
)(stated.failure)


def _draw(generator: np.random.Generator) -> tuple[float, int]:
    return generator.uniform(1e-3, 0.99), int(10 ** generator.uniform(0.0, 6.0))


@missing_printed.bounds(listed("beta candidates", (0.1, 100)), share=1.0)
@missing.bounds(drawn("beta candidates", _draw, 200, (0.1, 100)), share=0.5)
def misses(beta, candidates, share):
    # Best candidate drawn with noise >= 0; all others are far below.
    return percentile_failure(0.5 / candidates, share * beta / candidates), "gamma: share beta/K"


noise_printed = LT.privacy(
    "LT-Thm5.2-epsilon-printed",
    "proof of Theorem 5.2, first part",
    Relation.GENERAL,
    statement="Random stopping over scores plus Lap(s/epsilon) is epsilon-DP.",
    correction="It is 3 epsilon-DP; add noise Lap(3 s/epsilon): LT-Thm5.2-epsilon.",
)(stated.pure)


noise = LT.privacy(
    "LT-Thm5.2-epsilon",
    "proof of Theorem 5.2, corrected",
    Relation.GENERAL,
    statement="Random stopping over scores with noise Lap(3 s/epsilon) is epsilon-DP.",
)(stated.pure)


_SETTINGS = listed("epsilon candidates beta", (1.0, 50, 0.01), (0.5, 20, 0.1))


@noise_printed.bounds(_SETTINGS, share=1.0)
@noise.bounds(_SETTINGS, share=1.0 / 3.0)
def index_losses(epsilon, candidates, beta, share):
    stopping = geometric(beta / (2.0 * candidates))
    first = np.arange(candidates) == 0
    # One candidate falls by 1 while all others rise by 1, shifted by 1.
    scale = 1.0 / (share * epsilon)
    up = tuned_index_law(np.where(first, 1.0, 0.0), scale, stopping)
    down = tuned_index_law(np.where(first, 0.0, 1.0), scale, stopping)
    loss = exact_epsilon(up[:-1] / up[:-1].sum(), down[:-1] / down[:-1].sum())
    return loss, "gamma=beta/(2 K), noise of scale 1/(share epsilon)"


# --- The mechanism --------------------------------------------------------------------


def _exponential(scores, sensitivities, epsilon, beta):
    """``exponential_selection`` at the sensitivity that all candidates have."""
    return exponential_selection(scores, float(np.max(sensitivities)), epsilon, beta)


private = LT.privacy(
    "LT-Thm5.2-exponential-privacy",
    "Theorem 5.2, exponential mechanism, corrected",
    Relation.GENERAL,
    statement="Random stopping over scores of sensitivity s with noise Lap(3 s/epsilon) is "
    "epsilon-DP, the noisy score of the chosen candidate released as well.",
)(stated.pure)


private.bounds(select=_exponential, equal=True, limit=100)(instances.losses)


def _landscapes(budget: Budget, loss, limit: int) -> Iterator[instances.Landscape]:
    """Score lists: all candidates but one are just beyond the claimed loss, or random ones."""
    for count in (2, 10, 1000, 10**5):
        for epsilon, beta in ((1.0, 0.1), (0.2, 0.01), (1.0, 0.99)):
            scores = np.full(count, -1.0001 * loss(np.zeros(count), 1.0, epsilon, beta))
            scores[0] = 0.0
            where = f"one good of K={count}, {epsilon=}, {beta=}"
            yield instances.Landscape(scores, 1.0, epsilon, beta, where)
    for number, generator in enumerate(budget.draws(limit)):
        count = int(generator.integers(2, 40))
        epsilon = generator.uniform(0.1, 3.0)
        beta = 10.0 ** generator.uniform(-3.0, -0.05)
        spread = loss(np.zeros(count), 1.0, epsilon, beta) * generator.uniform(1.0, 3.0)
        scores = spread * generator.uniform(-1.0, 0.0, count)
        where = f"random landscape {number}: K={count}, {epsilon=!r}, {beta=!r}"
        yield instances.Landscape(scores, 1.0, epsilon, beta, where)


accurate = LT.utility(
    "LT-Thm5.2-exponential-utility",
    "Theorem 5.2, exponential mechanism, corrected",
    statement="With gamma = beta/(2 K) and noise Lap(3 s/epsilon) the chosen candidate's score is "
    "at least q* - (6 s/epsilon) log(K/beta), except with probability beta (1 + 1/K).",
    loose="a release so far below the best means in effect that the best candidate was never "
    "drawn, which has probability beta/(2 + beta) at most",
)(stated.failure_given_candidates)


accurate.bounds(
    landscapes=_landscapes,
    select=exponential_selection,
    loss=lambda scores, _, epsilon, beta: 6.0 / epsilon * math.log(scores.size / beta),
    names=("beta", "candidates"),
)(instances.failures)


sharper = JX.utility(
    "LT-Thm5.2-exponential-utility-sharp",
    "from the proof of Theorem 5.2",
    statement="With gamma = beta/(4 K) the chosen candidate's score is at least q* - (3 "
    "s/epsilon) log(4 K/beta^2), except with probability beta.",
    loose="with all other scores just beyond the loss, which is the worst, the best is never drawn "
    "with probability beta/(4 + beta) at most, and never drawn or too low with at most 0.35 beta "
    "for K from 2 to 10^5 and beta from 0.001 to 0.99",
)(stated.failure)


sharper.bounds(
    landscapes=_landscapes,
    select=functools.partial(generalised_selection, sharp=True),
    loss=lambda scores, *settings: generalised_selection_loss(0.0 * scores, *settings, sharp=True),
)(instances.failures)


classical = MT.utility(
    "MT-EM-utility",
    "the exponential mechanism",
    statement="The exponential mechanism chooses a score of at least q* - (2 s/epsilon) "
    "log(K/beta), except with probability beta.",
)(stated.failure)


classical.bounds(
    landscapes=_landscapes,
    select=lambda scores, sensitivity, epsilon, _: exponential_law(scores, sensitivity, epsilon),
    loss=lambda scores, *settings: exponential_loss(scores.size, *settings),
)(instances.failures)


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
