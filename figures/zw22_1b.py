"""Zhu & Wang 2022, Figure 1(b): recall where k of 15,000 bins count 700 and the rest 0.

Each query is (0.15, 1e-6)-DP, for many k. The mechanisms are one-shot Gumbel noise on all
bins (EM-CDP), Top Stable, and StableTopK, which finds k itself (Algorithm 2). One trial is
one query; its recall is the number of full bins released, over k.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel import Performance
from jaxsel.families.top_k.baseline_laws import top_stable_law
from jaxsel.families.top_k.baselines import exponential_top_k_scale, top_stable
from jaxsel.families.top_k.calibration import StableTopK, largest_rho, stable_top_k_calibration
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.gaps import pass_probability
from jaxsel.families.top_k.laws import largest_gap_law
from jaxsel.families.top_k.recall import Groups, hit_law
from jaxsel.families.top_k.stable import stable_top_k
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.host.intervals import mean_interval
from jaxsel.kernel.statistics import sums
from jaxsel.language.base import Mechanism, Relation
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells
from sims.data.histograms import two_level_histogram

TITLE = "Zhu & Wang 2022, Figure 1(b): recall against k on two levels"
TRIALS = 1000
SECONDS = 13
METHODS: Mapping[str, Mechanism] = {
    "EM-CDP": exponential_top_k(),
    "TS": top_stable_sets(),
    "StableTopK": stable_top_k(),
}
_LOOKS = {
    "StableTopK": ("StableTopK (Algorithm 2)", style.own(style.ORANGE, "-", "s")),
    "TS": ("Top Stable", style.own(style.GREEN, "-.", "^")),
    "EM-CDP": ("EM-CDP", style.own(style.BLUE, "-", "o")),
}
_GENERAL = ("EM-CDP, for counts moving either way", style.own(style.BLUE, ":"))
CURVE = tuple(int(k) for k in np.unique(np.rint(np.geomspace(10, 1500, 33))))


_CAPACITY = 4096  # more visits than a race makes at the largest k


@dataclasses.dataclass(frozen=True)
class Query:
    """A query of a histogram of two levels, and its privacy budget."""

    epsilon: Annotated[float, positive("epsilon of a query")] = 0.15
    delta: Annotated[float, probability("delta of a query")] = 1e-6
    bins: Annotated[int, whole("bins of the histogram", at_least=3000)] = 15_000
    count: Annotated[int, whole("of a full bin", at_least=1)] = 700

    def stable(self) -> StableTopK:
        """Calibration of StableTopK; half of delta is for the test, as in the paper."""
        return stable_top_k_calibration(self.epsilon, self.delta)

    def params(self, method: str, k: int) -> dict[str, Any]:
        """Parameters of a method at k."""
        if method == "EM-CDP":
            rho = largest_rho(self.epsilon, self.delta)
            return {"k": k, "rho": rho, "capacity": _CAPACITY}
        if method == "TS":
            return {"k": k, "epsilon": self.epsilon, "delta": self.delta}
        found = self.stable()
        return {"k": k, "rho": found.rho, "delta_t": found.delta_t}

    def threshold(self, k: int) -> int:
        """The threshold of Top Stable, in votes."""
        return round(top_stable(self.epsilon, self.delta, k).threshold)


def _hits(release):
    return {"hits": release.hits, "squares": release.hits * release.hits}


@cells(performance=Performance(block_size=256))
def queried(
    method: str = over(*METHODS),
    k: int = over(10, 20, 50, 100, 200, 500, 1000, 1500),
    query: Query = Query(),
) -> Trial:
    """Exact sums of the hits and of their squares."""
    data = two_level_histogram(k, bins=query.bins, count=query.count).data
    return Trial(METHODS[method], data, query.params(method, k), statistic=sums(_hits))


class Recall(NamedTuple):
    """Mean recall, its confidence limits, and the deviation of one query's recall.

    Attributes:
      mean, low, high, deviation: Float["sizes"].
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    deviation: np.ndarray


@functools.cache
def exact(method: str, k: int, query: Query = Query()) -> tuple[float, float]:
    """Mean and standard deviation of a query's recall, from its exact law.

    Args:
      method: of the simulation, or "EM-CDP, general", whose noise is for counts that may move
        in different directions.
      k: number of full bins.
      query: the histogram and the budget.
    """
    if method.startswith("EM-CDP"):
        relation = Relation.GENERAL if method != "EM-CDP" else Relation.MONOTONE
        rho = largest_rho(query.epsilon, query.delta)
        scale = exponential_top_k_scale(rho, k, relation)
        levels = Groups(
            np.array([float(query.count), 0.0]),
            np.array([k, query.bins - k]),
            np.array([True, False]),
        )
        law = hit_law(levels, k, scale)
    else:
        gaps = np.zeros(query.bins - 1)
        gaps[k - 1] = query.count
        if method == "TS":
            law = top_stable_law(gaps[:k], top_stable(query.epsilon, query.delta, k), k)
        else:
            found = query.stable()
            chosen = largest_gap_law(gaps, found.selection_scale)
            passed = pass_probability(gaps, found.test_scale, found.delta_t)
            # A larger set holds all k full bins, and others.
            released = chosen * passed
            law = np.append(0.0, released[: k - 1])
            law = np.append(law, released[k - 1 :].sum())
            law[0] = 1.0 - law.sum()
    share = np.arange(k + 1) / k
    mean = float(np.sum(law * share))
    return mean, float(np.sqrt(max(np.sum(law * share**2) - mean**2, 0.0)))


def recalls(row: xr.Dataset, confidence: float = 0.95) -> Recall:
    """Simulated recall of a method at each k."""
    trials, sizes = row.attrs["trials"], row["k"].values.astype(np.float64)
    hits, squares = row.hits.values, row.squares.values
    limits = [
        mean_interval(trials, total, square, confidence, 0.0, k)
        for total, square, k in zip(hits, squares, sizes, strict=True)
    ]
    mean = hits / trials
    low, high = np.array(limits).T
    spread = np.sqrt(np.maximum(squares / trials - mean**2, 0.0))
    return Recall(mean / sizes, low / sizes, high / sizes, spread / sizes)


def draw(queried: xr.Dataset, query: Query = Query()) -> Canvas:
    """Draws exact curves, simulated points, and the spread of single queries."""
    figure, (axes,) = style.panels(width=6.2, height=4.4)
    for method, (label, look) in _LOOKS.items():
        mean, deviation = np.array([exact(method, k, query) for k in CURVE]).T
        style.line(axes, CURVE, mean, look, label=label)
        axes.fill_between(
            CURVE,
            np.maximum(mean - deviation, 0.0),
            np.minimum(mean + deviation, 1.0),
            color=look["color"],
            alpha=0.13,
            linewidth=0.0,
        )
        found = recalls(queried.sel({"method": method}))
        style.points(axes, queried["k"], found.mean, found.low, found.high, look)
    label, look = _GENERAL
    general = [exact("EM-CDP, general", k, query)[0] for k in CURVE]
    style.line(axes, CURVE, general, look, label=label)
    axes.set_xscale("log")
    style.plain_ticks(axes.xaxis, [10, 20, 50, 100, 200, 500, 1500])
    axes.set(xlim=(9.0, 1680.0), ylim=(0.0, 1.04))
    axes.set(xlabel="k, number of full bins", ylabel="recall of the full bins")
    axes.legend(loc="center right", bbox_to_anchor=(0.99, 0.64))
    return style.captioned(
        figure,
        f"{query.bins:,} bins, k of them count {query.count}, the rest 0; "
        f"({query.epsilon:g}, {words.power(query.delta)})-DP a query. Lines: exact "
        "laws; shaded: one standard deviation of a query's recall; points: means of "
        f"{queried.attrs['trials']:,} simulated queries, 95 % intervals."
        f"{_finding(query, *queried['k'].values[[0, -1]])}",
    )


def _finding(query: Query, smallest: int, largest: int) -> str:
    """The caption's words on Top Stable; "" unless its tests pass at every k."""
    first, last = query.threshold(smallest), query.threshold(largest)
    if last >= query.count:
        return ""
    return (
        " Top Stable (sizes tested from k downwards) does not fall with k here, unlike in "
        f"the paper: its threshold grows from {first} to {last} votes only, below the gap "
        f"of {query.count}."
    )
