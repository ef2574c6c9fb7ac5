"""What is written down is true of the code as it stands."""

import math
import re
import shlex
from pathlib import Path

import pytest
import typer

import jaxsel
from jaxsel import account, repetitions
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.catalogue import all_claims, errata, mechanisms, published_claims, self_checks
from jaxsel.catalogue.document import catalogue_pages
from jaxsel.cli.list_command import Kind
from jaxsel.cli.main import app
from jaxsel.language.formulas import tex
from tests import notebooks

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *HOW_TO]
# The first page of the site, which gives some of the answers of the README.
START = DOCS / "index.md"
# Pages of the site that lie at the top of the checkout.
FORGE_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# Those whose Python is run.
RUN = [*HOW_TO, *(DOCS / f"{name}.md" for name in ("guide", "scaling", "searching"))]


def test_the_catalogue_is_current():
    folder = ROOT / "docs" / "catalogue"
    stored = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.md")}
    pages = catalogue_pages()
    assert sorted(stored) == sorted(pages), "run make docs"
    for name, text in pages.items():
        assert stored[name] == text, f"{name}: run make docs"


def test_the_catalogue_has_everything_once():
    pages = catalogue_pages()
    papers = "".join(
        text
        for name, text in pages.items()
        if name not in ("index.md", "self-checks.md", "statements.md")
    )
    for claim in published_claims():
        assert papers.count(f"\n| `{claim.id}`") == 1, claim.id
    for erratum in errata():
        assert f"`{erratum.id}`" in papers
        assert " ".join(tex(erratum.printed).replace("|", "\\|").split()) in papers, erratum.id
    for check in self_checks():
        assert pages["self-checks.md"].count(f"\n| `{check.id}`") == 1
    for entry in mechanisms():
        assert f"#### `{entry.name}`" in pages["index.md"]
    for name in repetitions.FAMILIES:
        assert f"`{name}`" in pages["index.md"]


def test_the_catalogue_speaks_to_readers():
    """Who may edit a page is a comment of it; of what is not there nothing is said."""
    for name, text in catalogue_pages().items():
        assert text.count("<!-- Generated from the code by make docs; do not edit. -->") == 1, name
        shown = re.sub("<!--.*?-->", "", text, flags=re.S)
        told = re.findall(r"do not edit|`make |\b0 (?:statements|of them|errata)", shown)
        assert not told, (name, told)


def test_words_of_the_catalogue_are_defined_where_they_stand():
    for name, text in catalogue_pages().items():
        if name == "statements.md":  # has the words of all pages, and no rows yet
            continue
        body = text.partition("\n\n|")[2]
        for word, definition in (
            ("tightness", "\n* *tightness*: "),
            (r"\bbase\b", "\n* *base*: "),
            (r"\bD_a\b", "\n* $D_a(P \\parallel Q)$"),
            (r"\be'", "\n* $e$ and $e'$: "),
        ):
            if re.search(word, text if word == "tightness" else body):
                assert text.count(definition) == 1, (name, word)
        assert "a reading that fails" not in text


def test_numbers_in_the_readme_are_those_of_the_catalogue():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    false = sum(claim.false_as_printed for claim in published_claims())
    assert f"refutes the {false} that are false as printed" in " ".join(readme.split())


def test_the_readme_states_what_tuning_costs():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    base = parse_base("dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60")
    found = account(base, repetitions.geometric(0.01), 1e-6)
    named = {bound.theorem: bound.epsilon for bound in found.bounds}
    for page in (readme, START.read_text(encoding="utf-8")):
        assert f"each ({found.single:.2f}, 1e-6)-private" in page
        assert f"({math.ceil(found.best.epsilon * 1e4) / 1e4:g}, 1e-06)" in page
    assert f"Koskela et al. {named['KRW-Thm5.2']:.2f}" in readme
    assert f"Steinke {named['PS-Thm2']:.2f}" in readme
    # a search found it, whose path may differ in the fourth decimal between versions
    assert f"{math.floor(found.attained * 1e2) / 1e2:g}. The [envelope" in " ".join(readme.split())


def test_the_first_page_states_what_a_budget_buys():
    page = " ".join((DOCS / "index.md").read_text(encoding="utf-8").split())
    found = jaxsel.plan(
        "dp_sgd:dataset_size=60000,batch_size=600,epochs=60",
        epsilon=3.0,
        delta=1e-6,
        runs=50,
        winner="good=0.05",
    )
    said = [" ".join(sentence.split()) for sentence in found.sentences()]
    assert f"{said[0]} {said[3]}" in page.replace("> ", "")
    noises = {choice.name: choice.noise for choice in found.alternatives}
    assert f"had noise {noises['one run, no search']:g}" in page
    assert f"need {noises['35 runs, all of them released']:g}" in page


def test_the_first_page_states_how_many_candidates():
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    base = dp_sgd(sampling_probability=16384 / 50000, noise_multiplier=21.1, steps=250)

    def epsilons(mean: float) -> dict[str, float]:
        law = repetitions.from_mean("geometric", mean)
        found = account(base, law, 1e-6, attain=False)
        return {bound.theorem: bound.epsilon for bound in found.bounds}

    renyi = epsilons(10.0)["PS-Thm2"]
    for theorem, mean in (("KRW-Thm5.2", 28), ("JX-Envelope", 352)):
        # the mean that the table rounds lies within one of the one stated
        assert epsilons(mean - 1.0)[theorem] < renyi < epsilons(mean + 1.0)[theorem]
        assert f"| {mean} | {mean / 10:.2g} |" in page


def test_links_and_pictures_exist():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def _commands(page):
    """The lines of a page's blocks that begin with ``jaxsel``, in words, without remarks."""
    text = page.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.S | re.M):
        if language:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|[|]", line):
                if part.strip().startswith("jaxsel "):
                    yield shlex.split(part.split(">")[0], comments=True)[1:]


def test_commands_in_the_documents_exist():
    """Each command, each of its options, and what ``list`` lists."""
    command = typer.main.get_command(app)
    seen = 0
    for page in PAGES:
        for name, *words in _commands(page):
            if name.startswith("-") or name.isupper():  # jaxsel --version, jaxsel COMMAND
                continue
            assert name in command.commands, (page.name, name)
            known = {option for one in command.commands[name].params for option in one.opts}
            given = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert given <= known | {"--help"}, (page.name, name, given - known)
            if name == "list":
                assert words[0] in {kind.value for kind in Kind}, (page.name, words)
            seen += 1
    assert seen >= 50  # else the blocks were not found


def test_ids_in_the_documents_exist():
    known = {claim.id for claim in all_claims()} | {erratum.id for erratum in errata()}
    known |= {name for entry in mechanisms() for name in entry.ids}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        pattern = r"\b(?:LT|PS|CL|KRW|ZW)-(?:Thm|Cor|Lem|Prop)[\w.()-]*\w\)?"
        for name in re.findall(pattern, text):
            assert name in known, (page.name, name)
        for name in re.findall(r"\bE-(?:PS|KRW|ZW)-\d+", text):
            assert name in known, (page.name, name)


def _blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


@pytest.mark.parametrize(
    ("page", "number"),
    [
        pytest.param(page, i, id=f"{page.stem}-{i}")
        for page in RUN
        for i in range(len(_blocks(page)))
    ],
)
def test_python_in_the_documents_runs(page, number, coarse_prices):
    """Each block by itself: a reader copies one. What it asserts holds of coarse prices."""
    block = _blocks(page)[number]
    small = block.replace("10_000_000", "10_000")
    exec(compile(small, page.name, "exec"), {"print": lambda *args: None})


def _shown_code() -> dict[str, list[str]]:
    """By page of the site, what it shows as code: blocks that are no directive, and cells."""
    written = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    pages = [*written, *(ROOT / name for name in FORGE_PAGES)]
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages}
    cells: dict[str, list[str]] = {}
    for path in notebooks.FOLDER.glob("*.ipynb"):
        notebook = notebooks.read(path)
        texts[path.name] = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
        cells[path.name] = notebooks.code(notebook)
    found: dict[str, list[str]] = {}
    for name, text in texts.items():
        blocks = re.findall(r"^ *```([^\n]*)\n(.*?)^ *```$", text, re.S | re.M)
        shown = [block for kind, block in blocks if kind != "math" and not kind.startswith("{")]
        found[name] = [*shown, *cells.get(name, ())]
    return found


def test_code_in_the_documents_fits_a_page():
    """Eighty characters are what a page of the site shows without a break."""
    pages = _shown_code()
    assert sum(map(len, pages.values())) > 80  # else the blocks were not found
    for name, blocks in pages.items():
        long = [line for block in blocks for line in block.splitlines() if len(line) > 80]
        assert not long, (name, long)


def test_the_documents_have_python():
    assert sum(len(_blocks(page)) for page in HOW_TO) >= 15
    assert all(len(_blocks(page)) >= 2 for page in RUN if page not in HOW_TO)


def test_the_guide_says_how_trials_are_drawn():
    """On a page to which it leads."""
    assert "](how-to/drawing-trials.md)" in (DOCS / "guide.md").read_text(encoding="utf-8")
    text = (DOCS / "how-to" / "drawing-trials.md").read_text(encoding="utf-8")
    said = set(re.findall(r"`(\w+)`", text))
    sent = 0
    for entry in mechanisms():
        method = entry.settings.get("method")
        if method is not None and "see the guide" in method.help:
            sent += 1
            assert set(method.describe().removeprefix("one of: ").split(", ")) <= said
    assert sent > 10


def test_the_changelog_says_what_gap_is_left_at_large_delta():
    """The ratios of priced to attained in Section 5 of docs/priced.md."""
    section = (ROOT / "docs" / "priced.md").read_text(encoding="utf-8")
    section = section.partition("## 5. ")[2]
    large, small = [], {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[5].endswith("%"):
            large.append(float(cells[4]) / float(cells[3]))
        elif len(cells) == 7 and cells[0].isdigit():
            small[float(cells[5])] = float(cells[5]) / float(cells[4])
    assert len(large) > 20
    at = max(small, key=lambda delta: small[delta])
    said = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (
        f"{min(large):.2f} to {max(large):.1f} times the worst ranking found, "
        f"{small[at]:.1f} at {at:.1e}".replace("e-0", "e-")
    ) in said


def test_files_named_in_the_architecture_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text))
    assert len(named) > 20
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "jaxsel" / name).exists(), name
