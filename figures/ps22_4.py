"""Papernot & Steinke 2022, Figure 4: privacy against the mean number of runs."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from figures.common import words
from figures.common.figure import load
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.pictures import style
from jaxsel.repetitions import parse
from sims.common import tuned_laws
from sims.common.gaussian_orders import two_block_epsilon
from sims.ps22_4 import EVENT, law_of
from sims.registry import Result

TITLE = "Papernot & Steinke 2022, Figure 4: privacy against the mean number of runs"
NAMES = {
    "naive": "Naive repetition",
    "eta=0": "Logarithmic η = 0",
    "eta=1": "Geometric η = 1",
    "eta=5": "η = 5",
    "poisson": "Poisson",
}
RIGHT, TOP = 8.0, 1e6
_DOTTED = (0, (1, 1.2))


def _means(name: str) -> np.ndarray:
    match name:
        case "naive":
            return np.arange(1, 23)
        case "poisson":
            return np.geomspace(1.0, 100.0, 41)
    return 1.0 + np.geomspace(1e-3, TOP - 1.0, 61)


def claim(name: str, mean: float) -> float:
    """Epsilon at 1e-6 by the paper's theorems; composition for a fixed number of runs."""
    return tuned_laws.epsilon(law_of(name, mean))


def exact(name: str, mean: float) -> float:
    """Exact epsilon at 1e-6 of the Gaussian pair in the worst two-block order."""
    return two_block_epsilon(law_of(name, mean), tuned_laws.DELTA)


def audited(record: Result, confidence: float = 0.95) -> list[dict[str, Any]]:
    """The audited lower bound on epsilon of each law, and the exact epsilon."""
    counts = record.arrays["counts"]
    event = np.arange(counts.shape[-1])[None, :] == EVENT
    found = []
    for row, text in enumerate(record.values["laws"]):
        bound = epsilon_lower_bound(
            *counts[row], delta=record.values["delta"], confidence=confidence,
            events=event,
        )  # fmt: skip
        found.append(
            {
                "name": record.values["families"][row],
                "mean": record.values["means"][row],
                "lower": bound.lower,
                "exact": two_block_epsilon(parse(text), record.values["delta"]),
            }
        )
    return found


def draw() -> Canvas:
    """Claims as the paper draws them; exact and audited epsilons of Gaussian pairs."""
    record = load("ps22-4")
    figure, (axes,) = style.panels(width=6.4, height=4.9)
    for name, legend in NAMES.items():
        means = _means(name)
        look = {"linestyle": "-"} if name == "naive" else {}
        style.line(axes, [claim(name, mean) for mean in means], means, legend, **look)
        axes.plot(
            [exact(name, mean) for mean in means], means,
            color=style.LAWS[legend]["color"], linestyle=_DOTTED, linewidth=1.1,
        )  # fmt: skip
    for each in audited(record):
        look = style.LAWS[NAMES[each["name"]]]
        # A lower bound: the arrow points to where the truth may be.
        axes.errorbar(
            each["lower"], each["mean"], xerr=0.13, xlolims=True, linestyle="none",
            color=look["color"], marker=look["marker"], markersize=4.2,
            markerfacecolor="white", markeredgewidth=1.1, elinewidth=1.0, capsize=1.8,
            clip_on=False, zorder=3,
        )  # fmt: skip
    axes.set(xlim=(0.0, RIGHT), ylim=(1.0, TOP), yscale="log")
    axes.set_xlabel(f"ε for (ε, {words.scientific(tuned_laws.DELTA)})-DP")
    axes.set_ylabel("Expected number of repetitions 𝔼[K]")
    grey = style.LAWS["Single run"]["color"]
    marks = [
        Line2D([], [], linestyle="none", label=" "),
        Line2D([], [], color=grey, label="thick: theorems (claim)"),
        Line2D(
            [], [], color=grey, linestyle=_DOTTED, linewidth=1.1,
            label="exact, Gaussian pair",
        ),
        Line2D(
            [], [], color=grey, linestyle="none", marker="o", markerfacecolor="white",
            label="audited lower bound",
        ),
    ]  # fmt: skip
    handles, _ = axes.get_legend_handles_labels()
    axes.legend(handles=[*handles, *marks], loc="upper left")
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Base {tuned_laws.RHO:g}-zCDP. Claims: Corollary 4, Theorem 6 with δ̂ by "
        "Lemma 14 (Poisson), composition (naive). Exact and audited: N(0, 1) against "
        f"N(√{2.0 * tuned_laws.RHO:g}, 1), the score "
        "prefers outputs above a cut, then small ones; cut and event planned on exact "
        f"laws, {trials:,} trials a side, each bound at 95 %.",
    )
    return figure
