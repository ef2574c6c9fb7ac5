"""Formulas are set by a MathJax that is copied into the site, from an installed package."""

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx

# The ``mathjax_path`` of conf.py. This one file holds all that MathJax needs: the others of the
# package, 24 MB of them, are not copied.
_FILE = "tex-svg.js"


def _copy(app: Sphinx) -> None:
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("sphinx-mathjax-offline is not installed; run make site")
    target = Path(app.outdir) / "_static" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(Path(found.origin).parent / "static" / "mathjax" / _FILE, target / _FILE)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
