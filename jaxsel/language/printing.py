"""How results look to people: a sentence and a small table, as text or as HTML."""

import decimal
import enum
import html
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

_MOST_ROWS = 25
_WIDEST_CELL = 60


class Summary(NamedTuple):
    """A result, ready to be printed.

    Attributes:
      sentence: the result in words.
      columns, rows: a table of it.
      stated: whether the sentence is a statement with formulas, which HTML shows as TeX.
    """

    sentence: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    stated: bool = False


def cell(item: Any) -> str:
    """A cell of a table: a number to six digits, nothing for None, else the value as text."""
    if isinstance(item, float):
        return f"{item:.6g}"
    return "" if item is None else str(item)


def rounded_up(epsilon: float) -> float:
    """Rounded up to four decimals, so that it is never below the proven number."""
    # A number of more than eleven digits before the point has no four after it.
    return math.ceil(epsilon * 1e4) / 1e4 if abs(epsilon) < 1e11 else epsilon


def digits_up(number: float, digits: int = 4) -> float:
    """The number rounded up to that many significant digits."""
    return _to_digits(number, digits, decimal.ROUND_CEILING)


def digits_down(number: float, digits: int = 4) -> float:
    """The number rounded down to that many significant digits."""
    return _to_digits(number, digits, decimal.ROUND_FLOOR)


def _to_digits(number: float, digits: int, rounding: str) -> float:
    context = decimal.Context(prec=digits, rounding=rounding)
    return float(context.create_decimal_from_float(number))


def _cells(summary: Summary) -> tuple[list[list[str]], int]:
    shown = [[cell(item) for item in row] for row in summary.rows[:_MOST_ROWS]]
    return shown, len(summary.rows) - len(shown)


def text(summary: Summary) -> str:
    """The sentence, and the table in aligned columns."""
    rows, left_out = _cells(summary)
    if not rows:
        return summary.sentence
    table = [list(summary.columns), *rows]
    # Long cells do not widen their column.
    widths = [
        max(min(len(item), _WIDEST_CELL) for item in column) for column in zip(*table, strict=True)
    ]
    lines = [
        "  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    if left_out:
        lines.append(f"({left_out} more)")
    return "\n".join([summary.sentence, *(f"  {line}" for line in lines)])


def as_html(summary: Summary) -> str:
    """The sentence as a paragraph, and the table."""
    rows, left_out = _cells(summary)
    sentence = summary.sentence
    if summary.stated:
        from jaxsel.language.formulas import tex

        sentence = tex(sentence)
    found = "".join(f"<p>{html.escape(line)}</p>" for line in sentence.splitlines())
    if rows:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in summary.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(item)}</td>" for item in row) + "</tr>"
            for row in rows
        )
        found += f"<table><tr>{head}</tr>{body}</table>"
    return found + (f"<p>({left_out} more)</p>" if left_out else "")


def source_place(function: Callable[..., Any]) -> str:
    """File and line of a function, with its decorators: "/folder/file.py:12"."""
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def plain(value: Any) -> Any:
    """JSON-ready data: records become objects, numbers stay numbers; inf and NaN are null,
    since JSON has none."""
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
        return None
    if callable(value):
        return getattr(value, "__name__", str(value))
    return value


Class = TypeVar("Class", bound=type)


def printed(cls: Class) -> Class:
    """Decorates a class that has a method ``summary``: its objects print as that summary."""
    cls.__str__ = cls.__repr__ = lambda self: text(self.summary())  # type: ignore
    cls._repr_html_ = lambda self: as_html(self.summary())  # type: ignore[attr-defined]
    return cls
