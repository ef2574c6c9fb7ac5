"""Report noisy max, once and several times: settings, neighbouring pairs, guarantees."""

import numpy as np

from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.families.noisy_max.composition import composition
from jaxsel.families.noisy_max.group_bounds import GroupPair
from jaxsel.families.noisy_max.grouped_noisy_max import group_scores, moving_groups
from jaxsel.families.noisy_max.noisy_max import noisy_max, noisy_max_scale
from jaxsel.options import Option, read_number, read_numbers

_NOISY_MAX_OPTIONS = {
    "noise": Option(
        "gumbel",
        "gumbel (exponential mechanism), laplace, exponential (permute-and-flip) "
        "or gaussian",
    ),
    "relation": Option("general", "how scores may change: general or monotone"),
    "scores": Option("2,1,0", "the candidates' scores, in units of the sensitivity"),
    "epsilon": Option("", "privacy parameter; sets the noise scale (default 1)"),
    "noise_scale": Option("", "noise scale, instead of epsilon; the one for gaussian"),
    "method": Option("literal", "literal, race (gumbel only) or law"),
    "precision": Option("tail", "of the draws: fast, tail or float64"),
}


def _noisy_max_params(values: Settings) -> dict[str, float]:
    params = {
        name: read_number(name, values[name])
        for name in ("epsilon", "noise_scale")
        if name in values
    }
    return params or {"epsilon": 1.0}


def _make_noisy_max(values: Settings) -> Built:
    mechanism = noisy_max(
        values["noise"],
        relation=values["relation"],
        method=values["method"],
        precision=values["precision"],
    )
    scores = np.array(read_numbers("scores", values["scores"]))
    return Built(mechanism, scores, _noisy_max_params(values))


def _noisy_max_pairs(values: Settings) -> tuple[Pair, ...]:
    """The patterns that approach 2/b (general) and 1/b (monotone)."""
    params = _noisy_max_params(values)
    m = max(2, len(read_numbers("scores", values["scores"])))
    scale = noisy_max_scale(params, values["relation"])
    # The loss of "candidate 0 wins" grows with how far behind candidate 0 is.
    behind = np.zeros(m)
    behind[0] = -3.0 * scale
    up, down = np.zeros(m), np.full(m, 1.0)
    up[0], down[0] = 1.0, 0.0
    one = np.zeros(m)
    one[0] = 1.0
    relation = {"general": Relation.GENERAL, "monotone": Relation.MONOTONE}
    opposed = Pair(
        "opposed", behind + up, behind + down, Relation.GENERAL, params,
        "one candidate, far behind, rises by 1 while all others fall by 1",
    )  # fmt: skip
    alone = Pair(
        "one-alone", behind + one, behind, Relation.MONOTONE, params,
        "one candidate, far behind, moves by 1",
    )  # fmt: skip
    others = Pair(
        "others-together", behind, behind + 1.0 - one, Relation.MONOTONE, params,
        "all candidates but the last-placed move by 1",
    )  # fmt: skip
    if relation[values["relation"]] is Relation.MONOTONE:
        return alone, others
    return opposed, alone, others


def _noisy_max_promise(values: Settings, pair: Pair) -> tuple[str, float] | None:
    if values["noise"] == "gaussian":
        return None
    scale = noisy_max_scale(_noisy_max_params(values), values["relation"])
    factor = 2.0 if pair.relation is Relation.GENERAL else 1.0
    return f"NM-{values['noise']}-{pair.relation.value}", factor / scale


_NOISY_MAX = MechanismEntry(
    "noisy_max",
    ("NM", "PS-D4"),
    "Release the candidate with the largest noisy score.",
    False,
    _NOISY_MAX_OPTIONS,
    _make_noisy_max,
    _noisy_max_pairs,
    _noisy_max_promise,
)


# Several times -----


def _several_params(values: Settings) -> dict[str, float]:
    return {"noise_scale": read_number("noise_scale", values["noise_scale"])}


def _make_several(values: Settings) -> Built:
    mechanism = composition(
        noisy_max(values["noise"]),
        int(read_number("rounds", values["rounds"])),
        event=values["event"],
    )
    scores = np.array(read_numbers("scores", values["scores"]))
    return Built(mechanism, scores, _several_params(values))


def _several_pairs(values: Settings) -> tuple[Pair, ...]:
    """Candidate 0, or half of the candidates, moves against the others."""
    scale = _several_params(values)["noise_scale"]
    m = max(2, len(read_numbers("scores", values["scores"])))
    found = []
    for name, first in (("opposed", 1), ("halves", m // 2)):
        for relation in (Relation.GENERAL, Relation.MONOTONE):
            pair = moving_groups(
                GroupPair(first, m - first, -1.0, 0.0), scale, relation
            )
            params = dict(pair.params)
            if values["event"] == "sum":
                params["weights"] = [1] * first + [0] * (m - first)
            found.append(
                group_scores(pair)._replace(
                    name=f"{name}-{relation.value}", params=params
                )
            )
    return tuple(found)


ENTRIES: tuple[MechanismEntry, ...] = (
    _NOISY_MAX,
    MechanismEntry(
        "noisy_max_composition",
        ("KRW-AlgRNM", "KRW-Thm3.3"),
        "Release the winner of noisy max several times, with fresh noise.",
        False,
        {
            "noise": Option("gaussian", "gaussian, laplace, gumbel or exponential"),
            "scores": Option(
                "2,1,0", "the candidates' scores, in units of the sensitivity"
            ),
            "noise_scale": Option("1", "scale of the noise"),
            "rounds": Option("4", "how many winners are released"),
            "event": Option("sum", "sum: tally wins of a group; all: every sequence"),
            "method": Option("literal", "literal or law"),
        },
        _make_several,
        _several_pairs,
        lambda values, pair: None,
    ),
)
