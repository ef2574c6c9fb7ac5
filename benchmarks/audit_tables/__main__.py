"""``python -m benchmarks.audit_tables TABLE``: how good the auditor of functions is, in a table."""

import importlib
from typing import Annotated

import typer

from benchmarks.audit_tables import TABLES
from jaxsel.cli.arguments import JsonOption, SeedOption, bad_input_exits, read_trials, whole_option
from jaxsel.cli.output import begin, print_json, print_table, say
from jaxsel.host.errors import InputError, check_integer
from jaxsel.language import printing
from jaxsel.language.domains import nearest

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command(
    help="Make a table of audits; exit status 1 if its bar is missed.\n\n\b\n"
    + "\n".join(f"{name:12} {shown}" for name, shown in TABLES.items())
)
def audit_table(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="One of those above.")],
    trials: Annotated[str | None, typer.Option("--trials", help="Of each audit, a side.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", help="At most, an audit.")] = None,
    runs: Annotated[int | None, whole_option("--runs", "Audits of each; zoo has one.")] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Makes a table of this folder."""
    begin(json)
    with bad_input_exits():
        if table not in TABLES:
            raise InputError(
                f"there is no table {table!r}{nearest(table, TABLES)}; there are: "
                f"{', '.join(TABLES)}"
            )
        made = importlib.import_module(f"benchmarks.audit_tables.{table}")
        number = made.TRIALS if trials is None else read_trials(trials)
        repeats = made.RUNS if runs is None else check_integer("runs", runs, 1)
        rows = []
        for row in made.rows(number, seed, made.SECONDS if seconds is None else seconds, repeats):
            rows.append(row)
            if not json:
                say("; ".join(f"{what} {printing.cell(found)}" for what, found in row.items()))
        said, reached = made.judged(rows)
        if json:
            print_json(
                {"table": table, "trials": number, "seed": seed, "rows": rows, "found": said}
            )
        else:
            columns = list(rows[0]) if rows else []
            print_table(said, columns, [[row[column] for column in columns] for row in rows])
    raise typer.Exit(0 if reached else 1)


def main(words: list[str] | None = None) -> None:
    """Makes the table that a command line asks for, and ends the process."""
    app(words, prog_name="python -m benchmarks.audit_tables")


if __name__ == "__main__":
    main()
