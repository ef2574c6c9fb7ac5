"""Cohen et al. 2022, Theorem 1: several Selections of several candidates with one p."""

from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.selection_and_test.bounds import (
    interaction_epsilon,
    selection_delta,
    selection_delta_sharp,
)
from jaxsel.families.selection_and_test.laws import (
    SelectionCall,
    repeated_selection_law,
    transcript_law,
)

_SOURCE = "Cohen et al. 2022, Theorem 1"
_GAMMAS = (0.5, 1.0, 2.0)


def _pure(*, epsilon: float = 1.0, gamma: float = 1.0, calls: int = 2) -> float:
    """(2 c + gamma) epsilon of c Selections, for epsilon-DP candidates.

    Args:
      epsilon: of every candidate, > 0.
      gamma: exponent of the law of p, > 0.
      calls: c, at least 1.
    """
    return interaction_epsilon(epsilon, gamma, check_integer("calls", calls, 1))


def _by_parity(outcomes: tuple):
    """An adaptive caller: what is called next depends on all that was seen."""
    return sum(outcomes) % 2


def _random_calls(
    generator: np.random.Generator, epsilon: float, calls: int
) -> tuple[list[SelectionCall], list[SelectionCall]]:
    """Selections of up to 3 candidates, two branches each, on both sides."""
    first, second = [], []
    for _ in range(calls):
        candidates, size = generator.integers([1, 2], [4, 5]).tolist()
        found = [
            pairs.random_pure_pair(generator, size, epsilon)
            for _ in range(2 * candidates)
        ]
        rounds = generator.choice([1, 2, 7, 50, 1000], candidates)
        shape = (2, candidates, size)
        first.append(
            SelectionCall(np.stack([p.first for p in found]).reshape(shape), rounds)
        )
        second.append(
            SelectionCall(np.stack([p.second for p in found]).reshape(shape), rounds)
        )
    return first, second


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for calls in (1, 2, 4):
        for rounds in (3, 100, 10_000):
            pair = pairs.three_outcome(1.0, 0.2, 1e-6)
            found = [repeated_selection_law(side, rounds, 0.5, calls) for side in pair]
            where = f"pairs.three_outcome(1, 0.2, 1e-6), gamma=0.5, {calls=}, {rounds=}"
            yield _pure(gamma=0.5, calls=calls), exact_epsilon(*found), where
    for case in range(min(budget.cases, 90)):
        epsilon, calls = float(generator.uniform(0.05, 2.0)), 1 + case % 3
        gamma = float(generator.choice(_GAMMAS))
        sides = _random_calls(generator, epsilon, calls)
        found = [
            transcript_law(side, gamma, choose=_by_parity).probabilities
            for side in sides
        ]
        shapes = [call.laws.shape[1:] for call in sides[0]]
        where = (
            f"random adaptive calls of (candidates, outcomes) {shapes}, rounds "
            f"{[call.rounds.tolist() for call in sides[0]]}, {epsilon=!r}, {gamma=:g}, "
            f"case {case} of seed {budget.seed}"
        )
        exact = exact_epsilon(*found)
        yield _pure(epsilon=epsilon, gamma=gamma, calls=calls), exact, where


def _nearly(*, epsilon: float = 1.0, gamma: float = 1.0, calls: int = 2) -> float:
    """0.999 (2 c + gamma) epsilon: what c Selections lose at worst, at least.

    Args:
      epsilon: of every candidate, > 0.
      gamma: exponent of the law of p, > 0.
      calls: c, at least 1.
    """
    return 0.999 * _pure(epsilon=epsilon, gamma=gamma, calls=calls)


def _nearly_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon in (0.1, 1.0, 2.0):
        for gamma in (0.5, 1.0, 2.0, 5.0):
            for calls in (1, 2, 5):
                pair = pairs.three_outcome(epsilon, 0.1, 1e-10)
                found = [
                    repeated_selection_law(side, 100_000, gamma, calls) for side in pair
                ]
                claimed = _nearly(epsilon=epsilon, gamma=gamma, calls=calls)
                where = (
                    f"pairs.three_outcome({epsilon:g}, 0.1, 1e-10), {gamma=:g}, "
                    f"{calls=}, tau=100000"
                )
                yield claimed, exact_epsilon(*found), where


def _sharp(
    *, gamma: float = 1.0, calls: int = 10, rounds: int = 5, delta: float = 0.01
) -> float:
    """1 - E_p (1 - p delta)^(c tau) of c Selections of one (epsilon, delta) candidate.

    Args:
      gamma: exponent of the law of p, > 0.
      calls: c, at least 1.
      rounds: tau, at least 1.
      delta: of the candidate, in [0, 1).
    """
    calls, rounds = (
        check_integer("calls", calls, 1),
        check_integer("rounds", rounds, 1),
    )
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    return selection_delta_sharp(calls * rounds, delta, gamma)


def _approximate_settings(budget: Budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 150)):
        gamma = float(generator.choice([0.2, *_GAMMAS, 10.0]))
        calls = int(generator.integers(1, 4))
        rounds = int(generator.choice([1, 3, 20, 300]))
        delta = float(10.0 ** generator.uniform(-6.0, -1.0))
        epsilon = float(generator.uniform(0.1, 1.0))
        yield gamma, calls, rounds, delta, epsilon


def _sharp_cases(budget: Budget) -> Iterator[Case]:
    for gamma, calls, rounds, delta, epsilon in _approximate_settings(budget):
        pair = pairs.approximate_three_outcome(epsilon, 0.1, 1e-3, delta)
        found = [repeated_selection_law(side, rounds, gamma, calls) for side in pair]
        level = interaction_epsilon(epsilon, gamma, calls)
        claimed = _sharp(gamma=gamma, calls=calls, rounds=rounds, delta=delta)
        where = (
            f"pairs.approximate_three_outcome({epsilon!r}, 0.1, 1e-3, {delta!r}), "
            f"{gamma=:g}, {calls=}, tau={rounds}"
        )
        yield claimed, float(profile_delta(found[0], found[1], level)), where


def _share(
    *, gamma: float = 1.0, calls: int = 10, rounds: int = 5, delta: float = 0.01
) -> float:
    """gamma/(1 + gamma) times the sum of tau delta over all calls.

    Args:
      gamma: exponent of the law of p, > 0.
      calls: c, at least 1.
      rounds: tau, at least 1.
      delta: of the candidate, in [0, 1).
    """
    gamma = check_positive("gamma", gamma)
    calls, rounds = check_integer("calls", calls, 1), check_integer("rounds", rounds, 1)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    return gamma / (1.0 + gamma) * selection_delta([rounds] * calls, delta)


def _share_cases(budget: Budget) -> Iterator[Case]:
    for gamma, calls, rounds, delta, _ in _approximate_settings(budget):
        settings = {"gamma": gamma, "calls": calls, "rounds": rounds, "delta": delta}
        if calls * rounds * delta < 1.0:
            yield _share(**settings), _sharp(**settings), f"{settings}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm1-calls",
        source=_SOURCE,
        statement="c adaptive calls of Selection, each of any number of epsilon-DP "
        "candidates, are (2 c + gamma) epsilon-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="CL-Thm1-calls-attained",
        source=f"{_SOURCE}, its constants",
        statement="No smaller constant is possible: for tau = 100000 there are "
        "candidates with which c Selections lose 0.999 (2 c + gamma) epsilon.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_nearly,
        check=at_least(_nearly_cases),
    ),
    Claim(
        id="CL-Thm1-delta-sharp",
        source=f"{_SOURCE}, sharpened",
        statement="c Selections of (epsilon, delta)-DP candidates have at most 1 - E_p "
        "prod (1 - p delta_i)^tau at (2 c + gamma) epsilon, the product over the "
        "candidates of all calls.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_sharp,
        check=at_most(_sharp_cases, tolerance=1e-12),
    ),
    Claim(
        id="CL-Thm1-delta-share",
        source=f"{_SOURCE}, sharpened",
        statement="1 - E_p prod (1 - p delta_i)^tau is at most gamma/(1 + gamma) times "
        "the sum of tau delta_i over all calls.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_share,
        check=at_most(_share_cases, tolerance=1e-12),
    ),
)
