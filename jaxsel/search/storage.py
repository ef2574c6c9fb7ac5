"""The folder of a private search: its secrets, for its owner alone, and its best outcome.

Everything is written before it is acted on, so that a search that is killed at any moment goes
on as if it had not been: the same K, the same candidates, one winner.
"""

import contextlib
import itertools
import os
import pickle
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.host import records
from jaxsel.host.errors import InputError

RECORD = "search.nc"
"""File name of the record from which a search goes on."""


class Progress(NamedTuple):
    """How far a run had come when it was saved.

    Attributes:
      step: how many steps it had made; None if nobody says.
      looked: how often a rule had seen its noisy score.
      content: what was saved, pickled.
    """

    step: int | None
    looked: int
    content: bytes

    def is_ahead_of(self, before: "Progress | None") -> bool:
        """Whether the run has made a step since ``before`` was saved, or, if that is None, any."""
        if self.step is not None:
            return self.step > (0 if before is None or before.step is None else before.step)
        return before is None or self.content != before.content


class Storage:
    """A locked folder, or nothing but memory.

    Args:
      folder: created if necessary; None keeps all in memory, and a kill ends the search.
      configuration: identifies the search, as JSON; the folder of another is refused.
      earlier: what jaxsel 0.2.0 would have written in its place.

    Attributes:
      state: what was saved last, as JSON; None in a new search.
      is_earlier: whether jaxsel 0.2.0 saved it.

    Raises:
      InputError: if another process works on the folder, it holds another search, or others
        can read it.
    """

    def __init__(
        self,
        folder: str | Path | None,
        configuration: Mapping[str, Any],
        earlier: Mapping[str, Any],
    ) -> None:
        self._folder = None if folder is None else Path(folder).expanduser().absolute()
        self._configuration = dict(configuration)
        self._outcomes: dict[str, bytes] = {}
        self._open = contextlib.ExitStack()
        self.state: dict[str, Any] | None = None
        self.is_earlier = False
        self._made: list[Path] = []  # folders, the innermost first
        if self._folder is not None:
            above = itertools.takewhile(_is_missing, (self._folder, *self._folder.parents))
            self._made = list(above)
        if self._folder is not None:
            record = self._folder / RECORD
            self._write = self._open.enter_context(records.writer(record, private=True))
            try:
                if record.exists():
                    stored = records.read(record, private=True)
                    self.is_earlier = "randomness" not in stored.configuration
                    _check(stored, dict(earlier) if self.is_earlier else self._configuration)
                    self.state = stored.attribute("search", dict)
            except BaseException:
                self.close()
                raise

    def save(self, state: dict[str, Any]) -> None:
        """Saves the state of the search; it is on the disk when this returns."""
        self.state = state
        if self._folder is not None:
            self._write(arrays={}, configuration=self._configuration, attributes={"search": state})

    def keep(self, name: str, content: bytes) -> None:
        """Saves the outcome of the run of that name, given as a pickle."""
        if self._folder is None:
            self._outcomes[name] = content
            return
        with records.exclusive(self._file(name), private=True) as replace:
            replace(content)

    def kept(self, name: str) -> Any:
        """The outcome that ``keep`` saved for the run of that name."""
        if self._folder is None:
            return pickle.loads(self._outcomes[name])
        return pickle.loads(self._file(name).read_bytes())

    def keep_progress(self, name: str, progress: Progress) -> None:
        """Saves the progress of the run of that name.

        Without a folder it does nothing: a search that is killed cannot resume from memory.
        """
        if self._folder is not None:
            with records.exclusive(self._file(name, "progress"), private=True) as replace:
                replace(pickle.dumps(progress))

    def progress(self, name: str) -> Progress | None:
        """The progress that was last saved of the run of that name; None if there is none."""
        if self._folder is None or not self._file(name, "progress").exists():
            return None
        content = self._file(name, "progress").read_bytes()
        found = pickle.loads(content)
        # jaxsel 0.2.0 kept what was saved as it was.
        return found if isinstance(found, Progress) else Progress(None, 0, content)

    def drop(self, but: str | None, under_way: Collection[str]) -> None:
        """Deletes outcomes and progress that are not needed, and files that were half written.

        Args:
          but: name of the best run, whose outcome stays.
          under_way: names of the runs whose progress stays.
        """
        if self._folder is None:
            self._outcomes = {name: kept for name, kept in self._outcomes.items() if name == but}
            return
        for path in self._folder.iterdir():
            stays = {".outcome": path.stem == but, ".progress": path.stem in under_way}
            # Of files that a killed process was writing: this one holds the folder.
            half = path.name.startswith(".") and Path(path.stem).suffix in stays
            if half or not stays.get(path.suffix, True):
                path.unlink(missing_ok=True)

    def close(self, forget: bool = False) -> None:
        """Releases the lock on the folder.

        Args:
          forget: whether to delete the record, and the folders that this object made if they are
            empty; for a search that was not begun.
        """
        if forget and self._folder is not None:
            (self._folder / RECORD).unlink(missing_ok=True)
        self._open.close()
        for folder in self._made if forget else ():
            with contextlib.suppress(OSError):  # others may have put something there
                os.rmdir(folder)

    def _file(self, name: str, kind: str = "outcome") -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.{kind}"


def _is_missing(folder: Path) -> bool:
    return not folder.exists()


def _check(stored: records.Record, configuration: Mapping[str, Any]) -> None:
    """Refuses the folder of another search; of one in a ledger, which to name."""
    found = stored.configuration
    if found.get("ledger") != configuration.get("ledger"):
        where = found.get("ledger")
        raise InputError(
            f"{stored.path} is a search "
            + ("without a ledger" if where is None else f"in the ledger of {where}")
            + ", and goes on so; give the same data and ledger, or name another folder"
        )
    if "randomness" not in found and found.get("score") != configuration.get("score"):
        raise InputError(
            f"{stored.path} is of another score, or of jaxsel 0.2.0, which did not keep every "
            "number of its score, such as the size of a clipped mean; name another folder"
        )
    stored.check(configuration)
