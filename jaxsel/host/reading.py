"""Files that a user gives: text and JSON, read strictly.

A reader that guesses says something else than its file: of a key that stands twice JSON keeps the
last, and NaN, which JSON has not, passes Python's reader. Both are refused here.
"""

import json
from pathlib import Path
from typing import Any

from jaxsel.host.errors import InputError


def read_text(path: str | Path, what: str = "text") -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Args:
      path: the file.
      what: what it must be, for the message.

    Raises:
      InputError: if it cannot be read, or is no text.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file; it must be {what}") from None
    except ValueError:  # a name that no file can have
        raise InputError(f"cannot read {str(path)!r}: it is no file's name") from None


def parse_json(text: str) -> Any:
    """The document of a JSON text.

    Raises:
      ValueError: if it is not JSON, has a key twice, or a number that JSON has not.
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def read_json(path: str | Path) -> Any:
    """The document of a JSON file.

    Raises:
      InputError: if it cannot be read; as ``parse_json``.
    """
    text = read_text(path, "JSON")
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice")
        found[key] = value
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")
