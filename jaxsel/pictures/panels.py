"""Draws one panel of a sweep, with a style for each kind of measure.

Estimates are points with intervals, exact values are lines, audited lower bounds are upward
arrows, and proven upper bounds are lines with another dash pattern. Hues differ in colour,
marker and line pattern, so that a print without colour is legible.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.markers import CARETUPBASE, TICKUP
from matplotlib.transforms import Transform, offset_copy

from jaxsel.pictures import style
from jaxsel.pictures.curves import Curve
from jaxsel.pictures.layout import ESTIMATE, EXACT, LOWER, UPPER, Axis

UPPER_DASHES = ((0, (4, 1.6)), (0, (1, 1.2)), (0, (6, 1.4, 1, 1.4)), (0, (2, 1)))
FACES = ("white", None, "#bdbdbd")  # fill colours of a panel's markers; None: filled
_ARROW = 9.0  # points
_ARROW_MARKER = "$\\uparrow$"
_SPREAD = 0.5  # total width of the hues at one category, relative to the distance of categories

_Look = Mapping[str, Any]


class Marks(NamedTuple):
    """The style of one curve.

    Attributes:
      look: colour, line pattern and marker.
      dash: dash pattern of an upper bound.
      face: fill colour of the marker; None for the marker's own colour.
    """

    look: _Look
    dash: Any = UPPER_DASHES[0]
    face: str | None = "white"


def places(axis: Axis, hue: int = 0, hues: int = 1) -> np.ndarray:
    """Positions of the points of x, Float["points"]; side by side for the hues of a category."""
    if axis.numeric:
        return np.asarray(axis.values, dtype=np.float64)
    aside = 0.0 if hues == 1 else _SPREAD * (hue / (hues - 1) - 0.5)
    return np.arange(axis.values.size) + aside


def draw(axes: Axes, x, curve: Curve, marks: Marks, words: bool) -> None:
    """Draws a measure; without lines if x is categorical (``words``)."""
    x = np.asarray(x, dtype=np.float64)
    order = np.argsort(x)
    x = x[order]
    values, low, high, exact = (
        None if part is None else np.asarray(part, dtype=np.float64)[order] for part in curve[1:]
    )
    assert values is not None
    line = dict(style.law(marks.look))
    if curve.kind == ESTIMATE:
        if exact is not None:
            _line(axes, x, exact, line, words, _at_words(EXACT, marks))
        _points(axes, x, values, low, high, marks)
    elif curve.kind == LOWER:
        if exact is not None:
            _line(axes, x, exact, line, words, _at_words(EXACT, marks))
        _arrows(axes, x, values, marks)
    elif curve.kind == UPPER:
        look = line | {"linestyle": marks.dash, "linewidth": 1.2}
        _line(axes, x, values, look | _small(marks), words, _at_words(UPPER, marks))
    else:
        _line(axes, x, values, line | _small(marks), words, _at_words(EXACT, marks))


def key(kind: str, marks: Marks, label: str, marked: bool, words: bool) -> Line2D:
    """The legend entry of a measure; lines with or without markers."""
    look = {"color": marks.look["color"], "label": label}
    if words and kind in (UPPER, EXACT):
        return Line2D([], [], label=label, **_at_words(kind, marks))
    if marked and kind in (UPPER, EXACT):
        look |= _small(marks)
    if kind == UPPER:
        return Line2D([], [], linestyle=marks.dash, linewidth=1.2, **look)
    if kind == EXACT:
        return Line2D([], [], linestyle=marks.look["linestyle"], **look)
    marker = _ARROW_MARKER if kind == LOWER else marks.look["marker"]
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=9 if kind == LOWER else 4.5,
        markerfacecolor=marks.face or marks.look["color"],
        **look,
    )


def hue_key(marks: Marks, label: str) -> Line2D:
    """The legend entry of a hue."""
    return Line2D([], [], label=label, markersize=4.5, markerfacecolor="white", **marks.look)


def _small(marks: Marks) -> dict[str, Any]:
    """A small marker on a line that has no points of its own."""
    return {
        "marker": marks.look["marker"],
        "markersize": 3.0,
        "markerfacecolor": marks.face or marks.look["color"],
        "markeredgewidth": 0.8,
    }


def _line(axes: Axes, x, y, look: _Look, words: bool, at_words: _Look) -> None:
    axes.plot(x, y, **(at_words if words else look))


def _at_words(kind: str, marks: Marks) -> dict[str, Any]:
    """The mark at a category, instead of a line: a dash if exact, a triangle if a bound."""
    look = {"color": marks.look["color"], "linestyle": "none", "markeredgewidth": 1.4}
    if kind == UPPER:
        face = marks.face or marks.look["color"]
        return look | {"marker": "v", "markersize": 5.0, "markerfacecolor": face}
    return look | {"marker": "_", "markersize": 13.0}


def _points(axes: Axes, x, y, low, high, marks: Marks) -> None:
    look = dict(marks.look)
    face = {"markerfacecolor": marks.face or look["color"]}
    if low is None or high is None:
        low = high = y
    drawn = np.isfinite(y)
    style.points(axes, x[drawn], y[drawn], low[drawn], high[drawn], look, **face)


def _arrows(axes: Axes, x, y, marks: Marks) -> None:
    """Markers with upward arrows of fixed length; none for a bound of 0, which is trivial."""
    y = np.where(np.asarray(y) > 0.0, y, np.nan)
    look: dict[str, Any] = {"color": marks.look["color"], "linestyle": "none"}
    face = marks.face or marks.look["color"]
    axes.plot(
        x,
        y,
        **look,
        marker=marks.look["marker"],
        markersize=4.2,
        markerfacecolor=face,
        markeredgewidth=1.1,
        zorder=4,
    )
    figure = axes.get_figure(root=True)
    raised = offset_copy(axes.transData, figure, y=_ARROW, units="points")
    strokes: tuple[tuple[Any, float, Transform], ...] = (
        (TICKUP, _ARROW, axes.transData),
        (CARETUPBASE, 4.0, raised),
    )
    for marker, size, transform in strokes:
        shape = look | {"marker": marker, "markersize": size, "markeredgewidth": 1.0}
        stroke = Line2D(x, y, zorder=3.5, **shape)
        stroke.set_transform(transform)
        axes.add_artist(stroke)
        stroke.set_clip_on(False)
