"""A call of ``simulate_grid`` as a piece of work, and the runner that executes it.

The engine checks and prepares a call once. What remains depends only on the cells and trials, and
so can be done by others. A *runner* is a function that does it: it runs a shard of the work, has
other machines run it, or reads its result from finished files. ``run_by`` sets one for all calls
in a ``with`` block; without one the engine runs the work itself.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.kernel.statistics import Statistic
from jaxsel.kernel.tallies import Tallies, check_totals
from jaxsel.language.base import Mechanism


class Configuration(Mapping[str, Any]):
    """What determines the outcome of each trial, as JSON-ready data.

    The part that names the code is found when it is first asked for: without a record nobody
    asks, and to read the sources may take longer than to run the trials.
    """

    def __init__(self, known: Mapping[str, Any], code: Callable[[], Mapping[str, Any]]) -> None:
        self._known, self._code = known, code

    @functools.cached_property
    def _all(self) -> dict[str, Any]:
        return {**self._known, **self._code()}

    def __getitem__(self, key: str) -> Any:
        return self._known[key] if key in self._known else self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return repr(self._all)

    def __reduce__(self) -> tuple[Any, ...]:  # another process has other code
        return dict, (self._all,)


class Work(NamedTuple):
    """One call of ``simulate_grid``, checked and prepared.

    Attributes:
      mechanism, statistic: what is run, and what is summed over trials.
      prepared: (data, params) of each cell, as arrays.
      numbers: for each cell the number that selects its random stream.
      seed: of the run.
      first, last: the trials [first, last) of each cell.
      labels: the names of the events.
      configuration: what determines the outcome of each trial, as JSON-ready data.
      performance, progress: as in ``simulate_grid``.
    """

    mechanism: Mechanism
    statistic: Statistic
    prepared: Sequence[Any]
    numbers: Sequence[int]
    seed: int
    first: int
    last: int
    labels: tuple[str, ...]
    configuration: Mapping[str, Any]
    performance: Any
    progress: bool | None

    def part(self, cells: slice, first: int, last: int) -> "Work":
        """The part with some cells and trials [first, last); its random streams are unchanged."""
        return self._replace(
            prepared=self.prepared[cells], numbers=self.numbers[cells], first=first, last=last
        )


class Counted(NamedTuple):
    """The progress of a piece of work.

    Attributes:
      done: number of trials of each cell that are counted, from the first one on.
      values: their sums: pytree of np.int64 arrays with a leading axis of cells.
      seconds: wall time spent computing.
    """

    done: int
    values: Any
    seconds: float


Save = Callable[[Counted], None]
# (work, progress to continue from, function that saves progress) -> the finished work.
Count = Callable[[Work, Counted, Save], Counted]
# (work, its record or None) -> tallies.
_Runner = Callable[[Work, str | Path | None], Tallies]

_RUNNER: ContextVar[_Runner | None] = ContextVar("runner", default=None)


@contextlib.contextmanager
def run_by(runner: _Runner) -> Iterator[None]:
    """Has a runner execute every call of ``simulate`` and ``simulate_grid`` inside the block.

    Raises:
      InputError: if another runner is active: they do not nest.
    """
    if _RUNNER.get() is not None:
        raise InputError(
            "runs are already shared out, merged or mapped here; do one of them at a time"
        )
    token = _RUNNER.set(runner)
    try:
        yield
    finally:
        _RUNNER.reset(token)


def check_counted(work: Work, counted: Counted, holder: str) -> None:
    """Checks that the sums count each trial up to ``counted.done`` once.

    Args:
      work, counted: the piece of work, and its progress.
      holder: the file or object with the sums, for the message.

    Raises:
      InputError: if trials are missing, or too many.
    """
    last = work.first + counted.done
    check_totals(work.statistic.totals(counted.values), work.first, last, holder)


def chosen_runner() -> _Runner | None:
    """The active runner; None if this process executes its calls itself."""
    return _RUNNER.get()


def as_tallies(work: Work, counted: Counted) -> Tallies:
    """The tallies of a piece of work.

    Raises:
      InputError: if they do not count each of its trials once.
    """
    check_counted(work, counted, "the run")
    if counted.done != work.last - work.first:
        raise InputError(
            f"{counted.done} of {work.last - work.first} trials of {work.mechanism.name} "
            "are counted; run it again"
        )
    ranges = ((work.first, work.last),)
    return Tallies(counted.values, ranges, work.labels, work.configuration, counted.seconds)
