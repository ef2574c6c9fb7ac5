"""Names of before: they are read for one release, with a warning that says today's."""

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any


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
