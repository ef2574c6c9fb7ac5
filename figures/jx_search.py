"""What tuning is worth at equal total privacy: six ways, two data sets, three budgets.

The table is made by ``sims.data.equal_privacy``: real data, private training with many seeds,
and whole searches of what was trained.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.pictures import style
from sims.data import equal_privacy

TITLE = "Test accuracy of private tuning at equal total privacy, and of one run by a rule"
SIMS = ()
SECONDS = 2
_DATA = {"digits": "handwritten digits", "breast_cancer": "breast cancer"}
_LOOKS = {0.1: (style.GREY, "v"), 1.0: (style.BLUE, "o"), 8.0: (style.ORANGE, "s")}


def rows_of(record: Mapping[str, Any], data: str, epsilon: float) -> list[Mapping[str, Any]]:
    """The ways of tuning on a data set at a total epsilon, in their order."""
    rows = record["rows"]
    return [row for row in rows if row["data"] == data and row["epsilon"] == epsilon]


def _panel(axes: Axes, record: Mapping[str, Any], data: str) -> None:
    epsilons = sorted({row["epsilon"] for row in record["rows"]})
    for number, epsilon in enumerate(epsilons):
        rows = rows_of(record, data, epsilon)
        low, middle, high = np.array([row["quantiles"] for row in rows]).T
        colour, marker = _LOOKS[epsilon]
        axes.errorbar(
            np.arange(len(rows)) + 0.2 * (number - (len(epsilons) - 1) / 2.0),
            middle,
            [middle - low, high - middle],
            color=colour,
            marker=marker,
            linestyle="none",
            capsize=2.5,
            label=f"total ε = {epsilon:g}",
        )
    best = record["best"][data]
    axes.axhline(best, color=style.RED, linewidth=1.0, label="not private: the best")
    titles = [row["title"].replace(", all", ",\nall").replace(" by ", "\nby ") for row in rows]
    axes.set_xticks(np.arange(len(titles)), titles, rotation=25, ha="right", fontsize=8)
    axes.set(ylim=(0.0, 1.02), title=_DATA[data])


def draw() -> Canvas:
    """Draws the median test accuracy of each way of tuning, between its 10 % and 90 % quantiles."""
    record = equal_privacy.load()
    figure, panels = style.panels(2, width=10.4, height=4.4, sharey=True)
    for axes, data in zip(panels, _DATA, strict=True):
        _panel(axes, record, data)
    panels[0].set_ylabel("test accuracy of what is released")
    style.legend_above(figure, panels[0], 4)
    return style.captioned(
        figure,
        f"Softmax regression by noisy gradient descent; {record['candidates']} candidates (step "
        f"size, clipping norm, steps), {record['seeds']} models of each, validation scores with "
        "noise of their own. Points: medians of the released model, bars: 10 % and 90 % quantiles. "
        f"Marks of one colour have the same total ε at δ = {words.power(record['delta'])}, for the "
        f"records that train and for those that are scored: E[K] = {record['mean']}, or "
        f"{record['runs']} runs that are all released. A search that makes no run (Poisson) counts "
        "as accuracy 0.",
    )
