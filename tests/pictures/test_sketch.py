"""Sketches in letters: marks where the numbers are."""

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.pictures.sketch import sketch
from tests.pictures import sweeps


@pytest.mark.parametrize("name", sweeps.ALL)
def test_sketches_keep_to_their_width(name):
    lines = sketch(sweeps.ALL[name](), width=60).splitlines()
    *panels, caption = lines
    assert max(map(len, panels)) <= 60
    assert caption.startswith("Fixed: base = finite")


def _panel(text):
    return [line.partition("│")[2] for line in text.splitlines() if "│" in line]


def test_a_rising_curve_rises():
    rows = _panel(sketch(sweeps.one_axis()))
    places = [(line.index("a"), -row) for row, line in enumerate(rows) if "a" in line]
    assert rows[0].endswith("a")
    assert rows[-1].startswith("a")
    assert sorted(places) == sorted(places, key=lambda place: place[1])
    assert sum(line.count("a") for line in rows) == sweeps.MEANS.size
    assert sum(line.count("·") for line in rows) > 20


def test_a_letter_for_each_hue_and_measure():
    text = sketch(sweeps.bounded_by_law())
    assert "a geometric, audited ε, at least" in text
    assert "i logarithmic, envelope, at most" in text
    assert "* several" in text


def test_a_map_is_written_in_digits():
    rows = _panel(sketch(sweeps.heat_map()))
    assert len(rows) == sweeps.MEANS.size
    digits = np.array([[int(d) for d in row.split()] for row in rows])
    success = sweeps.heat_map()["success"].values[::-1]
    share = (success - success.min()) / (success.max() - success.min())
    np.testing.assert_array_equal(digits, np.minimum(9, (10 * share).astype(int)))


def test_panels_are_told_by_their_point():
    text = sketch(sweeps.three_axes())
    assert "success probability, epsilon = 0.5" in text
    assert "success probability, epsilon = 1" in text
    # What does not vary from panel to panel stands there once.
    assert text.count("expected runs (runs)") == 1


def test_a_sketch_refuses_what_a_picture_refuses():
    with pytest.raises(InputError, match="no axis 'meen'"):
        sketch(sweeps.one_axis(), x="meen")


def test_more_curves_than_letters_are_refused():
    one = {"long_name": "ε", "kind": "upper bound"}
    variables = {f"t{n}": (("mean",), sweeps.MEANS, one) for n in range(53)}
    many = sweeps.dataset({"mean": sweeps.MEANS}, variables)
    with pytest.raises(InputError, match="a panel has 53 curves; there are 52 letters"):
        sketch(many)
