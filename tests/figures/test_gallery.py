"""The gallery shows what the code draws, and its command takes in only what differs."""

import copy
import json
import os
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from figures import FIGURES, gallery
from figures.common import digest
from figures.common.figure import records_in, render
from jaxsel.data.download import FOLDER_VARIABLE
from tests.figures.sharing import records_of

TRIALS = 1000
# Those whose small record and drawing take a few seconds; ``make gallery`` compares all.
QUICK = ("ps22-4", "ps22-5", "ps22-6", "clnss22-sample-complexity")


# --- what does not depend on the number of trials --------------------------------------


def _masked(text: str) -> str:
    """Without the numbers that may be simulated: those of theorems and names stay."""
    return re.sub(r"(?<![\w.,])(?<![A-Z][a-z]{5}s )[−-]?\d[\d.,e−%-]*", "#", text)


def _is_theory(artist) -> bool:
    """A line without markers; what is simulated are points (CONTRIBUTING.md)."""
    look = f"{artist['look']},"
    return artist["kind"] == "Line2D" and ("linestyle None," not in look and "marker None," in look)


def _lasting(found):
    """A digest without all that follows from how many trials were run."""
    kept = copy.deepcopy(found)
    none = digest.encoded(np.empty((0, 2), dtype=np.int16))
    kept["texts"] = list(map(_masked, kept["texts"]))
    for panel in kept["panels"]:
        panel["title"], panel["place"] = _masked(panel["title"]), [0, 0, 0, 0]
        for axis in (panel["x"], panel["y"]):
            axis["ticks"] = []
            if axis["free"]:
                axis["range"] = [0.0, 1.0]
        for artist in panel["artists"]:
            artist.pop("shade", None)
            artist["texts"] = list(map(_masked, artist.get("texts", ())))
            if not _is_theory(artist):
                artist.update(points=none, count=0)
    for each in [*kept["legends"], *(p["legend"] for p in kept["panels"])]:
        if each:
            each.update(place=[0, 0], texts=list(map(_masked, each["texts"])))
    return kept


def _differences(stored, canvas) -> list[str]:
    """How a figure of small records differs from the one in the gallery."""
    found = digest.digest(canvas)
    for axes, panel in zip(canvas.axes, stored["panels"], strict=False):
        axes.set_xlim(panel["x"]["range"])  # where points lie is told in these
        axes.set_ylim(panel["y"]["range"])
    again = digest.digest(canvas)
    for panel, other in zip(found["panels"], again["panels"], strict=True):
        panel["artists"] = other["artists"]
    return digest.differences(_lasting(stored), _lasting(found))


@pytest.mark.parametrize("name", QUICK)
def test_the_gallery_shows_what_the_code_draws(name, monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    figure = FIGURES[name]
    folder = records_of({record: TRIALS for record in figure.sims})
    stored = digest.read(gallery.GALLERY / f"{name}.json")
    assert stored is not None
    with records_in(folder):
        canvas = render(figure)
    if figure.sims:
        assert _differences(stored, canvas) == []
    else:
        assert digest.differences(stored, digest.digest(canvas)) == []


# --- make gallery ----------------------------------------------------------------------

FORMULAS = "clnss22-sample-complexity"


def test_only_what_shows_something_else_is_taken_in(tmp_path):
    figure = FIGURES[FORMULAS]
    drawn, shown = tmp_path / "drawn", tmp_path / "gallery"
    shown.mkdir()
    picture, stored = (shown / f"{FORMULAS}.{kind}" for kind in ("png", "json"))
    assert gallery.bring(figure, drawn, tmp_path, shown) == "not in the gallery"
    assert picture.read_bytes() == (drawn / f"{FORMULAS}.png").read_bytes()
    # Code changed, so that it is drawn again, but it shows the same: another's pixels stay.
    picture.write_bytes(b"of another machine")
    note = drawn / ".made" / f"{FORMULAS}.json"
    made_from = json.loads(note.read_text())
    made_from["code"]["jaxsel.language.domains"] = "another"
    note.write_text(json.dumps(made_from))
    (drawn / f"{FORMULAS}.png").write_bytes(b"older")
    assert gallery.bring(figure, drawn, tmp_path, shown) == ""
    assert (drawn / f"{FORMULAS}.png").read_bytes() != b"older"
    assert picture.read_bytes() == b"of another machine"
    # The gallery shows something else.
    showed = digest.read(stored)
    assert showed is not None
    showed["panels"][0]["artists"][0]["label"] = "Theorem 9"
    digest.write(stored, showed)
    told = gallery.bring(figure, drawn, tmp_path, shown)
    assert "panel 1: no longer drawn: Line2D 'Theorem 9'" in told
    assert picture.read_bytes() == (drawn / f"{FORMULAS}.png").read_bytes()
    assert stored.read_bytes() == (drawn / f"{FORMULAS}.json").read_bytes()


def test_what_fails_does_not_stop_the_others(tmp_path, monkeypatch):
    def bring(figure, *places):
        if figure.id == "ps22-1":
            raise OSError("disk full")
        return f"with {os.environ.get(FOLDER_VARIABLE)}"

    monkeypatch.setattr(gallery, "bring", bring)
    monkeypatch.setenv(FOLDER_VARIABLE, "given")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    # A folder of data decides nothing but the four that need it.
    told = [
        gallery._work(name, "given", [tmp_path] * 3) for name in ("ps22-1", "ps22-2", "zw22-1a")
    ]
    assert told == [
        ("ps22-1", "FAILED: OSError: disk full"),
        ("ps22-2", "with None"),
        ("zw22-1a", "with given"),
    ]


def test_without_the_data_files_four_are_left_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    left = [name for name in FIGURES if gallery.missing(name)]
    assert left == ["ps22-7", "krw24-5", "zw22-1a", "zw22-table1"]
    assert set(left) == set(gallery.FROM_FILES)
    result = CliRunner().invoke(gallery.app, [*left, "--gallery", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "zw22-1a: left as it is; its data files are not in" in result.output
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_figure_is_refused():
    result = CliRunner().invoke(gallery.app, ["ps22-9"])
    assert result.exit_code == 2
    assert "there is no figure 'ps22-9'; there are: ps22-1" in result.stderr


def test_every_picture_has_its_digest_and_they_weigh_little():
    stored = sorted(gallery.GALLERY.glob("*.json"))
    assert {path.stem for path in stored} == set(FIGURES)
    assert sum(path.stat().st_size for path in stored) < 1e6
