"""The parts of a sweep that no whole one of these tests needs: numbers by hand."""

import contextlib
import dataclasses
import json
from fractions import Fraction
from typing import Annotated

import h5py
import numpy as np
import pytest
import xarray as xr

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.kernel import statistics
from jaxsel.language.domains import positive, whole
from jaxsel.sweeps import running, tallying
from jaxsel.sweeps.axes import Place
from jaxsel.sweeps.files import dataset_of, is_sweep
from jaxsel.sweeps.functions import Trial, cells, counted, counted_alike, declared, shared_trials
from jaxsel.sweeps.signature import read_signature
from jaxsel.sweeps.subject import find_subject
from jaxsel.sweeps.tallying import Item, Kept, _Input, drop_stale

PLACE = Place({"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 3, "c": 5})


@pytest.mark.parametrize(
    ("groups", "options", "address"),
    [
        ((), {}, (0, (1 * 3 + 2) * 5 + 3)),
        (("b",), {}, (2, 1 * 5 + 3)),
        (("a", "c"), {}, (1 * 5 + 3, 2)),
        (("c", "a"), {"after": 7, "first": 100}, (7 + 1 * 5 + 3, 100 + 2)),
        (("a", "b", "c"), {"after": 1}, (1 + (1 * 3 + 2) * 5 + 3, 0)),
    ],
)
def test_cells_are_counted_by_their_places(groups, options, address):
    assert counted(*groups, **options)(PLACE) == address


@pytest.mark.parametrize(
    ("at", "options", "address"),
    [
        # Of the points x, y, x of the axis, and those after them, which are as the last.
        (0, {}, (0, 0)),
        (1, {}, (1, 0)),
        (2, {}, (0, 1)),
        (3, {}, (0, 2)),
        (4, {}, (0, 3)),
        (1, {"seeds": ("y", "x"), "after": 10, "step": 3}, (10, 0)),
        (2, {"seeds": ("y", "x"), "after": 10, "step": 3}, (13, 1)),
        # Two grids before these have two cells each of x, and one each of y.
        (2, {"before": 2}, (0, 2 * 2 + 1)),
        (1, {"before": 2}, (1, 2 * 1)),
    ],
)
def test_points_of_a_group_share_a_seed(at, options, address):
    place = Place({"a": at, "b": 2, "c": 3}, {"a": 5, "b": 3, "c": 5})
    seed, first = address
    found = counted_alike("a", ["x", "y", "x"], **options)(place)
    assert found == (seed, (first * 3 + 2) * 5 + 3)
    # A last group of its own goes on, too.
    assert counted_alike("a", ["x", "y"])(place)[0] == (0 if at == 0 else 1)


def test_a_declaration_is_the_functions_own():
    address = counted("a")

    @cells(measures=["success"], address=address, share=Fraction(1, 4), performance="fast")
    def cell() -> Trial:
        raise AssertionError

    assert declared(cell) == (("success",), address, Fraction(1, 4), "fast", True)
    assert shared_trials(cell, 1000) == 250
    assert shared_trials(cell, 1003) == 250
    assert shared_trials(cell, 5) == shared_trials(cell, 0) == 2
    plain = lambda: None  # noqa: E731
    assert declared(plain) == ((), None, 1, None, False)
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
             trials, number)
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
