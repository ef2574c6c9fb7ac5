"""The notebooks of the documentation show what their code prints and draws."""

import ast
import json
import re

import matplotlib.pyplot as plt
import pytest

from tests import notebooks

_VERDICTS = re.compile("REFUTED|[Nn]ot refuted|differentially private|released bits|Winner")
NOTEBOOKS = sorted(notebooks.FOLDER.glob("*.ipynb"))


def test_there_are_five_notebooks():
    assert len(NOTEBOOKS) == 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_of_the_code_that_stands_there(path):
    assert not notebooks.is_stale(path), "run: python -m tests.notebooks"
    kept = notebooks.read(path)
    cells = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert any(cell["outputs"] for cell in cells)
    for cell in cells:
        assert not [one for one in cell["outputs"] if one["output_type"] == "error"]
        # Warnings, progress bars and traces are no part of a page.
        assert not [one for one in cell["outputs"] if one.get("name") == "stderr"]


def test_a_changed_cell_is_seen(tmp_path):
    changed = notebooks.read(NOTEBOOKS[0])
    cell = next(cell for cell in changed["cells"] if cell["cell_type"] == "code")
    cell["source"] = [*cell["source"], "\nprint(1)"]
    path = tmp_path / "changed.ipynb"
    path.write_text(json.dumps(changed))
    assert notebooks.is_stale(path)


@pytest.mark.rare
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, monkeypatch, capsys):
    """Each cell prints the verdicts that are kept; digits may differ between machines."""
    monkeypatch.chdir(notebooks.ROOT)
    plt.switch_backend("agg")
    known: dict[str, object] = {}
    for cell in notebooks.read(path)["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), known)
        if shown is not None:
            eval(compile(ast.Expression(shown.value), path.name, "eval"), known)
        printed = [one["text"] for one in cell["outputs"] if one["output_type"] == "stream"]
        kept, now = "".join(line for text in printed for line in text), capsys.readouterr().out
        assert _VERDICTS.findall(now) == _VERDICTS.findall(kept)
        assert bool(now) == bool(kept)
