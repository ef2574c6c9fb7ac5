"""What the time that is left allows, by a clock that only what is done sets forward."""

import math
import signal
import types

import pytest

from jaxsel.auditing.functions import clock as clocks
from jaxsel.auditing.functions.clock import Clock


@pytest.fixture(name="now")
def _now(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(clocks, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_search_has_half_of_the_time_that_is_left_when_it_begins(now):
    clock = Clock(90.0, 30.0)
    assert clock.end == clock.searched == 120.0
    clock.search()
    assert (clock.searched, clock.end) == (110.0, 120.0)
    assert clock.part(0.25, 108.0) == 102.0
    assert clock.part(0.25, 60.0) == 100.0  # nothing is left
    assert clock.part(0.25, math.inf) == math.inf
    endless = Clock(90.0, None)
    endless.search()
    assert endless.end == endless.searched == math.inf


def test_what_is_over_is_said(now):
    clock = Clock(90.0, 30.0)
    assert not clock.over(100.0)
    assert (clock.short, clock.ended_by(False), clock.ended_by(True)) == (False, "trials", "time")
    assert clock.over(99.0)
    assert not clock.over(105.0)
    assert clock.short  # it has been over once
    assert clock.ended_by(False) == "time"
    now[0] = 121.0
    assert Clock(90.0, 30.0).over(math.inf)  # the end is the end of all


def test_trials_are_afforded_by_their_price(now):
    clock = Clock(90.0, 30.0)
    assert clock.affordable(10**6, 0.01, 104.0) == 400
    assert clock.affordable(300, 0.01, 104.0) == 300
    assert clock.affordable(10**6, 0.01, 99.0) == 2
    assert clock.affordable(1, 0.01, 99.0) == 1
    assert clock.affordable(10**6, 0.01, math.inf) == 10**6
    draws = types.SimpleNamespace(until=0.0)
    for until, allowed in ((105.0, 105.0), (math.inf, 120.0)):
        clock.let(draws, until)
        assert draws.until == allowed


@pytest.mark.parametrize(
    ("fixed", "each", "left", "rows", "asked"),
    [
        (0.0, 2**-10, 42.0, 10**5, [2048, 8192, 32768]),  # 2, 8 and 32 seconds
        (0.0, 2**-10, 10.0, 10**5, [2048, 8192]),  # to the very end
        (0.0, 2**-10, 9.9, 10**5, [2048]),
        # What each takes beside its rows is not taken four times.
        (10.0, 2**-10, 12.0 + 48.0, 10**5, [2048, 8192]),
        (10.0, 2**-10, 12.0 + 47.9, 10**5, [2048]),
        (10.0, 2**-10, 12.0 + 18.0 + 42.0, 10**5, [2048, 8192, 32768]),
        (10.0, 2**-10, 12.0 + 18.0 + 41.9, 10**5, [2048, 8192]),
        (0.0, 2**-10, 50.0, 3000, [2048, 3000]),
        (0.0, 2**-10, 50.0, 500, [500]),
        (0.0, 2**-10, math.inf, 10**5, [10**5]),
    ],
)
def test_ranks_grow_as_long_as_the_next_is_expected_in_time(fixed, each, left, rows, asked, now):
    clock, seen = Clock(now[0], None if left == math.inf else 500.0), []

    def find(few):
        seen.append(few)
        now[0] += fixed + each * few
        return f"of {few}", True

    assert clock.growing(find, rows, now[0] + left) == (f"of {asked[-1]}", asked[-1])
    assert seen == asked
    assert clock.short == (asked[-1] < rows)


def test_a_rank_of_some_pairs_takes_the_place_of_no_rank_of_all(now):
    for wholes, kept in (
        ((True, False), 2048),
        ((False, False), 8192),
        ((False, True), 8192),
        ((True, True), 8192),
    ):
        answers = iter(wholes)
        found, rows = Clock(now[0], 500.0).growing(
            lambda few, answers=answers: (few, next(answers)), 8192, now[0] + 400.0
        )
        assert (found, rows) == (kept, kept)


def test_the_end_of_all_ends_what_grows(now):
    clock = Clock(now[0], 5.0)

    def find(few):
        now[0] += 0.001 * few
        return few, True

    assert clock.growing(find, 10**5, now[0] + 1000.0) == (2048, 2048)


def test_the_first_interrupt_ends_the_time_and_the_second_is_the_processes(now):
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        clock, draws = Clock(90.0, 30.0), types.SimpleNamespace(until=120.0)
        with clock.interruptible(draws):
            signal.raise_signal(signal.SIGINT)
            assert clock.end == clock.searched == draws.until == 100.0
            clock.let(draws, 110.0)
            assert draws.until == 100.0
            assert clock.ended_by(False) == "an interrupt"
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with clock.interruptible(draws):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
