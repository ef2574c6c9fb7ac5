"""Faults as data, and copies of the tree in which they are planted."""

import functools
import hashlib
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent


class Fault(NamedTuple):
    """One change that makes something false.

    Attributes:
      room: name of the file of faults that it comes from.
      name: what a careless person did.
      file: path of the changed file from the root.
      old, new: the text that is replaced, which occurs once in the file, and its replacement.
      claims: ids of claims that ``validate`` should find not as expected.
      tests: files or node ids of tests, of which one should fail.
      survives: the reason why no check notices the fault, if none does.
    """

    room: str
    name: str
    file: str
    old: str
    new: str
    claims: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    survives: str | None = None


def rooms() -> list[str]:
    """Names of the files of faults."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != "drawn")


def faults(room: str) -> list[Fault]:
    """The faults of one file, in its order."""
    text = (FOLDER / f"{room}.toml").read_text(encoding="utf-8")
    return [
        Fault(
            room,
            one["name"],
            one["file"],
            one["old"],
            one["new"],
            tuple(one.get("claims", ())),
            tuple(one.get("tests", ())),
            one.get("survives"),
        )
        for one in tomllib.loads(text)["fault"]
    ]


def sandbox(folder: Path) -> Path:
    """A copy of the tree as it stands, without what git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    compiled = ROOT / ".jax_cache"
    compiled.mkdir(exist_ok=True)
    (folder / compiled.name).symlink_to(compiled)
    return folder


@functools.cache
def _tree(folder: Path) -> str:
    """Digest of all files of a copy of the tree."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".jax_cache" not in path.parts:
            found.update(f"{path.relative_to(folder)}\0".encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def digest(folder: Path, fault: Fault) -> str:
    """Digest of a fault and of the copy of the tree in which it is tried."""
    return hashlib.sha256(f"{_tree(folder)} {fault!r}".encode()).hexdigest()[:32]


def places(text: str, old: str) -> list[tuple[int, int]]:
    """Where a fault's text occurs in a file, whatever its layout by the formatter.

    Any white space may stand between two words or signs. A comma before a closing bracket may
    be added or left out.
    """
    words = re.findall(r"\w+|[^\w\s]", old)
    parts = [re.escape(word) for word in words]
    for place, word in enumerate(words):
        if word in ")]}" and place:
            parts[place] = rf",?\s*{parts[place]}"
            if words[place - 1] == ",":
                parts[place - 1] = ""
    return [match.span() for match in re.finditer(r"\s*".join(parts), text)]


@contextmanager
def planted(fault: Fault, folder: Path) -> Iterator[None]:
    """Plants the fault in the copy of the tree while the context lasts.

    Raises:
      ValueError: if the text to replace does not occur in its file exactly once.
    """
    path = folder / fault.file
    right = path.read_text(encoding="utf-8")
    found = places(right, fault.old)
    if len(found) != 1:
        raise ValueError(
            f"{fault.room}, {fault.name!r}: {fault.old!r} stands {len(found)} times in {fault.file}"
        )
    (start, stop), new = found[0], fault.new.strip()
    path.write_text(right[:start] + new + right[stop:], encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(right, encoding="utf-8")
