"""jaxsel merge: one result from the files of all shards."""

from pathlib import Path
from typing import Annotated

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits
from jaxsel.cli.options import as_command
from jaxsel.cli.sweep_command import TableOption
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import check_output


@as_command({"--csv": "--table"})
def merge_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="One of each shard.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the records, of the grids of `python -m sims`."),
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", help="The whole sweep, as NetCDF.")
    ] = None,
    table: TableOption = None,
    plot: Annotated[
        str | None, typer.Option("--plot", help="A picture of the whole sweep.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print what a command run in shards would have printed: jaxsel merge out/*.nc.

    The command and its settings are in the files. Tallies are those of one process, bit
    for bit. A shard that is missing, twice there, not finished or of another run is named,
    and no file is changed. Exit status as that of the command.
    """
    with bad_input_exits():
        check_output("--out", out, folder=True)
        from jaxsel.shards import merging
        from jaxsel.sweeps.files import is_sweep

        if is_sweep(files[0]):
            if out is not None:
                _grids(files, out)
            else:
                _sweep(files, record, table or [], plot, json)
            return
        for option, value in {"record": record, "table": table, "plot": plot}.items():
            if value is not None:
                raise InputError(f"--{option} is for shards of a sweep; these are none")

        with merging(files) as command:
            if command is None:
                raise InputError(
                    f"{files[0]} was written from Python; merge it there, with "
                    "jaxsel.shards.merging"
                )
            options = {**command.options, "trials": command.trials}
            if out is not None:
                raise InputError(f"--out is for simulations; {command.name} has none")
            from jaxsel.cli import audit_command, run_commands

            commands = {
                "simulate": run_commands.simulate_command,
                "audit": audit_command.audit_command,
            }
            commands[command.name](**options, json=json)


def _sweep(
    files: list[Path], record: str | None, table: list[str], plot: str | None, json: bool
) -> None:
    from jaxsel.cli.sweep_command import check_files, show
    from jaxsel.sweeps import merge
    from jaxsel.sweeps.request import SweepRequest

    asked = SweepRequest("", {}, record=record, table=table, plot=plot)
    check_files(asked)
    show(merge(files, record), asked, json)


def _grids(files: list[Path], out: Path) -> None:
    """Writes the record of each grid of experiments, merged from all of its shards."""
    from jaxsel.cli.output import say
    from jaxsel.sweeps import merge
    from jaxsel.sweeps.files import read

    grids: dict[str, list[Path]] = {}
    for file in files:
        grids.setdefault(read(file).asked["subject"], []).append(file)
    for place, parts in grids.items():
        path, _, name = place.rpartition(":")
        record = out / f"{Path(path).stem.replace('_', '-')}.{name}.nc"
        merge(parts, record)
        say(f"{record} holds all trials of {name}")
