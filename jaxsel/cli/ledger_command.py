"""jaxsel ledger: what all private searches of a data set guarantee together."""

import math
from pathlib import Path
from typing import Annotated

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits, whole_option
from jaxsel.cli.options import as_command
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import check_output
from jaxsel.language.default_delta import DELTA

_HELP = """Says what all private searches of a data set guarantee together, and lists them.

The file is what --ledger of jaxsel tune, and ledger= of jaxsel.PrivateSearch, name. Each search
is in it from before its first run on, whatever became of it. The total is for a record of
whatever role in each: one that trains in a search may be scored in the next.

--add enters something that was released elsewhere, of a base as in jaxsel account, before the
next search: a published statistic, a model. It is refused if all together exceed the budget of
FILE:budget=3.

--relation says which data sets are neighbours, in what is added; or, as ENTRY=RELATION, in an
entry that does not say, as those of version 0.2.0 do not. Searches of unlike relations do not add
up.

"FILE:budget=3,chosen=on the way", with the first entry, makes a ledger of searches of which each
may be chosen by what earlier ones released. Other ledgers assume that none is."""


@as_command()
def ledger_command(
    ledger: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The ledger; with --add, FILE:data=NAME at first, and :budget=3 for the largest "
            "epsilon with what is added.",
        ),
    ],
    delta: Annotated[
        float | None,
        typer.Option("--delta", help=f"Of the total.  [default: {DELTA:g}, or that of the ledger]"),
    ] = None,
    add: Annotated[
        str | None,
        typer.Option(
            "--add", metavar="BASE", help="Enter a release: its base, see jaxsel list bases."
        ),
    ] = None,
    repetitions: Annotated[
        str | None,
        typer.Option("--repetitions", metavar="TEXT", help="Of a search that is added: law of K."),
    ] = None,
    times: Annotated[
        int | None, whole_option("--times", "How often it was released.  [default: 1]")
    ] = None,
    words: Annotated[
        str | None, typer.Option("--words", help="Who made what is added, and what it is.")
    ] = None,
    relation: Annotated[
        list[str] | None,
        typer.Option("--relation", metavar="[ENTRY=]RELATION", help="Which data are neighbours."),
    ] = None,
    json: JsonOption = False,
) -> None:
    with bad_input_exits():
        from jaxsel.host.progress import spinner
        from jaxsel.search import ledger as ledgers
        from jaxsel.search.declarations import read_ledger

        use = read_ledger(ledger)
        if use is None:
            raise InputError("nothing says which ledger; give its file")
        file, data, budget, chosen = use
        file = Path(file)
        of_added = {
            "--repetitions": repetitions,
            "--times": times,
            "--words": words,
            "budget": budget,
            "chosen": chosen,
        }
        given = [name for name, value in of_added.items() if value is not None]
        if add is None and given:
            raise InputError(f"{given[0]} says something of what --add enters; give --add")
        check_output("FILE", file, makes_folders=True)
        stated, added = _relations(relation or [], add is not None)
        if add is None or data is None:
            ledgers.read(file, data)
        for entry, name in stated:
            ledgers.state_relation(file, entry, name)
        with spinner("adding up the searches"):
            if add is not None:
                ledgers.add(
                    file,
                    data,
                    add,
                    repetitions,
                    1 if times is None else times,
                    relation=added,
                    words=words or "",
                    epsilon=math.inf if budget is None else budget,
                    delta=_delta(file, delta),
                    chosen=chosen,
                )
            found = ledgers.read(file, data)
            waiting = [each.search for each in found.entries if each.relation is None]
            # What was stated is written; a total that waits for more of it is no refusal.
            is_open = bool(stated and waiting and len(found.entries) > 1)
            total = None if is_open else found.together(_delta(file, delta))
    if json:
        said = {"data": found.data, "epsilon": None} if total is None else total.as_record()
        print_json({**said, "not_stated": waiting, "entries": found.entries})
        return
    if total is None:
        sentences = [
            "The total waits for the relation of the others: give --relation "
            f"{waiting[0]}=RELATION, and so on for each that is not stated."
        ]
    else:
        sentences = total.sentences()
    for sentence in sentences:
        say(sentence)
    table = found.summary()
    print_table(table.sentence, table.columns, table.rows)


def _delta(file: Path, given: float | None) -> float:
    """The delta that is asked for: that of a budget that is fixed, or the default."""
    from jaxsel.search import ledger as ledgers

    if given is not None or not file.expanduser().exists():
        return DELTA if given is None else given
    fixed = ledgers.read(file).filter
    return DELTA if fixed is None else fixed.delta


def _relations(texts: list[str], adds: bool) -> tuple[list[tuple[str, str]], str | None]:
    """What is stated of entries, and of what is added."""
    stated, added = [], None
    for text in texts:
        entry, equals, name = text.rpartition("=")
        if equals:
            stated.append((entry, name))
        elif not adds:
            raise InputError(
                f"--relation {text} does not say of which entry; write ENTRY={text}, or give --add"
            )
        elif added is not None:
            raise InputError("what is added has one relation; give --relation once")
        else:
            added = name
    return stated, added


ledger_command.__doc__ = _HELP
