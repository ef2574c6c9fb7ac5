"""Records of simulations: kept while they are true, renewed when anything changed."""

import shutil
import subprocess
import sys

import pytest
import xarray as xr

from jaxsel.host import source_digest
from jaxsel.host.errors import InputError
from jaxsel.sweeps import files
from sims import listing, registry


def test_names_are_listed_without_importing_anything():
    code = (
        "import sys; from sims import SIMS; from figures import FIGURES; "
        "print(len(SIMS) > 30, len(FIGURES) > 40, "
        "{'jax', 'matplotlib', 'xarray'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True True set()"


def test_a_new_file_is_a_new_simulation(tmp_path):
    for stem, text in {
        "zw22_10": "TRIALS = 7",
        "zw22_9": "TRIALS = 2 * 10**3",
        "ps22_new": "TRIALS = 5",
        "helper": "x = 1",
    }.items():
        (tmp_path / f"{stem}.py").write_text(text)
    assert listing.files(tmp_path, "TRIALS") == {
        "ps22-new": {"TRIALS": 5},
        "zw22-10": {"TRIALS": 7},
    }


def test_a_record_is_reused_until_the_configuration_changes(tmp_path):
    told: list[str] = []
    settings = {"trials": 2000, "out": tmp_path, "say": told.append}
    first = registry.run("ps22-6", **settings)
    registry.run("ps22-6", **settings)
    registry.run("ps22-6", **settings, seed=1)
    assert told[2].startswith("ps22-6: its record is renewed where a cell's input")
    assert told[2].endswith("is another; different: seed")
    assert ["up to date" in line for line in told] == [False, True, False]
    again = registry.run("ps22-6", **settings)
    for name, found in first.items():
        xr.testing.assert_identical(again[name], found)


def test_unknown_and_missing(tmp_path):
    with pytest.raises(InputError, match="no simulation 'x'; there are: ps22-1"):
        registry.run("x")
    with pytest.raises(InputError, match="run python -m sims ps22-6"):
        registry.load("ps22-6", tmp_path)


def test_records_on_data_sets_depend_on_the_folder_searched(monkeypatch):
    experiments = [registry.SIMS[name][0] for name in ("krw24-5", "ps22-6")]
    monkeypatch.delenv("JAXSEL_DATA", raising=False)
    before = [registry._configuration(each, 10, 0) for each in experiments]
    monkeypatch.setenv("JAXSEL_DATA", "/somewhere")
    after = [registry._configuration(each, 10, 0) for each in experiments]
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_a_changed_mechanism_makes_the_record_stale(tmp_path, monkeypatch):
    changed = "jaxsel.families.private_tuning.private_tuning"
    copy = tmp_path / "private_tuning.py"
    path_of = source_digest.file_of
    shutil.copy(path_of(changed), copy)
    monkeypatch.setattr(
        source_digest, "file_of", lambda name: copy if name == changed else path_of(name)
    )
    told: list[str] = []
    settings = {"trials": 500, "out": tmp_path, "progress": False, "say": told.append}
    registry.run("ps22-6", **settings)
    copy.write_text("# A comment.\n" + copy.read_text())
    registry.run("ps22-6", **settings)
    assert "up to date" in told[-1]
    copy.write_text(copy.read_text() + "\nPLANTED = 1\n")
    registry.run("ps22-6", **settings)
    assert told[-1].endswith(f"is another; the code changed: {changed}")


def test_one_look_at_the_sources_finds_what_many_find(tmp_path, monkeypatch):
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first.py").write_text("from planted.second import value\n")
    (folder / "second.py").write_text("value = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    asked = ["planted.first", "planted.second", registry.SIMS["ps22-6"][0].module]
    plain = [source_digest.digests([name]) for name in asked]
    read = []
    find = source_digest.file_of
    monkeypatch.setattr(source_digest, "file_of", lambda name: read.append(name) or find(name))
    with source_digest.at_one_moment():
        assert [source_digest.digests([name]) for name in asked] == plain
        assert [source_digest.digests([name]) for name in reversed(asked)] == plain[::-1]
        (folder / "second.py").write_text("value = 3\n")
        assert source_digest.digests(["planted.first"]) == plain[0]
        assert read.count("planted.second") == 2  # its own file, and as what defines a name
    now = source_digest.digests(["planted.first"])
    assert source_digest.changed(plain[0], now) == ("planted.second",)
    source_digest._root.cache_clear()


def test_the_configuration_of_a_record_is_kept_by_its_contents(tmp_path, monkeypatch):
    experiment, *_ = registry.find("ps22-6")
    monkeypatch.setattr(source_digest, "_cache_folder", tmp_path / "kept")
    registry.run("ps22-6", trials=100, out=tmp_path, progress=False)
    first = experiment.configuration(tmp_path, ())
    opened = []
    dataset_of = files.dataset_of
    monkeypatch.setattr(files, "dataset_of", lambda path: opened.append(path) or dataset_of(path))
    assert experiment.configuration(tmp_path, ()) == first
    assert not opened
    for path in (tmp_path / "kept").iterdir():  # damaged
        path.write_text("[1]")
    assert experiment.configuration(tmp_path, ()) == first
    assert len(opened) == 1
    registry.run("ps22-6", trials=200, out=tmp_path, progress=False)
    assert experiment.configuration(tmp_path, ())["trials"] == 200
    experiment.path(tmp_path, ()).write_bytes(b"not a record")
    assert experiment.configuration(tmp_path, ()) is None
    experiment.path(tmp_path, ()).unlink()
    assert experiment.configuration(tmp_path, ()) is None


def test_a_record_that_cannot_be_read_is_made_again(tmp_path):
    for path in registry.record_paths("ps22-6", tmp_path):
        path.write_bytes(b"not a record")
    told: list[str] = []
    registry.run("ps22-6", trials=100, out=tmp_path, progress=False, say=told.append)
    assert "cannot be read" in told[0]
    assert registry.why_simulated("ps22-6", trials=100, out=tmp_path) == ""


def test_functions_are_found_by_reading_their_file(tmp_path):
    path = tmp_path / "ps22_new.py"
    path.write_text(
        "from figures.other import table\n"
        "@cells(measures=['counts'])\ndef tuned(): ...\n"
        "@experiment.computed\ndef made(*, trials, seed, progress): ...\n"
        "def helper(): ...\n"
        "def draw(tuned, table, low=1.0): ...\n"
    )
    assert listing.declared(path) == ("tuned", "made")
    assert listing.read_by_draw(path, "figures.ps22_new") == [
        ("figures.ps22_new", "tuned"),
        ("figures.other", "table"),
    ]
