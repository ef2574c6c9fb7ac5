"""``python -m benchmarks.audit_tables``: how good the auditor of functions is, in a table."""

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.audit_tables import TABLES
from jaxsel.host.errors import InputError
from jaxsel.language import printing
from jaxsel.language.domains import positive, whole


def _read(domain: Any) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return domain.read("it", text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def main(words: list[str] | None = None) -> None:
    """Makes the table that is asked for; exit status 1 if its bar is missed, 2 for bad usage."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audit_tables",
        description="Judges the auditor of functions; exit status 1 if a table misses its bar.",
        epilog=" ".join(f"{name}: {shows}" for name, shows in TABLES.items()),
    )
    parser.add_argument("table", choices=TABLES)
    count = _read(whole(at_least=1))
    parser.add_argument("--trials", type=count, help="of each audit, a side; 1e6 is a number")
    parser.add_argument("--seconds", type=_read(positive()), help="at most, an audit")
    parser.add_argument("--runs", type=count, help="audits of each; zoo has one")
    parser.add_argument("--seed", type=_read(whole(at_least=0)), default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args(words)
    made = importlib.import_module(f"benchmarks.audit_tables.{asked.table}")
    trials, seconds = asked.trials or made.TRIALS, asked.seconds or made.SECONDS
    rows = []
    try:
        for row in made.rows(trials, asked.seed, seconds, asked.runs or made.RUNS):
            rows.append(row)
            if not asked.json:
                said = (f"{what} {printing.cell(found)}" for what, found in row.items())
                print("; ".join(said), flush=True)
        found, reached = made.judged(rows)
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(error.status)
    if asked.json:
        document = {"table": asked.table, "trials": trials, "seed": asked.seed, "rows": rows}
        print(json.dumps(printing.plain({**document, "found": found}), indent=2))
    else:
        print(found)
        table = Table(*(rows[0] if rows else ()))
        for row in rows:
            table.add_row(*map(printing.cell, row.values()))
        Console().print(table)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
