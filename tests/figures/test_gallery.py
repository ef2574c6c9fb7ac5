"""The gallery shows what the code draws, and its command takes in only what differs."""

import copy
import json
import os
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from figures import FIGURES, gallery, krw24_6
from figures.common import digest
from figures.common.figure import records_in, render
from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.kernel import engine
from sims.experiment import compute
from tests.figures import sharing

# Few trials, since most of the time goes to compiling and to theory; of long ones fewer.
TRIALS = 1000
OTHERS = {
    "clnss22-adaptive": 16,
    "clnss22-pmw": 16,
    "clnss22-svt-error": 64,
    "lt19-adaptive-choice": 8,
    # All outcomes have to occur.
    "krw24-1": 100_000,
    "lt19-packing": 40_000,
}
# Fewer cells of files, or of one function, of which each takes a program or a search of its own.
CELLS = {
    "clnss22-adaptive": {"queries": [3, 30]},
    "clnss22-svt-error": {"beta": [0.3]},
    "clnss22-top-k.boosted": {"confident_beta": [0.8]},
    "krw24-6": {"ranking": ["natural", "0.01"]},
    "krw24-7": {"ranking": ["natural", "0.01"]},
    "krw24-8": {"ranking": ["natural", "0.01"]},
    "lt19-decreasing-thresholds.percentiles": {"runs": [1, 801]},
    "lt19-hard-stop": {"steps": [1, 15, 240]},
    "lt19-packing": {"candidates": [10, 30]},
    # As many queries as the ladder has, whose programs it shares; the first ten are drawn.
    "lt19-percentile.equal": {"queries": 27, "log_odds": [-10.0, 6.0]},
    # The one that is drawn, of the same runs.
    "ps22-1": {"learning_rates": [0.003]},
    "zw22-1b": {"k": [10, 20]},
}
# Their programs run here alone, and in small blocks: most lanes of a block would be of no trial.
SMALL = ("clnss22-svt-error", "lt19-percentile")
# Figures in which an end of an axis, or a line from point to point, follows from the simulation.
OPEN = ("lt19-adaptive-choice", "lt19-hard-stop", "lt19-percentile", "clnss22-pmw")
JOINED = ("lt19-adaptive-choice", "clnss22-adaptive")
# Points of theory of which each takes long: with these some of them are drawn, where they were. A
# plan's alternatives are not drawn.
FEWER = {
    "clnss22-query-release": {
        "figures.clnss22_query_release.REPAIRED": (1, 30, 300),
        "figures.clnss22_query_release._QUERIES": np.array([1, 10, 10_000, 1_000_000]),
    },
    "clnss22-svt-error": {"figures.clnss22_svt_error.CONFIDENCES": (0.5, 10.0, 40.0)},
    "jx-composition": {"figures.jx_composition.TIMES": (1, 16)},
    "jx-optimal-k": {"figures.jx_optimal_k.MEANS": (30.0,), "figures.jx_optimal_k.NOISES": (4.0,)},
    "jx-plan": {"jaxsel.questions.plan.alternatives": lambda budget, chosen: []},
    "jx-priced": {"figures.jx_priced._POINTS": 2},
    "krw24-1": {"figures.krw24_1.SEARCHED": (2, 100), "figures.krw24_1.RELEASES": (1, 10)},
    "krw24-3": {"figures.krw24_3.SEARCHED": (3, 300, 100_000)},
    "krw24-6": {"figures.krw24_6.SEARCHED": dict.fromkeys(krw24_6.FAMILIES, (10.0,))},
    "krw24-7": {"figures.krw24_7.SEARCHED": (10.0,)},
    "krw24-8": {"figures.krw24_8.SEARCHED": (30.0,)},
    "krw24-beta-binomial": {"figures.krw24_beta_binomial.RUNS": (1, 100, 10_000)},
    "ps22-8": {"figures.ps22_8.ORDERS": np.array([1.05, 2.0, 6.0, 16.0, 25.0])},
    "zw22-1b": {"figures.zw22_1b.CURVE": (10, 122, 1500)},
    "zw22-gaps": {"figures.zw22_gaps._FEW": (1, 10, 1000)},
}

# Those of more than seven seconds of a processor; all others together take two and a half minutes.
DEAR = (
    "jx-composition",
    "jx-priced",
    "krw24-1",
    "krw24-4",
    "krw24-6",
    "krw24-8",
    "krw24-beta-binomial",
    "krw24-profile",
    "krw24-profile-dp-sgd",
    "krw24-profile-laplace",
    "lt19-generalisations",
    "lt19-selection",
    "zw22-gaps",
)
# Its blocks have thousands of lanes however few trials are asked for: minutes.
BY_THE_COMMAND_ALONE = ("zw22-table2",)
SHOWN = [
    pytest.param(name, marks=[pytest.mark.rare] * (name in DEAR))
    for name in FIGURES
    if name not in (*gallery.FROM_FILES, *BY_THE_COMMAND_ALONE)
]


# --- what does not depend on the number of trials --------------------------------------


def _masked(text: str) -> str:
    """Without the numbers that may be simulated: those of theorems and names stay."""
    found = re.sub(r"(?<![\w.,])(?<![A-Z][a-z]{5}s )[−-]?\d[\d.,e−%-]*", "#", text)
    return " ".join(found.split())  # lines break elsewhere where a number has more digits


def _is_theory(artist) -> bool:
    """A line without markers; what is simulated are points (CONTRIBUTING.md)."""
    look = f"{artist['look']},"
    return artist["kind"] == "Line2D" and ("linestyle None," not in look and "marker None," in look)


def _marks(panel) -> dict[str, dict]:
    """What is no theory, each kind, label and look once; where it lies depends on the trials."""
    none = digest.encoded(np.empty((0, 2), dtype=np.int16))
    found = {}
    for artist in panel["artists"]:
        if not _is_theory(artist):
            kept = {**artist, "texts": list(map(_masked, artist.get("texts", ())))}
            kept.pop("shade", None)
            kept.update(points=none, count=0)
            found[json.dumps(kept, sort_keys=True)] = kept
    return found


def _lasting(found, small=None):
    """A digest without all that follows from how many trials were run.

    A mark without a label that a digest of ``small`` records lacks is left out, too: few trials
    resolve few points.
    """
    kept = copy.deepcopy(found)
    kept["texts"] = list(map(_masked, kept["texts"]))
    for panel, there in zip(kept["panels"], (small or found)["panels"], strict=True):
        panel["title"], panel["place"] = _masked(panel["title"]), [0, 0, 0, 0]
        for axis in (panel["x"], panel["y"]):
            axis["ticks"] = []
            if axis["free"]:
                axis["range"] = [1.0, 2.0]
        marks, others = _marks(panel), _marks(there)
        named = [name for name in sorted(marks) if "label" in marks[name] or name in others]
        panel["artists"] = [*filter(_is_theory, panel["artists"]), *(marks[name] for name in named)]
    for each in [*kept["legends"], *(p["legend"] for p in kept["panels"])]:
        if each:
            each.update(place=[0, 0], texts=list(map(_masked, each["texts"])))
    return kept


def _without(panel, joined: bool, ends: bool) -> None:
    """Takes lines from point to point, and ranges of which an end is open, out of a panel."""
    if joined:
        none = digest.encoded(np.empty((0, 2), dtype=np.int16))
        for artist in panel["artists"]:
            artist.update(points=none, count=0)
    if ends:
        panel["x"]["range"] = panel["y"]["range"] = [1.0, 2.0]


def _only(stored, found):
    """The points of a curve that are nearest to those of the same curve with fewer points."""
    every, some = digest.decoded(stored["points"]), digest.decoded(found["points"])
    if not 0 < len(some) < len(every):
        return stored
    apart = np.abs(every[:, None].astype(int) - some[None]).max(axis=2)
    return {**stored, "count": found["count"], "points": digest.encoded(every[apart.argmin(0)])}


def _differences(name, stored, canvas) -> list[str]:
    """How a figure of small records, or of fewer points, differs from the one in the gallery."""
    found = digest.digest(canvas)
    for axes, panel in zip(canvas.axes, stored["panels"], strict=True):
        axes.set_xlim(panel["x"]["range"])  # where points lie is told in these
        axes.set_ylim(panel["y"]["range"])
    again = digest.digest(canvas)
    for panel, other in zip(found["panels"], again["panels"], strict=True):
        panel["artists"] = other["artists"]
    one, other = _lasting(stored, found), _lasting(found)
    for panel, there in zip(one["panels"], other["panels"], strict=True):
        for each in (panel, there):
            _without(each, name in JOINED, name in OPEN or name in FEWER)
        if name in FEWER:
            pairs = zip(panel["artists"], there["artists"], strict=True)
            panel["artists"] = [_only(*pair) for pair in pairs]
    return digest.differences(one, other)


def _outside(canvas) -> list[str]:
    """The captions, labels and legends that do not lie within the picture."""
    width, height = canvas.canvas.get_width_height()
    texts = [*canvas.texts, *(text for legend in canvas.legends for text in legend.get_texts())]
    for axes in canvas.axes:
        texts += [axes.xaxis.label, axes.yaxis.label, *axes.texts]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [
        said
        for said, box in boxes
        if min(box.x0, box.y0) < 0.0 or box.x1 > width or box.y1 > height
    ]


def _drawn(name, folder):
    """A figure drawn from small records of the functions that it draws."""
    figure = FIGURES[name]
    files = {experiment.file for experiment in figure.experiments}
    if files and files <= sharing.WHOLE.keys():
        with records_in(sharing.whole(*files)):
            return render(figure)
    for experiment in figure.experiments:
        if experiment.path(folder, ()).exists():
            continue
        compute(
            experiment.function,
            CELLS.get(f"{experiment.file}.{experiment.name}", CELLS.get(experiment.file, {})),
            trials=OTHERS.get(experiment.file, TRIALS),
            seed=0,  # the gallery's
            progress=False,
            record=experiment.path(folder, ()),
        )
    with records_in(folder):
        return render(figure)


@pytest.mark.parametrize("name", SHOWN)
def test_the_gallery_shows_what_the_code_draws(name, tmp_path, monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    for place, value in FEWER.get(name, {}).items():
        monkeypatch.setattr(place, value)
    if name in SMALL:
        monkeypatch.setattr(engine, "block_size", lambda performance: 256)
    stored = digest.read(gallery.GALLERY / f"{name}.json")
    assert stored is not None
    canvas = _drawn(name, tmp_path)
    canvas.canvas.draw()
    assert _outside(canvas) == []
    if FIGURES[name].sims or name in FEWER:
        assert _differences(name, stored, canvas) == []
    else:
        assert digest.differences(stored, digest.digest(canvas)) == []


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A folder of records that several tests draw."""
    return tmp_path_factory.mktemp("records")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda axes: axes.lines[1].set_ydata(0.9 * axes.lines[1].get_ydata()), "moved"),
        (lambda axes: axes.lines[0].set_color("#123456"), "look of Line2D"),
        (lambda axes: axes.lines[0].remove(), "no longer drawn"),
        (lambda axes: axes.plot([1, 2], [1, 2], "o", color="#123456"), "newly drawn"),
        (lambda axes: axes.set_ylabel("another"), "label of y"),
        (lambda axes: axes.set_xscale("linear"), "scale of x"),
    ],
)
def test_what_is_drawn_otherwise_is_seen_by_few_trials(change, told, once):
    """A comparison of a digest with itself, or one that leaves out too much, sees nothing."""
    canvas = _drawn("lbp15-1", once)
    stored = digest.read(gallery.GALLERY / "lbp15-1.json")
    assert stored is not None
    change(canvas.axes[0])
    assert any(told in text for text in _differences("lbp15-1", stored, canvas)), told


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
