"""Printing for people, lines for pipes, or one JSON document for scripts."""

import contextlib
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

from jaxsel.host.progress import make_room, note, silence
from jaxsel.language import printing

if TYPE_CHECKING:
    from jaxsel.questions.account_grid import GridCost
    from jaxsel.questions.cost import Cost


# Whether this command line asks for a JSON document, and has none yet.
_document = {"due": False}


def begin(json: bool) -> None:
    """Says, when a command line starts, whether its answer is to be one JSON document."""
    _document["due"] = json


def print_json(document: Any) -> None:
    """Prints one JSON document on standard output, and nothing else."""
    text = json.dumps(printing.plain(document), indent=2, allow_nan=False)
    _document["due"] = False
    write(text + "\n")


def write(text: str) -> None:
    """Writes text on standard output; on a terminal, where a line says what is being done."""
    make_room()
    sys.stdout.write(text)


def print_refusal(sentence: str, status: int) -> None:
    """Prints {"error": the sentence, "exit": the status}, if a document is due."""
    if _document["due"]:
        print_json({"error": sentence, "exit": status})


def refuse(sentence: str, status: int) -> NoReturn:
    """Ends the command with a sentence on standard error, and with ``--json`` a document, too."""
    print_refusal(sentence, status)
    make_room()
    try:
        sys.stderr.write(f"jaxsel: {sentence}\n")
        sys.stderr.flush()
    except OSError:  # nobody can read the sentence; the status, and the document, say it
        discard(sys.stderr)
    raise SystemExit(status)


def discard(stream: TextIO) -> None:
    """Lets what is left in a stream's buffer go nowhere: Python would end with 120 for it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _width() -> int | None:
    # Piped output is read by other programs and in logs: never cut it at 80 columns.
    return None if sys.stdout.isatty() else 160


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table on standard output."""
    from rich.table import Table

    say(title)
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*[printing.cell(item) for item in row])
    print_drawing(table)


def print_drawing(drawing: Any) -> None:
    """Prints what rich draws: as one text, since rich ends a closed pipe with status 1."""
    from rich.console import Console

    console = Console(width=_width(), markup=False)
    with console.capture() as drawn:
        console.print(drawing)
    write(drawn.get())


def print_cost(
    found: "Cost | GridCost", json: bool, others: printing.Summary | None = None
) -> None:
    """Prints what is proved; exit status 1 if nothing is.

    Args:
      found: what is proved.
      json: as JSON.
      others: the bounds that prove nothing, and why (``Cost.others``), to be printed, too.
    """
    if json:
        lacking = {} if others is None else {"lacking": {row[0]: row[1] for row in others.rows}}
        print_json({**found.as_record(), **lacking})
    else:
        for sentence in found.sentences():
            say(sentence)
        table = found.summary()
        if table.rows:
            print_table("Every bound that applies", table.columns, table.rows)
        if others is not None:
            print_table("Bounds that prove nothing here", others.columns, others.rows)
    if not found.is_proved:
        raise typer.Exit(1)


def warn_of_former(former: str, today: str) -> None:
    """Says on standard error what is written today in place of something of 0.2.0."""
    note(f"{former} is {today} now")


def say(text: str) -> None:
    """Prints text on standard output, folded to the width of the terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 160
    for line in text.split("\n"):
        write(textwrap.fill(line, width, break_on_hyphens=False) + "\n")
    sys.stdout.flush()  # a reader of a pipe sees the progress of long work at once


def _entry(columns: Sequence[str], row: Sequence[str], prose: int, width: int) -> str:
    """A row on several lines: its short cells first, then each cell of prose below them."""
    head = len(columns) - prose
    lines = ["  ".join(filter(None, row[:head]))]
    for name, text in zip(columns[head:], row[head:], strict=True):
        label = "" if prose == 1 else f"{name}: "
        lines += textwrap.wrap(
            label + text,
            max(width - 4, 20),
            break_on_hyphens=False,
            initial_indent="    ",
            subsequent_indent="    ",
        )
    return "\n".join(lines)


def print_listing(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, prose: int = 1) -> None:
    """Prints many rows: in a pager on a terminal, elsewhere each on a line with tabs.

    Args:
      columns: the names of the columns.
      rows: the cells.
      prose: how many of the last columns are prose, to be folded.
    """
    cells = [[" ".join(printing.cell(item).split()) for item in row] for row in rows]
    if not sys.stdout.isatty():
        sys.stdout.writelines("\t".join(row) + "\n" for row in cells)
        return
    size = shutil.get_terminal_size()
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    if sum(widths) + 2 * len(widths) <= size.columns:
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in cells
        ]
    else:
        lines = [_entry(columns, row, prose, size.columns) for row in cells]
    text = "\n".join(line.rstrip() for line in lines)
    if text.count("\n") + 1 < size.lines:
        write(text + "\n")
        return
    import pydoc

    # less quits if all fits on one screen, shows colours, and leaves the text on the screen.
    os.environ.setdefault("LESS", "FRX")
    with silence():
        pydoc.pager(text + "\n")
