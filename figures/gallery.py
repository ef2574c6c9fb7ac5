"""python -m figures.gallery [ID ...]: brings the pictures of docs/gallery up to date.

What is stale is simulated and drawn in ``figures/out``, as by ``python -m figures``. A
picture and its digest are copied into the gallery only if the digest differs from the
gallery's. Code that changed, but draws the same, therefore changes no picture. A run that is
stopped resumes where it was.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from figures import FIGURES, Figure
from figures.common import digest
from figures.common.making import Place, chains, default_processes, in_processes, make, why_drawn
from jaxsel.cli.arguments import bad_input_exits
from jaxsel.cli.output import say
from jaxsel.data.download import FOLDER_VARIABLE, available
from jaxsel.host.errors import InputError
from jaxsel.kernel.compiled import compilation_cache
from sims.data import covid, histograms, regression, released_accuracies
from sims.registry import OUT

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
DRAWN = Path(__file__).parent / "out"

# Drawn from data files in the folder JAXSEL_DATA. All others are drawn as if it were not set.
FROM_FILES = {
    "ps22-7": released_accuracies.released_available,
    "krw24-5": lambda: available(regression.BIKE) and available(regression.ELEVATORS),
    "zw22-1a": covid.covid_available,
    "zw22-table1": lambda: all(map(histograms.check_ins_available, histograms.CHECK_INS)),
}


def missing(name: str) -> str:
    """The reason why a picture of the gallery cannot be drawn here; "" if it can."""
    if name in FROM_FILES and not FROM_FILES[name]():
        return f"left as it is; its data files are not in the folder {FOLDER_VARIABLE}"
    return ""


def bring(figure: Figure, drawn: Path, records: Path, gallery: Path) -> str:
    """Draws a figure if it is stale, and copies it into the gallery if it shows something else.

    Returns:
      A description of the differences; "" if there are none.
    """
    place = Place(drawn, records)
    if why_drawn(figure, place):
        make(figure, place, lambda text: None)
    shows, showed = drawn / f"{figure.id}.json", gallery / f"{figure.id}.json"
    stored, found = digest.read(showed), digest.read(shows)
    assert found is not None
    if stored is not None and (gallery / f"{figure.id}.png").exists():
        told = digest.differences(stored, found)
        if not told:
            return ""
    else:
        told = ["not in the gallery"]
    shutil.copyfile(drawn / f"{figure.id}.png", gallery / f"{figure.id}.png")
    shutil.copyfile(shows, showed)  # last: a run that is stopped here copies again
    more = "" if len(told) <= 3 else f"; and {len(told) - 3} more"
    return "; ".join(told[:3]) + more


def _work(name: str, folder: str, places: Sequence[Path]) -> tuple[str, str]:
    """Task of one process: returns the figure's name, and what differed or went wrong."""
    from jaxsel.kernel import compiled

    compilation_cache()
    os.environ.pop(FOLDER_VARIABLE, None)
    if name in FROM_FILES:
        os.environ[FOLDER_VARIABLE] = folder
    try:
        return name, bring(FIGURES[name], *places)
    except Exception as error:  # the others are drawn nevertheless
        return name, f"FAILED: {type(error).__name__}: {error}"
    finally:
        compiled.forget()


@app.command()
def main(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Default: all.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the drawn figures.")] = DRAWN,
    records: Annotated[
        Path, typer.Option("--records", help="Folder of the simulations' records.")
    ] = OUT,
    gallery: Annotated[Path, typer.Option("--gallery", help="Folder of the gallery.")] = GALLERY,
    processes: Annotated[
        int, typer.Option("--processes", min=1, help="How many draw at once.")
    ] = default_processes(),
) -> None:
    """Bring the pictures of the gallery up to date with what the code draws.

    Only a picture that shows something else is replaced, and the differences are printed.
    Four pictures need data files in the folder that JAXSEL_DATA names; without them they are
    left as they are.
    """
    with bad_input_exits():
        unknown = [name for name in ids or () if name not in FIGURES]
        if unknown:
            raise InputError(f"there is no figure {unknown[0]!r}; there are: {', '.join(FIGURES)}")
        chosen = list(dict.fromkeys(ids or FIGURES))
    for name in chosen:
        if missing(name):
            say(f"{name}: {missing(name)}")
    drawn = [FIGURES[name] for name in chosen if not missing(name)]
    folder, failed = os.environ.get(FOLDER_VARIABLE, ""), False
    told = in_processes(_work, chains(drawn), processes, folder, (out, records, gallery))
    for done, (name, text) in enumerate(told, start=1):
        failed |= text.startswith("FAILED")
        say(f"{done} of {len(drawn)}, {name}: {text or 'shows the same'}")
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    app()
