"""Faults drawn at random: one operator, constant, index or argument of a module is changed.

``drawn.toml`` lists the modules, each with the claims and tests that should notice a change,
and the changes that no check can notice, each with the reason.
"""

import ast
import functools
import random
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

from tests.faults.planting import FOLDER, ROOT, Fault, places

_OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Pow: "*",
    ast.Mod: "*",
    ast.LShift: "+",
    ast.RShift: "*",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_CALLS = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "upper": "lower",
    "lower": "upper",
    "argmin": "argmax",
    "argmax": "argmin",
    "floor": "ceil",
    "ceil": "floor",
    "log": "log1p",
    "log1p": "log",
    "exp": "expm1",
    "expm1": "exp",
}


# Functions whose value does not depend on the order of arguments, or that refuse another one.
_SYMMETRIC = {
    "min",
    "max",
    "minimum",
    "maximum",
    "logaddexp",
    "isclose",
    "isinstance",
    "suppress",
    "check_integer",
    "check_interval",
    "check_choice",
}


class Module(NamedTuple):
    """A file whose code is changed, and the checks that should notice it.

    Attributes:
      file: path from the root.
      claims, tests: as for ``Fault``.
    """

    file: str
    claims: tuple[str, ...]
    tests: tuple[str, ...]


class Change(NamedTuple):
    """A replacement of the text [start, stop) of a file, in bytes.

    Attributes:
      kind: "operator", "constant", "index" or "argument".
      line: number of its first line, from 1.
      start, stop: byte offsets of the old text.
      new: the new text.
    """

    kind: str
    line: int
    start: int
    stop: int
    new: str


def modules() -> list[Module]:
    """The modules of drawn.toml."""
    return [
        Module(one["file"], tuple(one.get("claims", ())), tuple(one.get("tests", ())))
        for one in _table().get("module", ())
    ]


def survivors() -> dict[str, str]:
    """The reason why no check can notice a change, by the change's name."""
    return {one["name"]: one["reason"] for one in _table().get("survivor", ())}


@functools.cache
def _table() -> dict:
    return tomllib.loads((FOLDER / "drawn.toml").read_text(encoding="utf-8"))


class _Changes(ast.NodeVisitor):
    """Every small change of the code in a module's functions."""

    def __init__(self, text: str):
        self._bytes = text.encode()
        lengths = [len(line) for line in self._bytes.splitlines(keepends=True)]
        self._starts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
        self._inside = self._index = 0
        self.found: list[Change] = []
        self.visit(ast.parse(text))

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first = self._starts[node.lineno - 1] + node.col_offset
        return first, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        return self._bytes[slice(*self._span(node))].decode()

    def _add(self, kind: str, start: int, stop: int, new: str) -> None:
        if self._inside and self._bytes[start:stop].decode() != new:
            line = self._bytes[:start].count(b"\n") + 1
            self.found.append(Change(kind, line, start, stop, new))

    def _function(self, node: ast.FunctionDef) -> None:
        # Decorators, annotations and defaults are left out: domains and catalogue tests read them.
        self._inside += 1
        for statement in node.body:
            self.visit(statement)
        self._inside -= 1

    visit_FunctionDef = _function

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # no docstring
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skips error messages, which are text."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skips formatted strings, which are text, too."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def _between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        """Replaces an operator between two operands."""
        new = _OPERATORS.get(type(operator))
        start, stop = self._span(left)[1], self._span(right)[0]
        between = self._bytes[start:stop].decode()
        old = between.strip(" ()\n")
        if new is not None and between.count(old) == 1 and old and "#" not in between:
            at = start + len(between[: between.index(old)].encode())
            self._add("operator", at, at + len(old.encode()), new)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, node.op)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, right, operator in zip(sides, sides[1:], node.ops, strict=False):
            self._between(left, right, operator)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start, stop = self._span(node)[0], self._span(node.operand)[0]
        self.generic_visit(node)
        if isinstance(node.op, ast.USub | ast.Not):
            self._add("operator", start, stop, "")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        self._index += 1
        self.visit(node.slice)
        self._index -= 1

    def visit_Constant(self, node: ast.Constant) -> None:
        kind = "index" if self._index else "constant"
        if isinstance(node.value, bool):
            self._add(kind, *self._span(node), str(not node.value))
        elif isinstance(node.value, int):
            self._add(kind, *self._span(node), str(node.value + 1))
        elif isinstance(node.value, float):
            self._add(kind, *self._span(node), repr(2.0 * node.value or 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func
        word = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        if word in _CALLS:
            stop = self._span(name)[1]
            self._add("operator", stop - len(word), stop, _CALLS[word])
        plain = not any(isinstance(one, ast.Starred) for one in node.args)
        if plain and len(node.args) >= 2 and word not in _SYMMETRIC:
            first, second = node.args[:2]
            swapped = self._bytes[self._span(first)[1] : self._span(second)[0]].decode()
            new = f"{self._text(second)}{swapped}{self._text(first)}"
            self._add("argument", self._span(first)[0], self._span(second)[1], new)
        self.generic_visit(node)


def changes(text: str) -> list[Change]:
    """All small changes of a module's text, in the order in which they occur."""
    found = sorted(_Changes(text).found, key=lambda one: (one.start, one.stop))
    return [one for one in found if _parses(_changed(text, one))]


def _changed(text: str, change: Change) -> str:
    whole = text.encode()
    new = whole[: change.start] + change.new.encode() + whole[change.stop :]
    return new.decode()


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def as_fault(module: Module, text: str, change: Change) -> Fault:
    """The change as a fault, with enough lines around it to occur once in the file."""
    whole, changed = text.encode(), _changed(text, change)
    lines, others = text.splitlines(keepends=True), changed.splitlines(keepends=True)
    first, last = change.line - 1, whole[: change.stop].count(b"\n")
    grown = len(others) - len(lines)
    while len(places(text, old := "".join(lines[first : last + 1]))) != 1:
        first, last = max(first - 1, 0), min(last + 1, len(lines) - 1)
    new = "".join(others[first : last + 1 + grown])
    before = whole[change.start : change.stop].decode()
    place = lines[change.line - 1].strip()
    name = f"{module.file}: {change.kind} {before!r} -> {change.new!r} in {place!r}"
    return Fault(
        "drawn", name, module.file, old, new, module.claims, module.tests, survivors().get(name)
    )


def drawn(count: int, seed: int) -> list[Fault]:
    """Draws changes at random: equally many of each module, and of each kind within it.

    Args:
      count: number of changes, >= 1; there are fewer if the modules have fewer.
      seed: the same seed and the same code give the same changes.
    """
    generator = random.Random(seed)
    streams = [_of_module(module, generator) for module in modules()]
    found: list[Fault] = []
    while streams and len(found) < count:
        for stream in list(streams):
            fault = next(stream, None)
            if fault is None:
                streams.remove(stream)
            elif len(found) < count:
                found.append(fault)
    return found


def _of_module(module: Module, generator: random.Random) -> Iterator[Fault]:
    """Yields the changes of a module without repetition, one kind after the other."""
    text = (ROOT / module.file).read_text(encoding="utf-8")
    by_kind: dict[str, list[Change]] = {}
    for change in changes(text):
        by_kind.setdefault(change.kind, []).append(change)
    for kind in sorted(by_kind):
        generator.shuffle(by_kind[kind])
    kinds = sorted(by_kind)
    generator.shuffle(kinds)
    names = set()
    while any(by_kind.values()):
        for kind in kinds:
            if by_kind[kind]:
                fault = as_fault(module, text, by_kind[kind].pop())
                if fault.name not in names:
                    names.add(fault.name)
                    yield fault
