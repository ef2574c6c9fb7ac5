"""The tables of networks trained by DP-SGD: what is stored, and how it is made."""

import copy
import json
import sys

import numpy as np
import pytest

from jaxsel.data.images import load_images
from jaxsel.host.errors import InputError
from jaxsel.host.records import digest
from sims.data import digits_accuracies as tables
from sims.data.digits_accuracies import SETTINGS, Setting

SMALL = Setting("digits", 3.0, 1, 3, 2)
TOLERANCE = 15  # of 360 images


def _stored(name: str) -> dict:
    return json.loads(tables.stored(name).read_text())


# --- what is stored -------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_stored_tables(name):
    setting, record, table = SETTINGS[name], _stored(name), tables.load(name)
    assert record["seeds"] >= setting.seeds  # ``--seeds`` adds some
    setting = setting._replace(seeds=record["seeds"])
    assert table.correct.shape == (setting.rates, setting.seeds)
    np.testing.assert_allclose(table.learning_rates, np.geomspace(0.025, 8.0, setting.rates))
    assert {key: record[key] for key in setting._fields} == setting._asdict()
    assert table.steps == -(-setting.epochs * record["training_images"] // 256)
    assert table.sampling_probability == 256 / record["training_images"]
    assert {"jax", "flax", "optax", "numpy", "python"} <= set(record["versions"])
    assert {"made_by", "date", "seed", "device", "images_sha256"} <= set(record)
    assert f"{setting.epochs} epoch" in table.title
    # what the last digits depend on, or that it is not known, for every seed
    assert len(record["machines"]) == record["seeds"]
    for each in [place for seed in record["machines"] for place in seed]:
        assert each.keys() == tables.machine().keys()


@pytest.mark.parametrize("name", SETTINGS)
def test_the_best_learning_rate_lies_inside_the_grid(name):
    mean = tables.load(name).correct.mean(axis=1)
    best = int(np.argmax(mean))
    margin = mean.size // 8
    assert margin < best < mean.size - margin
    # and the ends are far from it
    assert max(mean[0], mean[-1]) < 0.6 * mean[best]


def test_stored_digits_are_of_the_images_at_hand():
    images = load_images("digits")
    arrays = (images.images, images.labels, images.test_images, images.test_labels)
    record = _stored("digits")
    assert digest(arrays) == record["images_sha256"]
    assert record["training_images"] == len(images.labels) == 1437
    assert record["test_images"] == len(images.test_labels) == 360


# --- training -------------------------------------------------------------------------


@pytest.mark.rare
def test_training_again_gives_the_stored_count():
    setting, table = SETTINGS["digits"], tables.load("digits")
    # Large learning rates amplify rounding, which other versions of JAX do otherwise.
    place = int(np.argmin(np.abs(table.learning_rates - 0.2)))
    stored = table.correct[place, 1]
    assert abs(table.correct[0] - stored).min() > 3 * TOLERANCE
    assert abs(table.correct[-1] - stored).min() > 3 * TOLERANCE
    rate = float(table.learning_rates[place])
    number = setting.rates + place  # the second seed
    correct = tables.train(setting, load_images("digits"), rate, seed=0, number=number)
    assert abs(correct - stored) <= TOLERANCE


def _fake(monkeypatch, stop_after: int = 1000) -> list[tuple[float, int, int]]:
    """Replaces training by a note of what was asked for."""
    asked: list[tuple[float, int, int]] = []

    def train(setting, images, rate, *, seed, number):
        if len(asked) == stop_after:
            raise KeyboardInterrupt
        asked.append((round(rate, 6), seed, number))
        return 10 * number + seed

    monkeypatch.setattr(tables, "train", train)
    return asked


def test_run_makes_what_load_accepts(monkeypatch, tmp_path):
    asked = _fake(monkeypatch)
    record = tables.run(setting=SMALL, seed=4, out=tmp_path, progress=False)
    # Every network has a number, hence randomness, of its own.
    assert [number for _, _, number in asked] == list(range(6))
    assert [rate for rate, _, _ in asked] == 2 * [0.025, round(0.2**0.5, 6), 8.0]
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    table = tables.load(path=path)
    np.testing.assert_array_equal(table.correct, [[4, 34], [14, 44], [24, 54]])
    assert table.steps == 6
    assert list(tmp_path.glob("*.partial*")) == []


def test_workers_train_the_same_networks(tmp_path):
    setting = SMALL._replace(rates=2, seeds=1)
    alone = tables.run(setting=setting, out=tmp_path, progress=False)
    shared = tables.run(setting=setting, out=tmp_path, progress=False, workers=2)
    difference = np.subtract(alone.pop("correct"), shared.pop("correct"))
    assert np.abs(difference).max() <= TOLERANCE
    assert alone == shared
    with pytest.raises(InputError, match="workers is 0"):
        tables.run(setting=setting, out=tmp_path, workers=0)


def test_a_killed_run_goes_on(monkeypatch, tmp_path):
    expected = tmp_path / "whole"
    _fake(monkeypatch)
    whole = tables.run(setting=SMALL, out=expected, progress=False)
    _fake(monkeypatch, stop_after=4)
    with pytest.raises(KeyboardInterrupt):
        tables.run(setting=SMALL, out=tmp_path, progress=False)
    with pytest.raises(InputError, match="is of another table"):
        tables.run(setting=SMALL, seed=1, out=tmp_path, progress=False)
    asked = _fake(monkeypatch)
    assert tables.run(setting=SMALL, out=tmp_path, progress=False) == whole
    assert [number for _, _, number in asked] == [4, 5]


def test_seeds_are_added_to_a_stored_table(monkeypatch, tmp_path):
    _fake(monkeypatch)
    small = tmp_path / "small.json"
    whole = tables.run(setting=SMALL, out=tmp_path, progress=False)
    record = tables.run(setting=SMALL._replace(seeds=1), out=tmp_path, progress=False)
    elsewhere = {"processor": tables.UNKNOWN}
    small.write_text(json.dumps(record | {"machines": [[elsewhere]]}))
    asked = _fake(monkeypatch)
    found = tables.run(setting=SMALL, out=tmp_path, begun=small, progress=False)
    assert [number for _, _, number in asked] == [3, 4, 5]
    assert found["correct"] == whole["correct"]
    # each seed by the machine that trained it
    assert found["machines"] == [[elsewhere], [tables.machine()]]
    assert whole["machines"] == [[tables.machine()]] * 2
    with pytest.raises(InputError, match="another table: it differs in noise"):
        tables.run(setting=SMALL._replace(noise_multiplier=2.0), out=tmp_path, begun=small)
    small.write_text(json.dumps(whole))
    with pytest.raises(InputError, match="has 2 seeds already"):
        tables.run(setting=SMALL._replace(seeds=1), out=tmp_path, begun=small)


def test_a_seed_that_two_machines_trained_names_both(monkeypatch, tmp_path):
    first, second = {"processor": "one"}, {"processor": "two"}
    monkeypatch.setattr(tables, "machine", lambda: first)
    _fake(monkeypatch, stop_after=4)
    with pytest.raises(KeyboardInterrupt):
        tables.run(setting=SMALL, out=tmp_path, progress=False)
    monkeypatch.setattr(tables, "machine", lambda: second)
    _fake(monkeypatch)
    record = tables.run(setting=SMALL, out=tmp_path, progress=False)
    assert record["machines"] == [[first], [first, second]]


# --- bad input ------------------------------------------------------------------------


def test_bad_input(monkeypatch, tmp_path, capsys):
    with pytest.raises(InputError, match="setting is 'x'; it must be one of: digits"):
        tables.run("x")
    with pytest.raises(InputError, match="seed"):
        tables.run(seed=-1)
    with pytest.raises(InputError, match="cannot be read as JSON"):
        tables.load(path=tmp_path / "absent.json")
    assert tables.main(["x"]) == 2
    assert "it must be one of" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InputError, match=r"jaxsel\[sims\]"):
        tables.run(setting=SMALL, out=tmp_path)


def _set(key, value):
    return lambda record: record.__setitem__(key, value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda record: record.pop("correct"), "not a record"),
        (lambda record: record["learning_rates"].pop(), "learning rates"),
        (lambda record: record["learning_rates"].reverse(), "ascend"),
        (lambda record: record["correct"][0].append(3), "not a record"),
        (lambda record: record["correct"][0].__setitem__(0, 361), "from 0 to 360"),
        (lambda record: record["correct"][0].__setitem__(0, -1), "from 0 to 360"),
        (lambda record: record["correct"][0].__setitem__(0, 0.5), "from 0 to 360"),
        (_set("test_images", 0), "test_images"),
        (_set("steps", "many"), "steps|not a record"),
        (_set("noise_multiplier", 0.0), "noise_multiplier"),
        (_set("correct", 3), "shape"),
    ],
)
def test_malformed_records_are_refused(tmp_path, spoil, message):
    record = copy.deepcopy(_stored("digits"))
    spoil(record)
    path = tmp_path / "spoiled.json"
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=message):
        tables.load(path=path)


def test_not_a_record(tmp_path):
    path = tmp_path / "file.json"
    for text in ("null", "[1, 2]", "3", "{}"):
        path.write_text(text)
        with pytest.raises(InputError, match="not a record"):
            tables.load(path=path)
