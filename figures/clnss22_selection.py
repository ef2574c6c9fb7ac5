"""Cohen et al. 2022, Theorems 1 and 2: what Selection and Test with one p lose."""

import functools
import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from figures.common.figure import load
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.families.selection_and_test.bounds import interaction_epsilon
from jaxsel.families.selection_and_test.laws import (
    repeated_selection_law,
    top_after_bottoms,
)
from jaxsel.pictures import style
from sims.clnss22_selection import (
    CALL_ROUNDS,
    EPSILON,
    GAMMAS,
    WIDE,
    candidate,
    top_chances,
)
from sims.registry import Result

TITLE = "Cohen et al. 2022, Theorems 1 and 2: Selection and Test with one p"
SECONDS = 14
_LOOKS: dict[float, dict[str, Any]] = {
    0.5: {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    1.0: {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    2.0: {"color": "#009e73", "linestyle": "-", "marker": "^"},
}
_NAMES = {0.5: "½", 1.0: "1", 2.0: "2"}
_SHARED: dict[str, Any] = {"color": "#aa4499", "linestyle": "-", "marker": "D"}
_APART: dict[str, Any] = {"color": "#7f7f7f", "linestyle": "--", "marker": "v"}
_COUNTS = np.unique(np.geomspace(1, 3000, 60).astype(int))
_MANY = np.arange(1, 13)


def selection_loss(rounds: int, gamma: float) -> float:
    """Exact epsilon of one Selection on the pair that is simulated."""
    laws = [repeated_selection_law(side, rounds, gamma, 1) for side in candidate()]
    return exact_epsilon(*laws)


def tests_loss(bottoms: int, gamma: float) -> float:
    """Exact loss of n bottoms and then a top on the pair that is simulated."""
    first, second = (
        top_after_bottoms(gamma, bottoms, quiet, 1, loud)
        for quiet, loud in top_chances()
    )
    return first - second


@functools.cache
def calls_loss(calls: int, middle: float, rounds: int) -> float:
    """Exact epsilon of c Selections with one p, gamma = 1."""
    laws = [
        repeated_selection_law(side, rounds, 1.0, calls) for side in candidate(middle)
    ]
    return exact_epsilon(*laws)


def audited(tallies: np.ndarray, outcome: int, confidence: float = 0.95) -> float:
    """The audited lower bound on epsilon by one event.

    Args:
      tallies: Int64["2 outcomes"], of both sides.
      outcome: the event.
      confidence: of the bound.
    """
    event = np.arange(tallies.shape[1]) == outcome
    return epsilon_lower_bound(
        tallies[0], tallies[1], 0.0, confidence, event[None]
    ).lower


def _series(axes: Axes, record: Result, name: str, loss, outcome: int) -> None:
    for row, gamma in enumerate(GAMMAS):
        look, total = _LOOKS[gamma], interaction_epsilon(EPSILON, gamma, 1)
        axes.axhline(total, color=look["color"], linewidth=0.9, linestyle=":")
        style.line(
            axes, _COUNTS, [loss(int(n), gamma) for n in _COUNTS], look,
            label=f"exact, γ = {_NAMES[gamma]}",
        )  # fmt: skip
        x = record.values["rounds" if name == "selection" else "bottoms"]
        found = [audited(tallies, outcome) for tallies in record.arrays[name][row]]
        axes.plot(
            x, found, linestyle="none", marker=look["marker"], color=look["color"],
            markerfacecolor="white", markersize=4.6, markeredgewidth=1.1,
        )  # fmt: skip
        axes.annotate(
            f"(2 + γ)ε = {total:g}", (3000, total), textcoords="offset points",
            xytext=(0, 2.5), fontsize=7.2, color=look["color"], ha="right",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(0.8, 3300)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_ylim(0.0, 2.2)


def _per_call(axes: Axes, record: Result) -> None:
    shared = [interaction_epsilon(EPSILON, 1.0, int(c)) / c for c in _MANY]
    axes.plot(
        _MANY, np.full(_MANY.size, 3.0 * EPSILON), **style.law(_APART),
        label="c runs of LT Algorithm 2: 3ε each",
    )  # fmt: skip
    style.line(axes, _MANY, shared, _SHARED, label="one p: (2c + γ)ε/c, γ = 1 (claim)")
    rare = [calls_loss(int(c), 1e-7, 3000) / c for c in _MANY]
    axes.plot(
        _MANY, rare, linestyle="none", marker=".", color="black", markersize=4.0,
        label="exact, a rare middle outcome, τ = 3000",
    )  # fmt: skip
    seen = [calls_loss(int(c), WIDE, CALL_ROUNDS) / c for c in _MANY]
    style.line(
        axes, _MANY, seen, {"color": "#3aa0dd", "linestyle": "-."},
        label=f"exact, simulated candidate, τ = {CALL_ROUNDS}",
    )  # fmt: skip
    counts = np.array(record.values["call_counts"])
    found = [audited(tallies, 1) for tallies in record.arrays["calls"]]
    axes.plot(
        counts, found / counts, linestyle="none", marker="D", color="#3aa0dd",
        markerfacecolor="white", markersize=4.6, markeredgewidth=1.1,
    )  # fmt: skip
    axes.axhline(2.0 * EPSILON, color="#aa4499", linewidth=0.8, linestyle=":")
    axes.annotate(
        "2ε", (12.2, 2.0 * EPSILON), textcoords="offset points", xytext=(0, -9),
        fontsize=7.2, color="#aa4499", ha="right",
    )  # fmt: skip
    axes.set_ylim(0.4, 2.2)
    axes.set_xlim(0.5, 12.4)
    axes.set_xticks([1, 2, 4, 6, 8, 10, 12])


def draw() -> Canvas:
    """Lines: exact and claimed; marks: audited lower bounds."""
    record = load("clnss22-selection")
    figure, (selection, tests, calls) = style.panels(3, width=10.6, height=4.0)
    _series(selection, record, "selection", selection_loss, 1)
    _series(tests, record, "tests", tests_loss, 1)
    _per_call(calls, record)
    marks: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": "#555555"}
    selection.plot(
        [], [], **marks, markerfacecolor="white", label="audited lower bound (95 %)"
    )
    selection.set_xlabel("τ, potential runs of one Selection")
    selection.set_ylabel("ε of the release")
    tests.set_xlabel("n, Tests that answered ⊥ before the ⊤")
    tests.set_ylabel("ε of the transcript ⊥ⁿ⊤")
    calls.set_xlabel("c, Selections of one interaction")
    calls.set_ylabel("ε for each Selection")
    selection.legend(loc="lower right")
    calls.legend(loc="upper right", fontsize=7.4)
    trials, three = int(record.values["trials"]), candidate()
    rare = 1.0 / (1.0 + math.exp(EPSILON))
    style.note(
        figure,
        f"Cohen et al. 2022, Algorithm 1, on ε-DP mechanisms with ε = {EPSILON:g}. "
        "Left: one candidate, best outcome "
        f"{three.first[0]:.3g} against {three.second[0]:.3g}, middle "
        f"{three.first[1]:.2g} against {three.second[1]:.2g}; dotted: Theorem 1. "
        f"Middle: Tests with chance {top_chances()[0][0]:g} against "
        f"{top_chances()[1][0]:.2g} of ⊤, then one with {rare * math.exp(EPSILON):.2g} "
        f"against {rare:.2g}; dotted: Theorem 2. Right: what sharing p saves over "
        f"independent private selections, each of which costs 3ε at worst. {trials:,} "
        "interactions a side and point; audits weaken where the event becomes rare.",
    )
    return figure
