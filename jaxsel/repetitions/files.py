"""Reads and writes laws of K as JSON with the single key "law", a table or a line of text."""

import json
from collections.abc import Callable
from pathlib import Path

from jaxsel.host.errors import InputError
from jaxsel.host.reading import parse_json, read_text
from jaxsel.repetitions.record import Repetitions
from jaxsel.repetitions.table import table_law


def _wrong(path: str | Path, why: str) -> InputError:
    return InputError(
        f"{path} {why}; a law of K is written "
        '{"law": {"1": 0.2, "3": 0.8}} or {"law": "geometric:mean=20"}'
    )


def read(path: str | Path, parse: Callable[[str], Repetitions]) -> Repetitions:
    """Reads a law from a file.

    Args:
      path: a JSON file, as ``save`` writes it. {"1": 0.2, ...} alone is accepted, and
        {"counts": [...], "probabilities": [...]}.
      parse: text -> law, for a law that is given as text.

    Raises:
      InputError: if the file cannot be read, or does not contain a law.
    """
    text = read_text(path, "JSON")
    try:
        document = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"is not JSON ({error})") from None
    inner = document.get("law", document) if isinstance(document, dict) else None
    if isinstance(inner, str):
        if inner.strip().startswith("file"):
            raise _wrong(path, "names another file")
        return parse(inner)
    if not isinstance(inner, dict):
        raise _wrong(path, "holds no law")
    if set(inner) == {"counts", "probabilities"}:
        return table_law(inner["counts"], inner["probabilities"])
    # int would take 1_0 and other writings of digits, and a truth value is a number, too.
    if not all(count.isascii() and count.isdigit() for count in inner):
        raise _wrong(path, "has a count that is no whole number")
    if not all(type(each) in (int, float) for each in inner.values()):
        raise _wrong(path, "has probabilities that are none: they must be numbers")
    return table_law([int(count) for count in inner], list(inner.values()))


def save(law: Repetitions, path: str | Path) -> None:
    """Writes a law to a file, which "file:PATH" names wherever a law of K is expected.

    Args:
      law: the law of K.
      path: the file; an existing one is replaced.

    Raises:
      InputError: if the file cannot be written.
    """
    written = dict(law.parameters) if law.family == "pmf" else law.name
    text = json.dumps({"law": written, "mean_runs": law.mean}, indent=1) + "\n"
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
