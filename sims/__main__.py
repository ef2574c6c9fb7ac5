"""python -m sims [NAME ...]: run simulations and store their records."""

from pathlib import Path
from typing import Annotated

import typer

from jaxsel.cli.arguments import bad_input_exits, hear_interrupts, read_trials
from jaxsel.cli.output import print_table, say
from jaxsel.cli.scaling import RecordOption, SchedulerOption, ShardOption, workers
from jaxsel.host.blas_threads import one_for_this_process
from jaxsel.host.errors import InputError
from jaxsel.host.progress import spinner
from jaxsel.kernel import compiled
from jaxsel.kernel.compiled import compilation_cache
from sims.registry import OUT, SIMS, find, run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Default: all.")
    ] = None,
    list_them: Annotated[bool, typer.Option("--list", help="Only list them.")] = False,
    trials: Annotated[str | None, typer.Option("--trials", help="A grid cell, e.g. 1e5.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same record.")] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Run even if the record is up to date.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder of the records.")] = OUT,
    shard: ShardOption = None,
    record: RecordOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Run the simulations behind the figures and store their records.

    With --shard only a share of the trials is run. It is stored in files beside --record, one
    for each grid of cells, which `jaxsel merge FILE... --out FOLDER` combines into the
    records.
    """
    if list_them:
        rows = [[name, each[0].module, each[0].trials] for name, each in SIMS.items()]
        print_table("Simulations", ["name", "module", "trials a cell"], rows)
        return
    with bad_input_exits():
        chosen = names or list(SIMS)
        number = None if trials is None else read_trials(trials)
        compilation_cache()
        if shard is None and record is None:
            with workers(scheduler), spinner("simulating") as tell:
                for name in chosen:
                    tell(f"simulating {name}")
                    run(name, trials=number, seed=seed, out=out, again=again, say=say)
                    compiled.forget()
            return
        if shard is None or record is None or scheduler is not None:
            raise InputError("--shard and --record belong together, without --scheduler; give both")
        with spinner("simulating") as tell:
            for name in chosen:
                tell(f"simulating shard {shard} of {name}")
                for experiment in find(name):
                    count = experiment.trials if number is None else number
                    kept = experiment.keep_share(shard, record, count, seed)
                    say(f"shard {shard} of {experiment.name} is kept in {kept}")
                compiled.forget()


if __name__ == "__main__":
    one_for_this_process()
    hear_interrupts()
    app()
