"""A statement as Markdown."""

import re

from jaxsel.reports.contents import Contents

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~^$&])")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in a paragraph or in a cell."""
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " "))


def markdown(found: Contents) -> str:
    """A heading, a paragraph, a table, and what the numbers mean."""
    lines = [
        f"# {escaped(found.title)}",
        "",
        " ".join(map(escaped, found.paragraph)),
        "",
        "| | |",
        "|---|---|",
        *(f"| {escaped(name)} | {escaped(value)} |" for name, value in found.rows),
        "",
        *(f"* {escaped(note)}" for note in found.notes),
    ]
    if found.references:
        lines += ["", "References", "", *(f"* {escaped(r)}" for r in found.references)]
    return "\n".join(lines) + "\n"
