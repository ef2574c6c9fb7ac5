"""A progress bar with rate and time left, shown on a terminal after two seconds."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

_PATIENCE_SECONDS = 2.0


@contextlib.contextmanager
def progress_bar(
    total: int | None, done: int, wanted: bool | None, *, unit: str = "trials"
) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar; yields a function that advances it by a number of units.

    Args:
      total, done: units of the whole run, None if they are not known or are a secret; and those
        done before this call.
      unit: the name of what is counted.
      wanted: None shows the bar only if standard error is a terminal; False never.
    """
    show = sys.stderr.isatty() if wanted is None else wanted
    if not show:
        yield lambda trials: None
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
    ended = threading.Event()

    def show_late() -> None:
        if not ended.wait(_PATIENCE_SECONDS):
            with line:
                ended.wait()

    thread = threading.Thread(target=show_late, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
