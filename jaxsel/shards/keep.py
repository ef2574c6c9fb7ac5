"""Runs a shard's part of every call, and saves it in the shard's file."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import numpy as np

from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel import engine, hosts
from jaxsel.kernel.tallies import Tallies
from jaxsel.kernel.work import Counted, Work, as_tallies, run_by
from jaxsel.shards.assignment import Shard, cover, share
from jaxsel.shards.files import Command, ShardFile, add, read, write


@contextlib.contextmanager
def keeping(
    shard: Shard, record: str | Path, command: Command | None = None
) -> Iterator[ShardFile]:
    """Has simulations inside the block run a shard's part and save it in the shard's file.

    They return placeholder tallies of the right shapes without zeros, so that subsequent
    code runs through; only a single shard returns its actual tallies. A shard that was
    killed resumes from its file, and may run further trials.

    Args:
      shard: the shard.
      record: its file, to resume from and to save to; "{shard}" is replaced by the index.
      command: stored for ``merging``.

    Raises:
      InputError: for a file of another shard, command or code, a file that is no shard's,
        or one that another process is writing.
    """
    if hosts.count() > 1:
        raise InputError("a shard is one process; give each of those joined its own")
    path = Path(str(record).replace("{shard}", str(shard.index)))
    found = ShardFile(path, shard, command)
    with records.writer(path) as save:
        if path.exists():
            kept = read(path, found.identity)
            found.runs.update(kept.runs)

        def count(work: Work, given: str | Path | None) -> Tallies:
            if given is not None:
                raise InputError("a run inside a shard has no record of its own; leave record out")
            return _count(found, work, lambda: write(save, found))

        with run_by(count):
            yield found
        if not path.exists():
            write(save, found)  # this shard had no part of the work


def _count(file: ShardFile, work: Work, keep: Callable[[], None]) -> Tallies:
    run = file.run_of(work)
    values = engine.zeros(work).values
    seconds = 0.0
    for step in cover(work.first, work.last, run.steps):
        parts = share(file.shard, run.cells, *step)
        counted = run.steps.setdefault(step, [None] * len(parts))
        for i, part in enumerate(parts):
            piece = work.part(*part)

            def save(state: Counted, counted=counted, i=i) -> None:
                counted[i] = state
                keep()

            found = engine.zeros(piece)
            before = counted[i]
            if before is not None:
                leaves = jax.tree.leaves(before.values)
                before = before._replace(values=leaves)
                found = engine.restored(before, piece, found, str(file.path))
            if found.done < part.last - part.first:
                found = counted[i] = engine.count_here(piece, found, save)
            seconds += found.seconds
            add(values, part, found)
    if file.shard.count == 1:
        return as_tallies(work, Counted(work.last - work.first, values, seconds))
    stand_in = jax.tree.map(lambda array: np.maximum(array, 1), values)
    about = {**work.configuration, "shard": str(file.shard)}
    return Tallies(stand_in, ((work.first, work.last),), work.labels, about, seconds)
