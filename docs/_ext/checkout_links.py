"""Links of the documents to files of the checkout that are no pages of the site.

A code forge follows them. The site has a page for some of these files, to which they lead; the
others are shown as the name of the file.
"""

import os

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
        for kind in (nodes.reference, pending_xref, download_reference):
            for link in [*self.document.findall(kind)]:
                self._mend(link)

    def _place(self, link: nodes.Element) -> str:
        """The file that a link leads to, from the top of the checkout; "" if it is no file."""
        target = link.get("refuri") or link.get("reftarget") or ""
        if link.get("refdomain") == "doc":  # a page of Markdown, from the top of the documents
            path = os.path.join(self.env.srcdir, target) + ".md"
        else:
            path = os.path.join(self.env.srcdir, os.path.dirname(self.env.docname), target)
            path = path.partition("#")[0]
        local = target.partition("#")[0] and ":" not in target
        return os.path.relpath(path, self.env.srcdir.parent) if local else ""

    def _mend(self, link: nodes.Element) -> None:
        place = self._place(link)
        if not place or place.startswith("docs/"):
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
