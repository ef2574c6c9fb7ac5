"""Trials of an audited function, drawn by processes of their own where it can be imported."""

import contextlib
import math
import mmap
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jaxsel.auditing.functions import calls
from jaxsel.auditing.functions.outcomes import Table, together
from jaxsel.auditing.functions.subject import IN_WORKER, Function
from jaxsel.host.blas_threads import ONE_THREAD
from jaxsel.host.errors import InputError

# Trials of one task. Their randomness is addressed by block, so that the outcomes do not
# depend on the number of processes.
_BLOCK = {"vectorised": 4096, "jax": 16384, "generator": 64, "own": 64}
_GRACE = 2.0  # seconds beyond a call's limit, after which its process is ended
_CALL = 0.05  # of a time limit, for one call
_LOOK = 0.05  # seconds between two looks at a process that works


class _Worker:
    """One process, started again whenever a call has ended it."""

    def __init__(self, function: Function, folder: str, number: int) -> None:
        self._function, self._file = function, Path(folder, f"progress-{number}")
        self._file.write_bytes(bytes(8))
        with open(self._file, "r+b") as opened:
            self._noted = mmap.mmap(opened.fileno(), 8)
        self._process: subprocess.Popen | None = None
        self._stopped = False

    def start(self) -> subprocess.Popen:
        """Starts the process, unless it runs, and lets it import the function.

        Raises:
          InputError: if the file cannot be imported.
        """
        if self._process is not None:
            return self._process
        assert self._function.path is not None
        file, name = self._function.path
        command = [sys.executable, "-m", "jaxsel.auditing.functions.worker"]
        process = subprocess.Popen(
            [*command, file, name, self._function.kind, str(self._file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What the file imports is found where it is found here.
            env=os.environ
            | ONE_THREAD
            | {IN_WORKER: "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdout is not None
        try:
            refused = pickle.load(process.stdout)
        except EOFError:
            _close(process)
            raise InputError(f"{file} ends the process that imports it") from None
        if refused is not None:
            process.kill()
            _close(process)
            raise refused
        self._process = process
        return process

    def run(self, task: calls.Task) -> Table:
        """The table of a task; a call that ends the process is an outcome of its trial."""
        known: dict[int, str] = {}
        while not self._stopped:
            answer = self._ask(self.start(), task, known)
            if isinstance(answer, Exception):
                raise answer
            if isinstance(answer, Table):
                return answer
            (trial,) = struct.unpack("q", self._noted[:])
            known[trial] = answer
            self._process = None
        raise InputError("the audit was stopped")

    def _ask(self, process: subprocess.Popen, task: calls.Task, known: dict[int, str]) -> Any:
        """The answer of a process, or in words why there is none."""
        assert process.stdin is not None
        assert process.stdout is not None
        answers: list[Any] = []
        given, taken, seconds = process.stdin, process.stdout, task.seconds

        def read() -> None:
            with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError, ValueError):
                answers.append(pickle.load(taken))

        reader = threading.Thread(target=read, daemon=True)
        with contextlib.suppress(OSError):
            pickle.dump((task, known), given)
            given.flush()
        reader.start()
        seen, since = b"", time.monotonic()
        while reader.is_alive():
            reader.join(_LOOK if seconds is not None else None)
            now = bytes(self._noted[:])
            if now != seen:
                seen, since = now, time.monotonic()
            elif seconds is not None and time.monotonic() - since > seconds + _GRACE:
                process.kill()
                reader.join()
                _close(process)
                return answers[0] if answers else calls.NO_ANSWER
        if answers:
            return answers[0]
        _close(process)
        return calls.KILLED

    def stop(self) -> None:
        """Ends the process for good."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()
            _close(self._process)
            self._process = None


def _close(process: subprocess.Popen) -> None:
    """Waits for the end of a process and closes its pipes."""
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what it was sent is lost with it
                pipe.close()


def call_limit(function: Function, seconds: float | None) -> float | None:
    """The time limit of a call, where all calls together have one and it has none."""
    if seconds is None or function.kind == "vectorised":
        return seconds
    return _CALL * seconds


class Draws:
    """Draws trials of one function; a context that ends its processes when it is left.

    Attributes:
      function, settings, seed, call_seconds, until, bits: as given.
      workers: number of processes; 0 if the function runs in this one.
      rate: trials a second, the longest draw's so far.
    """

    def __init__(
        self,
        function: Function,
        settings: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        call_seconds: float | None = None,
        workers: int | None = None,
        until: float = math.inf,
        bits: bool = False,
    ) -> None:
        """Prepares to draw.

        Args:
          function: what is called.
          settings: its parameters that have defaults, by name.
          seed: of all randomness that we hand to the function.
          call_seconds: time limit of a call; None waits for ever.
          workers: number of processes, at least 2, whose trials are compared; by default
            one for each processor, at most 8. A function that no other process can import,
            and one of jax.random keys, runs in this process.
          until: no block of trials is begun after this time, in seconds of
            ``time.monotonic``, but the first of each draw.
          bits: gives the tables of ``draw`` and ``blocks`` the columns of low bits.
        """
        self.until, self.rate, self.bits = until, 0.0, bits
        self._longest = 0
        self.function, self.seed, self.call_seconds = function, seed, call_seconds
        self.settings = dict(settings or {})
        here = function.path is None or function.kind == "jax"
        self.workers = 0 if here else max(workers or min(os.cpu_count() or 1, 8), 2)
        self._pool: list[_Worker] = []

    def __enter__(self) -> "Draws":
        self._exits = contextlib.ExitStack()
        if self.workers:
            folder = self._exits.enter_context(tempfile.TemporaryDirectory(prefix="jaxsel-audit-"))
            self._pool = [_Worker(self.function, folder, i) for i in range(self.workers)]
            for worker in self._pool:
                self._exits.callback(worker.stop)
            with ThreadPoolExecutor(self.workers) as starting:
                list(starting.map(_Worker.start, self._pool))
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.close()

    def fresh(
        self,
        data: Any,
        trials: int,
        stream: tuple[int, ...],
        process: int,
        budget: float = math.inf,
    ) -> Table:
        """As ``draw``, in one call of one process, which nothing has called before.

        Args:
          data, trials, stream: as for ``draw``.
          process: a number; two calls with different numbers use different processes as far
            as the function can be imported.
          budget: in seconds; fewer trials are made if it is spent.
        """
        task = self._task(data, trials, stream, 0)._replace(budget=budget)
        began = time.monotonic()
        if not self._pool:
            found = calls.run(self.function, task)
        else:
            found = self._pool[process % len(self._pool)].run(task)
        self._timed(len(found), began)
        return found

    def _timed(self, trials: int, began: float) -> None:
        # Of many short calls and few long ones, the long tell what more trials take.
        if trials >= self._longest:
            self._longest = trials
            self.rate = trials / max(time.monotonic() - began, 1e-9)

    def _task(self, data: Any, trials: int, stream: tuple[int, ...], block: int) -> calls.Task:
        entropy = (self.seed, *stream, block)
        budget = max(self.until - time.monotonic(), 0.0)
        return calls.Task(data, self.settings, trials, entropy, self.call_seconds, budget)

    def _from_now(self, task: calls.Task) -> calls.Task:
        """The task with the budget that is left when it begins, after it has waited."""
        return task._replace(budget=max(self.until - time.monotonic(), 0.0))

    def _in_time(self, tasks: list[calls.Task], least: int) -> Iterator[calls.Task]:
        for number, task in enumerate(tasks):
            if number < least or time.monotonic() <= self.until:
                yield task

    def _in_order(
        self,
        pool: ThreadPoolExecutor,
        run: Callable[[calls.Task], Table],
        tasks: list[calls.Task],
        least: int,
    ) -> list[Table]:
        """The tables of the tasks that are begun in time; each process has one at a time."""
        found: list[Table] = []
        waiting: deque[Future[Table]] = deque()
        for task in self._in_time(tasks, least):
            waiting.append(pool.submit(run, task))
            if len(waiting) > 2 * len(self._pool):
                found.append(waiting.popleft().result())
        return found + [one.result() for one in waiting]

    def draw(self, data: Any, trials: int, stream: tuple[int, ...]) -> Table:
        """The outcomes of trials, as ``blocks``, in one table."""
        began = time.monotonic()
        found = together(self.blocks(data, trials, stream))
        self._timed(len(found), began)  # which takes longer than to draw them
        return found

    def blocks(self, data: Any, trials: int, stream: tuple[int, ...]) -> list[Table]:
        """The outcomes of trials, by block of calls; fewer where the time is over.

        Args:
          data: the input.
          trials: their number.
          stream: what distinguishes these trials from all others of this function; equal
            streams have equal outcomes, if the function has no randomness of its own.

        Raises:
          InputError: if the file cannot be imported or the answers are no outcomes.
        """
        (found,) = self.by_turns([(data, stream)], trials)
        return found

    def by_turns(
        self, inputs: Sequence[tuple[Any, tuple[int, ...]]], trials: int
    ) -> list[list[Table]]:
        """As ``blocks``, of several inputs by turns, so that all have as many where time ends.

        Args:
          inputs: each with its stream.
          trials: of each.
        """
        began = time.monotonic()
        found = self._drawn(inputs, trials)
        self._timed(sum(map(len, found)), began)
        found = [one.with_bits() for one in found] if self.bits else found
        return [found[place :: len(inputs)] for place in range(len(inputs))]

    def _drawn(self, inputs: Sequence[tuple[Any, tuple[int, ...]]], trials: int) -> list[Table]:
        size = _BLOCK[self.function.kind]
        sizes = [min(size, trials - first) for first in range(0, trials, size)]
        tasks = [
            self._task(data, rows, stream, block)
            for block, rows in enumerate(sizes)
            for data, stream in inputs
        ]
        if not self._pool:
            every = self._in_time(tasks, len(inputs))
            return [calls.run(self.function, self._from_now(task)) for task in every]
        idle = list(self._pool)
        lock = threading.Lock()

        def run(task: calls.Task) -> Table:
            with lock:
                worker = idle.pop()
            try:
                return worker.run(self._from_now(task))
            finally:
                with lock:
                    idle.append(worker)

        with ThreadPoolExecutor(len(self._pool)) as pool:
            try:
                return self._in_order(pool, run, tasks, len(inputs))
            except BaseException:
                for worker in self._pool:
                    worker.stop()
                raise
