"""What a command is doing, shown on a terminal where it takes longer than 1.5 seconds.

A bar shows rate and time left where these are known, and a line says elsewhere what is being
done. They are written to the standard error, and to a terminal alone: into a file or a pipe goes
now and then a line that the command is at work, and one that says how long it will take, if that
is long.
"""

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

_PATIENCE_SECONDS = 1.5
_LOOK_SECONDS = 0.1  # between looks whether the line is due
_FIRST_SECONDS = 20.0  # a first call compiles: it is judged alone only where it is as long
_LIFE_SECONDS = 15.0  # between signs of life, at first
_LONG_SECONDS = 60.0  # what is left of work that is worth a line
_UNITS = (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60))


@contextlib.contextmanager
def progress_bar(
    total: int | None,
    done: int,
    wanted: bool | None,
    *,
    unit: str = "trials",
    limited: bool = False,
) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar; yields a function that advances it by a number of units.

    Args:
      total, done: units of the whole run, None if they are not known or are a secret; and those
        done before this call.
      unit: the name of what is counted.
      wanted: None shows the bar only if standard error is a terminal, and else says once how
        long the work will take, if that is long; False never says anything.
      limited: whether a limit of time ends the work, whatever its length.
    """
    show = sys.stderr.isatty() if wanted is None else wanted
    if not show:
        silent = wanted is False or limited or total is None
        yield (lambda trials: None) if silent else _Estimate((total or 0) - done, unit).advance
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        # What is printed goes where it belongs: rich would send it to the terminal.
        redirect_stdout=sys.stdout.isatty(),
    )
    task = bar.add_task(unit, total=total, completed=done, rate="")
    started = time.monotonic()
    current = 0
    live = contextlib.ExitStack()

    def advance(trials: int) -> None:
        nonlocal current
        current += trials
        elapsed = time.monotonic() - started
        if not bar.live.is_started and elapsed > _PATIENCE_SECONDS:
            live.enter_context(silence())
            live.enter_context(bar)
        rate = f"{current / max(elapsed, 1e-9):.3g} {unit}/s"
        bar.update(task, advance=trials, rate=rate)

    with live:
        yield advance


@contextlib.contextmanager
def signs_of_life(doing: str = "at work") -> Iterator[None]:
    """Says of a command that it is at work: on a terminal by a line, elsewhere now and then.

    Every quarter of a minute at first, and from one minute on each time as long again, so that a
    log of a long run stays short.

    Args:
      doing: what it does, for the line; parts of it may say more by ``spinner``.
    """
    if sys.stderr.isatty():
        with spinner(doing):
            yield
        return

    def say(ended: threading.Event) -> None:
        began, wait = time.monotonic(), _LIFE_SECONDS
        while not ended.wait(wait):
            since = time.monotonic() - began
            note(f"at work for {duration(since)}")
            wait = _LIFE_SECONDS if since < 4.0 * _LIFE_SECONDS else since

    with _meanwhile(say):
        yield


@contextlib.contextmanager
def _meanwhile(tell: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs ``tell`` beside the body, whose end sets the event that it is given."""
    ended = threading.Event()
    thread = threading.Thread(target=tell, args=(ended,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class _Estimate:
    """Says once, on the standard error, how long work will take of which a part is done."""

    def __init__(self, total: int, unit: str) -> None:
        self._total, self._unit, self._done = total, unit, 0
        self._first: tuple[int, float] | None = None
        self._began, self._said = time.monotonic(), False

    def advance(self, units: int) -> None:
        """Notes that so many units more are done."""
        if self._said:
            return
        self._done += units
        now = time.monotonic()
        if self._first is None:
            self._first = (self._done, now)
            if now - self._began < _FIRST_SECONDS:
                return
            rate = self._done / (now - self._began)
        else:
            done, then = self._first
            if now - self._began < _PATIENCE_SECONDS or now <= then:
                return
            rate = (self._done - done) / (now - then)
        self._said = True
        seconds = (self._total - self._done) / rate if rate else 0.0
        if seconds > _LONG_SECONDS:
            note(
                f"{self._total:g} {self._unit} will take about {duration(seconds)}, "
                f"at {rate:.3g} a second"
            )


def note(text: str) -> None:
    """Writes a line for people on the standard error."""
    make_room()
    sys.stderr.write(f"jaxsel: {text}\n")
    sys.stderr.flush()


def duration(seconds: float) -> str:
    """A length of time for people: "3 hours"."""
    for name, size in _UNITS:
        if seconds >= 2.0 * size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds:.3g} seconds"


@contextlib.contextmanager
def spinner(what: str, wanted: bool | None = None) -> Iterator[Callable[[str], None]]:
    """Shows what is being done, and for how long, while nothing else is written for a while.

    Within another one it says what its part is. Yields a function that says it in other words.

    Args:
      what: a description of the work, such as "proving bounds".
      wanted: None shows it only if standard error is a terminal; False never.
    """
    global _line
    show = sys.stderr.isatty() if wanted is None else wanted
    if not show:
        yield lambda words: None
        return
    if _line is not None:
        with _line.doing(what) as tell:
            yield tell
        return
    _line = _Line(wanted)
    try:
        with _line.doing(what) as tell, _meanwhile(_line.watch):
            yield tell
    finally:
        _line = None


class _Line:
    """The last line of the terminal, which says what is being done while nothing is written."""

    def __init__(self, forced: bool | None) -> None:
        self._forced = forced
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._doing: list[tuple[str, float]] = []
        self._written = time.monotonic()
        self._others = 0  # what else is on the terminal: a bar, a pager
        self._drawn: Any = None

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[Callable[[str], None]]:
        """Says this while the body runs."""
        began = time.monotonic()

        def tell(words: str) -> None:
            self._doing[place] = (words, began)
            self._say()

        place = len(self._doing)
        self._doing.append((what, began))
        self._say()
        try:
            yield tell
        finally:
            del self._doing[place:]
            self._say()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Is not shown while the body runs."""
        with self._lock:
            self._others += 1
            self.hide()
        try:
            yield
        finally:
            with self._lock:
                self._others -= 1
                self.hide()

    def hide(self) -> None:
        """Takes the line away until nothing was written for a while."""
        if os.getpid() != self._process:  # a copy of the process, which has no part in it
            return
        with self._lock:
            self._written = time.monotonic()
            if self._drawn is not None:
                self._drawn.stop()
                self._drawn = None

    def watch(self, ended: threading.Event) -> None:
        """Shows the line when it is due; runs in a thread of its own."""
        while not ended.wait(min(_LOOK_SECONDS, _PATIENCE_SECONDS)):
            with self._lock:
                late = time.monotonic() - self._written > _PATIENCE_SECONDS
                if late and not self._others and self._drawn is None and not ended.is_set():
                    self._show()
        self.hide()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._drawn = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True, force_terminal=self._forced),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._drawn.add_task("", total=None)
        self._say()
        self._drawn.start()

    def _say(self) -> None:
        with self._lock:
            if self._drawn is not None and self._doing:
                what, began = self._doing[-1]
                self._drawn.tasks[0].start_time = began
                self._drawn.update(self._drawn.task_ids[0], description=what)


_line: _Line | None = None


def make_room() -> None:
    """Takes the line that says what is being done away, since something else is written."""
    if _line is not None:
        _line.hide()
    elif multiprocessing.parent_process() is not None and sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")  # that of the process that started this one
        sys.stderr.flush()


def silence() -> contextlib.AbstractContextManager[None]:
    """A context in which that line is not shown: a bar or a pager has the terminal."""
    return contextlib.nullcontext() if _line is None else _line.silent()
