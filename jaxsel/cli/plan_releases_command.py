"""jaxsel plan-releases: the noise with which a mechanism may be released so often."""

from typing import Annotated

import typer

from jaxsel.cli.arguments import (
    JsonOption,
    SettingsArgument,
    bad_input_exits,
    complete_mechanisms,
    read_settings,
    whole_option,
)
from jaxsel.cli.options import as_command
from jaxsel.cli.output import print_json, say
from jaxsel.language.default_delta import DELTA, note

HELP = """The least noise with which so many releases of a mechanism keep a budget.

jaxsel plan-releases stable_top_k --epsilon 3 --delta 1e-6 --releases 100

Finds the mechanism's epsilon, rho or noise scale, and prints the theorem, the neighbours that
it is for, and the commands that simulate and audit one release."""


@as_command()
def plan_releases_command(
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM",
            help="A name of jaxsel list mechanisms.",
            autocompletion=complete_mechanisms,
        ),
    ],
    epsilon: Annotated[float, typer.Option("--epsilon", help="Of all releases together.")],
    settings: SettingsArgument = None,
    delta: Annotated[
        float | None,
        typer.Option("--delta", help=f"Of all releases together, in [0, 1).  [default: {DELTA:g}]"),
    ] = None,
    releases: Annotated[int, whole_option("--releases", "How many.")] = 1,
    json: JsonOption = False,
) -> None:
    """The least noise with which so many releases of a mechanism keep a budget."""
    from jaxsel.questions.plan_releases import plan_releases

    with bad_input_exits():
        found = plan_releases(
            mechanism,
            epsilon=epsilon,
            delta=DELTA if delta is None else delta,
            releases=releases,
            settings=read_settings(settings),
        )
    if json:
        print_json(found.as_record())
        return
    for sentence in found.sentences():
        say(sentence)
    if delta is None and found.delta > 0.0:
        say(note())
