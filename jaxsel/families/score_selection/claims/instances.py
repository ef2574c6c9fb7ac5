"""Random score lists and neighbours on which Section 5 is put to the test."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.families.score_selection.candidate_laws import index_law, largest_loss
from jaxsel.families.score_selection.settings import ScoreSelection
from jaxsel.language.base import Budget
from jaxsel.repetitions import geometric


class Instance(NamedTuple):
    """Scores on two neighbouring data sets, and the settings of a selection."""

    first: np.ndarray
    second: np.ndarray
    sensitivities: np.ndarray
    epsilon: float
    beta: float
    where: str


class Landscape(NamedTuple):
    """Scores to choose from, and the settings of a selection."""

    scores: np.ndarray
    sensitivities: np.ndarray | float
    epsilon: float
    beta: float
    where: str


def quiet_and_noisy(loss: Callable[..., float]) -> Landscape:
    """One good candidate of 1000, and others just beyond the loss, of two kinds.

    The noise of some is so small that the good one must be drawn with noise above 0 to beat
    them; that of the others is so large that they win as soon as it makes up for their shift.
    """
    epsilon, beta = 1.0, 0.01
    sensitivities = np.concatenate([[1.0], np.full(30, 1e-4), np.full(969, 1e4)])
    scores = np.full(1000, -1e9)
    scores[0] = 0.0
    scores[1:] = -1.0001 * loss(scores, sensitivities, epsilon, beta)
    return Landscape(scores, sensitivities, epsilon, beta, "one good of K=1000, quiet, noisy ones")


def neighbours_of(
    generator: np.random.Generator, scores: np.ndarray, reach: npt.ArrayLike
) -> np.ndarray:
    """Random scores of a neighbour: each moves by at most ``reach``, half of them by just that."""
    moves = np.clip(generator.uniform(-2.0, 2.0, scores.size), -1.0, 1.0)
    return scores + moves * np.asarray(reach, dtype=np.float64)


def neighbours(budget: Budget, *, equal: bool, limit: int) -> Iterator[Instance]:
    """Instances of scores on neighbouring data: a constructed one, then random ones.

    Args:
      budget: of the check, which draws the random instances.
      equal: whether all candidates have the same sensitivity.
      limit: the largest number of random instances.
    """
    # One candidate falls while all others rise: three times the loss of one run.
    count, beta = 50, 0.01
    first = np.arange(count) == 0
    yield Instance(
        np.where(first, 1.0, 0.0),
        np.where(first, 0.0, 1.0),
        np.ones(count),
        1.0,
        beta,
        f"K={count}, beta={beta}: one candidate falls, all others rise",
    )
    for number, generator in enumerate(budget.draws(limit)):
        count = int(generator.integers(2, 16))
        sensitivities = np.ones(count)
        if not equal:
            sensitivities = 10.0 ** generator.uniform(-1.0, 1.0, count)
        spread = float(10.0 ** generator.uniform(-1.0, 2.0))
        scores = spread * generator.uniform(-1.0, 1.0, count)
        epsilon = float(generator.uniform(0.1, 3.0))
        beta = float(10.0 ** generator.uniform(-3.0, -0.3))
        moved = neighbours_of(generator, scores, sensitivities)
        where = f"random instance {number}: K={count}, {epsilon=!r}, {beta=!r}"
        yield Instance(scores, moved, sensitivities, epsilon, beta, where)


def losses(budget: Budget, select: Callable[..., ScoreSelection], *, equal: bool, limit: int):
    """Cases for a claim of a pure epsilon: the exact privacy loss of a selection on neighbours.

    Args:
      budget, equal, limit: as of ``neighbours``, which makes the instances.
      select: (scores, sensitivities, epsilon, beta) -> the selection.

    Yields:
      The claim's parameters, the largest privacy loss of the release, and the instance in words.
    """
    for case in neighbours(budget, equal=equal, limit=limit):
        first, second = (
            select(scores, case.sensitivities, case.epsilon, case.beta)
            for scores in (case.first, case.second)
        )
        seen = largest_loss(first.candidates, second.candidates, geometric(first.gamma))
        yield {"epsilon": case.epsilon}, seen, case.where


def selection_law(selection: ScoreSelection) -> np.ndarray:
    """The exact law of the released candidate, Float["candidates"]."""
    return index_law(selection.candidates, geometric(selection.gamma))[:-1]


def chance_of_loss(scores: np.ndarray, law: np.ndarray, loss: float) -> float:
    """The probability that the released candidate's score is more than ``loss`` below the best.

    ``law`` is the law of the released candidate, Float["candidates"].
    """
    return math.fsum(law[scores.max() - scores > loss * (1.0 + 1e-12)])


def failures(
    budget: Budget,
    landscapes: Callable[..., Iterator[Landscape]],
    select: Callable[..., ScoreSelection | np.ndarray],
    loss: Callable[..., float],
    names: tuple[str, ...] = ("beta",),
    limit: int = 100,
):
    """Cases for a claim of a failure probability: how often a release loses more than claimed.

    Args:
      budget: of the check.
      landscapes: (budget, loss, limit) -> the scores to choose from, with their settings.
      select: (scores, sensitivities, epsilon, beta) -> the selection, or the law of the released
        candidate.
      loss: of the same arguments, the claimed bound on the distance to the best score.
      names: which of "beta" and "candidates" are parameters of the claim.
      limit: the largest number of random landscapes.
    """
    for landscape in landscapes(budget, loss, limit):
        settings = landscape[:4]
        made = select(*settings)
        law = selection_law(made) if isinstance(made, ScoreSelection) else made
        seen = chance_of_loss(landscape.scores, law, loss(*settings))
        known = {"beta": landscape.beta, "candidates": landscape.scores.size}
        yield {name: known[name] for name in names}, seen, landscape.where
