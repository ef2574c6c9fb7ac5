"""Finds simulations and figures by listing their folders.

The file ``ps22_1.py`` of a folder is "ps22-1". Its title or budget is a constant in the
file, which is read without importing it, so listing names neither computes anything nor
loads JAX. Files are sorted by the papers of ``_PAPERS``; those of others follow in the order of
the alphabet. The gallery shows them in this order.
"""

import ast
import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

_PAPERS = ("ps22", "krw24", "zw22", "lt19", "clnss22")


def files(folder: Path, needed: str) -> dict[str, dict[str, Any]]:
    """The files of a folder that define the constant ``needed``, by name.

    Returns:
      The constants of each file, which are its upper-case names that are assigned a literal.
      Files are sorted by paper, in the same order as in the documentation, with numbered
      figures before named ones.
    """
    found = {path.stem.replace("_", "-"): _read(path).constants for path in folder.glob("*.py")}
    return {name: dict(found[name]) for name in sorted(found, key=order) if needed in found[name]}


def declared(path: Path) -> tuple[str, ...]:
    """The functions of a file that simulate or compute: see ``sims.experiment``."""
    return _read(path).declared


def read_by_draw(path: Path, module: str) -> list[tuple[str, str]]:
    """Module and name of each function whose data set a file's ``draw`` takes."""
    known = _read(path)
    return [known.homes.get(name, (module, name)) for name in known.drawn]


class _Read(NamedTuple):
    """What is read of a file.

    Attributes:
      constants: its upper-case names that are assigned a literal.
      declared: the functions that simulate or compute.
      drawn: the parameters of ``draw`` that have no default.
      homes: module and name of what it imports by name.
    """

    constants: dict[str, Any]
    declared: tuple[str, ...]
    drawn: tuple[str, ...]
    homes: dict[str, tuple[str, str]]


def _read(path: Path) -> _Read:
    return _parsed(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _parsed(path: Path, changed_at: int) -> _Read:
    body = ast.parse(path.read_bytes()).body
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    drawn: tuple[str, ...] = ()
    for node in functions:
        if node.name == "draw":
            given = node.args.args[: len(node.args.args) - len(node.args.defaults)]
            drawn = tuple(each.arg for each in given)
    return _Read(
        _constants(body),
        tuple(
            node.name
            for node in functions
            if any(_name(each) in ("cells", "computed") for each in node.decorator_list)
        ),
        drawn,
        {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        },
    )


def _name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(called, "id", getattr(called, "attr", ""))


def module_name(name: str) -> str:
    """The file name, without ".py", of a simulation or figure."""
    return name.replace("-", "_")


def order(name: str) -> tuple:
    """Sort key of a name: by paper, with numbered figures before named ones."""
    paper, _, rest = name.partition("-")
    place = _PAPERS.index(paper) if paper in _PAPERS else len(_PAPERS)
    number = re.match(r"\d+", rest)
    return place, paper, int(number.group()) if number else 1000, rest


def _constants(body: list[ast.stmt]) -> dict[str, Any]:
    constants = {}
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper():
                try:
                    constants[name] = ast.literal_eval(node.value)
                except ValueError:
                    continue  # not a literal, hence not listed
    return constants
