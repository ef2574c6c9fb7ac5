"""The doors of audits: equal names and defaults on both sides, and nothing lost on the way.

A door is a command and the function of Python that answers the same question. Lines and calls of
0.2.0 go through the doors of today, with a warning.
"""

import importlib
import inspect

import numpy as np
import pytest
import typer

import jaxsel
import jaxsel.testing
from jaxsel.auditing.functions import audit_function as auditing
from jaxsel.auditing.functions.how import Calls, How, read
from jaxsel.cli import audit_command, former_lines, function_commands
from jaxsel.host.errors import InputError
from tests.cli.test_cli import run

DOORS = {
    "audit": (audit_command.audit_command, jaxsel.audit),
    "audit-function": (function_commands.audit_function_command, jaxsel.audit_function),
    "replay": (function_commands.replay_command, jaxsel.replay),
    "check-law": (function_commands.check_law_command, jaxsel.check_law),
}
# What a command alone has: how a run is split, a text for several runs, and where answers go.
COMMANDS_OWN = {"settings", "at", "report", "json", "function"} | {
    *("record", "shard", "coordinator", "processes", "process", "scheduler")
}
# What a call alone has: objects that no text says.
CALLS_OWN = {"subject", "method", "progress", "performance", "kind", "settings"}
MINE = """
def noisy(rng, data, n, epsilon=1.0):
    return sum(data) + rng.laplace(scale=1.0 / epsilon, size=n)
"""


# No other process can import it, so that none is started.
noisy = lambda rng, data, n: sum(data) + rng.laplace(size=n)  # noqa: E731


@pytest.fixture(name="place")
def _place(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return f"{tmp_path / 'mine.py'}:noisy"


def _defaults(door) -> dict:
    return {one.name: one.default for one in inspect.signature(door).parameters.values()}


@pytest.mark.parametrize("name", DOORS)
def test_both_sides_of_a_door_have_equal_names_and_defaults(name):
    command, asked = (_defaults(side) for side in DOORS[name])
    assert set(command) - COMMANDS_OWN == set(asked) - CALLS_OWN
    shared = set(command) & set(asked) - {"settings", "mechanism", "data"}
    assert "seed" in shared
    for one in shared - {"relation", "claim", "law"}:  # which have none
        said, meant = command[one], asked[one]
        assert (float(said) if isinstance(said, str) else said) == meant, one


@pytest.mark.parametrize("name", DOORS)
def test_no_door_has_more_than_seventeen_parameters(name):
    assert max(len(_defaults(side)) for side in DOORS[name]) <= 17


def test_two_questions_of_a_mechanism_have_equal_defaults():
    epsilon, delta = _defaults(jaxsel.audit), _defaults(jaxsel.audit_delta)
    shared = set(epsilon) & set(delta)
    assert set(epsilon) - shared == {"delta"}
    assert set(delta) - shared == {"epsilon"}
    assert {one: epsilon[one] for one in shared} == {one: delta[one] for one in shared}


# --- Nothing is lost on the way -------------------------------------------------------


def test_an_audit_of_a_function_hands_on_each_option(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        auditing, "search_and_bound", lambda *given, **named: seen.update(named, given=given)
    )
    how = How(2.0, 3.0, "generator", 4, True, True, True, True, True, 5)
    asked = {"relation": "local", "trials": 7, "seed": 3, "settings": {"a": 1}, "how": how}
    one = lambda rng, data, a=0: 0.0  # noqa: E731
    jaxsel.audit_function(one, [0.0], [1.0], claim=1.0, delta=0.25, confidence=0.75, **asked)
    (subject, *inputs), said = seen.pop("given"), seen.pop("said")
    (claim,) = seen.pop("claims")
    assert (subject.call, subject.kind, inputs) == (one, "generator", [[0.0], [1.0]])
    assert (claim, said) == ((1.0, 0.25), "epsilon 1 at delta 0.25")
    assert seen == {**asked, "false_alarm": 0.25}


def test_a_command_hands_on_each_option(monkeypatch, place):
    seen = {}

    class Enough(Exception):
        pass

    def noted(*given, **named):
        seen.update(named, given=given[1:])
        raise Enough

    monkeypatch.setattr(function_commands, "audit_function", noted)
    law = importlib.import_module("jaxsel.auditing.functions.law")
    monkeypatch.setattr(law, "check_law", noted)
    replaying = importlib.import_module("jaxsel.auditing.functions.replay")
    monkeypatch.setattr(replaying, "replay", noted)
    effort = {"trials": "5e3", "confidence": 0.75, "seed": 3}
    how = ["seconds=2", "bits"]
    with pytest.raises(Enough):
        function_commands.audit_function_command(
            function=place, settings=["epsilon=2"], relation="local", claim="zcdp:rho=1",
            delta=0.25, data="[0];[1]", at=["other=3"], how=how, **effort,
        )  # fmt: skip
    assert seen == {
        "given": ([0], [1]),
        "relation": "local",
        "claim": "zcdp:rho=1",
        "delta": 0.25,
        "trials": 5000,
        "confidence": 0.75,
        "seed": 3,
        "settings": {"epsilon": 2, "other": 3},
        "how": "seconds=2,bits",
    }
    seen.clear()
    with pytest.raises(Enough):
        function_commands.check_law_command(
            function=place, settings=["epsilon=2"], data="[0, 1]", law="norm", how=["seconds=2"],
            **effort,
        )  # fmt: skip
    given = {"trials": 5000, "confidence": 0.75, "seed": 3, "settings": {"epsilon": 2}}
    assert seen == {"given": ([0, 1],), "law": "norm", "how": "seconds=2", **given}
    seen.clear()
    with pytest.raises(Enough):
        function_commands.replay_command(
            function=place, settings=["epsilon=2"], relation="local", claim=2.0, data="[0]", seed=3
        )
    asked = {"relation": "local", "claim": 2.0, "seed": 3, "settings": {"epsilon": 2}}
    assert seen == {"given": ([0],), **asked}


def test_a_mechanisms_command_hands_on_each_option(monkeypatch):
    module = importlib.import_module("jaxsel.auditing.audit")
    seen = []
    plain = module.audit
    monkeypatch.setattr(
        module, "audit", lambda *given, **named: seen.append(named) or plain(*given, **named)
    )
    with pytest.raises(typer.Exit):
        audit_command.audit_command(
            mechanism="noisy_max", settings=["epsilon=2"], pair="one-alone", delta=0.01,
            trials="1e3", confidence=0.75, seed=3, json=True,
        )  # fmt: skip
    assert seen == [{"trials": 1000, "delta": 0.01, "confidence": 0.75, "seed": 3}]


# --- How ------------------------------------------------------------------------------


def test_how_is_a_text_a_mapping_or_a_record():
    record = How(seconds=10.0, kind="generator", bits=True, repetitions="tnb:eta=0.5,mean=3")
    text = "bits, seconds=10,kind=generator,repetitions=tnb:eta=0.5,mean=3"
    mapping = {"bits": True, "seconds": 10.0, "kind": "generator"}
    assert read(How, text) == record
    assert read(How, record) is record
    assert read(How, {**mapping, "repetitions": "tnb:eta=0.5,mean=3"}) == record
    assert read(How, None) == read(How, "") == How()
    assert read(How, "progress=no,search_trials=1e4,workers=3") == How(
        progress=False, search_trials=10_000, workers=3
    )
    # What is not said is as the door has it; what is said to be nothing is nothing.
    assert read(How, "bits", seconds=9.0) == How(seconds=9.0, bits=True)
    assert read(How, "seconds=none", seconds=9.0) == How()
    assert read(Calls, "seconds=1") == Calls(seconds=1.0)
    assert read(Calls, How(seconds=1.0)) == Calls(seconds=1.0)


@pytest.mark.parametrize(
    ("record", "given", "said"),
    [
        (How, "bit", "how is 'bit'; write name=value with one or more of: seconds"),
        (How, "bits seconds=1", "how is 'bits seconds=1'; write name=value"),
        (How, "second=1", "how has no part 'second'; did you mean seconds"),
        (How, {"second": 1.0}, "how has no setting 'second'; .* did you mean seconds"),
        (How, {"second": None}, "how has no setting 'second'"),
        (Calls, "bits=yes", "how has no part 'bits'; it has: seconds, call_seconds, kind, workers"),
        (Calls, How(bits=True), "how has no setting 'bits'"),
        (How, "bits=2", "bits is 2; it must be yes or no"),
        (How, "bits,curves", "bits is 'yes,curves'; it must be yes or no"),
        (How, "seconds", "how is 'seconds'; write name=value"),
        (How, "kind=", "kind is ''; it must be"),
        (How, "seconds=1,seconds=2", "seconds of how is given twice"),
        (How, "seconds=-1", "seconds is -1; it must be"),
        (How, "workers=x", "workers is 'x'; it must be a whole number"),
        (How, "workers=65", "workers is 65; it must be a whole number"),
        (How, 3, "how is 3; give a text such as seconds="),
    ],
)
def test_what_how_does_not_say_is_refused_in_a_sentence(record, given, said):
    with pytest.raises(InputError, match=said):
        read(record, given)


def test_three_inputs_are_no_pair():
    asked = {"relation": "local", "claim": 1.0}
    with pytest.raises(InputError, match="3 inputs are given"):
        jaxsel.replay(noisy, [0], [1], [2], **asked)


# --- What 0.2.0 asked -----------------------------------------------------------------

LINES = {
    "mine.py:f x=1 --relation local --claim 1": "audit-function mine.py:f x=1 --relation local "
    "--claim 1",
    "--relation local mine.py:f --claim=1 --pair=[0];[1] --data [2] --bits --seconds 5 --json": (
        "audit-function --relation local mine.py:f --claim 1 --data [0];[1] --how bits "
        "--how seconds=5 --json"
    ),
    "mine.py:f --curve --sequential --repetitions geometric:mean=3 --at x=1,2 --report a.md": (
        "audit-function mine.py:f --how curve --how sequential "
        "--how repetitions=geometric:mean=3 --at x=1,2 --report a.md"
    ),
    "mine.py:f --replay --relation local --claim 1 --trials 1e5 --pair [0];[1] --seed 3": (
        "replay mine.py:f --relation local --claim 1 --data [0];[1] --seed 3"
    ),
    "mine.py:f --law norm:loc=1 --data [0] --trials 1e3 --seconds 2": (
        "check-law mine.py:f --data [0] --trials 1e3 --how seconds=2 --law norm:loc=1"
    ),
    "mine.py": "audit-function mine.py",
    "--bugs --runs 3 --seed 1": "python -m benchmarks.audit_tables bugs --runs 3 --seed 1",
    "noisy_max epsilon=2 --pair opposed --trials 1e3": None,
    "--help": None,
    "": None,
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_last_release_is_one_of_today(line):
    words = ["audit", *line.split()]
    assert former_lines.todays(words) == ((LINES[line] or f"audit {line}").split())
    assert former_lines.todays(["sweep", *words[1:]]) == ["sweep", *words[1:]]


def test_a_line_of_the_last_release_answers_and_says_todays(place, capsys):
    asked = ("--relation", "replace_one", "--claim", "1", "--pair", "[0];[1]")
    code, out, told = run(capsys, "audit", place, *asked, "--replay")
    today = ("replay", place, "--relation", "replace_one", "--claim", "1", "--data", "[0];[1]")
    assert (code, out, "") == run(capsys, *today)
    assert told.count("\n") == 1
    assert told.startswith(f"jaxsel: this line of 0.2.0 is jaxsel replay {place} ")
    code, out, told = run(capsys, "audit", place, *asked, "--bits", "--trials", "4e3")
    assert (code, "as released bits" in out, "--how bits" in told) == (1, True, True)


def test_a_table_of_the_last_release_names_its_line(capsys, monkeypatch):
    monkeypatch.setattr(former_lines, "beside", lambda folder: None)
    code, out, told = run(capsys, "audit", "--zoo", "--seed", "2")
    assert (code, out) == (2, "")
    assert "made in a checkout of jaxsel: python -m benchmarks.audit_tables zoo --seed 2" in told


ASKED = {"relation": "replace_one", "claim": 1.0, "trials": 2000}
FORMER = {
    "jaxsel.audit of a function is jaxsel.audit_function now": (
        lambda: jaxsel.audit(noisy, ([0.0], [1.0]), bits=True, seconds=None, **ASKED),
        lambda: jaxsel.audit_function(noisy, [0.0], [1.0], how="bits", **ASKED),
    ),
    "audit_function(data=...) is audit_function(data) now; "
    'audit_function(curve=...) is audit_function(how="curve=...") now': (
        lambda: jaxsel.audit_function(noisy, data=[0.0, 1.0], curve=True, **ASKED),
        lambda: jaxsel.audit_function(noisy, [0.0, 1.0], how="curve", **ASKED),
    ),
    "replay(pair=...) is replay(pair) now": (
        lambda: jaxsel.replay(noisy, pair=([0.0], [1.0]), relation="replace_one", claim=1.0),
        lambda: jaxsel.replay(noisy, [0.0], [1.0], relation="replace_one", claim=1.0),
    ),
    "check_law(false_alarm=...) is check_law(confidence=...) now; "
    'check_law(seconds=...) is check_law(how="seconds=...") now': (
        lambda: jaxsel.check_law(
            noisy, [3.0], law="laplace:loc=3", trials=500, false_alarm=0.25, seconds=60
        ),
        lambda: jaxsel.check_law(
            noisy, [3.0], law="laplace:loc=3", trials=500, confidence=0.75, how="seconds=60"
        ),
    ),
    "assert_private(data=...) is assert_private(data) now; "
    "assert_private(neighbour=...) is assert_private(neighbour) now; "
    'assert_private(seconds=...) is assert_private(how="seconds=...") now': (
        lambda: jaxsel.testing.assert_private(
            noisy, data=[0.0], neighbour=[1.0], seconds=None, relation="replace_one", epsilon=1.0
        ),
        lambda: jaxsel.testing.assert_private(
            noisy, [0.0], [1.0], how="seconds=none", relation="replace_one", epsilon=1.0
        ),
    ),
}


def _but_for_time(found):
    times = {"seconds": 0.0, "search_seconds": 0.0}
    found = found._replace(**{name: 0.0 for name in times if name in found._fields})
    return found._replace(curve=str(found.curve)) if hasattr(found, "curve") else found


@pytest.mark.parametrize("words", FORMER)
def test_a_call_of_the_last_release_warns_where_it_is_written_and_answers_the_same(words):
    former, today = FORMER[words]
    with pytest.warns(DeprecationWarning, match="is .* now") as told:
        answer = former()
    assert "; ".join(str(each.message) for each in told) == words
    assert {each.filename for each in told} == {__file__}
    np.testing.assert_equal(_but_for_time(answer), _but_for_time(today()))


def test_what_a_call_of_the_last_release_cannot_mean_is_refused():
    with (
        pytest.warns(DeprecationWarning, match="jaxsel.audit_function now"),
        pytest.raises(InputError, match="pair is 'first'; for a function it is two inputs"),
    ):
        jaxsel.audit(noisy, "first", **ASKED)
    with (
        pytest.warns(DeprecationWarning, match="how="),
        pytest.raises(InputError, match="seconds is a part of how; write it there"),
    ):
        jaxsel.audit_function(noisy, how="bits", seconds=1.0, **ASKED)
    with (
        pytest.warns(DeprecationWarning, match=r"assert_private\(neighbour\) now"),
        pytest.raises(InputError, match="neighbour is given without data"),
    ):
        jaxsel.testing.assert_private(noisy, neighbour=[1.0], relation="local", epsilon=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'relation'"):
        jaxsel.audit("noisy_max", trials=100, relation="general")
    with pytest.raises(InputError, match="has no pair"):
        jaxsel.audit("noisy_max", ("one", "two"), trials=100)
