"""Who sees a planted fault."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults.planting import Fault, planted

_SECONDS = 600
_BUDGET = ("--trials", "100000", "--cases", "60")


class Seen(NamedTuple):
    """What became of one fault.

    Attributes:
      fault: what was planted.
      claims: ids of the claims that were not as expected.
      tests: the tests that failed, or were not tried since a claim saw the fault.
      trouble: what went wrong otherwise: a crash, or nothing within the time.
    """

    fault: Fault
    claims: tuple[str, ...]
    tests: tuple[str, ...]
    trouble: str

    @property
    def seen(self) -> bool:
        """True if a check noticed."""
        return bool(self.claims or self.tests or self.trouble)

    @property
    def by(self) -> str:
        """Who noticed, in words."""
        if self.claims:
            return f"claim {', '.join(self.claims)}"
        if self.tests:
            return f"test {self.tests[0]}"
        return self.trouble or "nobody"


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    # A file of the same size changed within a second looks unchanged to stored bytecode.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS,
    )  # fmt: skip


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no output"


def unexpected(folder: Path, claims: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The claims that are not as expected in that tree, and any trouble."""
    if not claims:
        return (), ""
    command = ("-m", "jaxsel", "validate", *claims, *_BUDGET, "--json")
    try:
        done = _run(folder, *command)
    except subprocess.TimeoutExpired:
        return (), f"validate: nothing within {_SECONDS} s"
    try:
        results = json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        return (), f"validate: {_last_line(done.stderr or done.stdout)}"
    return tuple(one["id"] for one in results if not one["as_expected"]), ""


def failing(folder: Path, tests: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The first of the tests to fail in that tree, and any trouble."""
    if not tests:
        return (), ""
    command = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    try:
        done = _run(folder, *command)
    except subprocess.TimeoutExpired:
        return (), f"tests: nothing within {_SECONDS} s"
    if done.returncode in (0, 1):
        lines = done.stdout.splitlines()
        words = [line.split(" ", 2) for line in lines]
        return tuple(w[1] for w in words if w[0] in ("FAILED", "ERROR")), ""
    return (), f"tests: {_last_line(done.stdout or done.stderr)}"


def look(fault: Fault, folder: Path) -> Seen:
    """Plants the fault in that tree, and asks its claims, then its tests."""
    with planted(fault, folder):
        claims, trouble = unexpected(folder, fault.claims)
        tests: tuple[str, ...] = ()
        if not claims and not trouble:
            tests, trouble = failing(folder, fault.tests)
    return Seen(fault, claims, tests, trouble)
