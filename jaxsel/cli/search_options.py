"""What commands about a search share: options for its size, its winner and its base."""

from typing import Annotated

import typer

from jaxsel.cli.arguments import whole_option
from jaxsel.host.errors import InputError
from jaxsel.language.default_delta import DELTA

RepetitionsOption = Annotated[
    str | None, typer.Option("--repetitions", metavar="TEXT", help="How K is drawn.")
]
TimesOption = Annotated[int, whole_option("--times", "So many such searches, on the same data.")]
SearchDeltaOption = Annotated[
    float | None, typer.Option("--delta", help=f"Of the search, in [0, 1).  [default: {DELTA:g}]")
]
ScoreNoiseOption = Annotated[
    float | None,
    typer.Option(
        "--score-noise",
        help="Standard deviation on the count of validation examples that scores a run.",
    ),
]
RunsOption = Annotated[float | None, typer.Option("--runs", help="Runs on average, at most.")]
Runs95Option = Annotated[
    int | None, whole_option("--runs-95", "Runs that 95 searches of 100 do not exceed.")
]
RankOption = Annotated[
    float | None, typer.Option("--rank", help="Expected rank of the winner at most, 0.1: top 10 %.")
]
RankOfOption = Annotated[
    str | None,
    typer.Option("--rank-of", metavar="LAW", help="As good as this law, e.g. geometric:mean=30."),
]
NoneOption = Annotated[float | None, typer.Option("--none", help="Chance of no release, at most.")]


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
