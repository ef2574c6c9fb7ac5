"""Zhu & Wang 2022, EXP3 and Table 2: multi-label PATE on attributes of faces.

One trial labels all queries once. Votes are the same in every trial (see
``common.multi_label_votes``); only the mechanisms' noise is drawn. A set that StableTopK does
not release counts as "no label present". The data set has the votes, and the releases by
label, summed over trials.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax

from jaxsel.families.top_k.pate import noisy_labels
from jaxsel.families.top_k.stable import stable_top_k
from jaxsel.kernel import stream
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import sums
from jaxsel.language.base import Mechanism
from sims.common.multi_label_exact import (
    METHODS,
    TABLE,
    TEST,
    Labelling,
    Method,
    aligned_scale,
    quality,
    scale_at,
)
from sims.common.multi_label_votes import Scenario, scenarios

EPSILONS: dict[str, tuple[float, ...]] = {
    "PATE": (0.5, 2.0, 7.0, 25.0, 100.0),
    "PATE-tau": (0.5, 2.0, 7.0, 25.0, 100.0),
    "StableTopK": (0.5, 2.0, 7.0, 25.0, 100.0),
    "Gaussian, gaps released": (7.0, 100.0),
}
_LANES = 1024  # small, since a trial is long


def _stacked(prepared: list[dict]) -> dict[str, Any]:
    """Stacks the arrays of several dicts with equal keys along a new first axis."""
    return {
        name: jax.tree.map(lambda *parts: np.stack(parts), *(p[name] for p in prepared))
        for name in prepared[0]
    }


@functools.cache
def all_labels() -> Mechanism:
    """``noisy_labels`` on every query.

    Each label is released independently, so one call releases one label of all queries.

    Data: "votes" and "truth", arrays with axes (queries, labels). Outcome: "released" and
    "hits", the number of queries for which each label was released, and was released
    correctly.
    """
    inner = noisy_labels()

    def prepare(data, params):
        columns = zip(data["votes"].T, data["truth"].T, strict=True)
        found = [inner.prepare({"votes": v, "truth": t}, params)[0] for v, t in columns]
        return _stacked(found), ()

    def sample(key: stream.Key, data, params) -> dict[str, Any]:
        labels = data["truth"].shape[0]

        def one(argument):
            label, column = argument
            found = inner.sample(stream.at_round(key, label), column, params)
            return found.size, found.hits

        released, hits = lax.map(one, (jnp.arange(labels, dtype=jnp.uint32), data))
        return {"released": released, "hits": hits}

    return inner._replace(
        name=f"all_labels({inner.name})",
        prepare=prepare,
        sample=sample,
        labels=lambda data, params: (),
        law=None,
    )


@functools.cache
def all_queries(selection: str) -> Mechanism:
    """``stable_top_k`` on every query, one after the other.

    Data: "votes" and "truth", arrays with axes (queries, labels). Outcome: "released" and
    "hits" as for ``all_labels``; "answered", the number of queries for which a set was
    released; and "squares", the sums over queries of the squared numbers of correct labels,
    of hits and of wrongly released labels.
    """
    inner = stable_top_k(selection=selection, method="literal")

    def prepare(data, params):
        votes, truth = data["votes"], data["truth"]
        rank = np.argsort(np.argsort(-votes, axis=1, kind="stable"), axis=1)
        same = {**params, "groups": votes.shape[1] - 1}
        found = [
            inner.prepare({"histogram": v, "wanted": t}, same)[0] | {"rank": r, "truth": t}
            for v, t, r in zip(votes, truth, rank.astype(np.int32), strict=True)
        ]
        return _stacked(found), ()

    def sample(key: stream.Key, data, params) -> dict[str, Any]:
        queries, labels = data["truth"].shape

        def add(total, argument):
            number, query = argument
            own = {k: v for k, v in query.items() if k not in ("rank", "truth")}
            found = inner.sample(stream.at_round(key, number), own, params)
            truth = query["truth"]
            released = (query["rank"] < found.size) & found.passed
            good = jnp.sum(released & truth, dtype=jnp.int32)
            bad = jnp.sum(released & ~truth, dtype=jnp.int32)
            right = jnp.sum(~truth, dtype=jnp.int32) + good - bad
            more = {
                "released": released,
                "hits": released & truth,
                "answered": found.passed,
                "squares": jnp.stack([right * right, good * good, bad * bad]),
            }
            return {k: total[k] + v.astype(jnp.int32) for k, v in more.items()}, None

        start = {
            "released": jnp.zeros(labels, jnp.int32),
            "hits": jnp.zeros(labels, jnp.int32),
            "answered": jnp.int32(0),
            "squares": jnp.zeros(3, jnp.int32),
        }
        numbers = jnp.arange(queries, dtype=jnp.uint32)
        return lax.scan(add, start, (numbers, data))[0]

    return inner._replace(
        name=f"all_queries({inner.name})",
        prepare=prepare,
        sample=sample,
        labels=lambda data, params: (),
        law=None,
    )


def _itself(outcome):
    return outcome


def _cell(
    scenario: Scenario, method: Method, scale: float, delta_t: float
) -> tuple[Mechanism, Any]:
    """The mechanism with its data and parameters."""
    if method.ratio == 0.0:
        votes = scenario.votes if method.mechanism == "pate" else scenario.scaled
        data = {"votes": votes, "truth": scenario.truth}
        params = {"noise_scale": scale, "threshold": scenario.teachers / 2.0}
        return all_labels(), (data, params)
    data = {"votes": scenario.votes, "truth": scenario.truth}
    params = {"selection_scale": method.ratio * scale, "test_scale": scale, "delta_t": delta_t}
    return all_queries(method.mechanism), (data, params)


class Cell(NamedTuple):
    """A method at one epsilon (NaN for the settings of the paper's table) and noise scale."""

    method: str
    epsilon: float
    scale: float


def cells(scenario: Scenario, asked: Labelling = Labelling()) -> list[Cell]:
    """The cells at EPSILONS, followed by those of the paper's table.

    In the table StableTopK has the paper's noise. Both forms of PATE have as much noise as
    leaves them as accurate, or NaN if no amount does.
    """
    queries, labels = scenario.truth.shape
    found = [
        Cell(name, epsilon, scale_at(METHODS[name], epsilon, queries, labels, asked))
        for name, epsilons in EPSILONS.items()
        for epsilon in epsilons
    ]
    printed = METHODS["Gaussian, corollaries"]
    accuracy = quality(scenario, printed, TEST, asked.delta_t).accuracy
    found += [Cell(name, np.nan, TEST) for name in (printed.name, "Gumbel")]
    return found + [
        Cell(name, np.nan, aligned_scale(scenario, METHODS[name], accuracy))
        for name in ("PATE", "PATE-tau")
    ]


def _tallies(found: list, trials: int, seed: int, progress) -> dict[str, np.ndarray]:
    """Sums of each cell of one scenario, with one compiled program per mechanism.

    Cells that are None have sums of 0.
    """
    labels = found[0][1][0]["truth"].shape[1]
    shapes = {"released": (labels,), "hits": (labels,), "answered": (), "squares": (3,)}
    out = {name: np.zeros((len(found), *shape), np.int64) for name, shape in shapes.items()}
    mechanisms = dict.fromkeys(each[0] for each in found if each)
    for number, mechanism in enumerate(mechanisms):
        here = [i for i, each in enumerate(found) if each and each[0] is mechanism]
        tallies = simulate_grid(
            mechanism,
            [found[i][1] for i in here],
            trials=trials,
            seed=seed + number,
            statistic=sums(_itself),
            progress=progress,
            performance=Performance(block_size=_LANES),
        )
        for name, values in tallies.values.items():
            out[name][here] = values
    return out


def labelled_and_released(
    asked: Labelling, trials: int, seed: int, progress: bool | None
) -> xr.Dataset:
    """The votes, and the releases summed over trials, by scenario.

    Votes have the axes (query, label); "released" and "hits" have (cell, label). "squares" is
    explained in ``all_queries``.
    """
    found = []
    for number, scenario in enumerate(scenarios(asked)):
        plan = cells(scenario, asked)
        runs = [
            _cell(scenario, TABLE[each.method], each.scale, asked.delta_t)
            if np.isfinite(each.scale)
            else None
            for each in plan
        ]
        # Seeds of the scenarios are disjoint: each uses one per mechanism.
        tallies = _tallies(runs, trials, seed + 10 * number, progress)
        dimensions = {
            "released": ("cell", "label"),
            "hits": ("cell", "label"),
            "answered": ("cell",),
            "squares": ("cell", "square"),
            "votes": ("query", "label"),
            "scaled": ("query", "label"),
            "truth": ("query", "label"),
            "scale": ("cell",),
        }
        values = scenario._asdict() | tallies | {"scale": [each.scale for each in plan]}
        coordinates = {
            "method": ("cell", [each.method for each in plan]),
            "epsilon": ("cell", [each.epsilon for each in plan]),
            "square": ["right", "hits", "wrong"],
        }
        variables = {k: (dimensions.get(k, ()), v) for k, v in values.items()}
        found.append(xr.Dataset(variables, coordinates))
    return xr.concat(found, "scenario").assign_coords(scenario=list("AB")[: len(found)])
