"""Simulations and figures are found by listing their folders.

The file ``ps22_1.py`` of a folder is "ps22-1". What a listing says about it, such as a
title or a budget, stands in the file as a constant, which is read without importing it:
to list names, nothing is computed and JAX is not loaded.
"""

import ast
import re
from pathlib import Path
from typing import Any

_PAPERS = ("ps22", "krw24", "zw22", "lt19", "clnss22")


def files(folder: Path, needed: str) -> dict[str, dict[str, Any]]:
    """The files of a folder that define the constant ``needed``, by name.

    Returns:
      For each its constants: names in capitals that are given a literal. Papers come in
      the order of the other documents, numbered figures before named ones.
    """
    found = {
        path.stem.replace("_", "-"): _constants(path) for path in folder.glob("*.py")
    }
    return {
        name: found[name] for name in sorted(found, key=_order) if needed in found[name]
    }


def module_name(name: str) -> str:
    """The file, without ".py", of a simulation or figure."""
    return name.replace("-", "_")


def _order(name: str) -> tuple:
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
                    continue  # computed, hence not for a listing
    return constants
