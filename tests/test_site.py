"""The documentation site, as far as it can be judged without being built (``make site``)."""

import importlib.util
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from jaxsel.catalogue import published_claims

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [
    path
    for path in sorted(DOCS.rglob("*"))
    if path.suffix in (".md", ".ipynb") and "_build" not in path.parts
]


def _listed(page: Path) -> list[Path]:
    """The pages that the lists of contents on a page name."""
    found: list[Path] = []
    if page.suffix == ".ipynb":
        return found
    for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                paths = [*page.parent.glob(f"{line}.md"), *page.parent.glob(f"{line}.ipynb")]
                assert paths, (page, line)
                found += paths
    return found


def test_every_page_is_in_one_list_of_contents():
    times = Counter(path for page in PAGES for path in _listed(page))
    assert {path: times[path] for path in PAGES if times[path] != 1} == {DOCS / "index.md": 0}


def extension(name):
    """A module of the site's own extensions."""
    specification = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_long_formulas_may_break_where_nothing_is_torn():
    cut = extension("formula_pieces").pieces
    formulas = re.findall(r"\$([^$]+)\$", "".join(claim.tex for claim in published_claims()))
    longest = 0
    for formula in formulas:
        found = cut(formula)
        whole = "".join(found).replace(r", \,", ", ").replace("{}", "")
        assert whole == formula.replace("{}", "")
        for piece in found:
            assert piece.count("{") == piece.count("}"), formula
            longest = max(longest, len(piece))
        assert len(found) == 1 or len(formula) > 24
    assert len(formulas) > 1500
    assert longest <= 100 < max(map(len, formulas))
    assert cut(r"a \geq -b") == [r"a \geq -b"]
    assert cut(r"D_a \leq e + (1 + \eta) (1 - 1/b) e' + \log(1/\gamma)/b + \log(K)/(a - 1)") == [
        r"D_a \leq e + (1 + \eta) (1 - 1/b) e' ",
        r"{}+ \log(1/\gamma)/b ",
        r"{}+ \log(K)/(a - 1)",
    ]


def test_the_moving_picture_shows_what_is_computed():
    picture = extension("tuning_cost")
    stored = json.loads(picture.FILE.read_text(encoding="utf-8"))
    assert (stored["noises"], stored["means"]) == (picture.NOISES, picture.MEANS)
    for row, column in ((0, 0), (4, 24), (12, 16), (24, 8)):
        found = picture.costs(stored["noises"][row], stored["means"][column])
        said = {name: stored[name][row][column] for name in picture.THEOREMS}
        # four digits, the last of which may differ between versions of what computes them
        assert found == pytest.approx({**said, "single": stored["single"][row]}, rel=1e-3)
    assert f"{picture.DELTA:.0e}".replace("e-0", "e-") in picture.markup()


def test_each_picture_of_the_gallery_has_its_command():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    pictures = re.findall(r"\(gallery/([\w-]+)\.png\)\n\n`python -m figures ([\w-]+)`\n", text)
    assert len(pictures) == text.count("](gallery/")
    assert all(shown == drawn for shown, drawn in pictures)
