"""The command ``jaxsel sweep``: what it refuses, and when."""

import json

import pytest

from jaxsel.cli import main
from jaxsel.sweeps import running


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))

    def called(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["sweep", *arguments])
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return called


def test_an_axis_that_is_none_is_refused_before_the_work(run, monkeypatch):
    def worked(*arguments, **options):
        raise AssertionError("it was simulated first")

    monkeypatch.setattr(running, "tally", worked)
    for option in ("--x", "--hue", "--facet"):
        code, out, err = run("noisy_max", "epsilon=1,2", option, "epsilonn")
        assert (code, out) == (2, "")
        assert "no axis 'epsilonn'; did you mean epsilon?" in err


def test_a_picture_that_is_refused_does_not_cost_the_numbers(run, tmp_path):
    code, out, err = run(
        "noisy_max", "epsilon=1", "--measure", "success", "--trials", "100",
        "--csv", "a.csv", "--plot", "a.png",
    )  # fmt: skip
    assert code == 2
    assert "there is no curve" in err
    assert "exact 0.5065" in out
    assert (tmp_path / "a.csv").exists()
    assert not (tmp_path / "a.png").exists()


def test_one_document_and_nothing_else(run):
    code, out, err = run("account", "mean=2,3", "--json", "--sketch", "--plot", "a.png")
    assert code == 0
    assert len(json.loads(out)["cells"]) == 2
    assert "written" not in out + err
