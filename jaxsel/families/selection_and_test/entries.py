"""The catalogue entries of Selection and Test, Cohen et al. 2022, Algorithm 1."""
# ruff: noqa: PT028 (tests_until_top is a mechanism, no test)

import math
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.families.selection_and_test import parameters
from jaxsel.families.selection_and_test.parameters import Gamma
from jaxsel.host.errors import InputError
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import choice, number, numbers, probability, whole
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial

_CALLED = "epsilon of every mechanism that is called, on the pairs"

# Up to 20, e^epsilon - 1 keeps its precision.
Epsilon = Annotated[float, number(_CALLED, above=0.0, at_most=20.0)]
Top = Annotated[float, probability("chance of the best outcome, on the first side")]
Middle = Annotated[float, probability("chance of the second best one, on the other side")]
Method = Annotated[str, methods(*parameters.METHODS, help="see the guide")]


def _runs(help: str):
    """The domain of a number of runs; it is limited, as method "literal" makes them one by one."""
    return whole(help, at_least=1, at_most=10**6)


def _sides(epsilon, top, middle):
    """Pairs of laws of one candidate, each with a name and a reason; the worst pair comes first."""
    why = "releasing the middle outcome loses (2 c + gamma) epsilon as tau grows"
    yield "three-outcome", pairs.three_outcome(epsilon, top, middle), why
    coin = (np.append(side, 0.0) for side in pairs.randomised_response(epsilon))
    why = "complete for pure privacy; best of K fixed runs would lose K epsilon"
    yield "randomised-response", pairs.LawPair(*coin), why


def _loud(epsilon: float) -> float:
    """The smaller probability of randomised response; the other is e^epsilon times as large."""
    return 1.0 / (1.0 + math.exp(epsilon))


# --- Selections -----------------------------------------------------------------------


@mechanism(
    "CL-Alg1", "CL-Thm1", generic="epsilon=0.6 top=0.3 middle=0.05 gamma=0.6 rounds=7 candidates=3"
)
def selection_once(
    *,
    epsilon: Epsilon = 1,
    top: Top = 0.2,
    middle: Middle = 0.002,
    gamma: Gamma = 1,
    rounds: Annotated[int, _runs("potential runs of each candidate (tau)")] = 20,
    candidates: Annotated[int, whole("how many candidates (k)", at_least=1, at_most=1000)] = 2,
    method: Method = "shortcut",
):
    """Run k candidates Bin(tau, p) times each, with p drawn once, and release the best run (Cohen
    et al. 2022, Algorithm 1)."""

    def made():
        from jaxsel.families.selection_and_test.program import Select, program

        return program((Select(),), method=method)

    return _selections(made, epsilon, top, middle, gamma, rounds, candidates=candidates)


@mechanism(
    "CL-Alg1", "CL-Thm1", generic="epsilon=0.6 top=0.3 middle=0.05 gamma=0.6 rounds=7 calls=3"
)
def selections(
    *,
    epsilon: Epsilon = 1,
    top: Top = 0.2,
    middle: Middle = 0.002,
    gamma: Gamma = 1,
    rounds: Annotated[int, _runs("potential runs of the candidate in a call (tau)")] = 40,
    # 4 outcomes a call: 4^8 transcripts
    calls: Annotated[int, whole("how many selections (c)", at_least=1, at_most=8)] = 2,
    method: Method = "shortcut",
):
    """Make c Selections that share one p; they lose (2 c + gamma) epsilon, not c (2 + gamma)
    epsilon (Cohen et al. 2022, Theorem 1)."""

    def made():
        from jaxsel.families.selection_and_test.program import Select, program

        return program((Select(),) * calls, method=method)

    return _selections(made, epsilon, top, middle, gamma, rounds, calls)


def _selections(made, epsilon, top, middle, gamma, rounds, calls=1, candidates=1) -> Trial:
    """The trial of Selections that share one p; all candidates have the same law."""

    def each(law: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.tile(law, (candidates, 1)),) * calls

    def other_laws():
        for name, laws, why in _sides(epsilon, top, middle):
            yield name, each(laws.first), each(laws.second), Relation.BASE, why

    _, laws, _ = next(_sides(epsilon, top, middle))
    return Trial(
        made,
        each(laws.first),
        {"gamma": gamma, "rounds": (rounds,) * calls},
        other_laws,
        lambda pair: guarantee("CL-Thm1-calls", epsilon=epsilon, gamma=gamma, calls=calls),
    )


# --- Tests ----------------------------------------------------------------------------


@mechanism("CL-Alg1", "CL-Thm2", generic="epsilon=0.6 quiet=0.3 gamma=0.6 bottoms=7 tops=3")
def tests_until_top(
    *,
    epsilon: Epsilon = 1,
    quiet: Annotated[float, probability("chance of top in the first tests, on one side")] = 0.2,
    gamma: Gamma = 1,
    bottoms: Annotated[int, _runs("how many first tests (n)")] = 20,
    tops: Annotated[
        int, whole("how many tops end it (c); as many tests come last", at_least=1, at_most=50)
    ] = 2,
    method: Method = "shortcut",
):
    """Make Tests that share one p until c of them answered top; those that answered bottom cost
    nothing (Cohen et al. 2022, Theorem 2)."""

    def made():
        from jaxsel.families.selection_and_test.program import Tests, program

        # Bottoms first, then tops; the interaction halts after the last top.
        return program((Tests(tops),) * 2, limit=tops, method=method)

    loud, ratio = _loud(epsilon), math.exp(epsilon)
    if quiet > loud:
        raise InputError(
            f"quiet is {quiet:g}; it must lie in (0, 1/(1 + e^epsilon)] = (0, {loud:g}]"
        )
    data = (quiet, loud * ratio)

    def other_chances():
        why = "n bottoms and then c tops lose (2 c + gamma) epsilon as n grows"
        yield "bottoms-then-tops", data, (quiet * ratio, loud), Relation.BASE, why
        why = "all tops are likelier on one side"
        yield "tops-alone", (quiet, loud), (quiet * ratio, loud * ratio), Relation.BASE, why

    return Trial(
        made,
        data,
        {"gamma": gamma, "rounds": (bottoms, tops)},
        other_chances,
        lambda pair: guarantee("CL-Thm2", epsilon=epsilon, gamma=gamma, tops=tops),
    )


# --- Interleaved ----------------------------------------------------------------------


def _by_test(outcomes: tuple):
    """The branch of the second selection: 1 after a test that answered top, else 0."""
    return outcomes[1] if len(outcomes) == 2 else 0


@mechanism(
    "CL-Alg1", "CL-Thm1", "CL-Thm2", generic="epsilon=0.7 top=0.3 middle=0.05 gamma=0.6 rounds=6"
)
def interleaved(
    *,
    epsilon: Epsilon = 0.5,
    top: Top = 0.2,
    middle: Middle = 0.02,
    gamma: Gamma = 1,
    rounds: Annotated[int, _runs("potential runs of each selection (tau)")] = 10,
    method: Method = "shortcut",
):
    """Make four calls that share one p: a Selection, a Test, a Selection that depends on the Test's
    answer, and a Test (Cohen et al. 2022, Algorithm 1)."""

    def made():
        from jaxsel.families.selection_and_test.program import Select, Tests, program

        calls = (Select(), Tests(1), Select(), Tests(1))
        return program(calls, choose=_by_test, method=method)

    def other_calls():
        (_, three, _), (_, coin, _) = sides = tuple(_sides(epsilon, top, middle))
        chances = _loud(epsilon) * math.exp(epsilon), _loud(epsilon)
        for (name, laws, why), others in zip(sides, (coin, three), strict=True):
            first, second = (
                (side[None], chance, np.stack([side, other])[:, None], chance)
                for side, other, chance in zip(laws, others, chances, strict=True)
            )
            yield name, first, second, Relation.BASE, why

    def proven(pair):
        return guarantee("CL-interleaved", selections=2, tops=2, epsilon=epsilon, gamma=gamma)

    data = next(other_calls())[1]
    return Trial(
        made, data, {"gamma": gamma, "rounds": (rounds, 1, rounds, 1)}, other_calls, proven
    )


# --- The coin game --------------------------------------------------------------------


@mechanism(
    "CL-Alg2",
    "CL-Alg4",
    "CL-Lem1",
    "CL-Lem2",
    generic="epsilon=0.7 biases=0.2,0.4,0.1 coins=5 ones=3 adaptive=yes event=bits",
)
def coin_game(
    *,
    epsilon: Epsilon = 1,
    biases: Annotated[
        Any, numbers("chances of 1 on the favoured side, repeated", at_least=0.0, at_most=1.0)
    ] = "0.05,0.1",
    coins: Annotated[int, whole("how many coins there are", at_least=1, at_most=10_000)] = 12,
    ones: parameters.Ones = 2,
    adaptive: Annotated[
        str, choice(("no", "yes"), "yes: each 1 moves the list of biases on by one")
    ] = "no",
    event: parameters.GameEvent = "place",
    method: Annotated[str, methods(*parameters.GAME_METHODS, help="see the guide")] = "jump",
):
    """Show coins until k of them came up 1; no bound holds in both directions (Cohen et al. 2022,
    Algorithms 2 and 4)."""

    def made():
        from jaxsel.families.selection_and_test.coin_game import coin_game

        return coin_game(method=method, event=event)

    def chances(row) -> np.ndarray:
        """The chance of 1 of every coin; if adaptive, one row for each number of ones so far."""
        row = np.resize(row, coins)
        return np.stack([np.roll(row, -n) for n in range(ones)]) if adaptive == "yes" else row

    data = chances(biases)

    def rarer_ones():
        response = chances(1.0 / (1.0 + math.exp(-epsilon)))
        for name, p, why in (
            ("randomised-response", response, "the largest favoured divergence"),
            ("small", data, "the reverse divergence grows with the number of coins"),
        ):
            low = [pairs.extreme_neighbours(float(x), epsilon)[0] for x in p.ravel()]
            yield name, p, np.array(low).reshape(p.shape), Relation.BASE, why

    return Trial(made, data, {"ones": ones}, rarer_ones)
