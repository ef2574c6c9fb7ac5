"""The shared style of all figures: fonts, sizes, and one style for each law of K."""

import contextlib
import io
import logging
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from jaxsel.host.intervals import clopper_pearson

SETTINGS: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}

_CAPTION_LETTERS = 18.3  # characters per inch, in the caption's font

# A palette that colour-blind readers can distinguish (Okabe & Ito, darkened where the
# original is too light for thin lines), and a line pattern for print without colour.
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
PURPLE, BROWN, BLACK, GREY = "#aa4499", "#8c6d1f", "#000000", "#7f7f7f"
SKY, PINK = "#3aa0dd", "#e377a2"
DARK = "#444444"  # colour of text, and of marks without a colour of their own
RED = "#b00020"  # colour of non-private values, and of warnings
DIM = "#555555"  # colour of legend entries that stand for all colours

DOTS, DASHES, DASH_DOTS = (0, (1, 1.2)), (0, (5, 1.2)), (0, (4, 1, 1, 1))


def own(color, linestyle: Any = "-", marker: str | None = None, **settings):
    """A style that does not belong to a law of K, as keywords for ``Axes.plot``."""
    found: dict[str, Any] = {"color": color, "linestyle": linestyle}
    return found | ({} if marker is None else {"marker": marker}) | settings


ANY: Mapping[str, Any] = own(DIM, "-", "o")
"""The style of legend entries that stand for all laws."""


LAWS: Mapping[str, Mapping[str, Any]] = {
    "η = −0.5": own(SKY, DASHES, "v"),
    "Logarithmic η = 0": own(BLUE, "-", "o"),
    "η = 0.5": own(PURPLE, (0, (7, 1.5)), "D"),
    "Geometric η = 1": own(ORANGE, "--", "s"),
    "η = 2": own(PINK, DASH_DOTS, "P"),
    "η = 5": own(BROWN, DASH_DOTS, "h"),
    "Poisson": own(GREEN, "-.", "^"),
    "Binomial": own(BROWN, (0, (3, 1, 1, 1, 1, 1)), "d"),
    "Single run": own(GREY, ":", "."),
    "Naive repetition": own(BLACK, ":", "x"),
}
"""The style of each law of K, by its name in legends."""

_HUES = (
    "Logarithmic η = 0",
    "Geometric η = 1",
    "Poisson",
    "η = 0.5",
    "Naive repetition",
    "η = −0.5",
    "η = 2",
    "Binomial",
    "Single run",
    "η = 5",
)
HUES: tuple[Mapping[str, Any], ...] = tuple(LAWS[name] for name in _HUES)
"""The styles of a sweep's hues, in order of distinctness."""

NEUTRAL: Mapping[str, Any] = own(GREY, ":")


Look = str | Mapping[str, Any]


def look(name: Look) -> dict[str, Any]:
    """Colour, line pattern and marker of a law of K; a style is returned unchanged."""
    return dict(LAWS[name] if isinstance(name, str) else name)


def law(name: Look) -> dict[str, Any]:
    """Colour and line pattern of a law of K, as keywords for ``Axes.plot``."""
    found = look(name)
    return {"color": found["color"], "linestyle": found["linestyle"]}


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """Has Matplotlib use the shared style inside the block."""
    with matplotlib.rc_context(dict(SETTINGS)):  # type: ignore[arg-type]
        yield


class _Shown(Figure):
    """A figure that a notebook shows as a picture, also where pyplot was not imported."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        # Without the version of Matplotlib, so that equal pictures are equal files.
        with applied():
            self.savefig(picture, format="png", dpi=110, metadata={"Software": None})
        return picture.getvalue()


def panels(
    columns: int = 1, rows: int = 1, *, width: float | None = None, height: float = 3.4, **settings
) -> tuple[Figure, list[Axes]]:
    """A figure with its panels in reading order; sizes in inches.

    Args:
      columns, rows: number of panels horizontally and vertically.
      width: of the whole figure; default 5.2 for one panel, 4.6 for each of several.
      height: of the whole figure.
      **settings: for ``Figure.subplots``, such as sharey.
    """
    width = (5.2 if columns == 1 else 4.6 * columns) if width is None else width
    figure = _Shown(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **settings)
    return figure, list(axes.ravel())


def line(axes: Axes, x, y, name: Look, *, label: str | None = None, **settings):
    """Draws a theoretical curve for a law of K; its label is by default the law's name."""
    if label is None and isinstance(name, str):
        label = name
    return axes.plot(x, y, label=label, **(law(name) | settings))[0]


def hollow(name: Look, **settings) -> dict[str, Any]:
    """Open markers without a line, as keywords for ``Axes.plot``."""
    shown = {key: look(name)[key] for key in ("color", "marker")}
    return shown | {"linestyle": "none", "markerfacecolor": "white"} | settings


def bars(name: Look, **settings) -> dict[str, Any]:
    """Open markers with thin error bars, as keywords for ``Axes.errorbar``."""
    thin = {"markeredgewidth": 1.1, "elinewidth": 1.1, "capsize": 2.2}
    return hollow(name, markersize=4.2, zorder=3, **thin) | settings


def points(axes: Axes, x, y, low, high, name: Look, **settings):
    """Draws simulated values with their confidence intervals, in the style of a law of K."""
    x, y, low, high = (np.asarray(each) for each in (x, y, low, high))
    # Matplotlib refuses negative lengths, as rounding may cause.
    reach = np.maximum(np.stack([y - low, high - y]), 0.0)
    return axes.errorbar(x, y, yerr=reach, **bars(name, **settings))


def shares(axes: Axes, x, counts, trials: int, name: Look) -> None:
    """Draws fractions of trials with exact 95 % intervals, as ``points``.

    Counts of 0 are omitted, since a logarithmic axis cannot show them.
    """
    counts = np.asarray(counts)
    seen = counts > 0
    low, high = (each[seen] for each in clopper_pearson(counts, trials, 0.95))
    points(axes, np.asarray(x)[seen], counts[seen] / trials, low, high, name)


def plain_ticks(axis: Axis, values=None) -> None:
    """Plain numbers at the ticks of a logarithmic axis.

    Args:
      axis: of a panel.
      values: the ticks to use; default the existing ones.
    """
    if values is not None:
        axis.set_major_locator(FixedLocator(values))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_above(figure: Figure, entries: Axes | Iterable, columns: int, **settings):
    """Adds a legend above all panels, for the artists of one panel or for given artists."""
    if isinstance(entries, Axes):
        entries, _ = entries.get_legend_handles_labels()
    place = {"loc": "outside upper center", "ncols": columns}
    return figure.legend(handles=list(entries), **place, **settings)


def captioned(figure: Figure, text: str) -> Figure:
    """Adds a caption in small type, wrapped to the width of the figure."""
    width = int(_CAPTION_LETTERS * figure.get_size_inches()[0])
    lines = textwrap.fill(text, width)
    figure.supxlabel(lines, fontsize=7.0, color=DARK, x=0.01, ha="left")
    return figure


def save(figure: Figure, stem: str | Path, formats: Sequence[str] = ("png", "pdf")):
    """Writes stem.png (150 dots an inch) and stem.pdf; returns their paths.

    Equal figures give equal files, since no dates are stored.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    metadata = {
        "png": {"Software": "jaxsel"},
        "pdf": {"CreationDate": None, "Creator": "jaxsel", "Producer": None},
    }
    written = []
    # fontTools logs the dates of the font files that are embedded.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    with applied():
        for kind in formats:
            path = stem.parent / f"{stem.name}.{kind}"
            figure.savefig(path, dpi=150, metadata=metadata.get(kind))
            # The layout is computed for the first file only; it takes as long as drawing.
            figure.set_layout_engine("none")
            written.append(path)
    return written
