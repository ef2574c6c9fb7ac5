"""Zhu & Wang 2022, Figure 1(b): recall against k on a histogram of two levels."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from jaxsel.families.top_k.baseline_laws import top_stable_law
from jaxsel.families.top_k.baselines import exponential_top_k_scale, top_stable
from jaxsel.families.top_k.calibration import largest_rho
from jaxsel.families.top_k.gaps import pass_probability
from jaxsel.families.top_k.laws import largest_gap_law
from jaxsel.families.top_k.recall import Groups, hit_law
from jaxsel.host.intervals import mean_interval
from jaxsel.language.base import Relation
from jaxsel.pictures import style
from sims import zw22_1b as sim

TITLE = "Zhu & Wang 2022, Figure 1(b): recall against k on two levels"
SECONDS = 13
_LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "StableTopK": (
        "StableTopK (Algorithm 2)",
        {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    ),
    "TS": ("Top Stable", {"color": "#009e73", "linestyle": "-.", "marker": "^"}),
    "EM-CDP": ("EM-CDP", {"color": "#0072b2", "linestyle": "-", "marker": "o"}),
}
_GENERAL = (
    "EM-CDP, for counts moving either way", {"color": "#0072b2", "linestyle": ":"}
)  # fmt: skip
CURVE = tuple(int(k) for k in np.unique(np.rint(np.geomspace(10, 1500, 33))))


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
def exact(method: str, k: int) -> tuple[float, float]:
    """Mean and standard deviation of a query's recall, from its exact law.

    Args:
      method: of the simulation, or "EM-CDP, general": noise for counts that may move in
        different directions.
      k: how many bins are full.
    """
    if method.startswith("EM-CDP"):
        relation = Relation.GENERAL if method != "EM-CDP" else Relation.MONOTONE
        rho = largest_rho(sim.EPSILON, sim.DELTA)
        scale = exponential_top_k_scale(rho, k, relation)
        levels = Groups(
            np.array([float(sim.COUNT), 0.0]),
            np.array([k, sim.BINS - k]),
            np.array([True, False]),
        )
        law = hit_law(levels, k, scale)
    else:
        gaps = np.zeros(sim.BINS - 1)
        gaps[k - 1] = sim.COUNT
        if method == "TS":
            law = top_stable_law(gaps[:k], top_stable(sim.EPSILON, sim.DELTA, k), k)
        else:
            found = sim.calibration()
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


def recalls(record, method: str, confidence: float = 0.95) -> Recall:
    """Simulated recall of a method at each k."""
    values = record.values
    row, trials = values["methods"].index(method), int(values["trials"])
    hits, squares = record.arrays["hits"][row], record.arrays["squares"][row]
    sizes = np.array(values["sizes"], dtype=np.float64)
    limits = [
        mean_interval(trials, total, square, confidence, 0.0, k)
        for total, square, k in zip(hits, squares, sizes, strict=True)
    ]
    mean = hits / trials
    low, high = np.array(limits).T
    spread = np.sqrt(np.maximum(squares / trials - mean**2, 0.0))
    return Recall(mean / sizes, low / sizes, high / sizes, spread / sizes)


def _line(axes: Axes, mean_of: Callable[[int], float], label: str, look) -> None:
    style.line(axes, CURVE, [mean_of(k) for k in CURVE], look, label=label)


def draw() -> Canvas:
    """Exact curves, simulated points, and the spread of single queries."""
    record = load("zw22-1b")
    values = record.values
    sizes = values["sizes"]
    figure, (axes,) = style.panels(width=6.2, height=4.4)
    for method, (label, look) in _LOOKS.items():
        curve = np.array([exact(method, k) for k in CURVE])
        found = recalls(record, method)
        _line(axes, lambda k, m=method: exact(m, k)[0], label, look)
        low, high = curve[:, 0] - curve[:, 1], curve[:, 0] + curve[:, 1]
        axes.fill_between(
            CURVE, np.maximum(low, 0.0), np.minimum(high, 1.0), color=look["color"],
            alpha=0.13, linewidth=0.0,
        )  # fmt: skip
        style.points(axes, sizes, found.mean, found.low, found.high, look)
    label, look = _GENERAL
    _line(axes, lambda k: exact("EM-CDP, general", k)[0], label, look)
    axes.set_xscale("log")
    ticks = [10, 20, 50, 100, 200, 500, 1500]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.set_xticks([], minor=True)
    axes.set(xlim=(9.0, 1680.0), ylim=(0.0, 1.04))
    axes.set_xlabel("k, number of full bins")
    axes.set_ylabel("recall of the full bins")
    style.legend(axes, loc="center right", bbox_to_anchor=(0.99, 0.64))
    style.note(
        figure,
        f"{values['bins']:,} bins, k of them count {values['count']}, the rest 0; "
        f"({values['epsilon']:g}, {words.power(sim.DELTA)})-DP a query. Lines: exact "
        "laws; shaded: one standard deviation of a query's recall; points: means of "
        f"{int(values['trials']):,} simulated queries, 95 % intervals."
        f"{_finding(sizes)}",
    )
    return figure


def _finding(sizes) -> str:
    """What is seen of Top Stable, where its tests pass at every k."""
    first, last = _threshold(sizes[0]), _threshold(sizes[-1])
    if last >= sim.COUNT:
        return ""
    return (
        " Top Stable (sizes tested from k downwards) does not fall with k here, unlike in "
        f"the paper: its threshold grows from {first} to {last} votes only, below the gap "
        f"of {sim.COUNT}."
    )


def _threshold(k: int) -> int:
    return round(top_stable(sim.EPSILON, sim.DELTA, k).threshold)
