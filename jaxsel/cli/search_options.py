"""What commands about a search share: options for its size, its winner and its base."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from jaxsel.cli.arguments import whole_option
from jaxsel.host.errors import InputError
from jaxsel.language.default_delta import DELTA
from jaxsel.tuning.drawn import INDEPENDENTLY

DrawnOption = Annotated[
    str,
    typer.Option(
        "--drawn", metavar="TEXT", help="How candidates are drawn; see jaxsel account --help."
    ),
]
SearchDeltaOption = Annotated[
    float | None, typer.Option("--delta", help=f"Of the search, in [0, 1).  [default: {DELTA:g}]")
]
WINNER_FORMER = {
    f"--{part.replace('_', '-')}": f"--winner.{part}"
    for part in ("good", "chance", "rank", "rank_of", "none")
}
"""Options until 0.2.0 about the winner."""


class Size(NamedTuple):
    """How many runs a search may make, and what its winner has to be."""

    runs: Annotated[float | None, typer.Option("--runs", help="Runs on average, at most.")] = None
    runs_95: Annotated[
        int | None, whole_option("--runs-95", "Runs that 95 searches of 100 do not exceed.")
    ] = None
    winner: Annotated[
        str | None,
        typer.Option(
            "--winner",
            metavar="TEXT",
            help="What is asked of it: good=0.05,chance=0.9 hits the best 5 % of candidates with "
            "that chance; rank=0.1 is among the best 10 % on average; rank_of=geometric:mean=30 as "
            "good as with that law of K; none=0.01 is the chance of no release, at most.",
        ),
    ] = None


class Accounted(NamedTuple):
    """What is released of the data: a search, several, and what is released beside them."""

    base: Annotated[
        str | None, typer.Option("--base", metavar="TEXT", help="One run; see jaxsel list bases.")
    ] = None
    repetitions: Annotated[
        str | None, typer.Option("--repetitions", metavar="TEXT", help="How K is drawn.")
    ] = None
    drawn: DrawnOption = INDEPENDENTLY
    times: Annotated[int, whole_option("--times", "So many such searches, on the same data.")] = 1
    search: Annotated[
        list[Path] | None,
        typer.Option(
            "--search", metavar="FILE.toml", help="More searches, e.g. later.toml; repeatable."
        ),
    ] = None
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", metavar="BASE", help="Released as it is, too; repeatable."),
    ] = None
    score_noise: Annotated[
        float | None,
        typer.Option(
            "--score-noise",
            help="Standard deviation on the count of validation examples that scores a run.",
        ),
    ] = None

    @property
    def is_several(self) -> bool:
        """Whether more than one search is released."""
        return bool(self.times != 1 or self.search or self.beside)


def one_search(command: str, base: str | None, repetitions: str | None) -> tuple[str, str]:
    """The base and the law of K of a command that needs both.

    Args:
      command: the command, whose help the error message names.
      base, repetitions: the options; None where one is not given.

    Raises:
      InputError: if one is missing.
    """
    if base is None or repetitions is None:
        missing = "--base" if base is None else "--repetitions"
        raise InputError(f"{missing} is missing; see jaxsel {command} --help")
    return base, repetitions
