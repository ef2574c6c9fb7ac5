"""What calls of an audited function do besides answering, and what that may cost."""

import math
import os
import signal
import subprocess
import sys
import time
import types

import jax
import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.functions import calls, drawing, worker
from jaxsel.auditing.functions.audited_function import load
from jaxsel.auditing.functions.drawing import Draws
from jaxsel.auditing.functions.law import check_law
from jaxsel.auditing.functions.outcomes import Read, table
from jaxsel.auditing.functions.replay import replay
from jaxsel.host.errors import InputError
from tests.cli.test_cli import run, run_json

FILE = """
import os
import signal
import sys

import numpy as np


class Silent:
    def __repr__(self):
        raise ValueError("nothing is said")


def plain(rng, data):
    return float(sum(data) + rng.laplace())


def exits(rng, data):
    sys.exit(3)


def exits_in_rows(rng, data, n):
    sys.exit("all of them")


def interrupts(rng, data):
    raise KeyboardInterrupt


def dies(rng, data):
    os._exit(3)


def is_killed(rng, data, n):
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at_times(rng, data):
    if rng.random() < 0.05:
        os._exit(3)
    return [Silent(), lambda: 3, {"a": Silent()}, 1.5][rng.integers(4)]


def dies_half(rng, data):
    drawn = rng.random()
    if drawn < 0.5:
        os._exit(3)
    return drawn


def dies_seldom(rng, data):
    drawn = rng.random()
    if drawn < 0.01:
        os._exit(3)
    return drawn


def prints(rng, data):
    os.write(1, b"raw")
    sys.__stdout__.write("more")
    sys.__stdout__.flush()
    return plain(rng, data)


def closes(rng, data):
    sys.stdin.close()
    try:
        os.close(0)
    except OSError:
        pass
    return plain(rng, data)


def reads(rng, data):
    return sys.stdin.read() or "nothing"


def forks(rng, data):
    os.fork()
    return plain(rng, data)


def forks_and_waits(rng, data):
    child = os.fork()
    if child == 0:
        return None
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def leaves_one(rng, data):
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "2"])
    return plain(rng, data)


def silent(rng, data):
    return Silent()


def ragged(rng, data, n):
    return [[1] * int(k) for k in rng.integers(3, size=n)]


async def later(rng, data):
    return 1.0


def yields(rng, data):
    yield 1.0


def scaled(rng, data, n, epsilon=1.0, *, word="x"):
    return np.sum(data) + rng.laplace(size=n) / epsilon


def needs(rng, data, *, epsilon):
    return 1.0


def exits_in_jax(key, data):
    sys.exit(4)


def interrupts_in_jax(key, data):
    raise KeyboardInterrupt


def ends_in_jax(key, data):
    raise GeneratorExit


def prints_in_jax(key, data):
    import jax

    print("traced")
    os.write(1, b"raw")
    jax.debug.print("computed")
    return jax.random.laplace(key)


def in_jax(key, data, epsilon=1.0):
    import jax

    return data.sum() + jax.random.laplace(key) / epsilon
"""


@pytest.fixture(name="file", scope="module")
def _file(tmp_path_factory):
    path = tmp_path_factory.mktemp("calls") / "calls.py"
    path.write_text(FILE)
    return str(path)


def _words(file, name, trials=70, **options):
    with Draws(load(f"{file}:{name}"), seed=4, workers=2, **options) as draws:
        return draws.draw([1.0, 2.0], trials, (7,)).words.tolist()


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("exits", "raised SystemExit"),
        ("exits_in_rows", "raised SystemExit"),
        ("interrupts", "raised KeyboardInterrupt"),
        ("reads", "'nothing'"),
        ("silent", "an object of type Silent whose text raises ValueError"),
    ],
)
def test_whatever_a_call_does_is_its_outcome(file, name, word):
    assert set(_words(file, name)) == {word}


@pytest.mark.parametrize("name", ["prints", "closes", "forks", "leaves_one"])
def test_what_a_call_does_to_its_process_changes_no_answer(file, name):
    if not hasattr(os, "fork"):
        pytest.skip("no process is forked here")
    assert _words(file, name, 66 if name != "leaves_one" else 3) == _words(
        file, "plain", 66 if name != "leaves_one" else 3
    )


def test_exits_of_functions_of_this_process_are_outcomes_too():
    def leaves(rng, data):
        sys.exit(3)

    with Draws(load(leaves)) as draws:
        assert set(draws.draw([], 5, (1,)).words) == {"raised SystemExit"}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("exits_in_jax", "raised SystemExit"),
        ("interrupts_in_jax", "raised KeyboardInterrupt"),
        ("ends_in_jax", "raised GeneratorExit"),
    ],
)
def test_what_a_traced_function_raises_is_its_outcome(file, name, word):
    with Draws(load(f"{file}:{name}")) as draws:
        assert draws.draw([1.0], 3, (1,)).words.tolist() == [word] * 3


def test_what_a_traced_function_raises_on_one_side_refutes_its_claim():
    def refuses_ones(key, data):
        if np.asarray(data)[0]:  # of values, so that data is a constant of the trace
            raise ValueError
        return jax.random.laplace(key)

    pair = ([0.0], [1.0])
    found = jaxsel.audit_function(
        refuses_ones, *pair, relation="replace_one", claim=1.0, trials=300
    )
    assert (found.verdict, found.event) == ("refuted", "the outcome is raised ValueError")


def test_only_an_interrupt_of_the_keyboard_interrupts(request):
    def interrupted(data):
        raise KeyboardInterrupt

    def from_outside(data):
        signal.raise_signal(signal.SIGINT)

    # What runs in the background may ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with Draws(load(interrupted)) as draws:
        assert draws.draw([], 2, (1,)).words.tolist() == ["raised KeyboardInterrupt"] * 2
    with Draws(load(from_outside)) as draws, pytest.raises(KeyboardInterrupt):
        draws.draw([], 2, (1,))


def test_what_is_printed_in_this_process_goes_to_the_standard_error(tmp_path, capfd):
    (tmp_path / "loud.py").write_text("print('imported')\n" + FILE)
    function = load(f"{tmp_path / 'loud.py'}:prints_in_jax")
    with Draws(function) as draws:
        draws.draw([1.0], 2, (1,))
    replay(function, [0.0], [1.0], relation="replace_one", claim=1.0)
    replay(
        lambda rng, data: print("replayed") or rng.laplace(),
        0.0,
        1.0,
        relation="general",
        claim=1.0,
    )
    with Draws(load(lambda data: print("called"))) as draws:
        draws.draw([], 2, (1,))
    print("answer")
    out, err = capfd.readouterr()
    assert out == "answer\n"
    for said in ("imported", "traced", "raw", "computed", "replayed", "called"):
        assert said in err


def test_outcomes_of_unlike_lengths_are_outcomes(file):
    assert set(_words(file, "ragged", 300)) == {"[]", "[1]", "[1, 1]"}


def test_what_cannot_be_copied_outlives_a_process_that_a_call_ends(file):
    words = _words(file, "dies_at_times", 60)
    assert len(words) == 60
    assert "the call ended its process" in words
    assert "an object of type Silent whose text raises ValueError" in words
    assert "1.5" in words


def test_no_trial_is_made_again_after_a_call_that_ended_its_process(file):
    """Else those that end it would be replaced by others, and an audit would not see them."""
    expected: dict[int, str] = {}
    while len(expected) < 12:
        # A new process goes on where the last one ended, with randomness of its own.
        generator = np.random.default_rng(np.random.SeedSequence([4, 7, 0, len(expected)]))
        for trial in range(len(expected), 12):
            drawn = generator.random()
            if drawn < 0.5:
                expected[trial] = "the call ended its process"
                break
            expected[trial] = repr(drawn)
    found = _words(file, "dies_half", 12)
    assert sum(word == "the call ended its process" for word in expected.values()) >= 3
    assert found == list(expected.values())


def test_a_call_that_ends_its_process_asks_the_clock(file, monkeypatch):
    started = []
    plain = drawing.subprocess.Popen
    monkeypatch.setattr(
        drawing.subprocess, "Popen", lambda *a, **b: started.append(1) or plain(*a, **b)
    )
    # The time is over: each of two inputs is asked once, and a new process is made for each.
    with Draws(load(f"{file}:dies"), workers=2, until=time.monotonic()) as draws:
        made = draws.by_turns([([0.0], (1,)), ([1.0], (2,))], 10**18)
    assert [[len(table) for table in tables] for tables in made] == [[1], [1]]
    assert len(started) <= 3


def test_no_list_of_all_tasks_is_made(file):
    with Draws(load(f"{file}:scaled"), workers=2, until=time.monotonic() + 0.5) as draws:
        made = draws.draw([0.0], 2**62, (1,))
    assert 0 < len(made) < 10**8
    with Draws(load(lambda data: 1), until=time.monotonic() + 0.1) as draws:
        assert 0 < len(draws.draw([0.0], 2**62, (1,))) < 10**8


@pytest.mark.rare
@pytest.mark.parametrize("name", ["dies", "is_killed", "exits"])
def test_an_audit_of_what_ends_its_process_ends_in_time(file, name):
    command = ["audit-function", f"{file}:{name}", "--relation", "replace_one", "--claim", "1"]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "jaxsel", *command, "--trials", "1e4", "--how", "seconds=6"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 3, done.stderr
    assert "gave no answer in any trial" in done.stdout
    assert time.monotonic() - began < 30.0


def test_a_file_that_ends_the_process_when_it_is_imported_is_refused(tmp_path, capsys):
    (tmp_path / "leaves.py").write_text(
        "def f(rng, data):\n    return 1\n\n\nraise SystemExit(5)\n"
    )
    place = f"{tmp_path / 'leaves.py'}:f"
    code, out, err = run(capsys, "audit-function", place, "--relation", "general", "--claim", "1")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "cannot be imported: SystemExit: 5 (line 5)" in err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("later", "later is an async def, whose call returns a coroutine"),
        ("yields", "yields yields, so that its call returns a generator"),
    ],
)
def test_what_returns_no_outcome_is_refused(file, name, message):
    with pytest.raises(InputError, match=message):
        load(f"{file}:{name}")


@pytest.mark.parametrize("ask", ["audit", "law", "replay", "search"])
def test_unknown_settings_are_refused_with_those_that_there_are(file, ask):
    on = {"relation": "replace_one", "claim": 1.0, "settings": {"epsilom": 1.0}}
    message = "scaled has no setting 'epsilom'; did you mean epsilon.; it has: epsilon, word"
    asked = {
        "audit": lambda where: jaxsel.audit_function(where, trials=1000, **on),
        "law": lambda where: check_law(where, [0], law="norm", trials=100, settings=on["settings"]),
        "replay": lambda where: replay(where, **on),
        "search": lambda where: jaxsel.audit_function(
            where, trials=1000, how="repetitions=geometric:mean=2", **on
        ),
    }
    with pytest.raises(InputError, match=message):
        asked[ask](f"{file}:scaled")
    with pytest.raises(InputError, match="needs needs epsilon; give it a value"):
        jaxsel.audit_function(f"{file}:needs", relation="replace_one", claim=1.0, trials=1000)


def test_a_claim_may_be_a_setting_at_its_default(file):
    where = (f"{file}:scaled", [0.0], [1.0])
    on = {"relation": "replace_one", "trials": 2000}
    found = jaxsel.audit_function(*where, claim="epsilon", **on)
    assert found.claim == "epsilon 1"
    twice = jaxsel.audit_function(*where, claim=lambda epsilon: 2 * epsilon, **on)
    assert twice.claim == "epsilon 2"
    with pytest.raises(
        InputError, match=r"a setting of the function \(it has: epsilon, word\).*did"
    ):
        jaxsel.audit_function(*where, claim="epsilom", **on)


def test_a_verdict_says_that_all_calls_shared_a_process(file):
    kept = []

    def stays(rng, data):
        kept.append(1)
        return float(sum(data) + rng.laplace(scale=0.3))

    pair, on = ([0.0], [1.0]), {"relation": "replace_one", "claim": 1.0, "trials": 3000}
    found = jaxsel.audit_function(stays, *pair, **on)
    assert found.refuted
    assert "All calls ran in this process, since no other can import the function" in str(found)
    sharp = {"epsilon": 3.0}
    elsewhere = jaxsel.audit_function(f"{file}:scaled", *pair, settings=sharp, **on)
    assert elsewhere.refuted
    assert "All calls ran in this process" not in str(elsewhere)
    assert elsewhere.calls == "in processes of their own"


_ODD = ["nan", "inf", "-inf", "-1", "0", "1e308", "x"]


@pytest.mark.parametrize("option", ["seconds", "--trials", "--delta", "--confidence", "--claim"])
def test_numbers_that_make_no_sense_are_refused_in_a_sentence(file, capsys, option):
    for value in _ODD:
        said = {"--how": f"seconds={value}"} if option == "seconds" else {option: value}
        given = {"--trials": "400", "--claim": "1"} | said
        words = [part for pair in given.items() for part in pair]
        where = [f"{file}:scaled", "--relation", "replace_one", "--data", "[0.0];[1.0]"]
        code, out, err = run(capsys, "audit-function", *where, *words)
        allowed = {"seconds": ["1e308"], "--delta": ["0"], "--claim": ["0", "1e308"]}
        if value in allowed.get(option, []):
            assert code in (0, 1, 3), (option, value, err)
        else:
            assert code == 2, (option, value, out)
            assert "Traceback" not in err


def test_one_file_and_no_function_is_said_with_its_functions(file, capsys):
    for command in ("audit-function", "sweep"):
        code, _, err = run(capsys, command, file)
        assert code == 2
        assert "names a file and no function; write" in err
        assert "plain, exits," in err


def test_values_of_an_axis_with_a_float_are_floats(file, capsys):
    where = [
        "audit-function",
        f"{file}:in_jax",
        "--relation",
        "replace_one",
        "--data",
        "[0.0];[1.0]",
    ]
    code, found = run_json(
        capsys, *where, "--claim", "epsilon", "--at", "epsilon=.5,1", "--trials", "400"
    )
    assert code == 0
    assert [type(cell["at"]["epsilon"]) for cell in found] == [float, float]
    assert math.isclose(found[1]["epsilon"], 1.0)
    assert np.all([cell["calls"] == "compiled, in this process" for cell in found])


@pytest.mark.parametrize("kind", ["generator", "own"])
def test_calls_of_this_process_end_with_the_time(kind, monkeypatch):
    """A clock that each call sets forward by a second: a block is cut where the time is over."""
    now = [100.0]
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(drawing, "time", clock)
    monkeypatch.setattr(calls, "time", clock)

    def slow(rng, data):
        now[0] += 1.0
        return now[0]

    function = slow if kind == "generator" else lambda data: slow(None, data)
    with Draws(load(function), until=110.0) as draws:
        assert len(draws.draw([0.0], 1000, (1,))) == 11
        assert len(draws.draw([0.0], 1000, (2,))) == 1  # the first of each draw


class _Noted(calls.Unwatched):
    """Writes down what it is told."""

    def __init__(self):
        self.begun, self.kept = [], {}

    def begin(self, trial):
        self.begun.append(trial)

    def keep(self, trial, outcome):
        self.kept[trial] = outcome


def _task(trials, **options):
    return calls.Task(10.0, {}, trials, (3, 1), **options)


def _generator(known=0):
    return np.random.default_rng(np.random.SeedSequence([3, 1, known]))


def test_known_outcomes_are_not_asked_for_again():
    asked = []

    def single(rng, data):
        asked.append(data)
        return data + rng.random()

    watcher = _Noted()
    known = {0: calls.Did(calls.KILLED), 2: -1.0}
    found = calls.run(load(single), _task(5), known, watcher)
    numbers = (10.0 + _generator(2).random(3)).tolist()
    assert found.words.tolist() == [
        calls.KILLED, repr(numbers[0]), "-1.0", repr(numbers[1]), repr(numbers[2])
    ]  # fmt: skip
    assert watcher.begun == [*watcher.kept, calls.READING] == [1, 3, 4, calls.READING]
    assert list(watcher.kept.values()) == numbers
    assert len(asked) == 3


def test_rows_of_a_call_that_failed_are_asked_for_singly(monkeypatch):
    asked = []

    def together(rng, data, n):
        asked.append(n)
        if n > 1:
            raise ValueError
        return [data + rng.random()]

    watcher = _Noted()
    found = calls.run(load(together), _task(4), None, watcher)
    assert asked == [4, 1, 1, 1, 1]
    assert found.words.tolist() == [repr(one) for one in (10.0 + _generator().random(4)).tolist()]
    asked_for = [one for one in watcher.begun if one != calls.READING]
    assert asked_for == [calls.ALL_ROWS, 0, 1, 2, 3]
    # Where all rows have ended the process, few single ones are asked.
    monkeypatch.setattr(calls, "_SINGLES", 3)
    asked.clear()
    known = {calls.ALL_ROWS: calls.Did(calls.KILLED), 0: calls.Did(calls.KILLED)}
    found = calls.run(load(together), _task(50), known, watcher)
    assert asked == [1, 1]
    assert found.words.tolist()[0] == calls.KILLED
    assert len(found) == 3


def test_rows_that_take_too_long_are_all_no_answer():
    asked = []

    def slow(rng, data, n):
        asked.append(n)
        time.sleep(10.0)

    began = time.monotonic()
    found = calls.run(load(slow), _task(4, seconds=0.05))
    assert found.words.tolist() == [calls.NO_ANSWER] * 4
    assert asked == [4]
    assert time.monotonic() - began < 8.0


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (np.arange(3), ["0", "1", "2"]),
        ([1, "a", None], ["1", "'a'", "None"]),
        ((one for one in (1.5, 2.5, 3.5)), ["1.5", "2.5", "3.5"]),
        ("abc", ["'a'", "'b'", "'c'"]),
    ],
)
def test_what_is_listed_is_a_row_each(made, words):
    found = calls.run(load(lambda rng, data, n: made), _task(3))
    assert found.words.tolist() == words


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (np.arange(4), r"returned ndarray of shape \(4,\); it must return n outcomes"),
        ([1, 2], "returned list; it must return n outcomes"),
        (np.array(1.0), r"returned ndarray of shape \(\)"),
    ],
)
def test_other_numbers_of_rows_are_refused(made, words):
    with pytest.raises(InputError, match=words):
        calls.run(load(lambda rng, data, n: made), _task(3))
    # A number that is in no list is no row, where one is asked for, too.
    with pytest.raises(InputError, match="must return n outcomes"):
        calls.run(load(lambda rng, data, n: np.array(1.0)), _task(1))


def test_limits_of_time_are_above_0_and_no_longer_than_a_timer_takes():
    assert calls.time_limit("seconds", None) is None
    assert calls.time_limit("seconds", 2.5) == 2.5
    assert calls.time_limit("seconds", 1e300) == 1e8
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="seconds"):
            calls.time_limit("seconds", bad)


def test_what_a_worker_writes_down_is_read_again(tmp_path):
    """And what was being written when a process ended is no outcome."""
    ended = []
    own = drawing._Worker(load(lambda data: 1), str(tmp_path), 5, lambda: ended.append(1))
    watcher = worker._Watcher(str(own._file))
    watcher.begin(7)
    assert int.from_bytes(own._noted[:], sys.byteorder) == 7
    outcomes = {0: 1.5, 1: "words", 2: calls.Did("raised ValueError"), 3: None, 4: [1.0, "a"]}
    for trial, outcome in outcomes.items():
        watcher.keep(trial, outcome)
    found = own._kept()
    assert (
        table(list(found.values())).words.tolist() == table(list(outcomes.values())).words.tolist()
    )
    assert isinstance(found[4], Read)
    with open(own._file.with_suffix(".kept"), "ab") as opened:
        opened.write(b"\x80\x04")
    assert list(own._kept()) == [0, 1, 2, 3, 4]
    watcher.forget()
    assert own._kept() == {}
    watcher._kept.close()


def test_a_copy_that_a_call_has_forked_ends_where_the_call_does(file):
    if not hasattr(os, "fork"):
        pytest.skip("no process is forked here")
    assert _words(file, "forks_and_waits", 3) == ["0"] * 3


def test_no_alarm_is_left_where_a_call_had_a_limit():
    before = signal.getsignal(signal.SIGALRM)
    for ends in (lambda: 1, lambda: 1 / 0):
        calls._answer(ends, 100.0, lambda: False)
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) is before

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # a person's, not the call's
        calls._answer(interrupted, 100.0, lambda: True)
    assert calls._answer(interrupted, 100.0, lambda: False) == "raised KeyboardInterrupt"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def _with_deaths(stream, block, share):
    """The outcomes of a block of 64 trials of which this share end their process."""
    outcomes: list[str] = []
    while len(outcomes) < 64:
        generator = np.random.default_rng(np.random.SeedSequence([4, stream, block, len(outcomes)]))
        for _ in range(len(outcomes), 64):
            drawn = generator.random()
            outcomes.append(repr(drawn) if drawn >= share else "the call ended its process")
            if drawn < share:
                break
    return outcomes


def test_what_an_earlier_block_gave_is_no_outcome_of_a_later_one(file):
    """Of four blocks of two processes, the last two meet calls that end them, soon."""
    for stream in range(10_000):
        blocks = [_with_deaths(stream, block, 0.01) for block in range(4)]
        deaths = [one.count("the call ended its process") for one in blocks]
        soon = [one[:32].count("the call ended its process") for one in blocks]
        if deaths == [0, 0, 1, 1] == soon:
            break
    with Draws(load(f"{file}:dies_seldom"), seed=4, workers=2) as draws:
        found = draws.draw([], 256, (stream,)).words.tolist()
    assert found == [word for one in blocks for word in one]
