"""Printing for people, or one JSON document for scripts."""

import enum
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table


def plain(value: Any) -> Any:
    """JSON-ready data: records become objects, numbers stay numbers, inf is a string."""
    if isinstance(value, enum.Enum):
        return value.value
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and fields is not None:
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity
    if callable(value):
        return getattr(value, "__name__", str(value))
    return value


def rounded_up(epsilon: float) -> float:
    """Four decimals, never below the proven number."""
    return math.ceil(epsilon * 1e4) / 1e4 if math.isfinite(epsilon) else epsilon


def print_json(document: Any) -> None:
    """One JSON document on standard output, and nothing else."""
    sys.stdout.write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")


def _width() -> int | None:
    # Piped output is read by other programs and in logs: never cut it at 80 columns.
    return None if sys.stdout.isatty() else 160


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """A table on standard output."""
    say(title)
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*[_cell(item) for item in row])
    Console(width=_width(), markup=False).print(table)


def _cell(item: Any) -> str:
    if isinstance(item, float):
        return f"{item:.6g}"
    return "" if item is None else str(item)


def say(text: str) -> None:
    """A line on standard output."""
    Console(width=_width(), markup=False, highlight=False).print(text)
