"""Selects the tests that a change of some files can reach, from what imports what.

``make test-changed`` does so for the files that differ from a commit. A test depends on every
module that its file imports, and on those that these import, also inside functions. It
depends on the modules that its strings name (``"jaxsel.kernel.engine.count_here"``). It also
depends on the modules of the mechanisms, claims, figures and simulations that its strings or
parameters name, because the catalogue finds those by listing. A test that asks for all of
them and names none depends on all. A file that is not a Python module, or is new, reaches
every test that lists files.
"""

import ast
import functools
import importlib
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.host import source_digest

ROOT = Path(__file__).parents[1]
_PACKAGES = ("jaxsel", "sims", "figures", "benchmarks", "tests")
# The module that a command line such as python -m jaxsel starts.
_COMMANDS = {"jaxsel": "jaxsel.cli.main", "sims": "sims.__main__", "figures": "figures.__main__"}
# The second holds the public names: whoever takes one is counted as taking its module.
_OF_ALL = ("tests/__init__.py", "jaxsel/__init__.py")
# Signs of a test that lists files, or reads them.
_LISTS_FILES = re.compile(
    r"\b(r?glob|iterdir|walk|walk_packages|listdir|read_text|read_bytes)\("
    r"|ls-files|tomllib"
)
# Signs of a test that asks the catalogue for all that it has.
_LISTS_ALL = re.compile(
    r"\b(mechanisms|all_claims|published_claims|self_checks|errata|remarks|measured)\("
    r"|\b(FIGURES|SIMS|SWEEPS)\b"
)
# Signs of a module that asks every bound on a search.
_ASKS_BOUNDS = re.compile(r"\b(applicable|search_bounds|bounds_by_name)\(")


class Module(NamedTuple):
    """What the file of a Python module says about others.

    Attributes:
      path: path of the file, from the root.
      imports: modules that it imports anywhere, and those that its strings name.
      words: words of its strings, in lower case.
      lists_files, lists_all: whether it lists files, or all that the catalogue has.
    """

    path: str
    imports: frozenset[str]
    words: frozenset[str]
    lists_files: bool
    lists_all: bool


class Selection(NamedTuple):
    """The tests that a change can reach.

    Attributes:
      everything: whether all tests have to run because no choice is possible.
      files: paths, from the root, of test files that are run completely.
      parts: paths of test files in which the parameters of a test decide.
      names: names of the mechanisms, claims, figures and simulations that the change reaches.
    """

    everything: bool
    files: frozenset[str]
    parts: frozenset[str]
    names: frozenset[str]

    def holds(self, file: str, words: Iterable[str] = ()) -> bool:
        """Whether a test of a file is selected.

        Args:
          file: path from the root.
          words: words of the test's parameters, in lower case.
        """
        if self.everything or file in self.files:
            return True
        return file in self.parts and not self.names.isdisjoint(words)


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _paths() -> dict[str, Path]:
    found = (path for each in _PACKAGES for path in (ROOT / each).rglob("*.py"))
    return {_name(path): path for path in found}


@functools.cache
def _public() -> dict[str, str]:
    """Public names of the package -> the modules that define them."""
    import jaxsel

    inside = {name: (module, f"{module}.{own}") for name, (module, own) in jaxsel._places().items()}
    return {name: own if own in _paths() else module for name, (module, own) in inside.items()}


def _within(name: str) -> str | None:
    """The longest prefix of a dotted name that is one of our modules; None if there is none."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in _paths():
            return ".".join(parts[:length])
    return None


def words(text: str) -> set[str]:
    """The words of a text that may be ids or names, which have no blanks."""
    return {word.lower() for word in re.findall(r"[\w.()'+:/-]+", text)}


def _needs(source: str, attribute: str | None) -> set[str]:
    """The modules that ``from source import attribute`` needs."""
    if source == "jaxsel" and attribute in _public():
        return {_public()[attribute]}
    if attribute is not None and f"{source}.{attribute}" in _paths():
        return {f"{source}.{attribute}"}
    return {source} & _paths().keys()


@functools.cache
def module(name: str) -> Module:
    """What the file of a module says about others."""
    path = _paths()[name]
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports: set[str] = set()
    for source, attribute in source_digest.imported(tree, str(path), name):
        imports |= _needs(source, attribute)
    said: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "jaxsel":
                imports |= _needs("jaxsel", node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said |= words(node.value)
            if re.fullmatch(r"\w+(\.\w+)+", node.value):
                imports |= {_within(node.value)} - {None}  # type: ignore[arg-type]
            if node.value in _COMMANDS:
                imports.add(_COMMANDS[node.value])
    if name != "jaxsel.tuning.search_bounds" and _ASKS_BOUNDS.search(text):
        # They are found by the folder that they stand in.
        imports |= {each for each in _paths() if each.startswith("jaxsel.tuning.bounds.")}
    return Module(
        path.relative_to(ROOT).as_posix(),
        # The package itself only re-exports what its modules define.
        frozenset(imports - {name, "jaxsel"}),
        frozenset(said),
        _LISTS_FILES.search(text) is not None,
        _LISTS_ALL.search(text) is not None,
    )


@functools.cache
def reached(name: str) -> frozenset[str]:
    """A module with all that it imports, and that those import."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += module(one).imports
    return frozenset(found)


@functools.cache
def named() -> dict[str, frozenset[str]]:
    """Names of mechanisms, claims, figures and simulations -> the modules they are made from."""
    from figures import FIGURES
    from jaxsel.catalogue import mechanisms, self_checks
    from jaxsel.language import declared
    from sims.registry import SIMS

    found: dict[str, set[str]] = {}

    def add(names: Iterable[str], *modules: str) -> None:
        for name in names:
            of = found.setdefault(name.lower(), set())
            for each in modules:
                of |= reached(each)

    checks = ("jaxsel.catalogue.checks", "jaxsel.questions.mechanism_plan_checks")
    for entry in mechanisms():
        add((entry.name, *entry.ids), entry.module)
    for check in self_checks():
        entry = check.id.partition("-")[2].lower()
        longest = max((name for name in found if entry.startswith(name)), key=len, default=None)
        of = found[longest] if longest else set().union(*found.values())
        found.setdefault(check.id.lower(), set()).update(of, *(reached(each) for each in checks))
    for name in declared.stating():
        for statement in declared.held(importlib.import_module(name)):
            add((statement.id, *getattr(statement, "aliases", ())), name)
    for name in FIGURES:
        add([name], f"figures.{name.replace('-', '_')}")
    for name, sim in SIMS.items():
        add([name], sim[0].module)
    for figure in FIGURES.values():
        for sim in figure.sims:
            if sim in SIMS:
                add([figure.id], SIMS[sim][0].module)
    return {name: frozenset(modules) for name, modules in found.items()}


@functools.cache
def _tests() -> tuple[str, ...]:
    return tuple(
        name
        for name in _paths()
        if name.startswith("tests.") and name.split(".")[-1].startswith("test_")
    )


def select(changed: Iterable[str], new: Iterable[str] = ()) -> Selection:
    """The tests that a change can reach.

    Args:
      changed: paths, from the root, of the files that differ, including new and deleted ones.
      new: those of them that did not exist before.
    """
    by_path = {path.relative_to(ROOT).as_posix(): name for name, path in _paths().items()}
    changed, files, parts = set(changed), set(), set()
    of_python = {path for path in changed if path.endswith(".py")}
    if any(
        path not in by_path or path.endswith("conftest.py") or path in _OF_ALL for path in of_python
    ):  # the file was deleted, or is part of every test
        return Selection(True, frozenset(), frozenset(), frozenset())
    modules = {by_path[path] for path in of_python}
    names = {name for name, of in named().items() if not modules.isdisjoint(of)}
    unknown = changed - of_python
    # Data files of the package influence what its claims say; documents influence nothing.
    inside = any(path.split("/")[0] in ("jaxsel", "sims", "figures") for path in unknown)
    for test in _tests():
        found = module(test)
        if not modules.isdisjoint(reached(test)):
            files.add(found.path)
        elif found.lists_files and (unknown or new):
            files.add(found.path)
        elif found.lists_all and inside:
            files.add(found.path)
        elif not names.isdisjoint(found.words):
            files.add(found.path)
        elif found.lists_all and names:
            parts.add(found.path)
    return Selection(False, frozenset(files), frozenset(parts), frozenset(names))


def since(commit: str) -> Selection:
    """The tests that the difference from a commit can reach, including uncommitted files."""

    def said(*arguments: str) -> list[str]:
        asked = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()

    untracked = said("ls-files", "--others", "--exclude-standard")
    added = said("diff", "--name-only", "--no-renames", "--diff-filter=A", commit, "--")
    changed = said("diff", "--name-only", "--no-renames", commit, "--")
    return select([*changed, *untracked], [*added, *untracked])


def of_parameters(parameters: Iterable[Any]) -> set[str]:
    """Words of a test's parameters: of texts, and of ids and names of records."""
    found: set[str] = set()
    for value in parameters:
        for each in value if isinstance(value, tuple | list) else (value,):
            for part in (each, *(getattr(each, key, "") for key in ("id", "name"))):
                if isinstance(part, str):
                    found |= words(part)
    return found
