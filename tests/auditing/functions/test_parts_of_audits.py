"""Parts of an audit of a function, each held to what it is said to be."""

import hashlib
import math
import os
import time
import types

import numpy as np
import pytest

from jaxsel.auditing.event_limits import event_epsilon, event_epsilon_upper
from jaxsel.auditing.functions import audit_function as auditing
from jaxsel.auditing.functions import drawing
from jaxsel.auditing.functions.audited_function import load
from jaxsel.auditing.functions.clock import Clock
from jaxsel.auditing.functions.drawing import Draws, call_limits
from jaxsel.auditing.functions.events import Chosen, Claim, Event, LargestBound
from jaxsel.auditing.functions.law import check_law
from jaxsel.auditing.functions.neighbours import Neighbours
from jaxsel.auditing.functions.outcomes import table
from jaxsel.auditing.functions.verdicts import detectable, needed
from jaxsel.host.errors import CouldNotError, InputError
from jaxsel.questions.function_audit import function_audit
from tests.asked import ask
from tests.auditing.functions.audited import process_and_threads, refused_or_slow

BELOW = Event("below", lambda given: given.columns["value"] < 0.5)
ABOVE = Event("above", lambda given: given.columns["value"] > 0.5)


# 1 with probability ``data``. No other process can import it, so that none is started.
coins = lambda rng, data, n: (rng.random(n) < data).astype(float)  # noqa: E731


def _lose_a_call(monkeypatch):
    """The last thousand trials on the neighbour are lost: the sides have unlike numbers."""
    monkeypatch.setitem(drawing._BLOCK, "vectorised", 1000)
    counted = auditing._counted

    def cut(*given):
        data, neighbour = counted(*given)
        fewer = neighbour._replace(counts=neighbour.counts[:, :-1], sizes=neighbour.sizes[:-1])
        return [data, fewer]

    monkeypatch.setattr(auditing, "_counted", cut)


@pytest.mark.parametrize("pair", [(0.9, 0.2), (0.2, 0.9)])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_finding_is_made_of_its_counts(pair, delta, monkeypatch):
    asked = []

    def noted(used, *given):
        asked.append((used.tolist(), *given))
        return event_epsilon(used, *given)

    monkeypatch.setattr(auditing, "event_epsilon", noted)
    _lose_a_call(monkeypatch)
    error = 0.003
    found = function_audit(
        coins, *pair, relation="local", claim=0.4, delta=delta, trials=6000, seed=5,
        false_alarm=error,
    )  # fmt: skip
    x, n, y, m = found.counts
    ((used, at, spent, _),) = asked
    assert used == [[n - x, x], [m - y, y]]
    assert (at, spent) == (delta, error)
    assert (found.epsilon, found.delta, found.false_alarm) == (0.4, delta, error)
    assert x / n > y / m
    # The event's probability on each side is the function's own.
    chances = dict(zip(("data", "neighbour"), pair, strict=True))
    there = chances.pop(found.likelier)
    (other,) = chances.values()
    if "not" in found.event or "<= 0" in found.event or "is 0" in found.event:
        there, other = max(there, 1 - there), min(other, 1 - other)
    assert x / n == pytest.approx(max(there, 1 - there), abs=0.05)
    claim = Claim(0.4, delta)
    assert found.upper == event_epsilon_upper(np.array(used), delta, error)
    assert found.detectable == detectable(min(n, m), claim, error)
    assert found.needed == needed(claim, error)
    assert found.verdict == "refuted"
    assert (n, m) == ((3000, 2000) if found.likelier == "data" else (2000, 3000))
    assert (found.trials, found.ended_by) == (5000, "time")
    assert found.pairs == 1
    rows = dict(map(tuple, found.summary().rows))
    far = "neighbour" if found.likelier == "data" else "data"
    assert rows[f"on the {found.likelier}"] == f"{x} of {n}"
    assert rows[f"on the {far}"] == f"{y} of {m}"
    assert (rows["data"], rows["neighbour"]) == tuple(map(repr, pair))
    # The picture: the likelier side first, and what the claim allows there.
    (axes,) = found.plot().axes
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        f"on the {found.likelier}", f"on the {far}"
    ]  # fmt: skip
    (claimed,) = (line for line in axes.get_lines() if "claimed" in str(line.get_label()))
    assert claimed.get_ydata()[0] == pytest.approx(min(math.exp(0.4) * y / m + delta, 1.0))


@pytest.mark.parametrize(
    ("pair", "verdict"), [((0.0, 0.5), "not refuted"), ((0.5, 0.0), "cannot be judged")]
)
def test_what_can_be_refuted_depends_on_the_trials_where_the_event_is_not(
    pair, verdict, monkeypatch
):
    """Of 3,000 trials without it a ratio of 1,000 can be said, and of 2,000 one of 667."""
    _lose_a_call(monkeypatch)
    found = function_audit(
        coins, *pair, relation="local", claim=math.log(800.0), trials=6000, false_alarm=0.05
    )
    assert found.likelier == ("neighbour" if pair[0] == 0.0 else "data")
    assert (found.counts[2], found.verdict) == (0, verdict)


def test_the_search_leaves_what_it_was_not_given(monkeypatch):
    given = {"relation": "local", "claim": 0.4, "trials": 3000, "false_alarm": 0.05}
    found = function_audit(coins, 0.9, 0.2, **given, how="search_trials=500")
    assert found.counts[1::2] == (2500, 2500)
    assert found.trials == 3000
    for search_trials, refused in ((2999, False), (3000, True)):
        if refused:
            with pytest.raises(InputError, match="search_trials is 3000; it must be below trials"):
                function_audit(coins, 0.9, 0.2, **given, how=f"search_trials={search_trials}")
        else:
            few = function_audit(coins, 0.9, 0.2, **given, how=f"search_trials={search_trials}")
            assert few.counts[1::2] == (1, 1)
    with pytest.raises(InputError, match="leave out bits"):
        function_audit(coins, 0.9, 0.2, **given, how="bits,sequential")
    again, compared = [], auditing._compared_again
    monkeypatch.setattr(
        auditing, "_compared_again", lambda *given: again.append(given[4]) or compared(*given)
    )
    largest = function_audit(coins, 0.9, 0.2, **given, how="largest")
    assert largest.verdict == "refuted"
    assert largest.trials == 3000
    assert largest.counts[1::2] == (1500, 1500)
    assert again == [750]  # half of the search's


def test_trials_of_the_bound_that_share_a_draw_are_refused():
    """A draw that is shared by many rows of late calls alone: no look before them sees it."""
    calls = [0]

    def lumps(rng, data, n):
        calls[0] += 1
        if calls[0] < 20:
            return (rng.random(n) < data).astype(float)
        return (rng.random(n) < (0.2 if rng.random() < 0.5 else 0.8)).astype(float)

    with pytest.raises(CouldNotError, match="differs between calls by more than chance"):
        function_audit(
            lumps, 0.5, 0.6, relation="local", claim=1.0, trials=200_000, false_alarm=0.05
        )


# --- Counts of the bound --------------------------------------------------------------


def _draws(function, **options):
    return Draws(load(function), **{"seed": 3} | options)


@pytest.mark.parametrize("at_once", [5, 8, 20, 64])
def test_events_are_counted_over_all_blocks(at_once, monkeypatch):
    monkeypatch.setattr(auditing, "_AT_ONCE", at_once)
    monkeypatch.setattr(auditing, "_FEW", 7)
    monkeypatch.setitem(drawing._BLOCK, "vectorised", 4)
    made = []

    def noted(rng, data, n):
        made.append((data, rng.random(n)))
        return made[-1][1] * (1.0 if data == "first" else 0.9)

    search = auditing._Search(2, Neighbours("first", "second", "a pair"))
    with _draws(noted) as draws:
        sides = auditing._counted(draws, search, 20, (1, 2), [BELOW, ABOVE, BELOW])
    # No two blocks, and no two sides, have the same numbers.
    assert len({float(found[0]) for _, found in made}) == len(made)
    for data, scale, one in zip(("first", "second"), (1.0, 0.9), sides, strict=True):
        values = [scale * found for side, found in made if side == data]
        whole = np.concatenate(values)
        assert one.sizes.tolist() == [len(each) for each in values]
        assert one.sizes.sum() == 20
        inside = [(each < 0.5).sum() for each in values]
        assert one.counts[0].tolist() == one.counts[2].tolist() == inside
        assert one.counts[1].tolist() == [(each > 0.5).sum() for each in values]
        assert one.first.columns["value"].tolist() == whole[: min(7, at_once)].tolist()
        order = hashlib.blake2b(digest_size=16)
        for begin in range(0, 20, at_once):
            order.update(np.packbits(whole[begin : begin + at_once] < 0.5).tobytes())
        assert one.order == order.digest()


def test_trials_are_addressed_by_seed_stream_and_block(monkeypatch):
    monkeypatch.setitem(drawing._BLOCK, "vectorised", 4)
    monkeypatch.setitem(drawing._BLOCK, "generator", 4)
    vectorised = lambda rng, data, n: data + rng.random(n)  # noqa: E731
    single = lambda rng, data: data + rng.random()  # noqa: E731
    for function in (vectorised, single):
        with _draws(function) as draws:
            found = draws.by_turns([(0.0, (7, 1)), (10.0, (7, 2)), (20.0, (8, 1))], 10)
        for tables, (data, stream) in zip(
            found, [(0.0, (7, 1)), (10.0, (7, 2)), (20.0, (8, 1))], strict=True
        ):
            assert [len(one) for one in tables] == [4, 4, 2]
            for block, one in enumerate(tables):
                generator = np.random.default_rng(np.random.SeedSequence([3, *stream, block, 0]))
                assert one.columns["value"] == pytest.approx(data + generator.random(len(one)))


def test_the_rate_is_that_of_the_longest_draw(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(drawing, "time", types.SimpleNamespace(monotonic=lambda: now[0]))

    def costly(rng, data, n):
        now[0] += data + 0.01 * n
        return rng.random(n)

    with _draws(costly) as draws:
        draws.draw(1.0, 100, (1,))
        assert draws.rate == pytest.approx(100 / 2.0)
        draws.draw(5.0, 50, (2,))  # a shorter one changes nothing
        assert draws.rate == pytest.approx(100 / 2.0)
        draws.by_turns([(0.0, (3,)), (1.0, (4,))], 100)
        assert draws.rate == pytest.approx(200 / 3.0)
        draws.fresh(2.0, 200, (5,), 0)
        assert draws.rate == pytest.approx(200 / 4.0)


def test_a_call_has_a_part_of_the_time_and_a_longer_one_while_none_answers():
    for function, seconds, given, limits in (
        (coins, 40.0, None, (4.0, 8.0)),
        (lambda rng, data: 1, 40.0, None, (2.0, 8.0)),
        (lambda data: 1, 40.0, None, (2.0, 8.0)),
        (lambda data: 1, 40.0, 3.0, (3.0, None)),
        (lambda data: 1, 40.0, 30.0, (8.0, None)),
        (lambda rng, data: 1, None, None, (None, None)),
        (coins, None, 3.0, (3.0, None)),
    ):
        assert call_limits(load(function), seconds, given) == limits


# --- The search -----------------------------------------------------------------------


def _search(number, *sides):
    return auditing._Search(number, Neighbours(*sides, "a pair"), tuple(map(table, sides)))


def test_more_trials_are_put_behind_those_that_there_are():
    one = auditing._Search(0, Neighbours(0, 1, "a pair"))
    assert one.rows == 0
    one = one.joined((table([1.0, 2.0]), table([3.0])))
    assert one.rows == 1
    one = one.joined((table([4.0]), table([5.0, 6.0])))
    assert [side.columns["value"].tolist() for side in one.both] == [
        [1.0, 2.0, 4.0],
        [3.0, 5.0, 6.0],
    ]
    assert one.rows == 3
    few = one.first(2)
    assert [side.columns["value"].tolist() for side in few.both] == [[1.0, 2.0], [3.0, 5.0]]


def _ranked_by(monkeypatch, evidence):
    """Replaces the ranking of events by numbers of pairs and claims."""
    asked = []

    def ranked(search, claim, quickly=False):
        asked.append((search.number, claim, search.rows, quickly))
        # Aims of two kinds are equal as tuples.
        return [Chosen(BELOW, False, evidence[search.number, type(claim), *claim])]

    monkeypatch.setattr(auditing, "_ranked", ranked)
    return asked


def test_the_pairs_that_stay_are_those_with_most_evidence_against_any_claim(monkeypatch):
    left = [_search(number, np.zeros(10), np.zeros(10)) for number in range(9)]
    claims = [Claim(0.5), Claim(2.0)]
    evidence = {(n, Claim, *c): 0.0 for n in range(9) for c in claims}
    strong = {(4, 1): 9.0, (7, 0): 8.0, (1, 1): 7.0, (2, 0): 6.0}
    strong |= {(number, claim): 5.0 for number in (0, 3) for claim in (0, 1)}
    evidence |= {(n, Claim, *claims[place]): value for (n, place), value in strong.items()}
    asked = _ranked_by(monkeypatch, evidence)
    best, whole = auditing._strongest(left, claims, 6, Clock(0.0, None))
    assert [one.number for one in best] == [4, 7, 1]  # a third of them
    assert whole
    assert {rows for _, _, rows, _ in asked} == {6}
    assert all(quickly for *_, quickly in asked)
    assert len(asked) == 18
    # Two stay at least; and where the time is over, those that were ranked.
    assert len(auditing._strongest(left[:4], claims, 6, Clock(0.0, None))[0]) == 2
    best, whole = auditing._strongest(left, claims, 6, Clock(-5.0, 1.0))
    assert ([one.number for one in best], whole) == ([0], False)


def test_where_hardly_anything_speaks_against_a_claim_the_largest_bound_is_looked_for(monkeypatch):
    left = [_search(number, np.zeros(10), np.zeros(10)) for number in range(2)]
    claims = [Claim(0.5), Claim(2.0, 0.1)]
    enough = -0.25 * math.log(0.01)
    weak = {(n, Claim, *c): 0.9 * enough for n in range(2) for c in claims}
    weak |= {(n, LargestBound, *c): 1.0 + n for n in range(2) for c in claims}
    asked = _ranked_by(monkeypatch, weak)
    found, whole = auditing._found(left, claims, 0.01, 8, Clock(0.0, None))
    assert whole
    assert [(few[0].evidence, claim, one.number) for few, claim, one in found] == [
        (1.0, claims[0], 0), (1.0, claims[1], 0), (2.0, claims[0], 1), (2.0, claims[1], 1)
    ]  # fmt: skip
    assert {rows for _, _, rows, _ in asked} == {8}
    assert not any(quickly for *_, quickly in asked)
    # One that is not weak is enough: the claims themselves are held against the pairs.
    _ranked_by(monkeypatch, weak | {(1, Claim, *claims[1]): 1.1 * enough})
    found, _ = auditing._found(left, claims, 0.01, 8, Clock(0.0, None))
    assert [few[0].evidence for few, _, _ in found] == pytest.approx(
        [0.9 * enough] * 3 + [1.1 * enough]
    )
    # Where the time is over, the first of them.
    found, whole = auditing._found(left, claims, 0.01, 8, Clock(-5.0, 1.0))
    assert (len(found), whole) == (1, False)


@pytest.mark.parametrize("swapped", [False, True])
def test_events_are_compared_again_by_more_trials_in_their_direction(swapped):
    pair = Neighbours(0.2, 0.6, "a pair") if swapped else Neighbours(0.6, 0.2, "a pair")
    search = auditing._Search(0, pair)
    few = [Chosen(BELOW, swapped, 50.0), Chosen(ABOVE, swapped, 1.0)]
    claim = Claim(0.3)
    with _draws(coins) as draws:
        again = auditing._compared_again(draws, search, claim, few, 4000, 1)
        sides = auditing._counted(draws, search, 4000, (0, 0, 1), [ABOVE])
    # The side with more ones is likelier to be above: what was said before counts no more.
    assert [one.event for one in again] == [ABOVE, BELOW]
    assert all(one.swapped == swapped for one in again)
    x, y = (one.counts.sum(axis=1) for one in sides)
    x, y = (y, x) if swapped else (x, y)
    assert again[0].evidence == claim.evidence(x, y, (4000, 4000))[0] > 0.0
    assert again[1].evidence == 0.0


def test_what_a_sequential_test_is_fed_with():
    reals = table([0.5, 1.0, -2.5])
    assert auditing._for_bets(reals).tolist() == [0.5, 1.0, -2.5]
    for labels in ([1.0, 2.0, 3.0], ["a", 0.5], [0.5, math.nan], [[0.5], [1.5]], [0.5, None]):
        found = auditing._for_bets(table(labels))
        assert found.dtype.kind == "U"
        assert found.tolist() == table(labels).words.tolist()


def test_a_long_input_is_shown_by_its_beginning():
    assert auditing._short([1.0, 2.0]) == "[1.0, 2.0]"
    assert auditing._short("x" * 78) == repr("x" * 78)
    shown = auditing._short("x" * 79)
    assert (len(shown), shown[-4:]) == (80, " ...")
    assert auditing._short(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"


def test_pairs_are_searched_in_rounds_of_fewer_pairs_and_more_trials():
    """Of ten pairs, three and then two; each round has half of what is left, the last one all."""
    made: dict[float, list[int]] = {}

    def noted(rng, data, n):
        made.setdefault(data, []).append(n)
        return (rng.random(n) < data).astype(float)

    inputs = [0.3, 0.45, 0.5, 0.55, 0.7]
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(drawing._BLOCK, "vectorised", 10**6)
        found = function_audit(
            noted, inputs, relation="local", claim=0.1, trials=20_000, false_alarm=0.05
        )
    looks = made[0.3].count(64)
    assert looks == 8  # at the independence of calls
    drawn = [n for calls in made.values() for n in calls if n != 64]
    # Both sides of ten pairs, of three, of two, and of the bound.
    assert sorted(drawn) == [500] * 20 + [833] * 6 + [1250] * 4 + [10_001] * 2
    assert found.counts[1::2] == (10_001, 10_001)
    assert (found.trials, found.pairs, found.ended_by) == (20_000, 10, "trials")
    assert (found.data, found.neighbour) == (0.3, 0.7)
    assert sorted(made[0.3])[-1] == sorted(made[0.7])[-1] == 10_001


@pytest.mark.parametrize("swapped", [False, True])
def test_of_several_claims_the_one_that_falls_is_named(swapped):
    """A delta of .1 is all that the function shows: a pure claim of 3 stands, and delta .01 not."""

    def leaks(rng, data, n):
        return ((rng.random(n) < 0.1) & (data > 0.5)).astype(int) + 2 * (rng.random(n) < 0.5)

    claims = [Claim(0.5, 0.2), Claim(2.0, 0.01), Claim(1.0, 0.15)]
    found = auditing.search_and_bound(
        leaks,
        *(1.0, 0.0) if swapped else (0.0, 1.0),
        relation="local",
        claims=claims if swapped else claims[::-1],
        said="a curve",
        trials=8000,
        false_alarm=1e-6,
    )
    assert (found.epsilon, found.delta) == (2.0, 0.01)
    assert found.refuted
    assert found.likelier == ("data" if swapped else "neighbour")
    assert found.claim == "a curve"
    x, n, y, m = found.counts
    assert (y, m) == (0, 4000)
    assert x / n == pytest.approx(0.1, abs=0.05) or x / n == pytest.approx(0.05, abs=0.025)


class _Stub:
    """Draws of zeros, each at a cost that sets the clock forward."""

    def __init__(self, now, cost, said):
        self.now, self.cost, self.rate, self.until, self.streams = now, cost, 1 / said, 0.0, []

    def draw(self, data, trials, stream):
        self.now[0] += self.cost * trials
        self.streams.append(stream)
        return table(np.zeros(trials))

    def draw_each(self, inputs, trials):
        return [self.draw(data, trials, stream) for data, stream in inputs]


@pytest.mark.parametrize(
    ("cost", "said", "rows", "over"),
    [
        # Eight seconds for four pairs of two sides, at a hundredth a trial.
        (0.01, 0.01, [100, 100, 100, 100], False),
        # Twice as dear as was thought: what is left is shared by those that are left.
        (0.02, 0.01, [100, 66, 34, 0], True),
        (0.05, 0.01, [100], True),
        (0.001, 0.001, [500, 500, 500, 500], False),
    ],
)
@pytest.mark.parametrize("before", [0, 7])
def test_pairs_share_the_time_for_drawing(cost, said, rows, over, before, monkeypatch):
    now = [100.0]
    clock_of = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("jaxsel.auditing.functions.clock.time", clock_of)
    clock, draws = Clock(100.0, 8.0), _Stub(now, cost, said)
    draws.until = 108.0
    left = [auditing._Search(number, Neighbours(0, 1, "")) for number in range(4)]
    if before:
        few = table(np.zeros(before))
        left = [one.joined((few, few)) for one in left]
    found, new = auditing._with_more(draws, left, 500, 3, clock)
    drawn = [one.rows - before for one in found]
    if cost == 0.05:
        assert drawn == rows + ([0] * 3 if before else [])
    elif over:
        assert drawn[:2] == rows[:2]
        assert drawn == sorted(drawn, reverse=True)
    else:
        assert drawn == rows
    assert new == sum(drawn)
    assert draws.streams[:3] == [(0, 0, 3, 0), (0, 0, 3, 1), (0, 1, 3, 0)][: len(draws.streams)]


def test_draws_say_where_they_are_made_and_count_what_they_make(monkeypatch):
    single = lambda rng, data: rng.random()  # noqa: E731
    with _draws(single) as draws:
        made = []
        draws._advance = made.append
        draws.draw(0.0, 130, (1,))
        draws.fresh(0.0, 5, (2,), 1)
        assert made == [64, 64, 2, 5]
        assert (draws.workers, draws.ran) == (
            0, "in this process alone, since no other can import the function"
        )  # fmt: skip
    # Which are written down: the progress, and a word where calls end many processes.
    said = []
    monkeypatch.setattr(drawing, "note", said.append)
    for until, progress, notes in ((math.inf, None, 1), (9e9, None, 0), (math.inf, False, 0)):
        draws = _draws(single, until=until, total=10, progress=progress)
        said.clear()
        for _ in range(20):
            draws._count_end()
        assert len(said) == notes
    for workers, made in ((None, min(max(os.cpu_count() or 1, 2), 8)), (1, 2), (3, 3)):
        assert Draws(load(process_and_threads), workers=workers).workers == made


def test_calls_of_their_own_are_made_by_processes_in_turn(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    with Draws(load(process_and_threads), workers=2) as draws:
        numbers = [set(draws.fresh(0.0, 3, (1,), call).words) for call in range(4)]
        assert draws.ran == "in processes of their own"
    assert [len(one) for one in numbers] == [1] * 4
    assert numbers[0] == numbers[2] != numbers[1] == numbers[3]
    assert all(word.endswith(", '1']") for word in set().union(*numbers))
    assert not any(str(os.getpid()) in word for word in set().union(*numbers))
    # And they end with the draws.
    assert [own._process for own in draws._pool] == [None, None]


# --- A sequential audit, and what is said ----------------------------------------------


def _drawn_by(function, monkeypatch, **options):
    """How many trials a side each call asks for, besides the looks at independence."""
    made = []

    def noted(rng, data, n):
        made.append(n)
        return function(rng, data, n)

    monkeypatch.setitem(drawing._BLOCK, "vectorised", 10**6)
    given = {"relation": "local", "false_alarm": 1e-6, "sequential": True, "trials": 5000}
    found = ask(function_audit, noted, **given | options)
    return found, made[8:][::2]


def test_a_sequential_audit_doubles_its_trials_up_to_a_fifth(monkeypatch):
    found, made = _drawn_by(coins, monkeypatch, claim=0.5, pair=(0.5, 0.5000001))
    assert made == [64, 64, 128, 256, 488, 4000]
    assert (found.verdict, found.trials, found.pairs) == ("not refuted", 5000, 1)
    assert found.counts[1::2] == (4000, 4000)
    # Where it stops, four times as many confirm.
    found, made = _drawn_by(coins, monkeypatch, claim=0.5, pair=(0.9, 0.1), trials=100_000)
    assert made[-1] == 4 * sum(made[:-1])
    assert found.trials == 5 * sum(made[:-1]) < 10_000
    assert found.refuted


def test_a_sequential_audit_is_of_one_pair_and_one_epsilon(monkeypatch):
    for options in (
        {"claim": 0.5, "delta": 0.1, "pair": (0.5, 0.5000001)},
        {"claim": "gdp:mu=1", "pair": (0.5, 0.5000001)},
        {"claim": 0.5, "data": [0.5, 0.6, 0.7]},
    ):
        with pytest.raises(InputError, match="of one given pair, and a claim of epsilon alone"):
            _drawn_by(coins, monkeypatch, **options)


@pytest.fixture(name="audited", scope="module")
def _audited():
    return function_audit(
        coins, 0.9, 0.2, relation="local", claim=0.4, trials=2000, false_alarm=0.01
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "REFUTED: {name} claims epsilon 0.4 (local); epsilon is at least {lower}"),
        ({"delta": 0.25}, "; epsilon at delta 0.25 is at least {lower} (false-alarm rate 0.01)."),
        ({"bits": True}, "REFUTED as released bits: "),
        ({"calls": ""}, "(false-alarm rate 0.01)."),
        ({"verdict": "not refuted"}, "would have refuted 1.23 and more on an event of probability"),
        ({"verdict": "not refuted"}, "That is no proof."),
        ({"verdict": "not refuted", "upper": 0.39}, "The event that was found shows at most 0.39:"),
        ({"verdict": "constant"}, "gives one outcome, whatever the input and the trial."),
        ({"verdict": "failed"}, "gave no answer in any trial: {event}."),
        ({"verdict": "cannot be judged", "needed": 12345.0}, "takes 12,345, the search as many."),
        (
            {"verdict": "cannot be judged", "needed": math.inf, "ended_by": "time"},
            "takes more than 2^53, the search as many, and time ended it.",
        ),
        (
            {"verdict": "cannot be judged", "counts": (5, 700, 0, 40)},
            "no outcome of 40 trials a side could refute that",
        ),
    ],
)
def test_a_verdict_in_words(audited, change, words):
    found = audited._replace(detectable=1.23, **change)
    said = found.summary().sentence
    shown = words.format(name=found.function, lower=f"{found.lower:.4g}", event=found.event)
    assert shown in said
    if "upper" not in change:
        assert "shows at most" not in said
    assert found.refuted == ("verdict" not in change)
    shared = "All calls ran in this process" in said
    assert shared == ("verdict" not in change and change.get("calls") != "")


def test_rows_of_a_finding(audited):
    rows = dict(map(tuple, audited._replace(seconds=1.26, pairs=7, lower=0.123456).summary().rows))
    assert rows["pair"] == "the given pair"
    assert rows["event"] == audited.event
    assert rows["lower bound on epsilon"] == "0.1235"
    assert rows["trials a side"] == "2000, ended by trials; 7 pairs"
    assert rows["seconds"] == "1.3"
    assert rows["calls"].startswith("in this process alone")
    assert "calls" not in dict(map(tuple, audited._replace(calls="").summary().rows))


def test_equal_seeds_have_equal_findings_and_others_not():
    given = {"relation": "local", "claim": 0.4, "trials": 2000}
    one, same, other = (
        function_audit(coins, 0.6, 0.2, seed=seed, false_alarm=0.01, **given) for seed in (3, 3, 4)
    )
    timeless = {"seconds": 0.0, "search_seconds": 0.0}
    assert one._replace(**timeless) == same._replace(**timeless)
    assert one.counts != other.counts
    assert (one.seed, other.seed) == (3, 4)
    assert 0.0 < one.search_seconds <= one.seconds


def test_what_a_claim_allows_is_no_more_than_certain(audited):
    (axes,) = audited._replace(epsilon=9.0).plot().axes
    (claimed,) = (line for line in axes.get_lines() if "claimed" in str(line.get_label()))
    assert claimed.get_ydata()[0] == 1.0


@pytest.mark.parametrize(("end", "blocks"), [(8.5, 3), (9.1, 4), (math.inf, 6)])
def test_what_is_drawn_for_the_bound_is_looked_at_in_time(end, blocks, monkeypatch):
    """A block is drawn in a second, and begun where there are three halves to look at it, too."""
    now = [0.0]
    clock_of = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(auditing, "time", clock_of)
    monkeypatch.setattr(drawing, "time", clock_of)
    monkeypatch.setattr(auditing, "_AT_ONCE", 10)

    def slow(rng, data, n):
        now[0] += 0.5
        return rng.random(n)

    def looked_at(given):
        now[0] += 0.75
        return given.values < 0.5

    search = auditing._Search(0, Neighbours(0.0, 1.0, "a pair"))
    with _draws(slow, until=end) as draws:
        sides = auditing._counted(draws, search, 60, (1,), [Event("slow", looked_at)])
    assert [one.sizes.sum() for one in sides] == [10 * blocks] * 2
    assert now[0] <= end + 1.0  # what was begun in time is drawn


@pytest.mark.parametrize(("trials", "refused"), [(99, True), (100, False)])
def test_an_audit_has_a_hundred_trials_at_least(trials, refused):
    given = {"relation": "local", "claim": 0.4, "false_alarm": 0.05}
    if refused:
        with pytest.raises(InputError, match="trials"):
            function_audit(coins, 0.9, 0.2, trials=trials, **given)
        with pytest.raises(InputError, match="trials"):
            check_law(coins, 0.5, law={0: 0.5, 1: 0.5}, trials=trials)
    else:
        assert function_audit(coins, 0.9, 0.2, trials=trials, **given).trials == 100
        assert check_law(coins, 0.5, law={0: 0.5, 1: 0.5}, trials=trials).trials == 100


def test_what_is_refused_waits_for_no_other_call():
    began = time.monotonic()
    with (
        Draws(load(refused_or_slow), workers=2) as draws,
        pytest.raises(InputError, match="must return n outcomes"),
    ):
        draws.by_turns([("refused", (1,)), ("slow", (2,))], 4)
    assert time.monotonic() - began < 20.0
