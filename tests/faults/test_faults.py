"""The planted faults are data that fits the code as it stands (``make faults``)."""

import ast
import shutil

import pytest

from jaxsel.catalogue import find_claim
from tests.faults import drawing, looking
from tests.faults.__main__ import _report
from tests.faults.drawing import changes, drawn
from tests.faults.looking import Answer, Seen, claims_say, look
from tests.faults.planting import ROOT, Fault, digest, faults, places, planted, rooms

FAULTS = [fault for room in rooms() for fault in faults(room)]
HALF = Fault("room", "all of it", "a.py", "epsilon / 2", "epsilon")


def _functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _missing(test: str) -> bool:
    file, *names = test.split("::")
    if not (ROOT / file).exists():
        return True
    return bool(names) and names[-1].split("[")[0] not in _functions(file)


@pytest.mark.parametrize("room", rooms())
def test_faults_can_be_planted_and_someone_should_see_them(room):
    for fault in faults(room):
        text = (ROOT / fault.file).read_text(encoding="utf-8")
        assert len(places(text, fault.old)) == 1, fault.name
        assert fault.new != fault.old, fault.name
        assert fault.claims or fault.tests, fault.name
        for claim in fault.claims:
            find_claim(claim)
        assert not [test for test in fault.tests if _missing(test)], fault.name


def test_a_test_that_is_not_there_is_found():
    assert _missing("tests/kernel/test_rows.py::test_of_nothing")
    assert _missing("tests/test_nothing.py")
    assert not _missing("tests/faults/test_faults.py::test_faults_have_one_name_each")


def test_faults_have_one_name_each():
    names = [(fault.room, fault.name) for fault in FAULTS]
    assert len(set(names)) == len(names)


def test_a_planted_fault_goes_away(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("half = epsilon / 2\n", encoding="utf-8")
    with planted(HALF, tmp_path):
        assert path.read_text(encoding="utf-8") == "half = epsilon\n"
    assert path.read_text(encoding="utf-8") == "half = epsilon / 2\n"
    with pytest.raises(ValueError, match="0 times"), planted(HALF._replace(old="x"), tmp_path):
        pass


SMALL = """
import a
import pytest

def test_right():
    assert a.half(4) == 2

@pytest.mark.parametrize("x", ["two words"])
def test_words(x):
    assert a.half(len(x)) != 3
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "a.py").write_text("def half(x):\n    return x / 2\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text(SMALL, encoding="utf-8")
    for name in ("tests/__init__.py", "tests/faults/__init__.py", "tests/faults/limits.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    ("new", "tests", "noticed", "trouble"),
    [
        ("x / 3", "test_a.py", "test_a.py::test_right", ""),
        ("x * 0.5", "test_a.py", "", ""),
        ("x / 3", "test_a.py::test_words", "test_a.py::test_words[two words]", ""),
        ("x /", "test_a.py", "", "tests: "),  # cannot be imported: nobody judged it
        ("x / 3", "test_a.py::test_gone", "", "tests: "),
    ],
)
def test_a_crash_or_a_missing_test_is_no_fault_seen(tree, new, tests, noticed, trouble):
    found = look(Fault("room", "name", "a.py", "x / 2", new, tests=(tests,)), tree)
    assert found.claims is None
    assert found.tests is not None
    assert found.tests.noticed == noticed
    assert found.tests.trouble.startswith(trouble)
    assert bool(found.tests.trouble) == bool(trouble)
    assert found.seen == bool(noticed)
    assert bool(found.broken) == bool(trouble)


@pytest.mark.parametrize("new", ["x / 2 if loop() else 0", "x / 2 if counted() else 0"])
def test_a_test_that_does_not_end_is_a_fault_seen(monkeypatch, tree, new):
    # one loop of the interpreter's, one that never leaves compiled code
    with (tree / "a.py").open("a", encoding="utf-8") as file:
        file.write("def loop():\n    while True:\n        pass\n")
        file.write("def counted():\n    return sum(itertools.count())\n")
        file.write("import itertools\n")
    monkeypatch.setattr(looking, "_SECONDS_EACH", 2)
    fault = Fault("room", "name", "a.py", "x / 2", new, tests=("test_a.py",))
    found = look(fault, tree)
    assert found.tests == Answer("test_a.py::test_right", endless=True)
    assert found.seen
    assert found.by == "test test_a.py::test_right, which does not end"
    assert look(fault._replace(new="x * 0.5"), tree).tests == Answer()


def test_what_a_test_began_ends_with_it(monkeypatch, tree):
    sleep = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
    (tree / "test_a.py").write_text(
        f"def test_left():\n    {sleep}'import time; time.sleep(600)'])\n", "utf-8"
    )
    monkeypatch.setattr(looking, "_SECONDS", 60)
    assert looking.tests_say(tree, ["test_a.py"]) == Answer()


def test_a_claim_that_does_not_end_is_a_fault_seen(monkeypatch, tree):
    (tree / "tests/faults/asking.py").write_text(
        "import sys\nfrom tests.faults.limits import limited\n"
        "for name in sys.argv[1:]:\n"
        "    with limited(name):\n        while name == 'B':\n            pass\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(looking, "_SECONDS_EACH", 2)
    assert claims_say(tree, ["A", "B", "C"]) == Answer("B", endless=True)


def test_claims_and_tests_are_both_asked(monkeypatch, tree):
    monkeypatch.setattr(looking, "claims_say", lambda *given: Answer("PS-Thm2"))
    fault = Fault("room", "name", "a.py", "x / 2", "x / 3", ("PS-Thm2",), ("test_a.py",))
    assert look(fault, tree).by == "claim PS-Thm2 and test test_a.py::test_right"


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (Seen(HALF, Answer("PS-Thm2"), None), 0),
        (Seen(HALF, None, Answer("test")), 0),
        (Seen(HALF, Answer(), Answer()), 1),
        (Seen(HALF, Answer(trouble="crash"), None), 1),
        (Seen(HALF, Answer(trouble="crash"), Answer("test")), 0),
    ],
)
def test_what_is_broken_or_missed_fails(found, status, capsys):
    others = [Seen(HALF._replace(name=str(n)), Answer("C"), None) for n in range(40)]
    assert _report([*others, found]) == status
    assert ("BROKEN" in capsys.readouterr().out) == bool(found.broken)


def test_the_digest_knows_the_tree_and_the_fault(tree, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(tree, other, dirs_exist_ok=True)
    assert digest(tree, HALF) == digest(other, HALF)
    assert digest(tree, HALF) != digest(tree, HALF._replace(new="x"))
    changed = tmp_path_factory.mktemp("changed")
    (changed / "a.py").write_text("x / 2", encoding="utf-8")
    assert digest(changed, HALF) != digest(tree, HALF)


def test_every_kind_of_change_is_drawn():
    text = '''
def f(a, b=2):
    """Words 1 + 1."""
    if a < b and not a == 3:
        raise ValueError("1 < 2")
    return max(g(a, b), -a[0] + 1.5) * min(f"{a + 1}", True)
'''
    found = {(one.kind, one.new) for one in changes(text)}
    expected = {
        ("operator", "<="),
        ("operator", "or"),
        ("operator", "!="),
        ("operator", ""),
        ("operator", "-"),
        ("operator", "/"),
        ("operator", "min"),
        ("operator", "max"),
        ("constant", "4"),
        ("constant", "3.0"),
        ("constant", "False"),
        ("index", "1"),
        ("argument", "b, a"),
    }
    assert found == expected


@pytest.mark.rare
def test_what_is_drawn_can_be_planted_and_is_drawn_again():
    found = drawn(60, 7)
    assert [one.name for one in found] == [one.name for one in drawn(60, 7)]
    assert len({one.name for one in found}) == 60
    assert {one.name for one in found} != {one.name for one in drawn(60, 8)}
    for fault in found:
        text = (ROOT / fault.file).read_text(encoding="utf-8")
        assert text.count(fault.old) == 1
        ast.parse(text.replace(fault.old, fault.new))
    for module in drawing.modules():
        assert any(one.file == module.file for one in found)
        assert not [test for test in module.tests if _missing(test)]
        for claim in module.claims:
            find_claim(claim)


def test_every_survivor_that_is_explained_is_a_change_of_today():
    reasons = drawing.survivors()
    of_today = set()
    for module in drawing.modules():
        text = (ROOT / module.file).read_text(encoding="utf-8")
        of_today |= {drawing.as_fault(module, text, one).name for one in changes(text)}
    assert not set(reasons) - of_today
