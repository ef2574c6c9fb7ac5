"""jaxsel bench: speed, precision and reproducibility compared with stated goals.

Every competitor is run in the same process, on one thread, in interleaved repeats; ratios
are of the fastest repeats. Each one's tallies are tested against the exact law, so that
nothing is compared with a different computation.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import GoalResult
from jaxsel.host.errors import InputError, check_choice, check_integer, check_positive

__all__ = ["GOALS", "GoalResult", "run", "run_mechanisms"]

GOALS = {
    1: "random words, against jax.random.bits",
    2: "noisy max, against its limit kernels",
    3: "brute-force Gumbel noisy max, against everybody",
    4: "the same law by table look-up",
    5: "private tuning without a loop over K",
    6: "the sparse vector over 1,000 queries, by jumps and by a scan",
    7: "top-k of 15,000 candidates, against NumPy and OpenDP",
    8: "the price and the truth of deep tails",
    9: "tallies identical over blocks, devices and processes",
    11: "compilation, and one program for any number of trials",
    12: "sums of clipped gradients, against jax_privacy, Opacus and the matmul peak",
    13: "scaling: two devices, shards, joined processes, against two processes apart",
    14: "200 random wishes to account, report, plan and optimal: CPU seconds",
}


def run(
    goals: Sequence[int] | None = None,
    *,
    repeats: int = 9,
    seconds: float = 0.1,
    record: str | Path | None = None,
    progress: bool = True,
) -> list[GoalResult]:
    """Measures the goals, each in fresh processes, and reports them in order.

    Args:
      goals: numbers of ``GOALS``; None means all.
      repeats: timed repeats of each candidate, at least 1.
      seconds: target duration of one repeat, > 0.
      record: for goal 14, a file with one line per command, from which it resumes.
      progress: whether to report finished goals on standard error.

    Raises:
      InputError: if a goal is unknown or a setting out of range.
      RuntimeError: if a competitor does not sample its law, or a process fails.
    """
    # Imported here because a goal's child process imports this package, too.
    from benchmarks import identity, scaling, startup, wishes
    from benchmarks.measure import TIMED
    from benchmarks.processes import run_python

    wanted = sorted(set(GOALS if goals is None else goals))
    for goal in wanted:
        check_choice("goal", goal, GOALS)
    if not wanted:
        raise InputError("no goal is named; name some, or leave them out for all")
    repeats = check_integer("repeats", repeats, 1)
    seconds = check_positive("seconds", seconds)

    results: list[GoalResult] = []
    timed = [goal for goal in wanted if goal in TIMED]
    if timed:
        arguments = [
            "--goals",
            ",".join(str(goal) for goal in timed),
            "--repeats",
            str(repeats),
            "--seconds",
            str(seconds),
        ]
        if not progress:
            arguments.append("--quiet")
        document = run_python("benchmarks.measure", *arguments)
        results += [GoalResult(**entry) for entry in json.loads(document)]
    for goal, measure in (
        (9, identity.measure),
        (11, startup.measure_compilation),
        (13, lambda: scaling.measure(repeats)),
        (
            14,
            lambda: wishes.measure(
                record=None if record is None else Path(record),
                progress=None if progress else False,
            ),
        ),
    ):
        if goal in wanted:
            results += measure()
            if progress:
                print(f"goal {goal} measured in fresh processes", file=sys.stderr)
    return sorted(results, key=lambda result: result.goal)


def run_mechanisms(
    names: Sequence[str] = (),
    *,
    record: str | Path | None = None,
    repeats: int = 3,
    seconds: float = 0.1,
    progress: bool = True,
) -> dict[str, Any]:
    """Mechanisms of the catalogue against their limits and NumPy, in a fresh process.

    Args:
      names: names of mechanisms; none means all.
      record: a JSON file that is written after every form, from which the measurement
        resumes.
      repeats: timed repeats of each candidate, at least 1.
      seconds: target duration of one repeat, > 0.
      progress: whether to report progress on standard error.

    Returns:
      The document of ``benchmarks.mechanisms``: machine, versions, and one row per form.

    Raises:
      InputError: for an unknown mechanism, a setting out of range, or a record of something
        else.
      RuntimeError: if what is timed does not sample its law.
    """
    from benchmarks import mechanisms
    from benchmarks.processes import run_python
    from jaxsel import catalogue

    found = [catalogue.find_mechanism(name).name for name in names]
    arguments = [
        *found,
        "--repeats",
        str(check_integer("repeats", repeats, 1)),
        "--seconds",
        str(check_positive("seconds", seconds)),
    ]
    if record is not None:
        if Path(record).exists():
            mechanisms.read(Path(record))
        arguments += ["--record", str(record)]
    if not progress:
        arguments.append("--quiet")
    return json.loads(run_python("benchmarks.mechanisms", *arguments))
