"""Long formulas within a line are set in pieces, between which the line may break.

MathJax makes one picture of a formula, which would be cut, or have a scroll bar of its own, where
it is wider than its line or its cell.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

BREAK = "<wbr>"
_LONG = 24  # signs; what has fewer needs no break
_LEAST = 6  # signs of a piece
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\S")
_NAMED = "le leq ge geq ll gg sim approx equiv to gets leftarrow mapsto in pm parallel".split()
_SIGNS = {"=", "<", ">", "+", "-", *(f"\\{name}" for name in _NAMED)}
_SILENT = {"{", "}", "^", "_", r"\frac", r"\mathrm", r"\text", r"\,"}


def _width(tex: str) -> int:
    """About how many signs a formula shows."""
    return sum(token not in _SILENT for token in _TOKEN.findall(tex))


def _split(tex: str, level: int) -> list[str]:
    """The parts of a formula between the signs that stand in so many brackets, and in no braces."""
    found, start, braces, brackets, before = [], 0, 0, 0, ""
    for token in _TOKEN.finditer(tex):
        text, place = token[0], token.start()
        between = before not in _SIGNS and before not in ("", *"([,_^")
        ends = braces == 0 and brackets <= level and ((text in _SIGNS and between) or before == ",")
        if ends and min(_width(tex[start:place]), _width(tex[place:])) >= _LEAST:
            found.append(tex[start:place])
            start = place
        braces += (text == "{") - (text == "}")
        brackets += (text in "([") - (text in ")]")
        before = text
    return [*found, tex[start:]]


def pieces(tex: str) -> list[str]:
    """The pieces of a formula: it may break at relations, + and -, and commas.

    Where a piece stays long, it may break in its brackets, too.
    """
    if r"\left" in tex or r"\begin" in tex or "&" in tex:
        return [tex]
    found = [tex]
    for level in range(4):
        parts = (_split(each, level) if _width(each) > _LONG else [each] for each in found)
        found = [part for each in parts for part in each]
    # A sign at the beginning of a piece stands between two things all the same.
    return [
        "{}" * (number and _TOKEN.findall(each)[0] in _SIGNS) + each
        for number, each in enumerate(found)
    ]


def setup(app: "Sphinx") -> dict[str, bool]:
    # What is cut how is tested where Sphinx is not installed.
    from docutils import nodes
    from sphinx.transforms.post_transforms import SphinxPostTransform

    class FormulaPieces(SphinxPostTransform):
        """Puts a place to break between the pieces of each formula within a line."""

        default_priority = 400
        formats = ("html",)

        def run(self, **kwargs: object) -> None:
            for formula in [*self.document.findall(nodes.math)]:
                new: list[nodes.Node] = []
                for part in pieces(formula.astext()):
                    new += [nodes.raw("", BREAK, format="html"), nodes.math(part, part)]
                if len(new) > 2:
                    formula.replace_self(new[1:])

    app.add_post_transform(FormulaPieces)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
