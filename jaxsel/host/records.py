"""Records on disk: labelled arrays with the whole configuration beside them.

A record is a netCDF file (xarray, h5netcdf): sufficient statistics, the configuration that
made them, versions, and a digest of all of it, so that a file edited by hand is refused. It
is written to a temporary file and moved into place, so that neither a kill nor a full disk
leaves half a file, and only one process at a time writes it. xarray is imported when a
record is first read or written.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from jaxsel.host import own_code
from jaxsel.host.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

_FORMAT = "jaxsel-record-2"
_PRIVATE = "jaxsel-private-record-1"
_GROUP = "record"
# The JSON texts that a record holds beside its arrays.
_TEXTS = ("format", "configuration", "attributes", "versions", "digest")
_PATIENCE_SECONDS = 10.0
T = TypeVar("T")


class Record(NamedTuple):
    """The contents of a record file.

    Attributes:
      arrays: the arrays by name.
      configuration: the settings that determine the arrays.
      attributes: further attributes that were written, and "versions".
      path: the file, for error messages.
    """

    arrays: dict[str, np.ndarray]
    configuration: dict[str, Any]
    attributes: dict[str, Any]
    path: Path

    def attribute(self, name: str, kind: type[T]) -> T:
        """The attribute of that name.

        Raises:
          InputError: if there is none, or it is of another type.
        """
        value = self.attributes.get(name)
        if type(value) is not kind:
            raise InputError(
                f"{self.path} is not a record of this kind: its {name} is {value!r}, "
                f"not a {kind.__name__}"
            )
        return value

    @contextlib.contextmanager
    def parsing(self, kind: str) -> Iterator[None]:
        """Turns errors about missing or malformed parts of this record into an InputError.

        Args:
          kind: the kind of record expected, for the message.

        Raises:
          InputError: if the block fails because a part is missing or malformed.
        """
        try:
            yield
        except InputError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"{self.path} is no {kind}: it lacks a part or has another ({error!r})"
            ) from error

    def check(self, configuration: Mapping[str, Any]) -> None:
        """Checks that a configuration equals that of the record.

        Raises:
          InputError: if it differs; the message names the differing keys.
        """
        path, found = self.path, self.configuration
        wanted = json.loads(json.dumps(dict(configuration)))
        different = [
            key
            for key in sorted({*found, *wanted})
            if key not in found or key not in wanted or found[key] != wanted[key]
        ]
        if different == ["code"]:
            for code in (found.get("code"), wanted.get("code")):
                if own_code.unreadable(code):
                    raise InputError(
                        f"{path} is of a mechanism that holds "
                        f"{own_code.unreadable(code)}, which only the process that made "
                        "the record can compare; name another file, or give the "
                        "mechanism numbers and arrays instead"
                    )
            raise InputError(
                f"{path} was made by other code than this (jaxsel "
                f"{self.attributes['versions'].get('jaxsel', 'unknown')}, since "
                "changed), which may give other numbers; name another file or remove "
                "this one"
            )
        if different:
            raise InputError(
                f"{path} was written by another configuration (it differs in "
                f"{', '.join(different)}); name another file or remove this one"
            )


def digest(tree: Any) -> str:
    """A sha256 over the arrays of a pytree-like nest of tuples, lists and mappings."""
    state = hashlib.sha256()

    def visit(node) -> None:
        if isinstance(node, Mapping):
            for key in sorted(node):
                state.update(f"k{key}".encode())
                visit(node[key])
        elif isinstance(node, tuple | list):
            state.update(f"n{len(node)}".encode())
            for child in node:
                visit(child)
        elif node is not None:
            array = np.ascontiguousarray(node)
            state.update(f"a{array.dtype.str}{array.shape}".encode())
            state.update(array.tobytes())

    visit(tree)
    return state.hexdigest()


def versions() -> dict[str, str]:
    """Versions of jaxsel, Python and the numerical libraries, for the provenance of a record."""
    names = ("jaxsel", "jax", "jaxlib", "numpy", "scipy", "dp-accounting")
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


Save = Callable[..., None]
_Replace = Callable[[bytes | memoryview], None]


@contextlib.contextmanager
def exclusive(
    path: str | Path, patience: float = _PATIENCE_SECONDS, private: bool = False
) -> Iterator[_Replace]:
    """Locks a file for writing by this process, as long as the block lasts.

    Yields ``replace(content)``, which replaces the whole file atomically. The lock of a
    process that is killed is released.

    Args:
      path: the file; its folder is created.
      patience: seconds to wait for another process to finish.
      private: whether only the owner may access the file and its folder.

    Raises:
      InputError: if another process writes this file, if it cannot be written, or if it is
        to be private and is not. An existing file is then left unchanged.
    """
    path = _linked(Path(path))
    temporary = path.with_name(f".{path.name}.partial")
    mode = 0o600 if private else 0o666

    def replace(content: bytes | memoryview) -> None:
        try:
            file = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
            with open(file, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(file)
            os.replace(temporary, path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            if isinstance(error, OSError):
                raise _write_error(path, error) from error
            raise

    with _locked(path, patience, private):
        if private and path.exists():
            _check_private(path)
        # This process holds the lock: a temporary file was left by one that was killed.
        temporary.unlink(missing_ok=True)
        yield replace


@contextlib.contextmanager
def writer(path: str | Path, patience: float = 0.0, private: bool = False) -> Iterator[Save]:
    """Locks a record for writing; yields ``save``, which may be called repeatedly.

    ``save(arrays=, configuration=, attributes=, shown=)`` replaces the record; ``shown`` is
    a data set for readers who open the file with other software. Arguments and errors are
    those of ``exclusive``, but by default it does not wait for another process.
    """
    with exclusive(path, patience, private) as replace:

        def save(
            *,
            arrays: Mapping[str, Any],
            configuration: Mapping[str, Any],
            attributes: Mapping[str, Any] | None = None,
            shown: "xr.Dataset | None" = None,
        ) -> None:
            record = _dataset(arrays, configuration, attributes or {}, private)
            with _uninterrupted():
                replace(_content(record, shown))

        yield save


def write(
    path: str | Path,
    *,
    arrays: Mapping[str, Any],
    configuration: Mapping[str, Any],
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Writes a record once, creating its folder; waits briefly for another writer.

    Raises:
      InputError: as ``writer``.
    """
    with writer(path, _PATIENCE_SECONDS) as save:
        save(arrays=arrays, configuration=configuration, attributes=attributes)


def read(
    path: str | Path, configuration: Mapping[str, Any] | None = None, private: bool = False
) -> Record:
    """Reads a record, and checks its configuration if one is given.

    Args:
      path: the file.
      configuration: the configuration that the record should have.
      private: whether the record must be private; otherwise a private one is refused.

    Raises:
      InputError: if the file is absent, is no record, was damaged or edited since it was
        written, or has another configuration or other code; or if it is private and should
        not be, or should be and is not or can be read by others.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no record {path}")
    if private:
        _check_private(path)
    arrays, texts = _contents(path, _PRIVATE if private else _FORMAT)
    if texts["digest"] != _seal(arrays, texts):
        raise InputError(
            f"{path} was changed after it was written (its digest differs); name "
            "another file or remove this one"
        )
    found, attributes, made_by = (
        json.loads(texts[name]) for name in ("configuration", "attributes", "versions")
    )
    if not all(isinstance(each, dict) for each in (found, attributes, made_by)):
        raise InputError(f"{path} is not a jaxsel record: a text of it is no object")
    record = Record(arrays, found, attributes | {"versions": made_by}, path)
    if configuration is not None:
        record.check(configuration)
    return record


def _dataset(arrays, configuration, attributes, private):
    import xarray as xr  # takes a second to import

    kept = {name: np.asarray(array) for name, array in arrays.items()}
    texts = {
        "format": _PRIVATE if private else _FORMAT,
        "configuration": json.dumps(dict(configuration), sort_keys=True),
        "attributes": json.dumps(dict(attributes), sort_keys=True),
        "versions": json.dumps(versions(), sort_keys=True),
    }
    return xr.Dataset(
        {
            name: ([f"{name}_{axis}" for axis in range(array.ndim)], array)
            for name, array in kept.items()
        },
        attrs=texts | {"digest": _seal(kept, texts)},
    )


def _seal(arrays: Mapping[str, np.ndarray], texts: Mapping[str, str]) -> str:
    """The digest of a record's arrays and texts that is stored in it."""
    own = {name: text for name, text in texts.items() if name != "digest"}
    return digest({"arrays": dict(arrays), "texts": own})


def _content(record: "xr.Dataset", shown: "xr.Dataset | None") -> memoryview:
    """The bytes of a record's file.

    HDF5 writes to memory only: after a failed write to disk it may crash when the process
    ends.
    """
    file = io.BytesIO()
    if shown is None:
        record.to_netcdf(file, engine="h5netcdf")
    else:
        shown.to_netcdf(file, engine="h5netcdf")
        record.to_netcdf(file, engine="h5netcdf", group=_GROUP, mode="a")
    return file.getbuffer()


def _contents(path: Path, form: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the texts of a record of this format."""
    try:
        import h5py
        import xarray as xr

        # If the file is no HDF5, h5netcdf raises again when its object is deleted.
        with h5py.File(path, "r") as file:
            group = _GROUP if _GROUP in file and "format" in file[_GROUP].attrs else None
        with xr.open_dataset(path, engine="h5netcdf", group=group) as dataset:
            texts = {name: dataset.attrs.get(name) for name in _TEXTS}
            if texts["format"] == form:
                dataset.load()
    except Exception as error:  # HDF5 may raise anything on a damaged file
        raise InputError(f"{path} is not a jaxsel record, or is damaged: {error!r}") from error
    if texts["format"] == _PRIVATE != form:
        raise InputError(
            f"{path} holds the secrets of a private search: only the search goes on with "
            "it, and nothing else reads, merges or shows it; name another file"
        )
    if isinstance(texts["format"], str) and texts["format"] != form:
        raise InputError(
            f"{path} is not a jaxsel record of this version: its format is "
            f"{texts['format']}, not {form}; name another file or remove this one"
        )
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{path} is not a jaxsel record: it has no text {name!r}")
    return {str(name): np.asarray(value) for name, value in dataset.items()}, texts


def _write_error(path: Path, error: Exception) -> InputError:
    reason = " ".join(str(error).split())  # HDF5's messages have several lines
    return InputError(f"cannot write the record {path}: {reason}")


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays an interrupt from the keyboard until a file is written.

    HDF5 calls Python in places where exceptions are discarded, so an interrupt could be
    lost.
    """
    handler = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not (callable(handler) and in_main_thread):
        yield
        return
    came = []
    signal.signal(signal.SIGINT, lambda *signalled: came.append(signalled))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        handler(*came[0])


def _linked(path: Path) -> Path:
    """The file that a symbolic link stands for: it is to be replaced, not the link.

    Raises:
      InputError: if links lead round in a circle.
    """
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError) as error:
        raise _write_error(path, error) from error


def check_private(path: str | Path) -> None:
    """Refuses a private file that other users may open, itself or through its folder.

    Raises:
      InputError: if they may; the message says what to do.
    """
    place = _linked(Path(path))
    _check_private(place)
    _check_private(place.parent)


def _check_private(path: Path) -> None:
    """Refuses a private file or folder that other users may open."""
    found = path.stat()
    if not stat.S_ISDIR(found.st_mode) and not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is neither a file nor a folder; name another")
    mine, mode = found.st_uid == os.geteuid(), 700 if path.is_dir() else 600
    if mine and not found.st_mode & 0o077:
        return
    other = "a folder that does not exist yet" if path.is_dir() else "another file"
    remedy = f"chmod {mode} {path}, or name {other}"
    used = any(found.st_mode & both == both for both in (0o030, 0o003))
    if path.is_dir() and (used or not mine):
        # Others make files in it: whoever closes it locks them out.
        remedy = "name one in a folder that does not exist yet, which is then made for you alone"
    if not mine and not found.st_mode & 0o077:
        raise InputError(f"{path} belongs to another user ({found.st_uid}); name one of your own")
    raise InputError(
        f"{path} is open to others (mode {found.st_mode & 0o7777:o}, user {found.st_uid}), and the "
        f"record of a private search holds secrets; {remedy}"
    )


@contextlib.contextmanager
def _locked(path: Path, patience: float, private: bool) -> Iterator[None]:
    """Holds the lock file of a record; the system releases the lock when a process ends."""
    name = path.with_name(f".{path.name}.lock")
    try:
        # The mode given to mkdir does not apply to the parents that it creates.
        for folder in reversed((path.parent, *path.parent.parents)):
            if not folder.is_dir():
                folder.mkdir(mode=0o700 if private else 0o777, exist_ok=True)
        if private:
            _check_private(path.parent)
        mode = 0o600 if private else 0o666
        file = _acquired(name, time.monotonic() + patience, mode)
    except OSError as error:
        raise _write_error(path, error) from error
    if file is None:
        raise InputError(
            f"another process is writing the record {path}; wait for it, or name another file"
        )
    owner = os.getpid()
    try:
        yield
    finally:
        # Removed while it is locked; later it could be another process's lock file. A process that
        # was forked in between does not own it.
        if os.getpid() == owner:
            name.unlink(missing_ok=True)
        os.close(file)


def _acquired(name: Path, until: float, mode: int) -> int | None:
    while True:
        file = os.open(name, os.O_CREAT | os.O_RDWR, mode)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its previous owner may have removed the file just before it was locked.
            if name.exists() and os.path.samestat(os.fstat(file), os.stat(name)):
                return file
        except FileNotFoundError:
            pass
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(file)
                return None
            time.sleep(0.02)
        except OSError:
            os.close(file)
            raise
        os.close(file)
