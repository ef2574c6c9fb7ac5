"""The planted faults are data that fits the code as it stands (``make faults``)."""

import ast
import shutil

import pytest

from jaxsel.catalogue import find_claim
from tests.faults import drawing, looking, reaching
from tests.faults.__main__ import PARTS, _report
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


@pytest.mark.parametrize("new", ["x / 2 if loop() else 0", "x / 2 if waits() else 0"])
def test_a_test_that_does_not_end_is_a_fault_seen(monkeypatch, tree, new):
    # One loop of the interpreter's, and a wait in compiled code that keeps the interpreter.
    with (tree / "a.py").open("a", encoding="utf-8") as file:
        file.write("import ctypes, time\n")
        file.write("def loop():\n    while True:\n        time.sleep(0.01)\n")
        file.write("def waits():\n    return ctypes.PyDLL(None).pause()\n")
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
        "import sys, time\nfrom tests.faults.limits import limited\n"
        "for name in sys.argv[1:]:\n"
        "    with limited(name):\n        while name == 'B':\n            time.sleep(0.01)\n",
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
class Kept:
    def f(self, a, b=2):
        """Words 1 + 1."""
        if a < b and not a == 3:
            raise ValueError("1 < 2")
        with self.lock:
            old = self.state
            self.state = [old, a]
            self.save(a, seed=b)
        for one in range(a):
            self.total += one
        return max(g(a, b), -a[0] + 1.5) * min(one for one in a[:b]) if a else np.sum(a, axis=0)
'''
    found = {(one.kind, drawing.survivor("a.py", text, one)[2:]) for one in changes(text)}
    result = (
        "return max(g(a, b), -a[0] + 1.5) * min(one for one in a[:b]) if a else np.sum(a, axis=0)"
    )
    assert all(one.function == "Kept.f" for one in changes(text))
    assert all(one.lines == (3, 13) for one in changes(text))
    for kind, old, new in (
        ("edge", "if a < b and not a == 3:", "if a <= b and not a == 3:"),
        ("operator", "if a < b and not a == 3:", "if a < b or not a == 3:"),
        ("operator", "if a < b and not a == 3:", "if a < b and a == 3:"),
        ("term", "if a < b and not a == 3:", "if (a < b):"),
        ("condition", "if a < b and not a == 3:", "if not (a < b and not a == 3):"),
        ("condition", "if a < b and not a == 3:", "if False:"),
        ("constant", "if a < b and not a == 3:", "if a < b and not a == 4:"),
        ("lock", "with self.lock:", "if True:"),
        ("lock", "with self.lock:\nold = self.state", "old = self.state\nwith self.lock:"),
        ("state", "self.state = [old, a]", "pass"),
        ("state", "self.save(a, seed=b)", "pass"),
        ("state", "self.total += one", "pass"),
        ("last", "self.state = [old, a]", "self.state = [old]"),
        ("last", "for one in range(a):", "for one in list(range(a))[:-1]:"),
        ("end", "for one in range(a):", "for one in range((a) - 1):"),
        ("setting", "self.save(a, seed=b)", "self.save(a)"),
        ("argument", result, result.replace("g(a, b)", "g(b, a)")),
        ("index", result, result.replace("a[0]", "a[1]")),
        ("operator", result, result.replace("-a[0]", "a[0]")),
        ("operator", result, result.replace(") * min", ") / min")),
        ("term", result, result.replace("-a[0] + 1.5", "(-a[0])")),
        ("term", result, result.replace("-a[0] + 1.5", "(1.5)")),
        ("end", result, result.replace("[:b]", "[:(b) - 1]")),
        ("call", result, result.replace("max", "min")),
        ("first", result, result.replace("max(g(a, b), -a[0] + 1.5)", "(g(a, b))")),
        ("first", result, result.replace("max(g(a, b), -a[0] + 1.5)", "(-a[0] + 1.5)")),
        ("first", result,
         result.replace("min(one for one in a[:b])", "next(iter((one for one in a[:b])))")),
        ("axis", result, result.replace("axis=0", "axis=1")),
    ):  # fmt: skip
        assert (kind, (old, new)) in found, (kind, new)
    assert not any("Words" in old or "raise" in old for _, (old, _) in found)


def test_a_bound_without_its_correction_is_drawn():
    text = "def f(error, looks):\n    return error / len(looks)\n"
    assert "    return (error)\n" in {drawing._changed(text, one).splitlines(True)[1]
                                     for one in changes(text)}  # fmt: skip


@pytest.mark.parametrize("room", PARTS)
def test_what_is_drawn_can_be_planted_and_is_drawn_again(room):
    found = list(drawn(room, 12, 7))
    assert found == list(drawn(room, 12, 7))
    assert found != list(drawn(room, 12, 8))
    assert len({(file, change.lines) for file, _, change in found}) == 12  # a function each
    for file, text, change in found:
        assert file.startswith(f"jaxsel/{room}/")
        fault = drawing.as_fault(room, file, text, change, ["tests/a.py"])
        ((start, stop),) = places(text, fault.old)
        changed = text[:start] + fault.new.strip() + text[stop:]
        assert changed != text
        ast.parse(changed)


def test_every_survivor_that_is_explained_is_a_change_of_today():
    of_today = set()
    for file in {one.file for one in drawing.survivors()}:
        text = (ROOT / file).read_text(encoding="utf-8")
        of_today |= {drawing.survivor(file, text, one) for one in changes(text)}
    assert not drawing.survivors().keys() - of_today


def test_what_a_drawn_fault_is_asked_about_runs_the_function(monkeypatch, tree):
    (tree / "jaxsel").mkdir()
    (tree / "jaxsel/__init__.py").touch()
    (tree / "jaxsel/b.py").write_text(
        "def twice(x):\n    return 2 * x\n\n\ndef thrice(x):\n    return 3 * x\n", "utf-8"
    )
    (tree / "test_b.py").write_text(
        "import os\nimport time\nimport jaxsel.b\n\n"
        "def test_dear():\n    time.sleep(0.1)\n    sum(range(10**6))\n"
        "    assert jaxsel.b.twice(1) == 2\n\n"
        "def test_in_another_process():\n    if not os.fork():\n"
        "        jaxsel.b.thrice(1)\n        os._exit(0)\n    os.wait()\n\n"
        "def test_cheap():\n    assert jaxsel.b.twice(0) == 0\n",
        "utf-8",
    )
    for name in ("tests/selecting.py", "tests/faults/reaching.py"):
        shutil.copyfile(ROOT / name, tree / name)
    kept = tree / "reached.jsonl"
    assert looking.tests_reach(tree, ["test_b.py"], kept) == Answer()
    found = reaching.read(kept)
    assert found.asked("jaxsel/b.py", (1, 2), 60.0) == ["test_b.py::test_cheap",
                                                         "test_b.py::test_dear"]  # fmt: skip
    assert found.asked("jaxsel/b.py", (1, 2), 0.0) == ["test_b.py::test_cheap"]
    assert found.asked("jaxsel/b.py", (5, 6), 60.0) == ["test_b.py::test_in_another_process"]
    (change,) = (one for one in changes("def twice(x):\n    return 2 * x\n") if one.new == "3")
    text = (tree / "jaxsel/b.py").read_text("utf-8")
    fault = drawing.as_fault(
        "b", "jaxsel/b.py", text, change, found.asked("jaxsel/b.py", (1, 2), 9)
    )
    seen = look(fault, tree)
    assert seen.by == "test test_b.py::test_dear"
    assert seen.seconds > 0.1
    assert "- return 2 * x\n+ return 3 * x" in fault.name
