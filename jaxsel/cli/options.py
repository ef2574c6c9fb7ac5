"""What commands have in common: records of options, options of before, and --seed everywhere."""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand

from jaxsel.cli.arguments import UnusedSeedOption
from jaxsel.cli.output import warn_of_former

Former = Mapping[str, str | Callable[[str], tuple[str, str]]]
"""Former option -> "--today"; or "--today.part", whose text has the former value as that part.

Or a function of the former text that makes both: "--today", and its text; "--today." is joined with
other parts of that text.
"""


def _is_record(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def _options(command: Callable[..., None], records: Mapping[str, Any]) -> list[inspect.Parameter]:
    """The options of a command: its own, in place of each record its fields, and --seed."""
    hints = typing.get_type_hints(command, include_extras=True)
    found = []
    for name, parameter in inspect.signature(command).parameters.items():
        fields, defaults = {name: hints[name]}, {name: parameter.default}
        if name in records:
            fields = typing.get_type_hints(records[name], include_extras=True)
            defaults = records[name]._field_defaults
        for field, hint in fields.items():
            default = defaults.get(field, inspect.Parameter.empty)
            kind = inspect.Parameter.KEYWORD_ONLY
            found.append(inspect.Parameter(field, kind, default=default, annotation=hint))
    if all(each.name != "seed" for each in found):
        last = len(found) - (found[-1].name == "json")
        seed = inspect.Parameter(
            "seed", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=UnusedSeedOption
        )
        found.insert(last, seed)
    return found


def as_command(former: Former = MappingProxyType({})) -> Callable[..., Callable[..., None]]:
    """Decorates what a command does, which may take records: each of their fields is an option.

    A record is a ``NamedTuple`` whose fields are annotated as options are, with their defaults.
    Its options stand in the help where the record stands in the signature. A command that draws
    nothing takes --seed all the same, as every command does.

    Args:
      former: options that it had before: they are read for one release, with a warning.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = typing.get_type_hints(command)
        records = {name: hint for name, hint in hints.items() if _is_record(hint)}
        options = _options(command, records)
        draws = "seed" in hints or any("seed" in each._fields for each in records.values())

        @functools.wraps(command)
        def run(**given: Any) -> None:
            if not draws:
                del given["seed"]
            for name, record in records.items():
                given[name] = record(**{field: given.pop(field) for field in record._fields})
            command(**given)

        found: Any = run
        found.__signature__ = inspect.Signature(options)
        found.__annotations__ = {each.name: each.annotation for each in options}
        found.former_options = former
        return found

    return decorate


def _today(arguments: list[str], former: Former) -> list[str]:
    """A command line with today's options in place of former ones, which it warns of."""
    found: list[str] = []
    parts: dict[str, list[str]] = {}
    words = iter(arguments)
    for word in words:
        option, equals, value = word.partition("=")
        if word == "--" or option not in former:
            found += [word, *words] if word == "--" else [word]
            continue
        if not equals:
            value = next(words, None)
            if value is None:  # as of today's option without a value
                raise typer.BadParameter(f"Option {option!r} requires an argument.")
        into = former[option]
        if not isinstance(into, str):
            into, value = into(value)
        today, joins, part = into.partition(".")
        text = f"{part}={value}" if part else value
        warn_of_former(option, f"{today} {text}")
        if joins:
            parts.setdefault(today, []).append(text)
        else:
            found += [today, text]
    for today, texts in parts.items():
        place = next((at for at, word in enumerate(found[:-1]) if word == today), None)
        if place is None:
            found += [today, ",".join(texts)]
        else:
            given = found[place + 1]
            found[place + 1] = f"{given}{',' if '=' in given else ':'}{','.join(texts)}"
    return found


class Command(TyperCommand):
    """A command of ``as_command``: options that it had before are read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the words of a command line."""
        former: Former = getattr(self.callback, "former_options", {})
        return super().parse_args(ctx, _today(args, former))
