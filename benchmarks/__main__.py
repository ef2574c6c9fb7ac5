"""``python -m benchmarks``: the table of goals, or one JSON document."""

import argparse
import json
import sys

from rich.console import Console
from rich.table import Table

from benchmarks import GOALS, GoalResult, run
from jaxsel.host.errors import InputError


def table(results: list[GoalResult]) -> Table:
    """The results as a table: one row per number, with missed goals marked."""
    found = Table()
    for title, justify in (
        ("goal", "right"),
        ("what", "left"),
        ("measured", "right"),
        ("threshold", "right"),
        ("", "left"),
        ("detail", "left"),
    ):
        found.add_column(title, justify=justify)  # type: ignore[arg-type]
    for result in results:
        if result.measured is None:
            measured, verdict = "-", "not measured"
        else:
            measured = f"{result.measured:.4g}"
            verdict = "met" if result.met else "MISSED"
        threshold = "-"
        if result.threshold is None:
            verdict = ""
        else:
            sign = ">=" if "at least" in result.unit else "<="
            threshold = f"{sign} {result.threshold:g}"
        row = (str(result.goal), result.name, measured, threshold, verdict, result.detail)
        found.add_row(*row)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Runs the bench; the status is 0 even if goals are missed, 2 for bad arguments."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    known = "; ".join(f"{goal}: {what}" for goal, what in GOALS.items())
    parser.add_argument("--goals", help=f"comma-separated numbers, default all ({known})")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args(arguments)
    try:
        goals = _goals(chosen.goals)
        results = run(goals, repeats=chosen.repeats, seconds=chosen.seconds)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps([result._asdict() for result in results], indent=1))
    else:
        Console().print(table(results))
    return 0


def _goals(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--goals is {text!r}; it must be numbers separated by commas") from None


if __name__ == "__main__":
    sys.exit(main())
