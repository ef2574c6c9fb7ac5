"""A statement as a self-contained HTML page, without network access or scripts."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from jaxsel.pictures import proof
from jaxsel.pictures.inline import svg
from jaxsel.reports.contents import Contents
from jaxsel.reports.statement import Statement

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --faint: #5f5f5f;
  --line: #d9d9d9; --proven: #0072b2; --gaussian: #b34700; --panel: #f5f7f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e9e9; --paper: #14171a;
  --faint: #a3a3a3; --line: #3a3f44; --proven: #5bb5ea; --gaussian: #ff9a52;
  --panel: #1d2226; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 62rem;
  background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.8rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.6rem; }
.headline { background: var(--panel); border-left: 0.3rem solid var(--proven);
  padding: 0.8rem 1rem; margin: 0 0 1.2rem; font-size: 1.05rem; }
.numbers { display: grid; gap: 0.8rem; margin: 0 0 1.2rem; padding: 0;
  grid-template-columns: repeat(2, 1fr); }
@media (min-width: 34rem) { .numbers { grid-template-columns: repeat(3, 1fr); } }
@media (min-width: 60rem) { .numbers { grid-template-columns: repeat(6, 1fr); } }
.numbers div { border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.6rem 0.8rem;
  display: flex; flex-direction: column; justify-content: space-between; }
.numbers dt { font-size: 0.8rem; color: var(--faint); }
.numbers dd { font-size: 1.3rem; margin: 0; font-variant-numeric: tabular-nums; }
.pictures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); }
figure { margin: 0; max-width: 34rem; }
pre { white-space: pre-wrap; background: var(--panel); padding: 0.6rem 0.8rem; }
figcaption { font-size: 0.85rem; color: var(--faint); }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--ink);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.45rem 0.6rem;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; width: 30%; }
li { margin: 0.3rem 0; }
@media (max-width: 34rem) { th, td { display: block; width: 100%; }
  th { border-bottom: 0; padding-bottom: 0; } td { padding-top: 0.1rem; } }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --faint: #444;
  --line: #bbb; --proven: #0072b2; --gaussian: #b34700; --panel: #fff; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  .pictures { grid-template-columns: 1fr 1fr; }
  figure, tr, .headline, .numbers div { break-inside: avoid; } }
"""
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e(-?)(\d+)(?![\w.])")


def escaped(text: str) -> str:
    """Escapes text for HTML, with exponents as superscripts."""

    def power(found: re.Match) -> str:
        digits, sign, exponent = found[1], "−" if found[2] else "", int(found[3])
        front = "" if digits == "1" else f"{digits}\u202f×\u202f"
        return f"{front}10<sup>{sign}{exponent}</sup>"

    return _POWER.sub(power, html.escape(text))


def drawn_of(statement: Statement) -> proof.Drawn:
    """The data of the figures of a statement."""
    subject = statement.subject
    return proof.Drawn(
        subject.proof.epsilon,
        subject.delta,
        statement.epsilons,
        statement.deltas,
        statement.false_positives,
        statement.true_positives,
        statement.rates,
        statement.mu,
    )


_COLOURS = {
    proof.PROVEN["color"]: "var(--proven)",
    proof.GAUSSIAN["color"]: "var(--gaussian)",
    proof.FAINT: "var(--faint)",
    proof.INK: "var(--ink)",
    "#000000": "var(--ink)",
    "#e3e3e3": "var(--line)",
}


class Picture(NamedTuple):
    """A figure of a page, its name and its caption."""

    name: str
    figure: Figure
    caption: str


def pictures(statement: Statement) -> tuple[Picture, ...]:
    """The figures of a statement."""
    drawn = drawn_of(statement)
    return (
        Picture(
            "profile",
            proof.draw_profile(drawn),
            "The proven δ at every ε, and that of the nearest Gaussian.",
        ),
        Picture(
            "tradeoff",
            proof.draw_tradeoff(drawn),
            "The largest true positive rate that the proof leaves to any test, at every "
            "false positive rate; the points are the rates stated.",
        ),
    )


def _shown(picture: Picture) -> str:
    name, figure, caption = picture
    return (
        f"<figure>{svg(figure, name, html.escape(caption), _COLOURS)}"
        f"<figcaption>{escaped(caption)}</figcaption></figure>\n"
    )


def page(found: Contents, drawn: Sequence[Picture]) -> str:
    """The whole page."""
    table, told, meaning = found.headings
    numbers = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>\n"
        for name, value in found.numbers
    )
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th><td>{escaped(value)}</td></tr>\n'
        for name, value in found.rows
    )
    notes = "".join(f"<li>{escaped(note)}</li>\n" for note in found.notes)
    command = ""
    if found.command:
        command = f"<pre><code>{html.escape(found.command)}</code></pre>\n"
    works = "".join(f"<li>{escaped(work)}</li>\n" for work in found.references)
    if works:
        works = f"<h2>References</h2>\n<ul>\n{works}</ul>\n"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(found.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escaped(found.title)}</h1>
<p class="headline">{escaped(found.headline)}</p>
<dl class="numbers">
{numbers}</dl>
<div class="pictures">
{"".join(map(_shown, drawn))}</div>
<h2>{escaped(table)}</h2>
{command}<table>
{rows}</table>
<h2>{escaped(told)}</h2>
<p>{escaped(" ".join(found.paragraph))}</p>
<h2>{escaped(meaning)}</h2>
<ul>
{notes}</ul>
{works}</main>
</body>
</html>
"""
