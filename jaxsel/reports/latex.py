"""A statement as LaTeX: a paragraph and a table for the plain article class."""

import re
import unicodedata

from jaxsel.reports.contents import Contents

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    '"': "''",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after the end of a row a bracket would begin an optional argument
    "]": "{]}",
    "*": "{*}",
    "\u00a0": "~",
    "–": "--",
    "…": r"\ldots{}",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "×": r"$\times$",
    "−": "$-$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "μ": r"$\mu$",
    "η": r"$\eta$",
    "γ": r"$\gamma$",
    "τ": r"$\tau$",
    "Φ": r"$\Phi$",
    "é": r"\'e",
    "ó": r"\'o",
    "ö": r"\"o",
    "ü": r"\"u",
    "ä": r"\"a",
    "ß": r"\ss{}",
}
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?)(\d+)(?![\w.])")


def _letter(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if letter.isascii():
        return letter if letter.isprintable() else " "
    # Letters that a plain installation may lack lose their accents, or are replaced.
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(each, each) for each in plain) or "?"


def _power(found: re.Match) -> str:
    digits, sign, exponent = found[1], found[2].replace("+", ""), int(found[3])
    front = "" if digits == "1" else rf"{digits} \cdot "
    return rf"${front}10^{{{sign}{exponent}}}$"


def escaped(text: str) -> str:
    """Escapes text for LaTeX: pure ASCII, exponents as powers of ten."""
    found, last = [], 0
    for match in _POWER.finditer(text):
        found += [*map(_letter, text[last : match.start()]), _power(match)]
        last = match.end()
    found += map(_letter, text[last:])
    return re.sub(r"\bK\b", "$K$", "".join(found))


def latex(found: Contents) -> str:
    """A paragraph, a table and the references for the body of a document, without packages."""
    rows = "\n".join(
        rf"\raggedright {escaped(name)} & \raggedright {escaped(value)} \tabularnewline"
        for name, value in found.rows
    )
    works = "".join(f"% {escaped(work)}\n" for work in found.references)
    paragraph = "\n".join(map(escaped, found.paragraph))
    return f"""% {escaped(found.title)}. Put it into the body of a document.
{works}\\paragraph{{Privacy.}}
{paragraph}

\\begin{{table}}[ht]
\\centering\\small
\\begin{{tabular}}{{p{{0.28\\linewidth}}p{{0.64\\linewidth}}}}
\\hline
{rows}
\\hline
\\end{{tabular}}
\\caption{{{escaped(found.title)}: upper bounds, proved.}}
\\end{{table}}
"""
