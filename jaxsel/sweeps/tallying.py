"""Tallies of many inputs: as few programs and calls as possible, none lost by a kill."""

import functools
import hashlib
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsel import engine, source_digest
from jaxsel.base import Mechanism
from jaxsel.engine import Performance
from jaxsel.errors import InputError
from jaxsel.progress import progress_bar
from jaxsel.work import chosen_runner

_CALL_SECONDS, _SHARED_CALL_SECONDS = 2.0, 30.0
_CELLS_PER_CALL = 256
_FIRST_CALL_TRIALS = 1 << 20
# Calls end on whole blocks, which are not computed twice then.
_WHOLE_BLOCKS = 1 << 20


class Item(NamedTuple):
    """Trials [first, last) of a mechanism on one input.

    Attributes:
      key: what it is, in words that do not change: settings, seed, which input.
      mechanism, data, params: what runs.
      seed: of the sweep's axis or option.
      first, last: the range of trials.
    """

    key: str
    mechanism: Mechanism
    data: Any
    params: Any
    seed: int
    first: int
    last: int

    @property
    def number(self) -> int:
        """The number that addresses its randomness: its own in every grid."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:4], "little")


class Kept(NamedTuple):
    """Tallies of trials [first, last) of an item.

    Attributes:
      last: the end of the range.
      code: digest of the code that made them.
      counts: Int64["events"].
    """

    last: int
    code: str
    counts: np.ndarray


Store = dict[tuple[str, int], Kept]
"""Tallies by the key and the first trial of their item."""


@functools.lru_cache(maxsize=1024)
def _code(mechanism: Mechanism) -> str:
    made_by = source_digest.digest(mechanism, engine.__name__)
    return f"{made_by} jax {jax.__version__} {jax.default_backend()}"


def _shapes(item: Item) -> Hashable:
    """Items with equal shapes run in one program."""
    prepared = item.mechanism.prepare(item.data, item.params)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(prepared)]
    return (
        str(jax.tree.structure(prepared)),
        tuple((leaf.shape, leaf.dtype.str) for leaf in leaves),
        len(item.mechanism.labels(item.data, item.params)),
    )


def _groups(items: Iterable[Item], store: Store) -> list[list[Item]]:
    """What is still to be done, in groups of one program and one range of trials."""
    found: dict[Hashable, list[Item]] = {}
    with jax.enable_x64(True):
        for item in items:
            missing = _missing(item, store)
            if missing <= 0:
                continue
            group = (
                item.mechanism,
                _shapes(item),
                item.seed,
                item.first,
                item.last - missing,
                item.last,
            )
            found.setdefault(group, []).append(item)
    return list(found.values())


def check_kept(items: Iterable[Item], store: Store) -> None:
    """Refuses tallies by other code, and those of more trials than are asked for.

    Raises:
      InputError: in one sentence.
    """
    for item in items:
        kept = store.get((item.key, item.first))
        if kept is None:
            continue
        if kept.code != _code(item.mechanism):
            raise InputError(
                "the record was made by other code than this, which may give other "
                "numbers; name another file or remove it"
            )
        if kept.last > item.last and item.first == 0:
            raise InputError(
                f"the record already holds {kept.last - item.first} trials of a cell; "
                "ask for at least as many, or name another file"
            )


def _batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """At most ``size`` items each, no two with one number."""
    batch: dict[int, Item] = {}
    for item in items:
        if len(batch) == size or item.number in batch:
            yield list(batch.values())
            batch = {}
        batch[item.number] = item
    if batch:
        yield list(batch.values())


def tally(
    items: Sequence[Item],
    store: Store,
    keep: Callable[[], None],
    *,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> None:
    """Simulates what the store does not hold yet, and puts it there.

    The tallies of an item do not depend on the others, nor on the order or on kills.

    Args:
      items: what is wanted; keys and ranges differ.
      store: what is there; gets the rest.
      keep: called after every few seconds of work.
      progress: as for ``engine.simulate_grid``.
      performance: likewise.
    """
    check_kept(items, store)
    wanted = sum(item.last - item.first for item in items)
    groups = _groups(items, store)
    missing = sum(_missing(item, store) for group in groups for item in group)
    with progress_bar(wanted, wanted - missing, progress) as advance:
        rate = None  # trials a second, after the first call of a program

        def done(trials: int) -> None:
            advance(trials)
            keep()

        for group in groups:
            rate = _tally_group(group, store, rate, performance, done)


def _missing(item: Item, store: Store) -> int:
    kept = store.get((item.key, item.first))
    return item.last - (item.first if kept is None else kept.last)


def _tally_group(
    group: list[Item],
    store: Store,
    rate: float | None,
    performance: Performance,
    done: Callable[[int], None],
) -> float | None:
    """Calls of about two seconds each; returns the rate seen."""
    todo, compiled = list(group), False
    while todo:
        each = _missing(todo[0], store)
        # Many workers want much to share out.
        seconds = _CALL_SECONDS if chosen_runner() is None else _SHARED_CALL_SECONDS
        budget = _FIRST_CALL_TRIALS if rate is None else int(rate * seconds)
        size = min(max(1, budget // each), _CELLS_PER_CALL)
        batch = next(_batches(todo, size))
        start = todo[0].last - each
        stop = todo[0].last
        if len(batch) == 1 and each > 2 * max(budget, _WHOLE_BLOCKS):
            stop = (start + max(budget, _WHOLE_BLOCKS)) // _WHOLE_BLOCKS * _WHOLE_BLOCKS
        started = time.monotonic()
        found = engine.simulate_grid(
            batch[0].mechanism,
            [(item.data, item.params) for item in batch],
            trials=stop - start, first_trial=start, seed=batch[0].seed,
            cell_numbers=[item.number for item in batch],
            progress=False, performance=performance,
        )  # fmt: skip
        seconds = max(time.monotonic() - started, 1e-6)
        for item, counts in zip(batch, found.values, strict=True):
            _keep(store, item, stop, counts)
        if stop == todo[0].last:
            todo = todo[len(batch) :]
        done(len(batch) * (stop - start))
        if compiled:  # or it says nothing of the rate
            rate = len(batch) * (stop - start) / seconds
        compiled = True
    return rate


def _keep(store: Store, item: Item, stop: int, counts: np.ndarray) -> None:
    place = (item.key, item.first)
    if place in store:
        counts = counts + store[place].counts
    store[place] = Kept(stop, _code(item.mechanism), counts)
