"""Liu & Talwar 2019, Section 5.2: how many clusters, which rank, chosen privately."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.score_selection import analysis_settings
from jaxsel.families.score_selection.parameters import RunEpsilon, Sizes
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged
from jaxsel.language.domains import whole
from jaxsel.language.papers import LT
from jaxsel.tuning.bounds.random_stopping import stopping_law

_ITERATIONS = 3


@LT.privacy(
    "LT-5.2-clusters", "Section 5.2, with Lloyd's algorithm on noisy counts and sums", Relation.BASE
)
def clusters(*, run_epsilon: RunEpsilon = 1.0) -> float:
    """One run (a random number of clusters, private k-means, a private score) is epsilon_1-DP: the
    largest changes of its statistics, each divided by its noise scale, add up to at most
    epsilon_1."""
    return run_epsilon


components = LT.privacy(
    "LT-5.2-components",
    "Section 5.2, with a noisy covariance matrix",
    Relation.BASE,
    statement="One run (a random rank, private principal components, a private score) is "
    "epsilon_1-DP: the largest changes of its statistics, each divided by its noise scale, add up "
    "to at most epsilon_1.",
)(clusters.evaluate)


def _moved(first, second) -> float:
    """The L1 distance of two statistics."""
    return float(np.abs(np.asarray(first) - np.asarray(second)).sum())


def _cluster_loss(sides: Sequence[np.ndarray], centres: np.ndarray, scored: np.ndarray) -> float:
    """The privacy loss of the statistics of all iterations, and of the score, at epsilon_1 = 1.

    Args:
      sides: the points of two neighbouring data sets.
      centres: of the clusters in each iteration.
      scored: the centres whose loss is the score.
    """
    from jaxsel.families.score_selection import private_analyses as analyses

    count, dimension = sides[0].shape
    noise = analysis_settings.clustering_noise(count, dimension, 1.0, iterations=_ITERATIONS)
    statistics = [analyses.cluster_statistics(points, centres) for points in sides]
    losses = [analyses.clustering_loss(points, scored) for points in sides]
    return _ITERATIONS * _moved(*statistics) / noise.analysis + _moved(*losses) / noise.score


@clusters.bounds()
def cluster_cases(budget):
    import jax

    with jax.enable_x64(True):
        for number, generator in enumerate(budget.draws(30)):
            count, dimension = (1, 2) if number < 2 else (8, 1 + number % 3)
            points = generator.uniform(-1.0, 1.0, (count, dimension))
            centres = generator.uniform(-1.0, 1.0, (3, dimension))
            other = points.copy()
            # A corner moves to the opposite one, and to another centre.
            other[0] = -np.ones(dimension)
            points[0] = np.ones(dimension)
            if number == 0:
                centres[:2] = points[0], other[0]
            spent = _cluster_loss((points, other), centres, centres)
            yield {"run_epsilon": 1.0}, spent, f"case {number}: n={count}, d={dimension}"
        # A centre of the old point alone: each part of the budget at its worst.
        corners = np.ones((1, 2)), -np.ones((1, 2))
        spent = _cluster_loss(corners, np.concatenate(corners), corners[0])
        yield {"run_epsilon": 1.0}, spent, "one point in two opposite corners"


@components.bounds()
def component_cases(budget):
    import jax

    from jaxsel.families.score_selection import private_analyses as analyses

    with jax.enable_x64(True):
        for number, generator in enumerate(budget.draws(40)):
            count, dimension = int(generator.integers(1, 6)), 2 + number % 4
            points = generator.normal(size=(count, dimension))
            points /= np.linalg.norm(points, axis=1, keepdims=True)
            other = points.copy()
            # The longest in L1, with products of either sign.
            points[0] = dimension**-0.5
            other[0] = generator.choice([-1.0, 1.0], dimension) * dimension**-0.5
            axes = np.linalg.qr(generator.normal(size=(dimension, dimension)))[0]
            directions = axes[:, : 1 + number % dimension]
            if number % 5 == 0:
                other[0], directions = 0.0, np.zeros((dimension, 1))
            noise = analysis_settings.component_noise(count, dimension, 1.0)
            statistics = [analyses.component_statistics(x) for x in (points, other)]
            losses = [analyses.component_loss(x, directions) for x in (points, other)]
            spent = _moved(*statistics) / noise.analysis + _moved(*losses) / noise.score
            yield {"run_epsilon": 1.0}, spent, f"case {number}: n={count}, d={dimension}"


@LT.privacy("LT-5.2-choice", "Section 5.2, by Theorem 3.2", Relation.BASE)
def choice(*, run_epsilon: RunEpsilon = 1.0) -> float:
    """The best of a geometric number of runs that are epsilon_1-DP (LT-5.2-clusters,
    LT-5.2-components), with its size and its result, is 3 epsilon_1-DP, however many sizes are
    tried."""
    return analysis_settings.selected_epsilon(run_epsilon)


@choice.bounds()
def choice_cases(budget):
    for number, generator in enumerate(budget.draws(60)):
        sizes = int(generator.integers(2, 60))
        epsilon = generator.uniform(0.1, 2.0)
        runs = analysis_settings.runs_for(sizes, float(generator.uniform(0.01, 0.5)))
        if number % 2:
            laws = [pairs.random_pure_pair(generator, 4, epsilon) for _ in range(sizes)]
        else:
            rare = 0.5 / (1.0 + np.exp(epsilon))
            laws = [pairs.three_outcome(epsilon, rare, 1e-7)] * sizes
        # A run takes a random size; all sizes' scores in one order.
        order = np.concatenate([np.arange(4 if number % 2 else 3)] * sizes).argsort(kind="stable")
        first, second = (
            np.concatenate([law[side] for law in laws])[order] / sizes for side in (0, 1)
        )
        seen = exact_epsilon(stopping_law(first, 1.0 / runs), stopping_law(second, 1.0 / runs))
        where = f"case {number}: K={sizes}, {runs} runs on average"
        yield {"run_epsilon": epsilon}, seen, where


@LT.utility("LT-5.2-runs", "Section 5.2, by Theorem 3.3")
def failure(
    *, sizes: Sizes = 8, runs: Annotated[int, whole("on average", at_least=1)] = 160
) -> float:
    """With ceil(2 K/beta) runs on average the released run scores below the best size's median
    with probability at most beta.

    Returns 2 K/runs, a bound on this probability.
    """
    return 2.0 * sizes / runs


@failure.bounds()
def failure_cases(budget):
    for generator in budget.draws(60):
        sizes, beta = int(generator.integers(1, 60)), generator.uniform(0.01, 0.9)
        runs = analysis_settings.runs_for(sizes, beta)
        # The best size alone is above its median, half of the time.
        law = np.array([0.5 / sizes, 1.0 - 0.5 / sizes])
        seen = float(stopping_law(law, 1.0 / runs)[1])
        yield {"sizes": sizes, "runs": runs}, seen
        yield Judged(beta, seen, f"K={sizes}, {beta=!r}")
