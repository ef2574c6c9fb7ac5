"""Random command lines: over all commands and options, at values that hurt.

``python -m tests.cli.random_lines --count 10000 --seed 1`` runs so many of them in one process,
by Typer's runner, and prints every fault that it saw: a traceback, a warning, a silence of 20
seconds, an exit status that is not documented, a refusal that is no sentence, that left a file
or that, with ``--json``, is no document. ``--only ACCOUNT`` runs those of one command.

A line starts from a sound one of its command (``STARTS``), so that it gets past the first
refusal; some of its numbers become hostile ones, and options are added. The options come from
the commands themselves: what is added to a command is tried from then on, by its type.
"""

import argparse
import collections
import contextlib
import inspect
import json
import os
import random
import re
import shlex
import signal
import sys
import tempfile
import time
import traceback
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import typer
from typer.testing import CliRunner

from jaxsel import cli as commands
from jaxsel.cli.main import app

NUMBERS = (
    *("0", "-0.0", "1", "-1", "2", "3", "10", "0.5", "0.05", "1e-6", "1e-9", "1e3", "1e6"),
    *(
        "1e-308",
        "5e-324",
        "-1e-308",
        "0.9999999999999999",
        "1.0000000000000002",
        "4503599627370497",
    ),
    *("709", "710", "745", "1e15", "1e16", "9223372036854775808", "1e100", "1e308", "-1e308"),
    *("nan", "inf", "-inf", "x", "", " ", "1e", "0x10", "1_0", "é", "None", "1e400", "1,2", "a=b"),
)
WORDS = ("x", "", " ", "é", "--", "-x", "a=b", "=", ":", ",", "a:b=c", "1", "nan", "[", "'")
FILES = (
    *(
        "new.png",
        "new.pdf",
        "new.json",
        "new.nc",
        "new.csv",
        "new.npz",
        "new.html",
        "new.md",
        "new",
    ),
    *("new.toml", "new.parquet", "new.xyz", "missing/new.png", "missing/new.json", "folder", ""),
    *("missing/new.nc", "folder/new.csv", "law.json", "searches.toml", "empty", "noise.bin", "."),
    *("folder.png", "mine.py", "mine.py/new.json", "n" * 300, "points.csv", "plan.json"),
)
BASES = (
    *("gaussian:noise_multiplier=4", "pure:epsilon=0.1", "randomised_response:epsilon=0.5"),
    *("zcdp:rho=0.01", "approximate:epsilon=0.1,delta=1e-9", "laplace:noise_scale=10"),
    *("discrete_gaussian:sigma=10,sensitivity=1", "gdp:mu=0.3", "points:0.5=1e-3,1=1e-6"),
    *("dp_sgd:sampling_probability=0.01,noise_multiplier=2,steps=100", "points:points.csv"),
    *("gaussian", "zcdp", "opacus:plan.json", "dp_sgd:dataset_size=100,batch_size=10,epochs=1"),
)
LAWS = (
    *("geometric:mean=10", "poisson:mean=5", "tnb:eta=0.5,mean=10", "logarithmic:mean=10"),
    *("binomial:count=20,mean=5", "beta_binomial:count=20,gamma=1", "point_mass:count=3"),
    *("pmf:1=0.2,3=0.5,11=0.3", "poisson:mean=10,conditioned=30", "geometric:gamma=0.1,capped=50"),
    *("file:law.json", "tnb:eta=-0.5,mean=10"),
)
# Sound texts of an option, by its name; of the others there are those of FILES and WORDS.
TEXTS = {
    "base": BASES,
    "beside": BASES,
    "repetitions": LAWS,
    "rank_of": LAWS,
    "trials": ("200", "1e3"),
    "claim": ("1", "epsilon", "zcdp:rho=1", "0.5"),
    "relation": ("replace_one", "add_or_remove_one", "general", "monotone", "l1", "local"),
    "pair": ("opposed",),
    "how": (
        *("bits", "curve", "sequential", "largest", "seconds=2", "search_trials=100", "workers=1"),
        *("kind=generator", "repetitions=geometric:mean=3", "call_seconds=1", "progress"),
    ),
    "data": ("[0, 1, 1]", "[0];[1]", "[0, 1];[0]", "digits", "5", "[nan]", "[[0, 1], [2, 3]]"),
    "at": ("epsilon=.3,1", "epsilon=1"),
    "law": ("laplace:loc=0,scale=1", "norm:loc=0,scale=1", "uniform:loc=0,scale=1"),
    "miss": ("0.05=0.3", "0.1=0.5"),
    "set_": ("k=3", "epsilon=1", "scores=3,2,1"),
    "mechanism": ("noisy_max", "stable_top_k", "gaussian_top_k", "exponential_mechanism"),
    "measure": ("?", "success", "epsilon_bound", "success,epsilon_bound", "counts", "audited"),
    "zips": ("epsilon,mean", "epsilon,gamma"),
    "x": ("epsilon", "mean"),
    "hue": ("epsilon", "mean"),
    "facet": ("epsilon", "mean"),
    "paper": ("PS", "lt", "KRW"),
    "shard": ("0/2", "1/2", "auto"),
    "coordinator": ("nowhere", ""),
    "scheduler": ("nowhere", ""),
    "learning_rates": ("0.1:1:3", "0.5"),
    "noise_multipliers": ("2,4", "1"),
    "clip_norms": ("1", "0.5,1"),
    "batch_sizes": ("64", "32,64"),
    "strides": ("strided", "dense"),
}
_FILES = {
    *("record", "csv", "parquet", "plot", "report", "save", "folder", "out", "ledger"),
    *("data_folder", "search", "plan", "files"),
}
# Options that ask for minutes of work, or for other machines, whatever else is said.
_NEVER = {"bench": {"everything", "goals", "mechanism"}, "validate": {"everything"}}
# How often a command is drawn, of about a hundred lines: those that compute longest least.
_SHARES = {
    **{"account": 6, "plan": 2, "plan-releases": 1, "optimal": 1, "report": 2, "tune": 1},
    **{"simulate": 6, "audit": 2, "audit-function": 3, "replay": 3, "check-law": 2},
    **{"sweep": 5, "validate": 1, "bench": 1, "merge": 4, "claim": 16, "law": 14, "show": 10},
}
STARTS = {
    "account": (
        "--base BASE --repetitions LAW",
        "--base BASE --repetitions LAW --delta 1e-6",
        "--base BASE --repetitions LAW --epsilon 1",
        "--base BASE --repetitions LAW --times 2",
        "--base BASE --drawn grid:n=3",
        "--search searches.toml",
        "--search empty",
    ),
    "plan": (
        "--base gaussian --epsilon 3 --runs 10",
        "--base gaussian:noise_multiplier=4 --runs 10",
        "--base zcdp --epsilon 2 --winner rank=0.2",
        "--base pure:epsilon=0.1 --epsilon 1",
    ),
    "plan-releases": (
        "noisy_max --epsilon 3 --releases 10",
        "stable_top_k --epsilon 3 --delta 1e-6 --releases 5",
    ),
    "optimal": ("--base pure:epsilon=0.1 --runs 3 --most 10", "--base zcdp:rho=0.01 --runs 3"),
    "report": ("--base BASE --repetitions LAW", "--plan plan.json", "--folder folder"),
    "tune": ("--data-folder folder --data mnist", "--data-folder missing --data fashion_mnist"),
    "list": ("mechanisms", "claims", "errata", "remarks", "repetitions", "bases", ""),
    "show": ("CLAIM", "MECHANISM", "LAW", "BASE", "E-PS-1"),
    "claim": ("CLAIM SETTING", "CLAIM SETTING SETTING", "CLAIM"),
    "law": ("MECHANISM", "MECHANISM SETTING", "MECHANISM SETTING SETTING"),
    "simulate": ("MECHANISM --trials 200", "MECHANISM SETTING --trials 1e3"),
    "audit": (
        "MECHANISM --trials 200",
        "MECHANISM SETTING --trials 1e3 --delta 1e-3",
        "mine.py:laplace --replay --relation replace_one --claim 1 --seconds 2 --trials 200",
    ),
    "audit-function": (
        "mine.py:laplace --relation replace_one --claim 1 --trials 1e3 --how seconds=2",
        "mine.py:laplace epsilon=1 --relation replace_one --claim epsilon --trials 500 "
        "--how seconds=2",
        "mine.py:raises --relation replace_one --claim 1 --trials 200 --how seconds=2",
    ),
    "replay": ("mine.py:laplace --relation replace_one --claim 1",),
    "check-law": (
        "mine.py:laplace --law laplace:loc=0,scale=1 --data [0,0] --trials 1e3 --how seconds=2",
    ),
    "sweep": (
        "noisy_max epsilon=0.5,1 --measure success --trials 200",
        "account base=gaussian noise_multiplier=2,4 mean=2:10:log3",
        "private_tuning epsilon=0.5 repetitions=geometric mean=2,5 --trials 200",
        "mine.py:cell epsilon=0.5,1 --trials 200",
        "mine.py:broken epsilon=0.5,1 --trials 200",
        "mine.py:other epsilon=0.5,1 --trials 200",
    ),
    "merge": ("new.nc", "law.json", "noise.bin folder"),
    "validate": ("PS-Cor3 --trials 200 --cases 3", "PS-Thm2 --trials 200 --cases 3"),
    "bench": ("99", "--mechanism nowhere", "--mechanism x --record new.json"),
}

_MINE = """
import jaxsel

def laplace(rng, data, n, epsilon=1.0):
    return sum(data) + rng.laplace(0, 1.0 / epsilon, n)

def raises(rng, data, n):
    raise RuntimeError("no")

def cell(*, epsilon: float = 1.0):
    return jaxsel.Trial(*jaxsel.mechanism("noisy_max", epsilon=epsilon)[:3])

def broken(*, epsilon: float = 1.0):
    return 1 / 0

def other(*, epsilon: float = 1.0):
    return jaxsel.Trial(jaxsel.mechanism("noisy_max", epsilon=epsilon))
"""
_SEARCHES = '[[search]]\nbase = "pure:epsilon=0.1"\nrepetitions = "geometric:mean=3"\ntimes = 2\n'
_LAW = '{"law": {"1": 0.5, "3": 0.5}, "mean_runs": 2.0}'


def lay_out(folder: Path) -> None:
    """The files that the lines name."""
    (folder / "folder").mkdir()
    (folder / "folder.png").mkdir()
    texts = {
        "mine.py": _MINE,
        "searches.toml": _SEARCHES,
        "law.json": _LAW,
        "empty": "",
        "points.csv": "epsilon,delta\n0.5,1e-3\n1,1e-6\n",
        "plan.json": "[[1.0, 0.01, 100]]",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "noise.bin").write_bytes(bytes(range(256)))


# --- The lines ------------------------------------------------------------------------


class Option(NamedTuple):
    """One option or argument of a command: its word, or "" for an argument, and its values."""

    name: str
    word: str
    kind: type
    repeated: bool


def _kind(hint: Any) -> type:
    """What one value is, of a type that may be optional, a list, or annotated."""
    while typing.get_origin(hint) is not None:
        inner = [one for one in typing.get_args(hint) if one is not types.NoneType]
        hint = inner[0]
    return hint if isinstance(hint, type) else str


def options() -> dict[str, tuple[Option, ...]]:
    """Every option of every command, as the commands declare them."""
    group: Any = typer.main.get_command(app)
    found = {}
    for info in app.registered_commands:
        assert info.callback is not None
        hints = typing.get_type_hints(inspect.unwrap(info.callback), include_extras=True)
        found[str(info.name)] = tuple(
            Option(
                parameter.name,
                parameter.opts[0] if parameter.opts[0].startswith("-") else "",
                _kind(hints[parameter.name]),
                parameter.nargs == -1 or getattr(parameter, "multiple", False),
            )
            for parameter in group.commands[str(info.name)].params
            if parameter.name in hints
        )
    return found


class Lines:
    """Draws command lines; equal seeds give equal lines."""

    def __init__(self, seed: int, only: Sequence[str] = ()) -> None:
        from jaxsel.catalogue import mechanisms, published_claims

        self._random = random.Random(seed)
        self._options = options()
        names = [name for name in self._options if not only or name in only]
        self._names, self._shares = names, [_SHARES.get(name, 10) for name in names]
        self._claims = {claim.id: claim.parameters for claim in published_claims()}
        self._mechanisms = {entry.name: entry.settings for entry in mechanisms()}

    def _some(self, texts: Sequence[str]) -> str:
        return self._random.choice(texts)

    def _hurt(self, text: str, chance: float) -> str:
        """Some of the numbers in a text become hostile ones."""

        def put(found: re.Match[str]) -> str:
            return self._some(NUMBERS) if self._random.random() < chance else found[0]

        return re.sub(r"(?<![\w.])-?\.?\d[\d.]*(e-?\d+)?(?![\w.])", put, text)

    def _value(self, option: Option) -> str:
        lot = self._random.random()
        if option.name in _FILES or issubclass(option.kind, Path):
            return self._some(FILES)
        if option.name in TEXTS and lot < 0.85:
            return self._hurt(self._some(TEXTS[option.name]), 0.4)
        if issubclass(option.kind, int | float) or lot < 0.2:
            return self._some(NUMBERS)
        return self._some(WORDS)

    def _setting(self, settings: dict[str, Any]) -> str:
        if not settings or self._random.random() < 0.05:
            return self._some(WORDS)
        name = self._some([*settings])
        default = str(settings[name].default)
        text = default if self._random.random() < 0.3 else self._hurt(default, 0.6)
        return f"{name}={text if self._random.random() < 0.9 else self._some(NUMBERS)}"

    def _start(self, command: str) -> list[str]:
        words: list[str] = []
        settings: dict[str, Any] = {}
        for word in self._some(STARTS.get(command, ("",))).split():
            if word in ("CLAIM", "MECHANISM"):
                known = self._claims if word == "CLAIM" else self._mechanisms
                word = self._some([*known])
                settings = dict(known[word])
            elif word == "SETTING":
                word = self._setting(settings)
            elif word in ("BASE", "LAW"):
                word = self._some(BASES if word == "BASE" else LAWS)
            words.append(word)
        return words

    def _added(self, command: str, words: list[str]) -> Iterator[str]:
        never = _NEVER.get(command, ())
        for option in self._random.sample(self._options[command], k=len(self._options[command])):
            if option.name in never or (option.word in words and not option.repeated):
                continue
            if self._random.random() > 1.5 / len(self._options[command]):
                continue
            if option.word:
                yield option.word
            if not issubclass(option.kind, bool):
                yield self._value(option)

    def draw(self) -> list[str]:
        """The words of one line, after the name of the program."""
        (command,) = self._random.choices(self._names, self._shares)
        words = self._start(command)
        if self._random.random() < 0.6:
            words = [words[0], *(self._hurt(word, 0.3) for word in words[1:])] if words else []
        words += self._added(command, words)
        if self._random.random() < 0.4 and "--json" not in words:
            words.append("--json")
        if self._random.random() < 0.02 and words:
            words.pop(self._random.randrange(len(words)))
        for place in range(1, len(words)):
            if _takes_long(words[place - 1], words[place]):
                words[place] = "1e2"
        return [command, *words]


# Above the first number it takes long; above the second it is refused.
_LONG = {"--trials": (1e6, 2.0**62), "--cases": (1e3, 1e7)}


def _takes_long(option: str, value: str) -> bool:
    """Whether so many are allowed, and take minutes or years."""
    try:
        low, high = _LONG[option]
        return low < float(value) <= high
    except (KeyError, ValueError):
        return False


# --- What a line does -----------------------------------------------------------------

STATUSES = {0, 1, 2, 3, 4}
SILENCE = 20.0
LONGEST = 60.0


class Fault(NamedTuple):
    """What a line did that it must not do.

    Attributes:
      kind: in a few words, equal for what is probably one mistake.
      detail: all of it.
    """

    kind: str
    detail: str


class _TooLong(BaseException):
    """The line was stopped."""


@contextlib.contextmanager
def _stopped(limit: float, longest: float) -> Iterator[None]:
    """Stops what works so many seconds without a word, or waits four times as long for nothing.

    What the machine does beside it takes time that is not the command's.
    """

    def spent() -> tuple[float, float]:
        return time.process_time(), time.monotonic() / 4

    began, last, written = spent(), spent(), 0

    def look(*_: Any) -> None:
        nonlocal last, written
        now = 0
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            now += len(stream.buffer.getvalue())  # type: ignore[attr-defined]
        if now != written:
            last, written = spent(), now
        if any(t - since > limit for t, since in zip(spent(), last, strict=True)):
            raise _TooLong(f"silent for {limit:g} s")
        if any(t - since > longest for t, since in zip(spent(), began, strict=True)):
            raise _TooLong("")

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _listing(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_size if path.is_file() else -1
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def _where(error: BaseException) -> str:
    """The innermost line of the package that a traceback names."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "jaxsel" in f.filename]
    frame = [f for f in frames if "tests" not in f.filename][-1:]
    return f"{Path(frame[0].filename).name}:{frame[0].lineno}" if frame else "?"


def _frames(error: BaseException) -> str:
    """An error with the calls that led to it, those of the package alone."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{f.filename}:{f.lineno} {f.line}" for f in frames if "/jaxsel/" in f.filename]
    return "\n".join([*lines[-8:], repr(error)[:300]])


def _asks_for_json(words: Sequence[str]) -> bool:
    """Whether the answer is to be a document: --json is there, and is not the value of another."""
    if "--json" not in words or "--help" in words:
        return False
    before = words[words.index("--json") - 1]
    every = options().get(words[0], ())
    return before not in {each.word for each in every if each.word and each.kind is not bool}


def judge(words: Sequence[str], status: int, out: str, err: str) -> Iterator[Fault]:
    """What is wrong with what a command said, and with its exit status."""
    if status not in STATUSES:
        yield Fault(f"exit status {status}", err[-400:])
    if "Traceback" in err or "fault of jaxsel" in err:
        yield Fault("traceback", err[-1500:])
    refused = status >= 2
    sentence = re.search(r"^jaxsel: .*\S$|^Error: .*\S$|^Usage: ", err, re.M)
    if refused and not sentence and not (status == 3 and out):  # a verdict is an answer
        yield Fault(f"no sentence at exit {status}", f"{out[-300:]!r} {err[-300:]!r}")
    if _asks_for_json(words):
        try:
            document = json.loads(out, parse_constant=lambda name: 1 / 0)
        except (ValueError, ZeroDivisionError):
            yield Fault(f"no JSON at exit {status}", f"{out[-300:]!r} {err[-300:]!r}")
        else:
            if refused and isinstance(document, dict) and "error" in document:
                if document.get("exit") != status or not document["error"]:
                    yield Fault("JSON of another refusal", out[-300:])
            elif status == 2:
                yield Fault("JSON of a refusal has no error", out[-300:])


def run(words: Sequence[str], silence: float = SILENCE, longest: float = LONGEST) -> list[Fault]:
    """Runs a line in a folder of its own, in this process.

    Args:
      words: of the line, after the name of the program.
      silence: seconds without a word after which it is stopped, and at fault.
      longest: seconds after which it is stopped.
    """
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder)
        before, path = _listing(folder), sys.path[:]
        with contextlib.chdir(folder), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                result = _Runner(silence, longest).invoke(app, list(words), prog_name="jaxsel")
            except _TooLong as error:
                return [Fault(f"silent at {_where(error)}", _frames(error))] * bool(str(error))
            finally:  # the next line has a file of that name in another folder
                sys.path[:] = path
                sys.modules.pop("mine", None)
        error = result.exception
        if error is not None and not isinstance(error, SystemExit):
            return [Fault(f"{type(error).__name__} at {_where(error)}", _frames(error))]
        for each in warned:
            if not issubclass(each.category, DeprecationWarning | ResourceWarning):
                place = f"{Path(each.filename).name}:{each.lineno}"
                faults.append(Fault(f"{each.category.__name__} at {place}", str(each.message)))
        faults += judge(words, result.exit_code, result.stdout, result.stderr)
        left = _listing(folder)
        if result.exit_code == 2 and left != before:
            made = sorted(set(left.items()) ^ set(before.items()))
            faults.append(Fault("a refusal left something", f"{made} {result.stderr[-300:]}"))
    return faults


class _Runner(CliRunner):
    """Typer's runner, whose command is stopped when it is silent."""

    def __init__(self, silence: float, longest: float) -> None:
        super().__init__()
        self._limits = silence, longest

    @contextlib.contextmanager
    def isolation(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The streams of one command, of which the last word is waited for so long."""
        with super().isolation(*args, **kwargs) as streams, _stopped(*self._limits):
            yield streams


def run_as_process(words: Sequence[str], limit: float = 4.0 * SILENCE) -> list[Fault]:
    """As ``run``, in a process of its own, forked from this one; which must have no threads.

    Args:
      words: of the line.
      limit: seconds after which it is killed, and at fault.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        folder.mkdir()
        lay_out(folder)
        before = _listing(folder)
        texts = [Path(name) / stream for stream in ("out", "err")]
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _become(words, folder, texts)
        until, ended = time.monotonic() + limit, (0, 0)
        while ended == (0, 0) and time.monotonic() < until:
            time.sleep(0.01)
            ended = os.waitpid(child, os.WNOHANG)
        if ended == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return [Fault(f"no end within {limit:g} s", "")]
        status = os.waitstatus_to_exitcode(ended[1])
        out, err = (text.read_text(encoding="utf-8") for text in texts)
        faults = list(judge(words, status, out, err))
        if "Warning: " in err:
            faults.append(Fault("warning", err[-500:]))
        if status == 2 and _listing(folder) != before:
            faults.append(Fault("a refusal left something", err[-300:]))
    return faults


def _become(words: Sequence[str], folder: Path, texts: Sequence[Path]) -> NoReturn:
    """Runs a line as the program would, and ends this process with its status."""
    status: Any = 99
    try:
        os.chdir(folder)
        for stream, text in enumerate(texts, 1):
            os.dup2(os.open(text, os.O_WRONLY | os.O_CREAT), stream)
        commands.main(list(words))
    except SystemExit as stop:
        status = stop.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def quick_bounds(put: Callable[[Any, str, Any], None]) -> None:
    """Makes the bounds of searches quick, with ``put`` as ``setattr`` is.

    At any resolution, and of any rankings, they are bounds; those of today take ten times as long.
    """
    from jaxsel.tuning.attained import two_ended
    from jaxsel.tuning.bounds import priced_envelope

    coarse = priced_envelope.Resolution(columns=6, rows=2, knots=8, parts=4, meshes=0)
    put(priced_envelope, "FINE", coarse)
    put(two_ended, "_LEVELS", 4)
    put(two_ended, "_BEYOND", two_ended._BEYOND[-1:])


def main() -> None:
    """Runs many lines, and prints the faults by kind; exit status 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="skip the lines before this one")
    parser.add_argument("--only", action="append", default=[], help="a command; repeatable")
    parser.add_argument("--processes", action="store_true", help="each in a process of its own")
    parser.add_argument("--show", action="store_true", help="print each line and its seconds")
    asked = parser.parse_args()
    sys.dont_write_bytecode = True
    quick_bounds(setattr)
    lines = Lines(asked.seed, asked.only)
    kinds: collections.Counter[str] = collections.Counter()
    spent: collections.Counter[str] = collections.Counter()
    began = time.monotonic()
    for number in range(asked.count):
        words = lines.draw()
        if number < asked.first:
            continue
        started = time.process_time()
        faults = run_as_process(words) if asked.processes else run(words)
        seconds = time.process_time() - started
        spent[words[0]] += seconds
        if asked.show or seconds > 10.0:
            print(f"{number} {seconds:.1f} s: {shlex.join(words)}", flush=True)
        for fault in faults:
            kinds[fault.kind] += 1
            if kinds[fault.kind] <= 3:
                print(f"\n{number} {fault.kind}: {shlex.join(words)}\n{fault.detail}", flush=True)
        if number % 500 == 499:
            from jaxsel.kernel import compiled

            compiled.forget()
            each = {name: round(seconds) for name, seconds in spent.most_common()}
            print(f"--- {number + 1} lines, {time.monotonic() - began:.0f} s, {each}", flush=True)
    print(f"\n{asked.count - asked.first} lines, {sum(kinds.values())} faults")
    for kind, times in kinds.most_common():
        print(f"{times:6d} {kind}")
    print("seconds:", {name: round(seconds) for name, seconds in spent.most_common()})
    sys.exit(1 if kinds else 0)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", tempfile.mkdtemp())
    os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp())
    main()
