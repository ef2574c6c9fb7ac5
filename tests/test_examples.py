"""The examples run as they stand, in a folder of their own."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
WRITTEN = {
    "audit_a_function": [],
    "plan_a_search": ["plan.json"],
    "private_search": ["private/ledger", "private/search"],
    "sweep_a_mechanism": ["votes.nc"],
    "tuning_cost": ["report"],
}


def test_each_example_is_listed():
    assert [path.stem for path in EXAMPLES] == list(WRITTEN)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ended = 0
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        ended = stop.code
    assert not ended
    said = capsys.readouterr().out
    assert said
    assert "REFUTED" not in said
    for name in WRITTEN[path.stem]:
        assert (tmp_path / name).exists()
