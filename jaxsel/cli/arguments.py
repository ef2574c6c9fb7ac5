"""What several commands share: settings, seeds, trials, and how errors end."""

import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxsel.errors import InputError
from jaxsel.options import read_number

SeedOption = Annotated[
    int, typer.Option("--seed", help="Same seed, same result, bit for bit.")
]
UnusedSeedOption = Annotated[
    int,
    typer.Option("--seed", help="Accepted by every command; nothing is random here."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]
SettingsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=VALUE]...", help="Settings; lists as 3,2,1."),
]


@contextlib.contextmanager
def bad_input_exits() -> Iterator[None]:
    """One clear sentence on standard error and exit status 2 for bad input."""
    try:
        yield
    except InputError as error:
        sys.stderr.write(f"jaxsel: {error}\n")
        raise SystemExit(2) from None


def read_settings(texts: list[str] | None) -> dict[str, str]:
    """name=value texts as a mapping."""
    settings: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{text!r} is not a setting; write name=value")
        if name in settings:
            raise InputError(f"{name} is given twice; give it once")
        settings[name] = value
    return settings


def read_trials(text: str) -> int:
    """A whole number, also as 1e6."""
    number = read_number("trials", text)
    if not number >= 1 or number != int(min(number, 1e300)):
        raise InputError(f"trials is {text}; it must be a whole number >= 1")
    return int(number)


def call_with_settings(
    function: Callable[..., Any], settings: dict[str, str], owner: str
) -> tuple[Any, dict[str, Any]]:
    """Calls a function with keyword settings, each read like its default.

    Returns:
      The result, and all arguments it was called with.
    """
    signature = inspect.signature(function)
    arguments: dict[str, Any] = {}
    for name, text in settings.items():
        if name not in signature.parameters:
            allowed = ", ".join(signature.parameters) or "none"
            raise InputError(f"{owner} has no parameter {name!r}; it has: {allowed}")
        default = signature.parameters[name].default
        if isinstance(default, bool):
            if text.lower() not in ("true", "false"):
                raise InputError(f"{name} is {text!r}; it must be true or false")
            arguments[name] = text.lower() == "true"
        elif isinstance(default, str):
            arguments[name] = text
        else:
            number = read_number(name, text)
            whole = isinstance(default, int) and number == int(min(number, 1e300))
            arguments[name] = int(number) if whole else number
    bound = signature.bind(**arguments)
    bound.apply_defaults()
    return function(**arguments), dict(bound.arguments)


def compilation_cache() -> None:
    """Keeps compiled programs between runs; JAX's own setting wins."""
    import jax

    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    jax.config.update("jax_compilation_cache_dir", str(root / "jaxsel" / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
