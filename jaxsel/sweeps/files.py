"""The file of a sweep: a labelled data set that plain xarray reads, and a record.

The record holds all tallies and facts so far; a sweep resumes from it.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.shards import Shard, read_shard
from jaxsel.sweeps.facts import Facts
from jaxsel.sweeps.tallying import Kept, Store, check_whole

if TYPE_CHECKING:
    import xarray as xr

_SAVE_SECONDS = 10.0


class State(NamedTuple):
    """The progress of a sweep.

    Attributes:
      subject: its name.
      code: digest of the code that computes the facts.
      store: the tallies, each with the digest of its own code.
      facts: the facts that need no trials.
      asked: the request, JSON-serialisable.
      shard: the shard; None for a whole sweep.
      path: the file that it was read from.
    """

    subject: str
    code: str
    store: Store
    facts: Facts
    asked: Mapping[str, Any]
    shard: Shard | None
    path: Path | None = None

    @property
    def identity(self) -> dict[str, str]:
        """The configuration of the record, which must be equal to resume from it."""
        return {"sweep": self.subject, "shard": str(self.shard or "")}


def write(save: records.Save, state: State, shown: "xr.Dataset | None" = None) -> None:
    """Writes a sweep's file; ``save`` is what ``records.writer`` yields."""
    import xarray as xr

    title = f"jaxsel sweep of {state.subject}, unfinished"
    kept = list(state.store.values())
    counts = [np.asarray(each.counts, np.int64) for each in kept]
    items = [[key, each.code, each.form] for (key, _), each in zip(state.store, kept, strict=True)]
    save(
        arrays={
            "first": np.array([first for _, first in state.store], np.int64),
            "last": np.array([each.last for each in kept], np.int64),
            "events": np.array([each.size for each in counts], np.int64),
            "counts": np.concatenate([np.zeros(0, np.int64), *counts]),
        },
        configuration=state.identity,
        # As text, to preserve the order of axes and theorems.
        attributes={
            "found": json.dumps([items, state.code, state.facts, state.asked]),
            "shown": "" if shown is None else _seal(shown),
        },
        shown=xr.Dataset(attrs={"title": title}) if shown is None else shown,
    )


def read(path: Path, identity: Mapping[str, Any] | None = None) -> State:
    """Reads the state in a file.

    Raises:
      InputError: if the file has no sweep, is damaged, was edited, lacks trials, or has
        another identity.
    """
    stored = records.read(path)
    if set(stored.configuration) != {"sweep", "shard"}:
        raise InputError(f"{path} is no record of a sweep; name another file")
    if identity is not None:
        stored.check(identity)
    with stored.parsing("record of a sweep"):
        subject, text = (stored.configuration[name] for name in ("sweep", "shard"))
        shard = read_shard(text) if text else None
        items, code, facts, asked = json.loads(stored.attribute("found", str))
        first, last, events, counts = (
            stored.arrays[name].astype(np.int64, casting="equiv")
            for name in ("first", "last", "events", "counts")
        )
        if any(array.ndim != 1 for array in (first, last, events, counts)):
            raise TypeError("the axes of what was counted")
        *parts, rest = np.split(counts, np.cumsum(events))
        if rest.size:
            raise ValueError("counts of no cell")
        store: Store = {
            (key, int(begin)): Kept(int(end), made_by, part, form)
            for (key, made_by, form), begin, end, part in zip(
                items, first, last, parts, strict=True
            )
        }
    for (_, start), kept in store.items():
        check_whole(start, kept, str(path))
    return State(subject, code, store, facts, asked, shard, path)


def _seal(dataset: "xr.Dataset") -> str:
    """A digest of the coordinates and variables of a data set."""
    values = {str(name): found.values for name, found in dataset.variables.items()}
    return records.digest(
        {name: array for name, array in values.items() if array.dtype.kind in "iuf"}
    )


def dataset_of(path: Path) -> "xr.Dataset":
    """Reads the labelled data set in a finished file, as plain xarray does.

    Raises:
      InputError: if the file has no sweep, is damaged or unfinished, or was edited.
    """
    import xarray as xr

    seal = records.read(path).attribute("shown", str)
    if not seal:
        raise InputError(f"{path} is unfinished; run the same again, and it goes on")
    with xr.open_dataset(path, engine="h5netcdf") as found:
        found.load()
    if _seal(found) != seal:
        raise InputError(
            f"{path} was changed after it was written (its digest differs); name another "
            "file or remove this one"
        )
    return found


def is_sweep(path: Path) -> bool:
    """Whether a file is the record of a sweep, or of a shard of one."""
    try:
        return "sweep" in records.read(path).configuration
    except InputError:
        return False


class RunningSweep(NamedTuple):
    """A running sweep, and how to save it.

    Attributes:
      state: its progress, which is updated in place.
      checkpoint: saves the state if the last save is more than ten seconds ago.
      finish: saves the state, and the labelled data set if there is one.
    """

    state: State
    checkpoint: Callable[[], None]
    finish: Callable[["xr.Dataset | None"], None]


@contextlib.contextmanager
def opened(fresh: State, record: str | Path | None) -> Iterator[RunningSweep]:
    """Loads, checkpoints and finishes the file of a running sweep.

    It is saved every ten seconds, on interruption and at the end, so that a killed sweep
    can resume.

    Args:
      fresh: the state of a sweep that has not begun.
      record: its file; None for none.

    Raises:
      InputError: if the file is of another sweep or shard, or cannot be written.
    """
    if record is None:
        yield RunningSweep(fresh, lambda: None, lambda dataset: None)
        return
    path, state = Path(record), fresh
    with records.writer(path) as save:
        if path.exists():
            found = read(path, fresh.identity)
            # Facts from other code are computed again. Tallies from other code are refused
            # later, since they are expensive.
            facts = found.facts if found.code == fresh.code else {}
            state = fresh._replace(store=found.store, facts=facts)
        saved = time.monotonic()

        def checkpoint() -> None:
            nonlocal saved
            if time.monotonic() - saved > _SAVE_SECONDS:
                write(save, state)
                saved = time.monotonic()

        try:
            yield RunningSweep(state, checkpoint, lambda shown: write(save, state, shown))
        except InputError:
            raise
        except BaseException:
            write(save, state)
            raise
