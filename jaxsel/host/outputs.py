"""Whether a file can be written, asked before the work whose result goes there."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from jaxsel.host.errors import InputError

PICTURES = (".png", ".pdf", ".svg")
"""What the name of a picture may end in."""


def check_output(
    option: str,
    path: str | Path | None,
    endings: Sequence[str] = (),
    *,
    folder: bool = False,
    makes_folders: bool = False,
    new: bool = False,
) -> None:
    """Raises InputError unless a file, or a folder, can be made at a path; makes nothing.

    Args:
      option: what the path was given for, such as "--plot"; named in the message.
      path: the path; None for none, which is fine.
      endings: what the name may end in, such as (".png",); empty for anything.
      folder: whether a folder is to be made there, or used if it is there.
      makes_folders: whether the folders above it are made, too, if they are missing.
      new: whether a file that is there already is refused.
    """
    if path is None:
        return
    given = f"{option} is {str(path)!r}"
    wanted = "folder" if folder else "file"
    if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
        raise InputError(f"{given}; name a {wanted}")
    place = Path(path).expanduser()
    if endings and place.suffix not in endings:
        listed = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise InputError(f"{given}; its name must end in {listed}")
    try:
        there = _mode(place)
        above = place.parent
        while makes_folders and _mode(above) is None:
            above = above.parent
        whole = _mode(above)
    except OSError as error:  # such as a name that is too long
        raise InputError(f"{given}, which cannot be made: {error.strerror}") from None
    if there is not None:
        if stat.S_ISDIR(there) != folder:
            other = "file" if folder else "folder"
            raise InputError(f"{given}, which is a {other}; name a {wanted}")
        if new:
            raise InputError(f"{given}, which is there already; name a new {wanted}")
        if not os.access(place, os.W_OK):
            raise InputError(f"{given}, which may not be written")
    elif whole is None:
        raise InputError(f"{given}, but there is no folder {above}; make it first")
    elif not stat.S_ISDIR(whole):
        raise InputError(f"{given}, but {above} is no folder")
    elif not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{given}, but nothing may be written to {above}")


def _mode(place: Path) -> int | None:
    """What kind of thing lies there, as ``os.stat`` says; None if nothing does."""
    try:
        return place.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
