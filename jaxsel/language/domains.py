"""Domains: which values a parameter may take, declared once.

A domain describes itself (help texts, the catalogue), turns text into a value (the command
line) and refuses anything else in one sentence. Domains stand in the annotations of the function
that takes the parameters: the formula of a claim, the entry or the factory of a mechanism, a law::

    def bound(*, epsilon: Annotated[float, positive("of one run")] = 1.0): ...

NaN is refused everywhere, and infinity wherever the end of the interval is not a closed
infinity (``at_most=math.inf``).

Example:
    >>> from jaxsel import domains
    >>> share = domains.probability("of the runs that succeed")
    >>> share.describe()
    'a number in (0, 1)'
    >>> share.read("share", "0.25")
    0.25
    >>> share.read("share", 2)
    Traceback (most recent call last):
    jaxsel.host.errors.InputError: share is 2; it must be a number in (0, 1)
"""

import dataclasses
import difflib
import functools
import inspect
import math
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsel.host.errors import InputError, on_one_line
from jaxsel.host.former_names import former_names

__all__ = [
    "Choice",
    "Domain",
    "Number",
    "Numbers",
    "Parsed",
    "Whole",
    "choice",
    "number",
    "numbers",
    "parsed",
    "positive",
    "probability",
    "whole",
]


def nearest(name: str, known: Iterable[str], most: int = 1) -> str:
    """A hint at the closest known name, or a few of them, or nothing."""
    by_lower = {other.lower(): other for other in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), most, 0.6)
    return f"; did you mean {', '.join(by_lower[one] for one in found)}?" if found else ""


def _absent(value: object) -> bool:
    """Whether a setting is left out: None, or an empty text."""
    return value is None or (isinstance(value, str) and not value)


def _shown(value: object) -> str:
    """A value for an error message; text is quoted unless it is a number."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return on_one_line(repr(value))
    return on_one_line(value)


@dataclasses.dataclass(frozen=True)
class Domain:
    """The values that one parameter may take.

    Attributes:
      help: what the parameter means.
      default: its default, as text or as a value; None where there is none. (The defaults
        of a function's parameters are those of its signature instead.)
    """

    help: str = ""
    default: Any = None

    def describe(self) -> str:
        """What is allowed, for people: "number in (0, 1)"."""
        raise NotImplementedError

    def read(self, name: str, value: Any) -> Any:
        """Converts a value, or a text, to a value of the domain.

        Args:
          name: of the parameter, for the error message.
          value: what was given for it.

        Raises:
          InputError: if it is outside the domain.
        """
        raise NotImplementedError

    def refuse(self, name: str, value: Any) -> typing.NoReturn:
        """Raises InputError, which says what was given and what is allowed."""
        raise InputError(f"{name} is {_shown(value)}; it must be {self.describe()}")


@dataclasses.dataclass(frozen=True)
class _Interval(Domain):
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = True
    high_open: bool = True

    def _interval(self) -> str:
        if self.low == -math.inf and self.high == math.inf and self.high_open:
            return ""
        left, right = "(["[not self.low_open], ")]"[not self.high_open]
        return f" in {left}{self.low:g}, {self.high:g}{right}"

    def _inside(self, number: float) -> bool:
        above = number > self.low if self.low_open else number >= self.low
        below = number < self.high if self.high_open else number <= self.high
        return above and below  # both False for NaN

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, bool | np.bool_ | bytes):
            self.refuse(name, value)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            self.refuse(name, value)
        if not self._inside(number):
            self.refuse(name, value)
        return number


@dataclasses.dataclass(frozen=True)
class Number(_Interval):
    """Real numbers of an interval."""

    def describe(self) -> str:
        """The interval in words, as "a number in (0, 1)"."""
        return f"a number{self._interval()}" if self._interval() else "a finite number"

    def read(self, name: str, value: Any) -> float:
        """Converts a number, or a text of one, to a float in the interval.

        Arguments and errors as of ``Domain.read``.
        """
        return self._number(name, value)


@dataclasses.dataclass(frozen=True)
class Whole(_Interval):
    """Whole numbers of an interval; 1e6 is one."""

    def describe(self) -> str:
        """The interval in words, as "a whole number >= 1"."""
        if self.high == math.inf:
            end = "" if self.low == -math.inf else f" >= {self.low:g}"
            return f"a whole number{end}"
        return f"a whole number{self._interval()}"

    def read(self, name: str, value: Any) -> int:
        """Converts a whole number, or a text of one, to an int in the interval.

        A float or a text such as 1e6 is accepted if its value is whole. Arguments and errors as of
        ``Domain.read``.
        """
        if isinstance(value, str):
            try:
                value = int(value)
            except ValueError:
                pass
        number = self._number(name, value)
        if number != math.floor(number):
            self.refuse(name, value)
        return int(value) if isinstance(value, int | np.integer) else int(number)


@dataclasses.dataclass(frozen=True)
class Numbers(_Interval):
    """Lists of real numbers of an interval, separated by commas in text."""

    size: int = 1

    def describe(self) -> str:
        """The allowed lists in words, as "at least 2 numbers in (0, 1) separated by commas"."""
        least = "numbers" if self.size == 1 else f"at least {self.size} numbers"
        return f"{least}{self._interval()} separated by commas"

    def read(self, name: str, value: Any) -> np.ndarray:
        """Converts a sequence, or a text of numbers between commas, to Float64["values"].

        Checks their number, and that each is in the interval. Arguments and errors as of
        ``Domain.read``.
        """
        if isinstance(value, str):
            parts: Any = value.split(",")
        else:
            parts = np.atleast_1d(np.asarray(value, dtype=object)).ravel().tolist()
        if len(parts) < self.size:
            self.refuse(name, value)
        return np.array([self._number(name, part) for part in parts], dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class Choice(Domain):
    """One of a few words."""

    options: tuple[str, ...] = ()

    def describe(self) -> str:
        """The allowed words, as "one of: gumbel, laplace"."""
        return f"one of: {', '.join(self.options)}"

    def read(self, name: str, value: Any) -> str:
        """Returns the word, one of ``options``; arguments and errors as of ``Domain.read``."""
        if not isinstance(value, str) or value not in self.options:
            self.refuse(name, value)
        return value


@dataclasses.dataclass(frozen=True)
class Parsed(Domain):
    """Values that a parser makes of text, for example laws of K."""

    parse: Callable[[str], Any] = str
    kind: str = "text"

    def describe(self) -> str:
        """The kind of text that the parser takes, in words."""
        return self.kind

    def read(self, name: str, value: Any) -> Any:
        """Parses a text; an object that is no text, number or None is returned as it is.

        Arguments and errors as of ``Domain.read``, besides those of the parser.
        """
        if not isinstance(value, str):
            made = _made_by(self.parse)
            other = made is not None and not isinstance(value, made)
            if other or value is None or isinstance(value, bool | int | float):
                self.refuse(name, value)
            return value
        if not value:
            self.refuse(name, value)
        return self.parse(value)


@functools.cache
def _made_by(parse: Callable[..., Any]) -> type | None:
    """The class of what a parser makes of a text, if its annotation says one."""
    made = typing.get_type_hints(parse).get("return") if inspect.isfunction(parse) else None
    return made if isinstance(made, type) else None


@dataclasses.dataclass(frozen=True)
class Named(Parsed):
    """A domain of a few objects, by name."""

    options: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    def describe(self) -> str:
        """The names of the allowed objects, as "one of: general, monotone"."""
        return f"one of: {', '.join(self.options)}"

    def read(self, name: str, value: Any) -> Any:
        """Returns an allowed object, given its name or the object itself.

        Arguments and errors as of ``Domain.read``.
        """
        if isinstance(value, str) and value in self.options:
            return self.options[value]
        if not any(value is option for option in self.options.values()):
            self.refuse(name, value)
        return value


def _ends(
    above: float | None, at_least: float | None, below: float | None, at_most: float | None
) -> dict[str, Any]:
    ends: dict[str, Any] = {}
    if above is not None:
        ends["low"] = above
    if at_least is not None:
        ends |= {"low": at_least, "low_open": False}
    if below is not None:
        ends["high"] = below
    if at_most is not None:
        ends |= {"high": at_most, "high_open": False}
    return ends


def number(
    help: str = "",
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    default: Any = None,
) -> Number:
    """Finite numbers between the given ends; infinity only where ``at_most`` is infinity."""
    return Number(help, default, **_ends(above, at_least, below, at_most))


def moderate(help: str = "", *, default: Any = None) -> Number:
    """Numbers in [1e-100, 1e100], whose squares, products and quotients of two are floats."""
    return number(help, at_least=1e-100, at_most=1e100, default=default)


def positive(help: str = "", *, default: Any = None) -> Number:
    """Finite numbers above 0."""
    return number(help, above=0.0, default=default)


def probability(help: str = "", *, default: Any = None) -> Number:
    """Numbers in (0, 1)."""
    return number(help, above=0.0, below=1.0, default=default)


def whole(
    help: str = "",
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    default: Any = None,
) -> Whole:
    """Whole numbers between the given ends."""
    return Whole(help, default, **_ends(None, at_least, None, at_most))


def numbers(
    help: str = "",
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    size: int = 1,
    default: Any = None,
) -> Numbers:
    """Lists of at least ``size`` finite numbers between the given ends."""
    ends = _ends(above, at_least, below, at_most)
    return Numbers(help, default, size=size, **ends)


def choice(options: Iterable[str], help: str = "", *, default: Any = None) -> Choice:
    """One of the words ``options``."""
    return Choice(help, default, tuple(options))


def parsed(
    parse: Callable[[str], Any], kind: str, help: str = "", *, default: Any = None
) -> Parsed:
    """Values that ``parse`` makes of text; ``kind`` describes the text in words."""
    return Parsed(help, default, parse, kind)


def named(options: Mapping[str, Any], help: str = "", *, default: Any = None) -> Named:
    """One of a few objects, given by its name or as it is."""
    return Named(help, default, options=options)


def read_values(
    owner: str, given: Mapping[str, Any], domains: Mapping[str, Domain]
) -> dict[str, Any]:
    """The given values and the defaults of the others, without those that are left out.

    Raises:
      InputError: for a name that ``owner`` does not have, or a value outside its domain.
    """
    for name in given:
        if name not in domains:
            allowed = ", ".join(domains) or "none"
            raise InputError(
                f"{owner} has no setting {name!r}; it has: {allowed}{nearest(name, domains)}"
            )
    values = {}
    for name, domain in domains.items():
        value = given.get(name, domain.default)
        if _absent(value) and _absent(domain.default):
            continue
        values[name] = domain.read(name, value)
    return values


if not TYPE_CHECKING:
    _FORMER = ("checked", "parameters", "validated")
    __getattr__ = former_names(
        __name__, {name: f"jaxsel.language.signature.{name}" for name in _FORMER}
    )
