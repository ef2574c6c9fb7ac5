"""Tallies of many inputs: as few programs and calls as possible, none lost by a kill."""

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
# Calls end on whole blocks, which are not computed twice then.
_WHOLE_BLOCKS = 1 << 20


class Item(NamedTuple):
    """Trials [first, last) of a mechanism on one input.

    Attributes:
      key: what it is, in words that do not change: settings, seed, which input.
      mechanism, data, params: what runs.
      seed: of the sweep's axis or option.
      first, last: the range of trials.
      own_number: the number that addresses its randomness, where the key does not.
      statistic: what is kept of a trial; None: its event.
    """

    key: str
    mechanism: Mechanism
    data: Any
    params: Any
    seed: int
    first: int
    last: int
    own_number: int | None = None
    statistic: Statistic | None = None

    @property
    def number(self) -> int:
        """The number that addresses its randomness: its own in every grid."""
        if self.own_number is not None:
            return self.own_number
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:4], "little")


class Kept(NamedTuple):
    """Tallies of trials [first, last) of an item.

    Attributes:
      last: the end of the range.
      code: digest of the code that made them.
      counts: Int64["events"]; or the sums of a statistic, one after the other.
      form: of these sums, as ``json.dumps([[name, shape], ...])``; "" for events.
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
    """What the prepared input of an item is.

    Attributes:
      shapes: items with equal shapes run in one program.
      code: of what makes its tallies: the mechanism's code, and a digest of the input.
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


def _inputs(items: Iterable[Item]) -> dict[str, _Input]:
    """The input of each item, by its key."""
    found: dict[str, _Input] = {}
    with jax.enable_x64(True):
        for item in items:
            if item.key not in found:
                found[item.key] = _input(item)
    return found


def _groups(items: Iterable[Item], inputs: dict[str, _Input], store: Store) -> list[list[Item]]:
    """What is still to be done, in groups of one program.

    Raises:
      InputError: where cells that could share a program bring a mechanism each.
    """
    found: dict[tuple[Mechanism, Hashable, int, Statistic | None], list[Item]] = {}
    for item in items:
        if _reached(item, store) < item.last:
            shapes = inputs[item.key].shapes
            group = (item.mechanism, shapes, item.seed, item.statistic)
            found.setdefault(group, []).append(item)
    _check_shared([(mechanism, shapes) for mechanism, shapes, *_ in found])
    return list(found.values())


def _check_shared(programs: Iterable[tuple[Mechanism, Hashable]]) -> None:
    """Refuses mechanisms that a function makes anew in each cell."""
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
    """Refuses tallies by other code, and those of more trials than are asked for.

    Raises:
      InputError: in one sentence.
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
    """Takes out what is not of these items, or not of their code and trials."""
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
    """Simulates what the store does not hold yet, and puts it there.

    The tallies of an item do not depend on the others, nor on the order or on kills.

    Args:
      items: what is wanted; keys and ranges differ.
      store: what is there; gets the rest.
      keep: called after every few seconds of work.
      again: count again what is there by other code, in the place of refusing it.
      progress: as for ``engine.simulate_grid``.
      performance: likewise.
    """
    inputs = _inputs(items)
    if again:
        drop_stale(items, inputs, store)
    check_kept(items, inputs, store)
    wanted = sum(item.last - item.first for item in items)
    groups = _groups(items, inputs, store)
    missing = sum(item.last - _reached(item, store) for group in groups for item in group)
    with progress_bar(wanted, wanted - missing, progress) as advance:
        rate = None  # trials a second, after the first call of a program

        def done(trials: int) -> None:
            advance(trials)
            keep()

        for group in groups:
            rate = _tally_group(group, inputs, store, rate, performance, done)


def _reached(item: Item, store: Store) -> int:
    """Up to which trial an item is done."""
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
    """Calls of about two seconds each; returns the rate seen."""
    todo, compiled = group, False
    # What is kept says where each item goes on, and nothing else does.
    while todo := [item for item in todo if _reached(item, store) < item.last]:
        # Many workers want much to share out.
        seconds = _CALL_SECONDS if chosen_runner() is None else _SHARED_CALL_SECONDS
        budget = _FIRST_CALL_TRIALS if rate is None else int(rate * seconds)
        call = next_call(
            [Span(item.number, _reached(item, store), item.last) for item in todo],
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
        if compiled:  # or it says nothing of the rate
            rate = len(batch) * trials / seconds
        compiled = True
    return rate


def _flat(item: Item, values: Any, place: int) -> tuple[np.ndarray, str]:
    """What was counted of one cell as one row of numbers, and what they are."""
    if item.statistic is None:
        return values[place], ""
    leaves = [
        ("_".join(str(getattr(key, "key", getattr(key, "idx", ""))) for key in path), leaf)
        for path, leaf in jax.tree.leaves_with_path(values)
    ]
    form = [[name or "tally", leaf.shape[1:]] for name, leaf in leaves]
    return np.concatenate([leaf[place].ravel() for _, leaf in leaves]), json.dumps(form)


def _keep(store: Store, item: Item, first: int, more: Kept) -> None:
    """Adds the tallies of trials [first, more.last) of an item to what is kept of it."""
    reached = _reached(item, store)
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
    """Refuses tallies of trials [first, kept.last) that do not count each of them once.

    Args:
      first, kept: the tallies.
      holder: what holds them, for the message.

    Raises:
      InputError: if trials are missing, or too many.
    """
    if kept.form:
        return  # sums of a statistic, which the engine has checked
    check_totals([kept.counts.sum()], first, kept.last, holder)
    if np.any(kept.counts < 0):
        raise InputError(f"{holder} holds counts below zero; run it anew")


def kept_of(item: Item, store: Store) -> Kept:
    """All tallies of an item, which must be done.

    Raises:
      InputError: if trials are missing, or too many.
    """
    reached = _reached(item, store)
    if reached != item.last:
        raise InputError(
            f"the sweep holds trials [{item.first}, {reached}) of a cell, and not "
            f"[{item.first}, {item.last}); run it again"
        )
    kept = store[item.key, item.first]
    check_whole(item.first, kept, "the sweep")
    return kept
