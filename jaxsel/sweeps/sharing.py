"""Assigns the trials and facts of a sweep to shards, and joins their results."""

from collections.abc import Iterable, Sequence

from jaxsel.host.errors import InputError
from jaxsel.shards import Shard
from jaxsel.shards.assignment import in_order
from jaxsel.sweeps.files import State
from jaxsel.sweeps.tallying import Item, Store, check_whole


def share_of(items: Sequence[Item], shard: Shard) -> list[Item]:
    """The items, or parts of items, of this shard.

    The sequence of all trials of all items is divided into equal lengths.
    """
    total = sum(item.last - item.first for item in items)
    start = shard.index * total // shard.count
    stop = (shard.index + 1) * total // shard.count
    found, at = [], 0
    for item in items:
        size = item.last - item.first
        first, last = max(start - at, 0), min(stop - at, size)
        if first < last:
            found.append(item._replace(first=item.first + first, last=item.first + last))
        at += size
    return found


def facts_of(keys: Iterable[str], shard: Shard) -> set[str]:
    """The facts that this shard computes: every ``shard.count``-th one."""
    return {key for number, key in enumerate(keys) if number % shard.count == shard.index}


def check_parts(parts: Sequence[State]) -> None:
    """Checks that parts are all shards of one sweep, each once.

    Raises:
      InputError: naming the shard or the file.
    """
    named: list[tuple[str, Shard]] = []
    for part in parts:
        if part.shard is None:
            raise InputError(f"{part.path} holds a whole sweep, and no shard of one")
        named.append((str(part.path), part.shard))
        first = parts[0]
        if part.asked != first.asked or part.shard.count != named[0][1].count:
            raise InputError(
                f"{part.path} is a shard of another sweep than {first.path}; merge the "
                "shards of one"
            )
        if part.code != first.code:
            raise InputError(f"{part.path} was made by other code than {first.path}")
    in_order(named)


def joined(items: Sequence[Item], parts: Sequence[State]) -> Store:
    """Joins the tallies of all shards.

    Raises:
      InputError: for a shard that is not finished, which the message names, or if together
        they do not count each trial once.
    """
    whole: dict[str, list[Item]] = {}
    for item in items:
        whole.setdefault(item.key, []).append(item)
    found: Store = {}
    for part in parts:
        assert part.shard is not None  # ``check_parts`` has checked it
        for own in share_of(items, part.shard):
            kept = part.store.get((own.key, own.first))
            if kept is None or kept.last != own.last:
                raise InputError(
                    f"{part.path}, shard {part.shard}, is not finished; run it again, "
                    "and it goes on"
                )
            (item,) = (i for i in whole[own.key] if i.first <= own.first < i.last)
            before = found.get((item.key, item.first))
            if before is not None and before.code != kept.code:
                raise InputError(f"{part.path} was made by other code than the others")
            counts = kept.counts if before is None else before.counts + kept.counts
            found[item.key, item.first] = kept._replace(last=item.last, counts=counts)
    for (_, first), kept in found.items():
        check_whole(first, kept, "what the shards make up")
    return found
