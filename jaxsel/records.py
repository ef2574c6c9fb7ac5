"""Records on disk: labelled arrays with the whole configuration beside them.

A record is a netCDF file (xarray, h5netcdf): sufficient statistics, the configuration that
made them, versions. It is written beside its target and moved into place, so that a kill
never leaves half a file. xarray is imported when a record is read or written, not before.
"""

import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsel.errors import InputError

FORMAT = "jaxsel-record-1"


class Record(NamedTuple):
    """Arrays by name, the configuration that made them, and further attributes."""

    arrays: dict[str, np.ndarray]
    configuration: dict[str, Any]
    attributes: dict[str, Any]


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
    """Versions of what computes, for the provenance of a record."""
    names = ("jaxsel", "jax", "jaxlib", "numpy", "scipy", "dp-accounting")
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def write(
    path: str | Path,
    *,
    arrays: Mapping[str, Any],
    configuration: Mapping[str, Any],
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Writes a record atomically, creating its folder.

    Raises:
      InputError: if the place cannot be written.
    """
    import xarray as xr  # takes a second to import

    path = Path(path)
    dataset = xr.Dataset(
        {
            name: ([f"{name}_{axis}" for axis in range(np.ndim(array))], array)
            for name, array in arrays.items()
        },
        attrs={
            "format": FORMAT,
            "configuration": json.dumps(dict(configuration), sort_keys=True),
            "attributes": json.dumps(dict(attributes or {}), sort_keys=True),
            "versions": json.dumps(versions(), sort_keys=True),
        },
    )
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        dataset.to_netcdf(temporary, engine="h5netcdf")
        os.replace(temporary, path)
    except OSError as error:
        if temporary.exists():
            temporary.unlink()
        raise InputError(f"cannot write the record {path}: {error}") from error


def read(path: str | Path, configuration: Mapping[str, Any] | None = None) -> Record:
    """Reads a record; with ``configuration``, refuses one made by another.

    Raises:
      InputError: if the file is absent, no record, of another configuration or of other
        code.
    """
    import xarray as xr

    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no record {path}")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            dataset.load()
        if dataset.attrs["format"] != FORMAT:
            raise ValueError(f"its format is {dataset.attrs['format']}")
        found = json.loads(dataset.attrs["configuration"])
        attributes = json.loads(dataset.attrs["attributes"])
        attributes["versions"] = json.loads(dataset.attrs["versions"])
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path} is not a jaxsel record: {error}") from error
    if configuration is not None and found != json.loads(json.dumps(configuration)):
        keys = sorted(set(found) | set(configuration))
        different = [k for k in keys if found.get(k) != configuration.get(k)]
        if different == ["code"]:
            raise InputError(
                f"{path} was made by other code than this (jaxsel "
                f"{attributes['versions'].get('jaxsel', 'unknown')}, since changed), "
                "which may give other numbers; name another file or remove this one"
            )
        raise InputError(
            f"{path} was written by another configuration (it differs in "
            f"{', '.join(different)}); name another file or remove this one"
        )
    arrays = {str(name): np.asarray(value) for name, value in dataset.items()}
    return Record(arrays, found, attributes)
