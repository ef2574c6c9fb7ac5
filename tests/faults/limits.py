"""A time limit for each test and claim, so that one that never ends is known by name.

This is a plugin of pytest (``-p tests.faults.limits``), and a context for claims.
"""

import faulthandler
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

SECONDS = "FAULTS_SECONDS"
"""Environment variable with the limit of one test or claim, in seconds."""
ASKED = "ASKED "
OVER = "Timeout ("
"""Beginnings of lines on standard error: which check begins, and that one takes too long."""

# Duplicated before pytest replaces standard error by a file of its own.
_ERRORS = os.dup(2)


@contextmanager
def limited(name: str) -> Iterator[None]:
    """Ends the process if the body of the context takes too long.

    This is done by a thread that needs no interpreter, so that a loop in compiled code ends,
    too.
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
    """Limits one test, including its fixtures."""
    with limited(item.nodeid):
        return (yield)
