"""What `simulate`, `audit` and `python -m sims` share: one run split over jobs or machines."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from jaxsel.cli.arguments import interrupts_say, whole_option
from jaxsel.cli.output import print_json, say
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import check_output

if TYPE_CHECKING:
    from jaxsel.shards import ShardFile

RecordOption = Annotated[
    str | None,
    typer.Option(
        "--record", help="File to save to, and to resume from; of a shard, {shard} is its index."
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        help="Do only this share, such as 3/64 (from 0), or auto in an array job; keep "
        "it in --record, for `jaxsel merge`.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", help="Dask scheduler whose workers do it, tcp://HOST:PORT."),
]


class Scaling(NamedTuple):
    """How a command is split over several processes: options of ``simulate`` and ``audit``."""

    record: RecordOption = None
    shard: ShardOption = None
    coordinator: Annotated[
        str | None,
        typer.Option(
            "--coordinator",
            help="HOST:PORT of process 0, to do this run together (jax.distributed), or "
            "auto as JAX finds it (SLURM, Open MPI, Kubernetes).",
        ),
    ] = None
    processes: Annotated[int | None, whole_option("--processes", "How many run together.")] = None
    process: Annotated[int | None, whole_option("--process", "Which of them this is, from 0.")] = (
        None
    )
    scheduler: SchedulerOption = None


class Role(NamedTuple):
    """What this process does with the results of its command.

    Attributes:
      part: the shard's file, if this process only keeps the tallies of a shard.
      prints: whether it prints results; of a joint run, only the first process does.
    """

    part: "ShardFile | None" = None
    prints: bool = True


@contextlib.contextmanager
def scaled(
    scaling: Scaling, name: str, options: Mapping[str, Any], trials: str | None
) -> Iterator[Role]:
    """Within this context, simulations run as the options say, and are kept in the record.

    ``simulate`` without a shard keeps its record itself. Any other command that has a
    record but no shard is treated as the only shard of its run.

    Args:
      scaling: the options.
      name, options, trials: the command's; see ``jaxsel.shards.Command``.

    Raises:
      InputError: for options that exclude each other or need another one, or whose values
        are refused.
    """
    file = scaling.record
    if scaling.shard is not None and file is not None:
        from jaxsel.shards import read_shard

        file = file.replace("{shard}", str(read_shard(scaling.shard).index))
    check_output("--record", file)
    with interrupts_say(file), _scaled(scaling, name, options, trials) as role:
        yield role


@contextlib.contextmanager
def _scaled(
    scaling: Scaling, name: str, options: Mapping[str, Any], trials: str | None
) -> Iterator[Role]:
    record, shard, coordinator, processes, process, scheduler = scaling
    ways = {"shard": shard, "coordinator": coordinator, "scheduler": scheduler}
    if record is not None and name != "simulate" and shard is None:
        ways["record"] = record
    given = [f"--{way}" for way, value in ways.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} exclude each other for {name}; give one")
    if coordinator is None and (processes, process) != (None, None):
        raise InputError("--processes and --process need --coordinator; give it")
    if shard is not None and record is None:
        raise InputError("--shard needs a file for its tallies; give --record FILE")
    if shard is not None or "record" in ways:
        from jaxsel.shards import Command, keeping, read_shard

        which = read_shard(shard or "0/1")
        with keeping(which, record or "", Command(name, options, trials)) as file:
            yield Role(part=None if shard is None else file)
    elif coordinator is not None:
        from jaxsel.kernel import hosts

        hosts.join(coordinator, processes, process)
        yield Role(prints=hosts.number() == 0)
    else:
        with workers(scheduler):
            yield Role()


@contextlib.contextmanager
def workers(scheduler: str | None) -> Iterator[None]:
    """Within this context, the workers of a Dask scheduler simulate, if one is given."""
    if scheduler is None:
        yield
        return
    from jaxsel.shards import executors

    with executors.dask(scheduler) as client, executors.using(client):
        yield


def say_kept(file: "ShardFile", json: bool) -> None:
    """Prints what a shard has kept."""
    rows = file.counts()
    if json:
        print_json({"shard": str(file.shard), "record": str(file.path), "runs": rows})
        return
    for row in rows:
        cells = "" if row["cells"] == 1 else f" in {row['cells']} cells"
        say(f"{row['trials']} trials of {row['mechanism']}{cells}")
    say(f"Shard {file.shard} is kept in {file.path}; jaxsel merge prints the results.")
