"""Subsampled exponential mechanism (Lantz, Boyd & Page 2015): claim and entry."""

from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.noisy_max.parameters import Epsilon
from jaxsel.families.noisy_max.subsampled_exponential_laws import Draws, Scores, subsampled_law
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.papers import LBP
from jaxsel.language.trial import Trial
from jaxsel.language.utility import by_scores


@LBP.privacy("LBP-privacy", "privacy theorem", Relation.GENERAL)
def privacy(*, epsilon: Epsilon = 1.0) -> float:
    """An epsilon-DP exponential mechanism among candidates that were drawn at random,
    independently of the data, is epsilon-DP."""
    return epsilon


@privacy.bounds()
def exact_laws(budget):
    # One of few that is behind rises while all others fall, and nearly all are drawn.
    epsilon, others = 0.1, np.arange(4) > 0
    sides = [subsampled_law(s, 30, epsilon) for s in (20.0 * others, 19.0 * others + ~others)]
    yield {"epsilon": epsilon}, exact_epsilon(*sides), "one of 4 is 20 behind, draws=30"
    generator = np.random.default_rng(budget.seed)
    for case in range(min(budget.cases, 60)):
        m, draws = int(generator.integers(2, 7)), int(generator.integers(1, 6))
        epsilon = float(generator.uniform(0.1, 3.0))
        scores = generator.uniform(-6.0, 0.0, m) / epsilon * (case % 4)
        steps = generator.choice([-1.0, 1.0, generator.uniform(-1.0, 1.0)], m)
        sides = [subsampled_law(s, draws, epsilon) for s in (scores, scores + steps)]
        where = f"{scores.tolist()} + {steps.tolist()}, {draws=}"
        yield {"epsilon": epsilon}, exact_epsilon(sides[0], sides[1]), where


@mechanism("LBP", generic="scores=1,1,0.5 draws=2 epsilon=0.7")
def subsampled_exponential(
    *,
    scores: Scores = "2,1,0",
    draws: Draws = 3,
    epsilon: Epsilon = 1,
    method: Annotated[str, methods("literal", help="how trials are drawn")] = "literal",
):
    """Exponential mechanism among candidates drawn at random (Lantz, Boyd & Page 2015)."""

    def made():
        from jaxsel.families.noisy_max.subsampled_exponential import subsampled_exponential

        return subsampled_exponential(draws=draws)

    def opposed():
        first = np.eye(len(scores))[0]
        behind, why = -2.0 / epsilon * first, "one, behind, rises while all fall"
        yield "opposed", behind + first, behind + (1.0 - first), Relation.GENERAL, why

    def proven(pair):
        return guarantee("LBP-privacy", epsilon=epsilon)

    return Trial(made, scores, {"epsilon": epsilon}, opposed, proven, by_scores(scores))
