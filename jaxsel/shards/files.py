"""The file of a shard: tallies by call, range of trials and part."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel.tallies import Range
from jaxsel.kernel.work import Counted, Work
from jaxsel.shards.assignment import Part, Shard, share
from jaxsel.shards.environment import read_shard

# The parts of a configuration that name the code, not the request.
_PROVENANCE = ("code", "jax", "backend")


class Command(NamedTuple):
    """The command that a shard was run by, so that merging can print its output.

    Attributes:
      name: of the command.
      options: its options by name, JSON-serialisable, without ``trials``.
      trials: the number of trials requested; a later command may request more.
    """

    name: str
    options: Mapping[str, Any]
    trials: str | None


class Run(NamedTuple):
    """The tallies of a shard for the calls of one configuration.

    Attributes:
      configuration, labels: of the tallies.
      cells: the number of cells.
      steps: range of trials of one request -> the progress of each of this shard's parts.
    """

    configuration: Mapping[str, Any]
    labels: tuple[str, ...]
    cells: int
    steps: dict[Range, list[Counted | None]]

    def finished(self, shard: Shard) -> set[Range]:
        """The steps all of whose parts are finished."""
        return {
            step
            for step, counted in self.steps.items()
            for parts in [share(shard, self.cells, *step)]
            if all(
                each is not None and each.done == part.last - part.first
                for part, each in zip(parts, counted, strict=True)
            )
        }


class ShardFile:
    """The tallies of one shard, as its file holds them.

    Attributes:
      path: of the file.
      shard: the shard.
      command: the command that was run; None for Python code.
      runs: the tallies by configuration.
    """

    def __init__(self, path: Path, shard: Shard, command: Command | None):
        self.path = path
        self.shard = shard
        self.command = command
        self.runs: dict[str, Run] = {}

    @property
    def identity(self) -> dict[str, Any]:
        """The configuration of the record, which must be equal to resume from it."""
        command = self.command and [self.command.name, dict(self.command.options)]
        return {"shard": str(self.shard), "command": command}

    def run_of(self, work: Work) -> Run:
        """The tallies of this work; a new entry if there are none.

        Raises:
          InputError: if they come from other code, another backend or JAX version.
        """
        key = key_of(work.configuration)
        cells = len(work.prepared)
        fresh = Run(work.configuration, work.labels, cells, {})
        run = self.runs.setdefault(key, fresh)
        differing = different(run.configuration, work.configuration)
        if differing:
            raise InputError(
                f"{self.path} was counted by other code or on another machine than this "
                f"(it differs in {differing}); name another file or remove this one"
            )
        return run

    def counts(self) -> list[dict[str, Any]]:
        """The mechanism, number of cells and number of trials counted here, for each run."""
        return [
            {
                "mechanism": run.configuration["mechanism"],
                "cells": run.cells,
                "trials": sum(
                    each.done * (part.cells.stop - part.cells.start)
                    for step, counted in run.steps.items()
                    for part, each in zip(share(self.shard, run.cells, *step), counted, strict=True)
                    if each is not None
                ),
            }
            for run in self.runs.values()
        ]


def add(values: Any, part: Part, counted: Counted) -> None:
    """Adds the sums of a part to those over all cells, in place."""
    totals, found = jax.tree.leaves(values), jax.tree.leaves(counted.values)
    for total, more in zip(totals, found, strict=True):
        total[part.cells] += more


def key_of(configuration: Mapping[str, Any]) -> str:
    """A short key of a requested configuration."""
    kept = {k: v for k, v in configuration.items() if k not in _PROVENANCE}
    return records.digest({k: repr(v) for k, v in kept.items()})[:16]


def different(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Names the differences that make tallies incomparable; "" if there are none."""
    return ", ".join(name for name in _PROVENANCE if one.get(name) != other.get(name))


def write(save: records.Save, file: ShardFile) -> None:
    """Writes a shard's file; ``save`` is what ``records.writer`` yields."""
    arrays: dict[str, np.ndarray] = {}
    kept: list[dict[str, Any]] = []
    for key, run in file.runs.items():
        steps: list[Any] = []
        for step, parts in run.steps.items():
            steps.append([*step, [c and [c.done, c.seconds] for c in parts]])
            for i, counted in enumerate(parts):
                leaves = [] if counted is None else jax.tree.leaves(counted.values)
                for j, leaf in enumerate(leaves):
                    arrays[f"{key}_{len(steps) - 1}_{i}_{j}"] = leaf
        kept.append(
            {
                "configuration": dict(run.configuration),
                "labels": list(run.labels),
                "cells": run.cells,
                "steps": steps,
            }
        )
    trials = None if file.command is None else file.command.trials
    save(arrays=arrays, configuration=file.identity, attributes={"runs": kept, "trials": trials})


def read(path: Path, identity: Mapping[str, Any] | None = None) -> ShardFile:
    """Reads a shard's file; raises InputError if it is not one, or has another identity."""
    stored = records.read(path)
    configuration = stored.configuration
    if set(configuration) != {"shard", "command"}:
        raise InputError(f"{path} is no shard's record; it was written without a shard")
    if identity is not None:
        stored.check(identity)
    with stored.parsing("shard's record"):
        command = configuration["command"]
        if command is not None:
            command = Command(command[0], command[1], stored.attributes["trials"])
        file = ShardFile(path, read_shard(configuration["shard"]), command)
        for kept in stored.attribute("runs", list):
            key = key_of(kept["configuration"])
            if not {*_PROVENANCE, "mechanism"} <= set(kept["configuration"]):
                raise KeyError("what it was counted by")
            if type(kept["cells"]) is not int:
                raise TypeError("the number of cells")
            run = Run(kept["configuration"], tuple(kept["labels"]), kept["cells"], {})
            file.runs[key] = run
            for number, (first, last, parts) in enumerate(kept["steps"]):
                run.steps[first, last] = [
                    done and _counted(stored, f"{key}_{number}_{i}_", *done)
                    for i, done in enumerate(parts)
                ]
    return file


def _counted(stored: records.Record, prefix: str, done: int, seconds: float) -> Counted:
    """The progress of one part; its sums are a list, in the order of their pytree."""
    names = (f"{prefix}{i}" for i in itertools.count())
    here = itertools.takewhile(stored.arrays.__contains__, names)
    return Counted(done, [stored.arrays[name] for name in here], seconds)
