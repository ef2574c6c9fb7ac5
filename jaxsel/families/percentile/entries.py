"""Catalogue entries of the percentile sparse vectors of Liu & Talwar 2019."""

from typing import Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.families.percentile.extended_above_threshold import extended_above_threshold
from jaxsel.families.percentile.find_threshold import find_percentile_threshold
from jaxsel.families.percentile.laws import count_range, sparse_vector_epsilon
from jaxsel.families.percentile.percentile_above_threshold import (
    percentile_above_threshold,
)
from jaxsel.families.percentile.pipeline import percentile_pipeline, pipeline_params
from jaxsel.families.percentile.pipeline_laws import Pipeline, pipeline
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5
from jaxsel.families.thresholds.laws import threshold_steps
from jaxsel.options import Option, read_number, read_numbers

_COMMON = {
    "target": Option("0.5", "p*, the wanted chance to reach the threshold"),
    "base_epsilon": Option("0.5", "epsilon_1 of one run of a base"),
    "final_epsilon": Option("1", "epsilon_3 of the answers"),
}
_TEST = {
    "slack": Option("0.5", "epsilon_0, in (0, 1)"),
    "beta": Option("0.1", "failure probability"),
    "delta": Option("1e-3", "delta of the answers"),
    "samples": Option("40", "N; empty: the theorem's"),
    "shift": Option("5", "Delta, added to all counts; empty: the theorem's"),
}
_METHOD = Option("binomial", "binomial, literal (makes the N runs) or law")


def _numbers(values: Settings, *names: str) -> dict[str, Any]:
    return {name: read_number(name, values[name]) for name in names}


def _overridden(test: PercentileTest, values: Settings) -> PercentileTest:
    given = {
        name: read_number(name, values[name])
        for name in ("samples", "shift", "offset")
        if name in values
    }
    if "samples" in given:
        given["samples"] = int(given["samples"])
    return test._replace(**given)


def _shares(values: Settings) -> np.ndarray:
    return np.array(read_numbers("shares", values["shares"]))


def _flipped(values: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Randomised response, the last query against the others."""
    epsilon = read_number("base_epsilon", values["base_epsilon"])
    low = max(1, _shares(values).size - 1)
    high = np.append(np.full(low, 1.0), -1.0) * epsilon
    return 1.0 / (1.0 + np.exp(high)), 1.0 / (1.0 + np.exp(-high))


def _stream_pair(data, neighbour, params: dict[str, Any]) -> tuple[Pair, ...]:
    return (
        Pair(
            name="low-then-high",
            data=data,
            neighbour=neighbour,
            relation=Relation.BASE,
            params=params,
            why="every log-odds moves by 2 epsilon_1, the last against the others",
        ),
    )


# --- Algorithm 3 ----------------------------------------------------------------------


def _oracle_params(values: Settings) -> dict[str, Any]:
    return _numbers(values, "target", "base_epsilon", "final_epsilon")


def _oracle_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    del pair
    return "LT-Thm4.1(a)", read_number("final_epsilon", values["final_epsilon"])


# --- Algorithms 4 and 5 ---------------------------------------------------------------


def _test(values: Settings, algorithm: int) -> PercentileTest:
    names = ("target", "base_epsilon", "final_epsilon", "slack", "beta", "delta")
    numbers, count = _numbers(values, *names), _shares(values).size
    if algorithm == 4:
        test = algorithm_4(**numbers, queries=max(2, count))
    else:
        test = algorithm_5(**numbers, thresholds=max(2, count))
    return _overridden(test, values)


def _any_counts(test: PercentileTest, sides: int) -> float:
    scales = test.query_scale, test.threshold_scale
    return sparse_vector_epsilon(count_range(test, sides), *scales)


def _extended_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    del pair
    return "LT-Thm4.4(a)-sharp", _any_counts(_test(values, 4), 2)


def _found_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    del pair
    return "LT-Thm4.6(a)-sharp", _any_counts(_test(values, 5), 1)


def _found_pairs(values: Settings) -> tuple[Pair, ...]:
    """The first thresholds are reached oftener on one side, the next on the other."""
    laws = pairs.three_outcome(
        _numbers(values, "base_epsilon")["base_epsilon"], 0.05, 0.25
    )
    first = max(1, _shares(values).size - 2)
    data, neighbour = (
        np.append(np.full(first, law[0]), [law[0] + law[1], 1.0]) for law in laws
    )
    return _stream_pair(data, neighbour, _test(values, 5)._asdict())


# --- Theorem 4.7 ----------------------------------------------------------------------


def _pipeline(values: Settings) -> Pipeline:
    numbers = _numbers(values, "base_epsilon", "slack", "beta", "delta")
    counts = _numbers(values, "thresholds", "candidates")
    settings = pipeline(
        **numbers,
        thresholds=int(counts["thresholds"]),
        candidates=int(counts["candidates"]),
        reading="sharp",
    )
    settings = settings._replace(test=_overridden(settings.test, values))
    if "stop_probability" in values:
        stop = read_number("stop_probability", values["stop_probability"])
        settings = settings._replace(
            stop_probability=stop,
            max_draws=threshold_steps(stop, numbers["slack"] / 2.0),
        )
    return settings


def _make_pipeline(values: Settings) -> Built:
    data = {
        name: read_numbers(name, values[name]) for name in ("scores", "probabilities")
    }
    mechanism = percentile_pipeline(method=values["method"])
    return Built(mechanism, data, pipeline_params(_pipeline(values)))


def _pipeline_pairs(values: Settings) -> tuple[Pair, ...]:
    epsilon = read_number("base_epsilon", values["base_epsilon"])
    laws = pairs.three_outcome(epsilon, 0.05, 0.25)
    sides = [{"scores": [1.0, 0.5, 0.0], "probabilities": law.tolist()} for law in laws]
    return (
        Pair(
            name="three-outcome",
            data=sides[0],
            neighbour=sides[1],
            relation=Relation.BASE,
            params=pipeline_params(_pipeline(values)),
            why="the two upper outcomes move against each other",
        ),
    )


def _pipeline_promise(values: Settings, pair: Pair) -> tuple[str, float]:
    del pair
    numbers = _numbers(values, "base_epsilon", "slack")
    drawing = 2.0 * numbers["base_epsilon"] + numbers["slack"] / 2.0
    return "LT-Thm4.7(a)-sharp", _any_counts(_pipeline(values).test, 1) + drawing


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "percentile_above_threshold",
        ("LT-Alg3", "LT-Thm4.1", "LT-Cor4.2"),
        "Halt at the first base that reaches its threshold with a wanted chance; the "
        "chances are known.",
        False,
        {
            "shares": Option(
                "0.2,0.2,0.2,0.5,0.8", "chances to reach the thresholds, in order"
            ),
            **_COMMON,
            "method": Option("jump", "jump, literal or law"),
        },
        lambda values: Built(
            percentile_above_threshold(method=values["method"]),
            _shares(values),
            _oracle_params(values),
        ),
        lambda values: _stream_pair(*_flipped(values), _oracle_params(values)),
        _oracle_promise,
    ),
    MechanismEntry(
        "extended_above_threshold",
        ("LT-Alg4", "LT-Thm4.4", "LT-Thm1.5"),
        "Halt at the first base that reaches its threshold with a wanted chance, "
        "estimated from N fresh runs a query.",
        False,
        {
            "shares": Option(
                "0.2,0.2,0.5,0.8", "chances to reach the thresholds, in order"
            ),
            **_COMMON,
            **_TEST,
            "method": _METHOD,
        },
        lambda values: Built(
            extended_above_threshold(method=values["method"]),
            _shares(values),
            _test(values, 4)._asdict(),
        ),
        lambda values: _stream_pair(*_flipped(values), _test(values, 4)._asdict()),
        _extended_promise,
    ),
    MechanismEntry(
        "find_percentile_threshold",
        ("LT-Alg5", "LT-Thm4.6"),
        "Release the first of a falling grid of thresholds that a wanted share of N "
        "runs reaches, the same runs for all.",
        False,
        {
            "shares": Option(
                "0.05,0.2,0.5,1", "chances to reach the thresholds, not falling"
            ),
            **_COMMON,
            **_TEST,
            "offset": Option("0.7", "Lambda, lowers the bar; empty: the theorem's"),
            "method": _METHOD,
        },
        lambda values: Built(
            find_percentile_threshold(method=values["method"]),
            _shares(values),
            _test(values, 5)._asdict(),
        ),
        _found_pairs,
        _found_promise,
    ),
    MechanismEntry(
        "percentile_pipeline",
        ("LT-Thm4.7", "LT-Thm1.4"),
        "Find a threshold that a share of runs reaches, then draw until a run reaches "
        "it.",
        False,
        {
            "scores": Option("1,0.75,0.5,0", "scores of the outcomes, in [0, 1]"),
            "probabilities": Option("0.02,0.1,0.3,0.58", "chances of the outcomes"),
            "base_epsilon": Option("0.1", "epsilon_1 of one run"),
            "slack": Option("1", "epsilon_0, in (0, 1]"),
            "beta": Option("0.1", "failure probability"),
            "delta": Option("1e-6", "delta of the release"),
            "thresholds": Option("3", "R, at least 2"),
            "candidates": Option("1", "K; p* = 1/(2 K)"),
            "samples": Option("50", "N; empty: the theorem's"),
            "shift": Option("8", "Delta; empty: the theorem's"),
            "offset": Option("1", "Lambda; empty: the theorem's"),
            "stop_probability": Option("0.05", "gamma; empty: the theorem's"),
            "method": _METHOD,
        },
        _make_pipeline,
        _pipeline_pairs,
        _pipeline_promise,
    ),
)
