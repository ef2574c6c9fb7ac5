"""python -m sims [NAME ...]: run simulations and store their records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from jaxsel.cli.arguments import (
    bad_input_exits,
    compilation_cache,
    hear_interrupts,
    read_trials,
)
from jaxsel.cli.output import print_table, say
from jaxsel.cli.scaling import (
    RecordOption,
    Scaling,
    SchedulerOption,
    ShardOption,
    say_kept,
    scaled,
)
from jaxsel.host.blas_threads import one_for_this_process
from jaxsel.kernel import compiled
from sims.registry import OUT, SIMS, check_simulates, compute, run

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
    shard: ShardOption = None,
    record: RecordOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Run the simulations behind the figures and store their records.

    With --shard only a share of their trials is run, and kept in --record; `jaxsel merge`
    stores the records.
    """
    if list_them:
        rows = [[sim.name, sim.module, sim.trials] for sim in SIMS.values()]
        print_table("Simulations", ["name", "module", "trials a cell"], rows)
        return
    with bad_input_exits():
        chosen = names or list(SIMS)
        options = {"names": chosen, "seed": seed}
        parted = shard is not None or record is not None
        for name in chosen if parted else ():
            check_simulates(name)
        scaling = Scaling(shard, record, scheduler=scheduler)
        with scaled(scaling, "sims", options, trials) as role:
            again |= parted
            simulate_all(chosen, trials, seed, again, None if role.part else out)
        if role.part is not None:
            say_kept(role.part, json=False)


def simulate_all(
    names: Sequence[str], trials: str | None, seed: int, again: bool, out: Path | None
) -> None:
    """Runs simulations and stores their records in ``out``; None stores nothing."""
    number = None if trials is None else read_trials(trials)
    compilation_cache()
    for name in names:
        if out is None:
            compute(name, trials=number, seed=seed)
        else:
            run(name, trials=number, seed=seed, out=out, again=again, say=say)
        compiled.forget()


if __name__ == "__main__":
    one_for_this_process()
    hear_interrupts()
    app()
