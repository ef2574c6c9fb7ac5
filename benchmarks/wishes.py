"""CPU seconds of accountant commands for random bases, laws of K and deltas.

Each command runs in its own process, as users run it, so that loading NumPy and SciPy
counts. CPU seconds hardly depend on other load, unlike wall time.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.results import GoalResult, at_most
from jaxsel.host.errors import InputError
from jaxsel.host.progress import progress_bar

GOAL = 14
COUNT, SEED = 200, 20260101
MEDIAN, WORST = 2.0, 15.0  # CPU seconds
_COMMAND_SECONDS = 600.0  # wall time after which a command is killed
_TOTAL_SECONDS = 3600.0  # wall time after which no further command begins
_SHOWN = 5


class Timed(NamedTuple):
    """One command and its CPU time.

    Attributes:
      command: its arguments.
      seconds: CPU seconds of its process, user and system.
      status: its exit status; None if it was killed.
    """

    command: tuple[str, ...]
    seconds: float
    status: int | None


def _between(generator: np.random.Generator, low: float, high: float) -> float:
    """A log-uniform draw, rounded to four digits."""
    return float(f"{math.exp(generator.uniform(math.log(low), math.log(high))):.4g}")


def _dp_sgd(generator: np.random.Generator) -> str:
    if generator.random() < 0.5:
        batch = int(_between(generator, 60, 1000))
        epochs = int(_between(generator, 1, 60))
        return f"dp_sgd:dataset_size=60000,batch_size={batch},epochs={epochs}"
    rate, steps = _between(generator, 2e-4, 0.02), int(_between(generator, 100, 8000))
    return f"dp_sgd:sampling_probability={rate},steps={steps}"


def _base(generator: np.random.Generator) -> str:
    kind = generator.choice(["gaussian", "laplace", "pure", "approximate", "dp_sgd"])
    match str(kind):
        case "gaussian":
            return f"gaussian:noise_multiplier={_between(generator, 0.7, 20)}"
        case "laplace":
            return f"laplace:noise_scale={_between(generator, 0.7, 20)}"
        case "pure":
            return f"pure:epsilon={_between(generator, 0.01, 3)}"
        case "approximate":
            failure = _between(generator, 1e-9, 1e-4)
            return f"approximate:epsilon={_between(generator, 0.03, 4)},delta={failure}"
    noise = _between(generator, 0.8, 4)
    return f"{_dp_sgd(generator)},noise_multiplier={noise}"


def _law(generator: np.random.Generator) -> str:
    mean = _between(generator, 2, 150)
    count = round(mean)
    match int(generator.integers(7)):
        case 0:
            return f"geometric:mean={mean}"
        case 1:
            return f"logarithmic:mean={mean}"
        case 2:
            return f"poisson:mean={mean}"
        case 3:
            return f"tnb:eta={_between(generator, 0.1, 3)},mean={mean}"
        case 4:
            return f"binomial:count={4 * count},mean={mean}"
        case 5:
            gamma = _between(generator, 0.3, 2)
            return f"beta_binomial:count={4 * count},gamma={gamma}"
    return f"point_mass:count={count}"


def draw(count: int = COUNT, seed: int = SEED) -> list[tuple[str, ...]]:
    """Draws commands: a question about a base and a law of K at a delta.

    Args:
      count: number of commands; the first ones do not depend on it.
      seed: seed of all choices.
    """
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        delta = f"{_between(generator, 1e-12, 0.3)}"
        kind = generator.choice(["account", "report", "plan", "optimal"], p=[0.45, 0.25, 0.2, 0.1])
        command = [str(kind), "--delta", delta]
        if kind == "plan":
            bases = ["gaussian", "laplace", _dp_sgd(generator)]
            command += [
                "--base",
                str(generator.choice(bases)),
                "--epsilon",
                f"{_between(generator, 0.5, 8)}",
                "--runs",
                f"{_between(generator, 3, 100)}",
            ]
        elif kind == "optimal":
            runs = f"{_between(generator, 3, 60)}"
            command += ["--base", _base(generator), "--runs", runs]
        else:
            command += ["--base", _base(generator), "--repetitions", _law(generator)]
            if generator.random() < 0.5:
                command += ["--times", str(generator.integers(2, 41))]
        found.append(tuple(command))
    return found


def timed(command: tuple[str, ...]) -> Timed:
    """Runs one command in a fresh process and discards its output.

    Raises:
      RuntimeError: if it ends in a traceback.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "jaxsel", *command], stdout=subprocess.DEVNULL, stderr=errors
        )
        end, ended = time.monotonic() + _COMMAND_SECONDS, False
        while True:
            # wait4 returns the resources that this child used, and no other.
            number, wait_status, spent = os.wait4(process.pid, os.WNOHANG)
            if number:
                break
            if time.monotonic() > end and not ended:
                process.kill()
                ended = True
            time.sleep(0.02)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    process.returncode = os.waitstatus_to_exitcode(wait_status)
    if not ended and ("Traceback" in said or process.returncode not in (0, 1, 2)):
        raise RuntimeError(f"jaxsel {' '.join(command)} failed: {said[-500:]}")
    seconds = spent.ru_utime + spent.ru_stime
    return Timed(command, seconds, None if ended else process.returncode)


def _read(path: Path) -> dict[tuple[str, ...], Timed]:
    """Reads earlier timings, by command.

    Raises:
      InputError: if it is another kind of file.
    """
    if not path.exists():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        found = [Timed(tuple(r["command"]), r["seconds"], r["status"]) for r in rows]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is no record of timed commands; name another") from None
    return {each.command: each for each in found}


def measure(
    *,
    record: Path | None = None,
    count: int = COUNT,
    seconds: float = _TOTAL_SECONDS,
    progress: bool | None = None,
) -> list[GoalResult]:
    """Times the commands, one after another.

    Args:
      record: a file with one JSON line per command, from which it resumes if it exists.
      count: number of commands.
      seconds: wall time after which no further command begins.
      progress: None shows a bar on a terminal; False never.

    Raises:
      RuntimeError: if a command ends in a traceback.
      InputError: for a record of something else.
    """
    known = {} if record is None else _read(record)
    commands = draw(count)
    found = [known[command] for command in commands if command in known]
    end = time.monotonic() + seconds
    with progress_bar(count, len(found), progress, unit="commands") as advance:
        for command in commands:
            if command in known or time.monotonic() > end:
                continue
            found.append(timed(command))
            if record is not None:
                with record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found[-1]._asdict()) + "\n")
            advance(1)
    return results(found, count)


def results(found: list[Timed], count: int) -> list[GoalResult]:
    """The median and the largest CPU time, with the five slowest commands."""
    if not found:
        raise InputError("there was no time for a single command; allow more seconds")
    ranked = sorted(found, key=lambda each: -each.seconds)
    done = f"{len(found)} of {count} commands"
    ended = sum(each.status is None for each in found)
    if ended:
        done += f", {ended} ended after {_COMMAND_SECONDS:g} s"
    worst = "; ".join(f"{each.seconds:.1f} s: {' '.join(each.command)}" for each in ranked[:_SHOWN])
    median = statistics.median(each.seconds for each in found)
    unit = "CPU seconds"
    return [
        at_most(GOAL, "random wishes, median", median, MEDIAN, done, unit),
        at_most(GOAL, "random wishes, worst", ranked[0].seconds, WORST, worst, unit),
    ]
