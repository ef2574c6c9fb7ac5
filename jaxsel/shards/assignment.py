"""Assigns the cells and trials of a run to shards.

A run of many trials is split by trials, so that every shard has an equal share of every
cell, expensive or cheap. A run of few trials is split as a sequence of (cell, trial) units
into equal lengths, so that no block of trials is mostly idle.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.kernel.tallies import Range

# With at least this many trials per cell and shard, every shard gets a part of every cell.
_TRIALS_OF_ALL = 2**17


class Shard(NamedTuple):
    """One of several independent jobs that share a run.

    Attributes:
      index: of this shard, from 0.
      count: the number of shards.
    """

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def in_order(named: Sequence[tuple[str, Shard]]) -> list[int]:
    """The positions of shards 0, 1, ... in a list of shard files.

    Args:
      named: for each file its name and its shard, all of the same count.

    Raises:
      InputError: if a shard is missing or duplicated; the message names the file.
    """
    if not named:
        raise InputError("no file is named; name one of each shard")
    places: dict[int, int] = {}
    for place, (name, shard) in enumerate(named):
        twin = places.setdefault(shard.index, place)
        if twin != place:
            raise InputError(f"{named[twin][0]} and {name} are both shard {shard}")
    count = named[0][1].count
    missing = [str(index) for index in range(count) if index not in places]
    if missing:
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise InputError(f"of {count} shards, these are missing: {', '.join(missing[:8])}{more}")
    return [places[index] for index in range(count)]


class Part(NamedTuple):
    """Trials [first, last) of the cells in ``cells``, by position in the grid."""

    cells: slice
    first: int
    last: int


def share(shard: Shard, cells: int, first: int, last: int) -> tuple[Part, ...]:
    """This shard's parts of a run of ``cells`` cells with trials [first, last) each.

    The parts of all shards are disjoint and cover the run; a shard has at most three, none
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
    return (shard.index * length // shard.count, (shard.index + 1) * length // shard.count)


def cover(first: int, last: int, ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Splits trials [first, last) into ranges that exist already and the gaps between them.

    So a run that is extended, or requested in other pieces, reuses existing tallies.

    Args:
      first, last: the trials wanted, first < last.
      ranges: existing ranges, in any order; they may overlap.
    """
    inside = {each for each in ranges if first <= each[0] and each[1] <= last}
    found: list[Range] = []
    at = first
    while at < last:
        # The longest range that begins here; else the gap up to the next range.
        here = [stop for start, stop in inside if start == at]
        stop = max(here) if here else min([s for s, _ in inside if s > at] + [last])
        found.append((at, stop))
        at = stop
    return tuple(found)
