"""name=value text turned into numbers, lists and laws."""

import difflib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jaxsel.errors import InputError

__all__ = ["Option", "nearest", "read_number", "read_numbers", "read_options"]


class Option(NamedTuple):
    """One name=value setting: its default as text, and what it means."""

    default: str
    help: str


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the closest known name, or nothing."""
    found = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {found[0]}?" if found else ""


def read_options(
    owner: str, given: Mapping[str, str], options: Mapping[str, Option]
) -> dict[str, str]:
    """The given settings over the defaults; settings left empty are dropped.

    Raises:
      InputError: for a setting that ``owner`` does not have.
    """
    for name in given:
        if name not in options:
            allowed = ", ".join(options) or "none"
            raise InputError(
                f"{owner} has no setting {name!r}; it has: {allowed}"
                f"{nearest(name, options)}"
            )
    merged = {name: option.default for name, option in options.items()} | dict(given)
    return {name: value for name, value in merged.items() if value != ""}


def read_number(name: str, text: str) -> float:
    """One number, in Python's notation (1e-6, inf, nan are numbers; checks come later)."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} is {text!r}; it must be a number") from None


def read_numbers(name: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    return [read_number(name, part) for part in text.split(",")]
