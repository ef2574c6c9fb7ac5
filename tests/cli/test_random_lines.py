"""Random command lines; ``tests.cli.random_lines`` runs many more."""

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from jaxsel.families.score_selection.candidate_laws import index_law, noisy_candidates
from jaxsel.host import progress
from jaxsel.host.errors import InputError
from jaxsel.repetitions import from_mean
from jaxsel.tuning.planning.optimal import optimal
from tests.cli.random_lines import Fault, Lines, judge, options, quick_bounds, run

_PARTS, _EACH = 8, 25


@pytest.fixture(name="quick")
def _quick():
    with pytest.MonkeyPatch.context() as patch:
        quick_bounds(patch.setattr)
        yield


@pytest.mark.parametrize("part", range(_PARTS))
def test_random_lines_end_as_the_documents_say(part, seed, quick):
    lines, drawn = Lines(seed), dict[tuple[str, ...], None]()
    while len(drawn) < _PARTS * _EACH:  # a line that is drawn again shows nothing new
        drawn[tuple(lines.draw())] = None
    each = list(drawn)[part::_PARTS]
    found = {" ".join(words): faults for words in each if (faults := run(words))}
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "law validation_selection learner_epsilon=1e3 sensitivity=1",
        "law selection_generalised_exponential epsilon=1e-308",
        "law sparse_vector_stoddard threshold=5e-324",
        "optimal --base zcdp:rho=0.01 --runs 3 --winner rank=1e-308,none=1e-308",
        "show PS-Cor3 --verdict --seed -1",
        "validate PS-Cor3 --seed -1e308",
        "validate PS-Thm2 --cases 1e15",
        "show geometric:gamma=0.1,capped=1e308",
        "show tnb:eta=1e308,mean=10",
        "sweep mine.py:cell epsilon=0.5,1 --trials 745 --measure audited",
        "sweep mine.py:other epsilon=0.5,1 --trials 200",
        "sweep noisy_max --trials 1e100",
        "audit-function mine.py:raises --relation replace_one --claim 1 --trials 200 "
        "--how seconds=2 --data 5",
        "plan --base gaussian:noise_multiplier=4503599627370497 --runs 10",
        f"ledger {'n' * 300}",
        "check-law mine.py:laplace --law laplace:loc=1e400 --data [0,0] --trials 1e3",
        "account --times 1e400 --base pure:epsilon=1 --repetitions geometric:mean=3",
    ],
)
def test_lines_that_once_failed(line):
    assert not run(line.split())
    assert not run([*line.split(), "--json"])


def test_a_law_of_little_room_is_found():
    """Wishes that a single law just meets, to the last place."""
    found = optimal("pure:epsilon=0.05", runs=1.0000000000000002, most=10)
    assert found.law.mean == pytest.approx(1.0, abs=1e-9)


def test_candidates_that_are_never_tried_win_with_probability_0():
    weights = np.array([0.5, 0.0, 0.5, 0.0])
    candidates = noisy_candidates(np.array([0.0, 1.0, 0.0, 1.0]), 1.0, weights=weights)
    law = index_law(candidates, from_mean("geometric", 3.0))
    assert law == pytest.approx([0.5, 0.0, 0.5, 0.0, 0.0], abs=1e-12)


def test_a_command_says_that_it_is_at_work(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LIFE_SECONDS", 0.1)
    with progress.signs_of_life():
        time.sleep(0.25)
    said = capsys.readouterr().err
    assert said.startswith("jaxsel: at work for 0.1")
    assert 1 <= said.count("at work") <= 2
    with progress.signs_of_life():
        pass
    assert capsys.readouterr().err == ""


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
    assert not [*judge(["list", "claims", "--search", "--json"], 0, "", "")]
    assert not [*judge(["account", "--json"], 2, '{"error": "no", "exit": 2}', sentence)]
    assert next(judge(["account"], 2, "", "")) == Fault("no sentence at exit 2", "'' ''")
