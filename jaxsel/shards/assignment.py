"""Which cells and trials of a run are whose, when many jobs share it.

A run of many trials is
shared by trials, so that every shard has the same of every cell, dear or cheap; one of few
trials as a line of (cell, trial) units cut into equal lengths, so that no block of trials
is mostly idle.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxsel.host.errors import InputError
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


def in_order(named: Sequence[tuple[str, Shard]]) -> list[int]:
    """Where the shards of a run stand among those given, from the first one on.

    Args:
      named: of each, the name of its file and which shard it is, all of one count.

    Raises:
      InputError: if a shard is missing, or there twice; the file is named.
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
    return (shard.index * length // shard.count, (shard.index + 1) * length // shard.count)


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
