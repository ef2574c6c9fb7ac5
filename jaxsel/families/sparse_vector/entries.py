"""The catalogue entries of the sparse vectors, with the pairs on which they lose most."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxsel.families.sparse_vector.bounds import good_share
from jaxsel.families.sparse_vector.profiles import worst_pair
from jaxsel.language.base import Mechanism, Pair, Relation
from jaxsel.language.domains import Domain, Number, choice, number, numbers, positive, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee

_SCALES = {"general": 4.0, "monotone": 2.0}  # s of the claims, by what is meant
_PARAMS = ("epsilon", "threshold", "cutoff", "delta", "share", "edges")


@dataclasses.dataclass(frozen=True)
class _Share(Number):
    """Numbers in (0, 1), or the word good."""

    def describe(self) -> str:
        """See ``Domain``."""
        return f"{super().describe()}, or good"

    def read(self, name: str, value: Any) -> Any:
        """See ``Domain``."""
        if isinstance(value, str) and value == "good":
            return value
        return super().read(name, value)


def _cutoff(default: int) -> Domain:
    help = 'how many "above" are answered before it stops'
    return whole(help, at_least=1, at_most=10**6, default=default)


def _method(default: str) -> Domain:
    return choice(("literal", "jump", "law"), "see the guide", default=default)


_COMMON = {
    "epsilon": positive("privacy parameter that sets the noise scales", default=1),
    "answers": numbers("answers of the queries, in units of the sensitivity", default="0,0,0,0,1"),
    "threshold": number("what answers are compared with", default=0),
    "method": _method("literal"),
}
_SEVERAL = dataclasses.replace(_COMMON["answers"], size=2)  # a pair needs two
_RELATION = choice(("general", "monotone"), "neighbours that epsilon is for", default="general")


def _params(values: Values) -> dict[str, Any]:
    params = {name: values[name] for name in _PARAMS if name in values}
    if params.get("share") == "good":
        params["share"] = good_share(values["cutoff"], Relation(values["relation"]))
    return params


def _factories() -> dict[str, Callable[..., Mechanism]]:
    """By the entries' names; they need JAX."""
    from jaxsel.families.sparse_vector import variants
    from jaxsel.families.sparse_vector.above_threshold import above_threshold
    from jaxsel.families.sparse_vector.sparse import sparse

    return {
        "above_threshold": above_threshold,
        "sparse": sparse,
        "sparse_vector": variants.lyu_su_li,
        "sparse_vector_dwork_roth": variants.dwork_roth,
        "sparse_vector_roth": variants.roth,
        "sparse_vector_lee_clifton": variants.lee_clifton,
        "sparse_vector_stoddard": variants.stoddard,
        "sparse_vector_chen": variants.chen,
    }


# --- Pairs ----------------------------------------------------------------------------


def _pair(name: str, levels, relation: Relation, values: Values, why: str) -> Pair:
    first, second = (row + values["threshold"] for row in levels)
    return Pair(f"{name}-{relation.value}", first, second, relation, _params(values), why)


def _rises(values: Values, *, redrawn: bool = False) -> tuple[Pair, ...]:
    """BM-SVT with as many queries as there are answers."""
    count, most = values["answers"].size, values.get("cutoff", 1)
    cutoff = 1 if redrawn else min(most, count)
    found = []
    for relation in (Relation.GENERAL, Relation.MONOTONE):
        if values.get("relation") == "monotone" and relation is Relation.GENERAL:
            continue
        levels = worst_pair(count - cutoff, cutoff, relation)
        if redrawn and most > 1 and count > 3:
            # Two blocks, each ending in a query to be answered "above".
            halves = (count // 2, count - count // 2)
            blocks = [worst_pair(half - 1, 1, relation) for half in halves]
            levels = tuple(np.concatenate(side) for side in zip(*blocks, strict=True))
        moves = "the last ones fall" if relation is Relation.GENERAL else "none falls"
        why = f"most queries rise by 1, {moves}"
        found.append(_pair("rise", levels, relation, values, why))
    return tuple(found)


def _redrawn(values: Values) -> tuple[Pair, ...]:
    return _rises(values, redrawn=True)


def _turned(values: Values) -> tuple[Pair, ...]:
    """For those without a limit: half of the queries rise, half fall or stay."""
    count = values["answers"].size
    half = (count + 1) // 2
    found = []
    for relation in (Relation.GENERAL, Relation.MONOTONE):
        levels = worst_pair(half, count - half, relation)
        moves = "falls" if relation is Relation.GENERAL else "stays"
        why = f"one half of the queries rises by 1, the other {moves}"
        found.append(_pair("half", levels, relation, values, why))
    return tuple(found)


# --- Guarantees -----------------------------------------------------------------------


def _proven(claim: str, values: Values, pair: Pair, **monotone: Any):
    """The claim for general neighbours, or its companion for monotone ones."""
    epsilon = values["epsilon"]
    if pair.relation is Relation.MONOTONE:
        return guarantee(f"{claim}-monotone", epsilon=epsilon, **monotone)
    # The noise meant for monotone neighbours is too small for others.
    meant = values.get("relation", "general") == "general"
    return guarantee(claim, epsilon=epsilon) if meant else None


def _above_threshold(values: Values, pair: Pair) -> Guarantee | None:
    scale = _SCALES[values["relation"]]
    return _proven("SVT-AboveThreshold", values, pair, scale=scale)


def _sparse(values: Values, pair: Pair) -> Guarantee | None:
    scale = _SCALES[values["relation"]]
    if values["delta"] == 0.0:
        return _proven("SVT-Sparse", values, pair, scale=scale)
    given = {name: values[name] for name in ("cutoff", "delta")}
    claim = "SVT-Sparse-advanced-pure"
    found = _proven(claim, values, pair, scale=scale)
    if found is None:
        return None
    return guarantee(found.claim, **found.parameters, **given)


def _noised_once(values: Values, pair: Pair) -> Guarantee | None:
    scale, share = _SCALES[values["relation"]], _params(values)["share"]
    return _proven("SVT-LSL-Alg1", values, pair, scale=scale, share=share)


def _dwork_roth(values: Values, pair: Pair) -> Guarantee | None:
    return _proven("SVT-LSL-Alg2", values, pair)


def _hoped(claim: str) -> Callable[[Values, Pair], Guarantee]:
    """What a broken mechanism was said to have: epsilon."""
    return lambda values, pair: guarantee(claim, epsilon=values["epsilon"])


# --- The entries ----------------------------------------------------------------------


def _entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    settings: Mapping[str, Domain],
    make_pairs: Callable[[Values], tuple[Pair, ...]],
    promise: Callable[[Values, Pair], Guarantee | None],
    *,
    broken: bool = False,
    generic: Values,
) -> MechanismEntry:
    def make(values: Values) -> Built:
        static = {key: values[key] for key in ("method", "relation") if key in values}
        mechanism = _factories()[name](**static)
        return Built(mechanism, values["answers"], _params(values))

    return MechanismEntry(
        name, ids, summary, broken, {**_COMMON, **settings}, make, make_pairs, promise, generic
    )


ENTRIES: tuple[MechanismEntry, ...] = (
    _entry(
        "above_threshold",
        ("SVT-AboveThreshold", "DR-Alg1"),
        "Answer queries until one noisy answer reaches a noisy threshold "
        "(Dwork & Roth 2014, Algorithm 1).",
        {"answers": _SEVERAL, "relation": _RELATION, "method": _method("jump")},
        _rises,
        _above_threshold,
        generic={
            "epsilon": 0.7,
            "answers": "1,1,-1,2,0.3",
            "threshold": 0.5,
            "relation": "monotone",
        },
    ),
    _entry(
        "sparse",
        ("SVT-Sparse", "DR-Alg2"),
        'Restart AboveThreshold after each "above" (Dwork & Roth 2014, Algorithm 2).',
        {
            "cutoff": _cutoff(2),
            "relation": _RELATION,
            "delta": number(
                "of (epsilon, delta)-DP, by advanced composition",
                at_least=0.0,
                below=1.0,
                default=0,
            ),
        },
        _redrawn,
        _sparse,
        generic={
            "epsilon": 0.7,
            "answers": "1,1,-1,2,0.3",
            "threshold": 0.5,
            "cutoff": 3,
            "relation": "monotone",
            "delta": 0.001,
        },
    ),
    _entry(
        "sparse_vector",
        ("SVT-LSL-Alg1", "SVT-LSL-Alg7"),
        "Noise the threshold once for all answers (Lyu, Su & Li 2017, Algorithm 1).",
        {
            "cutoff": _cutoff(2),
            "relation": _RELATION,
            "share": _Share("of epsilon for the threshold; good: the best one", 0.5, 0.0, 1.0),
        },
        _rises,
        _noised_once,
        generic={
            "epsilon": 0.7,
            "answers": "1,1,-1,2,0.3",
            "threshold": 0.5,
            "cutoff": 3,
            "relation": "monotone",
            "share": "good",
        },
    ),
    _entry(
        "sparse_vector_dwork_roth",
        ("SVT-LSL-Alg2",),
        "Draw the threshold's noise anew after each answer above (Dwork & Roth 2014; "
        "Lyu, Su & Li 2017, Algorithm 2).",
        {"cutoff": _cutoff(2)},
        _redrawn,
        _dwork_roth,
        generic={"epsilon": 0.7, "answers": "1,1,-1,2,0.3", "threshold": 0.5, "cutoff": 3},
    ),
    _entry(
        "sparse_vector_roth",
        ("SVT-LSL-Alg3",),
        "BROKEN: release the very noisy answers that were above (Roth 2011; Lyu, Su & Li "
        "2017, Algorithm 3); the loss grows with the number of queries.",
        {
            "cutoff": _cutoff(1),
            "edges": numbers("between which released values are told apart", default=0),
        },
        _rises,
        _hoped("SVT-LSL-Alg3-printed"),
        broken=True,
        generic={
            "epsilon": 0.7,
            "answers": "1,1,-1,2,0.3",
            "threshold": 0.5,
            "cutoff": 2,
            "edges": "-0.5,1.5",
        },
    ),
    _entry(
        "sparse_vector_lee_clifton",
        ("SVT-LSL-Alg4",),
        "BROKEN: query noise that does not grow with the number of answers (Lee & "
        "Clifton 2014; Lyu, Su & Li 2017, Algorithm 4); it is (1 + 6c)/4 epsilon-DP.",
        {"cutoff": _cutoff(2)},
        _rises,
        _hoped("SVT-LSL-Alg4-printed"),
        broken=True,
        generic={"epsilon": 0.7, "answers": "1,1,-1,2,0.3", "threshold": 0.5, "cutoff": 3},
    ),
    _entry(
        "sparse_vector_stoddard",
        ("SVT-LSL-Alg5",),
        "BROKEN: queries without noise (Stoddard et al. 2014; Lyu, Su & Li 2017, "
        "Algorithm 5); some answers are possible on one of two neighbours only.",
        {"answers": _SEVERAL},
        _turned,
        _hoped("SVT-LSL-Alg5-printed"),
        broken=True,
        generic={"epsilon": 0.7, "answers": "1,1,-1,2,0.3", "threshold": 0.5},
    ),
    _entry(
        "sparse_vector_chen",
        ("SVT-LSL-Alg6",),
        "BROKEN: no limit on the number of answers above (Chen et al. 2015; Lyu, Su & Li "
        "2017, Algorithm 6); the loss grows with the number of queries.",
        {"answers": _SEVERAL},
        _turned,
        _hoped("SVT-LSL-Alg6-printed"),
        broken=True,
        generic={"epsilon": 0.7, "answers": "1,1,-1,2,0.3", "threshold": 0.5},
    ),
)
