"""jaxsel optimal as people and scripts use it."""

import json

import pytest

from jaxsel.cli import main

BASE = ("--base", "gaussian:noise_multiplier=4")


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out, captured.err


def test_the_law_is_printed_saved_and_accounted(capsys, tmp_path):
    path = tmp_path / "law.json"
    wishes = ("--runs", "10", "--winner", "rank_of=geometric:mean=10", "--save", str(path))
    code, out, _ = run(capsys, "optimal", *BASE, *wishes, "--json")
    found = json.loads(out)
    assert code == 0
    assert 1.06 < found["lower"] <= found["epsilon"] < 1.48
    assert found["mean_runs"] <= 10.0
    law = ("--repetitions", f"file:{path}", "--delta", "1e-6", "--json")
    code, out, _ = run(capsys, "account", *BASE, *law)
    cost = json.loads(out)
    assert code == 0
    assert cost["epsilon"] == pytest.approx(found["epsilon"], abs=1e-12)


def test_in_words(capsys):
    code, out, _ = run(capsys, "optimal", *BASE, "--most", "5", "--winner", "good=0.2,chance=0.6")
    assert code == 0
    assert "No law of K" in out
    assert "probability" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--winner", "0.05"), "write name=value with one or more of: good, chance"),
        (("--most", "10", "--winner", "good=0.05,chance=0.7"), "take 0.5988 or more"),
        (("--runs", "30", "--winner", "rank=0.02"), "take runs >= 49"),
        (("--runs", "5", "--delta", "0"), "delta is 0"),
        ((), "nothing is asked of the search"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(capsys, arguments, said):
    code, out, err = run(capsys, "optimal", *BASE, *arguments)
    assert code == 2
    assert not out
    assert err.startswith("jaxsel: ")
    assert err.count("\n") == 1
    assert said in err


def test_the_help_explains(capsys):
    code, out, _ = run(capsys, "optimal", "--help")
    assert code == 0
    for option in ("--base", "--runs", "--winner", "rank_of=", "none=", "--save"):
        assert option in out
