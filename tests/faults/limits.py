"""A time limit for each test and claim that is asked, so that what never ends has a name.

A plugin of pytest (``-p tests.faults.limits``), and a context for claims.
"""

import faulthandler
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

SECONDS = "FAULTS_SECONDS"
"""Environment variable: the limit of one test or claim."""
ASKED = "ASKED "
OVER = "Timeout ("
"""Begin the lines of standard error that say what is asked, and that it takes too long."""

# Before pytest puts its own files in the place of these.
_ERRORS = os.dup(2)


@contextmanager
def limited(name: str) -> Iterator[None]:
    """Ends the process where what is in the context takes too long.

    By a thread that needs no interpreter: a loop within compiled code ends, too.
    """
    os.write(_ERRORS, f"{ASKED}{name}\n".encode())
    seconds = float(os.environ[SECONDS])
    faulthandler.dump_traceback_later(seconds, exit=True, file=_ERRORS)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """One test, with all that is set up for it."""
    with limited(item.nodeid):
        return (yield)
