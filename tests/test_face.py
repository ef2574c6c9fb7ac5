"""A user can tell what is offered: the names of ``jaxsel``, and of the modules with ``__all__``."""

import ast
import importlib
import importlib.util
import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import jaxsel

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
# What is for those who change the package itself, and import its inner modules.
FOR_AUTHORS = ("architecture.md", "contributing.md", "changelog.md")
SHOWN = re.compile(r"^\.\. auto(\w+):: (jaxsel[\w.]+)\n((?:   :.*\n(?:    .*\n)*)*)", re.M)


def _module(name: str):
    """A module by the name under which a user imports it: some are names of ``jaxsel``."""
    head, _, last = name.rpartition(".")
    if head == "jaxsel" and last in jaxsel.__all__:
        return getattr(jaxsel, last)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] == "jaxsel":
            raise
        return _read(name)


def _read(name: str) -> SimpleNamespace:
    """A module whose optional library is not installed: its list of names, from its text."""
    spec = importlib.util.find_spec(name)
    assert spec
    assert spec.origin
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    (listed,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    names = ast.literal_eval(listed)
    members = {member: object() for member in names}
    return SimpleNamespace(__name__=name, __all__=names, **members)


def test_a_module_is_read_as_it_is_imported():
    name = "jaxsel.search.sklearn"
    assert _read(name).__all__ == importlib.import_module(name).__all__
    assert _read(name).__name__ == name


def _shown() -> list[tuple[str, str, str]]:
    """Kind, name and options of each directive on the pages of the API."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return SHOWN.findall(text)


def _described() -> list[str]:
    """The dotted names that the pages describe: each member of a module by itself."""
    found = []
    for kind, name, options in _shown():
        if kind != "module":
            found.append(name)
            continue
        listed = re.search(r":members: (.+)", options)
        names = listed[1].split(", ") if listed else _module(name).__all__
        found += [f"{name}.{member}" for member in names]
    return found


def _offered(name: str) -> set[str]:
    """The names that a module offers, without those that ``jaxsel`` offers, too."""
    module = _module(name)
    public = {id(getattr(jaxsel, each)) for each in jaxsel.__all__}
    return {f"{name}.{each}" for each in module.__all__ if id(getattr(module, each)) not in public}


def test_the_pages_describe_what_is_offered_and_each_once():
    described = Counter(_described())
    assert not [name for name, times in described.items() if times > 1]
    modules = [name for kind, name, _ in _shown() if kind == "module"]
    assert "jaxsel.search.sklearn" in modules  # else nothing was read
    offered = set().union(*map(_offered, modules))
    values = {"jaxsel.__version__"}  # a text, which says itself
    offered |= {f"jaxsel.{name}" for name in jaxsel.__all__} - set(modules) - values
    assert set(described) == offered


def test_the_modules_with_a_list_of_names_are_those_of_the_pages():
    modules = {_module(name).__name__ for kind, name, _ in _shown() if kind == "module"}
    listing = set()
    for path in sorted((ROOT / "jaxsel").rglob("*.py")):
        if re.search(r"^__all__\b", path.read_text(encoding="utf-8"), re.M):
            parts = path.relative_to(ROOT).with_suffix("").parts
            listing.add(".".join(parts).removesuffix(".__init__"))
    assert listing == modules


def _python(page: Path) -> list[str]:
    """The Python of a page, a notebook or an example."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".py":
        return [text]
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        blocks = ["".join(cell["source"]) for cell in cells]
        return [re.sub(r"^[!%].*$", "", block, flags=re.M) for block in blocks]
    return re.findall(r"```python\n(.*?)```", text, re.S)


DOCUMENTS = [
    ROOT / "README.md",
    *(page for page in (ROOT / "docs").glob("*.md") if page.name not in FOR_AUTHORS),
    *(ROOT / "docs" / "how-to").glob("*.md"),
    *(ROOT / "docs" / "notebooks").glob("*.ipynb"),
    *(ROOT / "examples").glob("*.py"),
]


def _imported(block: str) -> set[tuple[str, str]]:
    """(module, name) of what is imported of this package."""
    return {
        (node.module or "", alias.name)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jaxsel"
        for alias in node.names
    }


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.stem)
def test_documents_import_what_is_offered(page):
    modules = {name for kind, name, _ in _shown() if kind == "module"}
    offered = modules | {f"jaxsel.{name}" for name in jaxsel.__all__}
    offered |= {f"{name}.{each}" for name in modules for each in _module(name).__all__}
    for block in _python(page):
        assert not [of for of in _imported(block) if ".".join(of) not in offered]


def test_an_inner_name_is_found():
    block = "from jaxsel.kernel.stream import threefry_2x32"
    assert _imported(block) == {("jaxsel.kernel.stream", "threefry_2x32")}
    assert "jaxsel.kernel.stream.threefry_2x32" not in _described()


def _with_many_parameters(text: str) -> list[str]:
    """The functions of a text that take more than ten, the object itself left out."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            if len(names) - (names[:1] in (["self"], ["cls"])) > 10:
                found.append(node.name)
    return found


def test_few_functions_take_more_than_ten_parameters():
    """Options that belong together are one text or record: see ``jaxsel.language.parts``."""
    ten = ", ".join("abcdefghij")
    assert _with_many_parameters(f"def f({ten}): 0\nclass C:\n def g(self, {ten}): 0") == []
    assert _with_many_parameters(f"def f({ten}, *, k): 0") == ["f"]
    many = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "jaxsel").rglob("*.py"))
        for name in _with_many_parameters(path.read_text(encoding="utf-8"))
    ]
    assert len(many) <= 10, many
