"""jaxsel plan on the command line: what it keeps, draws, and takes."""

import contextlib
import io
import json

import pytest

from jaxsel import repetitions
from jaxsel.cli.main import main

_PLAN = ["plan", "--base", "gaussian", "--epsilon", "3"]


def _run(capsys, *line: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*line])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.fixture(name="saved", scope="module")
def _saved(tmp_path_factory):
    """A plan of 50 runs, and the file of its law."""
    path, out = tmp_path_factory.mktemp("plan") / "law.json", io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main([*_PLAN, "--runs", "50", "--save", str(path), "--json"])
    assert ended.value.code == 0
    return json.loads(out.getvalue()), path


def test_the_law_goes_to_a_file_that_others_read(capsys, saved):
    document, path = saved
    law = repetitions.parse(f"file:{path}")
    assert law.name == document["law"]
    text = _run(
        capsys, "account", "--base", document["base"], "--repetitions", f"file:{path}", "--json"
    )
    bounds = json.loads(text)["bounds"]
    assert min(b["epsilon"] for b in bounds if b["epsilon"] is not None) == (
        pytest.approx(document["epsilon"], rel=1e-9)
    )
    simulated = _run(
        capsys,
        "simulate",
        "private_tuning",
        f"repetitions=file:{path}",
        "--trials",
        "1000",
        "--json",
    )
    assert sum(row["count"] for row in json.loads(simulated)["outcomes"]) == 1000


def test_compute_is_runs_times_their_price(capsys, saved):
    paid = json.loads(_run(capsys, *_PLAN, "--compute", "200:price=4", "--json"))
    asked, _ = saved
    assert paid["law"] == asked["law"]
    assert paid["compute"] == pytest.approx(4.0 * paid["mean_runs"])
    assert paid["compute"] <= 200.0
    both = _run(capsys, *_PLAN, "--compute", "200", "--runs", "10")
    assert " of 200 on average, at 1 a run." in both


@pytest.mark.parametrize("good", [[], ["--winner", "good=0.05"]])
def test_the_picture_is_drawn(capsys, tmp_path, good):
    path = tmp_path / "plan.png"
    _run(capsys, *_PLAN, "--runs", "20", *good, "--plot", str(path))
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--compute", "0"], "compute is 0"),
        (["--compute", "5:price=-1"], "price is -1"),
        (["--runs", "5", "--save", "/nowhere/law.json"], "there is no folder /nowhere"),
    ],
)
def test_bad_usage_exits_with_two(capsys, extra, message):
    with pytest.raises(SystemExit) as ended:
        main([*_PLAN, *extra])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
