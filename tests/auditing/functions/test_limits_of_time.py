"""A limit of time, and more trials than it allows: kept, by a clock that costs set forward."""

import math
import time
import types

import numpy as np
import pytest

from jaxsel.auditing.event_limits import log_ratio_lower
from jaxsel.auditing.functions import audit_function as auditing
from jaxsel.auditing.functions import calls, drawing
from jaxsel.auditing.functions import clock as clocks
from jaxsel.auditing.functions.audited_function import load
from jaxsel.auditing.functions.drawing import Draws, call_limits
from jaxsel.auditing.functions.events import Claim
from jaxsel.auditing.functions.law import check_law
from jaxsel.auditing.functions.replay import replay
from jaxsel.auditing.functions.verdicts import refutable
from jaxsel.host.errors import CouldNotError, InputError
from jaxsel.questions.function_audit import function_audit
from jaxsel.testing import NoPowerError, assert_private
from tests.asked import ask
from tests.cli.test_cli import run, run_json


class _Costs:
    """A clock that stands still but for what is done: seconds of a row, by what is done to it."""

    def __init__(self, monkeypatch, *, drawn=0.0, joined=0.0, ranked=0.0, pair=0.0):
        self.now, self.drawn, self.rows = 0.0, drawn, []
        clock = types.SimpleNamespace(monotonic=lambda: self.now)
        choose, together = auditing.choose, drawing.together

        def slowly(learned_on, chosen_on, *given):
            rows = sum(map(len, (*learned_on, *chosen_on)))
            self.now += pair + ranked * rows
            self.rows.append(rows)
            return choose(
                *([one.rows(slice(500)) for one in s] for s in (learned_on, chosen_on)), *given
            )

        def one_by_one(tables):
            self.now += joined * sum(map(len, tables))
            return together(tables)

        for module in (auditing, clocks, drawing):
            monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(auditing, "choose", slowly)
        monkeypatch.setattr(drawing, "together", one_by_one)

    def laplace(self, rng, data, n):
        """The sum with noise of scale 1: epsilon is 1."""
        self.now += self.drawn * n
        return np.sum(data) + rng.laplace(size=n)

    def audited(self, seconds, **options):
        given = {"relation": "replace_one", "claim": 0.5, "trials": 10**9, "false_alarm": 0.05}
        return ask(function_audit, self.laplace, **given | options, seconds=seconds)


@pytest.mark.parametrize(
    "costs",
    [
        {"drawn": 1e-3},  # a slow function
        {"drawn": 2e-4, "joined": 1e-3},  # whose outcomes are slow to read
        {"drawn": 2e-4, "ranked": 2e-3},  # and slow to learn from
        {"drawn": 2e-4, "pair": 0.1},
    ],
)
@pytest.mark.parametrize("seconds", [20.0, 60.0])
def test_a_limit_of_time_is_kept_whatever_takes_it_and_the_bound_has_its_part(
    costs, seconds, monkeypatch
):
    found = _Costs(monkeypatch, **costs).audited(seconds)
    assert found.ended_by == "time"
    assert found.seconds <= 1.1 * seconds
    assert found.search_seconds <= 0.65 * seconds
    assert found.pairs > 1
    assert found.verdict == "refuted"


FILE = """
import signal
import time


def hangs(rng, data, n):
    time.sleep(1e6)


def hangs_on_one(rng, data, n):
    if data[0]:
        time.sleep(1e6)
    return rng.laplace(size=n)


def goes_on(rng, data):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            time.sleep(1e6)
        except BaseException:
            pass


def goes_on_with_rows(rng, data, n):
    goes_on(rng, data)


def slow(rng, data):
    time.sleep(0.2)
    return rng.laplace()


def hangs_in_jax(key, data):
    time.sleep(1e6)
"""


@pytest.fixture(name="file", scope="module")
def _file(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "limits.py"
    path.write_text(FILE)
    return str(path)


def _seconds(subject, seconds, **options):
    """The verdict, or why there is none, and the seconds that it took."""
    given = {"relation": "replace_one", "claim": 1.0, "trials": 10**15, "seconds": seconds}
    began = time.monotonic()
    try:
        found = ask(function_audit, subject, pair=([0.0], [1.0]), **given | options)
        said = found.summary().sentence
    except CouldNotError as error:
        said = str(error)
    return said, time.monotonic() - began


@pytest.mark.parametrize(("name", "seconds", "most"), [("hangs", 1.5, 8.0), ("goes_on", 2.0, 10.0)])
def test_calls_that_hang_in_a_process_of_their_own_keep_the_limit(file, name, seconds, most):
    """Each took a limit of the whole audit, or two seconds besides; most is for a busy machine."""
    said, took = _seconds(f"{file}:{name}", seconds)
    assert "gave no answer in any trial: no answer within " in said
    assert took < most


def test_rows_of_a_call_that_is_ended_are_not_asked_for_singly(file, monkeypatch):
    """Each of them would hang, too, and take a new process."""
    started = []
    plain = drawing.subprocess.Popen
    monkeypatch.setattr(
        drawing.subprocess, "Popen", lambda *a, **b: started.append(1) or plain(*a, **b)
    )
    with Draws(load(f"{file}:goes_on_with_rows"), workers=2, call_seconds=0.05) as draws:
        assert draws.draw([0.0], 3, (1,)).words.tolist() == [calls.NO_ANSWER] * 3
    assert len(started) == 3


def test_calls_that_hang_in_this_process_keep_the_limit(file):
    module = types.ModuleType("limits")
    exec(FILE, vars(module))  # no other process can import it
    said, took = _seconds(module.hangs, 1.0)
    assert "no answer within 0.1 s, the limit of a call, nor within 0.2 s where that" in said
    assert took < 5.0
    said, took = _seconds(module.hangs_on_one, 1.0)
    assert said.startswith("REFUTED")
    assert took < 5.0
    said, took = _seconds(f"{file}:hangs_in_jax", 1.0)
    assert "hangs_in_jax gave no answer in any trial: no answer within 0.2 s, the limit" in said
    assert took < 6.0


def test_a_call_that_the_machine_held_up_is_made_once_more():
    """Else all its rows would be an outcome of one side alone, and a right function refuted."""
    made: list[int] = []

    def held(rng, data, trials):
        made.append(trials)
        if len(made) in stalls:
            time.sleep(60.0)
        return rng.integers(0, 2, trials)

    with Draws(load(held), call_seconds=0.25, until=time.monotonic() + 60.0) as draws:
        stalls = {2, 4}
        first, second, third = (draws.draw(0, 10, (stream,)) for stream in (1, 2, 2))
        assert set(first.words) | set(second.words) == {"0", "1"}
        assert second.words.tolist() == third.words.tolist()  # of the same randomness
        assert made == [10] * 5
        # What never answers is not made twice for ever.
        stalls = {*range(6, 60)}
        for stream in range(5):
            assert draws.draw(0, 10, (3, stream)).words.tolist() == [calls.NO_ANSWER] * 10
        assert len(made) == 5 + 2 * 2 + 3


def test_a_function_that_is_slower_than_the_limit_of_a_call_has_a_longer_one(file):
    with Draws(load(f"{file}:slow"), call_seconds=0.1, longer=2.0, workers=2) as draws:
        assert draws.draw([0.0], 1, (1,)).words[0] != calls.NO_ANSWER
        assert draws.call_seconds == 2.0
        assert draws.draw([1.0], 1, (2,)).words[0] != calls.NO_ANSWER
    # What has answered once keeps its limit: else calls of one side would have more than the other.
    function = load(lambda data: time.sleep(data))
    with Draws(function, call_seconds=0.3, longer=4.0) as draws:
        assert draws.draw(0.0, 1, (1,)).words.tolist() == ["None"]
        assert draws.draw(1.0, 1, (2,)).words.tolist() == [calls.NO_ANSWER]
        assert draws.call_seconds == 0.3


def test_calls_are_compared_where_the_first_input_has_no_answer():
    fixed = np.random.default_rng(1)

    def hangs_on_zero(rng, data, n):
        if not data[0]:
            time.sleep(1e6)
        return np.full(n, fixed.laplace())

    said, _ = _seconds(hangs_on_zero, 1.0)
    assert "one draw is shared or an answer is remembered" in said


@pytest.mark.parametrize("kind", ["vectorised", "generator", "own", "jax"])
def test_limits_of_calls_are_parts_of_the_limit_of_all(kind):
    function = load(lambda *_: None, kind)
    limit, longer = call_limits(function, 10.0, None)
    assert 0.0 < limit <= 2.0
    assert longer is None or limit < longer <= 2.0
    assert call_limits(function, 10.0, 1e6) == (2.0, None)
    assert call_limits(function, None, 7.0) == (7.0, None)


def test_the_clock_is_asked_between_pairs_that_are_ranked(monkeypatch):
    """Fifteen are proposed, and to rank one takes a fifth of the search."""
    found = _Costs(monkeypatch, drawn=1e-4, pair=2.0).audited(20.0)
    assert found.seconds <= 24.0  # the last of them was begun in time
    assert found.verdict in ("refuted", "not refuted")


@pytest.mark.parametrize("claim", [0.5, 1.0])
def test_a_sequential_audit_ends_with_its_time(claim, monkeypatch):
    pair = ([0.0], [1.0])
    found = _Costs(monkeypatch, drawn=1e-3).audited(20.0, pair=pair, sequential=True, claim=claim)
    assert found.seconds <= 22.0
    assert found.verdict == ("refuted" if claim < 1.0 else "not refuted")


def test_the_search_has_so_many_rows_of_a_pair_and_the_bound_what_it_leaves(monkeypatch):
    costs = _Costs(monkeypatch)
    monkeypatch.setattr(auditing, "_ROWS", 300)
    found = costs.audited(None, trials=20_000)
    assert max(costs.rows) <= 2 * 300
    assert found.trials == 20_000
    assert found.counts[1] == found.counts[3] > 17_000
    assert found.ended_by == "trials"
    costs.rows.clear()
    alone = costs.audited(None, trials=20_000, pair=([0.0], [1.0]), sequential=True)
    assert max(costs.rows) <= 2 * 2 * 300
    assert alone.verdict == "refuted"


def test_trials_that_could_refute_nothing_are_no_verdict():
    def laplace(rng, data, n):
        return np.sum(data) + rng.laplace(size=n)

    options = {"relation": "replace_one", "trials": 1000, "false_alarm": 0.05}
    needed = 1 + int(math.log(0.05) / -math.log1p(math.exp(-6.0)))
    for delta in (0.0, 1e-3):
        found = function_audit(laplace, claim=6.0, delta=delta, **options)
        assert found.verdict == "cannot be judged"
        assert not found.refuted
        points = [round(n * delta * math.exp(-6.0)) for n in (found.needed, found.needed - 1)]
        enough, fewer = (
            float(log_ratio_lower(n, y, 0.05))
            for n, y in zip((found.needed, found.needed - 1), points, strict=True)
        )
        assert fewer <= 6.0 < enough
    assert function_audit(laplace, claim=6.0, **options).needed == needed
    said = found.summary().sentence
    assert said.startswith("CANNOT BE JUDGED: ")
    assert f"the bound alone takes {found.needed:,.0f}, the search as many." in said
    more = options | {"trials": 4 * needed}
    assert function_audit(laplace, claim=6.0, **more).verdict == "not refuted"
    endless = function_audit(laplace, claim=50.0, **options)
    assert endless.needed == math.inf
    assert "more than 2^53" in endless.summary().sentence
    # The boundary itself, of unequal numbers of trials, too.
    assert refutable(Claim(6.0), needed, needed, 0.05)
    assert not refutable(Claim(6.0), needed - 1, needed - 1, 0.05)
    assert not refutable(Claim(6.0), needed, needed // 2, 0.05)


def test_a_test_that_could_not_fail_has_no_power():
    def laplace(rng, data, n):
        return np.sum(data) + rng.laplace(size=n)

    given = {"relation": "replace_one", "epsilon": 9.0, "trials": 1000, "detects": None}
    with pytest.raises(NoPowerError, match=r"no power: CANNOT BE JUDGED: .* claims epsilon 9 "):
        assert_private(laplace, [0.0], [1.0], **given)


def test_the_command_says_so_by_its_exit_status(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def noisy(rng, data, n):\n    return sum(data) + rng.laplace(size=n)\n")
    words = ("audit-function", f"{file}:noisy", "--relation", "replace_one", "--trials", "1e3")
    code, out, _ = run(capsys, *words, "--claim", "9")
    assert (code, "CANNOT BE JUDGED: noisy claims epsilon 9" in out) == (3, True)
    code, (found,) = run_json(capsys, *words, "--claim", "9")
    assert (code, found["verdict"]) == (3, "cannot be judged")
    assert found["needed"] == 1 + int(math.log(0.05) / -math.log1p(math.exp(-9.0)))


def _laplace(rng, data, n):
    return np.sum(data) + rng.laplace(size=n)


def test_seeds_and_equal_inputs_are_checked(capsys):
    on = {"relation": "replace_one", "claim": 1.0, "trials": 1000}
    said = "seed is -1; it must be a whole number >= 0"
    with pytest.raises(InputError, match=said):
        function_audit(_laplace, seed=-1, **on)
    with pytest.raises(InputError, match=said):
        check_law(_laplace, [0.0], law="laplace", trials=1000, seed=-1)
    with pytest.raises(InputError, match=said):
        replay(_laplace, relation="replace_one", claim=1.0, seed=-1)
    for relation, side in {"replace_one": [0.0], "general": 0.0, "local": "yes"}.items():
        with pytest.raises(InputError, match="its two inputs are equal"):
            function_audit(_laplace, side, side, **on | {"relation": relation})


def test_no_epsilon_is_said_where_so_many_trials_refute_none():
    pair = ([0.0], [1.0])
    found = function_audit(_laplace, *pair, relation="replace_one", claim=1.0, trials=1000)
    said = found._replace(detectable=math.inf).summary().sentence
    assert "so many trials would have refuted no epsilon on an event" in said
    with pytest.raises(NoPowerError, match="would have refuted no epsilon, not 2"):
        assert_private(
            _laplace,
            [0.0],
            [1.0],
            relation="replace_one",
            epsilon=1.0,
            trials=100,
            false_alarm=0.01,
        )


@pytest.mark.parametrize("detects", [math.nan, math.inf, "x", -1.0, 0.0])
def test_detects_is_checked_before_any_trial(detects):
    def called(rng, data, n):
        raise AssertionError

    with pytest.raises(InputError, match="detects is "):
        assert_private(called, relation="replace_one", epsilon=1.0, detects=detects)


def test_a_neighbour_needs_data():
    refused = pytest.raises(InputError, match="neighbour is given without data")
    with pytest.warns(DeprecationWarning, match="neighbour"), refused:
        assert_private(_laplace, neighbour=[1.0], relation="replace_one", epsilon=1.0)
