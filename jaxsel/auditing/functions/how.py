"""How a function is run, and how an audit looks at its outcomes: one record for every door.

A text says it as on the command line: "bits,seconds=10".
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from jaxsel.auditing.functions.audited_function import KINDS
from jaxsel.host.errors import InputError
from jaxsel.host.former_names import Former, former_arguments
from jaxsel.language.domains import Domain, choice, parsed, positive, read_values, whole
from jaxsel.language.parts import Flag, said_parts

__all__ = ["Calls", "How"]

_MOST_WORKERS = 64  # each is a process, with files of its own

P = ParamSpec("P")
R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class Calls:
    """How a function is called, and for how long.

    Attributes:
      seconds: a limit of time for all calls together; fewer trials are made where it would
        not be kept.
      call_seconds: that of one call; with ``seconds``, at most a fifth of them, and by default
        a part that ``drawing.call_limits`` gives.
      kind: "vectorised", "generator", "jax" or "own", where the names of the function's
        parameters do not tell: see ``subject.load``.
      workers: how many processes call it; see ``drawing.Draws``.
      progress: as for ``host.progress.progress_bar``.
    """

    seconds: float | None = None
    call_seconds: float | None = None
    kind: str | None = None
    workers: int | None = None
    progress: bool | None = None


@dataclasses.dataclass(frozen=True)
class How(Calls):
    """How a function is called, and what an audit of it looks for.

    Attributes:
      bits: outcomes are judged as released bits: events may ask of which power of two a number
        is a multiple, which floating-point noise does not hide. By default numbers are real.
      curve: the whole privacy profile and the trade-off are bounded, too, from up to 32 events;
        these limits hold together at the false-alarm rate, beside the verdict.
      sequential: ends as soon as a sequential test of the claim on a given pair does, and
        confirms on fresh trials; for a claim of epsilon at delta 0.
      largest: looks for the event that bounds epsilon by most, and not for the one that most
        surely refutes the claim.
      search_trials: those on each side that look for pair and event; by default half.
      repetitions: the law of K, or its text: the best of K runs is audited, by the first number
        of their outcomes, against the account of the claim, which is then that of one run.
    """

    bits: bool = False
    curve: bool = False
    sequential: bool = False
    largest: bool = False
    search_trials: int | None = None
    repetitions: Any = None


_PARTS: Mapping[str, Domain] = {
    "seconds": positive(),
    "call_seconds": positive(),
    "kind": choice(KINDS),
    "workers": whole(at_least=1, at_most=_MOST_WORKERS),
    "progress": Flag(),
    **dict.fromkeys(("bits", "curve", "sequential", "largest"), Flag()),
    "search_trials": whole(),
    "repetitions": parsed(str, "a law of K"),
}

C = TypeVar("C", bound=Calls)


def read(record: type[C], given: Any, **default: Any) -> C:
    """The record of what is given: a text, a mapping, the record itself, or None for nothing.

    Args:
      record: ``Calls`` or ``How``.
      given: as for ``read_parts``; in a text, NAME=none is nothing.
      **default: what holds where a text or a mapping does not say it.

    Raises:
      InputError: for a name that the record does not have, or a text that is no value of it.
    """
    if type(given) is record:
        return given
    if isinstance(given, Calls):  # the other record
        plain = type(given)()
        given = {name: one for name, one in vars(given).items() if one != getattr(plain, name)}
    parts = {one.name: _PARTS[one.name] for one in dataclasses.fields(record)}
    written = said_parts("how", given or {}, parts, nested=("repetitions",))
    said = {name: None if str(one) == "none" else one for name, one in written.items()}
    nothing = {name: None for name, one in said.items() if one is None}
    return record(**default | read_values("how", said, parts) | nothing)


def _inputs(given: tuple[Any, ...], former: Mapping[str, Any]) -> tuple[Any, ...]:
    """What is given by position, with the inputs that had names."""
    if isinstance(former.get("pair"), str):
        raise InputError(f"pair is {former['pair']!r}; for a function it is two inputs")
    if former.get("pair") is not None:
        return (*given, *former["pair"])
    found = [former[name] for name in ("data", "neighbour") if former.get(name) is not None]
    if former.get("neighbour") is not None and len(given) + len(found) < 3:
        raise InputError("neighbour is given without data; give both, or data alone")
    return (*given, *found)


def _part(name: str, value: Any) -> tuple[str, Any]:
    return "how", {name: "none" if value is None else value}


_FORMER: Former = {
    **{name: f".{name}" for name in ("data", "pair", "neighbour")},
    "false_alarm": lambda rate: ("confidence", 1.0 - rate),
    **{one.name: functools.partial(_part, one.name) for one in dataclasses.fields(How)},
}


def reads_former(*former: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A door that reads these keywords of 0.2.0, too, with a warning that says today's."""
    return former_arguments({name: _FORMER[name] for name in former}, inputs=_inputs)
