"""Settings as bare text, for entries that do not declare domains yet."""

import dataclasses
from typing import Any

from jaxsel.domains import Domain
from jaxsel.errors import InputError


@dataclasses.dataclass(frozen=True)
class Option(Domain):
    """One name=value setting: its default as text, and what it means."""

    default: Any = ""
    help: str = ""

    def __init__(self, default: str, help: str) -> None:
        object.__setattr__(self, "default", default)
        object.__setattr__(self, "help", help)

    def describe(self) -> str:
        """See ``Domain``."""
        return "text"

    def read(self, name: str, value: Any) -> Any:
        """See ``Domain``."""
        return value


def read_number(name: str, text: str) -> float:
    """One number, in Python's notation (1e-6, inf, nan are numbers; checks come later)."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} is {text!r}; it must be a number") from None


def read_numbers(name: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    return [read_number(name, part) for part in text.split(",")]
