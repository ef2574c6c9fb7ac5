"""A progress bar with rate and time left, shown on a terminal after two seconds.

Elsewhere one line says how long the work will take, if that is long.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

_PATIENCE_SECONDS = 2.0
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
    )
    task = bar.add_task(unit, total=total, completed=done, rate="")
    started = time.monotonic()
    current = 0
    live = False

    def advance(trials: int) -> None:
        nonlocal current, live
        current += trials
        elapsed = time.monotonic() - started
        if not live and elapsed > _PATIENCE_SECONDS:
            bar.start()
            live = True
        rate = f"{current / max(elapsed, 1e-9):.3g} {unit}/s"
        bar.update(task, advance=trials, rate=rate)

    try:
        yield advance
    finally:
        if live:
            bar.stop()


@contextlib.contextmanager
def signs_of_life() -> Iterator[None]:
    """Says now and then that a command is at work, where standard error is no terminal.

    Every quarter of a minute at first, and from one minute on each time as long again, so that a
    log of a long run stays short.
    """
    if sys.stderr.isatty():  # there a spinner or a bar shows it
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
    sys.stderr.write(f"jaxsel: {text}\n")
    sys.stderr.flush()


def duration(seconds: float) -> str:
    """A length of time for people: "3 hours"."""
    for name, size in _UNITS:
        if seconds >= 2.0 * size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds:.3g} seconds"


@contextlib.contextmanager
def spinner(what: str, wanted: bool | None = None) -> Iterator[None]:
    """Shows a spinner with the elapsed time for work whose length is not known.

    Args:
      what: a description of the work, such as "proving bounds".
      wanted: None shows it only if standard error is a terminal; False never.
    """
    show = sys.stderr.isatty() if wanted is None else wanted
    if not show:
        yield
        return

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    line = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True, force_terminal=wanted),
        transient=True,
    )
    line.add_task(what, total=None)

    def show_late(ended: threading.Event) -> None:
        if not ended.wait(_PATIENCE_SECONDS):
            with line:
                ended.wait()

    with _meanwhile(show_late):
        yield
