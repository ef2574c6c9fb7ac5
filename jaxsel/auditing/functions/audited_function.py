"""A function to audit: how it is found, how it is called, and whether others can import it."""

import ast
import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.host.errors import InputError, check_choice
from jaxsel.host.streams import output_to_errors
from jaxsel.language.domains import nearest

IN_WORKER = "JAXSEL_AUDIT_WORKER"
"""Environment variable of processes that import a file only to call its function."""

KINDS = {
    "vectorised": ("rng", "data", "n"),
    "generator": ("rng", "data"),
    "jax": ("key", "data"),
    "own": ("data",),
}
"""How a function is called, by kind: NumPy's Generator or a key of jax.random first."""

_METHODS = ("randomise",)
"""What is called of an object that cannot be called itself: a mechanism of diffprivlib."""


class StartedAgain(BaseException):
    """A file that is imported for its function begins the audit of it; the import ends here."""


class Function(NamedTuple):
    """A function whose outcomes are audited.

    Attributes:
      name: what people call it.
      kind: one of ``KINDS``.
      call: the function.
      path: the file and the name by which another process imports it; None if none can.
      kept: what this process keeps between the calls, by name: compiled programs.
      imports: files and names of what it calls, which are imported with it: the time of that is
        no part of a call's.
    """

    name: str
    kind: str
    call: Callable[..., Any]
    path: tuple[str, str] | None
    kept: dict[str, Any]
    imports: tuple[tuple[str, str], ...] = ()

    def defaults(self) -> dict[str, Any]:
        """The settings and their defaults: parameters behind the input that may be left out."""
        found = _settings(self) or {}
        return {name: one.default for name, one in found.items() if one.default is not one.empty}

    def check_settings(self, given: Mapping[str, Any]) -> None:
        """Refuses settings that the function does not have, and the lack of one that it needs.

        Raises:
          InputError: which names those that there are.
        """
        found = _settings(self)
        if found is None:
            return
        for name in given:
            if name not in found:
                raise InputError(
                    f"{self.name} has no setting {name!r}{nearest(name, found)}; it has: "
                    f"{', '.join(found) or 'none'}"
                )
        for name, one in found.items():
            if one.default is one.empty and name not in given:
                raise InputError(f"{self.name} needs {name}; give it a value")


def _settings(function: Function) -> dict[str, inspect.Parameter] | None:
    """The parameters that may be given by name, besides the input; None if any name may be."""
    try:
        every = list(inspect.signature(function.call).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in every):
        return None
    behind = every[len(KINDS[function.kind]) :]
    return {
        one.name: one for one in behind if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }


def _call_of(subject: Any) -> Callable[..., Any] | None:
    """What is called of a subject: itself, or its method of ``_METHODS``; None if there is none."""
    methods = (getattr(subject, name, None) for name in _METHODS)
    return subject if callable(subject) else next(filter(callable, methods), None)


def is_function(subject: object) -> bool:
    """Whether a subject is called as a function is, or names one as path/to/file.py:function.

    Raises:
      InputError: for a Python file of which no function is named.
    """
    if isinstance(subject, str):
        check_named(subject)
        return ".py:" in subject
    # A mechanism is a record; the modules that define it need not be imported to see that.
    return _call_of(subject) is not None and not isinstance(subject, tuple)


def load(subject: Any, kind: str | None = None) -> Function:
    """The function that a subject names.

    An object is audited by its call: a measurement of OpenDP, which is called; a mechanism of
    diffprivlib, whose ``randomise`` is; any other by a method that is given. It runs in this
    process as it is, and one that a file names is made anew by each process.

    Args:
      subject: a function, a method or an object that has a call; or "path/to/file.py:name",
        where the name may have dots.
      kind: one of ``KINDS``; by default it is told from the names of the parameters that
        have no default: ``rng, data, n``; ``rng, data``; ``key, data``; or one of any name.

    Raises:
      InputError: if there is no such file or name, the file cannot be imported, or the
        parameters are none of the known.
    """
    if isinstance(subject, Function):
        return subject
    if isinstance(subject, str):
        check_named(subject)
        file, _, name = subject.rpartition(":")
        if not file or not name:
            raise InputError(f"{subject!r} names no function; write path/to/file.py:function")
        call = imported_call(file, name)
        found = (str(Path(file).resolve()), name)
    else:
        name, found = _name(_call_of(subject) or subject), _importable(subject)
        call = _checked(subject, name)
    check_returns(call, name)
    return Function(name, _kind(call, name, kind), call, found, {})


def check_named(subject: str) -> None:
    """Refuses a Python file of which no function is named.

    Raises:
      InputError: which names the functions at its top.
    """
    if not subject.endswith((".py", ".py:")):
        return
    file = subject.removesuffix(":")
    try:
        top = ast.parse(Path(file).read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):
        top = []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [one.name for one in top if isinstance(one, kinds) and not one.name.startswith("_")]
    has = f"; it has: {', '.join(names)}" if names else ""
    raise InputError(f"{subject} names a file and no function; write {file}:function{has}")


def check_returns(call: Callable[..., Any], name: str) -> None:
    """Refuses what returns no outcome, but something that is still to be run."""
    for one in (call, type(call).__call__):
        if inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one):
            raise InputError(
                f"{name} is an async def, whose call returns a coroutine and no answer; give a "
                f"function that returns asyncio.run({name}(...))"
            )
        if inspect.isgeneratorfunction(one):
            raise InputError(
                f"{name} yields, so that its call returns a generator and no answer; give a "
                f"function that returns list({name}(...))"
            )


def _checked(subject: Any, name: str) -> Callable[..., Any]:
    call = _call_of(subject)
    if call is None:
        raise InputError(
            f"{name} is {subject!r}, which cannot be called; give a method of it that takes data"
        )
    return call


def imported_call(file: str, name: str) -> Callable[..., Any]:
    """What is called of an attribute of a file.

    Raises:
      InputError: as ``imported``, or if it has no call.
    """
    return _checked(imported(file, name), name)


def imported(file: str, name: str) -> Any:
    """An attribute of a file, which is imported under a name of its own.

    Raises:
      InputError: if there is no such file or attribute, or the file raises.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise InputError(f"{file} is no file")
    # The same in every process, or what one has pickled no other could read.
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    module_name = f"_audited_{path.stem}_{digest}"
    module = sys.modules.get(module_name)
    if module is None:
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{file} is no Python file")
        module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        try:
            with output_to_errors():
                spec.loader.exec_module(module)
        except StartedAgain:
            pass  # what stands above the call is all that is needed
        except BaseException as error:
            del sys.modules[module_name]
            if isinstance(error, KeyboardInterrupt):
                raise
            raise _cannot_be_imported(file, error) from error
        finally:
            sys.path.remove(str(path.parent))
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            # Not the modules that it imports.
            names = [one for one, value in vars(module).items() if callable(value)]
            raise InputError(f"{file} has no {part!r}{nearest(part, names)}")
        found = getattr(found, part)
    return found


def check_first_start() -> None:
    """Raises StartedAgain in a process that imports a file only to call its function."""
    if os.environ.get(IN_WORKER):
        raise StartedAgain


def _cannot_be_imported(file: str | Path, error: BaseException) -> InputError:
    """The refusal of a file that raises something, SystemExit included, when it is imported."""
    said = " ".join(str(error).split())
    line = _line_of(error, Path(file).resolve())
    return InputError(
        f"{file} cannot be imported: {type(error).__name__}{f': {said}' if said else ''}{line}"
    )


def _line_of(error: BaseException, path: Path) -> str:
    lines = (
        [
            frame.lineno
            for frame in inspect.getinnerframes(error.__traceback__)
            if Path(frame.filename) == path
        ]
        if error.__traceback__
        else []
    )
    return f" (line {lines[-1]})" if lines else ""


def _name(call: Any) -> str:
    return getattr(call, "__qualname__", None) or type(call).__qualname__


def _importable(call: Any) -> tuple[str, str] | None:
    """File and name of a function at the top of a module; None for lambdas and the like."""
    name, module = _name(call), sys.modules.get(getattr(call, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None or "<" in name or getattr(call, "__self__", None):
        return None
    if not Path(file).is_file():  # a script that is read from the standard input
        return None
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return (str(Path(file).resolve()), name) if found is call else None


def _kind(call: Callable[..., Any], name: str, kind: str | None) -> str:
    if kind is not None:
        check_choice("kind", kind, KINDS)
        return kind
    try:
        every = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return "own"
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one.name for one in every if one.kind in positional and one.default is one.empty]
    for kind, names in KINDS.items():
        if len(needed) == len(names) and (len(names) == 1 or needed[0] == names[0]):
            return kind
    raise InputError(
        f"{name} takes {', '.join(needed) or 'nothing'}; an audited function takes "
        "(rng, data, n), (rng, data), (key, data) or (data), and all else by default"
    )
