"""Faults drawn by chance: of each drawn function of a room, one small thing is changed by rule.

A room is a folder of the package. ``drawn.toml`` lists the changes that no check can notice, each
with the reason, and the tests of other folders that a room's code is held by, too.
"""

import ast
import functools
import random
import tomllib
from collections.abc import Iterable, Iterator, Sequence
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
# Operators of which an operand can be left out: what remains means something.
_TERMS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr)
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
_WORST = {"min", "max", "any", "all", "sum"}
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


class Change(NamedTuple):
    """A replacement of the text [start, stop) of a file, in bytes.

    Attributes:
      kind: the rule, in a word.
      line: number of its first line, from 1.
      start, stop: byte offsets of the old text.
      new: the new text.
      function: the function that is changed, with the classes and functions around it.
      lines: first and last line of the innermost function, its decorators included.
    """

    kind: str
    line: int
    start: int
    stop: int
    new: str
    function: str
    lines: tuple[int, int]


class Survivor(NamedTuple):
    """A change that no check can notice.

    Attributes:
      file, function: where.
      old, new: the changed lines, without the white space around them.
    """

    file: str
    function: str
    old: str
    new: str


def survivors() -> dict[Survivor, str]:
    """The reason why no check can notice a change."""
    return {
        Survivor(one["file"], one["function"], one["old"], one["new"]): one["reason"]
        for one in _table().get("survivor", ())
    }


def elsewhere(room: str) -> list[str]:
    """Files of tests of other folders that hold a room, too."""
    return _table().get("elsewhere", {}).get(room, [])


@functools.cache
def _table() -> dict:
    return tomllib.loads((FOLDER / "drawn.toml").read_text(encoding="utf-8"))


class _Changes(ast.NodeVisitor):
    """Every small change of the code in a module's functions."""

    def __init__(self, text: str):
        self._bytes = text.encode()
        lengths = [len(line) for line in self._bytes.splitlines(keepends=True)]
        self._starts = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
        self._index = 0
        self._names: list[str] = []
        self._lines: list[tuple[int, int]] = []
        self.found: list[Change] = []
        self.visit(ast.parse(text))

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first = self._starts[node.lineno - 1] + node.col_offset
        return first, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self._bytes[slice(*self._span(node))].decode()

    def _add(self, kind: str, start: int, stop: int, new: str) -> None:
        if self._lines and self._bytes[start:stop].decode() != new:
            line = self._bytes[:start].count(b"\n") + 1
            function = ".".join(self._names)
            self.found.append(Change(kind, line, start, stop, new, function, self._lines[-1]))

    def _replace(self, kind: str, node: ast.expr | ast.stmt, new: str) -> None:
        self._add(kind, *self._span(node), new)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        self.generic_visit(node)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        # Decorators, annotations and defaults are left out: domains and catalogue tests read them.
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        self._names.append(node.name)
        self._lines.append((first, node.end_lineno or first))
        for statement in node.body:
            self.visit(statement)
        self._lines.pop()
        self._names.pop()

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring
            return
        if isinstance(node.value, ast.Call | ast.Await):
            self._replace("state", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(one, ast.Attribute | ast.Subscript) for one in node.targets):
            self._replace("state", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace("state", node, "pass")
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        item = node.items[0]
        if "lock" in self._text(item.context_expr) and item.optional_vars is None:
            start, begins = self._span(node)[0], self._span(node.body[0])
            header = self._bytes[start : begins[0]].decode().rstrip()
            self._add("lock", start, start + len(header.encode()), "if True:")
            if isinstance(node.body[0], ast.Assign) and len(node.body) > 1:
                first = self._text(node.body[0])
                new = f"{first}\n{' ' * node.col_offset}{header}"
                self._add("lock", start, begins[1], new)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skips error messages, which are text."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skips assertions, which are for the type checker."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # a check of what is so
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skips formatted strings, which are text, too."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        self._condition(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node)

    def _condition(self, node: ast.If | ast.IfExp) -> None:
        self._replace("condition", node.test, f"not ({self._text(node.test)})")
        self._replace("condition", node.test, "False")
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._last(node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._last(node.iter)
        for one in node.ifs:
            self._replace("condition", one, f"not ({self._text(one)})")
        self.generic_visit(node)

    def _last(self, iterated: ast.expr) -> None:
        self._replace("last", iterated, f"list({self._text(iterated)})[:-1]")

    def visit_List(self, node: ast.List) -> None:
        if len(node.elts) > 1:
            stop = self._span(node.elts[-2])[1]
            self._add("last", stop, self._span(node.elts[-1])[1], "")
        self.generic_visit(node)

    def _between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        """Replaces an operator between two operands."""
        new = _OPERATORS.get(type(operator))
        start, stop = self._span(left)[1], self._span(right)[0]
        between = self._bytes[start:stop].decode()
        old = between.strip(" ()\n")
        if new is not None and between.count(old) == 1 and old and "#" not in between:
            at = start + len(between[: between.index(old)].encode())
            kind = "edge" if isinstance(operator, ast.cmpop) else "operator"
            self._add(kind, at, at + len(old.encode()), new)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._between(node.left, node.right, node.op)
        if isinstance(node.op, _TERMS):
            self._replace("term", node, f"({self._text(node.left)})")
            if not isinstance(node.op, ast.Div):
                self._replace("term", node, f"({self._text(node.right)})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, node.op)
        joined = " and " if isinstance(node.op, ast.And) else " or "
        texts = [f"({self._text(value)})" for value in node.values]
        for place in range(len(texts)):
            self._replace("term", node, joined.join(texts[:place] + texts[place + 1 :]))
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

    def visit_Slice(self, node: ast.Slice) -> None:
        if node.upper is not None and not isinstance(node.upper, ast.Constant):
            self._replace("end", node.upper, f"({self._text(node.upper)}) - 1")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        kind = "index" if self._index else "constant"
        if isinstance(node.value, bool):
            self._replace(kind, node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(kind, node, str(node.value + 1))
        elif isinstance(node.value, float):
            self._replace(kind, node, repr(2.0 * node.value or 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func
        word = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        if word in _CALLS:
            stop = self._span(name)[1]
            self._add("call", stop - len(word), stop, _CALLS[word])
        plain = not any(isinstance(one, ast.Starred) for one in node.args)
        if plain and node.args:
            self._arguments(node, word)
        for one in node.keywords:
            if one.arg == "axis" and isinstance(one.value, ast.Constant | ast.UnaryOp):
                self._replace("axis", one.value, "1" if self._text(one.value) == "0" else "0")
        self._settings(node)
        self.generic_visit(node)

    def _arguments(self, node: ast.Call, word: str) -> None:
        """The first two are swapped; one alone is taken for the worst; a range ends early."""
        first = node.args[0]
        if isinstance(node.func, ast.Name) and word == "range":
            self._replace("end", node.args[min(1, len(node.args) - 1)],
                          f"({self._text(node.args[min(1, len(node.args) - 1)])}) - 1")  # fmt: skip
        if isinstance(node.func, ast.Name) and word in _WORST:
            if len(node.args) > 1:
                for one in node.args:
                    self._replace("first", node, f"({self._text(one)})")
            else:
                inner = self._text(first)
                default = "" if word in ("min", "max") else f", {word == 'all'}"
                self._replace("first", node, f"next(iter({inner}){default})")
        if len(node.args) > 1 and word not in _SYMMETRIC:
            one, other = node.args[:2]
            swapped = self._bytes[self._span(one)[1] : self._span(other)[0]].decode()
            new = f"{self._text(other)}{swapped}{self._text(one)}"
            self._add("argument", self._span(one)[0], self._span(other)[1], new)

    def _settings(self, node: ast.Call) -> None:
        """A named argument is left out."""
        before = node.args[-1] if node.args else None
        for one in node.keywords:
            if one.arg not in (None, "strict") and before is not None:
                self._add("setting", self._span(before)[1], self._span(one.value)[1], "")
            before = one.value


def changes(text: str) -> list[Change]:
    """All small changes of a module's text, in the order in which they occur."""
    return sorted(_Changes(text).found, key=lambda one: (one.start, one.stop))


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


def _lines(text: str, change: Change) -> tuple[int, int, int]:
    """The first and last line that are changed, from 0, and how many lines are added."""
    last = text.encode()[: change.stop].count(b"\n")
    return change.line - 1, last, _changed(text, change).count("\n") - text.count("\n")


def survivor(file: str, text: str, change: Change) -> Survivor:
    """The change as the list of survivors has it."""
    first, last, grown = _lines(text, change)
    old = text.splitlines()[first : last + 1]
    new = _changed(text, change).splitlines()[first : last + 1 + grown]
    return Survivor(file, change.function, *("\n".join(map(str.strip, one)) for one in (old, new)))


def as_fault(room: str, file: str, text: str, change: Change, tests: Sequence[str]) -> Fault:
    """The change as a fault, with enough lines around it to occur once in the file."""
    lines = text.splitlines(keepends=True)
    others = _changed(text, change).splitlines(keepends=True)
    first, last, grown = _lines(text, change)
    while len(places(text, old := "".join(lines[first : last + 1]))) != 1:
        first, last = max(first - 1, 0), min(last + 1, len(lines) - 1)
    new = "".join(others[first : last + 1 + grown])
    key = survivor(file, text, change)
    said = f"{file}:{change.line} {change.function}, {change.kind}:\n- {key.old}\n+ {key.new}\n "
    return Fault(room, said, file, old, new, tests=tuple(tests), survives=survivors().get(key))


def files(room: str) -> list[str]:
    """The modules of a room, from the root."""
    found = sorted((ROOT / "jaxsel" / room).rglob("*.py"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def drawn(room: str, count: int, seed: int) -> Iterator[tuple[str, str, Change]]:
    """Draws functions of a room, and a change of each: a file, its text and the change.

    Of a function each kind of change is drawn equally often. No function is drawn twice before
    all have been.

    Args:
      room: a folder of the package.
      count: number of changes, >= 1; there are fewer if the room has fewer.
      seed: the same seed and the same code give the same changes.
    """
    generator = random.Random(seed)
    of_function: list[tuple[str, str, dict[str, list[Change]]]] = []
    for file in files(room):
        text = (ROOT / file).read_text(encoding="utf-8")
        by_lines: dict[tuple[int, int], dict[str, list[Change]]] = {}
        for change in changes(text):
            by_lines.setdefault(change.lines, {}).setdefault(change.kind, []).append(change)
        of_function += [(file, text, kinds) for kinds in by_lines.values()]
    made = 0
    while of_function and made < count:
        generator.shuffle(of_function)
        for file, text, kinds in of_function[: count - made]:
            while kinds:  # until one is code
                kind = generator.choice(sorted(kinds))
                chosen = kinds[kind].pop(generator.randrange(len(kinds[kind])))
                if not kinds[kind]:
                    del kinds[kind]
                if _parses(_changed(text, chosen)):
                    made += 1
                    yield file, text, chosen
                    break
        of_function = [one for one in of_function if one[2]]


def room_of(names: Iterable[str]) -> list[str]:
    """Those of the names that are folders of the package."""
    return [name for name in names if (ROOT / "jaxsel" / name / "__init__.py").exists()]
