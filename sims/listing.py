"""Finds simulations and figures by listing their folders.

The file ``ps22_1.py`` of a folder is "ps22-1". Its title or budget is a constant in the
file, which is read without importing it, so listing names neither computes anything nor
loads JAX. Files are sorted by the papers of ``_PAPERS``; those of others follow in the order of
the alphabet. The gallery shows them in this order.
"""

import ast
import re
from pathlib import Path
from typing import Any

_PAPERS = ("ps22", "krw24", "zw22", "lt19", "clnss22")


def files(folder: Path, needed: str) -> dict[str, dict[str, Any]]:
    """The files of a folder that define the constant ``needed``, by name.

    Returns:
      The constants of each file, which are its upper-case names that are assigned a literal.
      Files are sorted by paper, in the same order as in the documentation, with numbered
      figures before named ones.
    """
    found = {path.stem.replace("_", "-"): _constants(path) for path in folder.glob("*.py")}
    return {name: found[name] for name in sorted(found, key=order) if needed in found[name]}


def declared(path: Path) -> tuple[str, ...]:
    """The functions of a file that simulate or compute: see ``sims.experiment``."""
    return tuple(
        node.name
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.FunctionDef)
        and any(_name(each) in ("cells", "computed") for each in node.decorator_list)
    )


def read_by_draw(path: Path, module: str) -> list[tuple[str, str]]:
    """Module and name of each function whose data set a file's ``draw`` takes."""
    tree = ast.parse(path.read_bytes())
    homes = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "draw":
            given = node.args.args[: len(node.args.args) - len(node.args.defaults)]
            return [homes.get(each.arg, (module, each.arg)) for each in given]
    return []


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


def _constants(path: Path) -> dict[str, Any]:
    constants = {}
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper():
                try:
                    constants[name] = ast.literal_eval(node.value)
                except ValueError:
                    continue  # not a literal, hence not listed
    return constants
