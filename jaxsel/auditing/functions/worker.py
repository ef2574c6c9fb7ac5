"""A process that calls an audited function for another: python -m ...worker FILE NAME KIND.

It imports the file under a name of its own, so that a script does not begin again, reads
pickled tasks from its standard input and writes pickled tables. What the function prints
goes to the standard error, and it reads nothing: neither its prints nor its processes can
disturb the answers.
"""

import mmap
import os
import pickle
import signal
import struct
import sys
from pathlib import Path
from typing import Any

from jaxsel.auditing.functions.audited_function import Function, imported_call
from jaxsel.auditing.functions.calls import Did, Unwatched, run
from jaxsel.auditing.functions.outcomes import read
from jaxsel.host.errors import InputError

_PLAIN = (bool, int, float, str, type(None), Did)


class _Watcher(Unwatched):
    """Writes down the trial that begins and the outcomes so far, which outlive the process."""

    def __init__(self, file: str) -> None:
        with open(file, "r+b") as opened:
            self._noted = mmap.mmap(opened.fileno(), 8)
        self._kept = open(Path(file).with_suffix(".kept"), "a+b", buffering=0)

    def begin(self, trial: int) -> None:
        self._noted[:] = struct.pack("q", trial)

    def keep(self, trial: int, outcome: Any) -> None:
        # Of a stranger's class only what a table has of it is kept: it may not be copied.
        kept = outcome if type(outcome) in _PLAIN else read(outcome)
        self._kept.write(pickle.dumps((trial, kept)))

    def forget(self) -> None:
        """Forgets the outcomes of the last task."""
        self._kept.truncate(0)


def main(arguments: list[str]) -> None:
    """Answers tasks until the standard input ends."""
    # The process that asks hears the keyboard, and ends this one when it has what is known.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kind, progress_file, file, name, *called = arguments
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if hasattr(os, "register_at_fork"):
        # A process that the function leaves behind would keep the answers open for ever.
        os.register_at_fork(after_in_child=answers.close)
    watcher = _Watcher(progress_file)

    def say(answer: object) -> None:
        pickle.dump(answer, answers)
        answers.flush()

    try:
        function = Function(name, kind, imported_call(file, name), None, {})
        for place in range(0, len(called), 2):
            imported_call(*called[place : place + 2])
    except InputError as error:
        say(error)
        return
    say(None)
    while True:
        try:
            task, known = pickle.load(tasks)
        except EOFError:
            return
        try:
            if not known:
                watcher.forget()
            answer: object = run(function, task, known, watcher)
        except InputError as error:
            answer = error
        except Exception as error:
            answer = InputError(f"what {name} returns cannot be read: {type(error).__name__}")
        say(answer)


if __name__ == "__main__":
    main(sys.argv[1:])
