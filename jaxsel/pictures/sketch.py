"""A sweep as text for a terminal: the panels of ``sweep.picture`` in characters."""

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.pictures.captions import WORDS, caption, legend_name, quantity
from jaxsel.pictures.curves import curve_of, selected, values_along
from jaxsel.pictures.layout import Axis, Layout, kind_of, label_of, plan, shown
from jaxsel.pictures.scales import spans_decades

if TYPE_CHECKING:
    import xarray

LETTERS = string.ascii_lowercase + string.ascii_uppercase
EXACT_DOT, SEVERAL = "·", "*"
_MARGIN = 9  # width of the numbers along y


class _Scale(NamedTuple):
    """Maps numbers to positions between 0 and 1."""

    low: float
    high: float
    geometric: bool

    def places(self, values: np.ndarray) -> np.ndarray:
        """Positions of values, Float["points"]; 1/2 if all are equal."""
        low, high = self.low, self.high
        if self.geometric:
            values, low, high = np.log(values), np.log(low), np.log(high)
        return (values - low) / (high - low) if high > low else 0.5 + 0.0 * values

    def value(self, place: float) -> float:
        """The number at a position."""
        if self.geometric:
            return float(self.low * (self.high / self.low) ** place)
        return float(self.low + (self.high - self.low) * place)


def sketch(
    dataset: "xarray.Dataset",
    measures: Sequence[str] | None = None,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
    *,
    width: int = 72,
    height: int = 14,
) -> str:
    """Draws a sweep in characters, one panel below the other.

    Every curve has a letter, exact values are dots, and ``*`` marks overlaps; in a heat map
    digits go from 0 for the least value to 9 for the largest.

    Args:
      dataset, measures, x, hue, facet: as for ``sweep.picture``.
      width: columns of a panel, numbers included; at least 30.
      height: lines of a panel.

    Returns:
      Lines of text.

    Raises:
      InputError: as for ``sweep.picture``.
    """
    chosen = plan(dataset, measures, x, hue, facet)
    squeezed = dataset.squeeze(drop=False)
    lines: list[str] = []
    facets = 1 if chosen.facet is None else chosen.facet.values.size
    for row in chosen.rows:
        constant = chosen.facet is None or not any(
            chosen.facet.dimension in dataset[name].dims for name in row
        )
        for number in range(1 if constant else facets):
            title = quantity(dataset, row)
            if chosen.facet is not None and not constant:
                title += f", {chosen.facet.name} = {chosen.facet.texts[number]}"
            lines += [title]
            if chosen.y is None:
                lines += _panel(squeezed, chosen, row, number, width, height)
            else:
                lines += _map(squeezed, chosen, row[0], number, width)
            lines += [""]
    lines += [caption(dataset, chosen)]
    return "\n".join(line.rstrip() for line in lines)


def _panel(
    dataset, chosen: Layout, row: tuple[str, ...], facet: int, width: int, height: int
) -> list[str]:
    hues = 1 if chosen.hue is None else chosen.hue.values.size
    columns = _columns(chosen.x, width - _MARGIN)
    curves, names = [], []
    for name in row:
        own = chosen.hue is not None and chosen.hue.dimension in dataset[name].dims
        for hue in range(hues if own else 1):
            curves.append(curve_of(dataset, chosen, name, hue, facet))
            words = WORDS[kind_of(dataset, name)]
            words = words if len(row) == 1 else legend_name(dataset, name, curves[-1].kind)
            if own and chosen.hue is not None:
                words = f"{chosen.hue.texts[hue]}, {words}"
            names.append(words)
    if len(curves) > len(LETTERS):
        raise InputError(f"a panel has {len(curves)} curves; there are {len(LETTERS)} letters")
    scale = _scale_of(dataset, row)
    cells = np.full((height, width - _MARGIN), " ")
    for curve in curves:
        if curve.exact is not None:
            _mark(cells, *_dots(chosen.x, columns, scale.places(curve.exact)), EXACT_DOT)
    for letter, curve in zip(LETTERS, curves, strict=False):
        _mark(cells, columns, scale.places(curve.values), letter)
    lines = _framed(cells, scale) + _below(chosen.x, columns, width)
    keys = [f"{letter} {name}" for letter, name in zip(LETTERS, names, strict=False)]
    if any(curve.exact is not None for curve in curves):
        keys.append(f"{EXACT_DOT} exact")
    if np.any(cells == SEVERAL):
        keys.append(f"{SEVERAL} several")
    return [*lines, *(" " * _MARGIN + key for key in keys)]


def _map(dataset, chosen: Layout, name: str, facet: int, width: int) -> list[str]:
    assert chosen.y is not None
    found = selected(dataset[name], chosen.facet, facet)
    values = values_along(found, dataset, (chosen.x, chosen.y))
    # The panels of a measure share their scale.
    scale = _scale_of(dataset, (name,))
    columns = _columns(chosen.x, width - _MARGIN)
    lines = []
    for number in np.argsort(chosen.y.values)[::-1]:
        cells = np.full((1, width - _MARGIN), " ")
        for column, value in zip(columns, values[:, number], strict=True):
            if np.isfinite(value):
                cells[0, column] = str(min(9, int(10.0 * scale.places(value))))
        lines.append(f"{shown(chosen.y.values[number]):>7} │" + "".join(cells[0]))
    ends = f"0: {shown(scale.low)}, 9: {shown(scale.high)}"
    if scale.geometric:
        ends += ", on a logarithmic scale"
    notes = [f"along y: {chosen.y.label}", f"{label_of(found)}: {ends}"]
    below = _below(chosen.x, columns, width)
    return [*lines, *below, *(" " * _MARGIN + note for note in notes)]


def _scale_of(dataset, row: tuple[str, ...]) -> _Scale:
    """The scale that all panels of these measures share."""
    variables = [f"{name}{end}" for name in row for end in ("", "_exact")]
    parts = [dataset[name].values.ravel() for name in variables if name in dataset]
    values = np.concatenate(parts).astype(np.float64)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return _Scale(0.0, 1.0, False)
    return _Scale(float(finite.min()), float(finite.max()), spans_decades(values))


def _dots(axis: Axis, columns: np.ndarray, places: np.ndarray):
    """Columns and positions of exact values, interpolated unless x is categorical."""
    if not axis.numeric:
        return columns, places
    order = np.argsort(columns)
    every = np.arange(columns.min(), columns.max() + 1)
    return every, np.interp(every, columns[order], places[order])


def _columns(axis: Axis, width: int) -> np.ndarray:
    """Columns of the points of x, Int["points"]; categories keep away from the edges."""
    if not axis.numeric:
        count = axis.values.size
        return ((np.arange(count) + 0.5) * width / count).astype(int)
    values = np.asarray(axis.values, dtype=np.float64)
    scale = _Scale(values.min(), values.max(), axis.geometric)
    return np.rint(scale.places(values) * (width - 1)).astype(int)


def _mark(cells: np.ndarray, columns: np.ndarray, places, letter: str) -> None:
    height = cells.shape[0]
    for column, place in zip(columns, places, strict=True):
        if not np.isfinite(place):
            continue
        line = height - 1 - round(float(place) * (height - 1))
        there = cells[line, column]
        free = there in (" ", EXACT_DOT)
        cells[line, column] = letter if free else SEVERAL


def _framed(cells: np.ndarray, scale: _Scale) -> list[str]:
    height = cells.shape[0]
    lines = []
    for number, line in enumerate(cells):
        text = ""
        if number % 4 == 0 or number == height - 1:
            text = f"{scale.value(1.0 - number / max(height - 1, 1)):.3g}"
        lines.append(f"{text:>7} │{''.join(line)}")
    return lines


def _below(axis: Axis, columns: np.ndarray, width: int) -> list[str]:
    """The x axis with as many tick labels as fit, and its name."""
    cells = [" "] * width
    taken = -1
    for column, text in sorted(zip(columns.tolist(), axis.texts, strict=True)):
        start = min(max(_MARGIN + column - len(text) // 2, 0), width - len(text))
        if start > taken:
            cells[start : start + len(text)] = text
            taken = start + len(text)
    name = axis.label.center(width - _MARGIN).rstrip()
    return [
        " " * (_MARGIN - 1) + "└" + "─" * (width - _MARGIN),
        "".join(cells).rstrip(),
        " " * _MARGIN + name,
    ]
