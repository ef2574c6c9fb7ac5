"""Cohen et al. 2022: Selections and Tests, interleaved by an adaptive caller."""

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.families.selection_and_test.bounds import interaction_epsilon
from jaxsel.families.selection_and_test.claims.selections import by_parity
from jaxsel.families.selection_and_test.laws import (
    RowOfTests,
    SelectionCall,
    Transcripts,
    transcript_law,
)
from jaxsel.families.selection_and_test.parameters import CallsOrZero, Epsilon, Gamma, TopsOrZero
from jaxsel.language.base import Budget, Relation
from jaxsel.language.papers import CL

_PLACE = "remark after Theorem 2"
_Step = SelectionCall | RowOfTests


@CL.privacy("CL-interleaved", _PLACE, Relation.BASE)
def interleaved(
    *, epsilon: Epsilon = 0.5, gamma: Gamma = 1.0, selections: CallsOrZero = 2, tops: TopsOrZero = 2
) -> float:
    """c1 Selections and Tests until c2 tops, adaptively interleaved, are (2 c1 + 2 c2 + gamma)
    epsilon-DP."""
    return interaction_epsilon(epsilon, gamma, selections, tops)


charged = CL.privacy(
    "CL-interleaved-sharp",
    f"{_PLACE}, transcript by transcript",
    Relation.BASE,
    statement="A transcript in which s Selections released a run and t Tests answered top has "
    "privacy loss at most (2 s + 2 t + gamma) epsilon: Selections without a run are as free as "
    "bottoms.",
)(interleaved.evaluate)


def _close_chances(generator: np.random.Generator, epsilon: float) -> np.ndarray:
    """The chances of top of two branches of a Test, Float["side branches"], epsilon-close."""
    first = generator.uniform(0.0, 1.0, 2) ** 3
    ends = np.array([pairs.extreme_neighbours(float(h), epsilon) for h in first])
    return np.stack([first, ends[[0, 1], generator.integers(0, 2, 2)]])


def _program(
    generator: np.random.Generator, epsilon: float
) -> tuple[list[_Step], list[_Step], tuple[bool, ...]]:
    """The calls of a random program on two neighbouring data sets, and which are Selections."""
    sides: tuple[list[_Step], list[_Step]] = ([], [])
    kinds = tuple(bool(kind) for kind in generator.integers(0, 2, 4))
    for kind in kinds:
        if kind:
            found = [pairs.random_pure_pair(generator, 2, epsilon) for _ in range(2)]
            rounds = generator.choice([1, 5, 100], 1)
            for place, side in enumerate(sides):
                side.append(SelectionCall(np.stack([[pair[place]] for pair in found]), rounds))
        else:
            chances = _close_chances(generator, epsilon)
            count, stop = int(generator.choice([1, 4, 100])), int(generator.integers(1, 3))
            for place, side in enumerate(sides):
                side.append(RowOfTests(chances[place], count, stop))
    return *sides, kinds


def _losses(first: Transcripts, second: Transcripts) -> np.ndarray:
    """The absolute privacy loss of each transcript, 0 for impossible ones."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.abs(np.log(first.probabilities) - np.log(second.probabilities))
    possible = (first.probabilities > 0.0) | (second.probabilities > 0.0)
    return np.where(possible, found, 0.0)


def _runs(budget: Budget):
    """Random programs of calls, each with what its exact laws say.

    Yields epsilon and gamma; of each transcript the privacy loss, the number of Selections that
    released a run, and the number of tops; the number of Selections; and the program in words.
    """
    for case, generator in enumerate(budget.draws(90)):
        epsilon = generator.uniform(0.05, 1.5)
        gamma = float(generator.choice([0.5, 1.0, 3.0]))
        limit = None if case % 2 else int(generator.integers(1, 4))
        first, second, kinds = _program(generator, epsilon)
        laws = [
            transcript_law(side, gamma, limit=limit, choose=by_parity) for side in (first, second)
        ]
        outcomes, is_selection = laws[0].outcomes, np.array(kinds)
        tops = np.where(is_selection, 0, outcomes).sum(axis=1)
        # The last outcome of a Selection here, 2, is that no run happened.
        released = (is_selection & (outcomes < 2)).sum(axis=1)
        loss = _losses(*laws)
        shown = ["selection" if kind else "tests" for kind in kinds]
        where = f"calls {shown}, {limit=}, case {case} of seed {budget.seed}"
        yield epsilon, gamma, loss, released, tops, sum(kinds), where


@interleaved.bounds()
def whole_programs(budget):
    for epsilon, gamma, loss, _, tops, selections, where in _runs(budget):
        most = {"selections": selections, "tops": int(tops.max())}
        yield {"epsilon": epsilon, "gamma": gamma, **most}, float(loss.max()), where


@charged.bounds()
def transcripts(budget):
    for epsilon, gamma, loss, released, tops, _, where in _runs(budget):
        for charge in np.unique(released + tops):
            worst = float(loss[released + tops == charge].max())
            point = {"epsilon": epsilon, "gamma": gamma, "selections": int(charge), "tops": 0}
            yield point, worst, f"transcripts with {charge} charged calls, {where}"
