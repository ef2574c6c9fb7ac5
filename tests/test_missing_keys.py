"""A file that lacks a key, or has one of another type, is refused in a sentence."""

import json

import h5py
import numpy as np
import pytest

import jaxsel
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import simulate
from jaxsel.shards import Shard, keeping, merging
from sims import registry

OTHERS = (None, 7, "other", [], {}, [[1, 2]], True, 1.5)


def changed(mapping: dict, key, value, absent: bool) -> dict:
    found = dict(mapping)
    if absent:
        del found[key]
    else:
        found[key] = value
    return found


def refused(call) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)


def run(path, trials=200):
    return simulate(noisy_max(), [1.0, 0.0], {"epsilon": 1.0}, trials=trials, record=path)


@pytest.fixture(name="stored")
def _stored(tmp_path):
    run(tmp_path / "a.nc", trials=100)
    return records.read(tmp_path / "a.nc")


def rewrite(stored, **parts):
    attributes = {k: v for k, v in stored.attributes.items() if k != "versions"}
    given = {
        "arrays": stored.arrays,
        "configuration": stored.configuration,
        "attributes": attributes,
    }
    records.write(stored.path, **(given | parts))


def test_as_it_was_it_goes_on(stored):
    rewrite(stored)
    assert run(stored.path).trials == 200


def test_a_record_without_a_key_of_its_configuration_is_refused(stored):
    keys = set(stored.configuration)
    assert {"code", "seed", "input_digest", "mechanism", "statistic", "jax"} <= keys
    for key in keys:
        rewrite(stored, configuration=changed(stored.configuration, key, None, True))
        refused(lambda: run(stored.path))
        for value in OTHERS:
            if value == stored.configuration[key]:
                continue
            other = changed(stored.configuration, key, value, False)
            rewrite(stored, configuration=other)
            refused(lambda: run(stored.path))
    rewrite(stored, configuration=stored.configuration | {"more": 1})
    refused(lambda: run(stored.path))


def test_a_record_without_an_attribute_is_refused(stored):
    own = {k: v for k, v in stored.attributes.items() if k != "versions"}
    for key in ("ranges", "seconds"):
        rewrite(stored, attributes=changed(own, key, None, True))
        refused(lambda: run(stored.path))
        for value in OTHERS:
            if type(value) is not type(own[key]):
                rewrite(stored, attributes=changed(own, key, value, False))
                refused(lambda: run(stored.path))


def test_a_record_whose_array_is_missing_or_of_another_shape_or_type_is_refused(stored):
    ((name, array),) = stored.arrays.items()
    for arrays in (
        {},
        {"other": array},
        {name: array[0]},
        {name: array[:, :1]},
        {name: array[None]},
        {name: array.T},
        {name: array.astype(np.float64)},
        {name: array.astype(np.int32)},
        {name: array.astype(np.uint64)},
    ):
        rewrite(stored, arrays=arrays)
        refused(lambda: run(stored.path))


def test_the_digest_of_arrays_knows_shape_and_type():
    arrays = [
        np.zeros(6),
        np.zeros((2, 3)),
        np.zeros((3, 2)),
        np.zeros((6, 1)),
        np.zeros(6, np.int64),
        np.zeros(12, np.float32),
        np.zeros(6, ">f8"),
        0.0,
        0,
        np.zeros(0),
        np.zeros((0, 2)),
        [np.zeros(3), np.zeros(3)],
        {"a": np.zeros(6)},
        {"b": np.zeros(6)},
        None,
        [],
        {},
    ]
    digests = [records.digest(array) for array in arrays]
    # Nothing, and an empty mapping, have no array in them.
    assert len(set(digests)) == len(arrays) - 1


def test_a_shard_that_lacks_a_part_is_refused(tmp_path):
    path = tmp_path / "0.nc"

    def kept():
        with keeping(Shard(0, 1), path):
            simulate(noisy_max(), [1.0, 0.0], {"epsilon": 1.0}, trials=100)

    def merged():
        with merging([path]):
            simulate(noisy_max(), [1.0, 0.0], {"epsilon": 1.0}, trials=100)

    kept()
    stored = records.read(path)
    attributes = {k: v for k, v in stored.attributes.items() if k != "versions"}
    (one,) = attributes["runs"]
    broken = [
        changed(one, key, value, absent)
        for key in one
        for value, absent in ((None, True), (None, False))
    ]
    for key in ("code", "jax", "backend", "mechanism", "seed", "input_digest"):
        lacking = changed(one["configuration"], key, None, True)
        broken.append(one | {"configuration": lacking})
    broken += [one | {"steps": steps} for steps in ([[0]], [[0, 100, [[100]]]], [7])]
    for parts in broken:
        rewrite(stored, attributes=attributes | {"runs": [parts]})
        refused(merged)
    ((name, array),) = stored.arrays.items()
    for arrays in ({}, {name: array[:, :1]}, {name: array[0]}, {name: array * 1.0}):
        rewrite(stored, arrays=arrays)
        refused(merged)
        refused(kept)
    for key in ("runs", "trials"):
        if key == "runs":
            rewrite(stored, attributes=changed(attributes, key, None, True))
            refused(merged)
            refused(kept)
    for key in stored.configuration:
        rewrite(stored, configuration=changed(stored.configuration, key, None, True))
        refused(merged)
        refused(kept)
    rewrite(stored)
    merged()


def test_a_sweep_that_lacks_a_part_is_refused(tmp_path):
    path = tmp_path / "a.nc"

    def sweep():
        return jaxsel.sweep("noisy_max", {"epsilon": [1, 2]}, trials=50, record=path)

    sweep()
    whole, stored = path.read_bytes(), records.read(path)
    found = json.loads(stored.attributes["found"])
    arrays = stored.arrays
    assert set(arrays) == {"first", "last", "events", "counts"}
    for name, array in arrays.items():
        lacking = {k: v for k, v in arrays.items() if k != name}
        rewrite(stored, arrays=lacking)
        refused(sweep)
        for other in (array[:-1], array[None], array * 1.0, array.astype(np.int32)):
            rewrite(stored, arrays=lacking | {name: other})
            refused(sweep)
    for text in (None, "", "7", "[]", *(json.dumps(found[:i]) for i in range(4))):
        rewrite(stored, attributes={} if text is None else {"found": text})
        refused(sweep)
    for key in stored.configuration:
        rewrite(stored, configuration=changed(stored.configuration, key, None, True))
        refused(sweep)
    rewrite(stored)
    sweep()
    for name in ("format", "configuration", "attributes", "versions", "digest"):
        path.write_bytes(whole)
        with h5py.File(path, "a") as file:
            del file["record"].attrs[name]
        refused(sweep)
    path.write_bytes(whole)
    with h5py.File(path, "a") as file:
        del file["record"]
    refused(sweep)
    path.write_bytes(whole)
    sweep()


def test_a_simulation_whose_record_lacks_a_key_is_made_again():
    now = {"sim": "a", "trials": 1, "seed": 0, "code": {"m": "1", "n": "2"}, "jax": "1"}
    assert registry.why_stale(now, json.loads(json.dumps(now))) == ""
    for key in now:
        assert registry.why_stale(changed(now, key, None, True), now) != ""
        assert registry.why_stale(now, changed(now, key, None, True)) != ""
        for value in OTHERS:
            if value != now[key]:
                assert registry.why_stale(changed(now, key, value, False), now) != ""
    for code in ({"m": "1"}, {"n": "2"}, {}, {"m": "1", "n": "3"}):
        assert registry.why_stale(now | {"code": code}, now).startswith("the code")
