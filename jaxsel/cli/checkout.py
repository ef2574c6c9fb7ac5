"""Figures and simulations, which lie beside the package in a checkout of it.

They are found by listing files: to name them nothing is imported.
"""

import ast
from pathlib import Path

import jaxsel

ROOT = Path(jaxsel.__file__).parent.parent
_NO_EXPERIMENTS = ("registry", "collect")


def _first_sentence(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).removesuffix(".")


def found_in(folder: str) -> list[dict[str, str]]:
    """Id, title and file of every figure ("figures") or simulation ("sims")."""
    return [
        {
            "id": path.stem.replace("_", "-"),
            "title": _first_sentence(path),
            "file": str(path.relative_to(ROOT)),
        }
        for path in sorted((ROOT / folder).glob("[!_]*.py"))
        if path.stem not in _NO_EXPERIMENTS
    ]
