"""Executors and Dask count what one process counts, though workers die."""

import multiprocessing
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsel
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import Performance, simulate
from jaxsel.language.base import Mechanism, outcome_itself
from jaxsel.shards import executors

SCORES, PARAMS = np.array([0.0, 1.0, 2.0]), {"epsilon": 1.0}
SMALL = Performance(block_size=1024)


def noisy(**settings):
    return simulate(
        noisy_max(), SCORES, PARAMS, trials=20_001, seed=3, performance=SMALL, **settings
    )


def python_mechanism(run):
    """A Python function of the trial's first random number behind a callback."""

    def sample(key, data, params):
        shape = jax.ShapeDtypeStruct((), jnp.int32)
        return jax.pure_callback(run, shape, key.lane, vmap_method="sequential")

    return Mechanism(
        name="python",
        prepare=lambda data, params: ((), ()),
        sample=sample,
        event=outcome_itself,
        labels=lambda data, params: ("a", "b", "c"),
        law=None,
        resolution=1e-9,
    )


def assert_same(found, expected):
    assert found.configuration == expected.configuration
    assert found.ranges == expected.ranges
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("tasks", [1, 5])
def test_threads(tasks):
    with ThreadPoolExecutor(2) as pool, executors.using(pool, tasks=tasks):
        found = noisy()
    assert_same(found, noisy())


def test_a_pool_of_processes_with_closures_and_an_audit():
    """Neither the mechanism nor its function can be pickled by the standard library."""
    offset = 1
    mechanism = python_mechanism(lambda lane: np.int32((int(lane) + offset) % 3))

    def both():
        settings = {"trials": 100, "performance": Performance(block_size=32)}
        built = jaxsel.mechanism("fixed_repetitions", count=5)
        audited = jaxsel.audit(built, trials=10_000)
        return simulate(mechanism, (), (), **settings), audited

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as pool, executors.using(pool):
        found, audited = both()
    expected, expected_audit = both()
    assert_same(found, expected)
    assert audited == expected_audit


class Interrupting(ThreadPoolExecutor):
    """The third task fails."""

    submitted = 0

    def submit(self, *arguments):
        self.submitted += 1
        if self.submitted == 3:
            return super().submit(int, "no number")
        return super().submit(*arguments)


def test_what_was_counted_before_a_failure_is_kept_and_resumed(tmp_path):
    record = tmp_path / "run.nc"
    with Interrupting(1) as pool, executors.using(pool, tasks=1):
        with pytest.raises(ValueError, match="no number"):
            noisy(record=record)
    ((_, done),) = records.read(record).attributes["ranges"]
    assert 0 < done < 20_001
    twin = tmp_path / "twin.nc"
    twin.write_bytes(record.read_bytes())
    # Resumed with an executor or without: one record for both.
    with ThreadPoolExecutor(1) as pool, executors.using(pool):
        resumed = noisy(record=twin)
    for found in (resumed, noisy(record=record)):
        assert_same(found, noisy())


def test_workers_of_other_code_are_refused(monkeypatch):
    monkeypatch.setattr(
        executors,
        "_unpacked",
        lambda sent: (executors.pickle.loads(sent), {"code": "x", "jax": jax.__version__}),
    )
    with ThreadPoolExecutor(1) as pool, executors.using(pool):
        with pytest.raises(InputError, match="a worker has another code than this"):
            noisy()


class Answering(ThreadPoolExecutor):
    """The second task is answered otherwise than it was counted."""

    submitted = 0

    def __init__(self, change):
        super().__init__(1)
        self.change = change

    def submit(self, run, *arguments):
        self.submitted += 1
        if self.submitted == 2:
            return super().submit(lambda: self.change(run, *arguments))
        return super().submit(run, *arguments)


def _lose(run, sent, first, last):
    found = run(sent, first, last)
    return found._replace(values=found.values - (found.values > 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_lose, "a worker counts .* trials where there are"),
        (
            lambda run, sent, first, last: run(sent, first - 1, last - 1),
            "a worker counted trials .* were asked for",
        ),
        (
            lambda run, sent, first, last: run(sent, first, last - 1)._replace(last=last),
            "a worker counts .* trials where there are",
        ),
    ],
    ids=["lost", "another first trial", "cut short"],
)
def test_an_answer_that_is_not_of_the_task_is_refused_and_not_kept(tmp_path, change, message):
    record = tmp_path / "run.nc"
    with Answering(change) as pool, executors.using(pool, tasks=3):
        with pytest.raises(InputError, match=message):
            noisy(record=record)
    kept = records.read(record)
    ((first, last),) = kept.attributes["ranges"]
    assert kept.arrays["values_0"].sum() == last - first == 1024
    # It goes on, bit for bit.
    assert_same(noisy(record=record), noisy())


@pytest.mark.parametrize("first", [0, 5, 1024, 1_000_003])
@pytest.mark.parametrize("begun", [0, 1, 1500, 2048])
def test_tasks_are_a_partition_of_what_is_left(monkeypatch, tmp_path, first, begun):
    """Of a run that begins anywhere and was stopped anywhere; tasks end on whole blocks."""
    record, asked = tmp_path / "run.nc", []
    if begun:
        simulate(
            noisy_max(),
            SCORES,
            PARAMS,
            trials=begun,
            first_trial=first,
            record=record,
            performance=SMALL,
        )
    real = executors._counted

    def counted(sent, start, stop):
        asked.append((start, stop))
        return real(sent, start, stop)

    monkeypatch.setattr(executors, "_counted", counted)
    settings = {"trials": 9_001, "first_trial": first, "performance": SMALL}
    with ThreadPoolExecutor(1) as pool, executors.using(pool, tasks=3):
        found = simulate(noisy_max(), SCORES, PARAMS, record=record, **settings)
    edges = [start for start, _ in asked]
    assert edges == [first + begun, *[stop for _, stop in asked[:-1]]]
    assert asked[-1][1] == first + 9_001
    assert all(edge % 1024 == 0 for edge in edges[1:])
    assert_same(found, simulate(noisy_max(), SCORES, PARAMS, **settings))


@pytest.mark.parametrize(
    ("seconds", "blocks"), [(1 / 64, [1, 8, 64, 128, 128]), (1.0, [1, 2, 2, 2]), (8.0, [1, 1, 1])]
)
def test_tasks_grow_eightfold_at_most_and_to_two_seconds(monkeypatch, seconds, blocks):
    asked, real = [], executors._counted

    def counted(sent, start, stop):
        asked.append((stop - start) // 32)
        return real(sent, start, stop)._replace(seconds=seconds * asked[-1])

    monkeypatch.setattr(executors, "_counted", counted)
    small = Performance(block_size=32)
    with ThreadPoolExecutor(1) as pool, executors.using(pool, tasks=1):
        simulate(noisy_max(), SCORES, PARAMS, trials=32 * sum(blocks), performance=small)
    assert asked == blocks


def test_a_worker_shows_no_progress_and_has_its_own_devices(monkeypatch):
    sent, real = [], executors._counted

    def counted(packed, start, stop):
        sent.append(executors._unpacked(packed)[0])
        return real(packed, start, stop)

    monkeypatch.setattr(executors, "_counted", counted)
    mine = SMALL._replace(devices=tuple(jax.devices()[:1]))
    with ThreadPoolExecutor(1) as pool, executors.using(pool):
        simulate(noisy_max(), SCORES, PARAMS, trials=100, performance=mine, progress=True)
    (work,) = sent
    assert not work.progress
    assert work.performance == SMALL


def test_what_cannot_be_sent_is_refused():
    lock = threading.Lock()
    mechanism = python_mechanism(lambda lane: np.int32(lock.locked()))
    with ThreadPoolExecutor(1) as pool, executors.using(pool):
        with pytest.raises(InputError, match="python cannot be sent to a worker"):
            simulate(mechanism, (), (), trials=10)


def test_bad_settings():
    with pytest.raises(InputError, match="tasks is 0"), executors.using(None, tasks=0):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", ""])
def test_a_scheduler_that_does_not_answer_is_one_sentence(address):
    started = time.monotonic()
    with pytest.raises(InputError, match="no Dask scheduler answers") as caught:
        with executors.dask(address):
            pass
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 60


IDLE = """
    import distributed, sys
    from jaxsel.shards import executors
    if __name__ == "__main__":
        executors._WORKERS_SECONDS = float(sys.argv[1])
        local = {"processes": False, "dashboard_address": None, "threads_per_worker": 1}
        with distributed.LocalCluster(n_workers=int(sys.argv[2]), **local) as cluster:
            with executors.dask(cluster.scheduler_address):
                print(cluster.scheduler_address)
"""


@pytest.mark.parametrize("workers", [0, 1])
def test_a_scheduler_without_workers_is_told_of(workers):
    """A moment of patience, where there are none."""
    pytest.importorskip("distributed")
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(IDLE),
            "0.2" if workers == 0 else "20",
            str(workers),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    address = ended.stdout.strip()
    sentence = (
        f"jaxsel: the scheduler at {address} has no workers yet; start some with "
        f"`dask worker {address}`, they are waited for\n"
    )
    assert (sentence in ended.stderr) == (workers == 0)


@pytest.mark.rare
def test_dask_replaces_a_worker_that_is_killed(tmp_path):
    marker = tmp_path / "died"
    done = subprocess.run(
        [sys.executable, "-m", "tests.killed_worker", str(marker)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert marker.exists(), "a worker was to be killed"
