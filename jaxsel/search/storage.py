"""The folder of a private search: its secrets, for its owner alone, and its best outcome.

Everything is written before it is acted on, so that a search that is killed at any moment goes
on as if it had not been: the same K, the same candidates, one winner.
"""

import contextlib
import pickle
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from jaxsel.host import records
from jaxsel.host.errors import InputError

RECORD = "search.nc"
"""File name of the record from which a search goes on."""


class Storage:
    """A locked folder, or nothing but memory.

    Args:
      folder: created if necessary; None keeps all in memory, and a kill ends the search.
      configuration: identifies the search, as JSON; the folder of another is refused.

    Attributes:
      state: what was saved last, as JSON; None in a new search.

    Raises:
      InputError: if another process works on the folder, it holds another search, or others
        can read it.
    """

    def __init__(self, folder: str | Path | None, configuration: Mapping[str, Any]) -> None:
        self._folder = None if folder is None else Path(folder).expanduser().absolute()
        self._configuration = dict(configuration)
        self._outcomes: dict[str, bytes] = {}
        self._open = contextlib.ExitStack()
        self.state: dict[str, Any] | None = None
        if self._folder is not None:
            record = self._folder / RECORD
            self._write = self._open.enter_context(records.writer(record, private=True))
            try:
                if record.exists():
                    stored = records.read(record, self._configuration, private=True)
                    self.state = stored.attribute("search", dict)
            except BaseException:
                self.close()
                raise

    def save(self, state: dict[str, Any]) -> None:
        """Keeps a state; it is on the disk when this returns."""
        self.state = state
        if self._folder is not None:
            self._write(arrays={}, configuration=self._configuration, attributes={"search": state})

    def keep(self, name: str, outcome: Any) -> None:
        """Keeps the outcome of a run.

        Raises:
          InputError: if it cannot be pickled.
        """
        content = _pickled(outcome, "outcome")
        if self._folder is None:
            self._outcomes[name] = content
            return
        with records.exclusive(self._file(name), private=True) as replace:
            replace(content)

    def kept(self, name: str) -> Any:
        """The outcome that was kept under a name."""
        if self._folder is None:
            return pickle.loads(self._outcomes[name])
        return pickle.loads(self._file(name).read_bytes())

    def keep_progress(self, name: str, progress: Any) -> None:
        """Keeps how far a run has come; in memory nothing is kept, for a kill ends the search.

        Raises:
          InputError: if it cannot be pickled.
        """
        content = _pickled(progress, "progress")
        if self._folder is not None:
            with records.exclusive(self._file(name, "progress"), private=True) as replace:
                replace(content)

    def progress(self, name: str) -> Any:
        """How far a run had come, or None."""
        if self._folder is None or not self._file(name, "progress").exists():
            return None
        return pickle.loads(self._file(name, "progress").read_bytes())

    def drop(self, but: str | None, under_way: Collection[str]) -> None:
        """Removes what is not needed any more, what a killed process left included.

        Args:
          but: name of the best run, whose outcome stays.
          under_way: names of the runs whose progress stays.
        """
        if self._folder is None:
            self._outcomes = {name: kept for name, kept in self._outcomes.items() if name == but}
            return
        for path in self._folder.iterdir():
            stays = {".outcome": path.stem == but, ".progress": path.stem in under_way}
            if not stays.get(path.suffix, True):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Lets other processes have the folder."""
        self._open.close()

    def _file(self, name: str, kind: str = "outcome") -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.{kind}"


def _pickled(value: Any, what: str) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise InputError(
            f"the {what} of a run, a {type(value).__name__}, cannot be pickled ({error}); give "
            "something that can, such as its parameters"
        ) from error
