"""jaxsel optimal: the law of K that costs least."""

from pathlib import Path
from typing import Annotated

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits, whole_option
from jaxsel.cli.options import as_command
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.cli.search_options import WINNER_FORMER, SearchDeltaOption, Size
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import check_output
from jaxsel.host.progress import spinner
from jaxsel.language.default_delta import DELTA, note

HELP = """How many runs should a search make, at random, to cost least?

jaxsel optimal --base gaussian:noise_multiplier=4 --runs 30
--winner rank_of=geometric:mean=30

Of all laws of K that give what is asked, finds the one whose envelope has the least
epsilon, about 6 % less than the best negative binomial. Where another bound proves less of
a law with a name, that law is the answer. Ask for a good --winner
and limit the runs (--runs, --runs-95, --most). Without a word on the winner it has to be as
good, in expected rank, as that of a geometric K with the runs that are allowed.

epsilon is proved for the law that is printed; lower is a certificate: no law of K that
gives what is asked has an envelope below it. --save writes the law to a file that account,
plan, tune and simulate read: K = file:FILE. Takes some seconds."""


def _miss(text: str) -> tuple[str, dict[str, str]]:
    """Turns q=chance, the chance to miss the best share q, into q and the chance to hit it."""
    good, equals, chance = text.partition("=")
    try:
        found = float(good), float(chance)
    except ValueError:
        found = None
    if not equals or found is None:
        raise InputError(
            f"--miss is {text!r}; write --winner good=...,chance=..., the share of good candidates "
            "and the chance to hit one"
        )
    return "--winner", {"good": good, "chance": repr(1.0 - found[1])}


@as_command(former={**WINNER_FORMER, "--miss": _miss})
def optimal_command(
    base: Annotated[str, typer.Option("--base", metavar="TEXT", help="One run, as for account.")],
    size: Size = Size(),
    delta: SearchDeltaOption = None,
    most: Annotated[
        int | None, whole_option("--most", "Runs that no search exceeds; 10000 without --runs.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the law of K.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """How many runs should a search make, at random, to cost least?"""
    from jaxsel import repetitions
    from jaxsel.tuning.planning.optimal import optimal

    with bad_input_exits():
        check_output("--save", save)
        with spinner("looking for the law of K"):
            found = optimal(
                base, delta=DELTA if delta is None else delta, most=most, **size._asdict()
            )
        if save is not None:
            repetitions.save(found.law, save)
    if json:
        print_json(found.as_record())
        return
    for sentence in found.sentences():
        say(sentence)
    if delta is None:
        say(note())
    if rows := found.table():
        print_table("The law of K", ("runs", "probability"), rows)
