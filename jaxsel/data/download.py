"""Finds a data file at a path, in a folder named by the environment, or by download.

In any case the decompressed content must have the published sha256.
"""

import contextlib
import gzip
import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from jaxsel.host.errors import InputError

FOLDER_VARIABLE = "JAXSEL_DATA"


class Source(NamedTuple):
    """A published file.

    Attributes:
      file: its name; "file.gz" is looked for as well.
      url: where it can be downloaded.
      sha256: of the decompressed content.
      canonical: converts known variants of the content to the published form, before the
        checksum is computed.
      archive: "sha256:..." or "md5:..." of the published gzip file, if the url is one. If
        sha256 is empty, local files must have this checksum as well.
      folder: a subfolder that is searched as well, for files whose names are not unique.
    """

    file: str
    url: str
    sha256: str = ""
    canonical: Callable[[bytes], bytes] = bytes
    archive: str = ""
    folder: str = ""

    @property
    def checksum(self) -> str:
        """The checksum and its type, as text."""
        if self.sha256:
            return f"sha256 of the decompressed file: {self.sha256}"
        return f"checksum of the gzip file: {self.archive}"


def _places(source: Source, path: str | Path | None) -> list[Path]:
    """Candidate files: of the path if one is given, else of the environment's folder."""
    folder = path if path is not None else os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return []
    folder = Path(folder).expanduser()
    if path is not None and not folder.is_dir():
        return [folder]
    folders = [folder / source.folder, folder] if source.folder else [folder]
    return [place / file for place in folders for file in (source.file, f"{source.file}.gz")]


def _wanted(source: Source) -> str:
    return (
        f"download {source.url} and name the file, its folder, or the folder in the "
        f"variable {FOLDER_VARIABLE}; {source.checksum}"
    )


def _checked(source: Source, path: Path) -> bytes:
    content = path.read_bytes()
    if not source.sha256:
        kind, wanted = source.archive.split(":")
        found = hashlib.new(kind, content, usedforsecurity=False).hexdigest()
        if found != wanted:
            raise InputError(f"{path} has {kind} {found}; {_wanted(source)}")
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError):
            raise InputError(f"{path} is not a whole gzip file; {_wanted(source)}") from None
    content = source.canonical(content)
    found = hashlib.sha256(content).hexdigest()
    if source.sha256 and found != source.sha256:
        raise InputError(f"{path} has sha256 {found}; {_wanted(source)}")
    return content


def _downloaded(source: Source) -> Path:
    try:
        import pooch
    except ImportError:
        raise InputError(
            f'{source.file} is not here, and to download it run pip install "jaxsel[data]"; '
            f"{_wanted(source)}"
        ) from None
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        found = pooch.retrieve(
            source.url,
            known_hash=source.archive or f"sha256:{source.sha256}",
            fname=f"{source.file}.gz" if source.archive else source.file,
            path=Path(pooch.os_cache("jaxsel")) / source.folder,
        )
    # Requests' errors are OSErrors; a wrong checksum is a ValueError.
    except (OSError, ValueError) as error:
        kind = type(error).__name__
        raise InputError(
            f"{source.file} could not be downloaded ({kind}); {_wanted(source)}"
        ) from None
    return Path(found)


def available(source: Source, path: str | Path | None = None) -> bool:
    """Whether the file exists at the path or in the folder of the environment."""
    with contextlib.suppress(OSError):
        return any(place.is_file() for place in _places(source, path))
    return False


def read_source(source: Source, path: str | Path | None = None) -> bytes:
    """The checked, decompressed content of a published file.

    Args:
      source: which file.
      path: the file or its folder; by default the folder in the variable JAXSEL_DATA, and
        if that is not set, a download, which is cached.

    Raises:
      InputError: if the file is not at the given place, cannot be downloaded, or has
        another checksum.
    """
    places = _places(source, path)
    for place in places:
        if place.is_file():
            return _checked(source, place)
    if places:
        raise InputError(f"{places[0]} does not exist; {_wanted(source)}")
    return _checked(source, _downloaded(source))
