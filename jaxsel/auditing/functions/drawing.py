"""Trials of an audited function, drawn by processes of their own where it can be imported."""

import contextlib
import functools
import itertools
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jaxsel.auditing.functions import calls
from jaxsel.auditing.functions.audited_function import IN_WORKER, Function
from jaxsel.auditing.functions.outcomes import Table, table, together
from jaxsel.host.blas_threads import ONE_THREAD
from jaxsel.host.errors import CouldNotError, InputError
from jaxsel.host.progress import note, progress_bar

# Trials of one task. Their randomness is addressed by block, so that the outcomes do not
# depend on the number of processes.
_BLOCK = {"vectorised": 4096, "jax": 16384, "generator": 64, "own": 64}
# Seconds beyond a call's limit, after which its process is ended; and where it makes no call.
_GRACE, _READ = 0.25, 2.0
# Of a time limit, for one call, by kind; and for one while none has answered.
_CALL = {"vectorised": 0.1, "jax": 0.2, "generator": 0.05, "own": 0.05}
_LONGER = 0.2
# Of what all calls together may take, that must be left where a longer limit is tried.
_LEFT = 0.5
_OVER = 0.5  # of a longer limit, that may go on when all time is over
_SHORT = 4  # calls of many rows are to take this part of their limit
_TWICE = 2  # calls of many rows that did not answer, of which each is made once more
# What a process does is seen in a shared number only; nothing tells when it stops changing.
_LOOK = 0.05  # seconds between two looks at a process that works
_NOTHING = -2  # in place of the number of a trial: no call has begun
# What is noted where the process is at work, and no call is.
_BESIDE = tuple(struct.pack("q", one) for one in (_NOTHING, calls.READING))
_IDLE = 3  # times that a process may end between two calls
ALONE = "in this process alone"
"""How ``Draws.ran`` begins where all calls of a function share a process."""
_MANY_ENDS = 8  # processes that calls have ended, after which it is said


class NoAnswerError(CouldNotError):
    """No call of a function answers."""


class _Worker:
    """One process, started again whenever a call has ended it."""

    def __init__(
        self, function: Function, folder: str, number: int, ended: Callable[[], None]
    ) -> None:
        self._function, self._file = function, Path(folder, f"progress-{number}")
        self._ended = ended
        # The number of the call that has begun, in memory that both processes see: it is there when
        # the call has ended its process, too.
        self._file.write_bytes(bytes(8))
        with open(self._file, "r+b") as opened:
            self._noted = mmap.mmap(opened.fileno(), 8)
        self._process: subprocess.Popen | None = None
        self._next: subprocess.Popen | None = None  # in the place of one that a call has ended
        self._takes = 0.0  # seconds of a start
        self._stopped = False

    def _begin(self) -> subprocess.Popen:
        """Begins the process, which then imports the function while others work."""
        assert self._function.path is not None
        file, name = self._function.path
        command = [sys.executable, "-m", "jaxsel.auditing.functions.worker"]
        called = itertools.chain.from_iterable(self._function.imports)
        return subprocess.Popen(
            [*command, self._function.kind, str(self._file), file, name, *called],
            # A process of its own from the start: a fork would share this one's threads and JAX,
            # and a stranger's function may end, close or print whatever it has.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What the file imports is found where it is found here.
            env=os.environ
            | ONE_THREAD
            | {IN_WORKER: "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def start(self) -> subprocess.Popen:
        """Starts the process, unless it runs, and lets it import the function.

        Raises:
          InputError: if the file cannot be imported.
        """
        if self._process is not None:
            return self._process
        began = time.monotonic()
        # Begun when the last one ended, so that it has imported the function meanwhile.
        process = self._next or self._begin()
        self._next = None
        assert process.stdout is not None
        try:
            # The first message is None, or the error that the import raised.
            refused = pickle.load(process.stdout)
        except EOFError:
            assert self._function.path is not None
            file = self._function.path[0]
            _close(process)
            raise InputError(f"{file} ends the process that imports it") from None
        if refused is not None:
            process.kill()
            _close(process)
            raise refused
        self._process = process
        self._takes = max(self._takes, time.monotonic() - began)
        return process

    def run(self, task: calls.Task) -> Table:
        """The table of a task; a call that ends the process is an outcome of its trial.

        Such a call costs a new process: when the budget is spent, those that are known come back.
        """
        # A task is begun again after a call has ended its process: what is known of it is not
        # called twice.
        known: dict[int, Any] = {}
        end, idle = time.monotonic() + task.budget, 0
        while not self._stopped:
            left = max(end - time.monotonic(), 0.0)
            # A table has its first trials without a gap; of none at all there is no table.
            if 0 in known and left <= self._takes:
                trials = itertools.takewhile(known.__contains__, range(task.trials))
                return table([known[trial] for trial in trials])
            # What the last task noted is not to be taken for a call of this one.
            self._noted[:] = struct.pack("q", _NOTHING)
            answer = self._ask(self.start(), task._replace(budget=left), known)
            if isinstance(answer, Exception):
                raise answer
            if isinstance(answer, Table):
                return answer
            self._process = None
            (trial,) = struct.unpack("q", self._noted[:])
            # Where all have answered and what they returned ends the process as it is read, the
            # last one stands for it: all rows of a vectorised call.
            if trial == calls.READING:
                trial = calls.ALL_ROWS if self._function.kind == "vectorised" else task.trials - 1
            # With no time left another process would be begun to be ended.
            if task.budget and not self._stopped:
                self._next = self._begin()
            if trial == calls.ALL_ROWS and answer == calls.NO_ANSWER:
                return table([calls.Did(answer)] * task.trials)
            if trial != _NOTHING:
                known = {**known, **self._kept(), trial: calls.Did(answer)}
                self._ended()
                continue
            # No call is to blame, perhaps the machine was; thrice in a task is the function's
            # doing.
            idle += 1
            if idle == _IDLE:
                raise CouldNotError(f"the process of {self._function.name} ends between its calls")
        raise InputError("the audit was stopped")

    def _kept(self) -> dict[int, Any]:
        """The outcomes of the task that the process has written down."""
        found: dict[int, Any] = {}
        with open(self._file.with_suffix(".kept"), "rb") as opened:
            # What was being written when the process ended is no outcome.
            with contextlib.suppress(EOFError, pickle.UnpicklingError):
                while True:
                    trial, outcome = pickle.load(opened)
                    found[trial] = outcome
        return found

    def _ask(self, process: subprocess.Popen, task: calls.Task, known: dict[int, Any]) -> Any:
        """The answer of a process, or in words why there is none."""
        assert process.stdin is not None
        assert process.stdout is not None
        answers: list[Any] = []
        given, taken, seconds = process.stdin, process.stdout, task.seconds

        def read() -> None:
            with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError, ValueError):
                answers.append(pickle.load(taken))

        # A read that waits for ever is left when the process is killed; here one looks at it
        # meanwhile.
        reader = threading.Thread(target=read, daemon=True)
        # A process that has just ended takes no task: the reader then finds no answer, which says
        # so.
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
                continue
            # What is sent to the process and what it reads are no calls, whose limit is the
            # caller's.
            grace = _READ if seen in _BESIDE else _GRACE
            if seconds is not None and time.monotonic() - since > seconds + grace:
                process.kill()
                reader.join()
                _close(process)
                # It may have come between the look and the kill.
                return answers[0] if answers else calls.NO_ANSWER
        if answers:
            return answers[0]
        _close(process)
        return calls.KILLED

    def stop(self) -> None:
        """Ends the process for good."""
        self._stopped = True
        for process in (self._process, self._next):
            if process is not None:
                process.kill()
                _close(process)
        self._process = self._next = None


def _unanswered(found: Table) -> bool:
    """Whether no call has answered within its limit."""
    return _all(found, (calls.NO_ANSWER,))


def silent(found: Table) -> bool:
    """Whether no call has answered, or left its process to answer more."""
    return _all(found, (calls.NO_ANSWER, calls.KILLED))


def _all(found: Table, words: Sequence[str]) -> bool:
    # The words of numbers are many, and are not made for this.
    return all(one in words for one in found.rows(slice(1)).words) and all(
        one in words for one in found.words
    )


def _close(process: subprocess.Popen) -> None:
    """Waits for the end of a process and closes its pipes."""
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what it was sent is lost with it
                pipe.close()


def call_limits(
    function: Function, seconds: float | None, call_seconds: float | None
) -> tuple[float | None, float | None]:
    """The time limit of a call, and a longer one that is tried while no call has answered.

    Args:
      function: what is called.
      seconds: the limit of all calls together, if they have one.
      call_seconds: that of a call, if it has been given; then there is no longer one.
    """
    if seconds is None:
        return call_seconds, None
    longer = _LONGER * seconds
    if call_seconds is not None:
        return min(call_seconds, longer), None
    limit = _CALL[function.kind] * seconds
    return limit, longer if limit < longer else None


class Draws:
    """Draws trials of one function; a context that ends its processes when it is left.

    Attributes:
      function, settings, seed, call_seconds, until, bits: as given.
      workers: number of processes; 0 if the function runs in this one.
      rate: trials a second, the longest draw's so far.
      shortened: whether calls of fewer rows were made, since they take so long.
    """

    def __init__(
        self,
        function: Function,
        settings: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        call_seconds: float | None = None,
        longer: float | None = None,
        workers: int | None = None,
        until: float = math.inf,
        bits: bool = False,
        total: int | None = None,
        progress: bool | None = None,
    ) -> None:
        """Prepares to draw.

        Args:
          function: what is called.
          settings: its parameters that have defaults, by name.
          seed: of all randomness that we hand to the function.
          call_seconds: time limit of a call; None waits for ever.
          longer: another one, which is tried while no call has answered, and kept if one does.
          workers: number of processes, at least 2, whose trials are compared; by default
            one for each processor, at most 8. A function that no other process can import,
            and one of jax.random keys, runs in this process.
          until: no block of trials is begun after this time, in seconds of
            ``time.monotonic``, but the first of each draw.
          bits: gives the tables of ``draw`` and ``blocks`` the columns of low bits.
          total: about how many trials are to be drawn in all, for the progress.
          progress: as for ``host.progress.progress_bar``.

        Raises:
          InputError: for settings that the function does not have.
        """
        function.check_settings(settings or {})
        self.until, self.rate, self.bits = until, 0.0, bits
        self._longest = 0
        self._bar = (total, 0, progress if total is not None else False)
        self._advance: Callable[[int], None] = lambda trials: None
        self._ends = 0
        self.function, self.seed, self.call_seconds = function, seed, call_seconds
        self._longer, self._end, self._began = longer, until, time.monotonic()
        self._tried: list[Any] = []  # inputs on which the longer limit did not help
        self._answered = self.shortened = False
        self._silent, self._chances = 0, _TWICE
        self._row = math.inf  # seconds of a row, at least; infinite while none is known
        self.settings = dict(settings or {})
        # A function of keys is compiled, in this process; what has no path no other can import.
        here = function.path is None or function.kind == "jax"
        # Two at least: trials of two processes are compared, which shows randomness that they
        # share.
        self.workers = 0 if here else max(workers or min(os.cpu_count() or 1, 8), 2)
        self._pool: list[_Worker] = []

    def __enter__(self) -> "Draws":
        self._exits = contextlib.ExitStack()
        limited = self.until < math.inf
        self._advance = self._exits.enter_context(progress_bar(*self._bar, limited=limited))
        if self.workers:
            folder = self._exits.enter_context(tempfile.TemporaryDirectory(prefix="jaxsel-audit-"))
            self._pool = [
                _Worker(self.function, folder, i, self._count_end) for i in range(self.workers)
            ]
            for worker in self._pool:
                self._exits.callback(worker.stop)
            with ThreadPoolExecutor(self.workers) as starting:
                list(starting.map(_Worker.start, self._pool))
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.close()

    def _count_end(self) -> None:
        """Says, where nothing limits the time, what it is that takes so long."""
        self._ends += 1
        if self._ends == _MANY_ENDS and self.until == math.inf and self._bar[2] is not False:
            note(
                f"calls of {self.function.name} end their process, and each such call takes a new "
                "one; a limit of time ends the audit sooner"
            )

    @property
    def ran(self) -> str:
        """Where the calls were made, in words."""
        if self.function.kind == "jax":
            said = calls.programs_of(self.function).said
            return f"compiled, in this process{said and '; '}{said}"
        if self.workers:
            return "in processes of their own"
        return f"{ALONE}, since no other can import the function"

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
        began = time.monotonic()

        def make() -> list[Table]:
            task = self._task(data, trials, stream, 0)._replace(budget=budget)
            if not self._pool:
                return [calls.run(self.function, task)]
            return [self._pool[process % len(self._pool)].run(task)]

        (found,) = self._patiently(make, [data])
        self._advance(len(found))
        took = time.monotonic() - began
        self._timed(len(found), began)
        if not silent(found):
            self._row = min(self._row, took / len(found))
        if not self._answered and took > budget and silent(found):
            self._silent += 1
            if self._silent >= min(max(self.workers, 1), 2):
                raise NoAnswerError(self.no_answer(found))
        return found

    def _patiently(self, make: Callable[[], list[Table]], inputs: Sequence[Any]) -> list[Table]:
        """Tables, made once more by a longer limit of calls if none has ever answered."""
        found = make()
        if self._answered:
            return found
        limit, self._answered = self.call_seconds, not all(map(_unanswered, found))
        now = time.monotonic()
        known = any(one is data for data in inputs for one in self._tried)
        # A longer limit that fails costs its whole time: only while half of all time is left, and
        # once an input.
        share = (self._end - now) / max(self._end - self._began, 1e-9)
        if self._answered or self._longer is None or known or share < _LEFT:
            return found
        self._tried += inputs
        self.call_seconds = self._longer
        again = make()
        self._answered = not all(map(_unanswered, again))
        if not self._answered:
            self.call_seconds = limit
        return again

    def check_answers(self, found: Table) -> None:
        """Says that no call has answered, where no time is left to ask for more.

        Args:
          found: trials.

        Raises:
          NoAnswerError: which says what happened instead.
        """
        if not self._answered and time.monotonic() > self._end and silent(found):
            raise NoAnswerError(self.no_answer(found))

    def no_answer(self, found: Table) -> str:
        """That no call answers, in words, from trials none of which has an answer."""
        return f"{self.function.name} gave no answer in any trial: {self.said(str(found.words[0]))}"

    def said(self, word: str) -> str:
        """What a call did, with the limit that it had."""
        if word != calls.NO_ANSWER or self.call_seconds is None:
            return word
        tried = f", nor within {self._longer:.3g} s where that was tried" if self._tried else ""
        return (
            f"no answer within {self.call_seconds:.3g} s, the limit of a call{tried}; more seconds "
            "give each call more, and call_seconds sets its limit"
        )

    def _timed(self, trials: int, began: float) -> None:
        # Of many short calls and few long ones, the long tell what more trials take.
        if trials >= self._longest:
            self._longest = trials
            self.rate = trials / max(time.monotonic() - began, 1e-9)

    def _task(self, data: Any, trials: int, stream: tuple[int, ...], block: int) -> calls.Task:
        # By block, not by process: equal seeds give equal outcomes with any number of processes.
        entropy = (self.seed, *stream, block)
        budget = max(self._last() - time.monotonic(), 0.0)
        return calls.Task(data, self.settings, trials, entropy, self.call_seconds, budget)

    def _in_time(self, tasks: Iterator[calls.Task], least: int) -> Iterator[calls.Task]:
        for number, task in enumerate(tasks):
            if number >= least and time.monotonic() > self._last():
                return
            yield task

    def _last(self) -> float:
        """Until when calls are begun: a longer limit than by default is to end in time, too."""
        if self.call_seconds is None or self.call_seconds != self._longer:
            return self.until
        return min(self.until, self._end - (1.0 - _OVER) * self.call_seconds)

    def _in_order(
        self,
        pool: ThreadPoolExecutor,
        run: Callable[[calls.Task], Table],
        tasks: Iterator[calls.Task],
        least: int,
    ) -> Iterator[Table]:
        """The tables of the tasks that are begun in time; each process has one at a time."""

        def begin(number: int, task: calls.Task) -> Table | None:
            # One task of each input is begun whatever the time: a draw without an outcome says
            # nothing.
            left = self._last() - time.monotonic()  # it may have waited for a process
            if number >= least and left < 0.0:
                return None
            return run(task._replace(budget=max(left, 0.0)))

        waiting: deque[Future[Table | None]] = deque()
        for number, task in enumerate(self._in_time(tasks, least)):
            waiting.append(pool.submit(begin, number, task))
            # A task waits for each process beside the one at work, and no more of them are in
            # memory.
            if len(waiting) > 2 * len(self._pool):
                found = waiting.popleft().result()
                if found is None:
                    break
                yield found
        for one in waiting:
            found = one.result()
            if found is None:
                break
            yield found

    def draw(self, data: Any, trials: int, stream: tuple[int, ...]) -> Table:
        """The outcomes of trials, as ``blocks``, in one table."""
        (found,) = self.draw_each([(data, stream)], trials)
        return found

    def draw_each(self, inputs: Sequence[tuple[Any, tuple[int, ...]]], trials: int) -> list[Table]:
        """As ``by_turns``, in one table for each input."""
        began = time.monotonic()
        found = [together(tables) for tables in self.by_turns(inputs, trials)]
        self._timed(sum(map(len, found)), began)  # which takes longer than to draw them
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
        found = self._patiently(lambda: self._drawn(inputs, trials), [data for data, _ in inputs])
        self._timed(sum(map(len, found)), began)
        found = [one.with_bits() for one in found] if self.bits else found
        return [found[place :: len(inputs)] for place in range(len(inputs))]

    def _run(self, run: Callable[[calls.Task], Table], task: calls.Task) -> Table:
        """The table of a task.

        All rows of a call are lost together where it does not answer. Where others did, what held
        it up may be the machine: it is made once more, with the same randomness.
        """
        found = run(task)
        limit, many = self.call_seconds, self.function.kind in ("vectorised", "jax")
        if not (many and limit is not None and self._answered and self._chances):
            return found
        if not _unanswered(found) or time.monotonic() + limit > self._last():
            return found
        again = run(task)
        self._chances -= _unanswered(again)
        return again

    def _counted(self, tables: Iterable[Table]) -> list[Table]:
        """The tables, which advance the progress as they come."""
        found: list[Table] = []
        for one in tables:
            self._advance(len(one))
            found.append(one)
        return found

    def _drawn(self, inputs: Sequence[tuple[Any, tuple[int, ...]]], trials: int) -> list[Table]:
        # Made one by one, as they are needed: there may be more of them than fit in memory.
        size = _BLOCK[self.function.kind]
        limit = self.call_seconds if self._row < math.inf else None
        if self.function.kind == "vectorised" and limit is not None:
            while size > 1 and size * self._row > limit / _SHORT:
                size //= 2
            self.shortened = self.shortened or size < min(_BLOCK["vectorised"], trials)
        tasks = (
            self._task(data, min(size, trials - first), stream, block)
            for block, first in enumerate(range(0, trials, size))
            for data, stream in inputs
        )
        if not self._pool:
            every = self._in_time(tasks, len(inputs))
            here = functools.partial(calls.run, self.function)
            return self._counted(self._run(here, task) for task in every)
        idle = list(self._pool)
        lock = threading.Lock()

        def run(task: calls.Task) -> Table:
            with lock:
                worker = idle.pop()
            try:
                return self._run(worker.run, task)
            finally:
                with lock:
                    idle.append(worker)

        with ThreadPoolExecutor(len(self._pool)) as pool:
            try:
                return self._counted(self._in_order(pool, run, tasks, len(inputs)))
            except BaseException:
                # Its threads wait for processes, which may never answer: those end first.
                for worker in self._pool:
                    worker.stop()
                raise
