"""Names of before: they are read for one release, with a warning that says today's."""

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
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


P = ParamSpec("P")
R = TypeVar("R")


def former_arguments(
    parts: Mapping[str, str],
    *,
    first: Mapping[str, str] = MappingProxyType({}),
    words: Mapping[str, Mapping[Any, Any]] = MappingProxyType({}),
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function that took arguments which are parts of another now.

    Args:
      parts: former argument -> "argument.part", of today's (``jaxsel.language.parts``).
      first: today's argument -> the part that a value which is no mapping of parts is.
      words: former argument -> its former values, and what each is now.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            former = [each for each in named if each in parts]
            if not former:
                return function(*given, **named)
            today = {each: value for each, value in named.items() if each not in parts}
            gathered: dict[str, dict[str, Any]] = {}
            for each in former:
                argument, _, part = parts[each].partition(".")
                today_text = "..." if each in words else f'"{part}=..."'
                warn(f"{name}({each}=...)", f"{name}({argument}={today_text})", stacklevel=2)
                value = words.get(each, {}).get(named[each], named[each])
                gathered.setdefault(argument, {})[part] = value
            for argument, known in gathered.items():
                already = today.get(argument)
                if isinstance(already, Mapping):
                    known = {**already, **known}
                elif already is not None and argument in first:
                    known = {first[argument]: already, **known}
                elif already is not None:
                    raise InputError(f"{next(iter(known))} is a part of {argument}; write it there")
                # Defaults of before, written out, ask for nothing.
                if any(value is not None for value in known.values()):
                    today[argument] = known
            return function(*given, **today)  # type: ignore[arg-type]

        return call

    return decorate
