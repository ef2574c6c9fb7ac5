"""Who notices a planted fault: its claims and its tests, asked separately."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.faults.limits import ASKED, OVER, SECONDS
from tests.faults.planting import Fault, planted
from tests.faults.reaching import REACHED

# Time limits: of one test or claim, about ten times what the slowest takes on a busy machine,
# and of all checks of one fault.
_SECONDS_EACH = 300
_SECONDS = 1800


class Answer(NamedTuple):
    """The result of checking a tree by claims or by tests.

    Attributes:
      noticed: the first claim that is not as expected, or the first test that fails or does
        not end, by name; "" if there is none.
      trouble: why there is no result: a crash, an id that does not exist, or the time limit
        of all checks; "" otherwise.
      endless: whether the check in ``noticed`` did not end within its time limit, which is
        ample.
    """

    noticed: str = ""
    trouble: str = ""
    endless: bool = False


class Seen(NamedTuple):
    """The results for one fault.

    Attributes:
      fault: the planted fault.
      claims: result of its claims; None if it names none.
      tests: result of its tests; None if it names none.
      seconds: processor time that the checks took; with several jobs, of all together.
    """

    fault: Fault
    claims: Answer | None
    tests: Answer | None
    seconds: float = 0.0

    @property
    def seen(self) -> bool:
        """Whether a claim or a test noticed the fault."""
        return any(one.noticed for one in (self.claims, self.tests) if one)

    @property
    def broken(self) -> str:
        """The reason why no check could judge the fault; "" if one noticed it or all could.

        A crash is no judgement: code that cannot run is noticed by whoever runs it, not by a
        check.
        """
        troubles = [one.trouble for one in (self.claims, self.tests) if one]
        return "" if self.seen else "; ".join(filter(None, troubles))

    @property
    def by(self) -> str:
        """Who noticed the fault, as text."""
        asked = (("claim", self.claims), ("test", self.tests))
        words = [
            f"{kind} {one.noticed}{', which does not end' if one.endless else ''}"
            for kind, one in asked
            if one and one.noticed
        ]
        if not words and self.broken:
            words = [f"broken: {self.broken}"]
        return " and ".join(words) or "nobody"


class _Said(NamedTuple):
    """Output and exit status of a command; the status is None if its time was over."""

    status: int | None
    output: str
    errors: str

    @property
    def endless(self) -> str:
        """The name of the test or claim that did not end within its time; "" if there is none."""
        lines = self.errors.splitlines()
        over = [place for place, line in enumerate(lines) if line.startswith(OVER)]
        asked = [line for line in lines[: over[0]] if line.startswith(ASKED)] if over else []
        return asked[-1].removeprefix(ASKED) if asked else ""

    @property
    def last_line(self) -> str:
        """The last line of its output."""
        lines = [*self.output.splitlines(), *self.errors.splitlines()]
        own = [line for line in lines if line.strip() and not line.startswith(ASKED)]
        return own[-1] if own else "no output"


def _run(folder: Path, *command: str, **variables: str) -> _Said:
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"} | variables
    # Stored bytecode would be reused for a file that was changed within a second to the same size.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment[SECONDS] = str(_SECONDS_EACH)
    # Files are used because a process that a test started may outlive it and keep a pipe open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            status = process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said = []
        for file in (output, errors):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    return _Said(status, *said)


def claims_say(folder: Path, claims: Sequence[str]) -> Answer:
    """Validates claims in that tree."""
    said = _run(folder, "-m", "tests.faults.asking", *claims)
    if said.endless:
        return Answer(said.endless, endless=True)
    if said.status is None:
        return Answer(trouble=f"validate: nothing within {_SECONDS} s")
    try:
        found = json.loads(said.output.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return Answer(trouble=f"validate: {said.last_line}")
    if found["unexpected"] is not None:
        return Answer(found["unexpected"])
    if found["crashes"]:
        return Answer(trouble=f"{found['crashes'][0]}: {said.last_line}")
    return Answer()


def tests_say(folder: Path, tests: Sequence[str]) -> Answer:
    """Runs tests in that tree, in their order."""
    return _judged(_run(folder, *_PYTEST, *tests))


def tests_reach(folder: Path, tests: Sequence[str], kept: Path) -> Answer:
    """Runs tests in that tree, and keeps in a file which functions each of them ran."""
    variables = {REACHED: str(kept)}
    return _judged(_run(folder, *_PYTEST, "-p", "tests.faults.reaching", *tests, **variables))


_PYTEST = (*("-m", "pytest", "-x", "-q"), *("-p", "no:cacheprovider", "-p", "tests.faults.limits"))


def _judged(said: _Said) -> Answer:
    if said.endless:
        return Answer(said.endless, endless=True)
    if said.status is None:
        return Answer(trouble=f"tests: nothing within {_SECONDS} s")
    if said.status == 0:
        return Answer()
    told = [line.partition(" ") for line in said.output.splitlines()]
    # The name may have spaces; pytest writes " - " between it and the message.
    failed = [rest.split(" - ")[0] for mark, _, rest in told if mark in ("FAILED", "ERROR")]
    # Status 1: tests ran and some failed. Others mean a crash or a name that does not exist.
    if said.status == 1 and failed:
        return Answer(failed[0])
    return Answer(trouble=f"tests: {said.last_line}")


def look(fault: Fault, folder: Path) -> Seen:
    """Plants the fault in that tree, and checks the tree by its claims and by its tests."""
    began = _processor_time()
    with planted(fault, folder):
        claims = claims_say(folder, fault.claims) if fault.claims else None
        tests = tests_say(folder, fault.tests) if fault.tests else None
    return Seen(fault, claims, tests, _processor_time() - began)


def _processor_time() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
