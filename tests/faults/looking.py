"""Who sees a planted fault: its claims and its tests, each asked for themselves."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults.planting import Fault, planted

_SECONDS = 600


class Answer(NamedTuple):
    """What claims, or tests, say of a tree.

    Attributes:
      noticed: the first claim that is not as expected, or the first test that fails, by
        name; "" if all is as it should be.
      trouble: why nothing can be said: a crash, an id that does not exist, or no answer
        within the time; "" otherwise.
    """

    noticed: str = ""
    trouble: str = ""


class Seen(NamedTuple):
    """What became of one fault.

    Attributes:
      fault: what was planted.
      claims: what its claims say; None if it names none.
      tests: what its tests say; None if it names none.
    """

    fault: Fault
    claims: Answer | None
    tests: Answer | None

    @property
    def seen(self) -> bool:
        """True if a claim or a test noticed."""
        return any(one.noticed for one in (self.claims, self.tests) if one)

    @property
    def broken(self) -> str:
        """Why the fault judges nobody, though nobody noticed; "" if it judges.

        A crash is no judgement: what cannot run is seen by whoever runs it, not by a check.
        """
        troubles = [one.trouble for one in (self.claims, self.tests) if one]
        return "" if self.seen else "; ".join(filter(None, troubles))

    @property
    def by(self) -> str:
        """Who noticed, in words."""
        asked = (("claim", self.claims), ("test", self.tests))
        words = [f"{kind} {one.noticed}" for kind, one in asked if one and one.noticed]
        if not words and self.broken:
            words = [f"broken: {self.broken}"]
        return " and ".join(words) or "nobody"


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


def claims_say(folder: Path, claims: Sequence[str]) -> Answer:
    """Puts claims to the test in that tree."""
    try:
        done = _run(folder, "-m", "tests.faults.asking", *claims)
    except subprocess.TimeoutExpired:
        return Answer(trouble=f"validate: nothing within {_SECONDS} s")
    try:
        found = json.loads(_last_line(done.stdout))
    except ValueError:
        return Answer(trouble=f"validate: {_last_line(done.stderr or done.stdout)}")
    if found["unexpected"] is not None:
        return Answer(found["unexpected"])
    if found["crashes"]:
        return Answer(trouble=f"{found['crashes'][0]}: {_last_line(done.stderr)}")
    return Answer()


def tests_say(folder: Path, tests: Sequence[str]) -> Answer:
    """Runs tests in that tree."""
    command = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    try:
        done = _run(folder, *command)
    except subprocess.TimeoutExpired:
        return Answer(trouble=f"tests: nothing within {_SECONDS} s")
    if done.returncode == 0:
        return Answer()
    words = [line.split(" ", 2) for line in done.stdout.splitlines()]
    failed = [word[1] for word in words if word[0] in ("FAILED", "ERROR")]
    # 1: tests ran and some failed. All else is a crash or a name that is not there.
    if done.returncode == 1 and failed:
        return Answer(failed[0])
    return Answer(trouble=f"tests: {_last_line(done.stderr or done.stdout)}")


def look(fault: Fault, folder: Path) -> Seen:
    """Plants the fault in that tree, and asks its claims, and its tests."""
    with planted(fault, folder):
        claims = claims_say(folder, fault.claims) if fault.claims else None
        tests = tests_say(folder, fault.tests) if fault.tests else None
    return Seen(fault, claims, tests)
