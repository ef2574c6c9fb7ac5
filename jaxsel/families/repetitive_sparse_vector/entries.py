"""The catalogue entry of the repetitive sparse vector."""

import math

import numpy as np

from jaxsel.families.repetitive_sparse_vector.settings import RepetitiveSettings
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, numbers, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee


def _params(values: Values) -> dict:
    return {name: values[name] for name in RepetitiveSettings._fields}


def _make(values: Values) -> Built:
    from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
        repetitive_sparse_vector,
    )

    mechanism = repetitive_sparse_vector(method=values["method"], event=values["event"])
    return Built(mechanism, values["levels"], _params(values))


def _pairs(values: Values) -> tuple[Pair, ...]:
    levels, params = values["levels"], _params(values)
    opposed = np.ones(levels.size)
    opposed[-1:] = -1.0
    turns = np.where(np.arange(levels.size) % 2 == 0, 1.0, -1.0)
    listed = (
        (
            "opposed",
            opposed,
            Relation.GENERAL,
            "all queries but the last rise, and the last, which finds something, falls",
        ),
        ("by-turns", turns, Relation.GENERAL, "queries rise and fall by turns"),
    )
    return tuple(
        Pair(name, levels, levels + change, relation, params, why)
        for name, change, relation, why in listed
    )


def _guarantee(values: Values, pair: Pair) -> Guarantee | None:
    del pair
    if math.isinf(values["gamma"]):
        return None  # at a known p there is no pure epsilon
    given = {name: values[name] for name in ("query_epsilon", "failures", "gamma")}
    return guarantee("CL-Lem3", **given)


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "repetitive_sparse_vector",
        ("CL-Alg3", "CL-Lem3", "CL-Lem4"),
        "Answer which queries are above a threshold, each answer confirmed by many "
        "noisy Tests (Cohen et al. 2022, Algorithm 3, reconstructed).",
        False,
        {
            "levels": numbers(
                "f - t of each query, in units of the sensitivity", default="-2,-2,0"
            ),
            "gamma": number(
                "exponent of the prior of the chance of a Test; inf: each is made",
                above=0.0,
                at_most=math.inf,
                default=1,
            ),
            "repetitions": whole("tau, Tests in a batch", at_least=1, at_most=10**6, default=2),
            "query_epsilon": number("epsilon', of one Test", above=0.0, at_most=100.0, default=0.5),
            "failures": whole(
                "k', failed batches until it halts", at_least=1, at_most=40, default=2
            ),
            "margin": number(
                "d: top may be answered from t - d on", above=0.0, at_most=math.inf, default=2
            ),
            "event": choice(
                ("pattern", "tops"),
                "what is tallied: all answers of at most 10 queries, or how many are top",
                default="pattern",
            ),
            "method": choice(("literal", "jump", "law"), "see the guide", default="jump"),
        },
        _make,
        _pairs,
        _guarantee,
        generic={
            "levels": "-2,1,-1",
            "gamma": 0.6,
            "repetitions": 3,
            "query_epsilon": 0.7,
            "failures": 3,
            "margin": 1.5,
        },
    ),
)
