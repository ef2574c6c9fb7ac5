"""Figures are found, drawn when something changed, and refused in plain words."""

import concurrent.futures
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from figures import FIGURES
from figures.__main__ import app
from figures.common import making
from figures.common.figure import records_in, render
from jaxsel.host import source_digest
from jaxsel.host.errors import InputError
from sims import registry

ROOT = Path(__file__).parents[2]


def test_figures_need_their_records(tmp_path):
    with records_in(tmp_path), pytest.raises(InputError, match="python -m sims ps22-5"):
        render(FIGURES["ps22-5"])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a small record and its pictures; the command's words; and what it said."""
    folder = tmp_path_factory.mktemp("made")
    arguments = ["ps22-6", "--trials", "100", "--out", str(folder / "figures")]
    arguments += ["--records", str(folder / "records")]
    with pytest.MonkeyPatch.context() as patch:
        # Set, it is left alone: the test writes to no cache outside its folder.
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(folder / "compiled"))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder, arguments, CliRunner().invoke(app, arguments)


def test_command_line_simulates_what_is_missing_and_draws(made):
    folder, arguments, result = made
    assert result.exit_code == 0, result.output
    assert "ps22-6: simulating, 100 trials a cell" in result.output
    assert "1 of 1, done" in result.output
    for kind in ("png", "pdf"):
        assert (folder / "figures" / f"ps22-6.{kind}").exists()
    assert "ps22-6.png and .pdf" in result.output
    # Again, and without a budget: the record at hand is good enough.
    assert "up to date" in CliRunner().invoke(app, arguments).output
    without = [arguments[0], *arguments[3:]]
    assert "up to date" in CliRunner().invoke(app, without).output


def test_a_second_call_opens_no_record_and_imports_no_library(made):
    folder, arguments, _ = made
    code = (
        "import sys\nfrom figures.__main__ import app\n"
        "try: app()\nfinally: print(sorted({'jax', 'scipy', 'xarray', 'h5py', 'matplotlib'} & "
        "set(sys.modules)))"
    )
    second = subprocess.run(
        [sys.executable, "-c", code, arguments[0], *arguments[3:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 of 1 are up to date" in second.stdout
    assert second.stdout.endswith("[]\n")
    (folder / "records" / "ps22-6.tuned.nc").write_bytes(b"not a record")
    assert "the record cannot be read" in CliRunner().invoke(app, arguments).output


def test_what_is_not_drawn_yet_is_known_before_any_code_is_read(tmp_path, monkeypatch):
    def read(*asked):
        raise AssertionError("the sources were read")

    monkeypatch.setattr(source_digest, "digests", read)
    place = making.Place(tmp_path, tmp_path)
    assert {making.why_drawn(figure, place) for figure in FIGURES.values()} == {"not drawn yet"}


def test_command_line_lists_figures():
    result = CliRunner().invoke(app, ["--list"])
    assert result.exit_code == 0
    for name in FIGURES:
        assert name in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ps22-9"], "there is no figure 'ps22-9'; there are: ps22-1"),
        ([], "name a figure, or give --all: ps22-1"),
        (["ps22-1", "--trials", "0.5"], "it must be a whole number >= 1"),
    ],
)
def test_command_line_refuses_bad_input(arguments, sentence):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_ids_files_and_sims_fit_together():
    for name, figure in FIGURES.items():
        assert figure.id == name
        assert figure.title
        # formulas alone need no record
        formulas = {
            "audit-zoo",
            "clnss22-sample-complexity",
            "jx-composition",
            "jx-optimal-k",
            "jx-plan",
            "jx-priced",
            "jx-search",
        }
        assert figure.sims or figure.id in formulas
        assert set(figure.sims) <= set(registry.SIMS)


def test_a_figure_and_its_simulation_have_one_name():
    files = {path.stem for path in (ROOT / "figures").glob("*_*.py")} - {"__init__"}
    assert {figure.module.removeprefix("figures.") for figure in FIGURES.values()} == {
        stem for stem in files if not stem.startswith("__")
    }
    for name in registry.SIMS:
        assert FIGURES[name].sims == (name,)


def test_papers_come_in_order_and_numbers_first():
    names = list(FIGURES)
    assert names[:3] == ["ps22-1", "ps22-2", "ps22-3"]
    assert names.index("krw24-8") < names.index("krw24-beta-binomial")
    assert names.index("zw22-1b") < names.index("zw22-gaps") < names.index("lt19-utility")


def test_the_gallery_shows_every_figure_and_nothing_else():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"\(gallery/([\w-]+)\.png\)", text) == list(FIGURES)
    stored = {path.stem for path in (ROOT / "docs" / "gallery").glob("*.png")}
    # docs/sweeps.md shows the sweeps.
    sweeps = {f"sweep-{path.stem}" for path in (ROOT / "sims/sweeps").glob("*.toml")}
    assert stored == set(FIGURES) | sweeps
    for figure in FIGURES.values():
        assert figure.title in " ".join(text.split())


def test_a_picture_is_drawn_again_when_its_code_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    arguments = ["clnss22-sample-complexity", "--out", str(tmp_path)]
    first = CliRunner().invoke(app, arguments).output
    assert "1 of 1, done" in first
    assert "up to date" in CliRunner().invoke(app, arguments).output
    note = tmp_path / ".made" / "clnss22-sample-complexity.json"
    made_from = json.loads(note.read_text())
    made_from["code"]["jaxsel.host.errors"] = "another"
    note.write_text(json.dumps(made_from))
    again = CliRunner().invoke(app, arguments).output
    assert "drawn again; the code changed: jaxsel.host.errors" in again


def test_each_figure_is_drawn_once_and_beside_those_that_read_its_records():
    found = making.chains(FIGURES.values())
    assert sorted(figure.id for each in found for figure in each) == sorted(FIGURES)
    of = {figure.id: number for number, each in enumerate(found) for figure in each}
    for one in FIGURES.values():
        for other in FIGURES.values():
            if set(one.sims) & set(other.sims):
                assert of[one.id] == of[other.id]
    # Otherwise apart: they are shared out among the processes.
    assert len(found) > len(FIGURES) / 2


def test_processes_share_the_figures_out(monkeypatch):
    """Each once, a chain in its order and never beside itself, no process idle."""
    running, most, began, lock = set(), [], [], threading.Lock()
    chain_of = {
        figure.id: number
        for number, chain in enumerate(making.chains(FIGURES.values()))
        for figure in chain
    }

    def task(name, given):
        with lock:
            began.append(name)
            assert chain_of[name] not in running
            running.add(chain_of[name])
            most.append(len(running))
        time.sleep(0.002 if len(name) % 2 else 0.02)
        with lock:
            running.remove(chain_of[name])
        return f"{name} {given}"

    monkeypatch.setattr(
        making,
        "ProcessPoolExecutor",
        lambda number, mp_context: concurrent.futures.ThreadPoolExecutor(number),
    )
    chains = making.chains(FIGURES.values())
    ended = list(making.in_processes(task, chains, 3, "given"))
    assert sorted(ended) == sorted(f"{name} given" for name in FIGURES)
    assert max(most) == 3
    for chain in chains:
        places = [began.index(figure.id) for figure in chain]
        assert places == sorted(places)


def test_the_time_left_is_that_of_the_figures_and_of_this_machine():
    def left(done: float, waiting: float, spent: float, processes: int = 1) -> str:
        one, other = (FIGURES["ps22-6"]._replace(seconds=each) for each in (done, waiting))
        return making.time_left([one], [other], spent, processes)

    assert left(2.0, 600.0, 8.0, 2) == "about 6 min left"  # as it is said, whatever the start took
    assert left(600.0, 600.0, 600.0) == "about 10 min left"
    assert left(600.0, 600.0, 1200.0) == "about 19 min left"  # on a machine half as fast
    assert left(600.0, 20.0, 600.0) == "less than a minute left"
    assert making.time_left([FIGURES["ps22-6"]], [], 1.0, 1) == "done"


@pytest.mark.rare
def test_two_processes_draw_what_one_draws(tmp_path):
    names = ["clnss22-sample-complexity", "ps22-6", "ps22-5"]
    found = []
    for processes in ("1", "2"):
        out = tmp_path / processes
        drawn = subprocess.run(
            [
                sys.executable,
                "-m",
                "figures",
                *names,
                "--trials",
                "100",
                "--out",
                out,
                "--records",
                out,
                "--processes",
                processes,
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert drawn.returncode == 0, drawn.stderr
        assert "3 of 3, done" in drawn.stdout
        found.append([(out / f"{name}.json").read_bytes() for name in names])
    assert found[0] == found[1]
