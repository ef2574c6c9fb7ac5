"""python -m figures [ID ...]: draw figures, simulating what they need first."""

from pathlib import Path
from typing import Annotated

import typer

from figures import FIGURES, Figure
from figures.common import style
from figures.common.figure import records_in, render
from jaxsel.cli.arguments import bad_input_exits, compilation_cache, read_trials
from jaxsel.cli.output import print_table, say
from jaxsel.errors import InputError
from sims.registry import OUT, load, record_path, run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
FOLDER = Path(__file__).parent / "out"


def _chosen(ids: list[str], everything: bool) -> list[Figure]:
    unknown = [name for name in ids if name not in FIGURES]
    if unknown:
        raise InputError(
            f"there is no figure {unknown[0]!r}; there are: {', '.join(FIGURES)}"
        )
    if everything:
        return list(FIGURES.values())
    if not ids:
        raise InputError(f"name a figure, or give --all: {', '.join(FIGURES)}")
    return [FIGURES[name] for name in dict.fromkeys(ids)]


def _simulated(name: str, trials: int | None, seed: int | None, folder: Path) -> None:
    """Makes sure that a record exists; what is not asked for stays as it was run."""
    if record_path(name, folder).exists():
        stored = load(name, folder).values["configuration"]
        trials = stored["trials"] if trials is None else trials
        seed = stored["seed"] if seed is None else seed
    run(name, trials=trials, seed=seed or 0, out=folder, say=say)


@app.command()
def main(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="See --list.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every figure.")] = False,
    list_them: Annotated[bool, typer.Option("--list", help="Only list them.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder of the figures.")] = FOLDER,
    records: Annotated[
        Path, typer.Option("--records", help="Folder of the simulations' records.")
    ] = OUT,
    trials: Annotated[
        str | None, typer.Option("--trials", help="A grid cell, e.g. 1e5.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Same seed, same record.")
    ] = None,
) -> None:
    """Draw figures as PNG and PDF, running the simulations that are not stored yet."""
    if list_them:
        rows = [[f.id, f.title, ", ".join(f.sims)] for f in FIGURES.values()]
        print_table("Figures", ["id", "title", "simulations"], rows)
        return
    with bad_input_exits():
        number = None if trials is None else read_trials(trials)
        compilation_cache()
        for figure in _chosen(ids or [], everything):
            for name in figure.sims:
                _simulated(name, number, seed, records)
            with records_in(records):
                drawn = render(figure)
            for path in style.save(drawn, out / figure.id):
                say(f"{figure.id}: {path}")


if __name__ == "__main__":
    app()
