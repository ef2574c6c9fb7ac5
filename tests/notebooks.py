"""``python -m tests.notebooks``: runs the notebooks of the documentation whose code has changed.

A notebook is kept with what it printed and drew, and with a digest of the code that did, so that
the site is built without running anything, and a test sees code that was not run.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "notebooks"
_SECONDS = 600  # a cell


def read(path: Path) -> dict[str, Any]:
    """A notebook as JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def code(notebook: dict[str, Any]) -> list[str]:
    """The code of each cell that has some."""
    cells = notebook["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def digest(notebook: dict[str, Any]) -> str:
    """Identifies the code that made the outputs."""
    return hashlib.sha256("\n\n".join(code(notebook)).encode()).hexdigest()


def is_stale(path: Path) -> bool:
    """Whether the outputs are of other code."""
    notebook = read(path)
    return notebook["metadata"].get("digest") != digest(notebook)


def run(path: Path) -> None:
    """Runs a notebook in the root of the repository, and keeps what it prints and draws."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=_SECONDS, record_timing=False, resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute()
    notebook.metadata["language_info"] = {"name": "python"}  # not the version that ran it
    notebook.metadata["digest"] = digest(json.loads(nbformat.writes(notebook)))
    nbformat.write(notebook, path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks", description=__doc__)
    parser.add_argument("--all", action="store_true", help="those whose code is the same, too")
    parser.add_argument("names", nargs="*", help="of notebooks, without .ipynb; else all")
    given = parser.parse_args()
    for path in sorted(FOLDER.glob("*.ipynb")):
        if (not given.names or path.stem in given.names) and (given.all or is_stale(path)):
            print(f"running {path.name}", file=sys.stderr)
            run(path)


if __name__ == "__main__":
    main()
