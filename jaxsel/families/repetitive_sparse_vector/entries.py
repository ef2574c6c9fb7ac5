"""The catalogue entry of the repetitive sparse vector."""

import numpy as np

from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
    repetitive_sparse_vector,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    pure_epsilon,
)
from jaxsel.options import Option, read_number, read_numbers


def _settings(values: Settings) -> RepetitiveSettings:
    numbers = {n: read_number(n, values[n]) for n in RepetitiveSettings._fields}
    return RepetitiveSettings(**numbers)  # type: ignore[arg-type]


def _levels(values: Settings) -> np.ndarray:
    return np.array(read_numbers("levels", values["levels"]))


def _make(values: Settings) -> Built:
    mechanism = repetitive_sparse_vector(method=values["method"], event=values["event"])
    return Built(mechanism, _levels(values), _settings(values)._asdict())


def _pairs(values: Settings) -> tuple[Pair, ...]:
    levels, params = _levels(values), _settings(values)._asdict()
    opposed = np.ones(levels.size)
    opposed[-1:] = -1.0
    turns = np.where(np.arange(levels.size) % 2 == 0, 1.0, -1.0)
    listed = (
        ("opposed", opposed, Relation.GENERAL,
         "all queries but the last rise, and the last, which finds something, falls"),
        ("by-turns", turns, Relation.GENERAL, "queries rise and fall by turns"),
    )  # fmt: skip
    return tuple(
        Pair(name, levels, levels + change, relation, params, why)
        for name, change, relation, why in listed
    )


def _promise(values: Settings, pair: Pair) -> tuple[str, float]:
    del pair
    return "CL-Lem3", pure_epsilon(_settings(values))


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "repetitive_sparse_vector",
        ("CL-Alg3", "CL-Lem3", "CL-Lem4"),
        "Answer which queries are above a threshold, each answer confirmed by many "
        "noisy Tests (Cohen et al. 2022, Algorithm 3, reconstructed).",
        False,
        {
            "levels": Option(
                "-2,-2,0", "f - t of each query, in units of the sensitivity"
            ),
            "gamma": Option("1", "exponent of the prior of the chance of a Test"),
            "repetitions": Option("2", "tau, Tests in a batch"),
            "query_epsilon": Option("0.5", "epsilon', of one Test"),
            "failures": Option("2", "k', failed batches until it halts"),
            "margin": Option("2", "d: top may be answered from t - d on"),
            "event": Option("pattern", "pattern (at most 10 queries) or tops"),
            "method": Option("jump", "jump, literal or law"),
        },
        _make,
        _pairs,
        _promise,
    ),
)
