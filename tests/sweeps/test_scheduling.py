"""Which calls a sweep makes: every trial of every item once, at any rate, after any kill.

Most sweeps of tests are too short to be split. Here the engine only counts which trials it
was asked for, its clock goes by a rate made up, and the sizes are small.
"""

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from jaxsel.shards import Shard
from jaxsel.sweeps import tallying
from jaxsel.sweeps.sharing import share_of
from jaxsel.sweeps.tallying import Item, Kept, Store, tally

CASES = 400


class Killed(BaseException):
    """In the middle of a call, or right after one."""


class Found(NamedTuple):
    values: np.ndarray


class CountingEngine:
    """Stands for the engine and its clock: trial t of an item has outcome t mod 3."""

    def __init__(self, chance: random.Random, kills: float):
        self.chance = chance
        self.kills = kills
        self.now = 0.0
        self.calls: list[tuple[int, int, int, int]] = []

    def monotonic(self) -> float:
        return self.now

    def simulate_grid(self, mechanism, cells, *, trials, first_trial, seed, cell_numbers, **rest):
        del rest
        assert trials > 0
        assert len(self.calls) < 20_000, "it does not get on"
        assert len(set(cell_numbers)) == len(cell_numbers) == len(cells)
        # A call is one program and one seed.
        assert {(mechanism, seed)} == {(each[0], each[1]) for each, _ in cells}
        if self.chance.random() < self.kills:
            raise Killed
        for _, key in cells:
            self.calls.append((key, seed, first_trial, first_trial + trials))
        rate = 10.0 ** self.chance.uniform(-1, 6)
        self.now += len(cells) * trials / rate
        ends = [_outcomes(first_trial, first_trial + trials)] * len(cells)
        return Found(np.array(ends, np.int64))


def _outcomes(first: int, last: int) -> np.ndarray:
    """How many of the trials [first, last) have number 0, 1 and 2 modulo 3."""
    return np.array([(last - i + 2) // 3 - (first - i + 2) // 3 for i in range(3)])


def test_the_law_of_the_counting_engine():
    for first in range(5):
        for last in range(first, 12):
            wanted = np.bincount(np.arange(first, last) % 3, minlength=3)
            assert (_outcomes(first, last) == wanted).all()


def _put(monkeypatch, engine: CountingEngine, chance: random.Random) -> None:
    monkeypatch.setattr(tallying.engine, "simulate_grid", engine.simulate_grid)
    monkeypatch.setattr(tallying.time, "monotonic", engine.monotonic)
    monkeypatch.setattr(tallying, "_input", lambda item: tallying._Input(item.data[2], "code"))
    monkeypatch.setattr(tallying, "_check_shared", lambda programs: None)
    for name, most in {"_CELLS_PER_CALL": 6, "_FIRST_CALL_TRIALS": 40, "_WHOLE_BLOCKS": 16}.items():
        monkeypatch.setattr(tallying, name, chance.randint(1, most))
    monkeypatch.setattr(tallying, "_CALL_SECONDS", 10.0 ** chance.uniform(-3, 1))


def _items(chance: random.Random) -> list[Item]:
    """Of some programs, seeds and ranges; some of one key, each another range of it.

    In half of the cases all have one program and one range, as in the simplest sweeps.
    """
    found: list[Item] = []
    alike, length = chance.random() < 0.5, chance.randint(1, 200)
    for number in range(chance.randint(1, 9)):
        mechanism: Any = "a" if alike else chance.choice("ab")
        seed, shape = (0, 0) if alike else (chance.randint(0, 1), chance.randint(0, 1))
        first = 0 if alike else chance.choice([0, 0, chance.randint(0, 50)])
        key = f"item {number}"
        for _ in range(1 if alike else chance.choice([1, 1, 2])):
            size = chance.choice([1, 7, 60, chance.randint(1, 200)])
            last = first + (length if alike else size)
            data = (mechanism, seed, shape)
            found.append(Item(key, mechanism, data, key, seed, first, last))
            first = last + chance.choice([0, 0, 5])
    chance.shuffle(found)
    return found


def _begun(items: list[Item], chance: random.Random) -> Store:
    """What an earlier sweep of fewer trials left."""
    store: Store = {}
    for item in items:
        if chance.random() < 0.4:
            until = chance.randint(item.first + 1, item.last)
            store[item.key, item.first] = Kept(until, "code", _outcomes(item.first, until))
    return store


def _trials_of(store: Store) -> list[tuple[str, int]]:
    return sorted(
        (key, trial) for (key, first), kept in store.items() for trial in range(first, kept.last)
    )


@pytest.mark.parametrize("part", range(4))
def test_every_trial_is_counted_once(monkeypatch, seed, part):
    for case in range(part, CASES, 4):
        chance = random.Random(f"{seed} {case}")
        engine = CountingEngine(chance, chance.choice([0.0, 0.2, 0.5]))
        _put(monkeypatch, engine, chance)
        items = _items(chance)
        store = _begun(items, chance)
        before = _trials_of(store)
        while True:
            try:
                tally(items, store, lambda: None, progress=False)
                break
            except Killed:
                # The next process knows what was kept, and nothing else.
                store = dict(store)
        wanted = sorted((i.key, t) for i in items for t in range(i.first, i.last))
        simulated = [
            (key, trial) for key, _, first, last in engine.calls for trial in range(first, last)
        ]
        assert sorted(before + simulated) == wanted, case
        for item in items:
            kept = store[item.key, item.first]
            assert kept.last == item.last, case
            assert (kept.counts == _outcomes(item.first, item.last)).all(), case


@pytest.mark.parametrize("count", [1, 2, 5, 16])
def test_every_trial_is_counted_once_by_shards(monkeypatch, seed, count):
    for case in range(40):
        chance = random.Random(f"{seed} {count} {case}")
        engine = CountingEngine(chance, 0.2)
        _put(monkeypatch, engine, chance)
        items = _items(chance)
        for index in range(count):
            store: Store = {}
            share = share_of(items, Shard(index, count))
            while True:
                try:
                    tally(share, store, lambda: None, progress=False)
                    break
                except Killed:
                    store = dict(store)
        simulated = [
            (key, trial) for key, _, first, last in engine.calls for trial in range(first, last)
        ]
        wanted = sorted((i.key, t) for i in items for t in range(i.first, i.last))
        assert sorted(simulated) == wanted, case


@pytest.mark.parametrize(
    ("rate", "widths"), [(1e9, {(0, 50)}), (1e-9, {(0, 10), (10, 20), (20, 30), (30, 50)})]
)
def test_quick_cells_go_together_and_slow_ones_in_parts(monkeypatch, rate, widths):
    """What the sizes are for; the tail of a cell is not split again."""
    engine = CountingEngine(random.Random(0), 0.0)
    monkeypatch.setattr(engine.chance, "uniform", lambda *ends: np.log10(rate))
    _put(monkeypatch, engine, random.Random(0))
    for name, value in {
        "_CELLS_PER_CALL": 8,
        "_FIRST_CALL_TRIALS": 1,
        "_WHOLE_BLOCKS": 10,
        "_CALL_SECONDS": 1.0,
    }.items():
        monkeypatch.setattr(tallying, name, value)
    mechanism: Any = "a"
    data = (mechanism, 0, 0)
    items = [Item(str(i), mechanism, data, str(i), 0, 0, 50) for i in range(30)]
    tally(items, {}, lambda: None, progress=False)
    # Once the rate is known.
    assert {(first, last) for _, _, first, last in engine.calls[-16:]} == widths
