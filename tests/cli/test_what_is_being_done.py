"""Whoever waits at a terminal is told for what; files and pipes get the answer alone."""

import io
import json
import sys
import time

import pytest

from figures import FIGURES
from figures.common import making
from jaxsel.cli import main, output
from jaxsel.cli.main import DOING, app
from jaxsel.cli.options import Command
from jaxsel.host import progress

ERASED = "\x1b[2K"  # of a terminal: the line of the cursor is emptied
NAMES = [each.name for each in app.registered_commands]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def slow(monkeypatch, impatient):
    """Every command waits in place of its work, and then prints a document."""

    def invoke(self, ctx):
        time.sleep(0.4)
        output.print_json({"name": ctx.info_name})

    monkeypatch.setattr(Command, "parse_args", lambda self, ctx, words: [])
    monkeypatch.setattr(Command, "invoke", invoke)


def _run(monkeypatch, name: str, err: io.StringIO) -> tuple[str, str]:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as stop:
        main([name, "--json"])
    assert stop.value.code == 0
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_every_command_says_at_a_terminal_what_it_does(slow, monkeypatch, name):
    out, err = _run(monkeypatch, name, Terminal())
    assert json.loads(out) == {"name": name}
    assert DOING[name] in err
    assert ERASED in err.rpartition(DOING[name])[2]  # nothing of it is left


@pytest.mark.parametrize("name", NAMES)
def test_no_command_says_it_into_a_file_or_a_pipe(slow, monkeypatch, name):
    out, err = _run(monkeypatch, name, io.StringIO())
    assert json.loads(out) == {"name": name}
    assert err == ""


def test_a_part_says_more_and_what_is_written_takes_the_line_away(impatient, monkeypatch):
    both = Terminal()
    monkeypatch.setattr(sys, "stdout", both)
    monkeypatch.setattr(sys, "stderr", both)
    with progress.signs_of_life("the whole"):
        time.sleep(0.3)
        with progress.spinner("the part") as tell:
            time.sleep(0.3)
            tell("other words")
            time.sleep(0.3)
            output.say("first answer")
            monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 60.0)
            output.say("second answer")
    said = both.getvalue()
    places = [said.index(words) for words in ("the whole", "the part", "other words", "first")]
    assert places == sorted(places)
    before = said[said.rindex("other words") : places[-1]]
    assert ERASED in before
    assert said.endswith("first answer\nsecond answer\n")


def test_a_bar_has_the_terminal_alone_and_what_is_printed_meanwhile_stays_in_the_pipe(
    impatient, monkeypatch
):
    out, err = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with progress.signs_of_life("the whole"), progress.progress_bar(2, 0, None) as advance:
        time.sleep(0.3)
        advance(1)
        shown = len(err.getvalue())
        sys.stdout.write("an answer\n")
        time.sleep(0.3)
        advance(1)
    assert out.getvalue() == "an answer\n"
    assert "the whole" in err.getvalue()[:shown]
    assert "the whole" not in err.getvalue()[shown:]
    assert "trials/s" in err.getvalue()[shown:]


@pytest.mark.parametrize("terminal", [True, False])
def test_figures_say_which_are_drawn(impatient, monkeypatch, terminal):
    err = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    chosen = [FIGURES["ps22-5"], FIGURES["ps22-6"]]

    def task(name):
        time.sleep(0.4)
        return name

    assert list(making.in_processes(task, making.chains(chosen), 1)) == ["ps22-5", "ps22-6"]
    for figure in chosen:
        assert (f"drawing {figure.id}" in err.getvalue()) == terminal
