"""Audits of functions as strangers write them: found, called, judged, and nothing lost."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.functions import drawing
from jaxsel.auditing.functions.audited_function import load
from jaxsel.auditing.functions.drawing import Draws
from jaxsel.host.errors import CouldNotError, InputError, UnsupportedError
from jaxsel.host.intervals import binomial_p_value
from jaxsel.testing import NoPowerError, assert_private
from tests.asked import ask
from tests.conftest import ALPHA

FILE = """
import os
import sys
import time

import numpy as np


def laplace_sum(rng, data, n, scale=1.0):
    return np.sum(data) + rng.laplace(scale=scale, size=n)


def one_by_one(rng, data, scale=1.0):
    return float(np.sum(data) + rng.laplace(scale=scale))


def on_its_own(data, scale=1.0):
    return float(np.sum(data) + np.random.laplace(scale=scale))


def labels(rng, data):
    kept = rng.random() < 0.7
    return {"answer": ["yes", None] if kept == bool(data) else ["no", None]}


def dies_on_one(rng, data):
    if data and rng.random() < 0.05:
        os._exit(3)
    return rng.random() < 0.5


def raises_in_rows(rng, data, n):
    found = rng.random(n)
    if (found < 0.3).any():
        raise ValueError
    return found


def hangs_on_one(rng, data):
    if data and rng.random() < 0.3:
        time.sleep(60)
    return "fine"


def raises_on_nothing(rng, data):
    return max(data) * 0 + rng.normal()


def ragged(rng, data, n):
    return rng.normal(size=n + 1)


def prints(rng, data, n):
    print("hello")
    return rng.laplace(size=n) + np.sum(data)


stream = np.random.default_rng(0)


def shared_stream(rng, data, n):
    return np.sum(data) + stream.laplace(size=n)


def own_seed(rng, data, n):
    return np.sum(data) + np.random.default_rng(1).laplace(size=n)


def one_threshold_for_all(rng, data, n):
    threshold = rng.laplace(scale=2.0)
    noisy = np.asarray(data)[None] + rng.laplace(scale=4.0, size=(n, len(data)))
    return np.where((noisy >= threshold).any(1), (noisy >= threshold).argmax(1), -1)


level = [0.0]


def drifts(rng, data):
    level[0] += 0.01
    return sum(data) + level[0] + rng.laplace(scale=1.0)


def one_draw_for_all(rng, data, n):
    return np.full(n, np.sum(data) + rng.laplace())


remembered = {}


def memoised(rng, data):
    key = tuple(data)
    if key not in remembered:
        remembered[key] = rng.laplace()
    return remembered[key]


class Budget:
    def __init__(self):
        self.left = 5

    def answer(self, rng, data):
        if not self.left:
            raise RuntimeError("the budget is spent")
        self.left -= 1
        return np.sum(data) + rng.laplace()


budget = Budget()


def fixed_answer(rng, data):
    return 3


def never(rng, data):
    raise KeyError("always")
"""


@pytest.fixture(name="file", scope="module")
def _file(tmp_path_factory):
    path = tmp_path_factory.mktemp("strangers") / "mine.py"
    path.write_text(FILE)
    return str(path)


def _audit(subject, claim=1.0, **options):
    given = {"relation": "add_or_remove_one", "trials": 4000, "confidence": 0.999} | options
    return ask(jaxsel.audit_function, subject, claim=claim, **given)


@pytest.mark.parametrize("name", ["laplace_sum", "one_by_one", "on_its_own"])
def test_each_kind_is_refuted_at_half_its_noise_and_not_at_its_own(file, name):
    assert _audit(f"{file}:{name}").verdict == "not refuted"
    broken = _audit(f"{file}:{name}", settings={"scale": 0.4})
    assert broken.refuted
    assert 1.0 < broken.lower < 2.5
    # The same pair of numbers as the outcomes say: an event, in words, and its counts.
    x, n, y, m = broken.counts
    assert x / n > np.e * y / m
    assert "value" in broken.event
    assert "REFUTED" in str(broken)


def test_functions_of_this_process_and_of_jax_are_audited_too():
    def local(rng, data, n):
        return np.sum(data) + rng.laplace(scale=0.4, size=n)

    assert _audit(local).refuted
    assert _audit(lambda rng, data: float(sum(data) + rng.laplace(scale=0.4))).refuted
    import jax

    def in_jax(key, data, scale=1.0):
        return data.sum() + scale * jax.random.laplace(key)

    assert not _audit(in_jax).refuted
    assert _audit(in_jax, settings={"scale": 0.4}).refuted


def test_the_same_seed_has_the_same_verdict_whatever_the_number_of_processes(file):
    from jaxsel.questions.function_audit import function_audit

    options = {"relation": "add_or_remove_one", "claim": 1.0, "trials": 4000, "seed": 7}
    found = [
        function_audit(f"{file}:one_by_one", **options, how=f"workers={workers}")
        for workers in (2, 3)
    ]
    first, second = (one._replace(seconds=0.0, search_seconds=0.0) for one in found)
    assert first == second
    assert first.counts != _audit(f"{file}:one_by_one", seed=8).counts


def test_labels_in_dictionaries_are_outcomes(file):
    found = _audit(f"{file}:labels", 0.5, relation="local", data=[0, 1])
    assert found.refuted
    assert found.lower < np.log(7 / 3) + 0.01
    assert "yes" in found.event or "no" in found.event


@pytest.mark.parametrize(
    ("name", "event"),
    [("dies_on_one", "the call ended its process"), ("raises_on_nothing", "raised ValueError")],
)
def test_what_a_call_does_instead_of_answering_is_an_outcome(file, name, event):
    found = _audit(f"{file}:{name}", 0.5, pair=([], [1.0]), trials=400, confidence=0.9, seed=3)
    assert found.refuted
    assert event in found.event


def test_calls_that_end_a_process_are_those_that_do(file):
    """In every block of calls: the next process goes on, with randomness of its own."""
    size, expected = drawing._BLOCK["generator"], []
    for block in range(4):
        known: list[str] = []
        while len(known) < size:
            rng = np.random.default_rng(np.random.SeedSequence([4, 7, block, len(known)]))
            while len(known) < size and rng.random() >= 0.05:
                known.append(str(rng.random() < 0.5))
            known += ["the call ended its process"] * (len(known) < size)
        expected += known
    assert expected.count("the call ended its process") > 4
    with Draws(load(f"{file}:dies_on_one"), seed=4) as draws:
        assert draws.draw([1.0], len(expected), (7,)).words.tolist() == expected


def test_rows_of_a_call_that_fails_are_asked_for_singly_and_fail_as_often_as_they_do(file):
    trials = 6000
    with Draws(load(f"{file}:raises_in_rows"), seed=4) as draws:
        words = draws.draw([1.0], trials, (7,)).words
    count = sum(str(one).startswith("raised") for one in words)
    assert len(words) == trials
    assert binomial_p_value(count, trials, 0.3, "two-sided") >= ALPHA


def test_no_answer_within_the_limit_is_an_outcome(file):
    found = _audit(
        f"{file}:hangs_on_one", pair=([], [1.0]), trials=300, call_seconds=0.02, confidence=0.99
    )
    assert found.refuted
    assert "no answer within the limit" in found.event or "fine" in found.event


def test_a_time_limit_is_kept_and_said(file):
    began = time.monotonic()
    found = _audit(f"{file}:one_by_one", trials=10**8, seconds=1.5)
    assert time.monotonic() - began < 10.0
    assert found.ended_by == "time"
    assert found.trials < 10**8
    assert "ended by time" in str(found)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shared_stream", "same outcomes in every process"),
        ("own_seed", "same outcomes in every process"),
        ("one_draw_for_all", "one draw is shared"),
        ("memoised", "an answer is remembered"),
        ("one_threshold_for_all", "differs between calls by more than chance"),
        ("drifts", "differs between calls by more than chance"),
        ("budget.answer", "after 5 calls every call of budget.answer raised RuntimeError"),
    ],
)
def test_trials_that_are_not_independent_are_refused(file, name, message):
    with pytest.raises(CouldNotError, match=message):
        _audit(f"{file}:{name}")


def test_a_constant_is_no_finding_and_a_function_that_never_answers_has_failed(file):
    assert _audit(f"{file}:fixed_answer").verdict == "constant"
    assert _audit(f"{file}:never").verdict == "failed"
    with pytest.raises(CouldNotError, match="gave no answer"):
        assert_private(f"{file}:never", relation="add_or_remove_one", epsilon=1.0, trials=1000)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("{file}:laplace_sun", "did you mean laplace_sum"),
        ("nowhere.py:f", "nowhere.py is no file"),
        ("{file}:ragged", "must return n outcomes"),
        ("{broken}:f", r"cannot be imported: ZeroDivisionError.*line 3"),
    ],
)
def test_bad_subjects_are_refused_in_a_sentence(file, tmp_path, subject, message):
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\n\ny = x / 0\n")
    with pytest.raises(InputError, match=message):
        _audit(subject.format(file=file, broken=broken))


def test_relations_are_named_and_pairs_belong_to_them(file):
    subject = f"{file}:laplace_sum"
    with pytest.raises(TypeError, match="'relation' and 'claim'"):
        jaxsel.audit_function(subject, trials=1000)
    with pytest.raises(UnsupportedError, match="audited by"):
        _audit(subject, relation="base")
    with pytest.raises(InputError, match="2 records differ"):
        _audit(subject, relation="replace_one", pair=([0, 0], [1, 1]))
    with pytest.raises(InputError, match="some scores rise and others fall"):
        _audit(subject, relation="monotone", pair=([0, 0], [1, -1]))
    with pytest.raises(InputError, match="'noisy_max' names no function; write"):
        jaxsel.audit_function("noisy_max", trials=1000, relation="general", claim=1.0)


def test_a_claim_may_be_a_curve_a_setting_or_a_function_of_the_settings(file):
    subject = f"{file}:laplace_sum"
    # Laplace noise of scale 2 is far from GDP with mu 2, and of scale .3 beyond it.
    assert not _audit(subject, "gdp:mu=2", settings={"scale": 2.0}).refuted
    curve = _audit(subject, "gdp:mu=1", settings={"scale": 0.3})
    assert curve.refuted
    assert curve.delta > 0.0
    assert _audit(subject, "scale", settings={"scale": 0.3}).refuted
    assert not _audit(subject, lambda scale: 1 / scale, settings={"scale": 0.3}).refuted
    # At a delta: half of the noise is refuted where the delta is small, not where it is large.
    assert _audit(subject, 1.0, delta=0.01, settings={"scale": 0.4}).refuted
    assert not _audit(subject, 1.0, delta=0.6, settings={"scale": 0.4}).refuted


def test_assert_private_fails_passes_or_says_that_it_has_no_power(file):
    on = {"relation": "replace_one", "epsilon": 1.0, "how": "seconds=none"}
    found = assert_private(f"{file}:laplace_sum", [0.0, 0.0], [0.0, 1.0], trials=4000, **on)
    assert found.detectable < 2.0
    with pytest.raises(AssertionError, match="REFUTED"):
        assert_private(f"{file}:laplace_sum", [0.0, 0.0], [0.0, 1.0], settings={"scale": 0.3}, **on)
    with pytest.raises(NoPowerError, match="no power: 200 trials a side"):
        assert_private(f"{file}:laplace_sum", [0.0, 0.0], [0.0, 1.0], trials=200, **on)


def test_where_the_event_shows_less_than_the_claim_it_says_so(file):
    on = {"pair": ([0.0, 0.0], [0.0, 1.0]), "relation": "replace_one", "confidence": 0.99}
    found = _audit(f"{file}:laplace_sum", 3.0, trials=20_000, **on)
    assert found.lower < 1.0 < found.upper < 1.3
    assert "are needed to see more" in str(found)
    # At the truth there is nothing more to see.
    assert "needed to see more" not in str(_audit(f"{file}:laplace_sum", 1.0, trials=20_000, **on))


def test_what_a_function_prints_does_not_disturb_its_answers(file):
    assert _audit(f"{file}:prints").verdict == "not refuted"


def test_what_a_file_imports_is_found_where_it_is_found_here(tmp_path, monkeypatch):
    beside = tmp_path / "elsewhere"
    beside.mkdir()
    (beside / "scale_of_noise.py").write_text("SCALE = 1.0\n")
    file = tmp_path / "imports.py"
    file.write_text(
        "from scale_of_noise import SCALE\n\n\n"
        "def mine(rng, data, n):\n    return sum(data) + rng.laplace(scale=SCALE, size=n)\n"
    )
    monkeypatch.syspath_prepend(beside)
    assert _audit(f"{file}:mine").verdict == "not refuted"


def test_a_function_of_a_script_from_the_standard_input_is_audited_in_its_process():
    script = (
        "import jaxsel\n"
        "def f(rng, data, n):\n    return len(data) + rng.laplace(size=n)\n"
        "options = {'relation': 'add_or_remove_one', 'claim': 0.3, 'trials': 5000}\n"
        "print(jaxsel.audit_function(f, **options).verdict)\n"
    )
    done = subprocess.run(
        [sys.executable, "-"], input=script, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "refuted", done.stderr


def test_no_jax_is_imported_and_a_script_does_not_begin_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys

            from jaxsel.testing import assert_private

            def mine(rng, data, n):
                return sum(data) + rng.laplace(size=n)

            print("begun")
            assert_private(mine, relation="add_or_remove_one", epsilon=1.0, trials=6000)
            assert "jax" not in sys.modules
            print("ended")
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["begun", "ended"], done.stderr
    # The processes print to the standard error, each until it meets the audit.
    assert done.returncode == 0


_SLOW = """
import time


def slow(rng, data):
    time.sleep(0.01)
    return float(data[0] + rng.laplace(scale=0.2))
"""


def test_an_interrupt_of_a_terminal_leaves_the_processes_of_an_audit(file):
    """They hear it, too; the process that asks them says when they end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # or it would be ignored
    try:
        with Draws(load(f"{file}:raises_in_rows"), seed=4) as draws:
            first = draws.draw([1.0], 64, (7,))
            processes = [one.start() for one in draws._pool]
            for one in processes:
                os.kill(one.pid, signal.SIGINT)
            time.sleep(0.3)
            assert [one.poll() for one in processes] == [None] * len(processes)
            assert draws.draw([1.0], 64, (7,)).words.tolist() == first.words.tolist()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_prints_what_is_known_so_far(tmp_path):
    (tmp_path / "slow.py").write_text(_SLOW)
    # Tests that run in the background hand on that the signal is ignored.
    hearing = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from jaxsel.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", hearing, "audit-function", f"{tmp_path / 'slow.py'}:slow"]
    command += ["--relation", "general", "--claim", "1", "--data", "[0.0];[1.0]", "--json"]
    process = subprocess.Popen(
        [*command, "--trials", "1e5"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(8.0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    (found,) = json.loads(out)
    assert found["ended_by"] == "an interrupt", err
    x, n, y, m = found["counts"]
    assert abs(n - m) <= 64  # a block of calls
    assert x <= n
    assert y <= m
    assert 0 < found["trials"] < 100_000
    assert process.returncode == (1 if found["verdict"] == "refuted" else 130)


STATEFUL = """
class AboveThreshold:
    def __init__(self, redraws):
        self.redraws, self.threshold = redraws, None

    def reset(self, rng):
        if self.threshold is None or self.redraws:
            self.threshold = 0.5 + rng.laplace(scale=2.0)

    def ask(self, query, rng):
        return bool(query + rng.laplace(scale=4.0) >= self.threshold)


ONE = {}


def conversation(rng, data, redraws=True):
    above = ONE.setdefault("above", AboveThreshold(redraws))
    above.reset(rng)
    said = []
    for query in data:
        said.append(above.ask(query, rng))
        if said[-1]:
            break
    return said
"""


def test_an_object_with_a_reset_is_audited_and_one_that_keeps_its_noise_is_refused(tmp_path):
    file = tmp_path / "stateful.py"
    file.write_text(STATEFUL)
    asked = {"relation": "general", "claim": 1.0, "trials": 20_000}
    where = (f"{file}:conversation", [0.0, 1.0, 0.0])
    found = jaxsel.audit_function(*where, confidence=1.0 - 1e-6, **asked)
    assert found.verdict == "not refuted"
    with pytest.raises(CouldNotError, match="calls of a process, share a draw or a state"):
        jaxsel.audit_function(*where, settings={"redraws": False}, **asked)
