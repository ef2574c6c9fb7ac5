"""The catalogue entry of report noisy max, released several times."""

import numpy as np

from jaxsel.accounting.noisy_max.groups import GroupPair
from jaxsel.base import Pair, Relation
from jaxsel.catalogue.entry import Built, MechanismEntry, Settings
from jaxsel.catalogue.options import Option, read_number, read_numbers
from jaxsel.mechanisms.noisy_max import noisy_max
from jaxsel.mechanisms.noisy_max_composition import composition
from jaxsel.mechanisms.noisy_max_groups import group_scores, moving_groups

__all__ = ["ENTRIES"]


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
