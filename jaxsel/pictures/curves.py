"""Reads the values of one curve, or of one heat map, from a sweep."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxsel.pictures.layout import Axis, Layout, kind_of

if TYPE_CHECKING:
    import xarray


class Curve(NamedTuple):
    """A measure along x.

    Attributes:
      kind: one of ``layout.KINDS``.
      values: Float["points"].
      low, high: its interval, or None.
      exact: its exact value, or None.
    """

    kind: str
    values: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    exact: np.ndarray | None = None


def curve_of(dataset: "xarray.Dataset", chosen: Layout, name: str, hue: int, facet: int) -> Curve:
    """A measure along x, at one index of the hue and one of the facet."""

    def part(variable: str) -> np.ndarray | None:
        if variable not in dataset:
            return None
        found = selected(dataset[variable], chosen.facet, facet)
        return values_along(selected(found, chosen.hue, hue), dataset, (chosen.x,))

    values = part(name)
    assert values is not None
    ends = (part(f"{name}_{end}") for end in ("low", "high", "exact"))
    return Curve(kind_of(dataset, name), values, *ends)


def selected(variable: "xarray.DataArray", axis: Axis | None, number: int):
    """A variable at one point of an axis, if it varies along it."""
    if axis is None or axis.dimension not in variable.dims:
        return variable
    return variable.isel({axis.dimension: number})


def values_along(
    variable: "xarray.DataArray", dataset: "xarray.Dataset", axes: tuple[Axis, ...]
) -> np.ndarray:
    """Values along axes, Float["..."], broadcast if the variable does not vary along one."""
    for axis in axes:
        if axis.dimension not in variable.dims:
            size = {axis.dimension: dataset.sizes[axis.dimension]}
            variable = variable.expand_dims(size)
    order = [axis.dimension for axis in axes]
    return np.asarray(variable.transpose(*order).values, dtype=np.float64)
