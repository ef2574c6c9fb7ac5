"""Cohen et al. 2022, Theorem 4: failure against oracle calls, and calls for privacy."""

import functools
import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from figures.common import words
from figures.common.figure import load
from jaxsel.families.percentile.median_laws import (
    beta_binomial_boosting,
    median_failure,
    percentile_boosting,
)
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.domains import positive, probability, whole
from jaxsel.pictures import style
from sims.clnss22_median import ALPHAS
from sims.registry import Result

TITLE = "Cohen et al. 2022, Theorem 4: failure probability against oracle calls"
_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    {"color": "#3aa0dd", "linestyle": "-", "marker": "v"},
    {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    {"color": "#009e73", "linestyle": "-", "marker": "^"},
    {"color": "#aa4499", "linestyle": "-", "marker": "D"},
)
_NAMES = ("¼", "½", "1", "2", "ln 10⁴ ≈ 9.2")
_STOPPING: dict[str, Any] = {"color": "#000000", "linestyle": "--", "marker": "x"}
_BETAS = ((0.1, "-"), (1e-2, "--"), (1e-4, ":"))
EPSILON, DELTA, THRESHOLDS = 0.5, 1e-6, 100  # of the percentile search
SETTABLE = {
    "EPSILON": positive("epsilon of the base, in the right panel"),
    "DELTA": probability("delta of Theorem 4.7"),
    "THRESHOLDS": whole("of Theorem 4.7", at_least=2),
}
_LEAST = 5e-5


@functools.cache
def curve(alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """T and exact failure probability, down to 5e-5."""
    rounds = np.unique(np.round(np.geomspace(1.0, 1e18, 400))).astype(np.int64)
    failure = np.array([median_failure(int(count), alpha) for count in rounds])
    kept = failure > _LEAST
    return rounds[kept], failure[kept]


def theorem_calls(beta: float, alpha: float) -> float:
    """log10 of T of Theorem 4."""
    return beta_binomial_boosting(beta, alpha).log_max_calls / math.log(10.0)


def _failures(axes: Axes, record: Result) -> None:
    trials = int(record.values["trials"])
    for row, (alpha, look) in enumerate(zip(ALPHAS, _LOOKS, strict=True)):
        rounds, failure = curve(alpha)
        share = alpha / (1.0 + alpha)
        label = f"α = {_NAMES[row]}"
        style.line(axes, share * rounds, failure, look, label=label)
        axes.plot(rounds, failure, color=look["color"], linestyle=":", linewidth=1.0)
        failed = record.arrays["failed"][row]
        low, high = clopper_pearson(failed, trials, 0.95)
        x = share * record.arrays["rounds"][row]
        style.points(axes, x, failed / trials, low, high, look)
    betas = np.geomspace(0.5, _LEAST, 60)
    style.line(
        axes, (1.0 - betas) / betas, betas, _STOPPING,
        label="LT Algorithm 2, no maximum",
    )  # fmt: skip
    failed = record.arrays["stopping_failed"]
    aimed = np.array(record.values["failures"])
    low, high = clopper_pearson(failed, trials, 0.95)
    style.points(axes, (1.0 - aimed) / aimed, failed / trials, low, high, _STOPPING)
    axes.plot(
        [],
        [],
        color="#555555",
        linestyle=":",
        linewidth=1.0,
        label="maximal calls, T",
    )
    axes.set(xscale="log", yscale="log", xlim=(0.6, 1e9), ylim=(6e-5, 0.8))
    axes.set_xlabel("Oracle calls: mean (solid and dashed), maximal (dotted)")
    axes.set_ylabel("Probability that no run beats the median")
    _above(axes, 3)


def _above(axes: Axes, columns: int) -> None:
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.47, 1.0), ncols=columns, fontsize=7.6
    )


def _calls(axes: Axes) -> None:
    alphas = np.geomspace(0.1, 8.0, 100)
    for beta, pattern in _BETAS:
        power = {0.1: "0.1", 1e-2: "0.01", 1e-4: "10⁻⁴"}[beta]
        ours = [theorem_calls(beta, float(a)) for a in alphas]
        axes.plot(
            2.0 + alphas, ours, color="#d55e00", linestyle=pattern,
            label=f"Theorem 4 (claim), β = {power}",
        )  # fmt: skip
    for beta, pattern in _BETAS:
        power = {0.1: "0.1", 1e-2: "0.01", 1e-4: "10⁻⁴"}[beta]
        # Its slack must be below 2: alpha epsilon < 2.
        some = alphas[alphas * EPSILON < 1.9]
        theirs = [
            percentile_boosting(
                beta, float(a), EPSILON, DELTA, thresholds=THRESHOLDS
            ).log_max_calls / math.log(10.0)
            for a in some
        ]  # fmt: skip
        axes.plot(
            2.0 + some, theirs, color="#0072b2", linestyle=pattern,
            label=f"LT Theorem 4.7, β = {power}",
        )  # fmt: skip
    axes.set(yscale="log", xlim=(2.0, 10.0), ylim=(0.9, 3000.0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"10$^{{{x:g}}}$"))
    axes.set_xlabel("Privacy of the release, in units of the base's ε: 2 + α")
    axes.set_ylabel("Oracle calls, at most")
    _above(axes, 2)


def draw() -> Canvas:
    """Left: failure against calls; right: calls against privacy."""
    record = load("clnss22-median")
    figure, (failures, calls) = style.panels(2, width=9.8, height=4.6)
    _failures(failures, record)
    _calls(calls)
    trials = int(record.values["trials"])
    style.note(
        figure,
        "One Selection of Bin(T, p) runs, p = U^(1/α), over a base whose runs beat its "
        "median with probability ½; its privacy is (2 + α)ε, that of random stopping "
        "(LT Algorithm 2) 3ε. Left: lines are exact laws, points are simulated, "
        f"{trials:,} executions each, 95 % intervals. Right: the T of Theorem 4, and "
        "the runs that Liu & Talwar's Theorem 4.7 asks for with one candidate "
        f"(Algorithm 5, then 1; as corrected, ε = {EPSILON:g}, δ = "
        f"{words.power(DELTA)}, {THRESHOLDS} thresholds), for equal privacy; the axis "
        "counts digits.",
    )
    return figure
