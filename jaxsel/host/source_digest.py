"""A digest of the source code that a result depends on.

Sources are read, not run: the file of a module, those of the modules that it imports, and
so on, within the packages of this project and among the user's own modules. Comments,
docstrings and layout do not count, so rewording a comment makes no result stale. A user's
own functions count with what they close over and read (``jaxsel.host.own_code``).
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jaxsel.host import own_code

# Modules that show or describe results, and do not compute them.
_PRESENTATION = (
    "jaxsel.host.blas_threads",
    "jaxsel.cli",
    "jaxsel.catalogue",
    "jaxsel.language.printing",
    "jaxsel.host.progress",
    "jaxsel.questions.cost",
    "jaxsel.questions.by_name",
    "jaxsel.catalogue.validation",
    "sims.registry",
)


T = TypeVar("T")
_Found = tuple[str, tuple[tuple[str, str | None], ...]]
_cache_folder: Path | None = None
_moment: "_Look | None" = None


_CATALOGUE = "jaxsel.catalogue"
DECLARING = ("families", "tuning")
"""Folders of the package in which statements and mechanisms are declared."""


def cache_in(folder: Path) -> None:
    """From now on, caches the digests of files in a folder, which is faster than parsing."""
    global _cache_folder
    _cache_folder = folder


def digests(modules: Iterable[str], without_claims: bool = True) -> dict[str, str]:
    """Digest of the code of these modules and of all that they import, by module.

    Args:
      modules: full names, such as "jaxsel.kernel.engine".
      without_claims: leave out the claims of papers, which state what a result should be
        and do not compute it.
    """
    look = _moment or _Look()
    found: dict[str, str] = {}
    waiting = list(modules)
    listed = False
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if name.startswith(_CATALOGUE) and not listed:
            waiting += look.declaring  # it lists their files, and does not import them by name
            listed = True
        seen = None if _is_excluded(name, without_claims) else look.at(name)
        if seen is not None:
            found[name] = seen.digest
            waiting += seen.needs - found.keys()
    return dict(sorted(found.items()))


class _Seen(NamedTuple):
    digest: str
    needs: frozenset[str]  # the modules that define what it imports


class _Look:
    """One look at the files: each is read once, however many modules import it."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen | None] = {}
        self._homes: dict[tuple[str, str | None], list[str]] = {}

    @functools.cached_property
    def declaring(self) -> list[str]:
        """The modules that declare mechanisms and statements."""
        return _declaring()

    def at(self, name: str) -> _Seen | None:
        """What is seen of a module; None if it has no file, or is of a library."""
        if name not in self._seen:
            self._seen[name] = self._read(name)
        return self._seen[name]

    def _read(self, name: str) -> _Seen | None:
        path = file_of(name)
        if path is None:
            return None
        if name.split(".")[0] not in own_code.OURS and own_code.is_library(path):
            return None
        digest, imported = _read(str(path), name, path.stat().st_mtime_ns)
        for place in set(imported) - self._homes.keys():
            self._homes[place] = _defining(*place)
        return _Seen(digest, frozenset(home for place in imported for home in self._homes[place]))


@contextlib.contextmanager
def at_one_moment() -> Iterator[None]:
    """A context whose digests are all of the same look at the files.

    It is for many digests of modules that import the same others; an edit meanwhile goes unseen.
    """
    global _moment
    before, _moment = _moment, _moment or _Look()
    try:
        yield
    finally:
        _moment = before


def digest(*things: Any) -> str:
    """One digest of the code of some objects, and of all that it imports.

    Args:
      *things: functions, or tuples of functions such as mechanisms, with all that they
        refer to; modules by their full names. A user's own functions count with the
        constants that they close over and the globals that they read; if one of those
        cannot be digested, the digest is valid in this process only, and says so.
    """
    reading = own_code.Reading()
    reading.modules |= {thing for thing in things if isinstance(thing, str)}
    held = [reading.read(thing) for thing in things if not isinstance(thing, str)]
    names: set[str] = set()
    for name in reading.modules:
        module, _, attribute = name.partition(":")
        names |= set(_defining(module, attribute or None))
    files: dict[str, str] = {}
    for name, path in sorted(reading.files):
        # A module loaded by path may have the name of another one that can be imported.
        if file_of(name) != Path(path):
            found, imported = _read(path, name, Path(path).stat().st_mtime_ns)
            files[name] = found
            for module, attribute in imported:
                names |= set(_defining(module, attribute))
    own = [_combined(frozenset(names)), held, files]
    return hashlib.sha256(repr(own).encode()).hexdigest() + own_code.suffix(reading.unreadable)


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Modules whose code differs between two results of ``digests``."""
    names = sorted(set(before) | set(now))
    return tuple(name for name in names if before.get(name) != now.get(name))


@functools.cache  # a process runs the code that it has loaded already
def _combined(names: frozenset[str]) -> str:
    return hashlib.sha256(repr(digests(names)).encode()).hexdigest()


def _declaring() -> list[str]:
    """Names of the modules of the folders that declare mechanisms and statements."""
    root = Path(__file__).parents[1]
    paths = sorted(path for room in DECLARING for path in (root / room).rglob("*.py"))
    parts = [path.relative_to(root.parent).with_suffix("").parts for path in paths]
    return [".".join(each) for each in parts if each[-1] != "__init__"]


@functools.lru_cache(maxsize=4096)
def _is_excluded(name: str, without_claims: bool) -> bool:
    shown = any(name == part or name.startswith(f"{part}.") for part in _PRESENTATION)
    return shown or (without_claims and ".claims" in name)


@functools.cache
def _root(package: str) -> Path | None:
    """The file of a package or module, found without importing it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def file_of(module: str) -> Path | None:
    """The file of a module; None if it has none or does not exist."""
    package, *rest = module.split(".")
    root = _root(package)
    if root is None or root.suffix != ".py":
        return None
    if not rest:
        return root
    stem = root.parent.joinpath(*rest)
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.exists():
            return path
    return None


def _defining(module: str, attribute: str | None) -> list[str]:
    """The modules that ``from module import attribute`` needs."""
    if attribute is None:
        return [module]
    if file_of(f"{module}.{attribute}") is not None:
        return [f"{module}.{attribute}"]
    path = file_of(module)
    if path is not None and path.name == "__init__.py":
        # If the package only re-exports the name, the module that defines it.
        known = reexported(str(path), path.stat().st_mtime_ns)
        if attribute in known:
            # Who asks the catalogue depends on what it lists, whoever defines the question.
            asked = [module] if module == _CATALOGUE else []
            return [*_defining(*known[attribute]), *asked]
    return [module]


@functools.lru_cache(maxsize=1024)
def reexported(path: str, changed_at: int = 0) -> dict[str, tuple[str, str]]:
    """Name in a package -> the module and name that it is imported from.

    Args:
      path: the package's ``__init__.py``.
      changed_at: its modification time, so that a long-lived process sees changes.
    """
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(ast.parse(Path(path).read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


@functools.lru_cache(maxsize=1024)
def _read(path: str, module: str, changed_at: int) -> _Found:
    """Digest of one file, and what it imports: (module, name in it or None)."""
    source = Path(path).read_bytes()
    found, imported = by_contents(
        # A kept answer is named by the file's contents and by the code that read it.
        (module, path.endswith("__init__.py"), sys.version, _reader()),
        source,
        lambda: _understood(source, path, module),
        _is_found,
    )
    return found, tuple((name, attribute) for name, attribute in imported)


def _understood(source: bytes, path: str, module: str) -> _Found:
    tree = ast.parse(source)
    text = _meaning(tree).encode()
    return hashlib.sha256(text).hexdigest()[:16], tuple(_imports(tree, path, module))


def by_contents(
    question: Any, contents: bytes, answer: Callable[[], T], fits: Callable[[Any], bool]
) -> T:
    """What a file says, kept between runs by its contents if there is a folder for it.

    Args:
      question: what is asked of the file, with all else that the answer depends on.
      contents: of the file.
      answer: finds the answer, which JSON can hold.
      fits: whether what was kept is an answer; a damaged one is found again.
    """
    if _cache_folder is None:
        return answer()
    name = hashlib.sha256(repr(question).encode() + contents).hexdigest()
    kept = _cache_folder / f"{name}.json"
    with contextlib.suppress(OSError, ValueError):
        before = json.loads(kept.read_text(encoding="utf-8"))
        if fits(before):
            return before
    found = answer()
    _keep(kept, found)
    return found


def _is_found(kept: Any) -> bool:
    with contextlib.suppress(TypeError, ValueError):
        digest, imported = kept
        return isinstance(digest, str) and all(len(each) == 2 for each in imported)
    return False


@functools.cache
def _reader() -> bytes:
    return Path(__file__).read_bytes()


def _keep(path: Path, found: Any) -> None:
    """Writes a cache entry atomically; does nothing if the folder cannot be written."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(found), encoding="utf-8")
        unfinished.replace(path)


def _imports(tree: ast.Module, path: str, module: str):
    """The imports of a module that count; a user's module may import its neighbours by name."""
    top = module.split(".")[0]
    for source, attribute in imported(tree, path, module):
        if top not in own_code.OURS or source.split(".")[0] in own_code.OURS:
            yield source, attribute


def imported(tree: ast.Module, path: str, module: str) -> Iterator[tuple[str, str | None]]:
    """All imports of a module, at any level: (module, name in it or None).

    Args:
      tree: its syntax tree.
      path: its file.
      module: its full name.
    """
    package = module.split(".")
    if not path.endswith("__init__.py"):
        package = package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((source, alias.name) for alias in node.names)


def _meaning(node: Any) -> str:
    """A syntax tree as nested tuples in one text, without positions and docstrings."""
    if isinstance(node, list):
        return _tuple(map(_meaning, node))
    if not isinstance(node, ast.AST):
        return repr((type(node).__name__, repr(node)))
    parts = [repr(type(node).__name__)]
    for name in node._fields:
        value = getattr(node, name, None)
        if name == "body" and isinstance(value, list) and value and _is_text(value[0]):
            value = value[1:]
        # Empty fields may be absent in other versions of Python.
        if value is not None and value != []:
            parts.append(f"({name!r}, {_meaning(value)})")
    return _tuple(parts)


def _tuple(parts: Iterable[str]) -> str:
    found = list(parts)
    return f"({found[0]},)" if len(found) == 1 else f"({', '.join(found)})"


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
