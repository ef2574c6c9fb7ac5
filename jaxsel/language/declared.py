"""Finds the statements and mechanisms that modules declare; no list is kept by hand.

A family, and the accountant (``jaxsel.tuning``), assign each statement to a name in a module of
their folder ``claims``, and each mechanism in their module ``entries``; for a single mechanism
one module ``<mechanism>_entries`` may hold both. Bounds on searches stand in
``jaxsel.tuning.bounds``. These modules import no JAX, so that listing what there is loads no
compiler, and they are found by their names, so that this module imports no family.

One thing is looked for without importing them all: in their source text, in which its id or name
stands as a text, as a function, or as a text with fields, such as ``f"NM-{noise}-..."``.
"""

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
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
    """Names of the modules that declare what is asked for: "claims" or "entries"."""
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


def held_called(name: str) -> Iterator[Claim | Erratum | Remark]:
    """The statements of that id or alias, in lower case."""
    for one in dict.fromkeys(one for module in declaring(name) for one in held(module)):
        aliases = one.aliases if isinstance(one, Claim) else ()
        if name in (each.lower() for each in (one.id, *aliases)):
            yield one


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
def _made() -> dict[str, list[re.Pattern]]:
    """The ids that each module makes from texts with fields, as patterns."""
    found = {}
    for module, source in _sources().items():
        texts = map(re.escape, re.findall(r'\bf"([a-z]+-[^"\n]*\{[^"\n]*)"', source))
        found[module] = [re.compile(re.sub(r"\\{.*?\\}", ".*", text)) for text in texts]
    return found


def _may_declare(module: str, name: str) -> bool:
    """Whether a module's source holds that name: as a text, a function, or made from a text."""
    source = _sources()[module]
    if f'"{name}"' in source or f"def {name}(" in source:
        return True
    return any(pattern.fullmatch(name) for pattern in _made()[module])


def _noting(module: str) -> list[str]:
    """The modules that may note an erratum or a remark in what a module declares."""
    package, _, own = module.rpartition(".")
    ways = (f"{package}.{own}", f"from {package} import")
    return [
        other
        for other, source in _sources().items()
        if own in source
        and any(way in source for way in ways)
        and re.search(r"\.(misprint|remark)\(", source)
    ]


@functools.cache
def declaring(name: str) -> tuple[ModuleType, ...]:
    """The modules whose source may declare a thing of that name, in lower case, imported.

    To load all modules takes a second, and mostly one is needed, with those that note an
    erratum or a remark in what it declares.
    """
    names = [module for module in _sources() if _may_declare(module, name)]
    for module in dict.fromkeys(other for each in names for other in _noting(each)):
        importlib.import_module(module)
    return tuple(map(importlib.import_module, names))


def find_published(identity: str) -> Claim | None:
    """The claim of that id or alias, upper or lower case; None if there is none.

    Of an id of 0.2.0 that another claim says now it is that, with a warning.
    """
    name = identity.lower()
    if (former := former_claim(name, find_published)) is not None:
        return former
    found = [one for one in held_called(name) if isinstance(one, Claim)]
    return found[0] if found else _claims_by_name().get(name)


Noted = TypeVar("Noted", Erratum, Remark)


def _find(kind: type[Noted], identity: str, every: Callable[[], Sequence[Noted]]) -> Noted:
    for one in held_called(identity.lower()):
        if isinstance(one, kind):
            return one
    noun = kind.__name__.lower()
    close = nearest(identity, [one.id for one in every()])
    raise InputError(
        f"there is no {noun} {identity!r}{close} (jaxsel list {every.__name__} names them all)"
    )


def find_erratum(identity: str) -> Erratum:
    """The erratum of that id, in any case of letters.

    Raises:
      InputError: if there is none.
    """
    return _find(Erratum, identity, errata)


def find_remark(identity: str) -> Remark:
    """The remark of that id, in any case of letters.

    Raises:
      InputError: if there is none.
    """
    return _find(Remark, identity, remarks)
