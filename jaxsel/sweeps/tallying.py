"""Simulates many inputs in few programs and calls, with checkpoints."""

import functools
import hashlib
import json
import math
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsel.host import records, source_digest
from jaxsel.host.errors import InputError
from jaxsel.host.progress import progress_bar
from jaxsel.kernel import engine
from jaxsel.kernel.engine import Performance
from jaxsel.kernel.statistics import Statistic
from jaxsel.kernel.tallies import check_totals
from jaxsel.kernel.work import chosen_runner
from jaxsel.language.base import Mechanism
from jaxsel.sweeps.scheduling import Span, next_call

_CALL_SECONDS, _SHARED_CALL_SECONDS = 2.0, 30.0
_CELLS_PER_CALL = 256
_FIRST_CALL_TRIALS = 1 << 20
# Calls end on whole blocks, so that no block is computed twice.
_WHOLE_BLOCKS = 1 << 20


class Item(NamedTuple):
    """Trials [first, last) of a mechanism on one input.

    Attributes:
      key: identifies the input by settings, seed and role; independent of the grid.
      mechanism, data, params: the mechanism and its input.
      seed: of the sweep's axis or option.
      first, last: the range of trials.
      statistic: what is summed over trials; None to count events.
    """

    key: str
    mechanism: Mechanism
    data: Any
    params: Any
    seed: int
    first: int
    last: int
    statistic: Statistic | None = None

    @property
    def number(self) -> int:
        """The number of its random stream, which is the same in every grid."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:4], "little")


class Kept(NamedTuple):
    """Tallies of trials [first, last) of an item.

    Attributes:
      last: the end of the range.
      code: digest of the code that made them.
      counts: Int64["events"]; or the sums of a statistic, one after the other.
      form: names and shapes of these sums, ``json.dumps([[name, shape], ...])``; "" for
        events.
    """

    last: int
    code: str
    counts: np.ndarray
    form: str = ""

    def sums(self) -> dict[str, np.ndarray]:
        """The sums of a statistic by name."""
        shapes = {name: tuple(shape) for name, shape in json.loads(self.form)}
        ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
        parts = np.split(self.counts, ends[:-1])
        return {
            name: part.reshape(shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }


Store = dict[tuple[str, int], Kept]
"""Tallies by the key and the first trial of their item."""


@functools.lru_cache(maxsize=1024)
def _code(mechanism: Mechanism) -> str:
    made_by = source_digest.digest(mechanism, engine.__name__)
    return f"{made_by} jax {jax.__version__} {jax.default_backend()}"


class _Input(NamedTuple):
    """The prepared input of an item.

    Attributes:
      shapes: items with equal shapes run in one program.
      code: digest of the mechanism's code and of the input, which determine its tallies.
    """

    shapes: Hashable
    code: str


def _input(item: Item) -> _Input:
    prepared = item.mechanism.prepare(item.data, item.params)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(prepared)]
    shapes = (
        str(jax.tree.structure(prepared)),
        tuple((leaf.shape, leaf.dtype.str) for leaf in leaves),
        len(item.mechanism.labels(item.data, item.params)),
    )
    code = f"{_code(item.mechanism)} input {records.digest(leaves)[:16]}"
    if item.statistic is not None:
        code += f" statistic {source_digest.digest(item.statistic)[:16]}"
    return _Input(shapes, code)


def _inputs(items: Sequence[Item], progress: bool | None) -> dict[str, _Input]:
    """The input of each item, by its key."""
    found: dict[str, _Input] = {}
    # The bar is that of the trials; this is seen only where it is long.
    shown = None if progress is None else False
    with jax.enable_x64(True), progress_bar(len(items), 0, shown, unit="inputs") as advance:
        for item in items:
            if item.key not in found:
                found[item.key] = _input(item)
            advance(1)
    return found


def _groups(items: Iterable[Item], inputs: dict[str, _Input], store: Store) -> list[list[Item]]:
    """The unfinished items, in groups that share a program.

    Raises:
      InputError: if cells that could share a program each have their own mechanism.
    """
    found: dict[tuple[Mechanism, Hashable, int, Statistic | None], list[Item]] = {}
    for item in items:
        if _done_until(item, store) < item.last:
            shapes = inputs[item.key].shapes
            group = (item.mechanism, shapes, item.seed, item.statistic)
            found.setdefault(group, []).append(item)
    _check_shared([(mechanism, shapes) for mechanism, shapes, *_ in found])
    return list(found.values())


def _check_shared(programs: Iterable[tuple[Mechanism, Hashable]]) -> None:
    """Refuses functions that make a new mechanism in each cell."""
    made: dict[Hashable, Mechanism] = {}
    for mechanism, shapes in programs:
        code = getattr(mechanism.sample, "__code__", None)
        first = made.setdefault((mechanism.name, code, shapes), mechanism)
        if first != mechanism:
            raise InputError(
                f"two cells make the mechanism {mechanism.name} anew, so that each cell "
                "would compile a program of its own; make it once, outside of the "
                "function, and hand it the cell's numbers as params"
            )


def check_kept(items: Iterable[Item], inputs: dict[str, _Input], store: Store) -> None:
    """Refuses tallies from other code, and tallies of more trials than requested.

    Raises:
      InputError: if there are such tallies.
    """
    for item in items:
        kept = store.get((item.key, item.first))
        if kept is None:
            continue
        if kept.code != inputs[item.key].code:
            raise InputError(
                "the record was made by other code than this, which may give other "
                "numbers; name another file or remove it"
            )
        if kept.last > item.last:
            raise InputError(
                f"the record already holds {kept.last - item.first} trials of a cell; "
                "ask for at least as many, or name another file"
            )


def drop_stale(items: Iterable[Item], inputs: dict[str, _Input], store: Store) -> None:
    """Removes tallies that do not belong to these items, their code and their trials."""
    wanted = {(item.key, item.first): item for item in items}
    for place, kept in list(store.items()):
        item = wanted.get(place)
        if item is None or kept.last > item.last or kept.code != inputs[item.key].code:
            del store[place]


def tally(
    items: Sequence[Item],
    store: Store,
    keep: Callable[[], None],
    *,
    again: bool = False,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> None:
    """Simulates the items that are missing from the store, and adds their tallies.

    The tallies of an item do not depend on the other items, their order, or interruptions.

    Args:
      items: the items, with different keys or ranges.
      store: existing tallies; updated in place.
      keep: called after every few seconds of work, to save.
      again: whether to simulate again what other code has tallied, instead of refusing it.
      progress: as for ``engine.simulate_grid``.
      performance: likewise.
    """
    inputs = _inputs(items, progress)
    if again:
        drop_stale(items, inputs, store)
    check_kept(items, inputs, store)
    wanted = sum(item.last - item.first for item in items)
    groups = _groups(items, inputs, store)
    missing = sum(item.last - _done_until(item, store) for group in groups for item in group)
    with progress_bar(wanted, wanted - missing, progress) as advance:
        rate = None  # trials a second, after the first call of a program

        def done(trials: int) -> None:
            advance(trials)
            keep()

        for group in groups:
            rate = _tally_group(group, inputs, store, rate, performance, done)


def _done_until(item: Item, store: Store) -> int:
    """The first trial of an item that is not done."""
    kept = store.get((item.key, item.first))
    return item.first if kept is None else kept.last


def _tally_group(
    group: list[Item],
    inputs: dict[str, _Input],
    store: Store,
    rate: float | None,
    performance: Performance,
    done: Callable[[int], None],
) -> float | None:
    """Tallies a group in calls of about two seconds each; returns the observed rate."""
    todo, compiled = group, False
    # The store alone determines where each item resumes.
    while todo := [item for item in todo if _done_until(item, store) < item.last]:
        # Larger calls, so that every worker of an executor gets a share.
        seconds = _CALL_SECONDS if chosen_runner() is None else _SHARED_CALL_SECONDS
        budget = _FIRST_CALL_TRIALS if rate is None else int(rate * seconds)
        call = next_call(
            [Span(item.number, _done_until(item, store), item.last) for item in todo],
            budget,
            _CELLS_PER_CALL,
            _WHOLE_BLOCKS,
        )
        batch = [todo[position] for position in call.positions]
        trials = call.last - call.first
        started = time.monotonic()
        found = engine.simulate_grid(
            batch[0].mechanism,
            [(item.data, item.params) for item in batch],
            trials=trials,
            first_trial=call.first,
            seed=batch[0].seed,
            cell_numbers=[item.number for item in batch],
            statistic=batch[0].statistic,
            progress=False,
            performance=performance,
        )
        seconds = max(time.monotonic() - started, 1e-6)
        for place, item in enumerate(batch):
            made_by = inputs[item.key].code
            counts, form = _flat(item, found.values, place)
            _keep(store, item, call.first, Kept(call.last, made_by, counts, form))
        done(len(batch) * trials)
        if compiled:  # otherwise the time includes compilation
            rate = len(batch) * trials / seconds
        compiled = True
    return rate


def _flat(item: Item, values: Any, place: int) -> tuple[np.ndarray, str]:
    """The sums of one cell as one row of numbers, and their names and shapes."""
    if item.statistic is None:
        return values[place], ""
    leaves = [
        ("_".join(str(getattr(key, "key", getattr(key, "idx", ""))) for key in path), leaf)
        for path, leaf in jax.tree.leaves_with_path(values)
    ]
    form = [[name or "tally", leaf.shape[1:]] for name, leaf in leaves]
    return np.concatenate([leaf[place].ravel() for _, leaf in leaves]), json.dumps(form)


def _keep(store: Store, item: Item, first: int, more: Kept) -> None:
    """Adds the tallies of trials [first, more.last) of an item to the store."""
    reached = _done_until(item, store)
    if first != reached:
        raise InputError(
            f"trials [{first}, {more.last}) of a cell do not go on from trial {reached}, "
            "up to which it is kept; report this, it is a fault of jaxsel"
        )
    before = store.get((item.key, item.first))
    counts = more.counts if before is None else before.counts + more.counts
    kept = more._replace(counts=counts)
    check_whole(item.first, kept, "the sweep")
    store[item.key, item.first] = kept


def check_whole(first: int, kept: Kept, holder: str) -> None:
    """Checks that tallies of trials [first, kept.last) count each of them once.

    Args:
      first, kept: the tallies.
      holder: the file or object with the tallies, for the message.

    Raises:
      InputError: if trials are missing, or too many.
    """
    if kept.form:
        return  # sums of a statistic, checked by the engine
    check_totals([kept.counts.sum()], first, kept.last, holder)
    if np.any(kept.counts < 0):
        raise InputError(f"{holder} holds counts below zero; run it anew")


def kept_of(item: Item, store: Store) -> Kept:
    """All tallies of an item, which must be finished.

    Raises:
      InputError: if trials are missing, or too many.
    """
    reached = _done_until(item, store)
    if reached != item.last:
        raise InputError(
            f"the sweep holds trials [{item.first}, {reached}) of a cell, and not "
            f"[{item.first}, {item.last}); run it again"
        )
    kept = store[item.key, item.first]
    check_whole(item.first, kept, "the sweep")
    return kept
