"""Numbers of a figure that can be set, and modules run as if their files said others.

A module of ``sims`` or ``figures`` declares its settable constants:

    BASE_SUCCESS = 0.01
    SETTABLE = {"BASE_SUCCESS": probability("that one run succeeds")}

On the command line a constant is called by its name in small letters. Inside
``applied(...)`` these modules are loaded again with other numbers in the place of the
written ones, so that whatever a module computes from them, copies at import or keeps in a
cache is made from the new numbers; afterwards the modules that were loaded are back.
"""

import ast
import contextlib
import functools
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from jaxsel.host import source_digest
from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, Numbers, nearest

# They hold no number of a figure, and what they hold must be there once.
_MACHINERY = (
    "sims.common",
    "figures.common",
    "sims.listing",
    "sims.registry",
    "sims.settings",
    "figures.__main__",
    "figures.common.figure",
    "figures.common.making",
)
_LONGEST = 100  # letters of a file's name that tell settings


class Setting(NamedTuple):
    """A constant that can be set.

    Attributes:
      name: in small letters, as on the command line.
      module: full name of the module that defines it.
      domain: which values it may take.
      value: the one written in the file: the paper's, or ours where the paper has none.
      kind: "constant" of a file, "argument" of a function, or "axis", an argument that
        takes any number of values.
    """

    name: str
    module: str
    domain: Domain
    value: Any
    kind: str = "constant"

    @property
    def constant(self) -> str:
        """Its name in the file."""
        return self.name.upper()

    def read(self, given: Any) -> Any:
        """The value meant by text, of the same kind as the one in the file.

        Raises:
          InputError: if it may not be taken.
        """
        if self.kind == "axis":
            from jaxsel.sweeps.axes import values_of

            return values_of(self.name, given, self.domain)
        found = self.domain.read(self.name, given)
        if not isinstance(self.domain, Numbers):
            return found
        numbers = tuple(float(each) for each in found)
        if len(numbers) != len(self.value):
            raise InputError(
                f"{self.name} is {given}; it must be {len(self.value)} numbers, such as "
                f"{shown(self.value, ',')}"
            )
        if all(isinstance(each, int) for each in self.value):
            if any(each != int(each) for each in numbers):
                raise InputError(f"{self.name} is {given}; it must be whole numbers")
            return tuple(int(each) for each in numbers)
        return numbers


class Chosen(NamedTuple):
    """A setting with another value than the one in its file."""

    setting: Setting
    value: Any


Settings = tuple[Chosen, ...]
"""By name; none: everything as the files say."""


def settable(modules: Sequence[str], without: Sequence[str] = ()) -> dict[str, Setting]:
    """What can be set of these modules and of all that they import, by name.

    Args:
      modules: full names, such as "figures.ps22_6"; what they declare themselves hides
        what others call by the same name.
      without: modules, or single constants such as "sims.krw24_2.MEANS", left out.

    Raises:
      ValueError: if two other modules call different numbers by one name.
    """
    code = source_digest.digests(modules, without_claims=False)
    found: dict[str, Setting] = {}
    for module in dict.fromkeys([*modules, *code]):
        if not _is_reloaded(module) or module in without:
            continue
        for constant, domain in _declared(module).items():
            name = constant.lower()
            if f"{module}.{constant}" in without:
                continue
            if name not in found:
                value = getattr(importlib.import_module(module), constant)
                found[name] = Setting(name, module, domain, value)
            elif found[name].module not in modules:
                raise ValueError(
                    f"{name} is settable in {found[name].module} and {module}"
                )
    return dict(sorted(found.items()))


def read(
    owner: str, given: Mapping[str, Any], known: Mapping[str, Setting]
) -> Settings:
    """The values meant by texts; those that the files say anyway are dropped.

    Args:
      owner: whose settings they are, for messages.
      given: name -> text or value.
      known: from ``settable``.

    Raises:
      InputError: for an unknown name or a value that may not be taken.
    """
    chosen = []
    for name, text in sorted(given.items()):
        if name not in known:
            raise InputError(
                f"{owner} has no setting {name!r}; it has: {', '.join(known) or 'none'}"
                f"{nearest(name, known)}"
            )
        value = known[name].read(text)
        if value != known[name].value:
            chosen.append(Chosen(known[name], value))
    return tuple(chosen)


def of_module(module: str, chosen: Settings) -> Settings:
    """Those that a module, or something that it imports, declares."""
    code = source_digest.digests([module]) if chosen else {}
    return tuple(each for each in chosen if each.setting.module in code)


def suffix(chosen: Settings) -> str:
    """What the files made with these settings are called after their own name."""
    if not chosen:
        return ""
    parts = (f"{each.setting.name}={shown(each.value, '_')}" for each in chosen)
    text = ",".join(parts)
    if len(text) > _LONGEST:
        text = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"+{text}"


def shown(value: Any, between: str = ", ") -> str:
    """A value in words; those of a list stand ``between`` each other."""
    values = (
        [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
    )
    return between.join(
        each if isinstance(each, str) else f"{each:.12g}" for each in values
    )


@contextlib.contextmanager
def applied(chosen: Settings) -> Iterator[None]:
    """Inside, modules are imported as if their files said these numbers."""
    chosen = tuple(each for each in chosen if each.setting.kind == "constant")
    if not chosen:
        yield
        return
    by_module: dict[str, dict[str, Any]] = {}
    for setting, value in chosen:
        by_module.setdefault(setting.module, {})[setting.constant] = value
    finder = _Finder(by_module)
    before = _taken_out()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _taken_out()
        for name, module in before.items():
            sys.modules[name] = module
            _set_in_parent(name, module)


def _is_reloaded(module: str) -> bool:
    package, _, rest = module.partition(".")
    return package in ("sims", "figures") and bool(rest) and module not in _MACHINERY


@functools.cache
def _declared(module: str) -> Mapping[str, Domain]:
    """A module's SETTABLE; what declares none is not imported."""
    path = source_digest.file_of(module)
    if path is None or "SETTABLE" not in path.read_text(encoding="utf-8"):
        return {}
    return getattr(importlib.import_module(module), "SETTABLE", {})


def _taken_out() -> dict[str, Any]:
    """Takes the modules that know numbers out of those that are loaded."""
    found = {
        name: sys.modules[name] for name in list(sys.modules) if _is_reloaded(name)
    }
    for name in found:
        del sys.modules[name]
        parent, _, own = name.rpartition(".")
        # ``from sims import ps22_6`` would find the old one there.
        if parent in sys.modules and hasattr(sys.modules[parent], own):
            delattr(sys.modules[parent], own)
    return found


def _set_in_parent(name: str, module: Any) -> None:
    parent, _, own = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], own, module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules whose numbers are set, for ``_Loader``."""

    def __init__(self, by_module: Mapping[str, Mapping[str, Any]]) -> None:
        self.by_module = by_module

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self.by_module:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert found is not None
        assert found.origin is not None
        loader = _Loader(fullname, found.origin, self.by_module[fullname])
        return importlib.machinery.ModuleSpec(fullname, loader, origin=found.origin)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file as if it said other numbers."""

    def __init__(self, fullname: str, path: str, values: Mapping[str, Any]) -> None:
        super().__init__(fullname, path)
        self.values = values

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file with the numbers in it."""
        tree = ast.parse(Path(self.path).read_bytes())
        return compile(replaced(tree, self.values), self.path, "exec")


def replaced(tree: ast.Module, values: Mapping[str, Any]) -> ast.Module:
    """A file's syntax tree with other values given to its constants.

    Args:
      tree: changed in place.
      values: constant -> number or tuple of numbers.

    Raises:
      ValueError: if the file does not give one of them a value exactly once.
    """
    seen = []
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign):
            pairs: list = [(statement.target, statement, "value")]
        elif isinstance(statement, ast.Assign):
            pairs = list(_pairs(statement))
        else:
            pairs = []
        for target, holder, place in pairs:
            if isinstance(target, ast.Name) and target.id in values:
                seen.append(target.id)
                value = ast.parse(repr(values[target.id]), mode="eval").body
                if isinstance(place, int):
                    holder[place] = value
                else:
                    setattr(holder, place, value)
    if sorted(seen) != sorted(values):
        raise ValueError(f"{sorted(values)} are not each given one value, but {seen}")
    return ast.fix_missing_locations(tree)


def _pairs(statement: ast.Assign):
    """Each name that is given a value, and where that value stands."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for number, name in enumerate(target.elts):
            yield name, value.elts, number
    else:
        yield target, statement, "value"
