"""``python -m tests.versions lowest|newest``: runs tests in a fresh environment.

This is for releases. "lowest" installs the lowest version of every dependency that
``pyproject.toml`` allows (and the newest of what these depend on), "newest" installs the
newest. Then the given tests run there, by default those that use every dependency. ``make
test-lowest``, ``make test-newest`` and ``make test-adapters`` call it, the last with extras.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Checkpoints, command line, records, laws, data, figures: all that depends on other packages.
TESTS = (
    "tests/training",
    "tests/search/test_sklearn.py",
    "tests/cli/test_cli.py",
    "tests/test_contract.py",
    "tests/host/test_progress_and_records.py",
    "tests/figures/test_making.py",
    "tests/data",
)
_BOUND = re.compile(r"^([A-Za-z0-9._-]+(?:\[[a-z0-9,]+\])?)>=([0-9][0-9.]*)(?:,<[0-9.]+)?$")


def requirements(which: str, project: dict, extras: Sequence[str] = ()) -> list[str]:
    """The packages for pip to install, which are all that is needed to run and to test.

    Args:
      which: "lowest" or "newest".
      project: the table "project" of pyproject.toml.
      extras: optional dependencies besides those of the tests.

    Raises:
      ValueError: for a dependency that is not written as name>=version, with ,<version or
        without.
    """
    optional = project["optional-dependencies"]
    listed = [
        *project["dependencies"],
        *(one for extra in ("test", "train", "data", *extras) for one in optional[extra]),
    ]
    found = []
    for text in listed:
        match = _BOUND.match(text)
        if match is None:
            raise ValueError(f"{text!r} is not of the form name>=version")
        name, version = match.groups()
        found.append(f"{name}=={version}" if which == "lowest" else text)
    return found


def _run(command: Iterable[str | Path]) -> int:
    return subprocess.run([str(part) for part in command], cwd=ROOT).returncode


def main(arguments: list[str]) -> int:
    """Makes the environment, installs, and tests; returns the exit status of the tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions")
    parser.add_argument("which", choices=("lowest", "newest"))
    parser.add_argument("tests", nargs="*", default=TESTS, help="files or node ids")
    parser.add_argument("--extra", action="append", default=[], help="of pyproject.toml, too")
    parser.add_argument("--folder", type=Path, help="of the environment")
    given = parser.parse_intermixed_args(arguments)
    folder = given.folder or ROOT / f".venv-{given.which}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    wanted = requirements(given.which, project, given.extra)
    pip = [python, "-m", "pip", "install", "--quiet"]
    if _run([*pip, *wanted]) or _run([*pip, "--no-deps", "--editable", "."]):
        return 1
    _run([python, "-m", "pip", "freeze", "--exclude-editable"])
    # Programs are optimised as for users, unlike in the daily tests.
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=3"
    # Old packages may warn about newer ones that they use, which is not our concern.
    calm = ["-W", "default::DeprecationWarning"] if given.which == "lowest" else []
    return _run([python, "-m", "pytest", "-q", *calm, *given.tests])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
