"""Links of the documents to files of the checkout that are no pages of the site.

A code forge follows them. The site has a page for some of these files, to which they lead; the
others are shown as the name of the file.
"""

import posixpath

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}


class CheckoutLinks(SphinxTransform):
    """Before references are resolved: sends links out of ``docs/`` to pages, or unlinks them."""

    default_priority = 5

    def apply(self, **kwargs: object) -> None:
        folder = posixpath.join("docs", posixpath.dirname(self.env.docname))
        for kind in (nodes.reference, pending_xref, download_reference):
            for link in [*self.document.findall(kind)]:
                self._mend(link, folder)

    def _mend(self, link: nodes.Element, folder: str) -> None:
        target = link.get("refuri") or link.get("reftarget") or ""
        path, _, _anchor = target.partition("#")
        if ":" in path or not path:
            return
        place = posixpath.normpath(posixpath.join(folder, path))
        if place.startswith("docs/"):
            return
        text = link.astext()
        if place in PAGES:
            new = pending_xref(
                "",
                nodes.inline("", text),
                reftype="doc",
                refdomain="std",
                refexplicit=True,
                reftarget=f"/{PAGES[place]}",
                refdoc=self.env.docname,
                refwarn=True,
            )
        else:
            new = nodes.literal("", text)
        link.replace_self(new)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(CheckoutLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
