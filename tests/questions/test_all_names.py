"""What has a name is found without loading the rest, where its source says so."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

from jaxsel import catalogue
from jaxsel.language import declared
from jaxsel.questions import all_names


def run(code: str) -> str:
    """What a process of its own prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def kept(found: all_names.Found) -> tuple:
    thing = found.thing
    return found.kind, found.names, thing["id"] if isinstance(thing, dict) else id(thing)


def test_a_name_finds_all_that_has_it():
    everything = [*all_names._everything()]
    by_name: dict[str, list] = {}
    for found in everything:
        for name in dict.fromkeys(each.lower() for each in found.names):
            by_name.setdefault(name, []).append(kept(found))
    assert len(by_name) >= 900
    for name, there in by_name.items():
        assert [kept(found) for found in all_names._called(name)] == there, name


def test_errata_and_remarks_are_noted_wherever_they_are_declared():
    home = {}
    for name in declared.stating():
        for one in declared.held(importlib.import_module(name)):
            home.setdefault(one.id, set()).add(name)
    noted = [claim for claim in catalogue.published_claims() if claim.erratum or claim.remark]
    assert len(noted) >= 100
    for claim in noted:
        names = {module.__name__ for module in declared.declaring(claim.id.lower())}
        names |= {other for name in names for other in declared._noting(name)}
        for link in (claim.erratum, claim.remark):
            assert link is None or names & home[link], claim.id


def test_a_statement_that_is_loaded_alone_has_its_erratum():
    # Declared in a module that no other imports.
    code = "from jaxsel.catalogue import find_claim; print(find_claim('PS-Lem7').erratum)"
    assert run(code).strip() == "E-PS-1"


def test_to_show_a_statement_loads_little():
    code = (
        "import sys\nfrom jaxsel.cli import main\ntry: main(['show', 'PS-Thm2'])\n"
        "except SystemExit: print('LOADED', *sys.modules)"
    )
    shown, _, loaded = run(code).partition("LOADED")
    assert re.search(r"^Stated in \S+negative_binomial\.py:\d+$", shown, re.M)
    modules = set(loaded.split())
    assert not modules & {"jax", "sims", "figures"}
    assert len(modules & {*declared.stating()}) <= len(declared.stating()) // 4


def test_every_place_is_where_the_statement_is_written():
    literally = 0
    for claim in catalogue.published_claims():
        file, _, number = claim.place.rpartition(":")
        lines = Path(file).read_text(encoding="utf-8").splitlines()
        first = int(number) - 1
        assert (
            lines[first].lstrip().startswith("@")
            or ".privacy(" in lines[first]
            or (".utility(" in lines[first] or ".identity(" in lines[first])
        ), claim.place
        if any(f'"{claim.id}"' in line for line in lines):
            assert any(f'"{claim.id}"' in line for line in lines[first : first + 6]), claim.id
            literally += 1
    assert literally >= 500
    for entry in catalogue.mechanisms():
        file, _, number = entry.place.rpartition(":")
        source = Path(file).read_text(encoding="utf-8").splitlines()
        assert source[int(number) - 1].startswith("@mechanism("), entry.place
        assert file == inspect.getfile(sys.modules[entry.module])


_ADDED = '''
from jaxsel.language.papers import PAPERS

PAPER = PAPERS[0]


def stated(kind):
    @PAPER.utility(f"Added-{kind}", "Theorem 1")
    def claim():
        """It is 1."""
        return 1.0

    @claim.equals()
    def one(budget):
        yield {}, 1.0, "1"

    return claim


FIRST, SECOND = stated("one"), stated("two")
'''


def test_a_statement_is_found_as_soon_as_it_is_written(tmp_path):
    folder = tmp_path / "added"
    (folder / "claims").mkdir(parents=True)
    for each in (folder, folder / "claims"):
        (each / "__init__.py").write_text("", encoding="utf-8")
    (folder / "claims" / "mine.py").write_text(_ADDED, encoding="utf-8")
    code = (
        f"import os, sys\nos.chdir({str(tmp_path)!r})\nimport jaxsel.families\n"
        f"jaxsel.families.__path__.append({str(tmp_path)!r})\n"
        "from jaxsel.cli import main\nmain(['show', 'added-TWO'])"
    )
    shown = run(code)
    assert shown.startswith("Added-two")
    assert "Stated in added/claims/mine.py:8\n" in shown
