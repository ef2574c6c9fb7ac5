"""jaxsel claim: a bound as a number."""

import inspect
from typing import Annotated

import typer

from jaxsel.cli.arguments import (
    JsonOption,
    SettingsArgument,
    UnusedSeedOption,
    bad_input_exits,
    complete_claims,
    former_names_said,
    read_settings,
)
from jaxsel.cli.output import print_json, say


def claim_command(
    identity: Annotated[
        str,
        typer.Argument(metavar="ID", help="For example PS-Thm2.", autocompletion=complete_claims),
    ],
    settings: SettingsArgument = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Evaluate a bound: jaxsel claim PS-Thm2 base=zcdp:rho=0.1 law=geometric:mean=10.

    Prints the statement, the parameters used, and the number that it gives; jaxsel show
    says which parameters there are.
    """
    del seed
    from jaxsel.catalogue import find_claim
    from jaxsel.language.entry import shown

    with bad_input_exits():
        with former_names_said():
            claim = find_claim(identity)
            arguments = claim.read(read_settings(settings))
        value = claim.evaluate(**arguments)
    if json:
        print_json(
            {
                "id": claim.id,
                "statement": claim.statement,
                "attained": claim.attained,
                "source": claim.source,
                "holds": claim.holds,
                "correction": claim.correction,
                "arguments": {
                    name: argument if isinstance(argument, int | float) else shown(argument)
                    for name, argument in arguments.items()
                },
                "value": value,
            }
        )
        return
    say(f"{claim.id}  ({claim.source})")
    say(claim.told)
    if not claim.holds:
        say(f"{claim.status}. {claim.correction or ''}")
    number = inspect.getdoc(claim.evaluate)
    say(f"\n{number}\n" if number else "")
    for name, argument in arguments.items():
        say(f"  {name} = {shown(argument)}")
    say(f"value: {value:.10g}")
