"""Runs trials on the workers of any ``concurrent.futures.Executor``, or of Dask.

A task is a range of trials of all cells. It has no side effects, so the loss of a worker
costs only time if the executor reruns its tasks (Dask does). The calling process keeps the
order, the record and the sums; a worker builds the mechanism once and keeps its compiled
program.

Example:
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import jaxsel
    >>> with ThreadPoolExecutor(2) as pool, jaxsel.executors.using(pool):
    ...     tallies = jaxsel.simulate("noisy_max", trials=1000)
    >>> tallies.trials
    1000
"""

import collections
import contextlib
import functools
import pickle
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError, check_integer
from jaxsel.host.progress import progress_bar
from jaxsel.kernel import engine, hosts
from jaxsel.kernel.tallies import Tallies
from jaxsel.kernel.work import Counted, Save, Work, as_tallies, check_counted, run_by

__all__ = ["dask", "using"]

_TASK_SECONDS = 2.0
_SAVE_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_WORKERS_SECONDS = 3.0
_KEPT_WORKS = 16


@contextlib.contextmanager
def using(executor: Executor | Any, *, tasks: int = 64) -> Iterator[None]:
    """Runs every call of ``simulate`` and ``simulate_grid`` inside the block on an executor.

    Tallies and records are the same as in this process alone, bit for bit. Useful for slow
    mechanisms, such as Python functions behind ``jax.pure_callback`` (with small blocks,
    ``Performance(block_size=64)``, since a task is at least one block), and for many
    machines.

    Args:
      executor: an Executor, or a ``distributed.Client``, whose workers have this package in
        the same versions and the same backend. A pool of processes must use
        ``multiprocessing.get_context("spawn")``, since JAX does not survive a fork.
      tasks: number of tasks submitted at a time; at least one per worker, better two.

    Raises:
      InputError: inside the block, if a mechanism cannot be pickled, or the workers have
        other code, another JAX version or another backend.
    """
    tasks = check_integer("tasks", tasks, 1)

    def run(work: Work, record: str | Path | None) -> Tallies:
        if hosts.count() > 1:
            raise InputError("joined processes have no executor; use one or the other")
        return as_tallies(
            work,
            engine.recorded(
                work, record, functools.partial(_mapped, executor=executor, tasks=tasks)
            ),
        )

    with run_by(run):
        yield


@contextlib.contextmanager
def dask(address: str) -> Iterator[Any]:
    """Connects to a Dask scheduler; returns a ``distributed.Client``, for ``using``.

    If there are no workers after three seconds it prints a message on standard error and
    waits.

    Args:
      address: of the scheduler, "tcp://HOST:PORT".

    Raises:
      InputError: if Dask is not installed, if there is no answer within five seconds, or if
        workers are lost faster than Dask replaces them.
    """
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise InputError('Dask is not installed; run pip install "jaxsel[dask]"') from None
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    # Dask may raise anything if the address is malformed, and asserts that its own thread has
    # started within ten seconds, which on a busy machine it has not always.
    except (OSError, ValueError, TypeError, AssertionError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} within {_CONNECT_SECONDS:g} s "
            f"({type(error).__name__}); start one, or give its address"
        ) from error
    with client:
        _say_if_idle(client, address)
        try:
            yield client
        except (KilledWorker, CancelledError) as error:
            raise InputError(
                f"the workers of {address} were lost ({type(error).__name__}); what was "
                "counted is in the record, if there is one"
            ) from error


def _say_if_idle(client: Any, address: str) -> None:
    """Prints a message if there are no workers yet."""
    try:
        client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
    except TimeoutError:
        sys.stderr.write(
            f"jaxsel: the scheduler at {address} has no workers yet; start some with "
            f"`dask worker {address}`, they are waited for\n"
        )


class _Answer(NamedTuple):
    """A worker's result: the sums of trials [first, last), and the code that computed them."""

    first: int
    last: int
    values: Any
    seconds: float
    provenance: dict[str, Any]


class _Task(NamedTuple):
    first: int
    last: int
    future: Any  # of the standard library, or of Dask


def _mapped(work: Work, start: Counted, save: Save, *, executor: Any, tasks: int) -> Counted:
    """Runs a piece of work as tasks, whose sums are added in the order of their trials."""
    sent = _packed(work)
    block_size = engine.block_size(work.performance)
    state, blocks = start, 1
    next_first = work.first + start.done
    waiting: collections.deque[_Task] = collections.deque()
    saved = time.monotonic()
    try:
        with progress_bar(work.last - work.first, start.done, work.progress) as advance:
            while state.done < work.last - work.first:
                while next_first < work.last and len(waiting) < tasks:
                    # Whole blocks, so that no block is computed by two workers.
                    last = (next_first // block_size + blocks) * block_size
                    last = min(last, work.last)
                    future = executor.submit(_counted, sent, next_first, last)
                    waiting.append(_Task(next_first, last, future))
                    next_first = last
                task = waiting.popleft()
                found = task.future.result()
                _check_answer(work, task, found)
                sums, spent = found.values, found.seconds
                values = jax.tree.map(np.add, state.values, sums)
                done = task.last - work.first
                state = Counted(done, values, state.seconds + spent)
                advance(task.last - task.first)
                rate = (task.last - task.first) / block_size / max(spent, 1e-6)
                blocks = max(1, int(min(8.0 * blocks, rate * _TASK_SECONDS)))
                if time.monotonic() - saved > _SAVE_SECONDS:
                    save(state)
                    saved = time.monotonic()
    finally:
        for task in waiting:
            task.future.cancel()
        # Saves on interruption, too.
        if state.done:
            save(state)
    return state


def _packed(work: Work) -> bytes:
    """Pickles the work with cloudpickle, since mechanisms contain closures."""
    try:
        import cloudpickle
    except ImportError:
        raise InputError('executors need cloudpickle; run pip install "jaxsel[dask]"') from None
    # A worker uses its own devices.
    performance = work.performance._replace(devices=None)
    try:
        return cloudpickle.dumps(work._replace(progress=False, performance=performance))
    except Exception as error:
        raise InputError(f"{work.mechanism.name} cannot be sent to a worker: {error}") from error


# Cached, since a worker gets the same bytes repeatedly and should compile only once.
@functools.lru_cache(maxsize=_KEPT_WORKS)
def _unpacked(sent: bytes) -> tuple[Work, dict[str, Any]]:
    work: Work = pickle.loads(sent)
    return work, engine.provenance(work.mechanism, work.statistic)


@one_blas_thread()
def _counted(sent: bytes, first: int, last: int) -> _Answer:
    """Runs one task, in a worker."""
    work, provenance = _unpacked(sent)
    part = work.part(slice(None), first, last)
    found = engine.count_here(part, engine.zeros(part), lambda counted: None)
    return _Answer(part.first, part.last, found.values, found.seconds, provenance)


def _check_answer(work: Work, task: _Task, answer: _Answer) -> None:
    """Refuses a result that comes from other code or counts other trials than requested."""
    differing = [k for k, v in answer.provenance.items() if work.configuration[k] != v]
    if differing:
        raise InputError(
            f"a worker has another {' and '.join(differing)} than this process; install "
            "the same there"
        )
    if (answer.first, answer.last) != (task.first, task.last):
        raise InputError(
            f"a worker counted trials [{answer.first}, {answer.last}) where "
            f"[{task.first}, {task.last}) were asked for; run it again"
        )
    part = work.part(slice(None), task.first, task.last)
    counted = Counted(task.last - task.first, answer.values, answer.seconds)
    check_counted(part, counted, "a worker")
