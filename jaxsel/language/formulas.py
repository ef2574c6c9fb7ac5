r"""The formulas of a statement as TeX, read from its plain text.

A statement is written once, in plain text: ``D_a <= e + (1+eta) log(1/gamma)/b + mean d``. What
its formulas are follows from how they are written, by this grammar:

    relation  sum, joined by = <= >= < > << ~ -> <- or, with spaces, a colon
    sum       term, joined by + - +- or .. ("from, to"); a sign may stand before the first
    term      factor, joined by / or * or by nothing: "x y/z w" is ((x y)/z) w
    factor    atom with primes, indices _ and exponents ^, each of them one atom or in brackets;
              a star, a tilde or a hat may stand behind it (p*, K~, epsilon^, q-hat, k-bar)
    atom      number, symbol, function with its argument, |absolute value|, or a bracket: a list
              of relations between , ; | or ||

A symbol is a letter or the name of a Greek one. Other words are words, but for names: in a bracket
that belongs to a formula, before a bracket of their own (``base(epsilon)``) and behind an operator
(``e + mean d``). "a" is a symbol where no article can stand. Places in papers (Theorem 3.1(b)),
ids, settings (k=3) and what stands between backticks are words.
"""

import re
from collections.abc import Callable
from typing import NamedTuple


class Part(NamedTuple):
    """A part of a text.

    Attributes:
      plain: the part as it stands in the text.
      tex: the formula as TeX; None for words.
    """

    plain: str
    tex: str | None


_GREEK = {
    name: "\\" + name
    for name in "alpha beta gamma delta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi "
    "omega zeta Gamma Delta Phi".split()
} | {"epsilon": r"\varepsilon"}
_SYMBOLS = _GREEK | {
    "inf": r"\infty",
    "infinity": r"\infty",
    "dx": r"\,dx",
    "EX": r"\mathrm{E}X",
    "EY": r"\mathrm{E}Y",
    "l2": r"\ell_2",
}
_FUNCTIONS = {name: "\\" + name for name in "log exp min max sup sinh tanh sum prod int".split()}
_ENCLOSED = {
    "sqrt": (r"\sqrt{", "}"),
    "ceil": (r"\lceil ", r" \rceil"),
    "floor": (r"\lfloor ", r" \rfloor"),
}
_RELATIONS = {
    "=": "=", "<": "<", ">": ">", "<=": r"\leq", ">=": r"\geq", "<<": r"\ll", "~": r"\sim",
    "->": r"\to", "<-": r"\leftarrow", ":": ":",
}  # fmt: skip
_SIGNS = {"+": " + ", "-": " - ", "+-": r" \pm ", "..": r",\dots,"}
_SEPARATORS = {",": ", ", ";": r";\; ", "|": r" \mid ", "||": r" \parallel ", ":": r" \colon "}
_OPENING = {"(": "(", "[": "[", "{": r"\lbrace "}
_CLOSING = {")": ")", "]": "]", "}": r"\rbrace "}
_BARS = {"|": r"\vert ", "||": r"\Vert "}

_NUMBERED = (
    "Algorithm|Appendix|Claim|Corollar|Definition|Figure|Lemma|Proposition|Remark|Section|Theorem"
)
_PLACE = r"(?:[A-Z]?\.?\d+(?:\.\d+)*(?: ?\(\w\))?|[A-Z]\b)"
_TOKEN = re.compile(
    rf"(?P<words>(?:{_NUMBERED})(?:s|y|ies)? {_PLACE}(?: and {_PLACE})*"
    r"|`[^`]*`|'s(?!\w)|\w+=[^\s)]+"
    r"|\b(?:[ER]-)?[A-Z]{2,}\w*(?:-(?:\w|\.(?=\w))+(?:\(\w\))?)+(?:-\w+)*"
    r"|(?:(?<=\s)|^)\((?:[a-z]|[A-Z]?\.?\d[\d.]*)\))"
    rf"|(?P<code>\b(?!(?:{'|'.join([*_GREEK, *_FUNCTIONS])})_)[a-z]{{2,}}(?:_[a-z]+)+)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+|(?:\d+(?:\.\d+)?|(?<!\.)\.\d+)(?:e[+-]?\d+)?)"
    r"|(?P<name>[A-Za-z]+\d*)"
    r"|(?P<sign><=|>=|<<|<-|->|\|\||\+-|\.\.\.|\.\.|[-+*/^_=<>~'()\[\]{}|,;:])"
    r"|(?P<other>\S)"
)
_QUOTED = re.compile(r"(?:(?<=[\s(])|^)'([^']+)'(?!\w)")
_QUOTE = Part("'", None)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    spaced: bool


class _NoFormula(Exception):
    """What stands here is none."""


class _Reader:
    """Reads the formulas of one text. ``at`` is the next token.

    ``depth`` counts the brackets around what is read; ``words`` says whether words are names in
    it, and ``first`` whether a word at its beginning is one.
    """

    def __init__(self, text: str) -> None:
        self.at = 0
        self.tokens = [
            _Token(
                found.lastgroup or "",
                found[0],
                found.start(),
                not text[: found.start()][-1:].strip(),
            )
            for found in _TOKEN.finditer(text)
        ]
        self.tokens.append(_Token("end", "", len(text), True))

    # --- Tokens ---------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> _Token:
        """A token: the next one, or one beside it; the end beyond both ends."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def follows(self, *texts: str) -> bool:
        """Whether one of these comes next, with no space before it."""
        return self.peek().text in texts and not self.peek().spaced

    def take(self, *texts: str) -> str:
        """The next token, which must be one of these."""
        if self.peek().text not in texts:
            raise _NoFormula
        self.at += 1
        return self.peek(-1).text

    def attempt(self, read: Callable[..., str], *given: object) -> str:
        """What ``read`` reads; nothing, and nothing is read, if that is no formula."""
        before = self.at
        try:
            return read(*given)
        except _NoFormula:
            self.at = before
            return ""

    # --- Relations, sums and terms ------------------------------------------------------------

    def relation(self, depth: int, words: bool) -> str:
        found = self.sum(depth, words, words)
        while more := self.attempt(self.related, depth, words):
            found += more
        return found

    def related(self, depth: int, words: bool) -> str:
        sign = self.take(*_RELATIONS)
        if sign in "~:" and self.peek(-1).spaced != self.peek().spaced:
            raise _NoFormula  # a colon between words
        return f" {_RELATIONS[sign]} {self.sum(depth, words, True)}"

    def sum(self, depth: int, words: bool, first: bool) -> str:
        found = ""
        if self.peek().text in ("+", "-", "+-") and not self.peek(1).spaced:
            found = {"+": "+", "-": "-", "+-": r"\pm "}[self.take(*_SIGNS)]
        found += self.term(depth, words, first)
        while more := self.attempt(self.added, depth, words):
            found += more
        return found

    def added(self, depth: int, words: bool) -> str:
        sign, spaced = self.take(*_SIGNS), self.peek(-1).spaced
        if spaced != self.peek().spaced:
            raise _NoFormula
        hyphen = sign == "-" and not spaced  # before a word no minus: epsilon-DP
        return _SIGNS[sign] + self.term(depth, words and not hyphen, not hyphen)

    def term(self, depth: int, words: bool, first: bool) -> str:
        found, bare = self.factor(depth, first)
        while True:
            if self.peek().text in ("/", "*"):
                more = self.attempt(self.divided, depth, words, found, bare)
            else:
                more = self.attempt(self.multiplied, depth, words, found)
                bare = ""
            if not more:
                return found
            found = more

    def divided(self, depth: int, words: bool, over: str, bare: str) -> str:
        """A quotient: a fraction where a slash would need brackets, or be misread."""
        if self.take("/", "*") == "*":
            return rf"{over} \cdot {self.factor(depth, words)[0]}"
        under, inner = self.factor(depth, words or not self.peek().spaced)
        before = self.at
        followed = self.attempt(self.multiplied, depth, words, "")
        self.at = before
        if followed or (depth == 0 and (bare or inner)):
            return rf"\frac{{{bare or over}}}{{{inner or under}}}"
        return f"{over}/{under}"

    def multiplied(self, depth: int, words: bool, found: str) -> str:
        token, previous, before = self.peek(), self.peek(-1), self.at
        if token.text == "x" and f"{previous.text}{self.peek(1).text}".isupper():
            self.at += 1
            return rf"{found} \times {self.factor(depth, words)[0]}"
        if token.kind == "number" and self.peek(1).text not in ("^", "{"):
            if previous.text != ")":
                raise _NoFormula
            found += r" \cdot"
        if token.text == "a" and depth == 0 and not self.is_symbol_a():
            raise _NoFormula
        factor = self.factor(depth, words)[0]
        if token.text == "(" and token.spaced and self.holds(before, *_RELATIONS, ","):
            raise _NoFormula  # an aside: at 1.14 (eta = 0.5)
        named = factor.startswith(r"\text{") or re.search(r"\\text\{[^{}]*\}$", found)
        return found + (r"\," if named else " ") + factor

    def holds(self, before: int, *signs: str) -> bool:
        """Whether one of these stands in the bracket that was read since, not further inside."""
        depth = 0
        for token in self.tokens[before : self.at]:
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            if depth == 1 and token.text in signs:
                return True
        return False

    # --- Factors ------------------------------------------------------------------------------

    def factor(self, depth: int, words: bool) -> tuple[str, str]:
        """A factor; and what is in its brackets, if it is nothing but brackets."""
        found, bare = self.atom(depth, words)
        scripted = self.scripted(found, "'", "_", "^", "*", "~", "-")
        return scripted, bare if scripted == found else ""

    def scripted(self, found: str, *signs: str) -> str:
        """What was found with what is written behind it: primes, indices, exponents, hats."""
        written = ""
        while self.follows(*signs) and (more := self.attempt(self.script, found)):
            kind = more[len(found)] if more.startswith(found) else ""
            # TeX refuses a second index, and any exponent or prime behind an exponent.
            again = (kind in ("^", "'") and "^" in written) or (kind == "_" and "_" in written)
            found = f"{{{found}}}{more[len(found) :]}" if again else more
            written = kind if again else written + kind
        return found

    def script(self, found: str) -> str:
        sign = self.take("'", "_", "^", "*", "~", "-")
        ends = self.peek().spaced or self.peek().text in (*",)].;/-|", "||", "")
        free = ends and not found.isdigit()  # a hat, no exponent
        if sign == "'":
            return found + "'"
        if sign == "-" and self.follows("hat", "bar"):
            return rf"\{self.take('hat', 'bar')}{{{found}}}"
        if sign == "*" and free:
            return found + r"^\ast "
        if sign == "~" and free:
            return rf"\tilde{{{found}}}"
        if sign == "^" and free and not self.follows("-"):
            return rf"\hat{{{found}}}"
        if sign in "_^" and not self.peek().spaced:
            inner = self.index(sign)
            return found + sign + (inner if len(inner) == 1 else f"{{{inner}}}")
        raise _NoFormula

    def index(self, sign: str) -> str:
        """An index or an exponent: what is in brackets, or an atom with an index of its own."""
        if self.follows("("):
            alone = self.peek(2).text == ")" and sign == "^"  # Q^(p) is not Q^p
            return self.bracket(2, True)[not alone]
        if self.follows("+"):
            return self.take("+")
        minus = self.take("-") if self.follows("-") else ""
        token = self.peek()
        if token.kind not in ("number", "name"):
            raise _NoFormula
        self.at += 1
        # An exponent may have an index and an exponent of its own: e^-x^2 is no power of e^-x.
        own = "_^" if sign == "^" else ""
        if token.kind == "number":
            return minus + self.scripted(token.text, *own[1:])
        return minus + self.scripted(_name(token.text), "'", *own)

    # --- Atoms --------------------------------------------------------------------------------

    def atom(self, depth: int, words: bool) -> tuple[str, str]:
        token, after = self.peek(), self.peek(1)
        if token.text in _OPENING:
            # Whatever is in a bracket that stands at a name or behind a relation is a formula.
            belongs = self.at and (self.peek(-1).text in _RELATIONS or not token.spaced)
            return self.bracket(depth, bool(belongs) or (words and depth > 0))
        if token.text in _BARS and not after.spaced:
            return self.absolute(), ""
        if token.text in _ENCLOSED:
            return self.enclosed(), ""
        if token.text in _FUNCTIONS or re.fullmatch(r"log\d", token.text):
            return self.function(depth, words), ""
        if token.kind not in ("number", "code", "name") and token.text != "...":
            raise _NoFormula
        self.at += 1
        if token.kind == "number":
            return _number(token.text), ""
        if token.text == "...":
            if not words and not depth:
                raise _NoFormula
            return r"\dots", ""
        if token.kind == "code":
            escaped = token.text.replace("_", r"\_")
            return self.applied(rf"\mathtt{{{escaped}}}", must=not words), ""
        if token.text in "EP" and self.is_upright(token.text):
            return self.applied(rf"\mathrm{{{token.text}}}"), ""
        if self.is_symbol(token) and not (token.text == "Gamma" and after.text != "("):
            self.at -= 1
            if depth == 0 and not words and not self.is_symbol_a():
                raise _NoFormula
            self.at += 1
            return self.applied(_name(token.text)), ""
        name = rf"\text{{{token.text}}}"
        if self.follows("(", "["):
            return self.applied(name, must=True), ""
        if words or (self.follows("/") and self.is_symbol(self.peek(1))):  # count/b
            return name, ""
        raise _NoFormula

    def is_symbol(self, token: _Token) -> bool:
        return token.text in _SYMBOLS or bool(re.fullmatch(r"[A-Za-z]\d?|\(", token.text))

    def is_symbol_a(self) -> bool:
        """Whether the next token is none of the words "a", "A" and "I", which no symbol are."""
        token, before, after = self.peek(), self.peek(-1), self.peek(1)
        if (
            token.text not in ("a", "A", "I")
            or not after.spaced
            or before.text in ("order", "orders")
        ):
            return True
        if token.text != "a":
            return after.text in _RELATIONS or before.kind == "number"
        if after.text == "(":
            return before.kind == "number"
        ends = after.kind in ("sign", "end") and after.text not in ("'", "[", "|", "||")
        vowel = after.text in _GREEK and after.text[0] in "ae"  # "an epsilon", if it were a word
        return ends or vowel or after.text in ("log", "in", "is", "at", "and")

    def is_upright(self, name: str) -> bool:
        """Whether that name, just taken, is an expectation or a probability, and no symbol."""
        after = self.peek()
        if name == "P" or not after.spaced:
            return after.text in (("[",) if name == "P" else ("[", "_", "|"))
        letter = after.kind == "name" and len(after.text) == 1
        return letter or after.text in (*_GREEK, "min", "max")

    def applied(self, name: str, must: bool = False) -> str:
        """A name with its arguments, if it has any; primes and indices may stand between."""
        name = self.scripted(name, "'", "_", "^")
        arguments = self.attempt(self.arguments) if self.follows("(", "[") else ""
        if must and not arguments:
            raise _NoFormula
        return name + arguments

    def arguments(self) -> str:
        return self.bracket(1, True)[0]

    def enclosed(self) -> str:
        opening, closing = _ENCLOSED[self.take(*_ENCLOSED)]
        if not self.follows("("):
            raise _NoFormula
        return opening + self.bracket(1, True)[1] + closing

    def function(self, depth: int, words: bool) -> str:
        name = self.peek().text
        if name == "sum" and self.peek(1).spaced and self.peek(-1).kind != "sign":
            raise _NoFormula  # the sum of them
        self.at += 1
        found = self.scripted(_name(name), "_", "^")
        if name in ("sum", "prod"):
            return f"{found} {self.term(depth, words, words)}"
        if self.follows("(", "[", "{"):
            return found + self.arguments()
        return f"{found} {self.factor(depth, words)[0]}"

    def absolute(self) -> str:
        bar = self.take(*_BARS)
        found = self.sum(1, True, True)
        return _BARS[bar] + found + _BARS[self.take(bar)]

    def bracket(self, depth: int, words: bool) -> tuple[str, str]:
        """A bracket, and what is in it."""
        opening = self.take(*_OPENING)
        found = self.relation(depth + 1, words)
        while self.peek().text not in _CLOSING:
            if self.peek().text == ":" and opening != "{":
                raise _NoFormula
            found += _SEPARATORS[self.take(*_SEPARATORS)] + self.relation(depth + 1, words)
        found = found.replace(r"}\,\text{", " ")  # a name of several words
        return _OPENING[opening] + found + _CLOSING[self.take(*_CLOSING)], found


def _name(name: str) -> str:
    if name in _SYMBOLS or name in _FUNCTIONS:
        return (_SYMBOLS | _FUNCTIONS)[name]
    letters = name.rstrip("0123456789")
    if letters != name:
        return f"{_name(letters)}_{name[len(letters) :]}"
    return name if len(name) == 1 else rf"\text{{{name}}}"


def _number(text: str) -> str:
    """A number; 1e-6 as a power of ten."""
    digits, mark, power = text.replace(",", "{,}").partition("e")
    if not mark:
        return digits
    power = f"10^{{{int(power)}}}"
    return power if digits == "1" else rf"{digits} \cdot {power}"


def _formula(reader: _Reader) -> str:
    """The formula that begins at the next token."""
    token, first = reader.peek(), reader.at
    if token.kind == "words" or (token.text in _SIGNS and not token.spaced):
        raise _NoFormula  # a hyphen
    if token.text in _RELATIONS and token.text != ":" and token.spaced:
        if first == 0 and reader.peek(1).kind == "end":
            return _RELATIONS[reader.take(*_RELATIONS)]
        return reader.related(0, False)
    found = reader.relation(0, False)
    if re.fullmatch(r"[\d.,{}]+|\\text\{\w*\}", found):
        raise _NoFormula  # a number alone, a word
    if found[-1] == ")" and token.text == "(" and reader.holds(first, *_RELATIONS):
        raise _NoFormula  # an aside: (eta = 0.5)
    return found


def _unquoted(text: str) -> list[Part]:
    """The parts of a text in which no quotation marks stand."""
    reader, found, end = _Reader(text), [], 0
    while reader.peek().kind != "end":
        start = reader.peek().start
        if formula := reader.attempt(_formula, reader):
            last = reader.peek(-1)
            found += [Part(text[end:start], None)] * (start > end)
            end = last.start + len(last.text)
            found.append(Part(text[start:end], formula.strip()))
        else:
            reader.at += 1
    return found + [Part(text[end:], None)] * (end < len(text))


def parts(text: str) -> list[Part]:
    """The words and the formulas of a text, one after another."""
    found: list[Part] = []
    for number, part in enumerate(_QUOTED.split(text)):
        found += [_QUOTE, *_unquoted(part), _QUOTE] if number % 2 else _unquoted(part)
    return found


def tex(text: str) -> str:
    """The text with its formulas as TeX between dollar signs."""
    return "".join(part.plain if part.tex is None else f"${part.tex}$" for part in parts(text))
