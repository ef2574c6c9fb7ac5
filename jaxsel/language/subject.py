"""Finds mechanisms of the catalogue, and reads the subject of a question about one.

A subject is the name of a mechanism, its entry, a mechanism with its input (``Trial``), or one
without.
"""

import functools
from collections.abc import Iterable
from types import ModuleType

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.base import Mechanism
from jaxsel.language.declared import declaring, modules, names_of_modules
from jaxsel.language.domains import nearest
from jaxsel.language.entry import MechanismEntry, Values
from jaxsel.language.trial import Trial

Subject = str | MechanismEntry | Trial | Mechanism


def _held(declare: Iterable[ModuleType]) -> tuple[MechanismEntry, ...]:
    held = (value for module in declare for value in vars(module).values())
    return tuple(dict.fromkeys(value for value in held if isinstance(value, MechanismEntry)))


@functools.cache
def mechanisms() -> tuple[MechanismEntry, ...]:
    """Every mechanism that has a public name."""
    return _held(modules("entries"))


def mechanisms_called(name: str) -> list[MechanismEntry]:
    """The mechanisms of that name or id, upper or lower case."""
    name = name.lower()
    entries = names_of_modules("entries")
    return [
        entry
        for entry in _held(each for each in declaring(name) if each.__name__ in entries)
        if name in (other.lower() for other in (entry.name, *entry.ids))
    ]


def find_mechanism(name: str | MechanismEntry) -> MechanismEntry:
    """The entry of that name or id, upper or lower case; an entry is returned as it is.

    Raises:
      InputError: if there is none.
    """
    if isinstance(name, MechanismEntry):
        return name
    if not isinstance(name, str):
        raise InputError(
            "a mechanism is found by its name or id, a text, not by "
            f"a {type(name).__name__}; simulate and audit take one's own mechanism as it is"
        )
    for entry in mechanisms_called(name):
        return entry
    names = [entry.name for entry in mechanisms()]
    raise InputError(
        f"there is no mechanism {name!r}{nearest(name, names, 3)} "
        "(jaxsel list mechanisms names them all)"
    )


def with_input(subject: Subject) -> Trial | Mechanism:
    """The subject with its input; a name or an entry is built with its default settings.

    Raises:
      InputError: if there is no mechanism of that name.
    """
    if isinstance(subject, str | MechanismEntry):
        return find_mechanism(subject).build({})
    return subject


def settled(subject: str | MechanismEntry | Trial) -> tuple[MechanismEntry, Values]:
    """The entry of a subject, and those of its settings that differ from the defaults.

    Raises:
      InputError: if there is no such mechanism, or it is not one of the catalogue's.
    """
    if not isinstance(subject, Trial):
        return find_mechanism(subject), {}
    entry = subject.entry
    if entry is None:
        raise InputError(f"{subject.mechanism.name} is no mechanism of the catalogue")
    defaults = entry.read({})
    return entry, {
        name: value
        for name, value in subject.values.items()
        if name not in defaults or not np.array_equal(defaults[name], value)
    }
