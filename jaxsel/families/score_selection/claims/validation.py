"""Liu & Talwar 2019, Lemma 5.1: noisy validation scores of private models."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.score_selection.candidate_laws import largest_loss, released_delta
from jaxsel.families.score_selection.claims.instances import neighbours_of
from jaxsel.families.score_selection.settings import validation_runs
from jaxsel.language.base import Budget, Relation
from jaxsel.language.domains import number, positive
from jaxsel.language.papers import LT
from jaxsel.repetitions import geometric, point_mass

RunEpsilon = Annotated[
    float, positive("of one run: epsilon_2 (validation set) or epsilon_1 (training set)")
]


@LT.privacy("LT-Lem5.1(validation)", "Lemma 5.1", Relation.BASE)
def validated(*, epsilon: RunEpsilon = 1.0) -> float:
    """A uniform learner, its model and the model's validation score plus Lap(1/(n epsilon_2)) are
    epsilon_2-DP for the validation set, whatever the learners.

    Returns the pure epsilon of one run: epsilon_2, or for LT-Lem5.1(training) epsilon_1.
    """
    return epsilon


trained = LT.privacy(
    "LT-Lem5.1(training)",
    "Lemma 5.1",
    Relation.BASE,
    statement="If every learner is epsilon_1-DP, a uniform learner, its model and the model's "
    "noisy validation score are epsilon_1-DP for the training set.",
)(validated.evaluate)


@LT.privacy("LT-Lem5.1(training-approximate)", "Lemma 5.1", Relation.BASE)
def trained_approximately(
    *, delta: Annotated[float, number("delta_1", at_least=0.0, at_most=1.0)] = 1e-6
) -> float:
    """If every learner is (epsilon_1, delta_1)-DP, a uniform learner, its model and the model's
    noisy validation score are (epsilon_1, delta_1)-DP for the training set."""
    return delta


@LT.privacy("LT-Lem5.1-tuned", "Lemma 5.1, with Theorem 3.2", Relation.BASE)
def tuned(*, epsilon: RunEpsilon = 1.0) -> float:
    """Algorithm 2 on runs that are epsilon_2-DP for the validation set and epsilon_1-DP for the
    training set is 3 epsilon_2-DP and 3 epsilon_1-DP for them, with learner, model and noisy score
    released."""
    return 3.0 * epsilon


class _Learners(NamedTuple):
    """The laws of learners' models on two neighbouring training sets, and validation scores."""

    first: np.ndarray
    second: np.ndarray
    scores: np.ndarray
    epsilon: float
    where: str


def _pure_learners(budget: Budget) -> Iterator[_Learners]:
    for epsilon in (0.3, 1.0):
        for pair in (pairs.randomised_response(epsilon), pairs.three_outcome(epsilon, 0.2, 1e-4)):
            # The best model scores highest by far.
            scores = 20.0 / epsilon * np.arange(pair.first.size)[::-1]
            where = f"one learner {pair.first.tolist()}, {epsilon=}"
            yield _Learners(pair.first[None], pair.second[None], scores, epsilon, where)
    for case, generator in enumerate(budget.draws(80)):
        learners, models = generator.integers(1, 5), int(generator.integers(2, 5))
        epsilon = generator.uniform(0.05, 2.0)
        drawn = [pairs.random_pure_pair(generator, models, epsilon) for _ in range(learners)]
        first, second = (np.array(side) for side in zip(*drawn, strict=True))
        exact = max(exact_epsilon(a, b) for a, b in drawn)
        scores = generator.uniform(0.0, 20.0, (int(learners), models))
        where = f"instance {case}: {learners} learners of {models} models"
        yield _Learners(first, second, scores, exact, where)


@validated.bounds(law=point_mass(1))
def validation_cases(budget, law):
    generator = np.random.default_rng(budget.seed + 1)
    for case in _pure_learners(budget):
        epsilon = generator.uniform(0.05, 2.0)
        moved = neighbours_of(generator, case.scores.ravel(), 1.0).reshape(case.scores.shape)
        first, second = (
            validation_runs(case.first, scores, 1.0 / epsilon) for scores in (case.scores, moved)
        )
        seen = largest_loss(first, second, law)
        yield {"epsilon": epsilon}, seen, f"validation set, {case.where}"


@trained.bounds(law=point_mass(1))
def training_cases(budget, law):
    for case in _pure_learners(budget):
        first, second = (
            validation_runs(models, case.scores, 1.0) for models in (case.first, case.second)
        )
        seen = largest_loss(first, second, law)
        yield {"epsilon": case.epsilon}, seen, f"training set, {case.where}"


@trained_approximately.bounds(tolerance=1e-8)
def approximate_cases(budget):
    for case, generator in enumerate(budget.draws(25)):
        learners, models = int(generator.integers(1, 4)), int(generator.integers(2, 5))
        drawn = [pairs.random_pair(generator, models) for _ in range(learners)]
        epsilon = generator.uniform(0.0, 1.0)
        delta = max(float(profile_delta(a, b, epsilon)) for a, b in drawn)
        scores = generator.uniform(0.0, 5.0, (learners, models))
        first, second = (
            validation_runs(np.array(side), scores, 1.0) for side in zip(*drawn, strict=True)
        )
        seen = released_delta(first, second, point_mass(1), epsilon)
        where = f"instance {case}: {learners} learners of {models} models"
        yield {"delta": delta}, seen, f"{epsilon=!r}, {where}"


@tuned.bounds()
def tuned_cases(budget):
    few = budget._replace(cases=min(budget.cases, 30))
    for law in map(geometric, (0.3, 1e-3)):
        yield from validation_cases(few, law)
        yield from training_cases(few, law)
