"""Papernot & Steinke 2022, Figure 7: accuracy of the best network against privacy."""

import textwrap
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from figures.common import words
from figures.common.figure import load
from figures.common.search_accuracy import DELTA, budget, curve, numbers_of, simulated
from jaxsel.families.tuning.bounds.released_search_budget import training_base
from jaxsel.host.errors import InputError
from jaxsel.host.records import digest
from jaxsel.pictures import style
from sims.common.digits_accuracies import PAPER_RATES, AccuracyTable
from sims.ps22_7 import RELEASED, SEARCHES, tables

TITLE = "Papernot & Steinke 2022, Figure 7: accuracy of the best network"
SECONDS = 12
NAMES = {
    "eta=0": "Logarithmic η = 0",
    "eta=0.5": "η = 0.5",
    "eta=1": "Geometric η = 1",
    "poisson": "Poisson",
}
AXES = {
    "released": "Privacy budget, as the\nreleased code computes it",
    "theorem": f"ε at δ = {words.power(DELTA)}, Theorem 2\n(Poisson: Theorem 6)",
    "envelope": f"ε at δ = {words.power(DELTA)}, envelope\nbound (this project)",
}
_NOT_PRIVATE = "#b00020"


class _Window(NamedTuple):
    """What a row of panels shows: privacy, and accuracy."""

    privacy: tuple[float, float]
    accuracy: tuple[float, float]


_WINDOWS = {
    RELEASED: _Window((0.5, 8.0), (0.85, 0.97)),  # the paper's
    "digits": _Window((0.5, 8.0), (0.4, 0.95)),
    "mnist": _Window((0.0, 3.0), (0.1, 0.95)),
}


def _table_panel(axes: Axes, table: AccuracyTable, window: _Window) -> None:
    """Every network of the table, and the paper's range of learning rates."""
    rates = np.repeat(table.learning_rates, table.correct.shape[1])
    axes.axvspan(*PAPER_RATES, color="#f0f0f0", linewidth=0)
    axes.plot(
        rates, table.correct.ravel() / table.test_images, ".",
        color="#444444", markersize=2.2,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks([0.03, 0.1, 0.3, 1.0, 3.0])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlim(0.02, 10.0)
    axes.set_ylim(*window.accuracy)
    title = "\n".join(textwrap.wrap(f"{table.title}:", 34))
    axes.set_ylabel(f"{title}\ntest accuracy", fontsize=8.5)


def _search_panel(
    axes: Axes, table: AccuracyTable, axis: str, points: dict[str, np.ndarray]
) -> None:
    start = 0
    for name, search in SEARCHES.items():
        look = NAMES[name]
        style.line(axes, *curve(table, name, axis), look)
        if axis == "released":
            style.line(
                axes, *curve(table, name, "least"), look,
                label=None, linewidth=0.8, linestyle=":",
            ).set_label("_")  # fmt: skip
        chosen = slice(start, start + len(search.gammas))
        numbers = numbers_of(table)
        x = [budget(numbers, name, gamma, axis) for gamma in search.gammas]
        style.points(
            axes, x, points["mean"][chosen], points["low"][chosen],
            points["high"][chosen], look, markersize=3.2, elinewidth=0.8, capsize=0.0,
            ecolor=to_rgba(style.law(look)["color"], 0.35),
        )  # fmt: skip
        start = chosen.stop
    best = table.correct.max() / table.test_images
    axes.axhline(best, color=_NOT_PRIVATE, linewidth=1.0, label="Not private: the best")
    if axis != "released":
        single = training_base(*numbers_of(table)).epsilon(DELTA)
        axes.axvline(
            single, color=style.NEUTRAL["color"], linewidth=0.9, linestyle=":",
            label="ε of one run, no search",
        )  # fmt: skip


def _rows(record) -> dict[str, tuple[AccuracyTable, np.ndarray]]:
    """The tables of the record that are at hand, with their counts."""
    found = tables()
    rows = {
        name: (found[name], record.arrays[f"counts_{name}"])
        for name in record.values["tables"]
        if name in found
    }
    for name, (table, _) in rows.items():
        if digest(table.correct) != record.values["digests"][name]:
            raise InputError(
                f"the record of ps22-7 is of another table {name}; run python -m sims "
                "ps22-7 --again"
            )
    return rows


def draw() -> Canvas:
    """Lines: exact means; points: the paper's experiment, with 95 % intervals."""
    record = load("ps22-7")
    rows = _rows(record)
    figure = Canvas(figsize=(10.4, 1.2 + 2.45 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(
        len(rows), 4, squeeze=False, sharey="row",
        gridspec_kw={"width_ratios": [0.8, 1, 1, 1]},
    )  # fmt: skip
    for (name, (table, counts)), panels in zip(rows.items(), grid, strict=True):
        window = _WINDOWS.get(name, _WINDOWS[RELEASED])
        points = simulated(table, counts)
        _table_panel(panels[0], table, window)
        for axis, axes in zip(AXES, panels[1:], strict=True):
            _search_panel(axes, table, axis, points)
            axes.set_xlim(*window.privacy)
    for text, axes in zip(("Learning rate", *AXES.values()), grid[-1], strict=True):
        axes.set_xlabel(text)
    handles, labels = grid[0][2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6)
    style.note(figure, _caption(int(record.values["trials"]), rows))
    return figure


def _caption(trials: int, rows) -> str:
    missing = (
        ""
        if RELEASED in rows
        else "The table that the authors released is not at hand (put lr_acc.json into the "
        "folder named by JAXSEL_DATA), and is not drawn. "
    )
    return (
        f"{missing}A search draws K networks of the table on the left, uniformly, and "
        "keeps the most accurate; none counts as 0. Grey: the paper's learning rates; "
        "ours go on, since shorter training wants larger ones. Lines: exact means; "
        f"points: {trials} searches each, 95 % intervals. E[K] of Poisson is 100γ. The "
        "released code plots the least tuned Rényi bound over orders, an ε at δ "
        "between 0.03 and 0.3 only (R-PS-4), with a formula that fails at γ = 0.5 "
        "(E-PS-5) and for Poisson means below 1 (E-PS-1); dotted: the same by Theorem "
        "2 and the corrected Theorem 6."
    )
