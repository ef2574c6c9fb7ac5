"""Papernot & Steinke 2022, Figure 1: a tuned hyperparameter reveals eight outliers."""

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from figures.common import style
from figures.common.figure import load
from jaxsel.errors import InputError

TITLE = "Papernot & Steinke 2022, Figure 1: tuned accuracy with and without outliers"
LEARNING_RATE = 0.003
_SERIES = {
    "without_outliers": ("without outliers", "#0072b2", "o"),
    "with_outliers": ("with outliers", "#d55e00", "s"),
}


def _curve(part: dict) -> dict:
    for curve in part["curves"]:
        if np.isclose(curve["learning_rate"], LEARNING_RATE):
            return curve
    raise InputError(f"the record has no curve for learning rate {LEARNING_RATE:g}")


def draw() -> Canvas:
    """Mean training accuracy, its spread over runs, and the exact minimiser's."""
    values = load("ps22-1").values
    alphas = np.asarray(values["alphas"])
    figure, (axes,) = style.panels(height=3.9)
    for name, (label, colour, marker) in _SERIES.items():
        curve = _curve(values["data"][name])
        mean = np.asarray(curve["mean_accuracy"])
        axes.fill_between(
            alphas, curve["quantile_10"], curve["quantile_90"],
            color=colour, alpha=0.13, linewidth=0,
        )  # fmt: skip
        axes.plot(
            alphas, mean, color=colour, marker=marker, markersize=3.5, label=label
        )
        axes.plot(
            alphas, values["data"][name]["optimum_accuracy"],
            color=colour, linestyle="--", linewidth=1.1,
            label="exact optimum",
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
            label=f"best mean, at α = {alphas[best]:g}",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set(xlim=(alphas[0], alphas[-1]), ylim=(None, 1.01))
    axes.set_xlabel("Regularization weight α (of the hinge loss)")
    axes.set_ylabel("Training accuracy")
    style.legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    style.note(
        figure,
        f"Lines: mean of {values['runs']:,} runs of SGD; bands: the middle 80 % of "
        "runs; thick: within two standard errors of the best (runs are paired). "
        f"Learning rate {LEARNING_RATE:g}, mini-batches of {values['batch']}, "
        f"{values['epochs']} epochs: ours, as the paper states neither these nor the "
        "range of α. Eight outliers at (7.9, −8.0) join the negative class.",
    )
    return figure
