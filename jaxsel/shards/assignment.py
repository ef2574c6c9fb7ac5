"""Which cells and trials of a run are whose, when many jobs share it.

A run of many trials is
shared by trials, so that every shard has the same of every cell, dear or cheap; one of few
trials as a line of (cell, trial) units cut into equal lengths, so that no block of trials
is mostly idle.
"""

from collections.abc import Iterable
from typing import NamedTuple

from jaxsel.kernel.tallies import Range

# From so many trials a cell and shard on, every shard takes part of every cell.
_TRIALS_OF_ALL = 2**17


class Shard(NamedTuple):
    """One of several jobs that know nothing of each other.

    Attributes:
      index: from 0.
      count: how many there are.
    """

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


class Part(NamedTuple):
    """Trials [first, last) of the cells in ``cells``, by position in the grid."""

    cells: slice
    first: int
    last: int


def share(shard: Shard, cells: int, first: int, last: int) -> tuple[Part, ...]:
    """What of ``cells`` cells with trials [first, last) each is this shard's.

    The parts of all shards are disjoint and make up the whole; at most three each, none
    empty.
    """
    trials = last - first
    if trials >= shard.count * _TRIALS_OF_ALL:
        parts = [Part(slice(0, cells), *_cut(shard, trials))]
    else:
        start, stop = _cut(shard, cells * trials)
        (cell, at), (last_cell, stop_at) = divmod(start, trials), divmod(stop, trials)
        if cell == last_cell:
            parts = [Part(slice(cell, cell + 1), at, stop_at)]
        else:
            whole = cell + (at > 0)
            parts = [
                Part(slice(cell, whole), at, trials),
                Part(slice(whole, last_cell), 0, trials),
                Part(slice(last_cell, last_cell + 1), 0, stop_at),
            ]
    return tuple(
        Part(part.cells, first + part.first, first + part.last)
        for part in parts
        if part.first < part.last and part.cells.start < part.cells.stop
    )


def _cut(shard: Shard, length: int) -> Range:
    return (
        shard.index * length // shard.count,
        (shard.index + 1) * length // shard.count,
    )


def cover(first: int, last: int, ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Trials [first, last) as a chain of those given, where one begins, and of the gaps.

    So a run that was extended, or asked for in other pieces, uses what is there.

    Args:
      first, last: the trials wanted, first < last.
      ranges: ranges that there are, in any order; they may overlap.
    """
    inside = {each for each in ranges if first <= each[0] and each[1] <= last}
    found: list[Range] = []
    at = first
    while at < last:
        # The longest that begins here; else up to the next that is there.
        here = [stop for start, stop in inside if start == at]
        stop = max(here) if here else min([s for s, _ in inside if s > at] + [last])
        found.append((at, stop))
        at = stop
    return tuple(found)
