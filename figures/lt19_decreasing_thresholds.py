"""Liu & Talwar 2019, Appendices B.2 and B.3: losses that grow without bound."""

import math

import numpy as np
from matplotlib.figure import Figure as Canvas

from figures.common.figure import load
from figures.lt19_privacy_cost import audited
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.percentile.score_percentile_laws import (
    median_loss_lower,
    percentile_law,
    random_rank_loss_lower,
)
from jaxsel.families.thresholds.decreasing_laws import (
    decreasing_threshold_law,
    decreasing_threshold_pure,
)
from jaxsel.families.thresholds.laws import threshold_law
from jaxsel.pictures import style

TITLE = "Liu & Talwar 2019, B.2 and B.3: decreasing thresholds, and the median run"
NO_EFFECT = ("sims.lt19_privacy_cost",)
SECONDS = 14

_ORANGE, _BLUE, _GREEN, _PURPLE = "#d55e00", "#0072b2", "#009e73", "#aa4499"
_LOOKS = {
    0.3: {"color": _ORANGE, "linestyle": "-", "marker": "s"},
    1.0: {"color": _PURPLE, "linestyle": "--", "marker": "D"},
    "algorithm-1": {"color": _GREEN, "linestyle": "-", "marker": "o"},
    "median": {"color": _ORANGE, "linestyle": "-", "marker": "s"},
    "random": {"color": _BLUE, "linestyle": "--", "marker": "^"},
}


def threshold_losses(epsilon: float, gamma: float, levels) -> tuple[np.ndarray, float]:
    """Exact epsilon of Algorithm 6 by R, and of Algorithm 1, on randomised response."""
    pair = pairs.randomised_response(epsilon)
    lowered = [
        exact_epsilon(
            *(decreasing_threshold_law(q, [1.0, 0.0], n, gamma)[:-1] for q in pair)
        )
        for n in levels
    ]
    first = exact_epsilon(*(threshold_law(q, 1, gamma) for q in pair))
    return np.array(lowered), first


def percentile_loss(shift: float, count: int, rank: str) -> float:
    """Exact epsilon of the released model of N runs."""
    pair = pairs.bernoulli((1.0 + shift) / 2.0, (1.0 - shift) / 2.0)
    return exact_epsilon(*(percentile_law(side, count, rank) for side in pair))


def _marks(axes, x, y, look) -> None:
    axes.plot(
        x, y, linestyle="none", marker=look["marker"], color=look["color"],
        markerfacecolor="white", markersize=4.4, zorder=3,
    )  # fmt: skip


def _left(axes, record) -> None:
    values = record.values
    epsilon, levels = values["epsilon"], np.array(values["levels"])
    dense = np.arange(levels[-1] + 1)
    axes.plot(
        dense, [decreasing_threshold_pure(1.0, n) for n in dense], **style.NEUTRAL,
        label="(2R + 1)ε₁, claim LT-Alg6-sharp",
    )  # fmt: skip
    lower = audited(record.arrays["thresholds"]) / epsilon
    for row, gamma in enumerate(values["gammas"]):
        exact, _ = threshold_losses(epsilon, gamma, dense)
        style.line(
            axes, dense, exact / epsilon, _LOOKS[gamma],
            label=f"Algorithm 6, γ = {gamma:g}: exact",
        )  # fmt: skip
        _marks(axes, levels, lower[row], _LOOKS[gamma])
    gamma = values["gammas"][0]
    _, first = threshold_losses(epsilon, gamma, [0])
    look = _LOOKS["algorithm-1"]
    style.line(
        axes, dense, np.full(dense.size, first / epsilon), look,
        label=f"Algorithm 1, γ = {gamma:g}: exact",
    )  # fmt: skip
    bound = audited(record.arrays["algorithm_1"])[0] / epsilon
    _marks(axes, levels[-1:], [bound], look)
    axes.axhline(2.0, color=_GREEN, linewidth=0.9, linestyle=":",
                 label="2ε₁, LT Theorem 3.1")  # fmt: skip
    axes.set_xlabel("How often the threshold may be lowered, R")
    axes.set_ylabel("Total pure ε, in units of the ε₁ of one run")
    axes.set_ylim(0, 18)


def _right(axes, record) -> None:
    values = record.values
    shift, counts = values["shift"], np.array(values["counts"])
    run = 2.0 * math.atanh(shift)
    dense = np.unique(np.round(np.linspace(1, counts[-1], 60)).astype(int) | 1)
    lower = audited(record.arrays["percentiles"]) / run
    names = {"median": "The median run", "random": "A random rank up to it"}
    bounds = {"median": median_loss_lower, "random": random_rank_loss_lower}
    for row, rank in enumerate(values["ranks"]):
        look = _LOOKS[rank]
        exact = np.array([percentile_loss(shift, int(n), rank) for n in dense])
        style.line(axes, dense, exact / run, look, label=f"{names[rank]}: exact")
        least = np.array([bounds[rank](int(n), shift) for n in dense])
        claim = "LT-B.3" if rank == "median" else "LT-B.3-random-rank"
        axes.plot(
            dense, least / run, color=look["color"], linewidth=0.9,
            linestyle=(0, (1, 1.5)), label=f"at least, claim {claim}",
        )  # fmt: skip
        _marks(axes, counts, lower[row], look)
    axes.axhline(3.0, color="#555555", linewidth=0.9, linestyle=":",
                 label="3ε₁: Algorithm 2, any number of runs")  # fmt: skip
    axes.set_xlabel("Number of runs, N")
    axes.set_ylabel("Total pure ε, in units of the ε₁ of one run")
    axes.set_ylim(0, None)


def draw() -> Canvas:
    """Lines: exact laws; points: audited from simulations."""
    record = load("lt19-decreasing-thresholds")
    figure, (left, right) = style.panels(2, width=9.0, height=4.6)
    _left(left, record)
    _right(right, record)
    for axes in (left, right):
        style.legend(axes, loc="upper left")
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Left: one run is randomised response with ε₁ = {record.values['epsilon']:g}, "
        "scored by its answer; "
        "Algorithm 6 lowers the threshold from 1 to 0 in R steps, each with "
        "probability γ after a failure; Algorithm 1 keeps it at 1. Right: one run "
        "returns the better of two models with probability (1 ± "
        f"{record.values['shift']:g})/2; of N runs the one of median score is "
        "released, or of uniformly random rank up to the median. Open marks: audited "
        f"lower bounds (95 %) from {trials:,} releases a side (right: "
        f"{max(1, trials // 10):,}); losses on events too rare to be seen escape them.",
    )
    return figure
