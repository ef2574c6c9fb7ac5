"""The table of speeds in the documentation: ``python -m benchmarks.table RECORD PAGE``.

Replaces the text between two marks of a page (``docs/speed.md``) by the table of a record
that ``jaxsel bench --all --record RECORD`` wrote. It measures nothing.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.mechanisms import read
from benchmarks.operations import ARITHMETIC, HASH, SHORT_LOG
from jaxsel.host.errors import InputError

BEGIN, END = "<!-- table -->", "<!-- end of table -->"
COLUMNS = (
    "mechanism",
    "method",
    "M trials/s",
    "share of limit",
    "times NumPy",
    "hashes",
    "float32 functions",
    "float64 functions",
    "float64 arithmetic",
)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def lines(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The cells of each row, as text; a star marks the method that is the default."""
    found = []
    for row in sorted(rows, key=lambda row: (row["mechanism"], not row["default"])):
        operations = row["operations"]
        functions = {
            dtype: sum(n for kind, n in operations.items() if kind.endswith(dtype))
            for dtype in ("float32", "float64")
        }
        share = row["of_limit"]
        numbers = (
            row["rate"] / 1e6,
            share,
            row["over_numpy"],
            operations.get(HASH, 0.0),
            functions["float32"] + operations.get(SHORT_LOG, 0.0),
            functions["float64"],
            operations.get(ARITHMETIC, 0.0),
        )
        method = row["method"] + ("*" if row["default"] and row["method"] else "")
        cells = ("-" if number is None else _number(number) for number in numbers)
        found.append([row["mechanism"], method, *cells])
    return found


def markdown(document: Mapping[str, Any]) -> str:
    """The table, and what it was measured on."""
    machine = document["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items())
    loads = ", ".join(f"{load:g}" for load in machine["load"])
    head = (
        f"{machine['date']}, {machine['processor']}, one thread of "
        f"{machine['processors']} (load {loads}); {versions}. Fastest of "
        f"{document['repeats']} interleaved repeats of {document['seconds']:g} s of "
        "processor time."
    )
    table = [COLUMNS, ["---"] * 2 + ["---:"] * (len(COLUMNS) - 2)]
    table += lines(document["rows"])
    return "\n".join([head, "", *(f"| {' | '.join(row)} |" for row in table)])


def replaced(page: str, document: Mapping[str, Any]) -> str:
    """The page with the table of this document.

    Raises:
      InputError: if one of the two marks is not on the page.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{markdown(document)}\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Rewrites the page; the status is 2 for bad arguments."""
    if len(arguments) != 2:
        print("usage: python -m benchmarks.table RECORD PAGE", file=sys.stderr)
        return 2
    record, page = map(Path, arguments)
    try:
        text = replaced(page.read_text(encoding="utf-8"), read(record))
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
