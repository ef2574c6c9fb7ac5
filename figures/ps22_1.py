"""Papernot & Steinke 2022, Figure 1: what eight outliers do to a tuned parameter."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from figures.common.figure import load
from jaxsel.host.errors import InputError
from jaxsel.language.domains import positive
from jaxsel.pictures import style

TITLE = "Papernot & Steinke 2022, Figure 1: tuned accuracy with and without outliers"
LEARNING_RATE = 0.003
SETTABLE = {
    "LEARNING_RATE": positive("the one drawn, of those simulated"),
}
_SERIES = {
    "without_outliers": ("without outliers", "#0072b2", "o"),
    "with_outliers": ("with outliers", "#d55e00", "s"),
}


def _curve(part: dict) -> dict:
    for curve in part["curves"]:
        if np.isclose(curve["learning_rate"], LEARNING_RATE):
            return curve
    raise InputError(f"the record has no curve for learning rate {LEARNING_RATE:g}")


def _panel(axes: Axes, alphas: np.ndarray, values: dict, name: str) -> None:
    """One data set, on its own scale: means, their spread, and the exact minimiser."""
    label, colour, marker = _SERIES[name]
    curve = _curve(values["data"][name])
    mean = np.asarray(curve["mean_accuracy"])
    axes.fill_between(
        alphas, curve["quantile_10"], curve["quantile_90"],
        color=colour, alpha=0.13, linewidth=0,
    )  # fmt: skip
    axes.plot(alphas, mean, color=colour, marker=marker, markersize=3.5, label=label)
    axes.plot(
        alphas, values["data"][name]["optimum_accuracy"],
        color="#555555", linestyle="--", linewidth=1.1, label="exact optimum",
    )  # fmt: skip
    near = np.isin(alphas, curve["near_best_alphas"])
    axes.plot(
        alphas[near], mean[near], color=colour, alpha=0.35, linewidth=8.0,
        solid_capstyle="round",
    )  # fmt: skip
    best = int(np.argmax(mean))
    axes.plot(
        alphas[best], mean[best], marker="*", markersize=13, color=colour,
        markeredgecolor="black", markeredgewidth=0.7, linestyle="none", zorder=4,
        label="best mean",
    )  # fmt: skip
    axes.annotate(
        f"best at α = {alphas[best]:g}", (alphas[best], mean[best]), (0, -19),
        textcoords="offset points", ha="center", fontsize=8.0,
    )  # fmt: skip
    axes.set_title(f"Training data {label}")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_xlim(alphas[0], alphas[-1])
    axes.set_xlabel("Regularization weight α (of the hinge loss)")


def _bests(values: dict) -> tuple[float, float]:
    """The alpha of the best mean without outliers, and with them."""
    alphas = values["alphas"]
    found = [
        alphas[int(np.argmax(_curve(values["data"][name])["mean_accuracy"]))]
        for name in _SERIES
    ]
    return found[0], found[1]


def draw() -> Canvas:
    """Mean training accuracy, its spread over runs, and the exact minimiser's."""
    values = load("ps22-1").values
    alphas = np.asarray(values["alphas"])
    figure, panels = style.panels(2, width=9.0, height=4.1)
    for name, axes in zip(_SERIES, panels, strict=True):
        _panel(axes, alphas, values, name)
    panels[0].set_ylim(0.92, 1.005)
    panels[0].set_ylabel("Training accuracy")
    shown = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        shown |= {label: handle for handle, label in zip(handles, labels, strict=True)}
    figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=4)
    without, with_outliers = _bests(values)
    seen = (
        f"at {without:g} with and without them"
        if without == with_outliers
        else f"at {without:g} without them and {with_outliers:g} with them"
    )
    style.note(
        figure,
        "The paper finds the best α around 8 with outliers, and accuracy that falls "
        "with α without. Here the outliers cost a tenth of accuracy, but the best mean "
        f"is {seen}: the tuned α does not give them away, though the curves differ. "
        f"Lines: mean of {values['runs']:,} runs of SGD; bands: the middle 80 % of "
        "runs; thick: within two standard errors of the best (runs are paired). "
        f"Learning rate {LEARNING_RATE:g}, mini-batches of {values['batch']}, "
        f"{values['epochs']} epochs: ours, as the paper states neither these nor the "
        "range of α. Eight outliers at (7.9, −8.0) join the negative class; the scales "
        "of the panels differ.",
    )
    return figure
