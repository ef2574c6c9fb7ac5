"""How the documentation site is built: ``make site``.

Nothing is loaded from the network, neither when the site is built nor when it is read, and two
builds of the same tree are equal, byte for byte.
"""

import importlib.metadata
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "jaxsel"
author = "the authors of jaxsel"
version = release = importlib.metadata.version("jaxsel")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "catalogue_tables",
    "checkout_links",
    "formula_pieces",
    "local_mathjax",
    "page_layout",
    "tuning_cost",
]
exclude_patterns = ["_build", "_ext"]

# Pages are read on a code forge, too: formulas and anchors are written as there.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
mathjax_path = "mathjax/tex-svg.js"
# A menu would offer to fetch parts of MathJax that are not in the site.
mathjax3_config = {"options": {"enableMenu": False}}
# Notebooks are shown as they were run; building the site runs nothing.
nb_execution_mode = "off"
nb_merge_streams = True  # what one cell prints is one box

smartquotes_action = "D"  # dashes alone: quotes are those of Python
highlight_language = "text"  # a block that names no language is a command or what it prints
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # an object's address would differ from build to build
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
# Fields are described once, in the text of their class.
napoleon_use_ivar = True
# Several classes have a field of one name; each is described in its own class.
suppress_warnings = ["ref.python"]

html_theme = "sphinx_book_theme"
html_title = "jaxsel"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
# Light or dark as the reader's system is.
html_context = {"default_mode": "auto"}
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {
    "navbar_persistent": [],  # one box for searching is enough, in the sidebar
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
}


def _skip(app, what, name, found, skip, options):
    """No field of a tuple a second time, and nothing that scikit-learn wrote."""
    generated = type(found).__name__ in ("_tuplegetter", "RequestMethod", "member_descriptor")
    foreign = getattr(found, "__module__", "") or ""
    return True if generated or foreign.startswith("sklearn.") else None


# What a mechanism takes and gives stands in lines that begin with one of these words, and go on
# further to the right.
_WORDS = re.compile(r"(Data|Params|Outcome|Label|Labels|Formal guarantees.*): ")


def _as_paragraphs(app, what, name, found, options, lines):
    """Makes such lines paragraphs, which Sphinx would take for lists that are badly indented."""
    inside, written = False, []
    for line in lines:
        begins = _WORDS.match(line)
        inside = bool(begins) or (inside and line.startswith("  "))
        written += ["", line] if begins else [line.strip() if inside else line]
    lines[:] = written


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _as_paragraphs, priority=400)  # before napoleon
