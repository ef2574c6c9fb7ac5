"""The parts of a sweep that no whole one of these tests needs: numbers by hand."""

import contextlib
import dataclasses
import json
from fractions import Fraction
from typing import Annotated

import h5py
import jax
import numpy as np
import pytest
import xarray as xr

import jaxsel
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel import statistics
from jaxsel.kernel.engine import Performance
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import read_signature
from jaxsel.language.trial import Trial
from jaxsel.sweeps import files, running, tallying
from jaxsel.sweeps.files import RunningSweep, State, dataset_of, is_sweep
from jaxsel.sweeps.functions import cells, declared, shared_trials
from jaxsel.sweeps.planning import make_plan
from jaxsel.sweeps.swept_subject import find_subject
from jaxsel.sweeps.tallying import Item, Kept, _Input, drop_stale


def test_a_declaration_is_the_functions_own():
    @cells(measures=["success"], name="its", share=Fraction(1, 4), performance="fast")
    def cell() -> Trial:
        raise AssertionError

    assert declared(cell) == (("success",), "its", Fraction(1, 4), "fast", True)
    assert shared_trials(cell, 1000) == 250
    assert shared_trials(cell, 1003) == 250
    assert shared_trials(cell, 5) == shared_trials(cell, 0) == 2
    plain = lambda: None  # noqa: E731
    assert declared(plain) == ((), "", 1, None, False)
    assert shared_trials(plain, 1000) == 1000


def test_sums_are_read_back_by_name_and_shape():
    form = json.dumps([["first", [2, 2]], ["one", []], ["last", [3]]])
    found = Kept(10, "code", np.arange(8), form).sums()
    assert list(found) == ["first", "one", "last"]
    assert found["first"].tolist() == [[0, 1], [2, 3]]
    assert found["one"].shape == ()
    assert found["one"] == 4
    assert found["last"].tolist() == [5, 6, 7]


def test_what_is_stale_goes_and_the_rest_stays():
    item = Item("x", jaxsel.mechanism("noisy_max").mechanism, None, (), 0, 100, 200)
    other = item._replace(key="y", first=0)
    inputs = {"x": _Input((), "of today"), "y": _Input((), "of y")}
    counts = np.arange(3)
    store = {
        ("x", 100): Kept(150, "of today", counts),  # half of it is done
        ("y", 0): Kept(200, "of y", counts),  # to its very end
        ("x", 0): Kept(100, "of today", counts),  # begins elsewhere
        ("z", 100): Kept(150, "of today", counts),
    }
    drop_stale([item, other], inputs, store)
    assert store.keys() == {("x", 100), ("y", 0)}
    store = {
        ("x", 100): Kept(201, "of today", counts),  # more than is asked for
        ("y", 0): Kept(150, "of today", counts),  # the code of another
    }
    drop_stale([item, other], inputs, store)
    assert not store


def test_a_data_set_of_something_else_is_kept_and_read(tmp_path):
    path = tmp_path / "made.nc"
    dataset = xr.Dataset({"loss": ("step", [3.0, 1.0])}, {"step": [0, 1]}, {"title": "a training"})
    running.write_dataset(dataset, path)
    found = dataset_of(path)
    assert found["loss"].values.tolist() == [3.0, 1.0]
    assert found.attrs["title"] == "a training"
    assert is_sweep(path)
    assert not is_sweep(tmp_path / "none.nc")
    again = path.read_bytes()
    with h5py.File(path, "r+") as file:
        file["loss"][0] = 2.0
    with pytest.raises(InputError, match=r"damaged|changed"):
        dataset_of(path)
    path.write_bytes(again)
    assert dataset_of(path)["loss"].values.tolist() == [3.0, 1.0]


@dataclasses.dataclass(frozen=True)
class Inner:
    depth: Annotated[int, whole("how deep")] = 3


@dataclasses.dataclass(frozen=True)
class Shared:
    scale: Annotated[float, positive("of the noise")] = 2.0
    inner: Inner = Inner()
    kept: tuple = ("not", "a setting")
    derived: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        object.__setattr__(self, "derived", self.scale * self.inner.depth)


def _cell(size: Annotated[int, whole("of the cell")], shared: Shared = Shared(scale=5.0)):
    return size, shared


def test_fields_of_shared_settings_are_settings_however_deep():
    found = read_signature(_cell)
    assert list(found.settings) == ["size", "scale", "depth"]
    assert [found.settings[name].default for name in found.settings] == [None, 5.0, 3]
    values = {"size": 4, "scale": 7.0, "depth": 2, "derived": 99.0, "other": 1}
    size, shared = found.call(values)
    assert size == 4
    assert (shared.scale, shared.inner.depth, shared.kept) == (7.0, 2, ("not", "a setting"))
    assert shared.derived == 14.0
    assert found.call({"size": 1})[1] == Shared(scale=5.0)


def test_a_refreshed_file_counts_again_what_other_code_counted(tmp_path, monkeypatch):
    noisy_max = jaxsel.mechanism("noisy_max")

    @cells(measures=["frequency"], share=Fraction(1, 2))
    def cell(epsilon: Annotated[float, positive("of the release")] = jaxsel.over(0.5, 2.0)):
        return Trial(noisy_max.mechanism, noisy_max.data, {"epsilon": epsilon})

    options = {"trials": 4000, "seed": 3, "record": tmp_path / "cells.nc", "progress": False}
    found = running.refreshed(cell, {}, **options, attributes={"title": "by hand"})
    assert found.attrs["title"] == "by hand"
    assert dataset_of(options["record"]).attrs["title"] == "by hand"
    fresh = running.refreshed(cell, {}, **options | {"record": None})
    assert found.drop_attrs().equals(fresh.drop_attrs())
    counted_again = []
    simulate = tallying.engine.simulate_grid

    def recorded(*given, **more):
        counted_again.append(more.get("trials"))
        return simulate(*given, **more)

    monkeypatch.setattr(tallying.engine, "simulate_grid", recorded)
    running.refreshed(cell, {}, **options)
    assert not counted_again  # all is kept
    monkeypatch.setattr(tallying, "_code", lambda mechanism: "of tomorrow")
    again = running.refreshed(cell, {}, **options)
    assert counted_again
    assert again["frequency"].equals(found["frequency"])


def _items(trials=300):
    noisy_max = jaxsel.mechanism("noisy_max")
    return [
        Item(f"cell {number}", noisy_max.mechanism, noisy_max.data, {"epsilon": epsilon}, 0, 0,
             trials)
        for number, epsilon in enumerate((0.5, 1.0, 2.0))
    ]  # fmt: skip


def test_every_call_is_kept_and_what_is_kept_is_gone_on_with(monkeypatch):
    items = _items()
    whole: dict = {}
    tallying.tally(items, whole, lambda: None, progress=False)
    # In calls of one cell and few trials, of which each could be the last.
    monkeypatch.setattr(tallying, "_CELLS_PER_CALL", 1)
    monkeypatch.setattr(tallying, "_FIRST_CALL_TRIALS", 100)
    store: dict = {}
    kept = []
    told = []

    def keep():
        done = sum(one.last for one in store.values())
        assert sum(int(one.counts.sum()) for one in store.values()) == done
        kept.append(done)

    class _Bar:
        def __enter__(self):
            return told.append

        def __exit__(self, *given):
            pass

    def bar(*given, unit="trials"):
        if unit != "trials":
            return contextlib.nullcontext(lambda number: None)
        told.append(given[:2])
        return _Bar()

    monkeypatch.setattr(tallying, "progress_bar", bar)
    tallying.tally(items, store, keep)
    assert len(kept) >= 3
    assert kept == sorted(set(kept))
    assert kept[-1] == 900
    assert told[0] == (900, 0)
    assert sum(told[1:]) == 900
    for place, one in whole.items():
        np.testing.assert_array_equal(store[place].counts, one.counts)
    # What was done is not done again, and counts as progress.
    del store["cell 1", 0]
    told.clear()
    tallying.tally(items, store, keep)
    assert told[0] == (900, 600)
    assert sum(told[1:]) == 300
    np.testing.assert_array_equal(store["cell 1", 0].counts, whole["cell 1", 0].counts)


def test_tallies_go_on_where_they_end_and_are_whole():
    (item, *_) = _items()
    store: dict = {}
    tallying._keep(store, item, 0, Kept(100, "code", np.array([60, 30, 10])))
    with pytest.raises(InputError, match=r"\[50, 300\) .* do not go on from trial 100"):
        tallying._keep(store, item, 50, Kept(300, "code", np.array([250, 0, 0])))
    with pytest.raises(InputError, match="run it again"):
        tallying.kept_of(item, store)
    tallying._keep(store, item, 100, Kept(300, "code", np.array([0, 150, 50])))
    assert tallying.kept_of(item, store).counts.tolist() == [60, 180, 60]
    for counts in ([60, 180, 59], [60, 180, 61], [-60, 300, 60]):
        store[item.key, 0] = Kept(300, "code", np.array(counts))
        with pytest.raises(InputError, match=r"lost|below zero"):
            tallying.kept_of(item, store)


def test_what_other_code_or_more_trials_made_is_refused():
    (item, *_) = _items()
    inputs = {item.key: _Input((), "of today")}
    counts = np.array([300, 0, 0])
    tallying.check_kept([item], inputs, {})
    tallying.check_kept([item], inputs, {(item.key, 0): Kept(300, "of today", counts)})
    for kept, message in (
        (Kept(300, "of yesterday", counts), "other code"),
        (Kept(301, "of today", counts), "already holds 301 trials"),
    ):
        with pytest.raises(InputError, match=message):
            tallying.check_kept([item], inputs, {(item.key, 0): kept})


def test_every_setting_is_offered_where_a_name_is_unknown():
    subject = find_subject("noisy_max")
    with pytest.raises(InputError) as refused:
        subject.domain("epsilom")
    assert "did you mean epsilon" in str(refused.value)
    shown = str(refused.value).partition("it has: ")[2].split(", ")
    assert shown == [name for name in subject.names if "." not in name]
    assert {"scores", "epsilon", "noise", "relation", "seed"} <= set(shown)


def test_sums_of_another_statistic_are_other_tallies():
    (item, *_) = _items()
    summed = [
        item._replace(key=f"sum {number}", statistic=statistics.sums(value))
        for number, value in enumerate((_itself, _twice))
    ]
    codes = {one.code for one in tallying._inputs([item, *summed], False).values()}
    assert len(codes) == 3
    again = tallying._inputs([summed[0]._replace(key="again")], False)
    assert again["again"].code in codes


def _itself(outcome):
    return outcome


def _twice(outcome):
    return 2 * outcome


# --- Calls and tallies ------------------------------------------------------------------


def test_random_streams_are_numbered_by_the_key_alone():
    """The first four bytes of SHA-256 of "x" are 2d 71 16 42."""
    item = Item("x", jaxsel.mechanism("noisy_max").mechanism, None, (), 5, 1, 3)
    assert item.number == 0x4216712D


def test_calls_of_a_program_are_sized_by_the_rate_once_it_is_compiled(monkeypatch):
    """Two seconds of work a call, thirty with workers; a first call tells no rate."""
    now, budgets = [0.0], []
    real = tallying.next_call

    def told(spans, budget, most, blocks):
        budgets.append(budget)
        assert (most, blocks) == (256, 1 << 20)
        return real(spans, 1, 1, 10)  # ten trials of one item

    def simulate_grid(mechanism, cells, *, trials, **options):
        now[0] += 5.0 if len(budgets) == 1 else 0.5  # the first one compiles
        return type("Found", (), {"values": np.array([[trials, 0, 0]])})

    monkeypatch.setattr(tallying, "next_call", told)
    monkeypatch.setattr(tallying.engine, "simulate_grid", simulate_grid)
    clock = type("Clock", (), {"monotonic": lambda: now[0]})
    monkeypatch.setattr(tallying, "time", clock)
    (item, *_) = _items(45)
    arguments = ({item.key: _Input((), "")}, {})
    rate = tallying._tally_group([item], *arguments, None, Performance(), lambda trials: None)
    # Three parts of ten, and the last fifteen, which are not split.
    assert rate == 30.0
    assert budgets == [1 << 20, 1 << 20, 40, 40]
    budgets.clear()
    monkeypatch.setattr(tallying, "chosen_runner", lambda: object())
    rate = tallying._tally_group([item], arguments[0], {}, 10.0, Performance(), lambda trials: None)
    assert (rate, budgets) == (30.0, [300, 300, 600, 600])


def test_a_statistics_sums_are_named_by_their_place():
    (item, *_) = _items()
    values = {"a": [np.arange(6).reshape(3, 2), np.array([7, 8, 9])], "b": np.ones((3, 2, 2), int)}
    counts, form = tallying._flat(item._replace(statistic=statistics.sums(_itself)), values, 1)
    assert counts.tolist() == [2, 3, 8, 1, 1, 1, 1]
    assert json.loads(form) == [["a_0", [2]], ["a_1", []], ["b", [2, 2]]]
    alone = tallying._flat(item._replace(statistic=statistics.sums(_itself)), np.arange(4), 3)
    assert (alone[0].tolist(), json.loads(alone[1])) == ([3], [["tally", []]])
    plain = np.arange(6).reshape(2, 3)
    counts, form = tallying._flat(item, plain, 1)
    assert (counts.tolist(), form) == ([3, 4, 5], "")


def test_inputs_of_other_shapes_kinds_or_outcomes_are_other_programs():
    (item, *_) = _items()

    def made(data, params=None, labels=("a", "b")):
        mechanism = item.mechanism._replace(
            prepare=lambda data, params: (data, params), labels=lambda data, params: labels
        )
        return tallying._input(item._replace(mechanism=mechanism, data=data, params=params))

    one = made(np.zeros(3))
    assert one.shapes == made(np.ones(3)).shapes
    others = [
        made(np.zeros(4)),
        made(np.zeros(3, np.float32)),
        made((np.zeros(3),)),
        made(np.zeros(3), 1.0),
        made(np.zeros(3), labels=("a", "b", "c")),
    ]
    assert len({each.shapes for each in (one, *others)}) == 6
    # The numbers are no part of the program, but of what is counted.
    assert made(np.ones(3)).code != one.code == made(np.zeros(3)).code
    assert f" jax {jax.__version__} cpu input " in one.code


def test_finished_items_are_left_out_and_seeds_and_programs_are_groups():
    items = _items()
    items.append(items[0]._replace(key="other seed", seed=1))
    items.append(items[0]._replace(key="sums", statistic=statistics.sums(_itself)))
    items.append(items[0]._replace(key="other shape"))
    inputs = {item.key: _Input(item.key == "other shape", "") for item in items}
    store = {
        ("cell 0", 0): Kept(300, "", np.array([300])),
        ("cell 1", 0): Kept(299, "", np.array([299])),
    }
    found = tallying._groups(items, inputs, store)
    assert [[item.key for item in group] for group in found] == [
        ["cell 1", "cell 2"], ["other seed"], ["sums"], ["other shape"],
    ]  # fmt: skip


# --- Facts and their order --------------------------------------------------------------


def test_only_facts_that_are_missing_are_computed_cell_by_cell(monkeypatch):
    settings = {"base": "pure:epsilon=1", "repetitions": "geometric", "mean": [2, 3]}
    plan = make_plan("account", settings, ("epsilon_bound", "mean_runs"), options={"trials": 10})
    known = list(plan.facts)[1]
    computed, told, saved = [], [], []

    @contextlib.contextmanager
    def bar(total, done, shown, *, unit):
        told.append((total, done, shown, unit))
        yield told.append

    monkeypatch.setattr(running, "progress_bar", bar)
    monkeypatch.setattr(
        running, "find_fact", lambda fact, cell, delta: computed.append((fact, cell)) or {fact: 1.0}
    )
    kept = RunningSweep(
        State("account", "", {}, {known: {"old": 2.0}}, {}, None),
        lambda: saved.append(1),
        lambda dataset: None,
    )
    running._find_facts(plan, plan.facts, kept, True)
    first, second = plan.cells
    assert computed == [("bounds", first), ("runs", first), ("runs", second)]
    assert kept.state.facts.keys() == plan.facts.keys()
    assert kept.state.facts[known] == {"old": 2.0}
    assert told == [(4, 1, True, "bounds"), 1, 1, 1]
    assert len(saved) == 3


def test_facts_of_other_code_are_computed_anew_and_tallies_stay(tmp_path):
    path = tmp_path / "it.nc"
    counts = np.array([3, 7])
    state = State("it", "old", {("a", 0): Kept(10, "c", counts)}, {"f": {"x": 1.0}}, {}, None)
    with records.writer(path) as save:
        files.write(save, state)
    for code, facts in (("old", {"f": {"x": 1.0}}), ("new", {})):
        with files.opened(State("it", code, {}, {}, {"trials": 5}, None), path) as kept:
            assert kept.state.facts == facts
            assert kept.state.store["a", 0].counts.tolist() == [3, 7]
            # What is asked for now, and by which code.
            assert (kept.state.code, kept.state.asked) == (code, {"trials": 5})
    # A refusal changes nothing, and any other end saves what there is.
    before = path.read_bytes()

    def ends_by(error):
        with files.opened(State("it", "new", {}, {}, {}, None), path) as kept:
            kept.state.facts["g"] = {"y": 2.0}
            raise error

    for error in (InputError, KeyboardInterrupt):
        with pytest.raises(error):
            ends_by(error)
        assert (path.read_bytes() == before) == (error is InputError)
    assert files.read(path).facts == {"g": {"y": 2.0}}


def test_a_file_is_saved_after_ten_seconds_and_not_before(tmp_path, monkeypatch):
    now, written = [100.0], []
    monkeypatch.setattr(files, "time", type("Clock", (), {"monotonic": lambda: now[0]}))
    monkeypatch.setattr(files, "write", lambda save, state, shown=None: written.append(now[0]))
    with files.opened(State("it", "", {}, {}, {}, None), tmp_path / "it.nc") as kept:
        for at in (105.0, 110.0, 110.5, 115.0, 120.5, 121.0):
            now[0] = at
            kept.checkpoint()
    assert written == [110.5, 121.0]


def test_records_of_another_kind_or_shape_are_no_sweeps(tmp_path):
    path = tmp_path / "it.nc"
    with records.writer(path) as save:
        save(arrays={}, configuration={"sweep": "it"}, attributes={})
    with pytest.raises(InputError, match=r"it\.nc is no record of a sweep; name another file"):
        files.read(path)
    arrays = {name: np.zeros(1, np.int64) for name in ("first", "last", "events", "counts")}
    found = json.dumps([[["a", "c", ""]], "", {}, {}])
    good = {"last": np.array([5]), "events": np.array([2]), "counts": np.array([2, 3])}
    for changed, fails in (
        (good, False),
        (good | {"counts": np.array([2, 3, 0])}, True),  # counts of no cell
        (good | {"first": np.zeros((1, 1), np.int64)}, True),
        (good | {"last": np.array([5, 6])}, True),
        (good | {"last": np.array([5.0])}, True),
    ):
        with records.writer(path) as save:
            save(
                arrays=arrays | changed,
                configuration={"sweep": "it", "shard": "2/5"},
                attributes={"found": found, "shown": ""},
            )
        if fails:
            with pytest.raises(InputError, match="is no record of a sweep: it lacks a part"):
                files.read(path)
        else:
            state = files.read(path)
            assert state.store["a", 0].counts.tolist() == [2, 3]
            assert (str(state.shard), state.path, state.subject) == ("2/5", path, "it")
    with pytest.raises(InputError, match="is unfinished; run the same again, and it goes on"):
        dataset_of(path)
