"""Zhu & Wang 2022, Figure 1(a): the 15 states with most COVID-19 cases, day by day."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from jaxsel.host.intervals import mean_interval
from jaxsel.pictures import style

TITLE = "Zhu & Wang 2022, Figure 1(a): top 15 states by COVID-19 cases"
SECONDS = 17
_LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "EM-CDP": (
        "EM-CDP", {"color": "#0072b2", "linestyle": "-", "marker": "o"}
    ),
    "StableTopK": (
        "StableTopK (Algorithm 3)",
        {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    ),
    "TS, then EM": (
        "TS, then EM on half the budget",
        {"color": "#009e73", "linestyle": "-.", "marker": "^"},
    ),
    "TS": (
        "TS alone", {"color": "#009e73", "linestyle": ":", "marker": "v"}
    ),
    "LD": (
        "LD, advanced composition",
        {"color": "#aa4499", "linestyle": "--", "marker": "D"},
    ),
    "LD, pooled": (
        "LD, all picks composed at once",
        {"color": "#7f7f7f", "linestyle": (0, (4, 1, 1, 1)), "marker": "P"},
    ),
}  # fmt: skip
ORDER = ("EM-CDP", "StableTopK", "TS, then EM", "LD")  # the paper's, best first
_TITLES = {"daily": "new cases of the day", "cumulative": "all cases up to the day"}


class Recall(NamedTuple):
    """Mean recall of each window and its confidence limits: Float["windows"] each."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def recalls(
    counts: np.ndarray, k: int, window: int, confidence: float = 0.95
) -> Recall:
    """Mean over the days of a window of the mean recall of a day.

    Args:
      counts: Int64["days hits"], tallies of the number of hits.
      k: size of the set.
      window: days in each.
      confidence: of each window's interval: the mean of its days' intervals, each of
        which errs with a window-th of the rest.
    """
    hits = np.arange(counts.shape[-1])
    trials, totals = counts.sum(axis=1), (counts * hits).sum(axis=1)
    squares = (counts * hits**2).sum(axis=1)
    each = 1.0 - (1.0 - confidence) / window
    low, high = mean_interval(trials, totals, squares, each, 0.0, float(k))
    by_window = [
        (values / k).reshape(-1, window).mean(axis=1)
        for values in (totals / trials, low, high)
    ]
    return Recall(*by_window)


_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun")


def _span(first: str, last: str) -> str:
    """2020-03-12 to 2020-03-21 as "12–21 Mar"."""
    names = [_MONTHS[int(day[5:7])] for day in (first, last)]
    start = f"{int(first[8:])}" + ("" if names[0] == names[1] else f" {names[0]} ")
    return f"{start}–{int(last[8:])} {names[1]}"


def _days(dates: list[str], window: int) -> list[str]:
    starts = range(0, len(dates), window)
    spans = [_span(dates[day], dates[day + window - 1]) for day in starts]
    return [
        f"{day + 1}–{day + window}\n{span}"
        for day, span in zip(starts, spans, strict=True)
    ]


def findings(record) -> dict[str, tuple[str, ...]]:
    """For which kinds of counts a statement of the paper is seen in the means.

    "order": EM-CDP above StableTopK above TS with its fallback above LD, in every
    window; "rising": the recall of all four rises from window to window.
    """
    values = record.values
    found: dict[str, list[str]] = {"order": [], "rising": []}
    for place, kind in enumerate(values["kinds"]):
        means = np.array(
            [
                recalls(
                    record.arrays["counts"][values["methods"].index(name), place],
                    values["k"], values["window"],
                ).mean
                for name in ORDER
            ]
        )  # fmt: skip
        if np.all(means[:-1] > means[1:]):
            found["order"].append(kind)
        if np.all(means[:, 1:] > means[:, :-1]):
            found["rising"].append(kind)
    return {name: tuple(kinds) for name, kinds in found.items()}


def _said(kinds: tuple[str, ...]) -> str:
    return " and for ".join(_TITLES[kind] for kind in kinds) or "neither reading"


def _panel(axes: Axes, record, place: int) -> None:
    values = record.values
    for number, (name, (label, look)) in enumerate(_LOOKS.items()):
        row = values["methods"].index(name)
        found = recalls(
            record.arrays["counts"][row, place], values["k"], values["window"]
        )
        x = np.arange(found.mean.size) + 0.055 * (number - (len(_LOOKS) - 1) / 2.0)
        style.line(axes, x, found.mean, look, linewidth=1.1, alpha=0.8)
        style.points(axes, x, *found, look)
        style.line(
            axes, [], [], look, label=label, linewidth=1.1,
            marker=look["marker"], markerfacecolor="white",
        )  # fmt: skip
    labels = _days(values["dates"], values["window"])
    axes.set_xticks(np.arange(len(labels)), labels)
    axes.set(ylim=(-0.03, 1.03), xlabel="days")
    axes.grid(axis="x", visible=False)
    title = _TITLES[values["kinds"][place]]
    if values["generated"]:
        title += "\nGENERATED DATA: an invented epidemic stands in"
    axes.set_title(title, color="#b00020" if values["generated"] else "k")


def draw() -> Canvas:
    """Mean recall in four windows of ten days, for both readings of the counts."""
    record = load("zw22-1a")
    values = record.values
    figure, panels = style.panels(len(values["kinds"]), width=9.4, height=4.6)
    for place, axes in enumerate(panels):
        _panel(axes, record, place)
    panels[0].set_ylabel(f"mean recall of the top {values['k']} states")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    seen = findings(record)
    delta = words.power(values["delta"])
    style.note(
        figure,
        f"({values['epsilon']:g}, {delta})-DP for the {values['window']} days of a "
        f"window; {int(values['trials']):,} releases a day, 95 % intervals. In every "
        "window EM-CDP is above StableTopK above TS (followed by exponential "
        "mechanisms, as the paper says) above LD (composed as in the paper) for "
        f"{_said(seen['order'])}; the recall of all four rises through all windows for "
        f"{_said(seen['rising'])}. "
        f"Data: {values['source']}.",
    )
    return figure
