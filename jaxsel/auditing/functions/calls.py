"""Calls of an audited function: whatever a call does is an outcome, and none ends the audit."""

import contextlib
import functools
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxsel.auditing.functions.audited_function import Function
from jaxsel.auditing.functions.outcomes import Table, table
from jaxsel.host.errors import InputError, check_positive
from jaxsel.host.streams import output_to_errors

NO_ANSWER = "no answer within the limit"
KILLED = "the call ended its process"
ALL_ROWS = -1  # the number of a vectorised call for all rows, in place of a trial's
READING = -3  # the same, where all calls have answered, and outcomes are read
_AGAIN = 0.05  # seconds until a call that goes on after its limit is interrupted again
# So many single rows are asked of a vectorised function whose call ended its process: each
# that does so again costs a new process.
_SINGLES = 64
_LONGEST = 1e8  # seconds of a limit of time


def time_limit(name: str, seconds: float | None) -> float | None:
    """A limit of time that a timer can keep; None for none.

    Raises:
      InputError: unless it is None, or finite and above 0.
    """
    return None if seconds is None else min(check_positive(name, seconds), _LONGEST)


class Did(str):
    """What a call did instead of answering, in words."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _TimeUp(BaseException):
    pass


@contextlib.contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Raises _TimeUp in the body after so many seconds, in a main thread on POSIX.

    A body that swallows it is interrupted again; one that always does so, or that turns off the
    signal, goes on.
    """
    usable = hasattr(signal, "setitimer") and (
        threading.current_thread() is threading.main_thread()
    )
    if seconds is None or not usable:
        yield
        return

    stopped = False

    def stop(number: int, frame: Any) -> None:
        nonlocal stopped
        # What has left the body is on its way, and is not interrupted on it.
        ours = frame is None or frame.f_code.co_filename in (__file__, contextlib.__file__)
        if not (stopped and ours):
            stopped = True
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _keyboard() -> Iterator[Callable[[], bool]]:
    """Whether it is the keyboard that has interrupted the body, which may raise the same."""
    heard: list[int] = []

    def hear(number: int, frame: Any) -> None:
        try:
            before(number, frame)
        except BaseException:
            heard.append(number)
            raise

    before: Any = signal.getsignal(signal.SIGINT)
    usable = callable(before) and threading.current_thread() is threading.main_thread()
    if usable:
        signal.signal(signal.SIGINT, hear)
    try:
        yield lambda: bool(heard)
    finally:
        if usable:
            signal.signal(signal.SIGINT, before)


def _answer(
    call: Callable[[], Any],
    seconds: float | None,
    heard: Callable[[], bool],
    refused: tuple[type[BaseException], ...] = (),
    least: float = 0.0,
) -> Any:
    """What a call returns, or what it did instead.

    Args:
      call: the function with its arguments.
      seconds: its time limit.
      heard: whether the keyboard has interrupted it, and not itself.
      refused: what it may raise that is no outcome.
      least: the least that a time limit is.
    """
    process = os.getpid()
    try:
        with _limited(None if seconds is None else max(seconds, least)):
            return call()
    except _TimeUp:
        return Did(NO_ANSWER)
    except BaseException as error:  # the end of an interpreter, too, is what a call may ask for
        if isinstance(error, refused) or (isinstance(error, KeyboardInterrupt) and heard()):
            raise
        return Did(f"raised {type(error).__name__}")
    finally:
        if os.getpid() != process:  # a copy of this process, which the call has forked
            os._exit(0)


class Task(NamedTuple):
    """Trials to make.

    Attributes:
      data: the input of the function.
      settings: its other parameters, by name.
      trials: the number of outcomes.
      entropy: what distinguishes these trials from all others; NumPy's SeedSequence.
      seconds: time limit of a call; a call of a vectorised function answers for many trials.
      budget: no call is begun after so many seconds, but the first; fewer outcomes come back.
    """

    data: Any
    settings: Mapping[str, Any]
    trials: int
    entropy: tuple[int, ...]
    seconds: float | None = None
    budget: float = math.inf


class Unwatched:
    """What is told of calls where none can end the process that asks for them."""

    def begin(self, trial: int) -> None:
        """Notes that a trial's call begins."""

    def keep(self, trial: int, outcome: Any) -> None:
        """Keeps the outcome of a trial, so that the trial need not be made again."""


def programs_of(function: Function) -> Any:
    """The compiled programs of a function of keys, which last as long as the record does."""
    # Functions of NumPy are called without JAX, which takes a second to import.
    from jaxsel.auditing.functions.programs import Programs

    return function.kept.setdefault("programs", Programs(function.name, function.call))


def run(
    function: Function,
    task: Task,
    known: Mapping[int, Any] | None = None,
    watcher: Unwatched | None = None,
) -> Table:
    """The outcomes of a task; what its calls print goes to the standard error.

    Args:
      function: what is called.
      task: the trials to make.
      known: outcomes by the number of the trial, where a call has ended the process: none of
        these trials is made again, or those that end the process would be too many.
      watcher: is told of each call before and after.

    Raises:
      InputError: if a vectorised function does not return one outcome for each trial.
    """
    known, watcher = known or {}, watcher or Unwatched()
    with output_to_errors(), _keyboard() as heard:
        answer = functools.partial(_answer, seconds=task.seconds, heard=heard)
        if function.kind == "jax":
            return _traced(function, task, answer)
        generator = np.random.default_rng(np.random.SeedSequence([*task.entropy, len(known)]))
        if function.kind == "vectorised":
            return _vectorised(function, task, generator, known, watcher, answer)
        leading = (generator, task.data) if function.kind == "generator" else (task.data,)
        call = functools.partial(function.call, *leading, **task.settings)
        ask = functools.partial(answer, call)
        return _one_by_one(ask, task.trials, task.budget, known, watcher)


def _traced(function: Function, task: Task, answer: Callable[..., Any]) -> Table:
    """The outcomes of a function of keys; what its trace does instead is that of all rows."""
    from jaxsel.auditing.functions.programs import InsteadError

    def ask(call: Callable[[], Any], **options: Any) -> Any:
        found = answer(call, **options)
        if isinstance(found, Did):
            raise InsteadError(found)
        return found

    rows = programs_of(function).rows
    try:
        return table(rows(task.data, task.settings, task.entropy, task.trials, ask))
    except InsteadError as error:
        return table([error.did] * task.trials)


def _one_by_one(
    ask: Callable[[], Any], trials: int, budget: float, known: Mapping[int, Any], watcher: Unwatched
) -> Table:
    """The outcomes of so many trials that are asked for singly; fewer if the budget is spent."""
    outcomes: list[Any] = []
    end = time.monotonic() + budget
    for trial in range(trials):
        if trial in known:
            outcomes.append(known[trial])
            continue
        if trial and time.monotonic() > end:
            break
        watcher.begin(trial)
        outcomes.append(ask())
        watcher.keep(trial, outcomes[-1])
    watcher.begin(READING)
    return table(outcomes)


def _vectorised(
    function: Function,
    task: Task,
    generator: np.random.Generator,
    known: Mapping[int, Any],
    watcher: Unwatched,
    answer: Callable[[Callable[[], Any]], Any],
) -> Table:
    def ask(rows: int) -> Any:
        call = functools.partial(function.call, generator, task.data, rows, **task.settings)
        found = answer(call)
        if isinstance(found, Did):
            return found
        watcher.begin(READING)
        listed = _listed(found)
        if len(listed) != rows:
            shape = getattr(found, "shape", None)
            raise InputError(
                f"{function.name}(rng, data, n={rows}) returned {type(found).__name__}"
                f"{f' of shape {shape}' if shape is not None else ''}; it must return n outcomes"
            )
        return listed

    trials = task.trials
    if ALL_ROWS not in known:
        watcher.begin(ALL_ROWS)
        found = ask(trials)
        if not isinstance(found, Did):
            return table(found)
        if str(found) == NO_ANSWER:
            return table([found] * trials)

    # Rows of a call that failed as a whole would not be independent: each is asked alone.
    def ask_one() -> Any:
        found = ask(1)
        return found if isinstance(found, Did) else found[0]

    rows = min(trials, _SINGLES) if ALL_ROWS in known else trials
    return _one_by_one(ask_one, rows, task.budget, known, watcher)


def _listed(found: Any) -> Any:
    """What a vectorised function returned, as an array or a list; nothing if it is neither."""
    try:
        if not hasattr(found, "__array__"):
            return list(found)
        array = np.asarray(found)
    except Exception:  # of whatever class of a stranger's
        return []
    return array if array.ndim else []
