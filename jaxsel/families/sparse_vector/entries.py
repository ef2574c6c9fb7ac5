"""The catalogue entries of the sparse vectors, with the pairs on which they lose most."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxsel.base import Mechanism, Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.errors import InputError, check_choice, check_integer
from jaxsel.families.sparse_vector.above_threshold import above_threshold
from jaxsel.families.sparse_vector.bounds import (
    above_threshold_noise,
    good_share,
    lyu_su_li_noise,
    sparse_noise,
    sparse_vector_epsilon,
)
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.families.sparse_vector.profiles import worst_pair
from jaxsel.families.sparse_vector.sparse import sparse
from jaxsel.families.sparse_vector.variants import (
    chen,
    dwork_roth,
    lee_clifton,
    lyu_su_li,
    roth,
    stoddard,
)
from jaxsel.options import Option, read_number, read_numbers

Params = dict[str, Any]

_EPSILON = Option("1", "privacy parameter that sets the noise scales")
_ANSWERS = Option("0,0,0,0,1", "answers of the queries, in units of the sensitivity")
_THRESHOLD = Option("0", "what answers are compared with")
_CUTOFF = Option("2", 'how many "above" are answered before it stops')
_RELATION = Option("general", "neighbours that epsilon is for: general or monotone")
_METHOD = Option("literal", "literal, jump or law; see the guide")
_JUMP = Option("jump", "jump, literal or law; see the guide")
_COMMON = {"epsilon": _EPSILON, "answers": _ANSWERS, "threshold": _THRESHOLD}


def _relation(values: Settings) -> Relation:
    name = values.get("relation", "general")
    check_choice("relation", name, ("general", "monotone"))
    return Relation(name)


def _cutoff(values: Settings) -> int:
    return check_integer("cutoff", read_number("cutoff", values["cutoff"]), 1)


def _params(values: Settings) -> Params:
    params: Params = {
        name: read_number(name, values[name]) for name in ("epsilon", "threshold")
    }
    if "cutoff" in values:
        params["cutoff"] = _cutoff(values)
    return params


def _answers(values: Settings) -> np.ndarray:
    return np.array(read_numbers("answers", values["answers"]))


def _rises(values: Settings, *, redrawn: bool = False) -> tuple[Pair, ...]:
    """BM-SVT with as many queries as there are answers."""
    params, count = _params(values), _answers(values).size
    cutoff = 1 if redrawn else min(params.get("cutoff", 1), count)
    found = []
    for relation in (Relation.GENERAL, Relation.MONOTONE):
        if _relation(values) is Relation.MONOTONE and relation is Relation.GENERAL:
            continue
        first, second = worst_pair(count - cutoff, cutoff, relation)
        if redrawn and params["cutoff"] > 1 and count > 3:
            # Two blocks, each ending in a query to be answered "above".
            halves = (count // 2, count - count // 2)
            blocks = [worst_pair(half - 1, 1, relation) for half in halves]
            first, second = (np.concatenate(side) for side in zip(*blocks, strict=True))
        moves = "the last ones fall" if relation is Relation.GENERAL else "none falls"
        threshold = params["threshold"]
        found.append(
            Pair(
                f"rise-{relation.value}", first + threshold, second + threshold,
                relation, params, f"most queries rise by 1, {moves}",
            )
        )  # fmt: skip
    return tuple(found)


def _entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    options: Mapping[str, Option],
    mechanism_of: Callable[[Settings], Mechanism],
    promise: Callable[[Settings, Relation], tuple[str, float] | None],
    *,
    params_of: Callable[[Settings], Params] = _params,
    pairs_of: Callable[[Settings], tuple[Pair, ...]] = _rises,
    broken: bool = False,
) -> MechanismEntry:
    def make(values: Settings) -> Built:
        return Built(mechanism_of(values), _answers(values), params_of(values))

    def make_pairs(values: Settings) -> tuple[Pair, ...]:
        pairs = pairs_of(values)
        return tuple(pair._replace(params=params_of(values)) for pair in pairs)

    return MechanismEntry(
        name, ids, summary, broken, {**_COMMON, "method": _METHOD, **options},
        make, make_pairs, lambda values, pair: promise(values, pair.relation),
    )  # fmt: skip


def _proven(
    name: str, noise_of: Callable[[Settings], SparseNoise]
) -> Callable[[Settings, Relation], tuple[str, float]]:
    """The claim on general neighbours, or its companion on monotone ones."""

    def promise(values: Settings, relation: Relation) -> tuple[str, float]:
        ending = "" if relation is Relation.GENERAL else "-monotone"
        return name + ending, sparse_vector_epsilon(noise_of(values), relation)

    return promise


def _hoped(claim: str) -> Callable[[Settings, Relation], tuple[str, float]]:
    """What a broken mechanism was said to have: epsilon."""
    return lambda values, relation: (claim, read_number("epsilon", values["epsilon"]))


# --- AboveThreshold and Sparse --------------------------------------------------------


def _delta(values: Settings) -> float:
    return read_number("delta", values["delta"])


def _sparse_noise(values: Settings) -> SparseNoise:
    epsilon = read_number("epsilon", values["epsilon"])
    return sparse_noise(epsilon, _cutoff(values), _relation(values), _delta(values))


def _share(values: Settings) -> float:
    if values["share"] == "good":
        return good_share(_cutoff(values), _relation(values))
    return read_number("share", values["share"])


def _once_noise(values: Settings) -> SparseNoise:
    epsilon = read_number("epsilon", values["epsilon"])
    return lyu_su_li_noise(epsilon, _cutoff(values), _relation(values), _share(values))


def _single(values: Settings) -> tuple[Pair, ...]:
    if _answers(values).size < 2:
        raise InputError("answers holds one number; a pair needs at least two queries")
    return _rises(values)


_ABOVE_THRESHOLD = _entry(
    "above_threshold",
    ("SVT-AboveThreshold", "DR-Alg1"),
    "Answer queries until one noisy answer reaches a noisy threshold "
    "(Dwork & Roth 2014, Algorithm 1).",
    {"relation": _RELATION, "method": _JUMP},
    lambda values: above_threshold(
        method=values["method"], relation=_relation(values).value
    ),
    _proven(
        "SVT-AboveThreshold",
        lambda values: above_threshold_noise(
            read_number("epsilon", values["epsilon"]), _relation(values)
        ),
    ),
    pairs_of=_single,
)

_SPARSE = _entry(
    "sparse",
    ("SVT-Sparse", "DR-Alg2"),
    'Restart AboveThreshold after each "above" (Dwork & Roth 2014, Algorithm 2).',
    {
        "cutoff": _CUTOFF,
        "relation": _RELATION,
        "delta": Option("0", "of (epsilon, delta)-DP, by advanced composition"),
    },
    lambda values: sparse(method=values["method"], relation=_relation(values).value),
    _proven("SVT-Sparse", _sparse_noise),
    params_of=lambda values: _params(values) | {"delta": _delta(values)},
    pairs_of=lambda values: _rises(values, redrawn=True),
)

# --- Lyu, Su & Li 2017, Figure 1 ------------------------------------------------------

_LYU_SU_LI = _entry(
    "sparse_vector",
    ("SVT-LSL-Alg1", "SVT-LSL-Alg7"),
    "Noise the threshold once for all answers (Lyu, Su & Li 2017, Algorithm 1).",
    {
        "cutoff": _CUTOFF,
        "relation": _RELATION,
        "share": Option("0.5", "of epsilon for the threshold; good: the best one"),
    },
    lambda values: lyu_su_li(method=values["method"], relation=_relation(values).value),
    _proven("SVT-LSL-Alg1", _once_noise),
    params_of=lambda values: _params(values) | {"share": _share(values)},
)

_DWORK_ROTH = _entry(
    "sparse_vector_dwork_roth",
    ("SVT-LSL-Alg2",),
    "Draw the threshold's noise anew after each answer above (Dwork & Roth 2014; "
    "Lyu, Su & Li 2017, Algorithm 2).",
    {"cutoff": _CUTOFF},
    lambda values: dwork_roth(method=values["method"]),
    _proven(
        "SVT-LSL-Alg2",
        lambda values: sparse_noise(
            read_number("epsilon", values["epsilon"]), _cutoff(values)
        ),
    ),
    pairs_of=lambda values: _rises(values, redrawn=True),
)

_ROTH = _entry(
    "sparse_vector_roth",
    ("SVT-LSL-Alg3",),
    "BROKEN: release the very noisy answers that were above (Roth 2011; Lyu, Su & Li "
    "2017, Algorithm 3); the loss grows with the number of queries.",
    {
        "cutoff": Option("1", _CUTOFF.help),
        "edges": Option("0", "between which released values are told apart"),
    },
    lambda values: roth(method=values["method"]),
    _hoped("SVT-LSL-Alg3-printed"),
    params_of=lambda values: (
        _params(values) | {"edges": read_numbers("edges", values["edges"])}
    ),
    broken=True,
)

_LEE_CLIFTON = _entry(
    "sparse_vector_lee_clifton",
    ("SVT-LSL-Alg4",),
    "BROKEN: query noise that does not grow with the number of answers (Lee & Clifton "
    "2014; Lyu, Su & Li 2017, Algorithm 4); it is (1 + 6c)/4 epsilon-DP.",
    {"cutoff": _CUTOFF},
    lambda values: lee_clifton(method=values["method"]),
    _hoped("SVT-LSL-Alg4-printed"),
    broken=True,
)


def _turned(values: Settings) -> tuple[Pair, ...]:
    """For those without a limit: half of the queries rise, half fall or stay."""
    params, count = _params(values), _answers(values).size
    half = (count + 1) // 2
    found = []
    for relation in (Relation.GENERAL, Relation.MONOTONE):
        first, second = worst_pair(half, count - half, relation)
        moves = "falls" if relation is Relation.GENERAL else "stays"
        found.append(
            Pair(
                f"half-{relation.value}", first + params["threshold"],
                second + params["threshold"], relation, params,
                f"one half of the queries rises by 1, the other {moves}",
            )
        )  # fmt: skip
    return tuple(found)


_STODDARD = _entry(
    "sparse_vector_stoddard",
    ("SVT-LSL-Alg5",),
    "BROKEN: queries without noise (Stoddard et al. 2014; Lyu, Su & Li 2017, Algorithm "
    "5); some answers are possible on one of two neighbours only.",
    {},
    lambda values: stoddard(method=values["method"]),
    _hoped("SVT-LSL-Alg5-printed"),
    pairs_of=_turned,
    broken=True,
)

_CHEN = _entry(
    "sparse_vector_chen",
    ("SVT-LSL-Alg6",),
    "BROKEN: no limit on the number of answers above (Chen et al. 2015; Lyu, Su & Li "
    "2017, Algorithm 6); the loss grows with the number of queries.",
    {},
    lambda values: chen(method=values["method"]),
    _hoped("SVT-LSL-Alg6-printed"),
    pairs_of=_turned,
    broken=True,
)

ENTRIES: tuple[MechanismEntry, ...] = (
    _ABOVE_THRESHOLD,
    _SPARSE,
    _LYU_SU_LI,
    _DWORK_ROTH,
    _ROTH,
    _LEE_CLIFTON,
    _STODDARD,
    _CHEN,
)
