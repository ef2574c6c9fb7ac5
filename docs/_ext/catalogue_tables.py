"""Tables made from the catalogue when the site is built, so that no text holds them twice.

``{mechanisms}`` lists every mechanism by name, ``{claims}`` the statements that are named in it
with what their checks measured, and ``{statements}`` every statement, to be searched and filtered
by ``_static/statements.js``.
"""

import ast
import functools
import html
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from docutils import nodes
from formula_pieces import BREAK, END, UNBROKEN, pieces
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.viewcode import viewcode_anchor
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from jaxsel.catalogue import find_claim, mechanisms, published_claims
from jaxsel.catalogue.document import STATEMENT_COLUMNS, claim_rows, markdown_table, power
from jaxsel.catalogue.measured import measured
from jaxsel.language.base import Claim
from jaxsel.language.formulas import parts, tex
from jaxsel.language.papers import PAPERS, paper_of

ROOT = Path(__file__).parents[2]
STATEMENTS = "catalogue/statements"


def _relative(directive: SphinxDirective, page: str, anchor: str) -> str:
    """The address of a place on another page, from the page with the directive."""
    builder = directive.env.app.builder
    return f"{builder.get_relative_uri(directive.env.docname, page)}#{anchor}"


class Mechanisms(SphinxDirective):
    """Every mechanism: its name, with a link to its settings, and what it releases."""

    def run(self) -> list[nodes.Node]:
        rows = []
        for entry in mechanisms():
            heading = f"{entry.name} ({', '.join(entry.ids)})"
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            rows.append((f"[`{entry.name}`](/catalogue/index.md#{slug})", tex(entry.summary)))
        return self.parse_text_to_nodes("\n".join(markdown_table(("name", "releases"), rows)))


class Claims(SphinxDirective):
    """The statements that a page proves, and how near the worst case of its check comes to each."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        rows = []
        for name in " ".join(self.content).split():
            claim = find_claim(name)
            address = _relative(self, STATEMENTS, claim.id)
            link = f'<a href="{address}"><code>{claim.id}</code></a>'
            rows.append((link, claim.tex, tex(power(claim))))
        header = ("claim", "statement", "tightness")
        return self.parse_text_to_nodes("\n".join(markdown_table(header, rows)))


# --- All statements -------------------------------------------------------------------


def _definition(claim: Claim) -> tuple[str, str]:
    """The module of the claim's formula, and the function at its top that holds it."""
    formula = inspect.unwrap(claim.evaluate)
    return formula.__module__, formula.__qualname__.partition(".")[0]


def _is_bound(value: object) -> bool:
    """Whether that is a bound which a statement's formula may be made of."""
    return inspect.isfunction(value) and ".bounds." in value.__module__


def _bounds_in(code: CodeType, known: dict[str, Any]) -> Iterator[Any]:
    """The bounds that a formula calls, by their names or as attributes of their modules."""
    for name in code.co_names:
        value = known.get(name)
        if _is_bound(value):
            yield value
        elif inspect.ismodule(value) and ".bounds." in value.__name__:
            held = (getattr(value, inner, None) for inner in code.co_names)
            yield from filter(_is_bound, held)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _bounds_in(constant, known)


def _used(tree: ast.Module) -> Iterator[Any]:
    """What the code of a figure names: texts, and what it imports from this package, followed."""
    known: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxsel."):
            module = importlib.import_module(node.module or "")
            for name in node.names:
                value = getattr(module, name.name, None)
                if value is None:
                    value = importlib.import_module(f"{node.module}.{name.name}")
                known[name.asname or name.name] = value
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name):
            yield known.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield getattr(known.get(node.value.id), node.attr, None)


@functools.cache
def _figures() -> dict[str, list[str]]:
    """Claim id -> the figures whose code names it, or calls a bound that its formula calls."""
    stated: dict[int | str, set[str]] = {}
    for claim in published_claims():
        formula = inspect.unwrap(claim.evaluate)
        for key in (claim.id, *_bounds_in(formula.__code__, formula.__globals__)):
            stated.setdefault(key if isinstance(key, str) else id(key), set()).add(claim.id)
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "figures").glob("*.py")):
        figure = path.stem.replace("_", "-")
        if not (ROOT / "docs" / "gallery" / f"{figure}.png").exists():
            continue
        named: set[str] = set()
        for value in _used(ast.parse(path.read_text(encoding="utf-8"))):
            key = value.id if isinstance(value, Claim) else value
            named |= stated.get(key if isinstance(key, str) else id(key), set())
        for identity in named:
            found.setdefault(identity, []).append(figure)
    return found


def _as_html(cell: str) -> str:
    """A cell of the catalogue, which has code, bold text and formulas alone.

    A formula is plain text until a script sets it, when its row comes near.
    """
    words, before = [], False
    for part in parts(cell):
        text = html.escape(part.plain)
        if before:
            tail = re.match(r"\S*", text)[0] if part.tex is None else ""
            text = tail + END + text[len(tail) :]
        if part.tex is not None:
            cut = html.escape(BREAK.join(pieces(part.tex)))
            text = f'{UNBROKEN}<span class="formula" data-tex="{cut}">{text}</span>{END}'
        before = part.tex is not None
        words.append(text)
    words.append(END * before)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", "".join(words))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)


class Statements(SphinxDirective):
    """A table of every statement, with boxes that narrow it down.

    What stands between its fences is for readers of the file alone.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        claims = published_claims()
        rows = zip(claims, claim_rows(claims), strict=True)
        anchors: set[str] = set()
        columns = (*STATEMENT_COLUMNS, "figures", "code")
        head = "".join(f"<th>{name}</th>" for name in columns)
        text = [
            self._boxes(),
            f'<table id="statements" class="statements"><thead><tr>{head}</tr></thead><tbody>',
            *(self._row(claim, cells, anchors) for claim, cells in rows),
            "</tbody></table>",
        ]
        return [nodes.raw("", "\n".join(text), format="html")]

    def _boxes(self) -> str:
        used = {paper_of(claim.source) for claim in published_claims()}
        papers = [(paper.key, paper.citation) for paper in PAPERS if paper in used]
        verdicts = dict.fromkeys(claim.status for claim in published_claims())
        return "".join(
            [
                '<form id="statement-filter" class="statement-filter">',
                '<label>Words <input type="search" name="words"'
                ' placeholder="of the statement, an id, a place"></label>',
                '<label>Paper <select name="paper"><option value="">all</option>',
                *(f'<option value="{key}">{html.escape(name)}</option>' for key, name in papers),
                '</select></label><label>Verdict <select name="verdict">',
                '<option value="">all</option>',
                *(f"<option>{html.escape(verdict)}</option>" for verdict in verdicts),
                '</select></label><label>Tightness at least <input type="number" name="tightness"',
                ' min="0" max="1" step="0.05"></label>',
                '<label><input type="checkbox" name="erratum"> with an erratum</label>',
                '<output name="count" aria-live="polite"></output></form>',
            ]
        )

    def _row(self, claim: Claim, cells: list[str], anchors: set[str]) -> str:
        paper = paper_of(claim.source)
        tightness = measured().get(claim.id) if claim.holds else None
        data = {
            "paper": "" if paper is None else paper.key,
            "verdict": claim.status,
            "erratum": "yes" if claim.erratum is not None else "",
            "tightness": "" if tightness is None else f"{tightness:.4g}",
        }
        module, name = _definition(claim)
        # The page of the code leads back to the first statement of a function.
        anchor = f"{module}.{name}"
        back = "" if anchor in anchors else f'<span id="{anchor}"></span>'
        anchors.add(anchor)
        figures = ", ".join(
            f'<a href="{_relative(self, "gallery", figure)}">{figure}</a>'
            for figure in _figures().get(claim.id, ())
        )
        code = _relative(self, f"_modules/{module.replace('.', '/')}", name)
        written = [
            *(_as_html(cell) for cell in cells),
            figures,
            f'{back}<a href="{code}">{name}</a>',
        ]
        values = "".join(f' data-{key}="{html.escape(value)}"' for key, value in data.items())
        columns = [nodes.make_id(name) for name in (*STATEMENT_COLUMNS, "figures", "code")]
        filled = zip(columns, written, strict=True)
        cells = [f'<td class="{column}">{text}</td>' for column, text in filled]
        return f'<tr id="{claim.id}"{values}>{"".join(cells)}</tr>'


def _show_code(app: Sphinx, env: BuildEnvironment) -> None:
    """Has viewcode make a page of each module that defines a statement."""
    modules = env.__dict__.setdefault("_viewcode_modules", {})
    # It lists modules, too, of which it has no page: those that have no source.
    for module in [module for module, found in modules.items() if not found]:
        del modules[module]
    for claim in published_claims():
        module, name = _definition(claim)
        if not modules.get(module):
            analyzer = ModuleAnalyzer.for_module(module)
            analyzer.find_tags()
            modules[module] = (analyzer.code, analyzer.tags, {}, module)
        _, tags, used, _ = modules[module]
        if name not in tags:
            raise LookupError(f"{claim.id}: {module} has no {name} at its top")
        used.setdefault(name, STATEMENTS)


def _lead_back(app: Sphinx, doctree: nodes.document) -> None:
    """Gives names the anchors to which the pages of the code lead back.

    Viewcode knows a module by one name, under which all that it defines is sought, though pages
    show ``jaxsel.Claim`` and ``jaxsel.base.Remark`` of one file.
    """
    modules = app.env.__dict__.get("_viewcode_modules", {})
    for signature in doctree.findall(addnodes.desc_signature):
        for link in signature.findall(viewcode_anchor):
            module = link["reftarget"].removeprefix("_modules/").replace("/", ".")
            anchor = f"{modules[module][3]}.{link['refid']}"
            if anchor not in signature["ids"]:
                signature["ids"].append(anchor)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("mechanisms", Mechanisms)
    app.add_directive("claims", Claims)
    app.add_directive("statements", Statements)
    app.add_js_file("statements.js", loading_method="defer")
    app.connect("env-updated", _show_code)
    app.connect("doctree-read", _lead_back, priority=900)  # behind viewcode, which makes the links
    return {"parallel_read_safe": True, "parallel_write_safe": True}
