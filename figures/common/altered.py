"""Marks a paper's figure that is drawn with other numbers, and shows all simulated points."""

import textwrap
from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jaxsel.language.domains import Domain
from jaxsel.pictures import style
from sims.experiment import Settings, shown

_LETTERS = 13.0  # characters per inch in the warning's font
_LINE, _PAD = 0.155, 0.06  # height of a line and space around the warning, in inches
_MARGIN = 0.04  # beyond the outermost point, as a share of the panel


def mark(figure: Figure, chosen: Settings, known: Mapping[str, Domain]) -> None:
    """Writes above the figure, in red, which numbers are not the paper's.

    Args:
      figure: drawn with ``chosen``.
      chosen: the settings; if there are none, nothing is done.
      known: all that could be set, with the paper's values.
    """
    if not chosen:
        return
    for axes in figure.axes:
        _widen(axes)
    parts = [f"{name} = {shown(value)} ({shown(known[name].default)})" for name, value in chosen]
    width = int(_LETTERS * figure.get_size_inches()[0])
    told = f"not the paper's: {', '.join(parts)}; findings in the caption are the paper's"
    _note(figure, textwrap.wrap(told, width))


def _note(figure: Figure, lines: list[str]) -> None:
    """Writes lines above everything else, in a strip that is added to the figure."""
    width, height = figure.get_size_inches()
    strip = _LINE * len(lines) + 2.0 * _PAD
    figure.draw_without_rendering()  # puts everything in its place
    figure.set_layout_engine("none")
    figure.set_size_inches(width, height + strip)
    share = height / (height + strip)
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((box.x0, share * box.y0, box.width, share * box.height))
    titles = (getattr(figure, name, None) for name in ("_supxlabel", "_suptitle"))
    for text in (*figure.texts, *titles):
        if text is not None:
            text.set_y(share * text.get_position()[1])
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.0, 0.0, 1.0, share), figure.transFigure)
    figure.text(
        _PAD / width,
        1.0 - _PAD / (height + strip),
        "\n".join(lines),
        color=style.RED,
        fontsize=8.5,
        ha="left",
        va="top",
        linespacing=1.25,
    ).set_in_layout(False)


def _points(axes: Axes) -> Iterator[np.ndarray]:
    """Yields the places of single marks, not those of curves: Float["points 2"]."""
    for line in axes.lines:
        if _is_marks(line) and line.get_transform() == axes.transData:
            places = np.column_stack([line.get_xdata(), line.get_ydata()])
            yield np.asarray(places, dtype=np.float64)


def _is_marks(line: Line2D) -> bool:
    return line.get_linestyle() == "None" and line.get_marker() not in ("None", "", None)


def _widen(axes: Axes) -> None:
    """Widens a panel, whose limits were chosen for the paper's numbers, to contain all marks."""
    found = list(_points(axes))
    if not found:
        return
    places = np.concatenate(found)
    for column, get, put, scale in (
        (0, axes.get_xlim, axes.set_xlim, axes.get_xscale()),
        (1, axes.get_ylim, axes.set_ylim, axes.get_yscale()),
    ):
        if scale not in ("linear", "log"):
            continue
        values = places[np.isfinite(places[:, column]), column]
        low, high = get()
        to, back = (np.log, np.exp) if scale == "log" else (np.array, np.array)
        values = values[values > 0.0] if scale == "log" else values
        if not values.size or low > high:
            continue
        ends = np.array([to(low), to(high)])
        reach = np.array([to(values.min()), to(values.max())])
        margin = _MARGIN * max(ends[1] - ends[0], reach[1] - reach[0])
        if reach[0] < ends[0]:
            ends[0] = reach[0] - margin
        if reach[1] > ends[1]:
            ends[1] = reach[1] + margin
        put(*(float(end) for end in back(ends)))
