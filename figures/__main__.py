"""python -m figures [ID ...]: draw figures, simulating what they need first."""

import time
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from figures import FIGURES, Figure
from figures.common.making import (
    Place,
    bring_up_to_date,
    chains,
    default_processes,
    in_processes,
    time_left,
    why_drawn,
)
from jaxsel.cli.arguments import (
    bad_input_exits,
    hear_interrupts,
    read_settings,
    read_trials,
    records_of_options,
)
from jaxsel.cli.output import print_table, say
from jaxsel.cli.scaling import SchedulerOption, workers
from jaxsel.host import source_digest
from jaxsel.host.blas_threads import one_for_this_process
from jaxsel.host.errors import InputError
from jaxsel.host.progress import spinner
from jaxsel.kernel.compiled import digest_cache
from sims.experiment import Settings, shown
from sims.experiment import read_settings as chosen_settings
from sims.registry import OUT

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
FOLDER = Path(__file__).parent / "out"


def _chosen(ids: list[str], everything: bool) -> list[Figure]:
    unknown = [name for name in ids if name not in FIGURES]
    if unknown:
        raise InputError(f"there is no figure {unknown[0]!r}; there are: {', '.join(FIGURES)}")
    if everything:
        return list(FIGURES.values())
    if not ids:
        raise InputError(f"name a figure, or give --all: {', '.join(FIGURES)}")
    return [FIGURES[name] for name in dict.fromkeys(ids)]


def _print_settings(figures: list[Figure]) -> None:
    """Prints the settings of each figure, with their default values and what they mean."""
    rows = []
    for figure in figures:
        known = figure.settable()
        for name, domain in known.items():
            meaning = f"{domain.help}; {domain.describe()}"
            rows.append([figure.id, name, shown(domain.default), meaning])
        if not known:
            rows.append([figure.id, "none", "", ""])
    print_table("Settings", ["figure", "name", "the paper's, or ours", "is"], rows)


def _read_settings(texts: list[str], chosen: list[Figure]) -> dict[Figure, Settings]:
    """Parses the given settings for each figure; every figure must have each of them."""
    given = read_settings(texts)
    return {
        figure: chosen_settings(figure.id, given, figure.settable()) if given else ()
        for figure in chosen
    }


class _Made(NamedTuple):
    """Where everything is, and how much is simulated."""

    out: Annotated[Path, typer.Option("--out", help="Folder of the figures.")] = FOLDER
    records: Annotated[
        Path, typer.Option("--records", help="Folder of the simulations' records.")
    ] = OUT
    trials: Annotated[str | None, typer.Option("--trials", help="A grid cell, e.g. 1e5.")] = None
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same record.")] = None


@app.command()
@records_of_options
def main(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="See --list.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every figure.")] = False,
    list_them: Annotated[bool, typer.Option("--list", help="Only list them.")] = False,
    made: _Made = _Made(),
    again: Annotated[bool, typer.Option("--again", help="Draw even what is up to date.")] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another number than the paper's."),
    ] = None,
    list_settings: Annotated[
        bool, typer.Option("--settings", help="Only list what can be set.")
    ] = False,
    processes: Annotated[
        int, typer.Option("--processes", min=1, help="How many draw at once.")
    ] = default_processes(),
    scheduler: SchedulerOption = None,
) -> None:
    """Draw figures as PNG and PDF, running the simulations that are not stored yet.

    Figures that are up to date are not drawn again. With --set NAME=VALUE, which may be
    repeated, a figure is drawn with other numbers; its files then have another name, and the
    picture says so.
    """
    if list_settings:
        with bad_input_exits():
            _print_settings(_chosen(ids or [], everything or list_them))
        return
    if list_them:
        rows = [[f.id, f.title, ", ".join(f.sims)] for f in FIGURES.values()]
        print_table("Figures", ["id", "title", "simulations"], rows)
        return
    with bad_input_exits():
        number = None if made.trials is None else read_trials(made.trials)
        chosen = _chosen(ids or [], everything)
        settings = _read_settings(setting or [], chosen)
        place = Place(made.out, made.records, number, made.seed)
        places = {f: place._replace(settings=settings[f]) for f in chosen}
        digest_cache()
        with source_digest.at_one_moment(), spinner("looking what is up to date"):
            reasons = {figure: why_drawn(figure, places[figure]) for figure in chosen}
        waiting = [figure for figure in chosen if again or reasons[figure]]
        if len(waiting) < len(chosen):
            say(f"{len(chosen) - len(waiting)} of {len(chosen)} are up to date in {made.out}")
        if scheduler is not None:
            processes = 1  # only this process has the scheduler's workers
        with workers(scheduler):
            _draw(waiting, places, reasons, processes)


def _draw(
    waiting: list[Figure], places: dict[Figure, Place], reasons: dict[Figure, str], processes: int
) -> None:
    started = time.monotonic()
    done: list[Figure] = []
    given = {figure.id: (places[figure], reasons[figure]) for figure in waiting}
    for name, picture in in_processes(bring_up_to_date, chains(waiting), processes, given):
        done.append(FIGURES[name])
        left = [figure for figure in waiting if figure not in done]
        remains = time_left(done, left, time.monotonic() - started, processes)
        say(f"{len(done)} of {len(waiting)}, {remains}: {picture} and .pdf")


if __name__ == "__main__":
    one_for_this_process()
    hear_interrupts()
    app()
