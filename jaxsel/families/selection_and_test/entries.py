"""The catalogue entries of Selection and Test, Cohen et al. 2022, Algorithm 1."""

import math
from collections.abc import Callable

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.errors import InputError, check_integer
from jaxsel.families.percentile.better_than_median import better_than_median
from jaxsel.families.selection_and_test.bounds import interaction_epsilon
from jaxsel.families.selection_and_test.coin_game import coin_game
from jaxsel.families.selection_and_test.program import Select, Tests, program
from jaxsel.families.tuning.bases import finite
from jaxsel.options import Option, read_number, read_numbers

_EPSILON = Option("1", "epsilon of every mechanism that is called, on the pairs")
_GAMMA = Option("1", "exponent of the law of p, P[p <= x] = x^gamma")
_METHOD = Option("shortcut", "literal, shortcut or law")
_SMALL = {
    "top": Option("0.2", "chance of the best outcome, on the first side"),
    "middle": Option("0.002", "chance of the second best one, on the other side"),
}


def _number(values: Settings, name: str) -> float:
    return read_number(name, values[name])


def _whole(values: Settings, name: str, least: int = 1) -> int:
    return check_integer(name, _number(values, name), least)


def _sides(values: Settings) -> dict[str, tuple[pairs.LawPair, str]]:
    """Pairs of laws of one candidate, the tight one first."""
    epsilon = _number(values, "epsilon")
    three = pairs.three_outcome(
        epsilon, _number(values, "top"), _number(values, "middle")
    )
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


def _make_selections(values: Settings) -> Built:
    pair = _selection_pairs(values)[0]
    calls = (Select(),) * len(pair.data)
    return Built(program(calls, method=values["method"]), pair.data, dict(pair.params))


def _selection_pairs(values: Settings) -> tuple[Pair, ...]:
    calls = _whole(values, "calls") if "calls" in values else 1
    candidates = _whole(values, "candidates") if "candidates" in values else 1
    params = {
        "gamma": _number(values, "gamma"),
        "rounds": (_whole(values, "rounds"),) * calls,
    }
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


def _selection_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    calls = len(pair.data)
    epsilon, gamma = _number(values, "epsilon"), _number(values, "gamma")
    return "CL-Thm1-calls", interaction_epsilon(epsilon, gamma, calls)


# --- Tests ----------------------------------------------------------------------------


def _make_tests(values: Settings) -> Built:
    pair = _test_pairs(values)[0]
    tops = _whole(values, "tops")
    # Bottoms first, then tops; the interaction halts after the last of them.
    mechanism = program((Tests(tops),) * 2, limit=tops, method=values["method"])
    return Built(mechanism, pair.data, dict(pair.params))


def _test_pairs(values: Settings) -> tuple[Pair, ...]:
    epsilon, quiet = _number(values, "epsilon"), _number(values, "quiet")
    loud = 1.0 / (1.0 + math.exp(epsilon))
    if not 0.0 < quiet <= loud:
        raise InputError(
            f"quiet is {quiet:g}; it must lie in (0, 1/(1 + e^epsilon)] = (0, {loud:g}]"
        )
    ratio, tops = math.exp(epsilon), _whole(values, "tops")
    params = {
        "gamma": _number(values, "gamma"),
        "rounds": (_whole(values, "bottoms"), tops),
    }
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


def _test_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    epsilon, gamma = _number(values, "epsilon"), _number(values, "gamma")
    return "CL-Thm2", interaction_epsilon(epsilon, gamma, 0, _whole(values, "tops"))


# --- Interleaved ----------------------------------------------------------------------


def _by_test(outcomes: tuple):
    """The second selection is on branch 1 after a test that answered top."""
    return outcomes[1] if len(outcomes) == 2 else 0


def _make_interleaved(values: Settings) -> Built:
    pair = _interleaved_pairs(values)[0]
    calls = (Select(), Tests(1), Select(), Tests(1))
    mechanism = program(calls, choose=_by_test, method=values["method"])
    return Built(mechanism, pair.data, dict(pair.params))


def _interleaved_pairs(values: Settings) -> tuple[Pair, ...]:
    epsilon, rounds = _number(values, "epsilon"), _whole(values, "rounds")
    loud = 1.0 / (1.0 + math.exp(epsilon))
    params = {"gamma": _number(values, "gamma"), "rounds": (rounds, 1, rounds, 1)}
    sides = list(_sides(values).items())
    found = []
    for (name, (laws, why)), (_, (others, _)) in zip(sides, sides[::-1], strict=True):
        data = [
            (side[None], top, np.stack([side, other])[:, None], top)
            for side, other, top in zip(
                laws, others, (loud * math.exp(epsilon), loud), strict=True
            )
        ]
        found.append(Pair(name, data[0], data[1], Relation.BASE, params, why))
    return tuple(found)


def _interleaved_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    epsilon, gamma = _number(values, "epsilon"), _number(values, "gamma")
    return "CL-interleaved", interaction_epsilon(epsilon, gamma, 2, 2)


# --- Better than the median -----------------------------------------------------------


def _make_median(values: Settings) -> Built:
    pair = _median_pairs(values)[0]
    mechanism = better_than_median(finite(), method=values["method"])
    return Built(mechanism, pair.data, dict(pair.params))


def _median_pairs(values: Settings) -> tuple[Pair, ...]:
    params = {"alpha": _number(values, "alpha"), "beta": _number(values, "beta")}
    return tuple(
        Pair(name, laws.first, laws.second, Relation.BASE, params, why)
        for name, (laws, why) in _sides(values).items()
    )


def _median_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    epsilon, alpha = _number(values, "epsilon"), _number(values, "alpha")
    return "CL-Thm4-privacy", (2.0 + alpha) * epsilon


# --- The coin game --------------------------------------------------------------------


def _make_game(values: Settings) -> Built:
    pair = _game_pairs(values)[0]
    return Built(coin_game(method=values["method"]), pair.data, dict(pair.params))


def _game_pairs(values: Settings) -> tuple[Pair, ...]:
    epsilon, coins = _number(values, "epsilon"), _whole(values, "coins")
    params = {"ones": _whole(values, "ones")}
    found = []
    biases = read_numbers("biases", values["biases"])
    share = 1.0 / (1.0 + math.exp(-epsilon))
    for name, p, why in (
        ("randomised-response", [share], "the largest favoured divergence"),
        ("small", biases, "the reverse divergence grows with the number of coins"),
    ):
        p = np.resize(p, coins)
        q = np.array([pairs.extreme_neighbours(float(x), epsilon)[0] for x in p])
        found.append(Pair(name, p, q, Relation.BASE, params, why))
    return tuple(found)


def _entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    options: dict[str, Option],
    make: Callable[[Settings], Built],
    make_pairs: Callable[[Settings], tuple[Pair, ...]],
    promise: Callable[[Settings, Pair], tuple[str, float] | None],
) -> MechanismEntry:
    return MechanismEntry(name, ids, summary, False, options, make, make_pairs, promise)


ENTRIES: tuple[MechanismEntry, ...] = (
    _entry(
        "selection_once",
        ("CL-Alg1", "CL-Thm1"),
        "Run k candidates Bin(tau, p) times each, p drawn once; release the best run.",
        {
            "epsilon": _EPSILON,
            **_SMALL,
            "gamma": _GAMMA,
            "rounds": Option("20", "potential runs of each candidate (tau)"),
            "candidates": Option("2", "how many candidates (k)"),
            "method": _METHOD,
        },
        _make_selections,
        _selection_pairs,
        _selection_promise,
    ),
    _entry(
        "selections",
        ("CL-Alg1", "CL-Thm1"),
        "Selections that share one p: (2 c + gamma) epsilon, not c (2 + gamma).",
        {
            "epsilon": _EPSILON,
            **_SMALL,
            "gamma": _GAMMA,
            "rounds": Option("40", "potential runs of the candidate in a call (tau)"),
            "calls": Option("2", "how many selections (c)"),
            "method": _METHOD,
        },
        _make_selections,
        _selection_pairs,
        _selection_promise,
    ),
    _entry(
        "tests_until_top",
        ("CL-Alg1", "CL-Thm2"),
        "Tests with one p until c of them answered top; bottoms are free.",
        {
            "epsilon": _EPSILON,
            "quiet": Option("0.2", "chance of top in the first tests, on one side"),
            "gamma": _GAMMA,
            "bottoms": Option("20", "how many first tests (n)"),
            "tops": Option("2", "how many tops end it (c); as many tests come last"),
            "method": _METHOD,
        },
        _make_tests,
        _test_pairs,
        _test_promise,
    ),
    _entry(
        "interleaved",
        ("CL-Alg1", "CL-Thm1", "CL-Thm2"),
        "Selection, test, selection on what the test said, test: all with one p.",
        {
            "epsilon": Option("0.5", _EPSILON.help),
            "top": Option("0.2", _SMALL["top"].help),
            "middle": Option("0.02", _SMALL["middle"].help),
            "gamma": _GAMMA,
            "rounds": Option("10", "potential runs of each selection (tau)"),
            "method": _METHOD,
        },
        _make_interleaved,
        _interleaved_pairs,
        _interleaved_promise,
    ),
    _entry(
        "better_than_median",
        ("CL-Thm4",),
        "The best of Bin(T, p) runs: above the median, but for a chance beta.",
        {
            "epsilon": _EPSILON,
            **_SMALL,
            "alpha": Option("1", "exponent of the law of p"),
            "beta": Option("0.02", "failure probability that sets T"),
            "method": Option("rank", "literal, rank or law"),
        },
        _make_median,
        _median_pairs,
        _median_promise,
    ),
    _entry(
        "coin_game",
        ("CL-Alg2", "CL-Alg4", "CL-Lem1", "CL-Lem2"),
        "Show coins until k of them came up 1; no bound holds in both directions.",
        {
            "epsilon": _EPSILON,
            "biases": Option("0.05,0.1", "chances of 1 on the favoured side, repeated"),
            "coins": Option("12", "how many coins there are"),
            "ones": Option("2", "how many ones end the game (k)"),
            "method": Option("jump", "literal, jump or law"),
        },
        _make_game,
        _game_pairs,
        lambda values, pair: None,
    ),
)
