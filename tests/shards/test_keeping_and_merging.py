"""Shards keep their part; merged, they are the run of one process, bit for bit."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest

import jaxsel
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.host.progress import progress_bar
from jaxsel.kernel import statistics
from jaxsel.kernel.engine import simulate, simulate_grid
from jaxsel.shards import Command, Shard, keeping, merging

CELLS = [(np.eye(3)[i], {"epsilon": 1.0}) for i in range(3)]
TRIALS = 3001


def _number(outcome):
    return outcome.astype(np.float32)


STATISTIC = statistics.combine(
    {
        "counts": statistics.counts(noisy_max().event, 3),
        "moments": statistics.moments(_number, 0.0, 2.0),
    }
)


def two_runs(trials=TRIALS, seed=3):
    """Two calls, the second with a tree of sums and later trials."""
    first = simulate_grid(noisy_max(), CELLS, trials=trials, seed=seed)
    second = simulate_grid(
        noisy_max(), CELLS, trials=trials, seed=seed, first_trial=trials, statistic=STATISTIC
    )
    return first, second


def kept(folder, count, run=two_runs, **settings):
    paths = [folder / f"{index}.nc" for index in range(count)]
    for index, path in enumerate(paths):
        with keeping(Shard(index, count), path):
            run(**settings)
    return paths


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.configuration == other.configuration
        assert (one.ranges, one.labels) == (other.ranges, other.labels)
        jax.tree.map(np.testing.assert_array_equal, one.values, other.values)


def refusal(paths, run=two_runs):
    with pytest.raises(InputError) as caught, merging(paths):
        run()
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("count", [1, 2, 5])
def test_merged_tallies_are_those_of_one_process(tmp_path, count):
    paths = kept(tmp_path, count)
    with merging(paths[::-1]):
        merged = two_runs()
    assert_equal(merged, two_runs())


def test_an_audit_in_shards_is_the_audit_of_one_process(tmp_path):
    built = jaxsel.mechanism("fixed_repetitions", count=5)
    # So few that some shards have no trial of one side.
    run = lambda: jaxsel.audit(built, trials=400, seed=1)  # noqa: E731
    with merging(kept(tmp_path, 6, run)):
        merged = run()
    assert merged == run()


def test_what_a_shard_returns_is_marked_as_a_stand_in(tmp_path):
    with keeping(Shard(0, 2), tmp_path / "0.nc"):
        first, _ = two_runs()
    assert first.configuration["shard"] == "0/2"
    assert first.values.min() >= 1
    with pytest.raises(InputError, match="differ in shard"):
        first + two_runs()[0]


KILLED = """
    import os, signal, sys
    import jaxsel.kernel.engine, jaxsel.shards.keep as module
    from jaxsel.shards import Shard
    from jaxsel.kernel.engine import Performance, simulate
    from tests.shards.test_keeping_and_merging import CELLS, noisy_max
    jaxsel.kernel.engine._SAVE_SECONDS = 0.0
    write, written = module.write, []
    def write_or_die(*arguments):
        written.append(1)
        if len(written) == 3:  # what was counted since the second save is lost
            os.kill(os.getpid(), signal.SIGKILL)
        write(*arguments)
    module.write = write_or_die
    with module.keeping(Shard(1, 2), sys.argv[1]):
        simulate(noisy_max(), *CELLS[0], trials=2**21, performance=Performance(8192, 4))
"""


def test_a_killed_shard_goes_on_and_an_unfinished_one_is_named(tmp_path):
    path = tmp_path / "1.nc"
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    assert subprocess.run(command).returncode == -signal.SIGKILL

    def run():
        return [simulate(noisy_max(), *CELLS[0], trials=2**21)]

    with keeping(Shard(0, 2), tmp_path / "0.nc"):
        run()
    before = path.read_bytes()
    sentence = refusal([tmp_path / "0.nc", path], run)
    assert f"{path}, shard 1/2, has not finished trials [0, 2097152)" in sentence
    assert path.read_bytes() == before
    ((_, _, ((done, _),)),) = records.read(path).attributes["runs"][0]["steps"]
    assert 0 < done < 2**20, "it was to be killed midway"
    with keeping(Shard(1, 2), path):
        run()
    with merging([tmp_path / "0.nc", path]):
        merged = run()
    assert_equal(merged, run())


def test_shards_are_extended(tmp_path):
    """The second ask has other ranges: [0, 2T), [2T, 4T) for [0, T), [T, 2T)."""
    for trials in (TRIALS, 2 * TRIALS):
        paths = kept(tmp_path, 2, trials=trials)
    with merging(paths):
        merged = two_runs(2 * TRIALS)
    assert_equal(merged, two_runs(2 * TRIALS))
    # The first ask is still answered.
    with merging(paths):
        merged = two_runs()
    assert_equal(merged, two_runs())


@pytest.mark.parametrize("amount", [-1, 1])
def test_a_shard_that_lost_trials_is_refused_where_it_goes_on_and_merged(tmp_path, amount):
    """Its digest is right: it was written so."""
    paths = kept(tmp_path, 2)
    stored = records.read(paths[1])
    arrays = {name: array.copy() for name, array in stored.arrays.items()}
    name = next(name for name, array in arrays.items() if array.size >= 3)
    arrays[name].ravel()[0] += amount
    about = {k: v for k, v in stored.attributes.items() if k != "versions"}
    records.write(paths[1], arrays=arrays, configuration=stored.configuration, attributes=about)
    before = paths[1].read_bytes()
    assert f"{paths[1]} counts " in refusal(paths)
    with pytest.raises(InputError, match=r"1\.nc counts"), keeping(Shard(1, 2), paths[1]):
        two_runs()
    assert paths[1].read_bytes() == before


@pytest.mark.parametrize("first", [0, 5, 4_999])
@pytest.mark.parametrize("blocks", [1, 3])
def test_a_shard_interrupted_anywhere_goes_on_at_the_trial_where_it_was(
    tmp_path, monkeypatch, first, blocks
):
    """Trials 0, 1, ... have sums that tell which were counted, not only how many."""
    from jaxsel.kernel import engine
    from jaxsel.kernel.engine import Performance

    def run():
        performance = Performance(64, blocks, tuple(jax.devices()[:1]))
        return [
            simulate_grid(
                noisy_max(), CELLS, trials=1_000, first_trial=first, seed=3, performance=performance
            )
        ]

    calls = []

    @contextlib.contextmanager
    def impatient(total, done, wanted):
        def advance(trials):
            calls.append(trials)
            assert len(calls) < 1_000, "it does not get on"
            if len(calls) % 3 == 0:
                raise KeyboardInterrupt

        yield advance

    monkeypatch.setattr(engine, "progress_bar", impatient)
    paths, stops = [tmp_path / f"{index}.nc" for index in range(2)], 0
    for index, path in enumerate(paths):
        while True:
            try:
                with keeping(Shard(index, 2), path):
                    run()
                break
            except KeyboardInterrupt:
                stops += 1
    assert stops >= 3
    # Nothing was counted twice: 3 cells of 1000 trials.
    assert sum(calls) == 3_000
    monkeypatch.setattr(engine, "progress_bar", progress_bar)
    with merging(paths):
        merged = run()
    assert_equal(merged, run())


def test_nothing_is_counted_twice_when_a_shard_is_run_again(tmp_path, monkeypatch):
    paths = kept(tmp_path, 2)
    monkeypatch.setattr("jaxsel.kernel.engine.count_here", None)
    kept(tmp_path, 2)
    with merging(paths):
        two_runs()


def test_the_index_is_filled_in(tmp_path):
    with keeping(Shard(3, 5), tmp_path / "run-{shard}.nc") as file:
        pass
    assert file.path == tmp_path / "run-3.nc"
    assert file.path.exists()


def test_missing_doubled_and_unknown_files_are_named(tmp_path):
    paths = kept(tmp_path, 3)
    assert refusal(paths[:1]) == "of 3 shards, these are missing: 1, 2"
    twin = tmp_path / "twin.nc"
    twin.write_bytes(paths[1].read_bytes())
    assert refusal([*paths, twin]) == f"{paths[1]} and {twin} are both shard 1/3"
    assert "no file is named" in refusal([])
    simulate(noisy_max(), *CELLS[0], trials=10, record=tmp_path / "run.nc")
    assert "run.nc is no shard's record" in refusal([*paths, tmp_path / "run.nc"])
    (tmp_path / "notes.txt").write_text("mine")
    assert "not a jaxsel record" in refusal([tmp_path / "notes.txt"])
    assert "there is no record" in refusal([tmp_path / "absent.nc"])


def test_shards_of_different_runs_are_named(tmp_path):
    paths = [tmp_path / "0.nc", tmp_path / "1.nc"]
    for index, path in enumerate(paths):
        with keeping(Shard(index, 2), path, Command("x", {"seed": index}, "10")):
            pass
    assert refusal(paths) == (
        f"{paths[0]} and {paths[1]} are shards of different runs: 0/2 of x with seed=0, "
        "trials=10, and 1/2 of x with seed=1, trials=10"
    )
    with keeping(Shard(0, 3), tmp_path / "2.nc", Command("x", {"seed": 0}, "10")):
        pass
    assert "different runs: 0/2 of x" in refusal([paths[0], tmp_path / "2.nc"])


def test_another_input_is_not_answered(tmp_path):
    paths = kept(tmp_path, 2)
    sentence = refusal(paths, lambda: two_runs(seed=4))
    assert "hold no run of noisy_max" in sentence
    assert "has not finished" in refusal(paths, lambda: two_runs(TRIALS + 1))


def test_other_code_is_refused_and_the_file_kept(tmp_path, monkeypatch):
    (path,) = kept(tmp_path, 1)
    paths = kept(tmp_path / "two", 2)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("jaxsel.host.source_digest._combined", lambda names: "other")
        with pytest.raises(InputError, match="differs in code"), keeping(Shard(0, 1), path):
            two_runs()
        assert path.read_bytes() == before
        assert "counted by other code than this" in refusal(paths)
        paths[1].unlink()
        with keeping(Shard(1, 2), paths[1]):
            two_runs()
    assert "different code or on different machines (they differ in code)" in refusal(paths)


def test_a_file_of_another_shard_is_refused_and_kept(tmp_path):
    paths = kept(tmp_path, 2)
    before = paths[1].read_bytes()
    with pytest.raises(InputError, match="differs in shard"), keeping(Shard(0, 2), paths[1]):
        two_runs()
    assert paths[1].read_bytes() == before


def test_records_and_runners_do_not_nest(tmp_path):
    with keeping(Shard(0, 2), tmp_path / "0.nc"):
        with pytest.raises(InputError, match="no record of its own"):
            simulate(noisy_max(), *CELLS[0], trials=10, record=tmp_path / "r.nc")
        with (
            pytest.raises(InputError, match="do one of them at a time"),
            keeping(Shard(1, 2), tmp_path / "1.nc"),
        ):
            pass
    assert os.listdir(tmp_path) == ["0.nc"]
