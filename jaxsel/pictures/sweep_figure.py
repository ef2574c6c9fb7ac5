"""The panels of a sweep's figure, their shared axes, legend and caption."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from jaxsel.pictures import heat_map, panels, style
from jaxsel.pictures.captions import WORDS, caption, legend_name, quantity
from jaxsel.pictures.curves import curve_of, selected, values_along
from jaxsel.pictures.layout import (
    ESTIMATE,
    EXACT,
    LOWER,
    UPPER,
    Axis,
    Layout,
    is_audit,
    kind_of,
    label_of,
    shown,
)
from jaxsel.pictures.panels import Marks
from jaxsel.pictures.scales import spans_decades

if TYPE_CHECKING:
    import xarray

_MOST_COLUMNS = 4  # the largest number of panels in one line
_LETTER, _SPACE = 0.07, 0.08  # inches of a character, and between labels
_LEGEND_WIDTH = 1.9  # inches


def drawn(dataset: "xarray.Dataset", chosen: Layout) -> Figure:
    """The figure of a layout, with Matplotlib's current settings."""
    squeezed = dataset.squeeze(drop=False)
    facets = 1 if chosen.facet is None else chosen.facet.values.size
    rows, columns = len(chosen.rows), facets
    if rows == 1:
        # The number of columns that leaves the fewest empty positions.
        columns = min(
            range(min(facets, 2), min(facets, _MOST_COLUMNS) + 1),
            key=lambda count: (-facets % count, -count),
        )
        rows = math.ceil(facets / columns)
    single = rows == columns == 1
    legend = [] if chosen.y is not None else _legend(dataset, chosen)
    side = _LEGEND_WIDTH if legend else 0.0
    width, height = (4.4, 3.5) if single else (3.0, 2.5)
    share_y = chosen.y is not None or (len(chosen.rows) == 1 or "row")
    figure, panels = style.panels(
        columns,
        rows,
        width=max(width * columns + side, 5.2),
        height=height * rows + 0.7,
        sharex=True,
        sharey=share_y,
    )
    grid = np.array(panels).reshape(rows, columns)
    for number, measures in enumerate(chosen.rows):
        row = grid.ravel() if len(chosen.rows) == 1 else grid[number]
        _row(squeezed, chosen, measures, list(row[:facets]))
        for empty in row[facets:]:
            empty.set_axis_off()
    _label(dataset, chosen, grid, facets)
    name = dataset.attrs.get("mechanism")
    if name:
        figure.suptitle(str(name), x=0.01, ha="left", fontsize=10.0, fontweight="bold")
    if legend:
        figure.legend(handles=legend, loc="outside right upper")
    return style.captioned(figure, caption(dataset, chosen))


def _row(
    dataset: "xarray.Dataset", chosen: Layout, measures: tuple[str, ...], row: list[Axes]
) -> None:
    """Draws measures that share their panels, one panel per facet."""
    if chosen.y is not None:
        return _maps(dataset, chosen, measures[0], row)
    hues = 1 if chosen.hue is None else chosen.hue.values.size
    for facet, axes in enumerate(row):
        for number, name in enumerate(measures):
            own = chosen.hue is not None and chosen.hue.dimension in dataset[name].dims
            for hue in range(hues if own else 1):
                curve = curve_of(dataset, chosen, name, hue, facet)
                marks = _marks(dataset, chosen, measures, number, hue if own else None)
                x = panels.places(chosen.x, hue, hues if own else 1)
                panels.draw(axes, x, curve, marks, not chosen.x.numeric)
        _scales(axes, dataset, chosen, measures)
    return None


def _maps(dataset, chosen: Layout, measure: str, row: list[Axes]) -> None:
    assert chosen.y is not None
    norm = heat_map.norm_of(dataset[measure].values)
    for facet, axes in enumerate(row):
        values = selected(dataset[measure], chosen.facet, facet)
        values = values_along(values, dataset, (chosen.x, chosen.y))
        mesh = heat_map.draw(axes, chosen.x, chosen.y, values, norm)
    row[0].figure.colorbar(mesh, ax=row, label=label_of(dataset[measure]))


def _marks(dataset, chosen: Layout, measures, number: int, hue: int | None) -> Marks:
    """Colours distinguish hues; without a hue, the measures of a panel."""
    kinds = [kind_of(dataset, name) for name in measures]
    of_kind = kinds[:number].count(kinds[number])
    look: dict[str, Any]
    if hue is not None:
        look = dict(style.HUES[hue])
    elif chosen.hue is not None:
        look = {"color": style.DARK, "linestyle": "-", "marker": "."}
    else:
        look = dict(style.HUES[number % len(style.HUES)])
    if UPPER in kinds:
        # Dash patterns distinguish the theorems here.
        look = look | {"linestyle": "-"}
    dash = panels.UPPER_DASHES[of_kind % len(panels.UPPER_DASHES)]
    return Marks(look, dash, panels.FACES[of_kind % len(panels.FACES)])


def _scales(axes: Axes, dataset, chosen: Layout, measures: tuple[str, ...]) -> None:
    _scale_x(axes, chosen.x)
    values = [_seen(dataset, name) for name in measures]
    values += [
        dataset[f"{name}_exact"].values.ravel() for name in measures if f"{name}_exact" in dataset
    ]
    bounds = all(kind_of(dataset, name) in (LOWER, UPPER) for name in measures)
    if spans_decades(np.concatenate(values), 1e2 if bounds else 1e3):
        axes.set_yscale("log", nonpositive="clip")
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
    axes.margins(y=0.08)


def _seen(dataset, name: str) -> np.ndarray:
    """The values that a scale must show, without trivial lower bounds of 0."""
    values = np.asarray(dataset[name].values, dtype=np.float64).ravel()
    return values[values > 0.0] if kind_of(dataset, name) == LOWER else values


def _scale_x(axes: Axes, x: Axis) -> None:
    if not x.numeric:
        texts = x.texts
        long = sum(map(len, texts)) > 40
        axes.set_xticks(
            range(len(texts)),
            texts,
            rotation=25 if long else 0,
            ha="right" if long else "center",
            rotation_mode="anchor",
        )
        axes.set_xlim(-0.6, len(texts) - 0.4)
        axes.grid(False, axis="x")
        return
    if x.geometric:
        axes.set_xscale("log")
    points = np.unique(np.asarray(x.values, dtype=np.float64))
    at = np.log(points) if x.geometric else points
    texts = [shown(point) for point in points]
    # The final layout will use some of this width for labels and the legend.
    figure = axes.get_figure(root=True)
    assert figure is not None
    inches = 0.7 * axes.get_position().width * figure.get_size_inches()[0]
    needed = _LETTER * max(map(len, texts)) + _SPACE
    room = needed * (at[-1] - at[0]) / inches
    fitting = _spaced(at, room)
    # Ticks are at decades if the range has some, otherwise at the points themselves.
    if len(fitting) == len(points) or (x.geometric and points[-1] < 100.0 * points[0]):
        axes.set_xticks(points[fitting], [texts[number] for number in fitting])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())


def _spaced(places: np.ndarray, room: float) -> list[int]:
    """Which of increasing positions to keep, so that neighbours are at least ``room`` apart."""
    kept = [0]
    for number in range(1, places.size):
        if places[number] - places[kept[-1]] >= room * (1.0 - 1e-9):
            kept.append(number)
    return kept


def _label(dataset, chosen: Layout, grid: np.ndarray, facets: int) -> None:
    below, left = grid[-1], grid[:, 0]
    if len(chosen.rows) == 1 and facets < grid.size:
        # Panels above an empty position have tick labels.
        for axes in grid[-2, facets - grid.size :]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(chosen.x.label)
    for axes in below:
        axes.set_xlabel(chosen.x.label)
    for number, axes in enumerate(left):
        if chosen.y is not None:
            axes.set_ylabel(chosen.y.label)
        else:
            measures = chosen.rows[min(number, len(chosen.rows) - 1)]
            axes.set_ylabel(quantity(dataset, measures))
    if chosen.facet is not None:
        every = grid.ravel()[:facets] if len(chosen.rows) == 1 else grid[0]
        for axes, value in zip(every, chosen.facet.values, strict=True):
            sign = f"{chosen.facet.label} = " if chosen.facet.numeric else ""
            axes.set_title(f"{sign}{shown(value)}")


def _legend(dataset, chosen: Layout) -> list[Line2D]:
    """Legend entries: first hues, then the meaning of the marks."""
    entries: list[Line2D] = []
    names = [name for row in chosen.rows for name in row]
    if chosen.hue is not None and any(chosen.hue.dimension in dataset[name].dims for name in names):
        entries.append(Line2D([], [], linestyle="none", label=chosen.hue.label))
        for hue, text in enumerate(chosen.hue.texts):
            marks = _marks(dataset, chosen, chosen.rows[0], 0, hue)
            entries.append(panels.hue_key(marks, text))
    told: dict[str, Line2D] = {}
    words = not chosen.x.numeric
    for row in chosen.rows:
        for number, name in enumerate(row):
            kind = kind_of(dataset, name)
            marks = _marks(dataset, chosen, row, number, None)
            if chosen.hue is not None:
                marks = marks._replace(look={**style.HUES[0], "color": style.DARK})
            label = WORDS[kind]
            if len(row) > 1 or (kind == LOWER and not is_audit(dataset, name)):
                label = legend_name(dataset, name, kind)
            told.setdefault(label, panels.key(kind, marks, label, chosen.hue is None, words))
            if kind in (ESTIMATE, LOWER) and f"{name}_exact" in dataset:
                exact = "exact" if len(row) == 1 else f"{label_of(dataset[name])}, exact"
                told.setdefault(exact, panels.key(EXACT, marks, exact, False, words))
    return [*entries, *told.values()]
