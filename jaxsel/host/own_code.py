"""Digests of what a user's own functions compute.

Code that is run as ``__main__``, typed into a notebook or loaded by path has no module that
another process could import. The digest of such a function is therefore taken of the
function itself: its bytecode, the constants it closes over, and the globals that it reads.
Line numbers, file names and docstrings do not count. Objects that cannot be digested (an
open file, a lock) are named, and only the process that made such a record can resume it.
"""

import dis
import enum
import functools
import hashlib
import site
import sys
import sysconfig
import types
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

OURS = ("jaxsel", "sims", "figures", "benchmarks")
# Decorators of these packages check the types of arguments, and compute nothing.
_CHECKERS = ("jaxtyping", "beartype")
_PLAIN = {bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented)}
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
# Attributes of a class that do not change what it computes.
_WORDS = {
    "__doc__",
    "__module__",
    "__dict__",
    "__weakref__",
    "__annotations__",
    "_abc_impl",
    "__firstlineno__",
    "__static_attributes__",
    "__qualname__",
    "__annotate__",
    "__annotate_func__",
    "__annotations_cache__",
    "__abstractmethods__",
    "__slotnames__",
}
# Marks digests of objects that cannot be read in another process.
_PROCESS = uuid.uuid4().hex[:12]
_ONLY_HERE = " only in process "


class Reading:
    """Digests functions and the objects they refer to, and collects the modules they need.

    Attributes:
      modules: full names of the modules whose files are part of the digest.
      files: (name, path) of modules that were loaded by path.
      unreadable: descriptions of the objects that cannot be digested.
    """

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.files: set[tuple[str, str]] = set()
        self.unreadable: list[str] = []
        self._known: dict[tuple[int, bool], tuple[Any, str]] = {}
        self._under_way: list[int] = []

    def read(self, thing: Any, strict: bool = False) -> str:
        """A digest of an object; the same in every process.

        Args:
          thing: a function, a constant, or a container of them.
          strict: whether to report objects that cannot be digested, as is done for a user's
            own functions; the name of a mechanism of this project already says what its
            functions hold.
        """
        thing = _unchecked(thing)
        known = self._known.get((id(thing), strict))
        if known is not None:
            return known[1]
        if id(thing) in self._under_way:  # an object that contains itself
            return f"above {len(self._under_way) - self._under_way.index(id(thing))}"
        self._under_way.append(id(thing))
        try:
            state = hashlib.sha256()
            for word in self._words(thing, strict):
                state.update(f"{len(word)}:".encode() + word)
            found = state.hexdigest()
        finally:
            self._under_way.pop()
        # Keeping a reference prevents the reuse of its id.
        self._known[id(thing), strict] = thing, found
        return found

    def _words(self, thing: Any, strict: bool) -> Iterator[bytes]:
        for word in self._parts(thing, strict):
            yield word if isinstance(word, bytes) else str(word).encode()

    def _parts(self, thing: Any, strict: bool) -> Iterator[Any]:
        if isinstance(thing, enum.Enum):
            yield from ("enum", _place(type(thing)), thing.name)
            yield self.read(thing.value, strict)
        elif type(thing) in _PLAIN:
            yield from (type(thing).__name__, repr(thing))
        elif isinstance(thing, types.ModuleType):
            yield from ("module", thing.__name__)
            self._add_module(thing.__name__, thing)
        elif isinstance(thing, types.FunctionType):
            yield from self._function(thing, strict)
        elif isinstance(thing, types.CodeType):
            yield from self._code(thing)
        elif isinstance(thing, type):
            yield from self._class(thing)
        elif isinstance(thing, types.MethodType):
            yield "method"
            yield self.read(thing.__self__, strict)
            yield self.read(thing.__func__, strict)
        elif isinstance(thing, functools.partial):
            yield "partial"
            yield self.read([thing.func, thing.args, thing.keywords], strict)
        elif isinstance(thing, staticmethod | classmethod):
            yield type(thing).__name__
            yield self.read(thing.__func__, strict)
        elif isinstance(thing, property):
            yield "property"
            yield self.read([thing.fget, thing.fset, thing.fdel], strict)
        elif isinstance(thing, types.BuiltinFunctionType):
            yield from ("builtin", thing.__module__ or "", thing.__qualname__)
            if not isinstance(thing.__self__, types.ModuleType | type | None):
                yield self.read(thing.__self__, strict)
        elif hasattr(thing, "__wrapped__"):  # compiled by JAX, or remembered
            yield "wrapped"
            if not _is_global(thing):
                yield self.read(thing.__wrapped__, strict)
                held = getattr(thing, "__dict__", {})
                for name in sorted(set(held) - {"__wrapped__"}):
                    if isinstance(held[name], types.FunctionType):
                        yield from (name, self.read(held[name], strict))
            else:
                yield from (thing.__module__, thing.__qualname__)
                if _kind(thing.__module__) != "library":
                    yield self.read(thing.__wrapped__, strict)
        elif isinstance(thing, Mapping):
            yield from ("mapping", _place(type(thing)))
            pairs = ((self.read(k, strict), self.read(v, strict)) for k, v in thing.items())
            for pair in sorted(pairs):
                yield from pair
        elif isinstance(thing, tuple | list):
            yield from ("tuple" if isinstance(thing, tuple) else "list", len(thing))
            if type(thing) not in (tuple, list):
                yield self.read(type(thing), strict)
            for part in thing:
                yield self.read(part, strict)
        elif isinstance(thing, set | frozenset):
            yield from ("set", *sorted(self.read(part, strict) for part in thing))
        elif isinstance(thing, np.ndarray | np.generic) or _is_jax_array(thing):
            yield from self._array(thing, strict)
        else:
            yield from self._instance(thing, strict)

    def _array(self, thing: Any, strict: bool) -> Iterator[Any]:
        if not isinstance(thing, np.ndarray | np.generic):
            jax = sys.modules["jax"]  # JAX is loaded, since it made the array
            if jax.numpy.issubdtype(thing.dtype, jax.dtypes.prng_key):
                yield str(thing.dtype)
                thing = jax.random.key_data(thing)
        array = np.ascontiguousarray(thing)
        # Restores the shape of a scalar, which ascontiguousarray gives an axis.
        yield from ("array", array.dtype.str, np.shape(thing))
        if array.dtype.hasobject:
            yield self.read(array.tolist(), strict)
        else:
            yield array.tobytes()

    def _function(self, function: types.FunctionType, strict: bool) -> Iterator[Any]:
        module = function.__globals__.get("__name__") or ""
        kind = _kind(module)
        yield from ("function", function.__qualname__)
        if kind != "own":
            yield module
            # A wrapper bears the name of the function that it wraps.
            whose = {module, function.__module__ or ""}
            self.modules |= {name for name in whose if _kind(name) == "ours"}
            if not _is_global(function) or _kind(function.__module__) == "own":
                # A function made by another: its closure counts.
                yield from self._held(function, strict)
            return
        if function.__module__ not in (None, "__main__", "__mp_main__"):
            self._add_module(function.__module__, sys.modules.get(module))
        strict = True
        yield self.read(function.__code__)
        yield from self._held(function, strict)
        rest = {k: v for k, v in vars(function).items() if k != "__wrapped__"}
        yield self.read(rest, strict)
        for name in sorted(_globals(function.__code__)):
            if name in function.__globals__:
                value = function.__globals__[name]
                yield name
                yield self.read(value, strict)
                if isinstance(value, types.ModuleType):
                    yield from self._used_of(value, function.__code__, strict)
        package = function.__globals__.get("__package__") or ""
        for name in sorted(_imported(function.__code__, package)):
            self._add_module(name, sys.modules.get(name))

    def _held(self, function: types.FunctionType, strict: bool) -> Iterator[Any]:
        empty = types.CellType()
        for cell in function.__closure__ or ():
            yield "" if cell == empty else self.read(cell.cell_contents, strict)
        yield self.read([function.__defaults__, function.__kwdefaults__], strict)

    def _used_of(
        self, module: types.ModuleType, code: types.CodeType, strict: bool
    ) -> Iterator[Any]:
        """The attributes of a module that a function reads by name."""
        kind = _kind(module.__name__)
        if kind == "library":
            return
        for name in sorted(_all_names(code)):
            if name not in vars(module):
                # A submodule that the package imports on first access.
                if kind == "ours" and hasattr(module, "__path__"):
                    self.modules.add(f"{module.__name__}:{name}")
            elif kind == "ours" or isinstance(vars(module)[name], types.ModuleType):
                self._add_module(f"{module.__name__}.{name}", vars(module)[name])
            else:
                yield from (name, self.read(vars(module)[name], strict))

    def _code(self, code: types.CodeType) -> Iterator[Any]:
        yield from (
            code.co_code,
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_cellvars,
            code.co_flags,
            code.co_argcount,
            code.co_kwonlyargcount,
            code.co_posonlyargcount,
            code.co_name,
            getattr(code, "co_exceptiontable", b""),
        )
        for number, constant in enumerate(code.co_consts):
            # A docstring is its first constant.
            words = number == 0 and isinstance(constant, str)
            yield "words" if words and 0 not in _loaded(code) else self.read(constant)

    def _class(self, kind: type) -> Iterator[Any]:
        yield from ("class", kind.__qualname__)
        if _kind(kind.__module__) != "own":
            yield kind.__module__
            if _kind(kind.__module__) == "ours":
                self.modules.add(kind.__module__)
            return
        if kind.__module__ not in ("__main__", "__mp_main__"):
            self._add_module(kind.__module__, sys.modules.get(kind.__module__))
        yield self.read(list(kind.__bases__), True)
        for name in sorted(set(vars(kind)) - _WORDS):
            value = vars(kind)[name]
            if not isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
                yield from (name, self.read(value, True))

    def _instance(self, thing: Any, strict: bool) -> Iterator[Any]:
        kind = type(thing)
        yield "instance"
        yield self.read(kind, strict)
        if not strict:
            return
        if _is_global(thing):  # a function of a library that is written in C
            yield from (thing.__module__, thing.__qualname__)
            return
        try:
            found = thing.__reduce_ex__(4)
        except Exception:  # a type that cannot be copied may raise anything
            self.unreadable.append(f"an object of type {kind.__qualname__}")
            return
        if isinstance(found, str):
            yield found
            return
        made_by, arguments, *rest = found
        yield self.read([made_by, arguments], strict)
        for part in rest:
            # Items of lists and dictionaries are iterators.
            yield self.read(list(part) if hasattr(part, "__next__") else part, strict)

    def _add_module(self, name: str, module: Any) -> None:
        kind = _kind(name)
        if kind == "library" or name in ("__main__", "__mp_main__"):
            return
        self.modules.add(name)
        path = getattr(module, "__file__", None)
        if kind == "own" and path and str(path).endswith(".py"):
            self.files.add((name, str(path)))


def suffix(unreadable: list[str]) -> str:
    """What is appended to a digest if some objects cannot be read elsewhere."""
    return f"{_ONLY_HERE}{_PROCESS}: {unreadable[0]}" if unreadable else ""


def unreadable(code: Any) -> str:
    """Describes the objects that a digest could not include; "" if there are none."""
    if not isinstance(code, str) or _ONLY_HERE not in code:
        return ""
    return code.partition(_ONLY_HERE)[2].partition(": ")[2]


def is_library(path: str | Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    path = Path(path)
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(folder in path.parents for folder in _library_folders())


@functools.cache
def _library_folders() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib")
    found = [*(sysconfig.get_paths()[name] for name in names), site.getusersitepackages()]
    return tuple(Path(folder) for folder in found)


def _kind(module: str | None) -> str:
    """The owner of a module: "ours", a "library", or the user's "own"."""
    if not module or module in ("__main__", "__mp_main__"):
        return "own"
    top = module.split(".")[0]
    if top in OURS:
        return "ours"
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return "library"
    path = getattr(sys.modules.get(module, sys.modules.get(top)), "__file__", None)
    return "library" if path and is_library(path) else "own"


def _unchecked(thing: Any) -> Any:
    """The function without the decorators that check its argument types."""
    while isinstance(thing, types.FunctionType) and hasattr(thing, "__wrapped__"):
        if str(thing.__globals__.get("__name__")).split(".")[0] not in _CHECKERS:
            break
        thing = thing.__wrapped__
    return thing


def _place(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _is_global(thing: Any) -> bool:
    """Whether the object is the one that its module has under its name."""
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    found: Any = module
    for name in (getattr(thing, "__qualname__", None) or "?").split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return _unchecked(found) is thing


def _is_jax_array(thing: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(thing, jax.Array)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


@functools.lru_cache(maxsize=1024)
def _globals(code: types.CodeType) -> frozenset[str]:
    """Names of the globals that a function, and those inside it, read."""
    return frozenset(
        step.argval
        for each in _codes(code)
        for step in dis.get_instructions(each)
        if step.opname in _GLOBAL
    )


@functools.lru_cache(maxsize=1024)
def _loaded(code: types.CodeType) -> frozenset[int]:
    """Indices of the constants that the code uses."""
    return frozenset(
        step.arg
        for step in dis.get_instructions(code)
        if step.opname.endswith("_CONST") and step.arg is not None
    )


def _all_names(code: types.CodeType) -> set[str]:
    return {name for each in _codes(code) for name in each.co_names}


def _imported(code: types.CodeType, package: str) -> set[str]:
    """Full names of the modules that a function imports when it is called."""
    found: set[str] = set()
    for each in _codes(code):
        steps = list(dis.get_instructions(each))
        for place, step in enumerate(steps):
            if step.opname != "IMPORT_NAME":
                continue
            level = steps[place - 2].argval
            above = package.split(".")[: len(package.split(".")) - level + 1]
            parts = [*(above if level else []), *([step.argval] if step.argval else [])]
            found.add(".".join(parts))
            for later in steps[place + 1 :]:
                if later.opname == "IMPORT_FROM":
                    found.add(f"{'.'.join(parts)}:{later.argval}")
                elif later.opname == "IMPORT_NAME":
                    break
    return {name for name in found if name}
