"""What the pages need so that nothing on them is cut: links of pictures, names of columns.

A picture leads to its file, where a browser shows it whole. A table of statements and its cells
get the names of their columns as classes, by which ``_static/site.css`` lays them out.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

# The first column of a table whose rows are statements, errata, remarks or checks.
_NAMES = ("id", "claim")


def _name_columns(app: Sphinx, document: nodes.document) -> None:
    """The columns of each table of statements."""
    for table in document.findall(nodes.table):
        rows = [*table.findall(nodes.row)]
        names = [nodes.make_id(entry.astext()) for entry in rows[0]]
        if names[0] in _NAMES:
            table["classes"].append("statements")
            for row in rows:
                for name, entry in zip(names, row, strict=True):
                    entry["classes"].append(name)


def _link_pictures(app: Sphinx, document: nodes.document, name: str) -> None:
    """Says how wide each picture is; Sphinx links those that have a width to their files."""
    for picture in document.findall(nodes.image):
        size = get_image_size(app.srcdir / picture["uri"])
        if size is not None and "width" not in picture:
            picture["width"] = f"{size[0]}px"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _name_columns)
    app.connect("doctree-resolved", _link_pictures)
    app.add_js_file("tables.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
