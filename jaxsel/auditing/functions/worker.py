"""A process that calls an audited function for another: python -m ...worker FILE NAME KIND.

It imports the file under a name of its own, so that a script does not begin again, reads
pickled tasks from its standard input and writes pickled tables. What the function prints
goes to the standard error.
"""

import mmap
import os
import pickle
import struct
import sys

from jaxsel.auditing.functions.calls import run
from jaxsel.auditing.functions.subject import Function, imported
from jaxsel.host.errors import InputError


def main(arguments: list[str]) -> None:
    """Answers tasks until the standard input ends."""
    file, name, kind, progress_file = arguments
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(progress_file, "r+b") as opened:
        noted = mmap.mmap(opened.fileno(), 8)

    def progress(trial: int) -> None:
        noted[:] = struct.pack("q", trial)

    def say(answer: object) -> None:
        pickle.dump(answer, answers)
        answers.flush()

    try:
        function = Function(name, kind, imported(file, name), None)
    except InputError as error:
        say(error)
        return
    say(None)
    while True:
        try:
            task, known = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: object = run(function, task, known, progress)
        except InputError as error:
            answer = error
        say(answer)


if __name__ == "__main__":
    main(sys.argv[1:])
