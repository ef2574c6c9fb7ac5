"""Lines of 0.2.0 that are of another command now: they are read for one release.

`jaxsel audit` had four subjects, and `jaxsel plan` two.
"""

import importlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jaxsel.cli.output import warn_of_former
from jaxsel.host.errors import InputError
from jaxsel.questions.checkout import beside

_TABLES = ("--bugs", "--zoo", "--libraries", "--calibration")
# What was a flag, and takes no word after it.
_FLAGS = {*_TABLES, "--sequential", "--replay", "--curve", "--bits", "--optimal", "--check"}
_FLAGS |= {"--json", "--help"}
# What a replay takes of them; it took no heed of the others.
_REPLAYED = {"--relation", "--claim", "--data", "--seed", "--json", "--help"}
_LINE = "this line of 0.2.0"


class _Part(NamedTuple):
    """A word of a line, or an option with its value."""

    option: str | None
    value: str | None


def _parts(words: Sequence[str]) -> Iterator[_Part]:
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("--") or word == "--":
            yield _Part(None, word)
        elif equals or word in _FLAGS:
            yield _Part(name, value if equals else None)
        else:
            yield _Part(word, next(rest, None))


def read(words: Sequence[str]) -> list[str]:
    """A command line as it is written today; of one of 0.2.0 a line on standard error says so.

    The tables of audits, which need a checkout, are made here, and end the command.

    Raises:
      InputError: for a table, where there is no checkout.
    """
    found = todays(words)
    if found == list(words):
        return found
    if found[0] == "python":
        today = shlex.join(found)
        if beside("benchmarks") is None:
            raise InputError(f"a table of audits is made in a checkout of jaxsel: {today}")
        warn_of_former(_LINE, today)
        importlib.import_module("benchmarks.audit_tables.__main__").main(found[3:])
    warn_of_former(_LINE, shlex.join(["jaxsel", *found]))
    return found


def todays(words: Sequence[str]) -> list[str]:
    """The words that say today what a line of 0.2.0 said; those of a line of today."""
    parts = list(_parts(words[1:]))
    given = {part.option for part in parts}
    if words[:1] == ["plan"] and "--mechanism" in given:
        return ["plan-releases", *_of_mechanism(parts)]
    if words[:1] != ["audit"]:
        return list(words)
    for table in _TABLES:
        if table not in given:
            continue
        rest = [part for part in parts if part.option != table]
        return ["python", "-m", "benchmarks.audit_tables", table[2:], *_words(rest)]
    subject = next((part.value for part in parts if part.option is None), None) or ""
    if not (".py:" in subject or subject.endswith(".py")):
        return list(words)
    if "--pair" in given:  # which needed no example beside it
        parts = [part for part in parts if part.option != "--data"]
    parts = [part for part in map(_renamed, parts) if part.option not in ("--law", "--replay")]
    found = "audit-function"
    law = next((part.value for part in _parts(words[1:]) if part.option == "--law"), None)
    if law is not None:
        found, parts = "check-law", [*parts, _Part("--law", law)]
    elif "--replay" in given:
        found, parts = "replay", [one for one in parts if one.option in (None, *_REPLAYED)]
    return [found, *_words(parts)]


def _words(parts: Iterable[_Part]) -> list[str]:
    return [one for part in parts for one in part if one is not None]


def _of_mechanism(parts: Sequence[_Part]) -> list[str]:
    """What ``plan --mechanism`` was told: the mechanism first, and its settings."""
    named = [part.value for part in parts if part.option == "--mechanism"]
    settings = [part.value for part in parts if part.option == "--set"]
    left = [part for part in parts if part.option not in ("--mechanism", "--set")]
    return _words([_Part(named[-1], None), *(_Part(one, None) for one in settings), *left])


def _renamed(part: _Part) -> _Part:
    option = part.option or ""
    if option in ("--bits", "--curve", "--sequential"):
        return _Part("--how", option[2:])
    if option in ("--seconds", "--repetitions"):
        return _Part("--how", f"{option[2:]}={part.value}")
    return part._replace(option="--data") if option == "--pair" else part
