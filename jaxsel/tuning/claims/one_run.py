"""One run of the bases that private tuning and threshold selection repeat: pure DP."""

from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.language.base import Relation
from jaxsel.language.domains import positive
from jaxsel.language.papers import DR, JX
from jaxsel.tuning.base_laws import finite_pairs, randomised_response_law, survival

Epsilon = Annotated[float, positive("privacy of one run")]


def epsilons(budget):
    """Points, from almost nothing to almost everything."""
    yield from ({"epsilon": epsilon} for epsilon in (1e-6, 0.1, 1.0, 3.0, 100.0))
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 50)):
        yield {"epsilon": 10.0 ** generator.uniform(-3.0, 1.5)}


@DR.privacy("BASE-randomised-response", "Section 3.2", Relation.BASE)
def response(*, epsilon: Epsilon = 1.0):
    """Randomised response that answers truly with probability e^epsilon/(1 + e^epsilon) is
    epsilon-DP, and no better."""
    return epsilon


@response.equals(epsilons)
def both_bits(epsilon):
    return exact_epsilon(*(randomised_response_law(bit, epsilon) for bit in (1, 0)))


@JX.privacy("BASE-finite", "the constructed pairs of finite laws", Relation.BASE)
def finite(*, epsilon: Epsilon = 1.0):
    """The pairs three-outcome and bernoulli, made for epsilon, are epsilon-close."""
    return epsilon


@finite.bounds(epsilons)
def both_pairs(epsilon):
    for pair in finite_pairs(epsilon):
        yield exact_epsilon(*pair.laws), f"pair {pair.name}"


@DR.privacy("BASE-laplace", "Theorem 3.6", Relation.BASE)
def laplace(*, noise_scale: Annotated[float, positive("of the noise, scores moving by 1")] = 1.0):
    """A score, or a uniformly random one of several scores and its index, released with Laplace
    noise of scale b is (1/b)-DP where one score moves by at most 1."""
    return 1.0 / noise_scale


def _bins(edges: np.ndarray) -> np.ndarray:
    """Probabilities of standard Laplace noise between the edges, exact in both tails."""
    above, below = (-np.diff(survival("laplace", edges)), np.diff(survival("laplace", -edges)))
    return np.where(edges[:-1] >= 0.0, above, below)


@laplace.bounds()
def moved_scores(budget):
    generator = np.random.default_rng(budget.seed)
    for case in range(min(budget.cases, 100)):
        scale = 10.0 ** generator.uniform(-1.0, 1.0)
        scores = generator.uniform(-2.0, 2.0, int(generator.integers(1, 5)))
        moved = scores.copy()
        moved[0] += 1.0 if case % 2 else generator.uniform(-1.0, 1.0)
        # Every score of either side is an edge, as are the ends.
        inner = np.sort(np.concatenate([scores, moved, generator.uniform(-3.0, 3.0, 9)]))
        edges = np.concatenate([[-np.inf], np.unique(inner), [np.inf]])
        # (candidate, bin of its noisy score)
        laws = [
            np.concatenate([_bins((edges - score) / scale) for score in side]) / side.size
            for side in (scores, moved)
        ]
        where = f"scores {scores.tolist()} to {moved.tolist()}"
        yield {"noise_scale": scale}, exact_epsilon(*laws), where


BY_ID = {claim.id: claim for claim in (response, finite, laplace)}
