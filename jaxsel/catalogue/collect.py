"""Collects what the families declare; nothing is listed by hand a second time.

A family declares its statements in modules whose name ends in ``claims`` or that lie in a
folder ``claims`` (a tuple ``CLAIMS``, and ``ERRATA``), and its mechanisms in a module
``entries`` (``ENTRIES``). These modules import no JAX: to name things costs no compiler.
"""

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from jaxsel import families
from jaxsel.base import Claim, Erratum
from jaxsel.entry import MechanismEntry
from jaxsel.errors import InputError
from jaxsel.options import nearest


def _modules(declares: str) -> Iterator[ModuleType]:
    """Modules of the families that have a ``declares`` ("claims" or "entries") name."""
    prefix = f"{families.__name__}."
    for found in pkgutil.walk_packages(families.__path__, prefix):
        parts = found.name.removeprefix(prefix).split(".")[1:]
        if not found.ispkg and (
            declares in parts or (parts and parts[-1].endswith(f"_{declares}"))
        ):
            yield importlib.import_module(found.name)


@functools.cache
def published_claims() -> tuple[Claim, ...]:
    """Every statement of the papers, and of this project, that is a claim."""
    return tuple(
        claim
        for module in _modules("claims")
        for claim in getattr(module, "CLAIMS", ())
    )


@functools.cache
def errata() -> tuple[Erratum, ...]:
    """Every place where a paper errs."""
    return tuple(
        erratum
        for module in _modules("claims")
        for erratum in getattr(module, "ERRATA", ())
    )


@functools.cache
def mechanisms() -> tuple[MechanismEntry, ...]:
    """Every mechanism that has a public name."""
    return tuple(
        entry
        for module in _modules("entries")
        for entry in getattr(module, "ENTRIES", ())
    )


@functools.cache
def self_checks() -> tuple[Claim, ...]:
    """What the software says of itself: audits and simulations of its mechanisms."""
    from jaxsel.catalogue import checks

    return (
        *checks.audit_claims(mechanisms()),
        *checks.simulation_claims(mechanisms()),
    )


def all_claims() -> tuple[Claim, ...]:
    """Published statements, then self-checks."""
    return (*published_claims(), *self_checks())


def find_claim(identity: str) -> Claim:
    """The claim of that id.

    Raises:
      InputError: if there is none.
    """
    for claim in all_claims():
        if claim.id == identity:
            return claim
    raise InputError(
        f"there is no claim {identity!r}; jaxsel list claims names them all"
        f"{nearest(identity, (claim.id for claim in all_claims()))}"
    )


def find_mechanism(name: str) -> MechanismEntry:
    """The entry of that name or id.

    Raises:
      InputError: if there is none.
    """
    for entry in mechanisms():
        if name == entry.name or name in entry.ids:
            return entry
    names = [entry.name for entry in mechanisms()]
    raise InputError(
        f"there is no mechanism {name!r}; there are: {', '.join(names)}"
        f"{nearest(name, names)}"
    )
