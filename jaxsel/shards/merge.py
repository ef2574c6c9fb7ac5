"""Returns the result of every call from the files of all shards."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxsel.host.errors import InputError
from jaxsel.kernel import engine
from jaxsel.kernel.tallies import Tallies, shown
from jaxsel.kernel.work import Counted, Work, as_tallies, run_by
from jaxsel.shards.assignment import cover, in_order, share
from jaxsel.shards.files import Command, ShardFile, add, different, key_of, read


@contextlib.contextmanager
def merging(paths: Sequence[str | Path]) -> Iterator[Command | None]:
    """Has simulations inside the block return the merged tallies of all shards, bit for bit.

    Yields the command by which the files were made. No file is ever changed.

    Args:
      paths: one file per shard, in any order.

    Raises:
      InputError: if a shard is missing, duplicated or not finished; for files of different
        commands, code, backends or JAX versions; for a file that is no shard's; or if the
        files were made by other code than this.
    """
    files = _all_shards([read(Path(path)) for path in paths])

    def answer(work: Work, record: str | Path | None) -> Tallies:
        if record is not None:
            raise InputError("merged tallies come from their files; leave record out")
        return _merged(files, work)

    with run_by(answer):
        yield files[0].command


def _all_shards(files: list[ShardFile]) -> list[ShardFile]:
    """Sorts the files by shard; raises InputError unless they are all of one run."""
    for file in files:
        first = files[0]
        if (file.command, file.shard.count) != (first.command, first.shard.count):
            raise InputError(
                f"{first.path} and {file.path} are shards of different runs: "
                f"{_describe_command(first)}, and {_describe_command(file)}"
            )
    return [files[i] for i in in_order([(str(f.path), f.shard) for f in files])]


def _describe_command(file: ShardFile) -> str:
    if file.command is None:
        return f"{file.shard}"
    name, options, trials = file.command
    shown_options = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{file.shard} of {name} with {shown_options}, trials={trials}"


def _merged(files: list[ShardFile], work: Work) -> Tallies:
    key = key_of(work.configuration)
    having = [file for file in files if key in file.runs]
    if not having:
        raise InputError(
            f"{files[0].path} and the others hold no run of {work.mechanism.name} with "
            "the input that this code gives it; merge with the code and data they were "
            "counted with"
        )
    first = having[0].runs[key].configuration
    for file in having:
        differing = different(file.runs[key].configuration, first)
        if differing:
            raise InputError(
                f"{having[0].path} and {file.path} were counted by different code or on "
                f"different machines (they differ in {differing})"
            )
    # The files may come from another machine, as long as all have the same code.
    if first["code"] != work.configuration["code"]:
        raise InputError(
            f"{having[0].path} and the others were counted by other code than this, which "
            "may count otherwise; merge with the code they were counted with"
        )
    wanted = (work.first, work.last)
    finished = []
    for file in files:
        run = file.runs.get(key)
        done = set() if run is None else run.finished(file.shard)
        if not done.issuperset(cover(*wanted, done)):
            raise InputError(
                f"{file.path}, shard {file.shard}, has not finished {shown([wanted])} of "
                f"{work.mechanism.name}; run its command again"
            )
        finished.append(done)
    together = set.intersection(*finished)
    steps = cover(*wanted, together)
    if not together.issuperset(steps):
        raise InputError(
            f"{files[0].path} and the others were extended in different steps; run the "
            "shards anew, into other files"
        )
    values = engine.zeros(work).values
    seconds = 0.0
    for file in files:
        run = file.runs[key]
        for step in steps:
            parts = share(file.shard, run.cells, *step)
            for part, counted in zip(parts, run.steps[step], strict=True):
                assert counted is not None  # the shard is finished, so no part is None
                piece = work.part(*part)
                whole = engine.restored(counted, piece, engine.zeros(piece), str(file.path))
                add(values, part, whole)
                seconds += whole.seconds
    found = as_tallies(work, Counted(work.last - work.first, values, seconds))
    return found._replace(configuration=first)
