"""What is one's own is part of a digest, wherever it was written."""

import functools
import os
import runpy
import subprocess
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import jaxsel
from jaxsel.host import own_code, source_digest
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, stream
from jaxsel.kernel.engine import simulate
from jaxsel.language.base import Mechanism

ROOT = Path(__file__).parents[2]

# A mechanism of somebody who has read the guide, by every way of knowing a number.
SCRIPT = '''
"""A script."""
import functools
import sys
import numpy as np
import helper
from jaxsel.host import source_digest
from jaxsel.language.base import Mechanism

SHIFT = 0.25
TABLE = np.array([0.5, 0.25])
NESTED = {"b": [1, 2], "a": {"x", "y", "z"}}

class Rounding:
    """To a multiple."""
    step = 2
    def __init__(self, size):
        self.size = size
    def __call__(self, x):
        return x // self.size * self.step

ROUND = Rounding(3)

def scaled(x, by=1.5):
    """By a factor."""
    return x * by

def make(limit):
    def sample(key, data, params):
        import lazily
        x = scaled(data + SHIFT) + TABLE[0] + helper.shifted(1) + len(NESTED)
        return lazily.bent(ROUND(x)) > limit
    return Mechanism(
        prepare=lambda data, params: (data, params),
        sample=sample,
        event=lambda outcome: outcome * 1,
        labels=functools.partial(lambda many, data, params: many, ("a", "b")),
        law=None,
        resolution=2.0**-24,
    )

TRIALS = 1000
OWN = make(0.75)
'''
PRINTING = "print(source_digest.digest(OWN))\n"
HELPER = "from deeper import AMOUNT\n\ndef shifted(x):\n    return x + AMOUNT\n"
FILES = {
    "own.py": SCRIPT + PRINTING,
    "helper.py": HELPER,
    "deeper.py": "AMOUNT = 2\n",
    "lazily.py": "def bent(x):\n    return -x\n",
}


def child(folder: Path, *arguments: str, given: str | None = None, **variables) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        input=given,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(folder: Path, **changed: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(changed.get(name.removesuffix(".py"), text))
    return folder


def as_script(folder: Path, **variables) -> str:
    return child(folder, "own.py", **variables)


BY_PATH = """
import importlib.util, sys
from jaxsel.host import source_digest
spec = importlib.util.spec_from_file_location("plugin", "own.py")
module = importlib.util.module_from_spec(spec)
REGISTER
spec.loader.exec_module(module)
"""
CELLS = """
cells = open("own.py").read().split("def make")
names = {"__name__": "__main__"}
exec(compile(cells[0], "<cell 1>", "exec"), names)
exec(compile("def make" + cells[1], "<cell 2>", "exec"), names)
"""
WAYS = {
    "script": as_script,
    "command": lambda folder: child(folder, "-c", (folder / "own.py").read_text()),
    "typed": lambda folder: child(folder, "-", given=(folder / "own.py").read_text()),
    "notebook": lambda folder: child(folder, "-c", CELLS),
    "path": lambda folder: child(folder, "-c", BY_PATH.replace("REGISTER", "")),
    "registered": lambda folder: child(
        folder, "-c", BY_PATH.replace("REGISTER", "sys.modules['plugin'] = module")
    ),
    "module": lambda folder: child(folder, "-c", "import own"),
}


@pytest.fixture(name="plain", scope="module")
def _plain(tmp_path_factory):
    """Digests of the script as it stands, by way of running it."""
    folder = write(tmp_path_factory.mktemp("plain"))
    return {name: way(folder) for name, way in WAYS.items()}


# Imports what every script does, and has each run by a copy of itself.
COPYING = """
import os, runpy, sys, traceback
import functools, numpy
from jaxsel.host import source_digest
from jaxsel.language.base import Mechanism
for line in sys.stdin:
    copy = os.fork()
    if not copy:
        try:
            os.chdir(line.strip())
            sys.path[0] = os.getcwd()
            runpy.run_path("own.py", run_name="__main__")
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    if os.waitpid(copy, 0)[1]:
        print("it raised", flush=True)
"""


@pytest.fixture(name="copied", scope="module")
def _copied(plain, tmp_path_factory):
    """``copied(folder)``: what the script prints, in a process that has imported what it does."""
    command = [sys.executable, "-c", COPYING]
    with subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        given, taken = process.stdin, process.stdout
        assert given is not None
        assert taken is not None

        def said(folder: Path) -> str:
            print(folder, file=given, flush=True)
            return taken.readline().strip()

        assert said(write(tmp_path_factory.mktemp("copied"))) == plain["script"]
        yield said
        given.close()


@pytest.mark.parametrize("way", WAYS)
def test_unchanged_code_has_one_digest_in_every_process(way, plain, tmp_path):
    assert len(plain[way]) == 64  # nothing in it is of that process only
    # Another folder, on other lines: where it stands does not count.
    again = {"own": "\n# Said twice.\n" + FILES["own.py"].replace("To a", "To some")}
    if way in ("module", "registered"):
        assert WAYS[way](write(tmp_path)) == plain[way]
    assert WAYS[way](write(tmp_path, **again)) == plain[way]


def test_typed_or_run_it_is_the_same(plain):
    # (Cells compiled apart may have other operations: those of a notebook stay its own.)
    assert len({plain[way] for way in ("script", "command", "typed")}) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_constant_of_any_way_to_run_is_seen(way, plain, tmp_path):
    changed = FILES["own.py"].replace("make(0.75)", "make(0.5)")
    assert WAYS[way](write(tmp_path, own=changed)) != plain[way]
    changed = FILES["own.py"].replace("SHIFT = 0.25", "SHIFT = 0.5")
    assert WAYS[way](write(tmp_path, own=changed)) != plain[way]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("own", "[0.5, 0.25]", "[0.5, 0.26]"),  # a number of an array
        ("own", "[0.5, 0.25])", "[[0.5, 0.25]])"),  # its shape
        ("own", "[0.5, 0.25])", "[0.5, 0.25], np.float32)"),  # its type
        ("own", "[1, 2]", "[1, 3]"),
        ("own", "by=1.5", "by=1.25"),  # a default
        ("own", "x * by", "x + by"),
        ("own", "Rounding(3)", "Rounding(4)"),  # what an object holds
        ("own", "step = 2", "step = 3"),  # what its class does
        ("own", "x // self.size", "x % self.size"),
        ("own", "outcome * 1", "outcome * 2"),
        ("own", '("a", "b")', '("a", "c")'),
        ("own", "data + SHIFT", "data - SHIFT"),
        ("helper", "x + AMOUNT", "x - AMOUNT"),
        ("deeper", "AMOUNT = 2", "AMOUNT = 3"),
        ("lazily", "return -x", "return x"),
        # What a module is told when it runs.
        ("own", "TRIALS = 1000", "helper.shifted = abs"),
    ],
)
def test_whatever_a_mechanism_reads_is_part_of_it(name, old, new, plain, copied, tmp_path):
    text = FILES[f"{name}.py"]
    assert text.count(old) == 1
    found = copied(write(tmp_path, **{name: text.replace(old, new)}))
    assert len(found) == len(plain["script"])
    assert found != plain["script"]


def test_what_it_does_not_read_is_not(plain, tmp_path):
    text = FILES["own.py"].replace("TRIALS = 1000", "TRIALS = 2000\nprint(end='')")
    folder = write(tmp_path, own=text)
    for number in ("0", "1", "2"):  # the order of sets and names
        assert as_script(folder, PYTHONHASHSEED=number) == plain["script"]


RECORDED = """
import jax.numpy as jnp
import jaxsel, sys
from jaxsel import noise
from jaxsel.language.base import Mechanism
{before}
def make(limit):
    def sample(key, data, params):
        return (noise.variate("laplace", key, 0) > limit).astype(jnp.int32)
    return Mechanism(lambda d, p: (d, p), sample, lambda o: o, lambda d, p: ("a", "b"),
                     None, 2.0**-65, "own")
try:
    found = jaxsel.simulate(make({limit}), 1.0, 1.0, trials=int(sys.argv[1]), record="a.nc")
    print(*found.values[0])
except jaxsel.InputError as error:
    print("refused:", error)
"""


@pytest.fixture(name="here")
def _here(tmp_path, monkeypatch, capsys):
    """Runs the script in this process, which has compiler and libraries already."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["own.py", *arguments])
        runpy.run_path("own.py", run_name="__main__")
        return capsys.readouterr().out.strip()

    return run


def test_a_record_of_a_changed_script_is_refused_and_of_the_same_goes_on(tmp_path, here):
    file = tmp_path / "own.py"
    file.write_text(RECORDED.format(before="", limit="0.5"))
    first = here("1000")
    file.write_text(RECORDED.format(before="# Longer.", limit="0.5"))
    more = child(tmp_path, "own.py", "2000", PYTHONHASHSEED="7")
    assert not more.startswith("refused")
    assert sum(map(int, more.split())) == 2000
    assert all(a <= b for a, b in zip(map(int, first.split()), map(int, more.split()), strict=True))
    file.write_text(RECORDED.format(before="", limit="-100.0"))
    refused = here("3000")
    assert refused.startswith("refused: a.nc was made by other code than this")
    assert "\n" not in refused


def test_what_cannot_be_read_goes_on_in_its_process_only(tmp_path, here):
    program = RECORDED.format(before="import threading\nLOCK = threading.Lock()", limit="0.5")
    program = program.replace("    def sample", "    def sample", 1).replace(
        "        return (noise", "        LOCK.locked()\n        return (noise"
    )
    file = tmp_path / "own.py"
    call = "jaxsel.simulate(make(0.5), 1.0, 1.0, trials=2000, record='a.nc')"
    again = f"\nprint(*{call}.values[0])"
    file.write_text(program + again)
    first, second = here("1000").splitlines()
    assert sum(map(int, first.split())) == 1000
    assert sum(map(int, second.split())) == 2000
    file.write_text(program)
    refused = child(tmp_path, "own.py", "3000")
    assert refused.startswith("refused: a.nc is of a mechanism that holds an object of")
    assert "lock" in refused
    assert "\n" not in refused


def test_an_unreadable_digest_says_what_it_is():
    lock = threading.Lock()
    code = source_digest.digest(lambda: lock)
    assert own_code.unreadable(code) == "an object of type lock"
    assert source_digest.digest(lambda: lock) != ""
    assert own_code.unreadable(source_digest.digest(lambda: 1)) == ""
    assert own_code.unreadable({"a": "b"}) == ""


def test_reading_twice_is_reading_once():
    import dataclasses
    import enum

    @dataclasses.dataclass
    class Held:
        x: int
        inside: object = None

    class Colour(enum.Enum):
        RED = 1

    held = Held(1)
    held.inside = [held, held]  # it holds itself
    rest = (np.float32(2), np.random.default_rng(3), Colour.RED, held, types, np.exp)

    def reads():
        return rest, reads

    def digest():
        return source_digest.digest(reads)

    before = digest()
    assert digest() == before
    assert own_code.unreadable(before) == ""
    held.x = 2
    assert digest() != before


def test_shape_and_type_of_an_array_are_in_the_digest_of_a_function():
    def made(array):
        return source_digest.digest(lambda: array)

    arrays = [
        np.zeros(6),
        np.zeros((2, 3)),
        np.zeros((3, 2)),
        np.zeros(6, np.int64),
        np.zeros(6, np.float32),
        np.zeros(12, np.float32),
        np.zeros((6, 1)),
        0.0,
        0,
        False,
        np.float64(0.0),
        np.zeros(1),
        None,
        [0.0],
        (0.0,),
        "0.0",
        b"0.0",
    ]
    assert len({made(array) for array in arrays}) == len(arrays)
    assert made(np.zeros((2, 3))) == made(np.asfortranarray(np.zeros((2, 3))))


def test_a_base_of_ones_own_counts_inside_a_mechanism_of_the_catalogue():
    def made(by):
        own = Mechanism(
            lambda data, params: (data, params),
            lambda key, data, params: noise.variate("laplace", key, 0) > 0,
            lambda outcome: outcome * 1,
            lambda data, params: ("a", "b"),
            lambda data, params: jaxsel.FiniteLaw(np.array([by, 1.0 - by]), ("a", "b")),
            2.0**-65,
            "own",
        )
        return source_digest.digest(jaxsel.from_law(own))

    assert made(0.5) == made(0.5)
    assert made(0.5) != made(0.25)


def test_an_ordinary_key_of_jax_is_asked_for():
    import jax

    key = stream.make_key(1)
    for draw in (
        jax.random.gumbel,
        jax.random.uniform,
        jax.random.split,
        jax.random.bits,
        jax.random.key_data,
        functools.partial(jax.random.fold_in, data=1),
        lambda key: jax.random.choice(key, 3),
    ):
        with pytest.raises(InputError, match=r"jax\.random\.gumbel\(key\.jax\(\)\)"):
            draw(key)

    def sample(key, data, params):
        return (jax.random.gumbel(key) > 0).astype(int)

    own = Mechanism(
        lambda d, p: (d, p), sample, lambda o: o, lambda d, p: ("a", "b"), None, 2.0**-52, "own"
    )
    pair = jaxsel.Pair("p", 1.0, 2.0, jaxsel.Relation.GENERAL, {"e": 1.0}, "w")
    for run in (
        lambda: simulate(own, 1.0, {"e": 1.0}, trials=10),
        lambda: jaxsel.audit(own, pair, trials=100),
    ):
        with pytest.raises(InputError, match="is no key of") as refused:
            run()
        assert "\n" not in str(refused.value)


def test_a_sweep_of_ones_own_mechanism_is_refused_in_a_sentence():
    own = jaxsel.noisy_max()
    with pytest.raises(InputError, match=r"a function that returns a jaxsel\.Trial"):
        jaxsel.sweep(own, {"epsilon": [1, 2]})  # type: ignore[arg-type]
