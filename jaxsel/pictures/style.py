"""The look that all figures share: fonts, sizes, and one appearance for each law of K."""

import contextlib
import logging
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

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

_CAPTION_LETTERS = 18.3  # an inch, in the caption's type

# A palette that stays apart for colour-blind readers (Okabe & Ito, darkened where the
# original is too light for thin lines), and a line pattern for print without colour.
_BLUE, _ORANGE, _GREEN = "#0072b2", "#d55e00", "#009e73"
_PURPLE, _BROWN, _BLACK, _GREY = "#aa4499", "#8c6d1f", "#000000", "#7f7f7f"
_SKY, _PINK = "#3aa0dd", "#e377a2"

LAWS: Mapping[str, Mapping[str, Any]] = {
    "η = −0.5": {"color": _SKY, "linestyle": (0, (5, 1.2)), "marker": "v"},
    "Logarithmic η = 0": {"color": _BLUE, "linestyle": "-", "marker": "o"},
    "η = 0.5": {"color": _PURPLE, "linestyle": (0, (7, 1.5)), "marker": "D"},
    "Geometric η = 1": {"color": _ORANGE, "linestyle": "--", "marker": "s"},
    "η = 2": {"color": _PINK, "linestyle": (0, (4, 1, 1, 1)), "marker": "P"},
    "η = 5": {"color": _BROWN, "linestyle": (0, (4, 1, 1, 1)), "marker": "h"},
    "Poisson": {"color": _GREEN, "linestyle": "-.", "marker": "^"},
    "Binomial": {"color": _BROWN, "linestyle": (0, (3, 1, 1, 1, 1, 1)), "marker": "d"},
    "Single run": {"color": _GREY, "linestyle": ":", "marker": "."},
    "Naive repetition": {"color": _BLACK, "linestyle": ":", "marker": "x"},
}
"""Appearance of each law of K, by the name the legends use."""

_HUES = (
    "Logarithmic η = 0", "Geometric η = 1", "Poisson", "η = 0.5", "Naive repetition",
    "η = −0.5", "η = 2", "Binomial", "Single run", "η = 5",
)  # fmt: skip
HUES: tuple[Mapping[str, Any], ...] = tuple(LAWS[name] for name in _HUES)
"""Appearances of a sweep's hues, those most easily told apart first."""

NEUTRAL: Mapping[str, Any] = {"color": _GREY, "linestyle": ":"}


Look = str | Mapping[str, Any]


def look(name: Look) -> dict[str, Any]:
    """Colour, line pattern and marker of a law of K; a look of one's own passes."""
    return dict(LAWS[name] if isinstance(name, str) else name)


def law(name: Look) -> dict[str, Any]:
    """Colour and line pattern of a law of K, as keywords for ``Axes.plot``."""
    found = look(name)
    return {"color": found["color"], "linestyle": found["linestyle"]}


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """Inside, Matplotlib uses the shared settings."""
    with matplotlib.rc_context(dict(SETTINGS)):  # type: ignore[arg-type]
        yield


def panels(
    columns: int = 1, *, width: float | None = None, height: float = 3.4, **settings
) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side; sizes in inches.

    Args:
      columns: number of panels.
      width: of the whole figure; default 5.2 for one panel, 4.6 for each of several.
      height: of the whole figure.
      **settings: for ``Figure.subplots``, such as sharey.
    """
    width = (5.2 if columns == 1 else 4.6 * columns) if width is None else width
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False, **settings)[0]
    return figure, list(axes)


def line(axes: Axes, x, y, name: Look, *, label: str | None = None, **settings):
    """A curve of theory for a law of K; its label is the law's name if none is given."""
    if label is None and isinstance(name, str):
        label = name
    return axes.plot(x, y, label=label, **(law(name) | settings))[0]


def points(axes: Axes, x, y, low, high, name: Look, **settings):
    """Simulated values with their confidence intervals, in the look of a law of K."""
    x, y, low, high = (np.asarray(each) for each in (x, y, low, high))
    # A rounding below zero would be refused by Matplotlib.
    reach = np.maximum(np.stack([y - low, high - y]), 0.0)
    found = look(name)
    chosen = {
        "color": found["color"],
        "marker": found["marker"],
        "linestyle": "none",
        "markersize": 4.2,
        "markerfacecolor": "white",
        "markeredgewidth": 1.1,
        "elinewidth": 1.1,
        "capsize": 2.2,
        "zorder": 3,
    }
    return axes.errorbar(x, y, yerr=reach, **(chosen | settings))


def legend(axes: Axes, **settings):
    """The legend of a panel, in the order of drawing, curves before other marks."""
    handles, labels = axes.get_legend_handles_labels()
    return axes.legend(handles, labels, **settings)


def note(figure: Figure, text: str) -> None:
    """A caption under the figure, in small type: what was assumed and what is shown.

    It is broken into lines that fit the figure.
    """
    width = int(_CAPTION_LETTERS * figure.get_size_inches()[0])
    lines = textwrap.fill(text, width)
    figure.supxlabel(lines, fontsize=7.0, color="#444444", x=0.01, ha="left")


def save(figure: Figure, stem: str | Path, formats: Sequence[str] = ("png", "pdf")):
    """Writes stem.png (150 dots an inch) and stem.pdf; returns their paths.

    Equal figures give equal files: no dates are stored.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    metadata = {
        "png": {"Software": "jaxsel"},
        "pdf": {"CreationDate": None, "Creator": "jaxsel", "Producer": None},
    }
    written = []
    # It remarks on the dates inside the font files that it embeds.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    with applied():
        for kind in formats:
            path = stem.parent / f"{stem.name}.{kind}"
            figure.savefig(path, dpi=150, metadata=metadata.get(kind))
            # The first has arranged the panels; that takes as long as drawing them.
            figure.set_layout_engine("none")
            written.append(path)
    return written
