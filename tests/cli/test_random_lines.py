"""Random command lines; ``tests.cli.random_lines`` runs many more."""

import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from jaxsel.host.errors import InputError
from tests.cli.random_lines import Fault, Lines, judge, options, run

_PARTS, _EACH = 8, 25


@pytest.mark.parametrize("part", range(_PARTS))
def test_random_lines_end_as_the_documents_say(part, seed, coarse_prices):
    lines = Lines(seed)
    drawn = [lines.draw() for _ in range(_PARTS * _EACH)][part::_PARTS]
    found = {" ".join(words): faults for words in drawn if (faults := run(words))}
    assert not found


@pytest.mark.rare
def test_random_lines_end_so_as_processes(seed):
    line = [sys.executable, "-m", "tests.cli.random_lines", "--processes", "--count", "100"]
    ended = subprocess.run([*line, "--seed", str(seed + 1)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]


def test_equal_seeds_draw_equal_lines_of_every_command_and_option():
    first, again, other = Lines(1), Lines(1), Lines(2)
    drawn = [first.draw() for _ in range(3000)]
    assert drawn == [again.draw() for _ in range(3000)]
    assert drawn != [other.draw() for _ in range(3000)]
    never = {"--all", "--bugs", "--zoo", "--libraries", "--calibration"}
    for command, every in options().items():
        words = {word for line in drawn if line[0] == command for word in line}
        assert words, command
        if command not in ("tune", "bench", "validate", "optimal"):  # drawn seldom
            lacking = {option.word for option in every if option.word} - words - never
            assert not lacking, command


@pytest.mark.parametrize(
    ("does", "kind"),
    [
        (lambda: 1 / 0, "ZeroDivisionError at "),
        (lambda: warnings.warn("oh", RuntimeWarning, stacklevel=1), "RuntimeWarning at "),
        (lambda: sys.exit(7), "exit status 7"),
        (lambda: sys.exit(3), "no sentence at exit 3"),
        (lambda: print("oh"), "no JSON at exit 0"),
        (lambda: _leaves(), "a refusal left something"),
        (lambda: _works(), "silent at "),
    ],
)
def test_every_kind_of_fault_is_seen(monkeypatch, does, kind):
    def read(*_):
        does()
        return {}

    monkeypatch.setattr("jaxsel.cli.claim_command.read_settings", read)
    found = run(["claim", "PS-Cor3", "--json"], silence=0.2)
    assert any(fault.kind.startswith(kind) for fault in found), found
    assert not run(["claim", "PS-Cor3x", "--json"])


def _leaves():
    Path("left").touch()
    raise InputError("no")


def _works():
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        pass


def test_a_refusal_without_its_document_is_seen():
    sentence = "jaxsel: no\n"
    for out in ("", '{"error": "no", "exit": 3}', "[]", '{"error": NaN, "exit": 2}'):
        assert [*judge(["account", "--json"], 2, out, sentence)], out
    assert not [*judge(["account", "--json"], 2, '{"error": "no", "exit": 2}', sentence)]
    assert next(judge(["account"], 2, "", "")) == Fault("no sentence at exit 2", "'' ''")
