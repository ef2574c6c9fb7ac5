"""Digests of what a picture shows, by which two drawings are compared.

Two machines seldom draw the same pixels, even of the same content. A digest holds the
content: sizes, texts, ranges, and the points of every artist in thousandths of its panel. Two
digests are compared to within about a pixel, and a stored one tells what has changed. A
digest is JSON and takes a few kilobytes.
"""

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

PARTS = 1000  # of a panel's width or height
# Drawings are equal within so many thousandths: about a pixel of a panel of 500 pixels.
NEAR = 3
# The same for panels and legends, which move with the widths of letters, and these differ by
# a pixel between machines.
NEAR_PLACES = 15
_FAR = 2.0  # shares of a panel are clipped to [-2, 2]: nobody sees how far outside a point is
_BLOCKS = 64  # number of blocks of a long curve's points; the mean of each is kept

Digest = Mapping[str, Any]


def digest(figure: "Figure") -> dict[str, Any]:
    """The digest of a figure, which is laid out first.

    Returns:
      A JSON-ready dict: size in inches, texts, legends, and for each panel its place, title,
        axes, legend and artists. An artist has its kind, label, look and texts and, encoded,
        the places of its points and the shades of its cells.
    """
    figure.draw_without_rendering()
    return {
        "size": [round(float(side), 3) for side in figure.get_size_inches()],
        "texts": [text.get_text() for text in figure.texts],
        "legends": [_legend(legend) for legend in figure.legends],
        "panels": [_panel(axes) for axes in figure.axes],
    }


def _panel(axes: "Axes") -> dict[str, Any]:
    legend = axes.get_legend()
    places = [axes.get_title(loc=place) for place in ("left", "center", "right")]
    return {
        "place": _parts(np.array(axes.get_position().bounds)).tolist(),
        "title": " | ".join(filter(None, places)),
        "x": _axis(axes.xaxis, axes.get_xlim(), axes.get_autoscalex_on()),
        "y": _axis(axes.yaxis, axes.get_ylim(), axes.get_autoscaley_on()),
        "legend": None if legend is None else _legend(legend),
        "artists": [_artist(artist, axes) for artist in _artists(axes)],
    }


def _axis(axis: "Axis", ends: tuple[float, float], free: bool) -> dict[str, Any]:
    labels = axis.get_majorticklabels() if axis.get_visible() else []
    return {
        "label": axis.get_label().get_text(),
        "scale": axis.get_scale(),
        "range": [float(f"{end:.6g}") for end in ends],
        "free": bool(free),  # whether the limits follow from what is drawn
        "ticks": [text.get_text() for text in labels if text.get_visible()],
    }


def _legend(legend) -> dict[str, Any]:
    box = legend.get_window_extent()
    around = legend.get_figure().bbox
    place = (box.x0 / around.width, box.y0 / around.height)
    return {
        "title": legend.get_title().get_text(),
        "texts": [text.get_text() for text in legend.get_texts()],
        "place": _parts(np.array(place)).tolist(),
    }


def _artists(axes: "Axes") -> Iterator["Artist"]:
    frame = {*axes.spines.values(), axes.xaxis, axes.yaxis, axes.patch, axes.get_legend()}
    for artist in axes.get_children():
        if artist in frame or not artist.get_visible():
            continue
        if getattr(artist, "get_text", str)() or not hasattr(artist, "get_text"):
            yield artist  # titles that are not set are empty texts, which are left out


def _artist(artist: "Artist", axes: "Axes") -> dict[str, Any]:
    found: dict[str, Any] = {"kind": type(artist).__name__, "look": _look(artist)}
    label = str(artist.get_label())
    if not label.startswith("_"):
        found["label"] = label
    texts = _texts(artist)
    if texts:
        found["texts"] = texts
    with np.errstate(all="ignore"):
        points = axes.transAxes.inverted().transform(_pixels(artist))
    found["count"] = len(points)
    found["points"] = encoded(_parts(_means(points)))
    shade = getattr(artist, "get_array", lambda: None)()
    if shade is not None:
        shares = np.ma.filled(artist.norm(shade), np.nan)  # type: ignore[attr-defined]
        found["shade"] = encoded(_parts(_means(shares.reshape(-1, 1))))
    return found


def _texts(artist: "Artist") -> list[str]:
    if hasattr(artist, "get_celld"):
        cells = sorted(artist.get_celld().items())  # type: ignore[attr-defined]
        return [cell.get_text().get_text() for _, cell in cells]
    text = getattr(artist, "get_text", str)()
    return [text] if text else []


def _look(artist: "Artist") -> str:
    """Colours, lines and markers of an artist, as text."""
    from matplotlib.colors import to_hex, to_rgba_array

    found = []
    for name in ("color", "facecolor", "edgecolor", "markerfacecolor"):
        value = getattr(artist, f"get_{name}", lambda: None)()
        if value is None:
            continue
        colours = (to_hex(row, keep_alpha=True) for row in to_rgba_array(value))
        found.append(f"{name} {' '.join(list(dict.fromkeys(colours))[:6])}")
    for name in ("linestyle", "linewidth", "marker", "markersize", "fontsize", "hatch"):
        value = getattr(artist, f"get_{name}", lambda: None)()
        if isinstance(value, str | int | float):
            found.append(f"{name} {value}")
    return ", ".join(found)


def _pixels(artist: "Artist") -> np.ndarray:
    """Screen coordinates of an artist's points, Float["points 2"]."""
    from matplotlib.collections import Collection, PathCollection, QuadMesh
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    transform = artist.get_transform()
    if isinstance(artist, Line2D):
        found = transform.transform(np.asarray(artist.get_xydata(), dtype=np.float64))
    elif isinstance(artist, PathCollection):
        offsets = np.ma.filled(np.ma.asarray(artist.get_offsets(), float), np.nan)
        found = artist.get_offset_transform().transform(offsets)
    elif isinstance(artist, QuadMesh):
        found = transform.transform(artist.get_coordinates().reshape(-1, 2))  # type: ignore
    elif isinstance(artist, Collection):
        paths = [transform.transform(p.vertices) for p in artist.get_paths()]
        found = np.concatenate(paths) if paths else np.empty((0, 2))
    elif isinstance(artist, Patch):
        found = transform.transform(artist.get_path().vertices)
    elif isinstance(artist, Text):
        found = transform.transform(np.array([artist.get_position()], dtype=float))
    elif isinstance(artist, AxesImage):
        left, right, bottom, top = artist.get_extent()
        found = artist.axes.transData.transform([(left, bottom), (right, top)])
    else:
        found = np.empty((0, 2))
    return np.asarray(found, dtype=np.float64).reshape(-1, 2)


def _means(shares: np.ndarray) -> np.ndarray:
    """Float["points columns"] as it is if it is short, and otherwise the means over its blocks.

    With means every point counts, so a change in any part of a curve is noticed.
    """
    shares = np.clip(shares, -_FAR, _FAR)
    if len(shares) <= _BLOCKS:
        return shares
    return np.stack([block.mean(axis=0) for block in np.array_split(shares, _BLOCKS)])


def _parts(shares: np.ndarray) -> np.ndarray:
    """Converts shares of a panel to thousandths, Int16["..."]; NaN becomes the least integer."""
    none = np.iinfo(np.int16).min
    found = np.rint(PARTS * np.nan_to_num(shares, nan=0.0))
    return np.where(np.isnan(shares), none, found).astype(np.int16)


def encoded(parts: np.ndarray) -> str:
    """Encodes Int16["points columns"] as text, which is short for curves with similar steps."""
    steps = np.diff(parts, axis=0, prepend=np.zeros_like(parts[:1]))
    text = base64.b64encode(zlib.compress(steps.T.astype("<i2").tobytes(), 9)).decode()
    return f"{parts.shape[1]}:{text}"


def decoded(text: str) -> np.ndarray:
    """Inverts ``encoded``."""
    columns, _, letters = text.partition(":")
    steps = np.frombuffer(zlib.decompress(base64.b64decode(letters)), dtype="<i2")
    return np.cumsum(steps.reshape(int(columns), -1).T, axis=0, dtype=np.int16)


def write(path: Path, found: Digest) -> None:
    """Stores a digest as JSON, with one line per entry."""
    text = json.dumps(found, ensure_ascii=False, indent=1)
    # Lists of numbers are put on one line.
    text = re.sub(r"\[\s+([-\d.,\s]+?)\s+\]", lambda m: f"[{_one_line(m[1])}]", text)
    path.write_text(f"{text}\n", encoding="utf-8")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read(path: Path) -> dict[str, Any] | None:
    """Reads a stored digest; None if there is none, or it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def differences(stored: Digest, found: Digest) -> list[str]:
    """Describes how one digest differs from another; empty if nobody would see it.

    Args:
      stored: the digest of what was drawn before.
      found: the digest of what is drawn now.
    """
    told = _differ("the size", stored["size"], found["size"])
    told += _differ("texts", stored["texts"], found["texts"])
    told += _legends("the legend", stored["legends"], found["legends"])
    told += _differ("panels", len(stored["panels"]), len(found["panels"]))
    for number, (one, other) in enumerate(
        zip(stored["panels"], found["panels"], strict=False), start=1
    ):
        told += [f"panel {number}: {text}" for text in _panels(one, other)]
    return told


def _panels(stored: Digest, found: Digest) -> list[str]:
    told = _differ("title", stored["title"], found["title"])
    told += _places("its place", stored["place"], found["place"])
    for name in ("x", "y"):
        told += _axes(name, stored[name], found[name])
    one, other = ([each["legend"]] if each["legend"] else [] for each in (stored, found))
    told += _legends("legend", one, other)
    return told + _artist_lists(stored["artists"], found["artists"])


def _axes(name: str, stored: Digest, found: Digest) -> list[str]:
    told = []
    for part in ("label", "scale", "ticks", "free"):
        told += _differ(f"{part} of {name}", stored[part], found[part])
    ends = [np.array(each["range"]) for each in (stored, found)]
    if stored["scale"] == found["scale"] == "log":
        ends = [np.log(each) for each in ends]
    if np.abs(ends[0] - ends[1]).max() > NEAR / PARTS * np.abs(np.diff(ends[0]))[0]:
        told += _differ(f"range of {name}", stored["range"], found["range"])
    return told


def _legends(name: str, stored: Sequence, found: Sequence) -> list[str]:
    told = _differ(f"{name}s", len(stored), len(found))
    for one, other in zip(stored, found, strict=False):
        told += _differ(f"title of {name}", one["title"], other["title"])
        told += _differ(f"texts of {name}", one["texts"], other["texts"])
        told += _places(f"place of {name}", one["place"], other["place"])
    return told


def _artist_lists(stored: Sequence[Digest], found: Sequence[Digest]) -> list[str]:
    names = [list(map(_name, each)) for each in (stored, found)]
    if names[0] != names[1]:
        gone, new = (Counter(a) - Counter(b) for a, b in (names, names[::-1]))
        told = [f"no longer drawn: {name}" for name in gone.elements()]
        told += [f"newly drawn: {name}" for name in new.elements()]
        return told or ["drawn in another order"]
    told = []
    for name, one, other in zip(names[0], stored, found, strict=True):
        told += _differ(f"look of {name}", one["look"], other["look"])
        told += _differ(f"number of points of {name}", one["count"], other["count"])
        for part in ("points", "shade"):
            told += _moved(f"{part} of {name}", one.get(part), other.get(part))
    return told


def _name(artist: Digest) -> str:
    words = [artist.get("label", ""), *artist.get("texts", ())]
    return " ".join([artist["kind"], *(repr(word) for word in words if word)])


def _moved(name: str, stored: str | None, found: str | None) -> list[str]:
    if stored == found:
        return []
    if stored is None or found is None:
        return [f"{name}: {'now' if stored is None else 'no longer'} there"]
    one, other = (decoded(text).astype(int) for text in (stored, found))
    if one.shape != other.shape:
        return [f"{name}: {len(one)} before, {len(other)} now"]
    apart = np.abs(one - other)
    if apart.max(initial=0) <= NEAR:
        return []
    moved = int(np.count_nonzero((apart > NEAR).any(axis=1)))
    return [f"{name}: {moved} of {len(one)} moved, {apart.max() / PARTS:.3g} at most"]


def _places(name: str, stored: Sequence[int], found: Sequence[int]) -> list[str]:
    near = np.abs(np.array(stored) - np.array(found)).max() <= NEAR_PLACES
    return [] if near else _differ(name, stored, found)


def _differ(name: str, stored: Any, found: Any) -> list[str]:
    return [] if stored == found else [f"{name}: {stored!r} before, {found!r} now"]
