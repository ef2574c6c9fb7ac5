"""What can be swept: a mechanism of the catalogue, or the account of tuning.

Beside its own settings, a subject takes the parameters of a law of K (``mean``, ``eta``)
and, in accounts, of a base (``noise_multiplier``), as if they were its own.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jaxsel import catalogue
from jaxsel.accounting.single_run.base_text import base_names, parse_base
from jaxsel.domains import Domain, nearest, number, parsed, probability, whole
from jaxsel.entry import MechanismEntry
from jaxsel.errors import InputError
from jaxsel.repetitions import parse
from jaxsel.repetitions.choose import FAMILIES, family_parameters
from jaxsel.sweeps.axes import Value

ACCOUNT = "account"
SEED = "seed"
_SEED = whole("of the trials", at_least=0, at_most=2**64 - 1)
_NUMBER = number()

_ACCOUNT_SETTINGS: Mapping[str, Domain] = {
    "base": parsed(parse_base, "a base; see jaxsel list bases", "one run",
                   default="gaussian:noise_multiplier=4"),
    "repetitions": parsed(parse, "a law of K; see jaxsel list repetitions", "law of K",
                          default="geometric:mean=10"),
    "delta": number("of every epsilon", at_least=0.0, below=1.0, default=1e-6),
}  # fmt: skip


class Subject(NamedTuple):
    """What a sweep is about.

    Attributes:
      name: of the mechanism, or "account".
      entry: of the mechanism; None for an account.
      settings: their domains, by name.
    """

    name: str
    entry: MechanismEntry | None
    settings: Mapping[str, Domain]

    def domain(self, name: str) -> Domain:
        """The domain of a name: a setting, a parameter of one, or the seed.

        Raises:
          InputError: for a name that is none; it says which one is near.
        """
        part, _, inner = name.rpartition(".")
        if not part and name in self.settings:
            # A text that parameters are still to be added to cannot be read yet.
            if name in _PARTS:
                return _PARTS[name].text
            return self.settings[name]
        if not part and name == SEED and self.entry is not None:
            return _SEED
        for owner, known in self._parts().items():
            if part in ("", owner) and inner in known:
                return known[inner]
        names = [*self.settings, *(n for known in self._parts().values() for n in known)]
        if self.entry is not None:
            names.append(SEED)
        raise InputError(
            f"{self.name} has no setting {name!r}{nearest(name, names)}; it has: "
            f"{', '.join(dict.fromkeys(names))}"
        )

    def _parts(self) -> dict[str, Mapping[str, Domain]]:
        return {
            owner: part.parameters()
            for owner, part in _PARTS.items()
            if owner in self.settings and _has_parts(self, owner)
        }

    def values(self, point: Mapping[str, Value]) -> dict[str, Any]:
        """The typed settings of a point, without its seed.

        Raises:
          InputError: if one is outside its domain, or if a law or base lacks one.
        """
        given = {name: point[name] for name in point if name in self.settings}
        for owner in self._parts():
            inner = {
                name.removeprefix(f"{owner}."): value
                for name, value in point.items()
                if name not in self.settings and name != SEED
                and self._owner(name) == owner
            }  # fmt: skip
            if inner:
                head = str(given.get(owner, _family(self.settings[owner].default)))
                given[owner] = _joined(head, inner)
        if self.entry is None:
            return {
                name: domain.read(name, given.get(name, domain.default))
                for name, domain in self.settings.items()
            }
        return self.entry.read(given)

    def _owner(self, name: str) -> str:
        part, _, inner = name.rpartition(".")
        for owner, known in self._parts().items():
            if part in ("", owner) and inner in known:
                return owner
        return ""


class _Part(NamedTuple):
    """A setting that is text with parameters of its own."""

    text: Domain
    parameters: Callable[[], Mapping[str, Domain]]


def _law_parameters() -> dict[str, Domain]:
    found: dict[str, Domain] = {}
    for family in FAMILIES:
        if family not in ("conditioned", "capped"):
            found |= family_parameters(family)
    return found


def _base_parameters() -> dict[str, Domain]:
    return {name: _NUMBER for name in base_names()}


_TEXT = parsed(str, "text")
_PARTS: Mapping[str, _Part] = {
    "repetitions": _Part(_TEXT, _law_parameters),
    "base": _Part(_TEXT, _base_parameters),
}


def _has_parts(subject: Subject, owner: str) -> bool:
    """A mechanism's base is one word; its parameters are the mechanism's settings."""
    from jaxsel.domains import Parsed

    return isinstance(subject.settings[owner], Parsed)


def _family(text: str) -> str:
    return text.partition(":")[0]


def _joined(head: str, inner: Mapping[str, Value]) -> str:
    written = ",".join(f"{name}={value!r}" for name, value in inner.items())
    return f"{head}{',' if ':' in head else ':'}{written}"


def find_subject(name: str) -> Subject:
    """The subject of that name.

    Raises:
      InputError: if there is none.
    """
    if name == ACCOUNT:
        return Subject(ACCOUNT, None, _ACCOUNT_SETTINGS)
    entry = catalogue.find_mechanism(name)
    return Subject(entry.name, entry, entry.settings)
