"""What commands have in common: --seed everywhere, and options of before."""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

from jaxsel.cli.arguments import UnusedSeedOption, records_of_options
from jaxsel.cli.output import warn_of_former
from jaxsel.host.former_names import Former, gather, read_former
from jaxsel.language.parts import written


def as_command(former: Former = MappingProxyType({})) -> Callable[..., Callable[..., None]]:
    """Decorates what a command does, which may take records: each of their fields is an option.

    A command that draws nothing takes --seed all the same, as every command does.

    Args:
      former: options that it had before: they are read for one release, with a warning.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        found: Any = records_of_options(command)
        options = list(inspect.signature(found).parameters.values())
        if all(each.name != "seed" for each in options):
            found = _with_unused_seed(found, options)
        found.former_options = former
        return found

    return decorate


def _with_unused_seed(
    command: Callable[..., None], options: list[inspect.Parameter]
) -> Callable[..., None]:
    @functools.wraps(command)
    def asked(seed: int = 0, **given: Any) -> None:
        command(**given)

    kind = inspect.Parameter.KEYWORD_ONLY
    seed = inspect.Parameter("seed", kind, default=0, annotation=UnusedSeedOption)
    last = len(options) - (options[-1].name == "json")
    found: Any = asked
    found.__signature__ = inspect.Signature([*options[:last], seed, *options[last:]])
    found.__annotations__ = {**command.__annotations__, "seed": UnusedSeedOption}
    return found


def _today(arguments: list[str], former: Former) -> list[str]:
    """A command line with today's options in place of former ones, which it warns of."""
    found: list[str] = []
    said: list[tuple[str, str]] = []
    words = iter(arguments)
    for word in words:
        option, equals, value = word.partition("=")
        if word == "--" or option not in former:
            found += [word, *words] if word == "--" else [word]
            continue
        given = value if equals else next(words, None)
        if given is None:  # as of today's option without a value
            raise typer.BadParameter(f"Option {option!r} requires an argument.")
        said.append((option, given))
    gathered: dict[str, dict[str, str]] = {}
    for option, today, meant in read_former(former, said):
        text = written(meant) if isinstance(meant, Mapping) else meant
        warn_of_former(option, f"{today} {text}")
        if isinstance(meant, Mapping):
            gather(gathered.setdefault(today, {}), today, meant)
        else:
            found += [today, text]
    for today, parts in gathered.items():
        place = next((at for at, word in enumerate(found[:-1]) if word == today), None)
        if place is None:
            found += [today, written(parts)]
        else:
            given = found[place + 1]
            found[place + 1] = f"{given}{',' if '=' in given else ':'}{written(parts)}"
    return found


class Command(TyperCommand):
    """A command of ``as_command``: options that it had before are read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the words of a command line."""
        former: Former = getattr(self.callback, "former_options", {})
        words = _today(args, former)
        _, _, said = self.make_parser(ctx).parse_args(args=list(words))
        for option, times in Counter(said).items():
            if not isinstance(option, TyperOption) or option.multiple or option.is_flag:
                continue
            if times > 1:  # the parser would keep the last and say nothing
                raise typer.BadParameter(f"it is given {times} times; give it once", ctx, option)
        return super().parse_args(ctx, words)
