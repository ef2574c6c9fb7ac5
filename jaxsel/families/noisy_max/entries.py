"""Report noisy max, once and several times: settings, neighbouring pairs, guarantees."""

import numpy as np

from jaxsel.families.noisy_max.group_bounds import GroupPair, group_scores, moving_groups
from jaxsel.families.noisy_max.laws import NOISES, noisy_max_scale
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, numbers, positive, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee
from jaxsel.language.utility import by_scores

_SCORES = numbers("the candidates' scores, in units of the sensitivity", default="2,1,0")
_NOISY_MAX_SETTINGS = {
    "noise": choice(
        NOISES,
        "gumbel is the exponential mechanism, exponential is permute-and-flip",
        default="gumbel",
    ),
    "relation": choice(("general", "monotone"), "how scores may change", default="general"),
    "scores": _SCORES,
    "epsilon": positive("privacy parameter; sets the noise scale (default 1)"),
    "noise_scale": positive("noise scale, instead of epsilon; the one for gaussian"),
    "method": choice(
        ("literal", "race", "law"),
        "how trials are drawn (race: gumbel only); see the guide",
        default="literal",
    ),
    "precision": choice(("fast", "tail", "float64"), "of the draws", default="tail"),
}


def _noisy_max_params(values: Values) -> dict[str, float]:
    given = {name: values[name] for name in ("epsilon", "noise_scale") if name in values}
    return given or {"epsilon": 1.0}


def _noisy_max_scale(values: Values) -> float:
    return noisy_max_scale(_noisy_max_params(values), Relation(values["relation"]))


def _make_noisy_max(values: Values) -> Built:
    from jaxsel.families.noisy_max.noisy_max import noisy_max

    mechanism = noisy_max(
        values["noise"],
        relation=values["relation"],
        method=values["method"],
        precision=values["precision"],
    )
    return Built(mechanism, values["scores"], _noisy_max_params(values))


def _noisy_max_pairs(values: Values) -> tuple[Pair, ...]:
    """The patterns that approach 2/b (general) and 1/b (monotone)."""
    params = _noisy_max_params(values)
    m = max(2, values["scores"].size)
    # The loss of "candidate 0 wins" grows with how far behind candidate 0 is.
    behind = np.zeros(m)
    behind[0] = -3.0 * _noisy_max_scale(values)
    one = np.zeros(m)
    one[0] = 1.0
    opposed = Pair(
        "opposed",
        behind + one,
        behind + 1.0 - one,
        Relation.GENERAL,
        params,
        "one candidate, far behind, rises by 1 while all others fall by 1",
    )
    alone = Pair(
        "one-alone",
        behind + one,
        behind,
        Relation.MONOTONE,
        params,
        "one candidate, far behind, moves by 1",
    )
    others = Pair(
        "others-together",
        behind,
        behind + 1.0 - one,
        Relation.MONOTONE,
        params,
        "all candidates but the last-placed move by 1",
    )
    if values["relation"] == "monotone":
        return alone, others
    return opposed, alone, others


def _noisy_max_guarantee(values: Values, pair: Pair) -> Guarantee | None:
    if values["noise"] == "gaussian":
        return None
    claim = f"NM-{values['noise']}-{pair.relation.value}"
    params = _noisy_max_params(values)
    if "noise_scale" in params:
        return guarantee(claim, noise_scale=params["noise_scale"])
    # Not from the scale that runs: a wrong one must not move the promise as well.
    made = {"epsilon": params["epsilon"], "made_for": values["relation"]}
    return guarantee(f"{claim}-made", **made)


# --- Several times --------------------------------------------------------------------


def _make_several(values: Values) -> Built:
    from jaxsel.families.noisy_max.composition import composition
    from jaxsel.families.noisy_max.noisy_max import noisy_max

    mechanism = composition(noisy_max(values["noise"]), values["rounds"], event=values["event"])
    params = {"noise_scale": values["noise_scale"]}
    return Built(mechanism, values["scores"], params)


def _several_pairs(values: Values) -> tuple[Pair, ...]:
    """Candidate 0, or half of the candidates, moves against the others."""
    m = max(2, values["scores"].size)
    found = []
    for name, first in (("opposed", 1), ("halves", m // 2)):
        for relation in (Relation.GENERAL, Relation.MONOTONE):
            groups = GroupPair(first, m - first, -1.0, 0.0)
            pair = moving_groups(groups, values["noise_scale"], relation)
            params = dict(pair.params)
            if values["event"] == "sum":
                params["weights"] = [1] * first + [0] * (m - first)
            found.append(
                group_scores(pair)._replace(name=f"{name}-{relation.value}", params=params)
            )
    return tuple(found)


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "noisy_max",
        ("NM", "PS-D4"),
        "Release the candidate with the largest noisy score.",
        False,
        _NOISY_MAX_SETTINGS,
        _make_noisy_max,
        _noisy_max_pairs,
        _noisy_max_guarantee,
        generic={"scores": "1,1,-0.5", "epsilon": 0.7, "relation": "monotone"},
        utility=by_scores,
    ),
    MechanismEntry(
        "noisy_max_composition",
        ("KRW-AlgRNM", "KRW-Thm3.3"),
        "Release the winner of noisy max several times, with fresh noise.",
        False,
        {
            "noise": choice(NOISES, "law of the noise", default="gaussian"),
            "scores": _SCORES,
            "noise_scale": positive("scale of the noise", default=1),
            "rounds": whole("how many winners are released", at_least=1, at_most=10_000, default=4),
            "event": choice(
                ("sum", "all"), "sum: tally wins of a group; all: every sequence", default="sum"
            ),
            "method": choice(("literal", "law"), "how trials are drawn", default="literal"),
        },
        _make_several,
        _several_pairs,
        generic={"scores": "1,1,0.5", "noise_scale": 1.7, "rounds": 3},
    ),
)
