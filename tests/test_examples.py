"""The examples run as they stand: the scripts, in folders of their own, and the docstrings."""

import ast
import doctest
import inspect
import runpy
from pathlib import Path

import pytest

import jaxsel

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
WRITTEN = {
    "audit_a_function": [],
    "plan_a_search": ["plan.json"],
    "private_search": ["private/ledger", "private/search"],
    "sweep_a_mechanism": ["votes.nc"],
    "tuning_cost": ["report"],
}
PUBLIC = jaxsel.__all__
# A long line of what is printed may be broken.
OPTIONS = doctest.NORMALIZE_WHITESPACE


def test_each_example_is_listed():
    assert [path.stem for path in EXAMPLES] == list(WRITTEN)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ended = 0
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        ended = stop.code
    assert not ended
    said = capsys.readouterr().out
    assert said
    assert "REFUTED" not in said
    for name in WRITTEN[path.stem]:
        assert (tmp_path / name).exists()


def _ran(text: str | None, name: str) -> doctest.DocTest:
    """The examples of a docstring, run; ``globs`` has what they assigned."""
    found = doctest.DocTestParser().get_doctest(inspect.cleandoc(text or ""), {}, name, None, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    failed = runner.run(found, out=said.append, clear_globs=False).failed
    assert not failed, "".join(said)
    return found


def _is_shown(name: str, test: doctest.DocTest) -> bool:
    """Whether an example shows what it stands at: calls it by its name, or makes one of it."""
    named = {
        getattr(node, "attr", getattr(node, "id", None))
        for example in test.examples
        for node in ast.walk(ast.parse(example.source))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    value = getattr(jaxsel, name)
    made = inspect.isclass(value) and any(isinstance(one, value) for one in test.globs.values())
    return name in named or made


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = getattr(jaxsel, name)
    # A text has the docstring of all texts; its example is that of the package.
    documented = jaxsel if isinstance(value, str) else value
    assert _is_shown(name, _ran(documented.__doc__, f"jaxsel.{name}"))


def _texts():
    """Docstrings with examples beside those of public names: of modules, methods and others."""
    # The example of the package is run for its version.
    public = {"jaxsel", *(".".join(place) for place in jaxsel._places().values())}
    for path in sorted((ROOT / "jaxsel").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if ">>> " not in text:
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                written = ast.get_docstring(node) or ""
                name = f"{module}.{node.name}" if not isinstance(node, ast.Module) else module
                if ">>> " in written and name not in public:
                    yield pytest.param(written, id=name)


@pytest.mark.parametrize("text", [*_texts()])
def test_any_other_example_runs(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _ran(text, "example")


def test_an_example_that_is_false_is_seen():
    text = ">>> import jaxsel\n>>> jaxsel.claim('PS-Cor3').evaluate()\n2.0\n"
    with pytest.raises(AssertionError, match="Expected:"):
        _ran(text.replace("2.0", "3.0"), "false")
    assert _is_shown("claim", _ran(text, "true"))
    assert not _is_shown("claims", _ran(text, "true"))
