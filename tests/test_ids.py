"""Every id that a sentence names is an id of the catalogue."""

import io
import re
import tokenize
from pathlib import Path

import pytest

from jaxsel.catalogue import errata, mechanisms, published_claims, remarks, self_checks
from jaxsel.language import former_claims

ROOT = Path(__file__).parent.parent
PLACES = ("jaxsel", "figures", "sims", "tests")
EXAMPLES = "CONTRIBUTING.md"  # makes ids of its own, and runs them
# A name of the papers, and a number of thresholds, that look like ids.
NAMES = {"OPS-PTR", "R-1"}


def known() -> set[str]:
    """Ids of claims, with their aliases, of errata, checks and places of mechanisms."""
    claims = [*published_claims(), *self_checks()]
    found = {name for claim in claims for name in (claim.id, *claim.aliases)}
    found |= {each.id for each in (*errata(), *remarks())}
    # Those of 0.2.0 that another claim says today are told in the changelog.
    found |= set(former_claims.FORMER)
    return found | {name for entry in mechanisms() for name in entry.ids}


KNOWN = known()
PREFIXES = sorted({name.partition("-")[0] for name in KNOWN})
ID = re.compile(
    rf"(?<![\w.\-/\"])(?:{'|'.join(PREFIXES)})-[A-Z0-9][\w.]*(?:\([\w.\-]+\))?"
    r"(?:-[\w.]+(?:\([\w.\-]+\))?)*"
)


def ids_in(text: str) -> set[str]:
    """What looks like an id: one of the catalogue's prefixes, a hyphen, a capital."""
    return {found.rstrip(".") for found in ID.findall(text)}


def sentences(path: Path) -> str:
    """The prose of a file: Markdown as it is; of Python, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    kinds = (tokenize.COMMENT, tokenize.STRING)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [token.string for token in tokens if token.type in kinds]
    return "\n".join(part for part in found if part[0] == "#" or '"""' in part)


def files() -> list[Path]:
    markdown = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    code = [path for place in PLACES for path in (ROOT / place).rglob("*.py")]
    return [path for path in markdown + code if path.name != EXAMPLES]


@pytest.mark.parametrize("suffix", [".md", ".py"])
def test_ids_in_sentences_exist(suffix):
    unknown = {
        (str(path.relative_to(ROOT)), name)
        for path in files()
        if path.suffix == suffix and path != Path(__file__)
        for name in ids_in(sentences(path)) - KNOWN - NAMES
    }
    assert not sorted(unknown)


def test_ids_are_found_in_a_sentence():
    """Power: what the text of the project once had, and what is no id."""
    text = (
        "see claim OPS-PTR-tuned, (BASE-TS-quirks). As LT-Thm4.4(a)-sharp and LT-B.2-tight"
        " say; PS-Thm2. E-PS-1 'CL-Thm9', not E-mail, PS-based or ../LT-CL.md"
    )
    assert ids_in(text) == {
        "OPS-PTR-tuned",
        "BASE-TS-quirks",
        "LT-Thm4.4(a)-sharp",
        "LT-B.2-tight",
        "PS-Thm2",
        "E-PS-1",
        "CL-Thm9",
    }
    assert not {"BASE-TS-quirks", "LT-B.2-tight"} & KNOWN
