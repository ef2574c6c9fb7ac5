"""Which functions each test runs, and how long it takes: a plugin (``-p tests.faults.reaching``).

A line of JSON each is written: ``[test, seconds]`` when a test has ended, and
``[test, file, line]`` when a function of the package that begins there runs in it for the first
time, in a thread or a forked process, too. Other processes that a test starts are not followed.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from tests import selecting

REACHED = "FAULTS_REACHED"
"""Environment variable with the file to which the lines are appended."""

_FOLDER = os.path.join(os.getcwd(), "jaxsel", "")
_seen: set[CodeType] = set()
_test = ""


def _write(*said: Any) -> None:
    # Whole lines are appended at once: forked processes write to the same file.
    place = os.open(os.environ[REACHED], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(place, f"{json.dumps(said)}\n".encode())
    finally:
        os.close(place)


def _note(frame: FrameType, _event: str, _given: Any) -> None:
    code = frame.f_code
    if code not in _seen:
        _seen.add(code)
        if code.co_filename.startswith(_FOLDER):
            file = os.path.join("jaxsel", code.co_filename.removeprefix(_FOLDER))
            _write(_test, file, code.co_firstlineno)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Follows one test, including its fixtures."""
    global _test
    _seen.clear()
    _test = item.nodeid
    began = time.process_time() + sum(os.times()[2:4])
    sys.settrace(_note)
    threading.settrace(_note)
    try:
        result = yield
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    _write(_test, round(time.process_time() + sum(os.times()[2:4]) - began, 3))
    return result


class Reached(NamedTuple):
    """What the tests of a room ran.

    Attributes:
      seconds: of each test.
      tests: where a function begins, as file and line -> the tests that run it.
    """

    seconds: dict[str, float]
    tests: dict[tuple[str, int], set[str]]

    def asked(self, file: str, lines: tuple[int, int], most: float) -> list[str]:
        """The tests to ask about a function, cheapest first, and file by file.

        First those that run it, then those of files that import its module: these may do so in
        processes of their own. Where there are none, all that can reach it.

        Args:
          file: of the function, from the root.
          lines: its first and last line.
          most: seconds that the tests may take together, without the fault.
        """
        running: set[str] = set()
        for place in range(lines[0], lines[1] + 1):
            running |= self.tests.get((file, place), set())
        of_module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        near = {test for test in self.seconds if of_module in _imports(test.partition("::")[0])}
        if not running | near:
            chosen = selecting.select([file])
            near = {test for test in self.seconds if chosen.holds(test.partition("::")[0])}
        kept: list[str] = []
        left = most
        for found in (running, near - running):
            by_file: dict[str, list[str]] = {}
            for test in sorted(found, key=lambda test: (self.seconds[test], test)):
                by_file.setdefault(test.partition("::")[0], []).append(test)
            cheapest = sorted(by_file.values(), key=lambda some: sum(map(self.seconds.get, some)))
            for test in (test for tests in cheapest for test in tests):
                if self.seconds[test] <= left or not kept:
                    left -= self.seconds[test]
                    kept.append(test)
        return kept


def _imports(test: str) -> frozenset[str]:
    """The modules that a file of tests imports itself."""
    name = test.removesuffix(".py").replace("/", ".")
    return selecting.module(name).imports if (selecting.ROOT / test).exists() else frozenset()


def read(path: Path) -> Reached:
    """What the plugin has written."""
    found = Reached({}, {})
    for line in path.read_text(encoding="utf-8").splitlines():
        test, *said = json.loads(line)
        if len(said) == 1:
            found.seconds[test] = said[0]
        else:
            found.tests.setdefault((said[0], said[1]), set()).add(test)
    return found
