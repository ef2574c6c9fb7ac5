"""Determines the shard of a process, from text or from the environment of an array job."""

import os
from collections.abc import Mapping

from jaxsel.host.errors import InputError
from jaxsel.shards.assignment import Shard


def read_shard(text: str, environment: Mapping[str, str] = os.environ) -> Shard:
    """Parses a shard: "3/64", or "auto" for the one in the environment of an array job.

    Raises:
      InputError: if the text is neither, or the environment does not determine a shard.
    """
    return from_environment(environment) if text == "auto" else _read(text)


def _read(text: str) -> Shard:
    index, _, count = text.partition("/")
    try:
        shard = Shard(int(index), int(count))
    except ValueError:
        shard = Shard(0, 0)
    if not 0 <= shard.index < shard.count:
        raise InputError(
            f"shard is {text!r}; it must be I/N with 0 <= I < N, such as 3/64, or auto"
        )
    return shard


# For each scheduler the variables of a task's number and of the first, last and step; "" if
# none.
_ARRAYS = (
    (
        "SLURM_ARRAY_TASK_ID",
        "SLURM_ARRAY_TASK_MIN",
        "SLURM_ARRAY_TASK_MAX",
        "SLURM_ARRAY_TASK_STEP",
    ),
    ("SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"),
    ("JOB_COMPLETION_INDEX", "", "", ""),
    ("PBS_ARRAY_INDEX", "", "", ""),
)


def from_environment(environment: Mapping[str, str] = os.environ) -> Shard:
    """The shard of this process, from the environment of an array job.

    ``JAXSEL_SHARD=3/64`` takes precedence. Otherwise the task's number is that of SLURM,
    Grid Engine, a Kubernetes indexed job or PBS. If ``JAXSEL_SHARDS`` gives the number of
    shards, the task's number is the index of the shard, from 0, whatever tasks the job
    consists of, so a few shards can be run again. Without it, SLURM and Grid Engine give
    the number of tasks of the array, and its first task is shard 0.

    Raises:
      InputError: if the environment does not give the shard, or the number of shards.
    """
    if "JAXSEL_SHARD" in environment:
        return _read(environment["JAXSEL_SHARD"])
    for own, *bounds in _ARRAYS:
        # Grid Engine says "undefined" outside of an array.
        if environment.get(own, "undefined") == "undefined":
            continue
        if "JAXSEL_SHARDS" in environment:
            return _read(f"{environment[own]}/{environment['JAXSEL_SHARDS']}")
        if not bounds[0]:
            raise InputError(
                f"{own} says which shard this is, but not of how many; set JAXSEL_SHARDS"
            )
        return _in_array(own, bounds, environment)
    raise InputError(
        "shard is auto, but there is no array job here: none of JAXSEL_SHARD, "
        f"{', '.join(names[0] for names in _ARRAYS)} is set"
    )


def _in_array(own: str, bounds: list[str], environment: Mapping[str, str]) -> Shard:
    try:
        task, first, last = (int(environment[name]) for name in (own, *bounds[:2]))
        step = int(environment.get(bounds[2], "1"))
        index, count = (task - first) // step, (last - first) // step + 1
        regular = (task - first) % step == 0 and 0 <= index < count
        # For a list such as 3,17 SLURM gives the first and the last only.
        told = environment.get("SLURM_ARRAY_TASK_COUNT", str(count))
        regular &= not own.startswith("SLURM") or int(told) == count
    except (KeyError, ValueError, ZeroDivisionError):
        regular, index, count = False, 0, 0
    if not regular:
        raise InputError(
            f"{own} is a task of no regular array by {', '.join(bounds)}; set "
            "JAXSEL_SHARDS to how many shards there are"
        )
    return Shard(index, count)
