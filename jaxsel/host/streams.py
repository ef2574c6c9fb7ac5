"""What others print while they are called goes to the standard error, and disturbs no answer."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def output_to_errors() -> Iterator[None]:
    """Redirects what the body prints on standard output to standard error, by whatever means."""
    _flush()
    output = None
    with contextlib.suppress(OSError):  # where one of the two is closed
        output = _copy(1)
        os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush()
        if output is not None:
            os.dup2(output, 1)
            os.close(output)


def _copy(descriptor: int) -> int:
    """A copy with a number above 2: one of the standard streams, where it is closed, would be
    taken for it, and the body might close it once more."""
    copies = [os.dup(descriptor)]
    while copies[-1] <= 2:
        copies.append(os.dup(descriptor))
    for copy in copies[:-1]:
        os.close(copy)
    return copies[-1]


def _flush() -> None:
    """Writes what Python keeps for the standard output to where it goes now."""
    for stream in (sys.stdout, sys.__stdout__):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()  # type: ignore[union-attr]
