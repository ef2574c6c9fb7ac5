"""Reads and writes laws of K as JSON with the single key "law", a table or a line of text."""

import json
from collections.abc import Callable
from pathlib import Path

from jaxsel.host.errors import InputError
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
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise _wrong(path, "is not JSON") from None
    inner = document.get("law", document) if isinstance(document, dict) else None
    if isinstance(inner, str):
        if inner.strip().startswith("file"):
            raise _wrong(path, "names another file")
        return parse(inner)
    if not isinstance(inner, dict):
        raise _wrong(path, "holds no law")
    if set(inner) == {"counts", "probabilities"}:
        return table_law(inner["counts"], inner["probabilities"])
    try:
        counts = [int(count) for count in inner]
    except ValueError:
        raise _wrong(path, "has a count that is no whole number") from None
    return table_law(counts, list(inner.values()))


def save(law: Repetitions, path: str | Path, describe: Callable[[Repetitions], str]):
    """Writes a law to a file that ``file:PATH`` reads, exactly.

    Args:
      law: the law of K.
      path: the file; an existing one is replaced.
      describe: law -> text, for laws that are not tables.

    Raises:
      InputError: if the file cannot be written.
    """
    written = dict(law.parameters) if law.family == "pmf" else describe(law)
    text = json.dumps({"law": written, "mean_runs": law.mean}, indent=1) + "\n"
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
