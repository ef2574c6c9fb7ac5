"""Calls of an audited function: whatever a call does is an outcome, and none ends the audit."""

import contextlib
import functools
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxsel.auditing.functions.outcomes import Table, table
from jaxsel.auditing.functions.subject import Function
from jaxsel.host.errors import InputError

NO_ANSWER = "no answer within the limit"
KILLED = "the call ended its process"
ALL_ROWS = -1  # the number of a vectorised call for all rows, in place of a trial's
# So many single rows are asked of a vectorised function whose call ended its process: each
# that does so again costs a new process.
_SINGLES = 64


class Did(str):
    """What a call did instead of answering, in words."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _TimeUp(BaseException):
    pass


@contextlib.contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Raises _TimeUp in the body after so many seconds, in a main thread on POSIX."""
    usable = hasattr(signal, "setitimer") and (
        threading.current_thread() is threading.main_thread()
    )
    if seconds is None or not usable:
        yield
        return

    def stop(*_: object) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _answer(call: Callable[[], Any], seconds: float | None) -> Any:
    try:
        with _limited(seconds):
            return call()
    except _TimeUp:
        return Did(NO_ANSWER)
    except Exception as error:
        return Did(f"raised {type(error).__name__}")


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


def run(
    function: Function,
    task: Task,
    known: Mapping[int, Any] | None = None,
    watcher: Unwatched | None = None,
) -> Table:
    """The outcomes of a task.

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
    if function.kind == "jax":
        return table(_of_keys(function, task))
    generator = np.random.default_rng(np.random.SeedSequence([*task.entropy, len(known)]))
    if function.kind == "vectorised":
        return _vectorised(function, task, generator, known, watcher)
    leading = (generator, task.data) if function.kind == "generator" else (task.data,)
    call = functools.partial(function.call, *leading, **task.settings)
    ask = functools.partial(_answer, call, task.seconds)
    return _one_by_one(ask, task.trials, task.budget, known, watcher)


def _one_by_one(
    ask: Callable[[], Any], trials: int, budget: float, known: Mapping[int, Any], watcher: Unwatched
) -> Table:
    """The outcomes of so many trials that are asked for singly; fewer if the budget is spent."""
    outcomes: list[Any] = []
    end = time.monotonic() + budget
    for trial in range(trials):
        if trial and time.monotonic() > end:
            break
        if trial in known:
            outcomes.append(known[trial])
            continue
        watcher.begin(trial)
        outcomes.append(ask())
        watcher.keep(trial, outcomes[-1])
    return table(outcomes)


def _vectorised(
    function: Function,
    task: Task,
    generator: np.random.Generator,
    known: Mapping[int, Any],
    watcher: Unwatched,
) -> Table:
    def ask(rows: int) -> Any:
        call = functools.partial(function.call, generator, task.data, rows, **task.settings)
        found = _answer(call, task.seconds)
        if isinstance(found, Did):
            return found
        if not hasattr(found, "__len__") or np.ndim(found) == 0 or len(found) != rows:
            shape = getattr(found, "shape", None)
            raise InputError(
                f"{function.name}(rng, data, n={rows}) returned {type(found).__name__}"
                f"{f' of shape {shape}' if shape is not None else ''}; it must return n outcomes"
            )
        return found

    trials = task.trials
    if ALL_ROWS not in known:
        watcher.begin(ALL_ROWS)
        found = ask(trials)
        if not isinstance(found, Did):
            return table(found if isinstance(found, np.ndarray) else list(found))
        if str(found) == NO_ANSWER:
            return table([found] * trials)

    # Rows of a call that failed as a whole would not be independent: each is asked alone.
    def ask_one() -> Any:
        found = ask(1)
        return found if isinstance(found, Did) else found[0]

    rows = min(trials, _SINGLES) if ALL_ROWS in known else trials
    return _one_by_one(ask_one, rows, task.budget, known, watcher)


def _of_keys(function: Function, task: Task) -> Any:
    import jax

    word = np.random.SeedSequence(task.entropy).generate_state(2)
    key = jax.random.fold_in(jax.random.key(int(word[0])), int(word[1]))
    given = np.asarray(task.data) if isinstance(task.data, list | tuple) else task.data

    def one(each: Any) -> Any:
        return function.call(each, given, **task.settings)

    try:
        found = jax.jit(jax.vmap(one))(jax.random.split(key, task.trials))
    except Exception as error:
        raise InputError(
            f"{function.name}(key, data) cannot be vmapped and jitted: "
            f"{type(error).__name__}: {str(error).splitlines()[0]}"
        ) from error
    leaves, structure = jax.tree.flatten(found)
    arrays = [np.asarray(leaf) for leaf in leaves]
    if len(arrays) == 1 and isinstance(found, jax.Array):
        return arrays[0]
    rows = zip(*(array.tolist() for array in arrays), strict=True)
    return [jax.tree.unflatten(structure, row) for row in rows]
