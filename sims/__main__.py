"""python -m sims [NAME ...]: run simulations and store their records."""

from pathlib import Path
from typing import Annotated

import typer

from jaxsel.cli.arguments import bad_input_exits, compilation_cache, read_trials
from jaxsel.cli.output import print_table, say
from sims.registry import OUT, SIMS, run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Default: all.")
    ] = None,
    list_them: Annotated[bool, typer.Option("--list", help="Only list them.")] = False,
    trials: Annotated[
        str | None, typer.Option("--trials", help="A grid cell, e.g. 1e5.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same record.")] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Run even if the record is up to date.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder of the records.")] = OUT,
) -> None:
    """Run the simulations behind the figures and store their records."""
    if list_them:
        rows = [[sim.name, sim.module, sim.trials] for sim in SIMS.values()]
        print_table("Simulations", ["name", "module", "trials a cell"], rows)
        return
    with bad_input_exits():
        number = None if trials is None else read_trials(trials)
        compilation_cache()
        for name in names or list(SIMS):
            run(name, trials=number, seed=seed, out=out, again=again, say=say)


if __name__ == "__main__":
    app()
