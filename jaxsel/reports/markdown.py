"""A statement as Markdown."""

import re

from jaxsel.reports.contents import Contents

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~^$&])")


def escaped(text: str) -> str:
    """Escapes text for a paragraph or a table cell in Markdown."""
    return _SPECIAL.sub(r"\\\1", text.replace("\n", " "))


def markdown(found: Contents) -> str:
    """A heading, a paragraph, a table, and notes on the numbers."""
    lines = [
        f"# {escaped(found.title)}",
        "",
        " ".join(map(escaped, found.paragraph)),
        "",
        *([f"```\n{found.command}\n```", ""] if found.command else []),
        "| | |",
        "|---|---|",
        *(f"| {escaped(name)} | {escaped(value)} |" for name, value in found.rows),
        "",
        *(f"* {escaped(note)}" for note in found.notes),
    ]
    if found.references:
        lines += ["", "References", "", *(f"* {escaped(r)}" for r in found.references)]
    return "\n".join(lines) + "\n"
