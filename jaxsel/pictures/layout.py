"""Assigns the axes of a sweep to x, colours and panels.

A sweep's data set has one dimension for each axis. A measure ``m`` is a variable with the
attributes ``long_name``, ``units`` ("1" if none) and ``kind``; beside it may stand its
interval ``m_low``, ``m_high`` and its exact value ``m_exact``. The data set's attribute
``measures`` lists the measures as JSON.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxsel.host.errors import InputError, check_choice
from jaxsel.language.domains import nearest
from jaxsel.pictures.scales import is_geometric

if TYPE_CHECKING:
    import xarray

ESTIMATE, LOWER, UPPER, EXACT = "estimate", "lower bound", "upper bound", "exact"
KINDS = (ESTIMATE, LOWER, UPPER, EXACT)
_HEAT_MAP_POINTS = 6  # two numeric axes with at least so many points each make a heat map
MOST_HUES, MOST_FACETS, MOST_FACETS_OF_ROWS = 10, 12, 6


class Axis(NamedTuple):
    """One axis of a sweep, given by a coordinate of the data set.

    Attributes:
      name: of the coordinate.
      dimension: of the data set; its name differs if several settings vary together.
      label: for display, with units.
      values: its points, numbers or text.
      numeric: whether they are numbers.
    """

    name: str
    dimension: str
    label: str
    values: np.ndarray
    numeric: bool

    @property
    def geometric(self) -> bool:
        """Whether the points suit a logarithmic scale."""
        return self.numeric and is_geometric(self.values)

    @property
    def texts(self) -> list[str]:
        """The points as text."""
        return [shown(value) for value in self.values]


class Layout(NamedTuple):
    """The layout of a figure.

    Attributes:
      x: the axis along x.
      y: the axis along y of a heat map; None if measures are along y.
      hue: the axis shown by colour, marker and line pattern.
      facet: the axis with one panel per point.
      rows: the measures of each row of panels.
    """

    x: Axis
    y: Axis | None
    hue: Axis | None
    facet: Axis | None
    rows: tuple[tuple[str, ...], ...]


def plan(
    dataset: "xarray.Dataset",
    measures: Sequence[str] | None = None,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
) -> Layout:
    """Chooses a layout for the axes of a sweep that are not assigned by the caller.

    The numeric axis with the most points is x, the longest other one is the hue, the next
    makes panels. Two numeric axes with at least ``_HEAT_MAP_POINTS`` points each make a heat
    map unless a hue is requested. Axes with one point are omitted.

    Args:
      dataset: a sweep.
      measures: which to show; default all.
      x, hue, facet: names of axes.

    Raises:
      InputError: for unknown names, too many axes, or too many points.
    """
    chosen = _measures(dataset, measures)
    asked = [name for name in (x, hue, facet) if name is not None]
    free = _axes(dataset, chosen)
    taken: dict[str, Axis] = {}
    for name in asked:
        axis = _find(dataset, free, name)
        if any(axis.dimension == other.dimension for other in taken.values()):
            raise InputError(f"the axis {name} is asked for twice")
        taken[name] = axis
    used = {axis.dimension for axis in taken.values()}
    waiting = sorted(
        (axis for axis in free if axis.dimension not in used), key=lambda axis: -axis.values.size
    )
    along = taken[x] if x is not None else _pop(waiting, prefer_numeric=True)
    if along is None:
        raise InputError("every axis of the sweep has one point; there is no curve")
    y = None if hue is not None else _heat_map(along, waiting)
    colours = taken[hue] if hue is not None else None
    if colours is None and y is None:
        colours = _pop(waiting)
    panels = taken[facet] if facet is not None else _pop(waiting)
    if waiting:
        names = ", ".join(axis.name for axis in waiting)
        raise InputError(
            f"the picture has no room for the axis {names}; fix it: "
            f"{waiting[0].name}=VALUE, or use --axes facet="
        )
    rows = _rows(dataset, chosen, alone=y is not None)
    _check_size(colours, "told apart", MOST_HUES)
    _check_size(panels, "shown", MOST_FACETS if len(rows) == 1 else MOST_FACETS_OF_ROWS)
    return Layout(along, y, colours, panels, rows)


def label_of(variable: "xarray.DataArray") -> str:
    """Name and units of a variable, for display."""
    name = variable.attrs.get("long_name") or str(variable.name).replace("_", " ")
    units = variable.attrs.get("units", "1")
    return name if units in ("1", "") else f"{name} ({units})"


def kind_of(dataset: "xarray.Dataset", measure: str) -> str:
    """The kind of a measure; raises InputError unless it is one of ``KINDS``."""
    kind = dataset[measure].attrs.get("kind", ESTIMATE)
    check_choice(f"the kind of {measure}", kind, KINDS)
    return kind


def is_audit(dataset: "xarray.Dataset", measure: str) -> bool:
    """Whether a lower bound comes from an audit, and so has a confidence."""
    return "confidence" in dataset[measure].attrs


def shown(value: object) -> str:
    """A point of an axis as text for display."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.3g}"
    return str(value)


def _measures(dataset: "xarray.Dataset", asked: Sequence[str] | None) -> list[str]:
    try:
        known = list(json.loads(dataset.attrs["measures"]))
    except (KeyError, TypeError, ValueError):
        raise InputError("the data set does not say which measures it holds") from None
    known = [name for name in known if name in dataset]
    for name in asked or ():
        if name not in known:
            raise InputError(
                f"the sweep has no measure {name!r}; it has: {', '.join(known)}"
                f"{nearest(name, known)}"
            )
    chosen = list(dict.fromkeys(asked or known))
    if not chosen:
        raise InputError("the sweep has no measure; there is nothing to show")
    return chosen


def _axes(dataset: "xarray.Dataset", measures: Sequence[str]) -> list[Axis]:
    """The axes with at least two points of these measures."""
    names = dict.fromkeys(str(d) for name in measures for d in dataset[name].dims)
    return [_axis(dataset, name) for name in names if dataset.sizes[name] > 1]


def _axis(dataset: "xarray.Dataset", name: str) -> Axis:
    if name not in dataset.coords:
        words = np.array([str(number) for number in range(dataset.sizes[name])])
        return Axis(name, name, name.replace("_", " "), words, False)
    found = dataset.coords[name]
    numeric = found.dtype.kind in "iuf"
    return Axis(name, str(found.dims[0]), label_of(found), found.values, numeric)


def _find(dataset: "xarray.Dataset", axes: list[Axis], name: str) -> Axis:
    """An axis by the name of its dimension, or of a coordinate along it."""
    dimensions = {axis.dimension for axis in axes}
    along = [str(key) for key, c in dataset.coords.items() if c.dims and c.ndim == 1]
    known = [key for key in along if dataset.coords[key].dims[0] in dimensions]
    known = list(dict.fromkeys([*(axis.name for axis in axes), *known]))
    if name not in known:
        raise InputError(
            f"the sweep has no axis {name!r}; it has: {', '.join(known) or 'none'}"
            f"{nearest(name, known)}"
        )
    return _axis(dataset, name)


def _pop(waiting: list[Axis], prefer_numeric: bool = False) -> Axis | None:
    """Removes and returns the first remaining axis, if preferred the first numeric one."""
    if not waiting:
        return None
    numeric = [number for number, axis in enumerate(waiting) if axis.numeric]
    return waiting.pop(numeric[0] if prefer_numeric and numeric else 0)


def _heat_map(along: Axis, waiting: list[Axis]) -> Axis | None:
    """Removes and returns the second axis of a heat map, if there is one."""
    if not along.numeric or along.values.size < _HEAT_MAP_POINTS:
        return None
    for number, axis in enumerate(waiting):
        if axis.numeric and axis.values.size >= _HEAT_MAP_POINTS:
            return waiting.pop(number)
    return None


def _rows(
    dataset: "xarray.Dataset", measures: Sequence[str], alone: bool
) -> tuple[tuple[str, ...], ...]:
    """Groups measures of one quantity, by their attribute or as bounds with equal units."""
    rows: dict[object, list[str]] = {}
    for name in measures:
        attributes = dataset[name].attrs
        quantity = attributes.get("quantity")
        if quantity is None and kind_of(dataset, name) in (LOWER, UPPER):
            quantity = ("bounds", attributes.get("units", "1"))
        rows.setdefault(name if alone or quantity is None else quantity, []).append(name)
    return tuple(tuple(row) for row in rows.values())


def _check_size(axis: Axis | None, what: str, most: int) -> None:
    if axis is not None and axis.values.size > most:
        raise InputError(
            f"the axis {axis.name} has {axis.values.size} points, of which at most {most} "
            f"can be {what}; fix it: {axis.name}=VALUE, or put it along x"
        )
