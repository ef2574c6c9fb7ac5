"""The catalogue entries of Selection and Test, Cohen et al. 2022, Algorithm 1."""

import math

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.host.errors import InputError
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, numbers, probability, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee, no_guarantee

_CALLED = "epsilon of every mechanism that is called, on the pairs"
_TOP = "chance of the best outcome, on the first side"
_MIDDLE = "chance of the second best one, on the other side"
_MOST = 20.0  # of epsilon: e^epsilon - 1 keeps its precision
_RUNS = 10**6  # of one call, made one by one by method "literal"
_CANDIDATES = {
    "epsilon": number(_CALLED, above=0.0, at_most=_MOST, default=1),
    "top": probability(_TOP, default=0.2),
    "middle": probability(_MIDDLE, default=0.002),
}
_GAMMA = number("exponent of the law of p, P[p <= x] = x^gamma", above=0.0, at_most=1e6, default=1)
_METHOD = choice(("literal", "shortcut", "law"), "see the guide", default="shortcut")


def _rounds(help: str, default: int):
    return whole(help, at_least=1, at_most=_RUNS, default=default)


def _sides(values: Values) -> dict[str, tuple[pairs.LawPair, str]]:
    """Pairs of laws of one candidate, the tight one first."""
    epsilon = values["epsilon"]
    three = pairs.three_outcome(epsilon, values["top"], values["middle"])
    pair = pairs.randomised_response(epsilon)
    coin = (np.append(side, 0.0) for side in pair)
    return {
        "three-outcome": (
            three,
            "releasing the middle outcome loses (2 c + gamma) epsilon as tau grows",
        ),
        "randomised-response": (
            pairs.LawPair(*coin),
            "complete for pure privacy; best of K fixed runs would lose K epsilon",
        ),
    }


# --- Selections -----------------------------------------------------------------------


def _selection_data(law: np.ndarray, calls: int, candidates: int) -> tuple:
    return tuple(np.tile(law, (candidates, 1)) for _ in range(calls))


def _make_selections(values: Values) -> Built:
    from jaxsel.families.selection_and_test.program import Select, program

    pair = _selection_pairs(values)[0]
    calls = (Select(),) * len(pair.data)
    return Built(program(calls, method=values["method"]), pair.data, dict(pair.params))


def _selection_pairs(values: Values) -> tuple[Pair, ...]:
    calls, candidates = values.get("calls", 1), values.get("candidates", 1)
    params = {"gamma": values["gamma"], "rounds": (values["rounds"],) * calls}
    return tuple(
        Pair(
            name,
            _selection_data(laws.first, calls, candidates),
            _selection_data(laws.second, calls, candidates),
            Relation.BASE,
            params,
            why,
        )
        for name, (laws, why) in _sides(values).items()
    )


def _selection_guarantee(values: Values, pair: Pair) -> Guarantee:
    return guarantee(
        "CL-Thm1-calls", epsilon=values["epsilon"], gamma=values["gamma"], calls=len(pair.data)
    )


# --- Tests ----------------------------------------------------------------------------


def _make_tests(values: Values) -> Built:
    from jaxsel.families.selection_and_test.program import Tests, program

    pair, tops = _test_pairs(values)[0], values["tops"]
    # Bottoms first, then tops; the interaction halts after the last of them.
    mechanism = program((Tests(tops),) * 2, limit=tops, method=values["method"])
    return Built(mechanism, pair.data, dict(pair.params))


def _test_pairs(values: Values) -> tuple[Pair, ...]:
    ratio, quiet, tops = math.exp(values["epsilon"]), values["quiet"], values["tops"]
    loud = 1.0 / (1.0 + ratio)
    if quiet > loud:
        raise InputError(
            f"quiet is {quiet:g}; it must lie in (0, 1/(1 + e^epsilon)] = (0, {loud:g}]"
        )
    params = {"gamma": values["gamma"], "rounds": (values["bottoms"], tops)}
    return (
        Pair(
            "bottoms-then-tops",
            (quiet, loud * ratio),
            (quiet * ratio, loud),
            Relation.BASE,
            params,
            "n bottoms and then c tops lose (2 c + gamma) epsilon as n grows",
        ),
        Pair(
            "tops-alone",
            (quiet, loud),
            (quiet * ratio, loud * ratio),
            Relation.BASE,
            params,
            "all tops are likelier on one side",
        ),
    )


def _test_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    given = {name: values[name] for name in ("epsilon", "gamma", "tops")}
    return guarantee("CL-Thm2", **given)


# --- Interleaved ----------------------------------------------------------------------


def _by_test(outcomes: tuple):
    """The second selection is on branch 1 after a test that answered top."""
    return outcomes[1] if len(outcomes) == 2 else 0


def _make_interleaved(values: Values) -> Built:
    from jaxsel.families.selection_and_test.program import Select, Tests, program

    pair = _interleaved_pairs(values)[0]
    calls = (Select(), Tests(1), Select(), Tests(1))
    mechanism = program(calls, choose=_by_test, method=values["method"])
    return Built(mechanism, pair.data, dict(pair.params))


def _interleaved_pairs(values: Values) -> tuple[Pair, ...]:
    ratio, rounds = math.exp(values["epsilon"]), values["rounds"]
    loud = 1.0 / (1.0 + ratio)
    params = {"gamma": values["gamma"], "rounds": (rounds, 1, rounds, 1)}
    sides = list(_sides(values).items())
    found = []
    for (name, (laws, why)), (_, (others, _)) in zip(sides, sides[::-1], strict=True):
        data = [
            (side[None], top, np.stack([side, other])[:, None], top)
            for side, other, top in zip(laws, others, (loud * ratio, loud), strict=True)
        ]
        found.append(Pair(name, data[0], data[1], Relation.BASE, params, why))
    return tuple(found)


def _interleaved_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    given = {name: values[name] for name in ("epsilon", "gamma")}
    return guarantee("CL-interleaved", selections=2, tops=2, **given)


# --- The coin game --------------------------------------------------------------------


def _make_game(values: Values) -> Built:
    from jaxsel.families.selection_and_test.coin_game import coin_game

    # The settings' own biases; the other pair is made from epsilon alone.
    (pair,) = (pair for pair in _game_pairs(values) if pair.name == "small")
    mechanism = coin_game(method=values["method"], event=values["event"])
    return Built(mechanism, pair.data, dict(pair.params))


def _game_pairs(values: Values) -> tuple[Pair, ...]:
    epsilon = values["epsilon"]
    found = []
    share = 1.0 / (1.0 + math.exp(-epsilon))
    for name, p, why in (
        ("randomised-response", [share], "the largest favoured divergence"),
        ("small", values["biases"], "the reverse divergence grows with the number of coins"),
    ):
        p = np.resize(p, values["coins"])
        if values["adaptive"] == "yes":
            p = np.stack([np.roll(p, -seen) for seen in range(values["ones"])])
        low = [pairs.extreme_neighbours(float(x), epsilon)[0] for x in p.ravel()]
        q = np.array(low).reshape(p.shape)
        params = {"ones": values["ones"]}
        found.append(Pair(name, p, q, Relation.BASE, params, why))
    return tuple(found)


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "selection_once",
        ("CL-Alg1", "CL-Thm1"),
        "Run k candidates Bin(tau, p) times each, p drawn once; release the best run.",
        False,
        {
            **_CANDIDATES,
            "gamma": _GAMMA,
            "rounds": _rounds("potential runs of each candidate (tau)", 20),
            "candidates": whole("how many candidates (k)", at_least=1, at_most=1000, default=2),
            "method": _METHOD,
        },
        _make_selections,
        _selection_pairs,
        _selection_guarantee,
        generic={
            "epsilon": 0.6,
            "top": 0.3,
            "middle": 0.05,
            "gamma": 0.6,
            "rounds": 7,
            "candidates": 3,
        },
    ),
    MechanismEntry(
        "selections",
        ("CL-Alg1", "CL-Thm1"),
        "Selections that share one p: (2 c + gamma) epsilon, not c (2 + gamma).",
        False,
        {
            **_CANDIDATES,
            "gamma": _GAMMA,
            "rounds": _rounds("potential runs of the candidate in a call (tau)", 40),
            # 4 outcomes a call: 4^8 transcripts
            "calls": whole("how many selections (c)", at_least=1, at_most=8, default=2),
            "method": _METHOD,
        },
        _make_selections,
        _selection_pairs,
        _selection_guarantee,
        generic={
            "epsilon": 0.6,
            "top": 0.3,
            "middle": 0.05,
            "gamma": 0.6,
            "rounds": 7,
            "calls": 3,
        },
    ),
    MechanismEntry(
        "tests_until_top",
        ("CL-Alg1", "CL-Thm2"),
        "Tests with one p until c of them answered top; bottoms are free.",
        False,
        {
            "epsilon": _CANDIDATES["epsilon"],
            "quiet": probability("chance of top in the first tests, on one side", default=0.2),
            "gamma": _GAMMA,
            "bottoms": _rounds("how many first tests (n)", 20),
            "tops": whole(
                "how many tops end it (c); as many tests come last",
                at_least=1,
                at_most=50,
                default=2,
            ),
            "method": _METHOD,
        },
        _make_tests,
        _test_pairs,
        _test_guarantee,
        generic={"epsilon": 0.6, "quiet": 0.3, "gamma": 0.6, "bottoms": 7, "tops": 3},
    ),
    MechanismEntry(
        "interleaved",
        ("CL-Alg1", "CL-Thm1", "CL-Thm2"),
        "Selection, test, selection on what the test said, test: all with one p.",
        False,
        {
            "epsilon": number(_CALLED, above=0.0, at_most=_MOST, default=0.5),
            "top": probability(_TOP, default=0.2),
            "middle": probability(_MIDDLE, default=0.02),
            "gamma": _GAMMA,
            "rounds": _rounds("potential runs of each selection (tau)", 10),
            "method": _METHOD,
        },
        _make_interleaved,
        _interleaved_pairs,
        _interleaved_guarantee,
        generic={"epsilon": 0.7, "top": 0.3, "middle": 0.05, "gamma": 0.6, "rounds": 6},
    ),
    MechanismEntry(
        "coin_game",
        ("CL-Alg2", "CL-Alg4", "CL-Lem1", "CL-Lem2"),
        "Show coins until k of them came up 1; no bound holds in both directions.",
        False,
        {
            "epsilon": _CANDIDATES["epsilon"],
            "biases": numbers(
                "chances of 1 on the favoured side, repeated",
                at_least=0.0,
                at_most=1.0,
                default="0.05,0.1",
            ),
            "coins": whole("how many coins there are", at_least=1, at_most=10_000, default=12),
            "ones": whole("how many ones end the game (k)", at_least=1, default=2),
            "adaptive": choice(
                ("no", "yes"), "yes: each 1 moves the list of biases on by one", default="no"
            ),
            "event": choice(
                ("place", "bits"),
                "place: the coin at which it ends; bits: every coin, of at most 12",
                default="place",
            ),
            "method": choice(("literal", "jump", "law"), "see the guide", default="jump"),
        },
        _make_game,
        _game_pairs,
        no_guarantee,
        generic={
            "epsilon": 0.7,
            "biases": "0.2,0.4,0.1",
            "coins": 5,
            "ones": 3,
            "adaptive": "yes",
            "event": "bits",
        },
    ),
)
