"""The folder of a private search: its secrets, for its owner alone, and its best outcome.

Everything is written before it is acted on, so that a search that is killed at any moment goes
on as if it had not been: the same K, the same candidates, one winner.
"""

import contextlib
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxsel.host import records
from jaxsel.host.errors import InputError

_RECORD = "search.nc"


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
            record = self._folder / _RECORD
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
        try:
            content = pickle.dumps(outcome)
        except Exception as error:
            raise InputError(
                f"the outcome of a run, a {type(outcome).__name__}, cannot be pickled ({error}); "
                "tell something that can, such as its parameters"
            ) from error
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

    def drop(self, but: str | None) -> None:
        """Removes the outcomes of all runs but one, those of a killed process included."""
        if self._folder is None:
            self._outcomes = {name: kept for name, kept in self._outcomes.items() if name == but}
            return
        for path in self._folder.glob("*.outcome"):
            if path.stem != but:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Lets other processes have the folder."""
        self._open.close()

    def _file(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.outcome"
