"""jaxsel report on the command line: three sources, three files, one sentence if bad."""

import json

import pytest

from jaxsel.cli.main import main
from jaxsel.language.default_delta import note
from jaxsel.reports.reading import RELEASE

from .parts import Page, quick
from .test_reading import plan_record, search_record

BASE = ["--base", "gaussian:noise_multiplier=4", "--repetitions", "geometric:mean=5"]


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["report", *arguments])
    captured = capsys.readouterr()
    code = stop.value.code
    assert code is None or isinstance(code, int)
    return code or 0, captured.out, captured.err


def test_an_account_prints_markdown(capsys):
    code, out, error = run(capsys, *BASE)
    assert (code, out) == (0, quick().markdown())
    assert error == f"jaxsel: {note()}\n"  # beside the page, not in it
    assert run(capsys, *BASE, "--delta", "1e-6") == (0, out, "")


def test_files_and_json(capsys, tmp_path):
    out_folder = tmp_path / "statement"
    code, out, _ = run(capsys, *BASE, "--json", "--out", str(out_folder))
    document = json.loads(out)
    assert code == 0
    assert document["epsilon"] == quick().statement.subject.proof.epsilon
    assert document["gaussian_mu"] == quick().statement.mu
    assert [set(row) for row in document["true_positive_rates"]] == [
        {"false_positive_rate", "true_positive_rate"}
    ] * 2
    assert document["versions"].keys() == {"jaxsel", "jax", "dp-accounting"}
    for path in document["files"]:
        with open(path, encoding="utf-8") as stream:
            assert "JX-Envelope" in stream.read()
    Page((out_folder / "report.html").read_text(encoding="utf-8"))


def test_several_releases(capsys):
    code, out, _ = run(capsys, *BASE, "--times", "3", "--beside", "gdp:mu=0.2")
    assert code == 0
    assert "3 times the best of K runs" in out
    assert "JX-Composition" in out
    assert "Of each search K, the other runs" in out


def test_a_plan(capsys, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan_record()))
    code, out, _ = run(capsys, "--plan", str(path), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "Written: " in out
    assert "Runs on average" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_a_finished_search(capsys, tmp_path):
    (tmp_path / RELEASE).write_text(json.dumps(search_record()))
    code, out, _ = run(capsys, "--folder", str(tmp_path))
    assert code == 0
    assert "Released from validation images" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one of"),
        (["--base", "gaussian:noise_multiplier=4"], "--repetitions is missing"),
        (BASE[2:], "--base is missing"),
        ([*BASE, "--plan", "plan.json"], "give one of"),
        (["--plan", "plan.json", "--folder", "here"], "give one of"),
        (["--plan", "/nowhere/plan.json"], "cannot read"),
        (["--plan", "/nowhere/plan.json", "--delta", "1e-5"], "leave --delta out"),
        (["--folder", "/nowhere"], "cannot read"),
        ([*BASE, "--delta", "2"], "delta is 2"),
        ([*BASE, "--delta", "0"], "no epsilon is proved"),
        ([*BASE, "--times", "0"], "times is 0"),
        ([*BASE, "--out", "/dev/null"], "name a folder"),
        (["--base", "gauss", "--repetitions", "geometric:mean=5"], "base is"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(capsys, arguments, message):
    code, out, error = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in error
    assert error.startswith("jaxsel: ")
    assert error.count("\n") == 1


def test_a_plan_that_is_none(capsys, tmp_path):
    path = tmp_path / "search.json"
    path.write_text(json.dumps(search_record()))
    code, _, error = run(capsys, "--plan", str(path))
    assert code == 2
    assert "is no plan" in error


def test_the_help_explains(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for words in ("--plan", "--folder", "--json", "--seed", "upper bounds"):
        assert words in out
