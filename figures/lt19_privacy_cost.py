"""Liu & Talwar 2019: what selection costs, against how many runs it makes."""

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from figures.common.figure import load
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.pictures import style
from sims.lt19_privacy_cost import SELECTORS, Selector, base_pair

TITLE = "Liu & Talwar 2019: privacy cost of selection against the number of runs"
_LOOKS = {
    "naive": (
        "Best of K (B.1): Kε₁",
        {"color": "#000000", "linestyle": "-", "marker": "X"},
    ),
    "algorithm-2": ("LT Algorithm 2: 3ε₁, Theorem 3.2", "Geometric η = 1"),
    "selection-0.5": (
        "Selection, γ = 1/2: 2.5ε₁, CL Theorem 1",
        {"color": "#aa4499", "linestyle": "-.", "marker": "D"},
    ),
    "selection-0.1": (
        "Selection, γ = 1/10: 2.1ε₁, CL Theorem 1",
        {"color": "#0072b2", "linestyle": (0, (5, 1.2)), "marker": "v"},
    ),
    "algorithm-1": (
        "LT Algorithm 1: 2ε₁, Theorem 3.1",
        {"color": "#009e73", "linestyle": "-", "marker": "o"},
    ),
}


def exact(selector: Selector, calls: float) -> float:
    """Exact epsilon on the simulated pair, at this expected number of calls."""
    assert selector.mechanism.law is not None
    params = selector.params(calls)
    found = [
        selector.mechanism.law(
            {"probabilities": side, "scores": [1.0, 1.0, 0.0]}, params
        ).probabilities
        for side in base_pair()
    ]
    return exact_epsilon(found[0], found[1])


def _runs(selector: Selector, calls: float) -> float:
    """Expected number of runs, where it cannot be just any number."""
    if selector.name.startswith("selection"):
        return selector.params(calls)["repetitions"].mean
    return calls


def audited(counts: np.ndarray, confidence: float = 0.95) -> np.ndarray:
    """Audited lower bound on epsilon of each cell, Int64["... 2 outcomes"]."""
    flat = counts.reshape(-1, *counts.shape[-2:])
    found = [
        epsilon_lower_bound(first, second, 0.0, confidence, ["singletons"]).lower
        for first, second in flat
    ]
    return np.array(found).reshape(counts.shape[:-2])


def draw() -> Canvas:
    """Lines: exact laws; dashes: theorems; points: audited from simulations."""
    record = load("lt19-privacy-cost")
    values = record.values
    calls, epsilon = np.array(values["calls"]), values["epsilon"]
    lower = audited(record.arrays["counts"])
    figure, (axes,) = style.panels(1, width=6.4, height=5.0)
    last = int(calls[-1])
    for selector in SELECTORS:
        row = values["selectors"].index(selector.name)
        label, name = _LOOKS[selector.name]
        look = style.look(name)
        if selector.name == "naive":
            x = np.arange(2, last + 1, dtype=np.float64)
        else:
            x = np.geomspace(2, last, 31)
        y = np.array([exact(selector, count) for count in x])
        style.line(
            axes, [_runs(selector, n) for n in x], y / epsilon, look, label=label
        )
        axes.plot(
            x, [selector.factor(count) for count in x], color=look["color"],
            linewidth=0.9, linestyle=(0, (1, 1.5)),
        )  # fmt: skip
        axes.plot(
            calls, lower[row] / epsilon, linestyle="none", marker=look["marker"],
            color=look["color"], markerfacecolor="white", markersize=5.4, zorder=5,
        )  # fmt: skip
    grey: dict[str, Any] = {"color": "#555555"}
    axes.plot([], [], **grey, label="Exact, on one pair")
    axes.plot([], [], **grey, linewidth=0.9, linestyle=(0, (1, 1.5)),
              label="Claim: for every ε₁-DP run")  # fmt: skip
    axes.plot([], [], **grey, linestyle="none", marker="o", markerfacecolor="white",
              label="Audited lower bound (95 %)")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(1.9, 68)
    axes.set_ylim(0.9, 20)
    for axis, ticks in (
        (axes.xaxis, calls),
        (axes.yaxis, (1, 1.5, 2, 2.5, 3, 5, 10, 20)),
    ):
        axis.set_ticks(ticks)
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel("Expected number of runs (Algorithm 1: largest expected number)")
    axes.set_ylabel("Total pure ε, in units of the ε₁ of one run")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    odds = "e" if epsilon == 1.0 else f"{math.exp(epsilon):.3g}"
    style.note(
        figure,
        f"One run has three outcomes and ε₁ = {epsilon:g}: the best is {odds} times as "
        "likely on the "
        f"neighbour, the middle one (probability {values['middle']:g} there) {odds} "
        "times as rare; Algorithm 1 accepts both and has no last draw. Selection is "
        f"that of Cohen et al. (CL). Points: {int(values['trials']):,} selections a "
        "side; losses on events too rare to be seen escape them.",
    )
    return figure
