"""The file of a sweep while it runs: gone on from, saved now and then, and at the end."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.sweeps import files
from jaxsel.sweeps.files import State

if TYPE_CHECKING:
    import xarray as xr

_SAVE_SECONDS = 10.0


class Kept(NamedTuple):
    """A sweep on its way.

    Attributes:
      state: what is known; to be added to.
      sometimes: saves the state if that was not done for ten seconds.
      finish: saves the state, and the labelled data set if there is one.
    """

    state: State
    sometimes: Callable[[], None]
    finish: Callable[["xr.Dataset | None"], None]


@contextlib.contextmanager
def keeping(fresh: State, record: str | Path | None) -> Iterator[Kept]:
    """What a record holds already, or nothing; saved when interrupted, too.

    Args:
      fresh: the state of a sweep that knows nothing yet.
      record: its file; None for none.

    Raises:
      InputError: if the file is of another sweep or shard, or cannot be written.
    """
    if record is None:
        yield Kept(fresh, lambda: None, lambda dataset: None)
        return
    import xarray as xr

    path = Path(record)
    with records.exclusive(path) as replace:
        state = _gone_on_from(path, fresh) if path.exists() else fresh
        title = f"jaxsel sweep of {fresh.subject}, unfinished"
        unfinished = xr.Dataset(attrs={"format": files.FORMAT, "title": title})

        def save(dataset: "xr.Dataset | None" = None) -> None:
            shown = unfinished if dataset is None else dataset
            replace(lambda name: files.write(name, shown, state))

        saved = time.monotonic()

        def sometimes() -> None:
            nonlocal saved
            if time.monotonic() - saved > _SAVE_SECONDS:
                save()
                saved = time.monotonic()

        try:
            yield Kept(state, sometimes, save)
        except InputError:
            raise
        except BaseException:
            save()
            raise


def _gone_on_from(path: Path, fresh: State) -> State:
    found = files.read(path)
    if found.subject != fresh.subject:
        raise InputError(
            f"{path} holds a sweep of {found.subject}, not of {fresh.subject}; name "
            "another file"
        )
    if found.shard != fresh.shard:
        owner = f"shard {found.shard}" if found.shard else "a whole sweep"
        raise InputError(f"{path} holds {owner}; name another file")
    # What follows from other code is found again; tallies are refused, they cost more.
    facts = found.facts if found.code == fresh.code else {}
    return fresh._replace(store=found.store, facts=facts)
