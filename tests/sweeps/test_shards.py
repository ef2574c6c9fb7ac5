"""Sweeps by many jobs: every shard apart, merged as if it were one."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import jaxsel
from jaxsel import sweeps
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.shards import Shard
from jaxsel.sweeps.files import read
from jaxsel.sweeps.sharing import facts_of, share_of
from jaxsel.sweeps.tallying import Item
from tests.cli.test_cli import run, run_json

SETTINGS = {"epsilon": [0.5, 1], "noise": ["gumbel", "laplace"]}
OPTIONS: Any = {
    "trials": 3_001,
    "seed": 7,
    "confidence": 0.9,
    "measures": ["success", "counts", "audited", "epsilon_bound"],
}


def _keep(shard, subject, settings, record, measures, **options):
    return sweeps.keep_share(
        shard, subject, settings, record=record, measures=measures, options=options
    )


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Five shards of four cells: most are parts of cells."""
    folder = tmp_path_factory.mktemp("shards")
    found = []
    for index in (3, 0, 4, 1, 2):
        path = folder / f"{index}.nc"
        _keep(f"{index}/5", "noisy_max", SETTINGS, record=path, **OPTIONS)
        found.append(path)
    return found


def test_merged_as_if_it_were_one(paths, tmp_path):
    whole = jaxsel.sweep("noisy_max", SETTINGS, **OPTIONS)
    record = tmp_path / "whole.nc"
    xr.testing.assert_identical(sweeps.merge(paths, record), whole)
    # And it goes on from there.
    again = jaxsel.sweep("noisy_max", SETTINGS, record=record, **OPTIONS)
    xr.testing.assert_identical(again, whole)


@pytest.mark.parametrize("rate", ["quick", "slow", "by turns"])
def test_long_shares_are_merged_as_if_they_were_one(tmp_path, monkeypatch, rate):
    """At sizes where calls are split."""
    from tests.sweeps.test_sweep import LONG, _split

    options: Any = {"trials": 10_000, "measures": ["counts", "audited"]}
    whole = jaxsel.sweep("noisy_max", LONG, **options)
    calls = _split(monkeypatch, rate)
    files = [tmp_path / f"{index}.nc" for index in range(3)]
    for index, path in enumerate(files):
        _keep(f"{index}/3", "noisy_max", LONG, record=path, **options)
    assert len(calls) > 6
    xr.testing.assert_identical(sweeps.merge(files), whole)


def test_a_share_that_lost_trials_is_refused(paths, tmp_path):
    from jaxsel.sweeps import files

    path = tmp_path / "3.nc"
    state = files.read(paths[0])
    place, kept = next(iter(state.store.items()))
    state.store[place] = kept._replace(counts=kept.counts + 1)
    with records.writer(path) as save:
        files.write(save, state)
    with pytest.raises(InputError, match=r"3\.nc counts \d+ trials where there are"):
        sweeps.merge([path, *paths[1:]])


def test_parts_of_another_range_are_not_joined():
    """A share that begins at another trial than its own makes up no whole."""
    from jaxsel.sweeps.files import State
    from jaxsel.sweeps.sharing import joined
    from jaxsel.sweeps.tallying import Kept

    nothing: Any = None
    items = [Item("a", nothing, None, None, 0, 0, 10)]

    def part(index, first, last, counts):
        store = {("a", first): Kept(last, "code", np.array(counts))}
        path = Path(f"{index}.nc")
        return State("a", "code", store, {}, {}, Shard(index, 2), path)

    good = part(1, 5, 10, [2, 3])
    (kept,) = joined(items, [part(0, 0, 5, [4, 1]), good]).values()
    assert (kept.last, kept.counts.tolist()) == (10, [6, 4])
    for first, last in ((1, 5), (0, 4), (0, 6)):
        with pytest.raises(InputError, match=r"0\.nc, shard 0/2, is not finished"):
            joined(items, [part(0, first, last, [last - first, 0]), good])
    with pytest.raises(InputError, match="counts 9 trials where there are 10"):
        joined(items, [part(0, 0, 5, [3, 1]), good])


@pytest.mark.parametrize("trials", [3, 100])
@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_shares_are_a_partition(count, trials):
    items = [Item(str(n), None, None, None, 0, 0, trials + n) for n in range(5)]  # type: ignore
    shares = [share_of(items, Shard(index, count)) for index in range(count)]
    covered = [
        (item.key, trial)
        for share in shares
        for item in share
        for trial in range(item.first, item.last)
    ]
    assert covered == [(i.key, t) for i in items for t in range(i.last)]
    sizes = [sum(i.last - i.first for i in share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    keys = [str(n) for n in range(9)]
    assert sorted(k for i in range(count) for k in facts_of(keys, Shard(i, count))) == keys


def test_what_is_missing_twice_or_foreign_is_named(paths, tmp_path):
    with pytest.raises(InputError, match="of 5 shards, these are missing: 3"):
        sweeps.merge(paths[1:])
    copy = tmp_path / "copy.nc"
    shutil.copy(paths[0], copy)
    with pytest.raises(InputError, match=r"3\.nc and .*copy\.nc are both shard 3/5"):
        sweeps.merge([*paths, copy])
    other = tmp_path / "other.nc"
    foreign: Any = OPTIONS | {"seed": 8}
    _keep("3/5", "noisy_max", SETTINGS, record=other, **foreign)
    with pytest.raises(InputError, match="another sweep"):
        sweeps.merge([*paths[1:], other])
    whole = tmp_path / "whole.nc"
    jaxsel.sweep("noisy_max", {"epsilon": [1]}, trials=100, record=whole)
    with pytest.raises(InputError, match="whole sweep"):
        sweeps.merge([whole])
    with pytest.raises(InputError, match="it differs in shard"):
        jaxsel.sweep("noisy_max", SETTINGS, record=paths[0], **OPTIONS)


def test_an_unfinished_shard_is_named(paths, tmp_path, monkeypatch):
    from jaxsel.sweeps import tallying

    path = tmp_path / "3.nc"
    real, calls = tallying.engine.simulate_grid, []

    def dying(*given, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(tallying.engine, "simulate_grid", dying)
        patched.setattr(tallying, "_CELLS_PER_CALL", 1)
        with pytest.raises(KeyboardInterrupt):
            _keep("3/5", "noisy_max", SETTINGS, record=path, **OPTIONS)
    with pytest.raises(InputError, match=r"3\.nc, shard 3/5, is not finished"):
        sweeps.merge([path, *paths[1:]])
    # It goes on where it was.
    _keep("3/5", "noisy_max", SETTINGS, record=path, **OPTIONS)
    xr.testing.assert_identical(sweeps.merge([path, *paths[1:]]), sweeps.merge(paths))


def test_from_the_command_line(capsys, tmp_path):
    words = ("noisy_max", "epsilon=0.5,1", "--trials", "1e3", "--measure", "success")
    code, whole = run_json(capsys, "sweep", *words)
    assert code == 0
    record = str(tmp_path / "{shard}.nc")
    for index in range(3):
        code, kept = run_json(capsys, "sweep", *words, "--shard", f"{index}/3", "--record", record)
        assert code == 0
        assert kept["shard"] == f"{index}/3"
    files = [str(tmp_path / f"{index}.nc") for index in range(3)]
    code, found = run_json(capsys, "merge", *files)
    assert (code, found) == (0, whole)
    table = tmp_path / "all.csv"
    code, out, _ = run(capsys, "merge", *files, "--table", str(table))
    assert code == 0
    assert str(table) in out
    assert len(table.read_text().splitlines()) == 3
    code, out, err = run(capsys, "merge", *files[:2])
    assert code == 2
    assert "of 3 shards, these are missing: 2" in err
    code, _, err = run(capsys, "sweep", *words, "--shard", "1/3")
    assert code == 2
    assert "--record" in err
    # A folder of each shard's own, which is not made before the work.
    folders = str(tmp_path / "shard-{shard}" / "it.nc")
    (tmp_path / "shard-1").mkdir()
    share = ("sweep", *words, "--record", folders, "--shard")
    code, _, err = run(capsys, *share, "0/3")
    assert code == 2
    assert f"there is no folder {tmp_path / 'shard-0'}" in err
    assert not (tmp_path / "shard-0").exists()
    code, out, _ = run(capsys, *share, "1/3")
    assert code == 0
    assert "667 trials; shard 1/3 is kept in" in out
    code, _, err = run(capsys, *share, "1/3", "--scheduler", "127.0.0.1:1")
    assert code == 2
    assert "--shard and --scheduler exclude each other" in err


def test_an_account_in_shards(tmp_path):
    settings = {
        "base": "gaussian",
        "noise_multiplier": [2, 4],
        "mean": [3, 30],
        "repetitions": "geometric",
    }
    paths = [tmp_path / f"{index}.nc" for index in range(2)]
    for index, path in enumerate(paths):
        sweeps.keep_share(Shard(index, 2), "account", settings, record=path)
    assert len(read(paths[0]).facts) == 2
    xr.testing.assert_identical(sweeps.merge(paths), jaxsel.sweep("account", settings))
