"""A digest sees what a reader would see, and nothing that a machine does on its own."""

import json

import numpy as np
import pytest

from figures.common import digest
from jaxsel.pictures import style


def _canvas(change=""):
    """Two panels with curves, points, bands, bars, a map and words; one thing changed."""
    x = np.linspace(1.0, 10.0, 200)
    with style.applied():
        figure, (left, right) = style.panels(2, height=3.4)
        y = x**2 * (1.0 + 1e-9)
        if change == "part of a curve":
            y[100:106] *= 1.6
        if change == "a curve that ends":
            y[150:] = np.nan
        label = "exact: Laplace" if change == "label" else "exact: Gaussian"
        left.plot(x, y, label=label, linestyle="--" if change == "look" else "-")
        if change != "curve left out":
            left.plot(x, x, label="claimed")
        at = np.arange(1, 9)
        style.points(left, at, at + 0.5, at + 0.2, at + 0.9, "Poisson", label="seen")
        left.set(xscale="log", yscale="log", xlabel="runs", ylabel="ε")
        left.set_xlim(1.0, 20.0 if change == "range" else 10.0)
        if change == "scale":
            left.set_yscale("linear")
        left.set_title("one")
        left.legend(loc="lower right" if change == "legend" else "upper left")
        low = 0.3 if change == "band" else 0.2
        right.fill_between(x, low * x, 0.5 * x, color="#0072b2", alpha=0.2)
        right.bar([2.0, 5.0], [1.0, 3.0 if change == "bar" else 2.0])
        right.text(3.0, 4.0, "a word" if change == "word" else "words")
        shade = np.arange(12.0).reshape(3, 4)
        shade[1, 1] += 3.0 if change == "map" else 0.0
        right.pcolormesh(np.arange(5.0), np.arange(4.0), shade, vmin=0.0, vmax=12.0)
        if change == "grid of numbers":
            right.set_xticks([0, 5, 10])
        if change == "panel":
            figure.delaxes(right)
        style.captioned(figure, f"{'50' if change == 'caption' else '10'} trials.")
        if change == "size":
            figure.set_size_inches(9.0, 3.4)
    return figure


CHANGES = {
    "part of a curve": "panel 1: points of Line2D 'exact: Gaussian': 3 of 64 moved",
    "a curve that ends": "panel 1: points of Line2D 'exact: Gaussian'",
    "label": "panel 1: no longer drawn: Line2D 'exact: Gaussian'",
    "look": "panel 1: look of Line2D 'exact: Gaussian'",
    "curve left out": "panel 1: no longer drawn: Line2D 'claimed'",
    "range": "panel 1: range of x: [1.0, 10.0] before, [1.0, 20.0] now",
    "scale": "panel 1: scale of y: 'log' before, 'linear' now",
    "legend": "panel 1: place of legend",
    "band": "panel 2: points of ",
    "bar": "panel 2: points of Rectangle",
    "word": "panel 2: no longer drawn: Text 'words'",
    "map": "panel 2: shade of QuadMesh",
    "grid of numbers": "panel 2: ticks of x",
    "panel": "panels: 2 before, 1 now",
    "caption": "texts: ['10 trials.'] before, ['50 trials.'] now",
    "size": "the size: [9.2, 3.4] before, [9.0, 3.4] now",
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("digests") / "one.json"
    digest.write(path, digest.digest(_canvas()))
    found = digest.read(path)
    assert found is not None
    return found


def test_what_is_stored_is_what_was_drawn(stored):
    found = digest.digest(_canvas())
    assert stored == json.loads(json.dumps(found))
    assert digest.differences(stored, found) == []


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_and_said(stored, change):
    told = digest.differences(stored, digest.digest(_canvas(change)))
    assert any(text.startswith(CHANGES[change]) for text in told), told


def _line(y, top=1.0, x=None):
    figure, (axes,) = style.panels(1)
    axes.plot(np.arange(len(y)) if x is None else x, y)
    axes.set(xlim=(0.0, len(y)), ylim=(0.0, top))
    return digest.digest(figure)


@pytest.mark.parametrize("top", [1e-7, 1.0, 1e7])
def test_what_moves_is_told_from_where_it_is_seen(top):
    """A tenth of a panel is as much where its numbers are small, or large."""
    y = top * np.linspace(0.1, 0.8, 30)
    told = digest.differences(_line(y, top), _line(y + 0.1 * top, top))
    assert len(told) == 1
    assert told[0].endswith("30 of 30 moved, 0.1 at most"), told
    near = digest.differences(_line(y, top), _line(y + 1e-4 * top, top))
    assert near == []


def test_a_curve_that_ends_is_none_in_the_corner():
    x, y = np.arange(40.0), np.linspace(0.5, 1.0, 40)
    ended = y.copy()
    ended[30:] = np.nan
    x[30:] = y[30:] = 0.0
    (told,) = digest.differences(_line(y, x=x), _line(ended))
    assert "10 of 40 moved" in told
    assert digest.differences(_line(ended), _line(ended)) == []


def test_what_no_reader_sees_is_no_difference(stored):
    canvas = _canvas()
    line = canvas.axes[0].get_lines()[0]
    x, y = map(np.asarray, line.get_data())
    line.set_data(x, y * (1.0 + 1e-3))  # a tenth of a pixel, and a pixel is allowed
    canvas.axes[0].set_xlim(1.0, 10.001)
    assert digest.differences(stored, digest.digest(canvas)) == []


def test_the_same_on_any_resolution(stored):
    canvas = _canvas()
    canvas.set_dpi(150)
    assert digest.differences(stored, digest.digest(canvas)) == []


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (7, 1), (64, 2)])
def test_points_are_read_back(shape):
    generator = np.random.default_rng(1)
    parts = generator.integers(-2000, 2001, size=shape).astype(np.int16)
    parts[:1] = np.iinfo(np.int16).min  # no number
    np.testing.assert_array_equal(digest.decoded(digest.encoded(parts)), parts)


def test_a_file_that_is_no_digest_is_none(tmp_path):
    assert digest.read(tmp_path / "none.json") is None
    (tmp_path / "half.json").write_text('{"size": [')
    assert digest.read(tmp_path / "half.json") is None
