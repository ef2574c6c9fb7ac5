"""Report noisy max, once and several times: settings, neighbouring pairs, guarantees."""

from typing import Annotated, Any

import numpy as np

from jaxsel.families.noisy_max import parameters
from jaxsel.families.noisy_max.group_bounds import GroupPair, group_scores, moving_groups
from jaxsel.families.noisy_max.laws import noisy_max_scale
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import numbers, positive
from jaxsel.language.entry import guarantee, mechanism, supplied
from jaxsel.language.trial import Trial
from jaxsel.language.utility import by_scores

Scores = Annotated[Any, numbers("the candidates' scores, in units of the sensitivity")]
_METHODS = "how trials are drawn (race: gumbel only); see the guide"


@mechanism("NM", "PS-D4", generic="scores=1,1,-0.5 epsilon=0.7 relation=monotone")
def noisy_max(
    *,
    noise: parameters.AnyNoise = "gumbel",
    relation: parameters.Changes = "general",
    scores: Scores = "2,1,0",
    epsilon: Annotated[
        float | None, positive("privacy parameter; sets the noise scale (default 1)")
    ] = None,
    noise_scale: Annotated[
        float | None, positive("noise scale, instead of epsilon; the one for gaussian")
    ] = None,
    method: Annotated[str, methods(*parameters.METHODS, help=_METHODS)] = "literal",
    precision: parameters.Precision = "tail",
):
    """Release the candidate with the largest noisy score."""
    scales = supplied(epsilon=epsilon, noise_scale=noise_scale) or {"epsilon": 1.0}

    def made():
        from jaxsel.families.noisy_max.noisy_max import noisy_max

        return noisy_max(noise, relation=relation, method=method, precision=precision)

    def near_the_bounds():
        """Pairs whose privacy loss is near 2/b (general) or 1/b (monotone), b the noise scale."""
        one = np.eye(max(2, scores.size))[0]
        # The loss of "candidate 0 wins" grows with how far behind candidate 0 is.
        behind = np.where(one, -3.0 * noisy_max_scale(scales, Relation(relation)), 0.0)
        ahead, others = behind + one, behind + 1.0 - one
        if relation == "general":
            why = "one candidate, far behind, rises by 1 while all others fall by 1"
            yield "opposed", ahead, others, Relation.GENERAL, why
        why = "one candidate, far behind, moves by 1"
        yield "one-alone", ahead, behind, Relation.MONOTONE, why
        why = "all candidates but the last-placed move by 1"
        yield "others-together", behind, others, Relation.MONOTONE, why

    def proven(pair):
        if noise == "gaussian":
            return None
        claim = f"NM-{noise}-{pair.relation.value}"
        # The claim is asked with epsilon, not with the scale that is drawn: a guarantee that moved
        # with a wrong scale would not show that the scale is wrong.
        return guarantee(claim, **pair.params, made_for=relation)

    return Trial(made, scores, scales, near_the_bounds, proven, by_scores(scores))


@mechanism("KRW-AlgRNM", "KRW-Thm3.3", generic="scores=1,1,0.5 noise_scale=1.7 rounds=3")
def noisy_max_composition(
    *,
    noise: parameters.AnyNoise = "gaussian",
    scores: Scores = "2,1,0",
    noise_scale: parameters.AnyScale = 1,
    rounds: parameters.Winners = 4,
    event: parameters.Event = "sum",
    method: Annotated[str, methods("literal", help="how trials are drawn")] = "literal",
):
    """Release the winner of noisy max several times, with fresh noise."""

    def made():
        from jaxsel.families.noisy_max.composition import composition
        from jaxsel.families.noisy_max.noisy_max import noisy_max

        return composition(noisy_max(noise), rounds, event=event)

    def moving_against_others():
        """Pairs on which candidate 0, or half of the candidates, moves against the others."""
        m = max(2, scores.size)
        for name, first in (("opposed", 1), ("halves", m // 2)):
            for relation in (Relation.GENERAL, Relation.MONOTONE):
                groups = GroupPair(first, m - first, -1.0, 0.0)
                pair = group_scores(moving_groups(groups, noise_scale, relation))
                if event == "sum":
                    weights = [1] * first + [0] * (m - first)
                    pair = pair._replace(params={**pair.params, "weights": weights})
                yield pair._replace(name=f"{name}-{relation.value}")

    return Trial(made, scores, {"noise_scale": noise_scale}, moving_against_others)
