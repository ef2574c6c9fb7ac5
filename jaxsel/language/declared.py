"""Finds the statements and mechanisms that the families declare; no list is kept by hand.

A family, and the accountant (``jaxsel.tuning``), hold their statements, each under a name, in
the modules of a folder ``claims``, and their mechanisms, likewise, in a module ``entries``;
for a single mechanism one module ``<mechanism>_entries`` may hold both. These modules import
no JAX: to name things costs no compiler. They are found by the modules' names, so that this
module imports no family.
"""

import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from types import ModuleType
from typing import TypeVar

from jaxsel.host.errors import InputError
from jaxsel.host.source_digest import DECLARING
from jaxsel.language import papers
from jaxsel.language.base import Claim, Erratum, Remark
from jaxsel.language.domains import nearest
from jaxsel.language.former_claims import former_claim


@functools.cache
def names_of_modules(declares: str) -> tuple[str, ...]:
    """Names of the modules that declare "claims" or "entries", as asked."""
    names = []
    for room in DECLARING:
        package = importlib.import_module(f"jaxsel.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            parts = found.name.split(".")[2:]
            if not found.ispkg and (declares in parts or parts[-1].endswith(f"_{declares}")):
                names.append(found.name)
    return tuple(names)


@functools.cache
def names_of_bounds() -> tuple[str, ...]:
    """Names of the modules that state bounds on searches."""
    package = importlib.import_module("jaxsel.tuning.bounds")
    return tuple(
        f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)
    )


def modules(declares: str) -> Iterator[ModuleType]:
    """The modules that ``names_of_modules`` names, imported."""
    return map(importlib.import_module, names_of_modules(declares))


def stating() -> tuple[str, ...]:
    """Names of the modules that may declare statements."""
    return (*names_of_modules("claims"), *names_of_modules("entries"), *names_of_bounds())


def held(module: ModuleType) -> Iterator[Claim | Erratum | Remark]:
    """The statements that a module assigns to a name, alone or in a tuple."""
    for value in vars(module).values():
        for one in value if type(value) is tuple else (value,):
            if isinstance(one, Claim | Erratum | Remark):
                yield one


def _all_held() -> Iterator[Claim | Erratum | Remark]:
    for module in map(importlib.import_module, stating()):
        yield from held(module)


@functools.cache
def _claims_in(module: ModuleType) -> tuple[Claim, ...]:
    """The claims of a module's statements, the same objects every time.

    Raises:
      TypeError: for a claim without a check.
    """
    found = tuple(one for one in held(module) if isinstance(one, Claim))
    for claim in found:
        if not claim.has_check:
            raise TypeError(f"{claim.place}: {claim.id} has no check")
    return found


def _place(found: Claim | Erratum | Remark) -> tuple[int, list[str | int]]:
    """The key for sorting: by paper, then by id, Theorem 2 before Theorem 10."""
    parts = re.split(r"(\d+)", found.id)
    return papers.order(found.source), [int(p) if p.isdigit() else p for p in parts]


@functools.cache
def published_claims() -> tuple[Claim, ...]:
    """Every claim, of the papers and of this project."""
    modules = map(importlib.import_module, stating())
    found = [claim for module in modules for claim in _claims_in(module)]
    by_id: dict[str, Claim] = {}
    for claim in found:
        if by_id.setdefault(claim.id, claim) is not claim:
            raise TypeError(
                f"{claim.place}: there is a statement {claim.id} already, {by_id[claim.id].place}"
            )
    return tuple(sorted(by_id.values(), key=_place))


@functools.cache
def errata() -> tuple[Erratum, ...]:
    """Every place where a paper errs."""
    found = {one for one in _all_held() if isinstance(one, Erratum)}
    return tuple(sorted(found, key=_place))


@functools.cache
def remarks() -> tuple[Remark, ...]:
    """Every remark on a printed statement that is easily misread, but no error."""
    found = {one for one in _all_held() if isinstance(one, Remark)}
    return tuple(sorted(found, key=_place))


@functools.cache
def _claims_by_name() -> dict[str, Claim]:
    """Published claims by lower-case id and alias."""
    found = {}
    for claim in published_claims():
        for name in (claim.id, *claim.aliases):
            found[name.lower()] = claim
    return found


@functools.cache
def _sources() -> dict[str, str]:
    """The source of each module that may declare statements, in lower case, by its name."""
    found = {}
    for name in stating():
        package, _, own = name.rpartition(".")
        found[name] = files(package).joinpath(f"{own}.py").read_text("utf-8").lower()
    return found


@functools.cache
def _written_claim(name: str) -> Claim | None:
    """The claim of that lower-case id or alias, from the modules whose source contains it.

    To load all modules takes a second, and an account's report needs one claim.
    """
    for module, source in _sources().items():
        if f'"{name}"' in source:
            for claim in _claims_in(importlib.import_module(module)):
                if name in (each.lower() for each in (claim.id, *claim.aliases)):
                    return claim
    return None


def find_published(identity: str) -> Claim | None:
    """The claim of that id or alias, upper or lower case; None if there is none.

    Of an id of 0.2.0 that another claim says now it is that, with a warning.
    """
    name = identity.lower()
    return former_claim(name, find_published) or _written_claim(name) or _claims_by_name().get(name)


Noted = TypeVar("Noted", Erratum, Remark)


def _find(kind: str, identity: str, known: Sequence[Noted]) -> Noted:
    for one in known:
        if one.id.lower() == identity.lower():
            return one
    close = nearest(identity, [one.id for one in known])
    raise InputError(
        f"there is no {kind} {identity!r}{close} "
        f"(jaxsel list {'errata' if kind == 'erratum' else 'remarks'} names them all)"
    )


def find_erratum(identity: str) -> Erratum:
    """The erratum of that id, in any case of letters.

    Raises:
      InputError: if there is none.
    """
    return _find("erratum", identity, errata())


def find_remark(identity: str) -> Remark:
    """The remark of that id, in any case of letters.

    Raises:
      InputError: if there is none.
    """
    return _find("remark", identity, remarks())
