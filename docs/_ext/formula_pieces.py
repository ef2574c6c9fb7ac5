"""Long formulas within a line are set in pieces, between which the line may break.

MathJax makes one picture of a formula, which would be cut, or have a scroll bar of its own, where
it is wider than its line or its cell.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

BREAK = "<wbr>"
# Around a formula and what no space parts from it: epsilon-DP.
UNBROKEN, END = '<span class="unbroken"><span>', "</span>"
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
    # A comma at the end of a piece has its space; and a sign at the beginning of one stands
    # between two things all the same.
    ends = [each + r"\," * each.rstrip().endswith(",") for each in found[:-1]] + found[-1:]
    signs = [bool(number) and _TOKEN.findall(each)[0] in _SIGNS for number, each in enumerate(ends)]
    return ["{}" * sign + each for sign, each in zip(signs, ends, strict=True)]


def setup(app: "Sphinx") -> dict[str, bool]:
    # What is cut how is tested where Sphinx is not installed.
    from docutils import nodes
    from sphinx.transforms.post_transforms import SphinxPostTransform

    def _html(text: str) -> nodes.raw:
        return nodes.raw("", text, format="html")

    class FormulaPieces(SphinxPostTransform):
        """Has lines break between the pieces of a formula, and not behind it but at a space."""

        default_priority = 400
        formats = ("html",)

        def run(self, **kwargs: object) -> None:
            for formula in [*self.document.findall(nodes.math)]:
                new: list[nodes.Node] = []
                for part in pieces(formula.astext()):
                    new += [_html(BREAK), nodes.math(part, part)]
                # A text is found by its place: docutils takes texts that read alike for one.
                line, place = formula.parent, formula.parent.index(formula)
                after = line[place + 1] if place + 1 < len(line) else None
                tail = re.match(r"\S+", after) if isinstance(after, nodes.Text) else None
                if tail is not None:
                    line[place + 1] = nodes.Text(after[tail.end() :])
                    line.insert(place + 1, [nodes.Text(tail[0]), _html(END)])
                    new = [_html(""), _html(UNBROKEN), *new[1:], _html(END)]
                formula.replace_self(new[1:])

    app.add_post_transform(FormulaPieces)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
