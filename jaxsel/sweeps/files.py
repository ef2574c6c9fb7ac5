"""A sweep on disk: one NetCDF file that plain xarray reads, and that a sweep goes on from.

Its root is the labelled data set. Its group ``tallies`` is what the sweep has counted so
far, with a digest, so that numbers edited by hand are refused.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.sweeps.facts import Facts
from jaxsel.sweeps.tallying import Kept, Store, check_whole

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "jaxsel-sweep-2"
_GROUP = "tallies"


class State(NamedTuple):
    """What a sweep knows so far.

    Attributes:
      subject: its name.
      code: digest of the code that the facts follow from.
      store: tallies; each knows its own code.
      facts: what needs no trial.
      asked: the sweep in words, JSON-ready.
      shard: "3/64" of a shard; "" of a whole sweep.
    """

    subject: str
    code: str
    store: Store
    facts: Facts
    asked: Mapping[str, Any]
    shard: str


def _columns(state: State) -> dict[str, Any]:
    """The state as lists of texts and arrays of whole numbers."""
    rest = [state.subject, state.code, state.facts, state.asked, state.shard]
    kept = list(state.store.values())
    counts = [np.asarray(each.counts, np.int64) for each in kept]
    return {
        "key": [key for key, _ in state.store],
        "first": np.array([first for _, first in state.store], np.int64),
        "last": np.array([each.last for each in kept], np.int64),
        "code": [each.code for each in kept],
        "form": [each.form for each in kept],
        "events": np.array([each.size for each in counts], np.int64),
        "counts": np.concatenate(counts) if counts else np.zeros(0, np.int64),
        "rest": [json.dumps(rest)],
    }


_TEXTS = ("key", "code", "form", "rest")
_DIMENSIONS = {"counts": "outcome_of_item", "rest": "one"}


def write(path: Path, dataset: "xr.Dataset", state: State) -> None:
    """Writes the data set and, in a group of its own, the state."""
    import xarray as xr

    columns = _columns(state)
    variables = {
        name: (
            _DIMENSIONS.get(name, "item"),
            np.array(column, dtype=object) if isinstance(column, list) else column,
        )
        for name, column in columns.items()
    }
    group = xr.Dataset(
        variables, attrs={"digest": records.digest(columns_text(columns))}
    )
    dataset.to_netcdf(path, engine="h5netcdf")
    group.to_netcdf(path, engine="h5netcdf", group=_GROUP, mode="a")


def columns_text(columns: dict[str, Any]) -> dict[str, Any]:
    """What the digest is taken of: texts as text."""
    return {
        name: np.frombuffer(json.dumps(column).encode(), np.uint8)
        if isinstance(column, list)
        else column
        for name, column in columns.items()
    }


def read(path: Path) -> State:
    """The state in a file.

    Raises:
      InputError: if it holds no sweep, is damaged, was edited, or lost trials.
    """
    try:
        with records.opened(path) as root:
            form = root.attrs.get("format")
        with records.opened(path, _GROUP) as group:
            group.load()
        columns = {
            name: [str(text) for text in group[name].values]
            if name in _TEXTS
            else np.asarray(group[name].values, np.int64)
            for name in _columns(State("", "", {}, {}, {}, ""))
        }
        subject, code, facts, asked, shard = json.loads(columns["rest"][0])
    except Exception as error:
        raise InputError(f"{path} is no sweep, or is damaged: {error!r}") from error
    if form != FORMAT:
        raise InputError(f"{path} is no sweep of this version; name another file")
    if group.attrs.get("digest") != records.digest(columns_text(columns)):
        raise records.edited(path)
    parts = np.split(columns["counts"], np.cumsum(columns["events"])[:-1])
    store: Store = {
        (key, int(first)): Kept(int(last), made_by, counts, form)
        for key, first, last, made_by, counts, form in zip(
            columns["key"], columns["first"], columns["last"], columns["code"], parts,
            columns["form"], strict=bool(columns["key"]),
        )
    }  # fmt: skip
    for (_, start), kept in store.items():
        check_whole(start, kept, str(path))
    return State(subject, code, store, facts, asked, shard)


def is_sweep(path: Path) -> bool:
    """Whether a file says that it holds a sweep, or a shard of one."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return _GROUP in file
    except OSError:
        return False


def no_shard(path: Path) -> InputError:
    """The refusal of a file that holds a whole sweep."""
    return InputError(f"{path} holds a whole sweep, and no shard of one")
