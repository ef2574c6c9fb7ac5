"""Cohen et al. 2022, Section 4: error of sparse vectors against confidence."""

import functools
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims.clnss22_svt_error import (
    DELTA,
    EPSILON,
    QUERIES,
    WANTED,
    needed_error,
    noise_of,
    settings_of,
)

TITLE = "Cohen et al. 2022, Section 4: error of sparse vectors against confidence"
SECONDS = 22
CONFIDENCES = (0.5, 1.5, 3.0, 6.0, 10.0, 16.0, 24.0, 32.0, 40.0)  # log(1/beta)
_LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "standard": (
        "Standard, restarted after each ⊤",
        {"color": "#000000", "linestyle": ":", "marker": "x"},
    ),
    "once": (
        "Threshold noised once (Lyu, Su & Li)",
        {"color": "#8c6d1f", "linestyle": (0, (5, 1.2)), "marker": "D"},
    ),
    "paper": (
        "Repetitive, d as in the paper",
        {"color": "#d55e00", "linestyle": "--", "marker": "s"},
    ),
    "least": (
        "Repetitive, least d by the exact law",
        {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    ),
    "tuned": (
        "Repetitive, all settings tuned (this project)",
        {"color": "#009e73", "linestyle": "-.", "marker": "^"},
    ),
}
_PANELS = (
    (DELTA, ("standard", "paper", "least", "tuned")),
    (0.0, ("standard", "once", "paper", "least", "tuned")),
)


@functools.cache
def curve(name: str, delta: float) -> np.ndarray:
    """Error needed at each of CONFIDENCES: alpha, or d/2 for the repetitive one."""
    if name in ("standard", "once"):
        noise = noise_of(name, delta)
        return np.array([needed_error(noise, math.exp(-x)) for x in CONFIDENCES])
    found = [settings_of(name, delta, math.exp(-x)) for x in CONFIDENCES]
    return np.array([settings.margin / 2.0 for settings in found])


def points(arrays, values, name: str, delta: float) -> dict[str, np.ndarray]:
    """Errors and log(1/failure probability), with its 95 % interval."""
    row = values["algorithms"].index([name, delta])
    failures, runs = arrays["failures"][row], int(values["runs"][row])
    low, high = clopper_pearson(failures, runs, 0.95)
    seen = failures > 0
    return {
        "error": arrays["errors"][row][seen],
        "confidence": -np.log(failures[seen] / runs),
        "low": -np.log(high[seen]),
        "high": -np.log(low[seen]),
    }


def draw() -> Canvas:
    """Lines: exact laws and bounds from them; points: simulated."""
    record = load("clnss22-svt-error")
    figure, panels = style.panels(2, width=9.4, height=5.2)
    for axes, (delta, names) in zip(panels, _PANELS, strict=True):
        for name in names:
            label, look = _LOOKS[name]
            # The legend is taken from the panel that has all.
            style.line(axes, CONFIDENCES, curve(name, delta), look, label=label)
            if name == "paper":
                continue
            found = points(record.arrays, record.values, name, delta)
            reach = np.stack(
                [
                    found["confidence"] - found["low"],
                    found["high"] - found["confidence"],
                ]
            )
            axes.errorbar(
                found["confidence"], found["error"], xerr=reach,
                color=look["color"], marker=look["marker"], linestyle="none",
                markersize=4.2, markerfacecolor="white", markeredgewidth=1.1,
                elinewidth=1.1, capsize=2.2, zorder=3,
            )  # fmt: skip
        axes.set_xlim(0.0, CONFIDENCES[-1])
        axes.set_xlabel("log(1/β), β the failure probability")
        axes.set_ylim(0.0, None)
        axes.set_title(
            f"({EPSILON:g}, {words.power(delta)})-DP" if delta else f"{EPSILON:g}-DP"
        )
    panels[0].set_ylabel("Error: half the zone where answers may be wrong")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    runs = record.values["runs"]
    style.note(
        figure,
        f"{QUERIES:,} queries of sensitivity 1, of which {WANTED} are to be found. "
        "The zone is t ± α, or from t − d to t for the repetitive sparse vector "
        f"(error d/2). Standard: {WANTED} runs of AboveThreshold, composed by "
        "Rényi divergences on the left and by adding up on the right. Repetitive: "
        "Algorithm 3 (reconstructed) with k′ corrected and ε′ as large as the "
        "proven bound allows; 'least d' keeps its γ and τ, tuning also takes p = "
        "1 on the left. Lines: exact, or for the repetitive one a bound for any "
        "queries from the exact law of one. Points: simulated failures on queries "
        "just outside the zone, the others in its middle for the repetitive one "
        f"({runs[0]:,} and {runs[-1]:,} runs, 95 % intervals).",
    )
    return figure
