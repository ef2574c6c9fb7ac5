"""The catalogue as Markdown pages: ``python -m jaxsel.catalogue.document FOLDER``.

One page per paper, with every statement and its errata; one for the self-checks; and an
index of mechanisms, laws of K and pages.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from jaxsel import repetitions
from jaxsel.catalogue.collect import mechanisms, self_checks
from jaxsel.catalogue.measured import measured
from jaxsel.language.base import Claim, Erratum, Remark
from jaxsel.language.declared import errata, published_claims, remarks
from jaxsel.language.domains import Domain
from jaxsel.language.entry import MechanismEntry, shown
from jaxsel.language.formulas import tex
from jaxsel.language.papers import PAPERS, paper_of
from jaxsel.language.statements import Paper
from jaxsel.repetitions.choose import family_parameters

# Told to whoever opens the file, and shown on no page.
_GENERATED = "<!-- Generated from the code by make docs; do not edit. -->"
_CHECKS = "self-checks.md"
_STATEMENTS = "statements.md"
# Link definitions, at the head of every page that uses them.
_TIGHTNESS = (
    "* *tightness*: the power of the check of a true bound, the largest observed / claimed "
    "over its cases, as last measured; where the check would hold with half of the number "
    "(twice of a lower bound, 1.01 times of an identity), the reason stands beside it.",
)
_WORDS = tuple(
    map(
        tex,
        (
            "* *base*: one run of the private algorithm that a search repeats, or that a test "
            "asks; its privacy is what a statement starts from.",
            "* D_a(P || Q), or D_a alone: the Renyi divergence of order a between the laws of "
            "the output on two neighbouring data sets, in nats.",
            "* e and e': two bounds on the base's privacy, e at the order that the statement "
            "is about and e' the second one that it needs, at order b or with a delta.",
        ),
    )
)


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """The lines of a table."""
    header = list(header)
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = [" ".join(str(cell).replace("|", "\\|").split()) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _domains(domains: Mapping[str, Domain]) -> list[str]:
    rows = [
        (
            f"`{name}`",
            f"`{shown(domain.default)}`" if shown(domain.default) else "",
            domain.describe(),
            domain.help,
        )
        for name, domain in domains.items()
    ]
    return markdown_table(("setting", "default", "domain", "meaning"), rows)


def _plural(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


# --- The page of a paper --------------------------------------------------------------


def _file(paper: Paper | None) -> str:
    return "other.md" if paper is None else f"{paper.key.lower()}.md"


def _counts(claims: list[Claim], mistakes: list[Erratum]) -> str:
    """How many statements, failures and errata there are; nothing is said of what is not there."""
    false = sum(claim.false_as_printed for claim in claims)
    readings = sum(not claim.holds for claim in claims) - false
    one, many = "reading of a paper that fails", "readings of a paper that fail"
    each = f"{false} of them " if len(claims) > 1 else ""
    fails = [f"{each}false as printed"] if false else []
    fails += [_plural(readings, one, many)] if readings else []
    said = [_plural(len(claims), "statement", "statements")] if claims else []
    said = [", ".join([*said, " and ".join(fails)])] if fails else said
    said += [_plural(len(mistakes), "erratum", "errata")] if mistakes else []
    return "; ".join(said)


def _erratum(erratum: Erratum, claim: Claim) -> str:
    """An erratum, formatted for the claim that it refutes."""
    correction = claim.correction or ""
    if not correction.startswith(erratum.correct):
        correction = f"{erratum.correct} {correction}"
    return f"`{erratum.id}` ({erratum.kind}). Printed: {erratum.printed} True: {correction}"


STATEMENT_COLUMNS = ("id", "place", "status", "tightness", "statement", "erratum, remark")


def claim_rows(claims: Iterable[Claim]) -> list[list[str]]:
    """The cells of each claim, formulas in plain text.

    An erratum is told in full once, at the first claim that it refutes.
    """
    known = {erratum.id: erratum for erratum in errata()}
    told: set[str] = set()
    rows = []
    for claim in claims:
        names = ", ".join(f"`{name}`" for name in (claim.id, *claim.aliases))
        status = "true" if claim.holds else f"**{claim.status}**"
        beside = claim.correction or ""
        if claim.remark is not None:
            beside = f"remark `{claim.remark}`"
        if claim.erratum is not None:
            beside = f"`{claim.erratum}`"
            if not claim.holds and claim.erratum not in told:
                beside = _erratum(known[claim.erratum], claim)
                told.add(claim.erratum)
        rows.append([names, claim.source, status, power(claim), claim.told, beside])
    return rows


def power(claim: Claim) -> str:
    """How close the worst case of the check comes to a true bound."""
    tightness = measured().get(claim.id) if claim.holds else None
    number = "" if tightness is None else f"{tightness:.2g}"
    return number if claim.loose is None else f"{number}: {claim.loose}"


def _paper_page(
    paper: Paper | None, claims: list[Claim], mistakes: list[Erratum], noted: list[Remark]
) -> str:
    title = "Other statements" if paper is None else f"{paper.citation} ({paper.key})"
    lines = [f"# {title}", "", _GENERATED, "", f"{_counts(claims, mistakes)}.", ""]
    lines += [*_TIGHTNESS, *_WORDS, ""]
    if claims:
        rows = ([*map(tex, row)] for row in claim_rows(claims))
        lines += markdown_table(STATEMENT_COLUMNS, rows)
    # Errata that are not printed beside a refuted claim above.
    brought = {claim.erratum for claim in claims if not claim.holds}
    rest = [erratum for erratum in mistakes if erratum.id not in brought]
    if rest:
        rows = [
            (
                f"`{erratum.id}`",
                erratum.source,
                erratum.kind,
                tex(erratum.printed),
                tex(erratum.correct),
                ", ".join(f"`{name}`" for name in erratum.corrected),
            )
            for erratum in rest
        ]
        lines += ["## Errata without a refuted statement", ""]
        lines += markdown_table(("id", "place", "kind", "printed", "what is true", "claims"), rows)
    if noted:
        rows = [
            (
                f"`{remark.id}`",
                remark.source,
                tex(remark.text),
                ", ".join(f"`{name}`" for name in (*remark.readings, *remark.holds)),
            )
            for remark in noted
        ]
        lines += ["## Remarks: no errors of the paper", ""]
        lines += markdown_table(("id", "place", "what to know", "claims"), rows)
    return "\n".join(lines)


# --- Self-checks and index ------------------------------------------------------------


def _checks_page() -> str:
    lines = [
        "# Self-checks",
        "",
        _GENERATED,
        "",
        "What the software says of its own mechanisms; no published statements.",
        "",
        *_TIGHTNESS,
        *_WORDS,
        "",
    ]
    rows = [(f"`{c.id}`", tex(power(c)), c.tex, c.source) for c in self_checks()]
    lines += markdown_table(("id", "tightness", "statement", "what is checked"), rows)
    return "\n".join(lines)


def _family(entry: MechanismEntry) -> str:
    """The family that the entry comes from, as a title."""
    parts = entry.module.split(".")
    return parts[2].replace("_", " ").capitalize()


def _mechanism(entry: MechanismEntry) -> list[str]:
    summary = tex(entry.summary)
    return [
        f"#### `{entry.name}` ({', '.join(entry.ids)})",
        "",
        summary if not entry.broken or "BROKEN" in summary else f"BROKEN: {summary}",
        "",
        *_domains(entry.settings),
    ]


def _statements_page() -> str:
    """Every statement on one page. The site fills it in; nothing is written down twice."""
    lines = [
        "# All statements",
        "",
        _GENERATED,
        "",
        "The statements of all papers in one table, to be searched and filtered; there is also a "
        "page [for each paper](index.md#statements-by-paper).",
        "",
        *_TIGHTNESS,
        *_WORDS,
        "",
        "```{statements}",
        "The site of the documentation has the table here.",
        "```",
        "",
    ]
    return "\n".join(lines)


def _index_page(pages: Mapping[str, tuple[str, str]]) -> str:
    claims, mistakes = published_claims(), errata()
    kinds = Counter(claim.kind for claim in claims)
    lines = [
        "# Catalogue",
        "",
        _GENERATED,
        "",
        f"{_counts([*claims], [*mistakes])}; "
        f"{_plural(kinds['privacy'], 'is', 'are')} about privacy, "
        f"{kinds['utility']} about utility, {kinds['identity']} are formulas. "
        f"{len(mechanisms())} mechanisms; {len(self_checks())} [self-checks]"
        f"({_CHECKS}) of the software. [All statements]({_STATEMENTS}) in one table.",
        "",
        *_WORDS,
        "",
        "## Statements by paper",
        "",
        *markdown_table(
            ("paper", "what it has"),
            [(f"[{name}]({file})", text) for file, (name, text) in pages.items()],
        ),
        "## Mechanisms by family",
        "",
    ]
    families: dict[str, list[MechanismEntry]] = {}
    for entry in mechanisms():
        families.setdefault(_family(entry), []).append(entry)
    for name in sorted(families):
        lines += [f"### {name}", ""]
        for entry in families[name]:
            lines += _mechanism(entry)
    lines += ["## Laws of the number of runs K", ""]
    for name in repetitions.FAMILIES:
        if name in ("conditioned", "capped"):
            continue  # restrictions, which every family has as parameters
        document = repetitions.__dict__[name].__doc__ or ""
        lines += [f"### `{name}`", "", " ".join(document.partition("\n\n")[0].split())]
        lines += ["", *_domains(family_parameters(name))]
    # For the site, which wants every page in the list of some other.
    listed = [name.removesuffix(".md") for name in (_STATEMENTS, *pages, _CHECKS)]
    lines += ["```{toctree}", ":hidden:", "", *listed, "```", ""]
    return "\n".join(lines)


def catalogue_pages() -> dict[str, str]:
    """Every page by its file name."""
    pages: dict[str, str] = {}
    summaries: dict[str, tuple[str, str]] = {}
    for paper in (*PAPERS, None):
        claims = [c for c in published_claims() if paper_of(c.source) is paper]
        mistakes = [e for e in errata() if paper_of(e.source) is paper]
        noted = [r for r in remarks() if paper_of(r.source) is paper]
        if not claims and not mistakes:
            continue
        name = "Other" if paper is None else f"{paper.key}: {paper.citation}"
        summaries[_file(paper)] = (name, _counts(claims, mistakes))
        pages[_file(paper)] = _paper_page(paper, claims, mistakes, noted)
    pages[_CHECKS] = _checks_page()
    pages[_STATEMENTS] = _statements_page()
    return {"index.md": _index_page(summaries), **pages}


def write(folder: Path) -> None:
    """Writes the pages, and removes pages of papers that are no longer in the catalogue."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = catalogue_pages()
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
