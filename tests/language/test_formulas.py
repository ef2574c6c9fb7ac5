"""Formulas of statements: which parts of a text they are, and their TeX."""

import functools
import re

import pytest
from matplotlib import mathtext

from jaxsel.catalogue import all_claims, errata, mechanisms, published_claims, remarks
from jaxsel.language.formulas import _GREEK, _TOKEN, parts, tex

# What no word has. A setting (k=3), an id, a place and a name of the code (run_epsilon) are taken
# out before; "Gamma" alone is the name of a law, and "a", "A" and "I" are words.
_NAMES = "|".join({*_GREEK, "sqrt", "infinity", "prod", "ceil", "floor"} - {"Gamma"})
_LIKE_A_FORMULA = re.compile(
    rf"[\^_<>=+*|~{{}}\[\]\\]|\W/|/\W|\b(?:{_NAMES})\b|\b[b-zB-HJ-Z]\b|\w\(|\d[a-z]"
)


def texts():
    """Every text of the catalogue that may have formulas, with what it belongs to."""
    for claim in all_claims():
        for text in (claim.source, claim.statement, claim.correction, claim.loose):
            if text:
                yield claim.id, text
    for erratum in errata():
        yield from ((erratum.id, text) for text in (erratum.printed, erratum.correct))
    yield from ((remark.id, remark.text) for remark in remarks())
    yield from ((entry.name, entry.summary) for entry in mechanisms())


@functools.cache
def read():
    return [(name, text, parts(text)) for name, text in texts()]


def words_like_formulas(text):
    """What is left of a text's words that no word has."""
    found = []
    for part in parts(text):
        if part.tex is None:
            kept = [
                "" if each.lastgroup in ("words", "code") else each[0]
                for each in re.finditer(rf"{_TOKEN.pattern}|\s", part.plain)
            ]
            found += _LIKE_A_FORMULA.findall("".join(kept))
    return found


def test_plain_texts_are_kept_to_the_letter():
    for _, text, found in read():
        assert "".join(part.plain for part in found) == text


def test_nothing_that_looks_like_a_formula_is_left_in_words():
    left = {name: words for name, text, _ in read() if (words := words_like_formulas(text))}
    assert left == {}
    for name, text, _ in read():  # "of K epsilon-DP runs" would be a product
        assert not re.search(r"\b(?:of|over|among|each) [A-Z] \w+-(?:DP|zCDP)", text), name


def test_the_formulas_of_every_text_are_tex():
    parser = mathtext.MathTextParser("path")
    for formula in {part.tex for _, _, found in read() for part in found if part.tex is not None}:
        parser.parse(f"${formula}$")
        assert "$" not in formula
        bare = re.sub(r"\\[lr]brace", "", formula)
        assert bare.count("{") == bare.count("}")
        # A half-open interval is closed by the other bracket.
        assert len(re.findall(r"[(\[]", bare)) == len(re.findall(r"[)\]]", bare)), formula


@pytest.mark.parametrize(
    "text",
    [
        "at most e +* 2",
        "at most x^ and y_",
        "for K <= , it holds",
        "at most sqrt of epsilon_",
        "the ratio (a + b)/ is small",
        "at most 2^",
        "in [0, k",
    ],
)
def test_what_is_no_formula_but_looks_like_one_is_seen(text):
    assert words_like_formulas(text)


@pytest.mark.parametrize(
    ("plain", "formulas"),
    [
        # The statement of Papernot & Steinke's Theorem 2.
        (
            "it has D_a <= e + (1+eta)(1 - 1/b) e' + (1+eta) log(1/gamma)/b + log(E[K])/(a-1).",
            r"it has $D_a \leq e + (1 + \eta) (1 - 1/b) e' + (1 + \eta) \log(1/\gamma)/b"
            r" + \frac{\log(\mathrm{E}[K])}{a - 1}$.",
        ),
        # Products before quotients, from the left; what follows a quotient is no part of it.
        ("3/4 epsilon-DP", r"$\frac{3}{4} \varepsilon$-DP"),
        ("2 log(1/d)/K", r"$2 \log(1/d)/K$"),
        ("(a-2)/(a-1) D_(a-1)(Q' || Q)", r"$\frac{a - 2}{a - 1} D_{a - 1}(Q' \parallel Q)$"),
        ("k/(8 b^2)-zCDP", r"$\frac{k}{8 b^2}$-zCDP"),
        # A sum and a product reach to the end of their term.
        ("1 prod_(l<k) (l+eta)/(l+1) + 2", r"$1 \prod_{l < k} \frac{l + \eta}{l + 1} + 2$"),
        ("1 - E_p prod (1 - p d_i)^tau", r"$1 - \mathrm{E}_p \prod (1 - p d_i)^{\tau}$"),
        # Indices and exponents.
        ("e^epsilon_1 - e^-epsilon", r"$e^{\varepsilon_1} - e^{-\varepsilon}$"),
        ("D_l' and q'_y and E_Q'[g]", r"$D_{l'}$ and $q'_y$ and $\mathrm{E}_{Q'}[g]$"),
        (
            "Q^(p), p*/3, K~, q-hat, k-bar",
            r"$Q^{(p)}$, $p^\ast /3$, $\tilde{K}$, $\hat{q}$, $\bar{k}$",
        ),
        ("is (epsilon^, delta^)-DP", r"is $(\hat{\varepsilon}, \hat{\delta})$-DP"),
        ("c1 and log2 m and l2", r"$c_1$ and $\log_2 m$ and $\ell_2$"),
        ("(z - 1)_+ to 10^-6 or 1e-5", r"$(z - 1)_+$ to $10^{-6}$ or $10^{-5}$"),
        # Brackets of every kind.
        ("log|X| in (0, 1]", r"$\log \vert X\vert$ in $(0, 1]$"),
        ("K ~ Bin(20, 1/2), k = 0..T", r"$K \sim \text{Bin}(20, 1/2)$, $k = 0,\dots,T$"),
        ("min{1, q_k} = ceil(2/b)", r"$\min\lbrace 1, q_k\rbrace  = \lceil 2/b \rceil$"),
        (
            "E[K; K > m] + P[K = 0 | K < m]",
            r"$\mathrm{E}[K;\; K > m] + \mathrm{P}[K = 0 \mid K < m]$",
        ),
        # Words that are names, and those that are none.
        (
            "scores >= 0 with P[score >= z]",
            r"scores $\geq 0$ with $\mathrm{P}[\text{score} \geq z]$",
        ),
        (
            "e + mean d at weights exp(count/b)",
            r"$e + \text{mean}\,d$ at weights $\exp(\text{count}/b)$",
        ),
        ("(a random rank) at 1.14 (eta = 0.5)", r"(a random rank) at 1.14 ($\eta = 0.5$)"),
        ("A sum X of epsilon-close laws", r"A sum $X$ of $\varepsilon$-close laws"),
        ("at order a, a Gaussian at a >= 2", r"at order $a$, a Gaussian at $a \geq 2$"),
        ("a cap 2 A, A = 3", r"a cap $2 A$, $A = 3$"),
        (
            "K ~ Poisson(L), L Gamma of shape r",
            r"$K \sim \text{Poisson}(L)$, $L$ Gamma of shape $r$",
        ),
        ("run_epsilon, at run_epsilon(d)", r"run_epsilon, at $\mathtt{run\_epsilon}(d)$"),
        ("Theorem 3.1(b) (k=3, LT-E6) in (d)", "Theorem 3.1(b) (k=3, LT-E6) in (d)"),
        ("says 'top' if '<=' is 'f <= t'", r"says 'top' if '$\leq$' is '$f \leq t$'"),
        ("1,437 digits, 0.5 %, in 2022: 3", "1,437 digits, 0.5 %, in 2022: 3"),
        ("where E K = 3", r"where $\mathrm{E} K = 3$"),
        ("x^y^z", "$x^{y^z}$"),
        ("e^-x^2", "$e^{-x^2}$"),
        ("2^3^4", "$2^{3^4}$"),
        ("x_(i+1)_j", "${x_{i + 1}}_j$"),
        ("x^2'", "${x^2}'$"),
        ("x'^2", "$x'^2$"),
    ],
)
def test_formulas_are_read(plain, formulas):
    assert tex(plain) == formulas


def test_a_statement_shows_its_formulas_in_a_notebook_alone():
    (claim,) = [claim for claim in published_claims() if claim.id == "PS-Thm2"]
    assert r"(1 + \eta) \log(1/\gamma)/b" in claim.tex
    assert r"(1 + \eta) \log(1/\gamma)/b" in claim._repr_html_()
    assert "(1+eta) log(1/gamma)/b" in str(claim)
    assert "$" not in str(claim)
    (erratum,) = [one for one in errata() if one.id == "LT-E16"]
    assert r"$\frac{\gamma + 1}{N p \gamma + 1}$" in erratum._repr_html_()
