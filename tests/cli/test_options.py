"""Options: records of them, those of 0.2.0, and defaults that are those of Python."""

import inspect
import json
import warnings
from typing import Annotated, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

import jaxsel
from jaxsel.cli import (
    account_command,
    optimal_command,
    plan_command,
    plan_releases_command,
    sweep_command,
    tune_command,
)
from jaxsel.cli.main import main
from jaxsel.cli.options import Command, _today, as_command
from jaxsel.host.errors import InputError
from jaxsel.search.tune import Grid, Training

BASE = ("--base", "pure:epsilon=0.1")


# --- Records, --seed, former options ----------------------------------------------------


class Size(NamedTuple):
    """Two options."""

    runs: Annotated[int, typer.Option("--runs")] = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def _said(*words: str, former=None) -> tuple[int, str, str]:
    app = typer.Typer()

    @app.command(cls=Command)
    @as_command(former or {})
    def command(
        base: Annotated[str, typer.Option("--base")] = "b",
        size: Size = Size(),
        winner: Annotated[str | None, typer.Option("--winner")] = None,
        json: Annotated[bool, typer.Option("--json")] = False,
    ) -> None:
        print([base, *size, winner, json])

    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.stdout, done.stderr


def test_an_option_of_one_value_is_given_once():
    code, out, said = _said("--winner", "good=.05", "--runs", "2", "--winner=none=.01")
    assert (code, out) == (2, "")
    assert "--winner" in said
    assert "it is given 2 times; give it once" in " ".join(said.split())
    # The texts of former options are gathered, and flags say the same twice.
    assert _said("--json", "--json", "--name", "x", "--name", "y")[0] == 0


def test_every_field_of_a_record_is_an_option_and_a_seed_is_taken():
    assert _said() == (0, "['b', 3, None, None, False]\n", "")
    given = ("--name", "x", "--runs", "5", "--seed", "7", "--name", "y", "--json")
    assert _said(*given)[1] == "['b', 5, ['x', 'y'], None, True]\n"


FORMER = {
    "--bases": "--base",
    "--good": "--winner.good",
    "--chance": "--winner.chance",
    "--miss": lambda text: ("--winner", {"good": text, "chance": "1"}),
    "--grid": lambda text: ("--base", f"grid:{text}"),
}


@pytest.mark.parametrize(
    ("words", "today"),
    [
        (["--bases", "c"], ["--base", "c"]),
        (["--bases=c=d"], ["--base", "c=d"]),
        (["--good", "1", "--runs", "4", "--chance=2"], ["--winner", "good=1,chance=2"]),
        (["--good", "1", "--winner", "rank=3"], ["--winner", "rank=3,good=1"]),
        (["--good", "1", "--winner", "law"], ["--winner", "law:good=1"]),
        (["--miss", "1"], ["--winner", "good=1,chance=1"]),
        (["--grid", "9"], ["--base", "grid:9"]),
    ],
)
def test_a_former_option_is_todays_and_says_so(words, today):
    runs = ["--runs", "4"] if "--runs" in words else []
    code, out, err = _said(*words, former=FORMER)
    assert (code, out) == _said(*today, *runs)[:2]
    assert err.count("\n") == sum(word.partition("=")[0] in FORMER for word in words)
    assert all(line.endswith(" now") for line in err.splitlines())


def test_a_part_that_two_former_options_say_is_refused():
    with pytest.raises(InputError, match="good of --winner is given twice"):
        _today(["--miss", "1", "--good", "2"], FORMER)


def test_a_former_option_without_a_value_is_refused():
    code, _, err = _said("--good", former=FORMER)
    assert code == 2
    assert "'--good' requires an argument" in err


# --- What 0.2.0 was told --------------------------------------------------------------------


def _answer(capsys, line: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    return int(ended.value.code or 0), *capsys.readouterr()


def _tells_what_it_was_asked(*given, **named):
    raise InputError(f"asked {given} {sorted(named.items())}")


@pytest.mark.parametrize(
    ("former", "today"),
    [
        ("account BASE --grid 3", "account BASE --drawn grid:n=3"),
        (
            "plan BASE --runs 9 --good 0.2 --chance 0.7 --none 0.2",
            "plan BASE --runs 9 --winner good=0.2,chance=0.7,none=0.2",
        ),
        (
            "plan BASE --rank-of tnb:eta=0.5,mean=3 --compute 9 --price 20",
            "plan BASE --winner rank_of=tnb:eta=0.5,mean=3 --compute 9:price=20",
        ),
        ("plan BASE --advantage 2 --rank 0.3", "plan BASE --attack advantage=2 --winner rank=0.3"),
        (
            "plan BASE --true-positive-rate 0.1 --at-false-positive-rate 0.2",
            "plan BASE --attack true_positive_rate=0.1,false_positive_rate=0.2",
        ),
        (
            "plan --mechanism noisy_max --epsilon 1 --releases 9 --set relation=monotone",
            "plan-releases noisy_max relation=monotone --epsilon 1 --releases 9",
        ),
        (
            "optimal BASE --most 9 --miss 0.2=0.4",
            "optimal BASE --most 9 --winner good=0.2,chance=0.6",
        ),
        ("sweep account mean=2,3 --hue none", "sweep account mean=2,3 --axes hue=none"),
        ("tune --budget 3", "tune --ledger budget=3"),
    ],
)
def test_options_of_0_2_0_are_answered_as_todays_with_a_warning(capsys, monkeypatch, former, today):
    for place in (
        "jaxsel.questions.plan.plan",
        "jaxsel.questions.plan_releases.plan_releases",
        "jaxsel.tuning.planning.optimal.optimal",
    ):
        monkeypatch.setattr(place, _tells_what_it_was_asked)
    lines = [f"{line.replace('BASE', ' '.join(BASE))} --json" for line in (former, today)]
    code, out, err = _answer(capsys, lines[0])
    expected = _answer(capsys, lines[1])
    assert (code, out) == expected[:2]
    assert err.endswith(expected[2])
    assert " now\n" in err.removesuffix(expected[2])


def test_files_of_0_2_0_are_read_with_a_warning(tmp_path, capsys):
    path, table = tmp_path / "it.toml", tmp_path / "it.csv"
    path.write_text(f'sweep = "account"\ncsv = "{table}"\nx = "mean"\n[settings]\nmean = [2, 3]\n')
    with pytest.warns(
        DeprecationWarning, match="the key (csv|x) of .* is a part of (table|axes) now"
    ):
        code, _, _ = _answer(capsys, f"sweep {path}")
    assert code == 0
    assert len(table.read_text().splitlines()) == 3


def _refusal(function, **asked):
    with pytest.raises(InputError) as refused:
        function("gaussian:noise_multiplier=4", **asked)
    return refused.value


@pytest.mark.parametrize(
    ("former", "today"),
    [
        (
            # Refused, which is quicker than what they ask for.
            lambda: _refusal(jaxsel.plan, compute=9, price=2.0, rank=0.1, none=0.2),
            lambda: _refusal(jaxsel.plan, compute="9:price=2", winner="rank=0.1,none=0.2"),
        ),
        (
            lambda: _refusal(jaxsel.plan, true_positive_rate=0.1, false_positive_rate=0.2),
            lambda: _refusal(
                jaxsel.plan, attack="true_positive_rate=0.1,false_positive_rate=0.2"
            ),
        ),
        (
            lambda: _refusal(jaxsel.optimal, most=9, good=0.05, chance=0.7),
            lambda: _refusal(jaxsel.optimal, most=9, winner="good=0.05,chance=0.7"),
        ),
        (
            lambda: jaxsel.PrivateSearch(
                [1, 2], base="pure:epsilon=1", adaptive=True, runs=3, looks=1, pad=False,
                score=jaxsel.scores.count(noise=4), scored="validation", stopping="own trajectory",
            ).guarantee,
            lambda: jaxsel.PrivateSearch(
                [1, 2], base="pure:epsilon=1", drawn="adaptively:n=3",
                score=jaxsel.scores.count(noise=4),
                declared="scored=validation,stopping=own trajectory,looks=1",
            ).guarantee,
        ),
        (
            lambda: jaxsel.sweep(
                "account",
                {"repetitions": "tnb", "eta": [1, 2], "mean": [2, 3]},
                zipped=[("eta", "mean")],
            ),
            lambda: jaxsel.sweep(
                "account", {"repetitions": "tnb", ("eta", "mean"): [[1, 2], [2, 3]]}
            ),
        ),
    ],
    ids=["winner", "attack", "optimal", "PrivateSearch", "sweep"],
)  # fmt: skip
def test_arguments_of_0_2_0_are_answered_as_todays_with_a_warning(former, today):
    with pytest.warns(DeprecationWarning, match=" now"):
        found = former()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(found) == str(today())


# --- One default on both sides ----------------------------------------------------------------


def _defaults(function) -> dict:
    return {
        name: each.default
        for name, each in inspect.signature(function).parameters.items()
        if each.default is not inspect.Parameter.empty
    }


_SAME = {
    "account": (account_command.account_command, jaxsel.account),
    "plan": (plan_command.plan_command, jaxsel.plan),
    "plan-releases": (plan_releases_command.plan_releases_command, jaxsel.plan_releases),
    "optimal": (optimal_command.optimal_command, jaxsel.optimal),
    "tune": (tune_command.tune_command, jaxsel.tune),
    "grid of tune": (tune_command.tune_command, Grid),
    "training of tune": (tune_command.tune_command, Training),
    "sweep": (sweep_command.sweep_command, jaxsel.sweep),
}


@pytest.mark.parametrize("name", list(_SAME))
def test_what_is_not_said_is_the_same_on_both_sides(name):
    """A command that has None passes nothing on: then the default is that of the function."""
    command, function = map(_defaults, _SAME[name])
    both = command.keys() & function.keys()
    assert len(both) >= 2
    for each in both:
        assert command[each] in (None, function[each]), each


def test_no_command_has_more_than_seventeen_options(capsys):
    for command in ("account", "report", "plan", "optimal", "tune", "sweep", "ledger"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        lines = capsys.readouterr().out.splitlines()
        options = [line for line in lines if line.startswith("  --") and "--help" not in line]
        assert 5 <= len(options) <= 17, (command, options)


def test_json_is_one_document_though_an_option_is_of_before(capsys):
    _, out, _ = _answer(capsys, f"account {' '.join(BASE)} --grid 3 --json")
    assert json.loads(out)["grid"]["candidates"] == 3
