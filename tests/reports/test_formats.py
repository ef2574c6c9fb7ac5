"""Markdown, LaTeX and HTML of a report: what they say, and that nothing slips through."""

import re

import numpy as np
import pytest
from scipy import stats

import jaxsel
from jaxsel.accounting.single_run import curves
from jaxsel.host.errors import InputError
from jaxsel.pictures import proof
from jaxsel.reports import latex, markdown, page
from jaxsel.reports.contents import Contents, contents

from .parts import Page, quick

HOSTILE = r'a\b {x} $5 & #1 100% _under_ ^ ~ <b>"q"</b> | `c` [1] *s* é 漢 ∑ 3e-07'


def hostile() -> Contents:
    row = ((HOSTILE, HOSTILE),)
    return Contents(HOSTILE, HOSTILE, row, (HOSTILE,), row, (HOSTILE,), (HOSTILE,))


def test_every_format_says_what_is_proved():
    found = quick()
    epsilon = f"{np.ceil(found.statement.subject.proof.epsilon * 1e4) / 1e4:g}"
    page_words = "".join(Page(found.html()).words)
    for text in (found.markdown(), found.latex(), page_words):
        assert epsilon in text
        for words in (
            "JX-Envelope",
            "geometric with mean 5",
            "noise multiplier = 4",
            "the other runs",
            "dp-accounting",
            "docs/envelope.md",
            "sensitivity",
        ):
            assert words in text, words


def test_numbers_are_rounded_upwards():
    statement = quick().statement
    shown = dict(contents(statement).numbers)
    assert float(shown["ε"]) >= statement.subject.proof.epsilon
    assert shown["δ"] == "1e-6"
    for fpr, tpr in statement.rates:
        text = shown[f"true positives at {100 * fpr:g}\u00a0% false"]
        percent = float(text.removesuffix("\u00a0%"))
        assert 0.0 <= percent - 100.0 * tpr <= 0.01 * 100.0 * tpr
    assert 0.0 <= float(shown["advantage"]) - statement.advantage < 1e-3
    assert 0.0 <= float(shown["nearest Gaussian, μ"]) - statement.mu < 1e-3


def test_markdown_shows_special_characters_as_they_are():
    text = markdown.escaped(HOSTILE)
    assert re.sub(r"\\(.)", r"\1", text) == HOSTILE
    assert not re.search(r"[\\`*_{}\[\]<>|#~^$&]", re.sub(r"\\.", "", text))
    body = markdown.markdown(hostile())
    row = next(line for line in body.splitlines() if line.startswith("| a"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 3


def test_latex_is_ascii_and_leaves_no_special_character():
    text = latex.escaped(HOSTILE)
    assert text.isascii()
    assert r"\textbackslash{}b" in text
    assert r"\'e" in text
    assert r"$3 \cdot 10^{-7}$" in text
    bare = re.sub(r"\\[a-zA-Z]+(\{\})?|\\['\"][a-z]|\\[{}$&#%_]|\$[^$]*\$", "", text)
    assert not re.search(r"[\\$&#%_^~<>|\"]", bare.replace("{[}", "").replace("{]}", ""))
    assert latex.escaped("δ = 1e-6") == r"$\delta$ = $10^{-6}$"
    assert latex.escaped("best of K runs") == "best of $K$ runs"


@pytest.mark.parametrize("found", [hostile(), None], ids=["hostile", "real"])
def test_latex_is_balanced_and_needs_no_package(found):
    text = latex.latex(found) if found else quick().latex()
    body = re.sub(r"(?<!\\)%.*", "", text)
    bare = re.sub(r"\\[{}$]", "", body)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    for name in ("table", "tabular"):
        assert body.count(rf"\begin{{{name}}}") == body.count(rf"\end{{{name}}}") == 1
    assert "usepackage" not in body
    rows = body.split(r"\hline")[1].strip().splitlines()
    assert all(row.endswith(r" \tabularnewline") for row in rows)
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in rows)
    known = {
        "paragraph",
        "begin",
        "end",
        "centering",
        "linewidth",
        "hline",
        "caption",
        "cdot",
        "varepsilon",
        "delta",
        "mu",
        "eta",
        "gamma",
        "tau",
        "Phi",
        "le",
        "ge",
        "times",
        "ldots",
        "ss",
        "textbackslash",
        "textasciicircum",
        "textasciitilde",
        "textasciigrave",
        "raggedright",
        "tabularnewline",
        "small",
    }
    assert set(re.findall(r"\\([a-zA-Z]+)", body)) <= known


def test_the_page_loads_nothing_and_is_well_formed():
    text = quick().html()
    read = Page(text)
    assert read.tags.count("svg") == 2
    assert "script" not in read.tags
    assert all(link.startswith("#") for link in read.loads)
    assert {link[1:] for link in read.loads} <= set(read.ids)
    assert len(set(read.ids)) == len(read.ids)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    assert {name for name in re.findall(r"url\(#([^)]*)\)", text)} <= set(read.ids)
    for wanted in ("prefers-color-scheme: dark", "@media print", 'name="viewport"'):
        assert wanted in text
    # In the pictures every colour is one of the page's.
    pictures = "".join(re.findall(r"<svg.*?</svg>", text, re.S))
    assert not re.findall(r"#[0-9a-fA-F]{6}\b", pictures)
    assert set(re.findall(r"var\((--\w+)\)", pictures)) <= set(re.findall(r"(--\w+):", text))


def test_the_page_escapes_what_it_is_given():
    text = page.page(hostile(), page.pictures(quick().statement))
    assert "<b>" not in text
    assert "&lt;b&gt;&quot;q&quot;" in text
    assert "3\u202f×\u202f10<sup>−7</sup>" in text
    Page(text)


def test_three_files_are_written(tmp_path):
    paths = quick().write(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["report.md", "report.tex", "report.html"]
    assert paths[1].read_text(encoding="utf-8") == quick().latex()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write to"):
        quick().write(tmp_path / "file")


def test_the_drawn_gaussian_is_the_gaussian():
    levels = np.linspace(0.0, 6.0, 40)
    for mu in (0.1, 1.0, 3.0):
        wanted = curves.gaussian_differential_privacy(mu).profile
        assert wanted is not None
        np.testing.assert_allclose(
            proof.gaussian_delta(levels, mu), wanted(levels), rtol=1e-9, atol=1e-300
        )
    assert np.all(proof.gaussian_delta(levels, 0.0) == 0.0)


def test_the_pictures_show_the_statement():
    statement = quick().statement
    subject = statement.subject
    drawn = proof.Drawn(
        subject.proof.epsilon,
        subject.delta,
        statement.epsilons,
        statement.deltas,
        statement.false_positives,
        statement.true_positives,
        statement.rates,
        statement.mu,
    )
    (axes,) = proof.draw_profile(drawn).axes
    lines = {line.get_label(): line for line in axes.lines}
    (x,), (y,) = lines["as stated"].get_data()
    assert (x, y) == (subject.proof.epsilon, 1e-6)
    curve = lines["proven, at most"]
    at = np.exp(np.interp(x, curve.get_xdata(), np.log(curve.get_ydata())))
    np.testing.assert_allclose(at, 1e-6, rtol=0.02)
    (axes,) = proof.draw_tradeoff(drawn).axes
    lines = {line.get_label(): line for line in axes.lines}
    marks = lines["as stated"].get_data()
    np.testing.assert_allclose(np.transpose(marks), statement.rates)
    falses, trues = lines["proven, at most"].get_data()
    gaussian = stats.norm.cdf(stats.norm.ppf(falses) + statement.mu)
    assert np.all(gaussian >= trues - 1e-11)


def test_pure_privacy_is_drawn_without_a_delta():
    cost = jaxsel.account("pure:epsilon=0.1", "geometric:mean=5", 0.0, attain=False)
    found = jaxsel.report(cost)
    assert found.statement.subject.delta == 0.0
    assert "δ = 0" in found.markdown()
    assert found.statement.mu < 1.0
    Page(found.html())
