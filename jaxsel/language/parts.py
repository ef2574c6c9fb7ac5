"""Arguments of several parts, as one text: "first:name=value,name=value", as bases are written.

The parts stand in a table of domains; a text, a mapping and a record say the same::

    read_parts("attack", "true_positive_rate=.1,false_positive_rate=.01", PARTS)
    read_parts("attack", {"true_positive_rate": 0.1, "false_positive_rate": 0.01}, PARTS)

Of a part that is yes or no the name alone says yes: "bits,seconds=10".
"""

import dataclasses
import re
from collections.abc import Collection, Mapping
from typing import Any

from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, nearest, read_values

# Where a part may begin: other commas and colons belong to a value, such as a list's or a path's.
_BEGINS = re.compile(r"(?:^|[:,])\s*([A-Za-z_][\w-]*)\s*(=|(?=,|$))")


@dataclasses.dataclass(frozen=True)
class Flag(Domain):
    """Yes or no."""

    def describe(self) -> str:
        """See ``Domain``."""
        return "yes or no"

    def read(self, name: str, value: Any) -> bool:
        """See ``Domain``."""
        found = {"yes": True, "no": False}.get(value, value) if isinstance(value, str) else value
        if not isinstance(found, bool):
            self.refuse(name, value)
        return found


def _pieces(owner: str, text: str, domains: Mapping[str, Domain], nested: Collection[str]):
    """The text before the first part, and (name, value) of each part."""
    begins = []
    for found in _BEGINS.finditer(text):
        name = found[1].replace("-", "_")
        if name in domains and (found[2] or isinstance(domains[name], Flag)):
            begins.append((name, found.start(), found.end(), found[2]))
        elif found[2] and (not begins or begins[-1][0] not in nested):
            raise InputError(
                f"{owner} has no part {found[1]!r}{nearest(name, domains)}; it has: "
                f"{', '.join(domains)}"
            )
    ends = [start for _, start, _, _ in begins[1:]] + [len(text)]
    before = text[: begins[0][1]] if begins else text
    named = [
        (name, text[start:end].strip() if equals else f"yes{text[start:end]}".strip())
        for (name, _, start, equals), end in zip(begins, ends, strict=False)
    ]
    return before.strip(), named


def said_parts(
    owner: str,
    given: object,
    domains: Mapping[str, Domain],
    *,
    first: str | None = None,
    nested: Collection[str] = (),
) -> Mapping[str, Any]:
    """What is said of the parts that are named, which is not read yet: see ``read_parts``."""
    values: Mapping[str, Any]
    if isinstance(given, str):
        before, named = _pieces(owner, given, domains, nested)
        if before and first is not None:
            named = [(first, before), *named]
        elif before or not named:
            raise InputError(
                f"{owner} is {given!r}; write name=value with one or more of: {', '.join(domains)}"
            )
        values = dict(named)
        for name, _ in named:
            if [each for each, _ in named].count(name) > 1:
                raise InputError(f"{name} of {owner} is given twice; give it once")
    elif isinstance(given, Mapping):
        values = given
    elif isinstance(given, tuple) and hasattr(given, "_asdict"):
        values = given._asdict()  # type: ignore[attr-defined]
    elif first is not None:
        values = {first: given}
    else:
        raise InputError(f"{owner} is {given!r}; give a text such as {next(iter(domains))}=...")
    for name, value in values.items():
        if isinstance(value, str) and not value and name in domains:
            domains[name].refuse(name, value)  # not the default: somebody meant to say something
    return values


def written(parts: Mapping[str, Any]) -> str:
    """The text that says these parts."""
    return ",".join(f"{name}={value}" for name, value in parts.items())


def read_parts(
    owner: str,
    given: object,
    domains: Mapping[str, Domain],
    *,
    first: str | None = None,
    nested: Collection[str] = (),
) -> dict[str, Any]:
    """The values of the parts that are given, and the defaults of others that have one.

    Args:
      owner: the argument, for error messages.
      given: a text, a mapping or a record of parts; or the value of ``first`` alone.
      domains: the parts by name.
      first: the part that a text names by standing before the others.
      nested: parts whose text may itself have parts, such as a law of K.

    Raises:
      InputError: for a part that there is none, one that is given twice, or a value outside its
        domain.
    """
    values = said_parts(owner, given, domains, first=first, nested=nested)
    said = {name: value for name, value in values.items() if value is not None}
    return read_values(owner, said, domains)
