"""Papernot & Steinke 2022, Figure 7: accuracy of the best network of a random search.

One trial draws K, then K times draws a network uniformly from a table of trained ones, and
keeps the most accurate; the paper makes 500 trials. The tables are that of the authors, if it
is at hand (see sims.data.released_accuracies), and those of ``sims.data.digits_accuracies``.
The laws of K and their gammas are those of the authors' released code: E[K] of Poisson is 100
gamma, and all laws but the logarithmic leave out the smallest gammas. If there is no run
(Poisson), the accuracy counts as 0, as in their code.
"""

import textwrap
from typing import Annotated, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.search_accuracy import (
    DELTA,
    POINTS,
    Point,
    budget,
    curve,
    numbers_of,
    simulated,
)
from jaxsel.families.private_tuning.bases import score_table
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.host.errors import InputError
from jaxsel.host.records import digest
from jaxsel.language.domains import probability
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.tuning.bounds.released_search_budget import training_base
from sims.cells import cells
from sims.data import digits_accuracies
from sims.data.digits_accuracies import PAPER_RATES, AccuracyTable
from sims.data.released_accuracies import load_released_accuracies, released_available

TITLE = "Papernot & Steinke 2022, Figure 7: accuracy of the best network"
TRIALS = 500
SECONDS = 12
RELEASED = "released"
NAMES = {
    "eta=0": "Logarithmic η = 0",
    "eta=1": "Geometric η = 1",
    "eta=0.5": "η = 0.5",
    "poisson": "Poisson",
}
AXES = {
    "released": "Privacy budget, as the\nreleased code computes it",
    "theorem": "ε at δ = {delta}, Theorem 2\n(Poisson: Theorem 6)",
    "envelope": "ε at δ = {delta}, envelope\nbound (this project)",
}


class _Window(NamedTuple):
    """The ranges of privacy and of accuracy that a row of panels shows."""

    privacy: tuple[float, float]
    accuracy: tuple[float, float]


_WINDOWS = {
    RELEASED: _Window((0.5, 8.0), (0.85, 0.97)),  # the paper's
    "digits": _Window((0.5, 8.0), (0.4, 0.95)),
    "mnist": _Window((0.0, 3.0), (0.1, 0.95)),
}


def tables() -> dict[str, AccuracyTable]:
    """Every table that is at hand, the authors' first."""
    found = {}
    if released_available():
        released = load_released_accuracies()
        found[RELEASED] = AccuracyTable(
            title="MNIST, 60 epochs, released by the authors",
            learning_rates=released.rates,
            # accuracies have four decimals: whole numbers of 10,000 test images
            correct=np.rint(released.accuracies * 1e4).astype(np.int64)[:, None],
            test_images=10_000,
            sampling_probability=256 / 60_000,
            noise_multiplier=1.1,
            steps=14_063,
        )
    for name in digits_accuracies.SETTINGS:
        if digits_accuracies.stored(name).exists():
            found[name] = digits_accuracies.load(name)
    return found


TABLES = tables()


def _mark(table: AccuracyTable) -> int:
    """A number that distinguishes a table from others."""
    return int(digest(table.correct)[:12], 16)


@cells(measures=["counts"])
def searched(table: AccuracyTable = over(TABLES), point: Point = over(POINTS)) -> Trial:
    """Counts how often each network was the best; networks are numbered row by row."""
    law = point.law
    return Trial(
        private_tuning(score_table(), law.family),
        table.correct.ravel().astype(np.float64),
        {"repetitions": law},
        beside={"table_mark": _mark(table)},
    )


def _table_panel(axes: Axes, table: AccuracyTable, window: _Window) -> None:
    """Draws every network of the table, and the paper's range of learning rates."""
    rates = np.repeat(table.learning_rates, table.correct.shape[1])
    axes.axvspan(*PAPER_RATES, color="#f0f0f0", linewidth=0)
    axes.plot(
        rates, table.correct.ravel() / table.test_images, ".", color=style.DARK, markersize=2.2
    )
    axes.set_xscale("log")
    style.plain_ticks(axes.xaxis, [0.03, 0.1, 0.3, 1.0, 3.0])
    axes.set_xlim(0.02, 10.0)
    axes.set_ylim(*window.accuracy)
    title = "\n".join(textwrap.wrap(f"{table.title}:", 34))
    axes.set_ylabel(f"{title}\ntest accuracy", fontsize=8.5)


def _search_panel(
    axes: Axes, table: AccuracyTable, axis: str, means: xr.Dataset, delta: float
) -> None:
    numbers = numbers_of(table)
    for search, look in NAMES.items():
        row = means.sel(point=[POINTS[p].search == search for p in means["point"].values])
        points = [POINTS[name] for name in row["point"].values]
        style.line(axes, *curve(table, points, axis, delta), look)
        if axis == "released":
            style.line(
                axes, *curve(table, points, "least"), look, label=None, linewidth=0.8, linestyle=":"
            ).set_label("_")
        style.points(
            axes,
            [budget(numbers, point, axis, delta) for point in points],
            row["mean"],
            row["low"],
            row["high"],
            look,
            markersize=3.2,
            elinewidth=0.8,
            capsize=0.0,
            ecolor=to_rgba(style.law(look)["color"], 0.35),
        )
    best = table.correct.max() / table.test_images
    axes.axhline(best, color=style.RED, linewidth=1.0, label="Not private: the best")
    if axis != "released":
        axes.axvline(
            training_base(*numbers).epsilon(delta),
            color=style.NEUTRAL["color"],
            linewidth=0.9,
            linestyle=":",
            label="ε of one run, no search",
        )


def _checked(searched: xr.Dataset, name: str) -> AccuracyTable:
    """The table of that name; raises InputError if another one was searched."""
    table = TABLES[name]
    if np.any(searched["table_mark"].sel(table=name) != _mark(table)):
        raise InputError(
            f"the record of ps22-7 is of another table {name}; run python -m sims ps22-7 --again"
        )
    return table


def draw(
    searched: xr.Dataset, delta: Annotated[float, probability("delta of a search")] = DELTA
) -> Canvas:
    """Draws exact means as lines; the paper's experiment as points with 95 % intervals."""
    names = [name for name in searched["table"].values if name in TABLES]
    figure, panels = style.panels(
        4,
        len(names),
        width=10.4,
        height=1.2 + 2.45 * len(names),
        sharey="row",
        width_ratios=[0.8, 1, 1, 1],
    )
    grid = np.array(panels).reshape(-1, 4)
    for name, panels in zip(names, grid, strict=True):
        table = _checked(searched, name)
        means = simulated(searched.sel(table=name), table)
        window = _WINDOWS.get(name, _WINDOWS[RELEASED])
        _table_panel(panels[0], table, window)
        for axis, axes in zip(AXES, panels[1:], strict=True):
            _search_panel(axes, table, axis, means, delta)
            axes.set_xlim(*window.privacy)
    for text, axes in zip(("Learning rate", *AXES.values()), grid[-1], strict=True):
        axes.set_xlabel(text.format(delta=words.power(delta)))
    style.legend_above(figure, grid[0][2], 6)
    return style.captioned(figure, _caption(searched.attrs["trials"], names))


def _caption(trials: int, names: list[str]) -> str:
    missing = (
        ""
        if RELEASED in names
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
