"""The catalogue as a Markdown page: ``python -m jaxsel.catalogue.document FILE``."""

import sys
from collections.abc import Iterable
from pathlib import Path

from jaxsel.catalogue import all_claims, errata, mechanisms
from jaxsel.entry import MechanismEntry


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    header = list(header)
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _mechanism(entry: MechanismEntry) -> list[str]:
    ids = ", ".join(entry.ids)
    rows = [(f"`{k}`", f"`{o.default}`" if o.default else "", o.help)
            for k, o in entry.settings.items()]  # fmt: skip
    return [
        f"### `{entry.name}` ({ids})",
        "",
        entry.summary,
        "",
        *_table(("setting", "default", "meaning"), rows),
        "",
    ]


def catalogue_page() -> str:
    """The page: mechanisms with their settings, claims, errata."""
    lines = [
        "# Catalogue",
        "",
        "Generated from the code by `make docs`; do not edit. Papers: LT Liu & Talwar "
        "2019, PS Papernot & Steinke 2022, CL Cohen et al. 2022, KRW Koskela, Redberg & "
        "Wang 2024, ZW Zhu & Wang 2022; NM noisy max.",
        "",
        "## Mechanisms",
        "",
    ]
    for entry in mechanisms():
        lines += _mechanism(entry)
    claims = [
        (
            f"`{claim.id}`",
            "true" if claim.holds else "**false as printed**",
            claim.statement,
            claim.source,
        )
        for claim in all_claims()
    ]
    lines += ["## Claims", ""]
    lines += _table(("id", "status", "statement", "source"), claims)
    mistakes = [
        (
            f"`{erratum.id}`",
            erratum.kind,
            erratum.printed,
            erratum.correct,
            ", ".join(f"`{name}`" for name in (*erratum.refuted, *erratum.corrected)),
        )
        for erratum in errata()
    ]
    lines += ["", "## Errata", ""]
    lines += _table(("id", "kind", "printed", "what is true", "claims"), mistakes)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(catalogue_page(), encoding="utf-8")
