"""Every mechanism in this tree against another commit, side by side in one run.

``python -m benchmarks.against COMMIT [NAME]...``, from a checkout: two processes on one
CPU, one with each tree, alternate on the same trials, so that other load on the machine
slows both. Prints the ratio of each method's time to that of the other commit, and whether
the tallies are the same.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import serving
from jaxsel import catalogue
from jaxsel.host.errors import InputError

ROOT = Path(__file__).parents[1]
_LEAST_TRIALS, _MAX_TRIALS = 1 << 13, 1 << 40
# Two processes with the same code differ by up to this factor.
NOISE = 1.05


class Compared(NamedTuple):
    """One method of a mechanism, at its default settings.

    Attributes:
      mechanism, method: their names; method is "" if there is only one.
      default: whether this is the default method.
      before, after: nanoseconds of processor time per trial, the least of the repeats.
      same: whether the tallies are equal.
    """

    mechanism: str
    method: str
    default: bool
    before: float
    after: float
    same: bool

    @property
    def ratio(self) -> float:
        """Time after over time before: above 1 is slower."""
        return self.after / self.before


class _Tree:
    """A process that simulates with the code of a folder."""

    def __init__(self, folder: Path):
        flags = f"{os.environ.get('XLA_FLAGS', '')} {serving.XLA_FLAGS}"
        environment = os.environ | serving.ENVIRONMENT
        environment |= {"PYTHONPATH": str(folder), "XLA_FLAGS": flags.strip()}
        command = [sys.executable, "-P", serving.__file__]
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, mechanism: str, method: str, trials: int) -> dict[str, Any]:
        """Simulates that many trials of a mechanism.

        Returns:
          {"seconds": processor time, "counts": tallies by event}, or {"refused": reason}.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = {"mechanism": mechanism, "method": method, "trials": trials}
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"a process ended while it ran {mechanism} {method}")
        return json.loads(answer)

    def close(self) -> None:
        self._process.communicate()


@contextlib.contextmanager
def _tree_of(commit: str) -> Iterator[Path]:
    """The package as it was at a commit, in a folder of its own."""
    command = ["git", "-C", str(ROOT), "archive", "--format=zip", commit, "jaxsel"]
    with tempfile.TemporaryDirectory(prefix="jaxsel-against-") as name:
        folder = Path(name)
        with tempfile.TemporaryFile() as file:
            done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                raise InputError(f"git has no {commit!r} here: {done.stderr.strip()}")
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                archive.extractall(folder)
        yield folder


def compare(
    commit: str, names: Sequence[str] = (), *, repeats: int = 5, seconds: float = 0.3
) -> Iterator[Compared]:
    """Times every method of mechanisms, here and at a commit.

    Args:
      commit: a git revision.
      names: names of mechanisms; none means all. Those missing in the commit are omitted.
      repeats: number of timings of each method.
      seconds: processor time that one timing takes, approximately.

    Raises:
      InputError: for a commit or a mechanism that does not exist.
    """
    entries = [catalogue.find_mechanism(name) for name in names]
    forms = [
        (entry, method)
        for entry in entries or catalogue.mechanisms()
        for method in getattr(entry.settings.get("method"), "options", ("",))
    ]
    with _tree_of(commit) as folder, contextlib.ExitStack() as closing:
        trees = [_Tree(folder), _Tree(ROOT)]
        for tree in trees:
            closing.callback(tree.close)
        for entry, method in forms:
            found = _timed(trees, entry.name, method, repeats, seconds)
            if found is not None:
                default = not method or method == entry.settings["method"].default
                yield Compared(entry.name, method, default, *found)


def _timed(
    trees: Sequence[_Tree], mechanism: str, method: str, repeats: int, seconds: float
) -> tuple[float, float, bool] | None:
    # The first calls compile.
    if any("refused" in tree.ask(mechanism, method, 1) for tree in trees):
        return None
    trials = _LEAST_TRIALS
    while True:
        answers = [tree.ask(mechanism, method, trials) for tree in trees]
        least = min(answer["seconds"] for answer in answers)
        if least >= seconds / 2 or trials >= _MAX_TRIALS:
            break
        trials = int(trials * min(16.0, max(2.0, 0.75 * seconds / max(least, 1e-6))))
    times: list[list[float]] = [[], []]
    for _ in range(repeats):
        answers = [tree.ask(mechanism, method, trials) for tree in trees]
        for spent, answer in zip(times, answers, strict=True):
            spent.append(1e9 * answer["seconds"] / trials)
    same = answers[0]["counts"] == answers[1]["counts"]
    return min(times[0]), min(times[1]), same


def table(found: Sequence[Compared]) -> Table:
    """A table of the results, the largest slowdown first."""
    shown = Table()
    shown.add_column("mechanism", no_wrap=True)
    for title in ("method", "before, ns", "after, ns", "after/before", ""):
        number = title not in ("method", "")
        shown.add_column(title, justify="right" if number else "left", no_wrap=True)
    for one in sorted(found, key=lambda one: -one.ratio):
        remarks = ["SLOWER"] * (one.ratio > NOISE) + ["other tallies"] * (not one.same)
        shown.add_row(
            one.mechanism,
            one.method + " (default)" * (one.default and bool(one.method)),
            f"{one.before:.4g}",
            f"{one.after:.4g}",
            f"{one.ratio:.2f}",
            ", ".join(remarks),
        )
    return shown


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; the status is 1 if anything is slower, 2 for bad arguments."""
    parser = argparse.ArgumentParser(prog="benchmarks.against", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("names", nargs="*", metavar="NAME", help="mechanisms; default all")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    chosen = parser.parse_args(arguments)
    found = []
    try:
        for one in compare(
            chosen.commit, chosen.names, repeats=chosen.repeats, seconds=chosen.seconds
        ):
            found.append(one)
            print(f"{one.mechanism} {one.method}: {one.ratio:.2f}", file=sys.stderr)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    Console(width=100).print(table(found))
    return int(any(one.ratio > NOISE for one in found))


if __name__ == "__main__":
    sys.exit(main())
