"""Names of before: they are read for one release, with a warning that says today's."""

import functools
import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from jaxsel.host.errors import InputError


def warn(former: str, today: str, stacklevel: int = 2) -> None:
    """Warns whoever wrote the former name that it is another now.

    Args:
      former, today: the names, as one writes them.
      stacklevel: as of ``warnings.warn``, counted from the caller.
    """
    warnings.warn(f"{former} is {today} now", DeprecationWarning, stacklevel=stacklevel + 1)


def _at_epsilon(function: Callable[..., Any]) -> Callable[..., Any]:
    """A question whose last argument is the epsilon at which it asks for delta."""

    def asked(*given: Any, **named: Any) -> Any:
        if "epsilon" in named:
            return function(*given, **named)
        return function(*given[:-1], epsilon=given[-1], **named)

    return asked


def former_names(module: str, names: Mapping[str, str]) -> Callable[..., Any]:
    """The ``__getattr__`` of a module that had these names.

    Args:
      module: its dotted name.
      names: former name -> today's, which is a dotted name, or one with "(epsilon=)" behind it:
        then the former took epsilon as its last argument.
    """

    def find(name: str, stacklevel: int = 2) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn(f"{module}.{name}", names[name], stacklevel)
        place, bracket, _ = names[name].partition("(")
        where, _, inner = place.rpartition(".")
        found = getattr(importlib.import_module(where), inner)
        return _at_epsilon(found) if bracket else found

    return find


Former = Mapping[str, str | Callable[[Any], tuple[str, Any]]]
"""Former name of an argument or an option -> "today", or "today.part" (``jaxsel.language.parts``).

Or a function of the former value that gives today's name, and its value or a mapping of parts.
"""


def read_former(former: Former, said: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """What is said by names of before: each with today's name, and its value or parts."""
    for name, value in said:
        into = former[name]
        if isinstance(into, str):
            argument, dot, part = into.partition(".")
            yield name, argument, {part: value} if dot else value
        else:
            yield name, *into(value)


def gather(known: dict[str, Any], argument: str, parts: Mapping[str, Any]) -> None:
    """Puts parts of an argument beside those that are known already.

    Raises:
      InputError: for a part that is there.
    """
    for part in parts:
        if part in known:
            raise InputError(f"{part} of {argument} is given twice; give it once")
    known |= parts


P = ParamSpec("P")
R = TypeVar("R")


def former_arguments(
    former: Former,
    *,
    first: Mapping[str, str] = MappingProxyType({}),
    inputs: Callable[[tuple[Any, ...], Mapping[str, Any]], tuple[Any, ...]] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function that took arguments which are parts of another now.

    Args:
      former: the arguments; a value of None, a default of before written out, asks for nothing.
      first: today's argument -> the part that a value which is no mapping of parts is.
      inputs: for parts of "", which are given by position now: all that is given so.

    Returns:
      The decorator; ``todays`` of what it makes reads the arguments of a call and warns of none.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__qualname__.removesuffix(".__init__")

        def todays(given: Any, named: Mapping[str, Any], tell: bool = False) -> tuple[Any, Any]:
            today = {each: value for each, value in named.items() if each not in former}
            gathered: dict[str, dict[str, Any]] = {}
            said = [(each, value) for each, value in named.items() if each in former]
            for each, argument, meant in read_former(former, said):
                text = "..."
                if isinstance(meant, Mapping):
                    gather(gathered.setdefault(argument, {}), argument, meant)
                    text = f'"{next(iter(meant))}=..."'
                else:
                    today[argument] = meant
                if tell:
                    words = f"{argument}={text}" if argument else each
                    warn(f"{name}({each}=...)", f"{name}({words})", stacklevel=3)
            if "" in gathered and inputs is not None:
                given = inputs(given, gathered.pop(""))
            for argument, known in gathered.items():
                already = today.get(argument)
                if isinstance(already, Mapping):
                    known = {**already, **known}
                elif already is not None and argument in first:
                    known = {first[argument]: already, **known}
                elif already is not None:
                    raise InputError(f"{next(iter(known))} is a part of {argument}; write it there")
                if any(value is not None for value in known.values()):
                    today[argument] = known
            return given, today

        @functools.wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            if former.keys() & named.keys():
                positions, today = todays(given, named, tell=True)
                return function(*positions, **today)  # type: ignore
            return function(*given, **named)

        call.todays = todays  # type: ignore[attr-defined]
        return call

    return decorate
