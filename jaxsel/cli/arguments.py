"""What several commands share: settings, seeds, trials, errors and interrupts."""

import contextlib
import functools
import gc
import inspect
import signal
import sys
import threading
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NamedTuple

import typer

from jaxsel.cli.output import refuse
from jaxsel.host.errors import InputError
from jaxsel.host.progress import make_room, note
from jaxsel.language.domains import whole


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return sorted({name for name in names if name.lower().startswith(typed.lower())})


def complete_claims(incomplete: str) -> list[str]:
    """Ids of claims, for the shell to complete."""
    from jaxsel.catalogue import published_claims

    return _beginning((claim.id for claim in published_claims()), incomplete)


def complete_mechanisms(incomplete: str) -> list[str]:
    """Names and ids of mechanisms, for the shell to complete."""
    from jaxsel.catalogue import mechanisms

    names = (name for entry in mechanisms() for name in (entry.name, *entry.ids))
    return _beginning(names, incomplete)


def complete_everything(incomplete: str) -> list[str]:
    """Every name that ``jaxsel show`` takes, for the shell to complete."""
    from jaxsel.questions.all_names import names

    return _beginning(names(), incomplete)


def whole_number(value: object) -> int:
    """Reads a whole number of the command line, also written as 1e3."""
    try:
        return whole().read("it", value)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None


def whole_option(name: str, help: str) -> Any:
    """An option that is a whole number."""
    return typer.Option(name, help=help, parser=whole_number, metavar="INTEGER")


SeedOption = Annotated[int, whole_option("--seed", "Same seed, same result, bit for bit.")]
UnusedSeedOption = Annotated[
    int, whole_option("--seed", "Accepted by every command; nothing is random here.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]
SettingsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Settings; lists as 3,2,1.")
]
MechanismArgument = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="A name or id of `jaxsel list mechanisms`.",
        autocompletion=complete_mechanisms,
    ),
]


class Effort(NamedTuple):
    """How much is simulated, and how sure is what is said of it: options of several commands."""

    trials: Annotated[str, typer.Option("--trials", help="How many, e.g. 1e7.")] = "1e6"
    confidence: Annotated[
        float, typer.Option("--confidence", help="Of intervals and bounds, in (0, 1).")
    ] = 0.95
    seed: SeedOption = 0


def records_of_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes each field of a record among its parameters as an option."""
    signature = inspect.signature(command, eval_str=True)
    records, options = {}, []
    for one in signature.parameters.values():
        if not hasattr(one.annotation, "_field_defaults"):
            options.append(one.replace(kind=one.KEYWORD_ONLY))
            continue
        records[one.name] = one.annotation
        hints = typing.get_type_hints(one.annotation, include_extras=True)
        options += [
            inspect.Parameter(name, one.KEYWORD_ONLY, default=default, annotation=hints[name])
            for name, default in one.annotation._field_defaults.items()
        ]

    @functools.wraps(command)
    def asked(**given: Any) -> None:
        for name, record in records.items():
            fields = [field for field in record._fields if field in given]
            given[name] = record(**{field: given.pop(field) for field in fields})
        command(**given)

    del asked.__wrapped__  # who asks for the options is not to find the records
    asked.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    asked.__annotations__ = {one.name: one.annotation for one in options}
    return asked


@contextlib.contextmanager
def bad_input_exits() -> Iterator[None]:
    """Turns InputError into one sentence on standard error and its exit status, mostly 2."""
    try:
        yield
    except InputError as error:
        refuse(str(error), error.status)


@contextlib.contextmanager
def former_names_said() -> Iterator[None]:
    """Says on standard error which names of before were given, and what they are called now."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DeprecationWarning)
        yield
    for one in told:
        if issubclass(one.category, DeprecationWarning):
            note(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def hear_interrupts() -> None:
    """Makes sure that an interrupt from the keyboard ends the command.

    Python swallows exceptions raised in a callback of the garbage collector (JAX has one)
    or in a finalizer, and the command would go on. An interrupt that arrives there is sent
    again, until it arrives elsewhere; once, however many came in between, so that no second one
    ends the sentence about the first. A process that ignores interrupts still ignores them.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)


_on_its_way: list[int] = []  # the interrupt that is sent again


def _send_again() -> None:
    number = _on_its_way.pop()  # before it is sent, for it may have to be sent once more
    signal.pthread_kill(threading.main_thread().ident, number)  # type: ignore[arg-type]


def _interrupted(number: int, frame: FrameType | None) -> None:
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
            if not _on_its_way:
                _on_its_way.append(number)
                later = threading.Timer(0.01, _send_again)
                later.daemon = True
                later.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts_say(record: str | Path | None) -> Iterator[None]:
    """Says on standard error, when the command is interrupted, what is saved.

    The exit status is then 130, the usual one in shells.

    Args:
      record: the file that the command saves to; None for none.
    """
    try:
        yield
    except KeyboardInterrupt:
        left = "nothing is saved; with --record FILE it could go on"
        if record is not None:
            left = f"nothing was counted yet, so {record} is not written"
            if Path(record).exists():
                left = f"what was counted is saved in {record}; the same command goes on"
        make_room()
        sys.stderr.write(f"\njaxsel: interrupted; {left}\n")
        raise SystemExit(130) from None


def read_settings(texts: list[str] | None) -> dict[str, str]:
    """Turns name=value texts into a mapping."""
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
    """Reads a whole number, also written as 1e6."""
    return whole(at_least=1).read("trials", text)
