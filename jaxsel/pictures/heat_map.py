"""Heat maps of a measure over two numeric axes, with contours and a greyscale-safe palette."""

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import LogLocator, MaxNLocator

from jaxsel.pictures.layout import Axis
from jaxsel.pictures.scales import cell_edges, spans_decades

_COLOURS = "cividis"
_CONTOURS = 6
_WIDE = 30.0  # from this ratio on colours are logarithmic


def norm_of(values) -> Normalize:
    """The range of colours that all panels of a measure share.

    Args:
      values: Float["..."]; NaN and infinities are left blank.
    """
    values = np.asarray(values, dtype=np.float64)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    wide = spans_decades(values, _WIDE)
    return LogNorm(low, high) if wide else Normalize(low, high)


def draw(axes: Axes, x: Axis, y: Axis, values, norm: Normalize):
    """Draws the map; returns the mappable for a colour bar.

    Args:
      axes: the panel.
      x, y: the axes.
      values: Float["x y"].
      norm: from ``norm_of``.
    """
    columns, rows = np.argsort(x.values), np.argsort(y.values)
    across = np.asarray(x.values, dtype=np.float64)[columns]
    up = np.asarray(y.values, dtype=np.float64)[rows]
    table = np.ma.masked_invalid(np.asarray(values, dtype=np.float64))
    table = table[columns][:, rows].T
    for axis, scale in ((x, axes.set_xscale), (y, axes.set_yscale)):
        scale("log" if axis.geometric else "linear")
    mesh = axes.pcolormesh(
        cell_edges(across, x.geometric),
        cell_edges(up, y.geometric),
        table,
        cmap=_COLOURS,
        norm=norm,
        rasterized=True,
    )
    axes.grid(False)
    levels = _levels(norm, table)
    if levels.size:
        _contours(axes, across, up, table, levels)
    return mesh


def _contours(axes: Axes, across, up, table, levels) -> None:
    lines = axes.contour(across, up, table, levels=levels, colors="white", linewidths=0.9)
    edge: list[patheffects.AbstractPathEffect] = [
        patheffects.withStroke(linewidth=2.0, foreground="black")
    ]
    lines.set_path_effects(edge)
    for text in axes.clabel(lines, fmt=lambda level: f"{level:.3g}", fontsize=7.5):
        text.set_path_effects(edge)


def _levels(norm: Normalize, table) -> np.ndarray:
    """Round numbers strictly inside the range of a table."""
    if table.count() == 0 or table.min() == table.max():
        return np.array([])
    if isinstance(norm, LogNorm):
        # For many decades the locator gives powers of ten only.
        locator = LogLocator(subs=(1.0, 2.0, 5.0), numticks=2 * _CONTOURS)
    else:
        locator = MaxNLocator(_CONTOURS)
    low, high = float(table.min()), float(table.max())
    found = np.asarray(locator.tick_values(low, high))
    return found[(found > low) & (found < high)]
