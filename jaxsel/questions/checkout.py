"""Finds the figures, simulations and benchmarks, which lie beside the package in a checkout."""

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]


def _first_sentence(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).removesuffix(".")


def _row(folder: str, name: str, thing: Any) -> dict[str, Any]:
    """What is listed of a figure, or of the experiments of a file."""
    module = thing.module if folder == "figures" else thing[0].module
    path = ROOT / f"{module.replace('.', '/')}.py"
    title = thing.title if folder == "figures" else _first_sentence(path)
    return {"id": name, "title": title, "file": str(path.relative_to(ROOT))}


def beside(folder: str) -> ModuleType | None:
    """The package in a folder beside jaxsel; None where jaxsel is installed without it."""
    if not (ROOT / "pyproject.toml").exists() or not (ROOT / folder).is_dir():
        return None
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))  # the working directory may be another
    return importlib.import_module(folder)


def found_in(folder: str, name: str = "") -> list[dict[str, Any]]:
    """Id, title and file of every figure ("figures") or simulation ("sims"); or of that name.

    A name is that of a file, with hyphens; where no file has it, none is read.
    """
    file = f"{name.replace('-', '_')}.py"
    if name and not (ROOT / "figures" / file).exists():  # simulations are declared there, too
        return []
    module = beside(folder)
    if module is None:
        return []
    things = module.FIGURES if folder == "figures" else module.SIMS
    return [_row(folder, each, thing) for each, thing in things.items() if name in ("", each)]
