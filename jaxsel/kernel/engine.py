"""simulate: seeded trials of a mechanism, reduced on the device to exact integer sums.

This is the only module that compiles a whole run, loops over blocks of trials and knows of devices.
A block is the trials that a device runs at once. Trials are numbered (the low 32 bits of the
number are the lane): trial t of grid cell c takes its random numbers from an address made of
(seed, c, t) alone, so tallies are identical for any block size, number of blocks per call and
number of devices, and after any kill and resume (on the same backend and JAX version: logarithms
may differ in the last place between backends). Memory is that of one block of trials, whatever
their number.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxsel.host import records, source_digest
from jaxsel.host.errors import InputError, check_integer, on_one_line
from jaxsel.host.progress import progress_bar
from jaxsel.kernel import hosts, stream, tallies
from jaxsel.kernel.statistics import Statistic, counts
from jaxsel.kernel.tallies import Tallies, check_totals
from jaxsel.kernel.work import (
    Configuration,
    Count,
    Counted,
    Save,
    Work,
    as_tallies,
    check_counted,
    chosen_runner,
)
from jaxsel.language.base import Mechanism
from jaxsel.language.subject import Subject, with_input
from jaxsel.language.trial import Trial

# Sums and numbers of trials are int64, and the last block reaches beyond the last trial.
_MAX_TRIALS = 2**62
_CALL_SECONDS = 0.5
_SAVE_SECONDS = 10.0


class Performance(NamedTuple):
    """Settings that change the speed of a run and nothing else.

    Attributes:
      block_size: trials that a device runs at once, a power of two; None chooses by
        backend.
      blocks_per_call: blocks a device computes in one call; None adapts to about half a
        second a call.
      devices: the JAX devices of this process to use; None means all.

    Example:
        >>> import jaxsel
        >>> small = jaxsel.Performance(block_size=64)  # for mechanisms that need much memory
        >>> jaxsel.simulate("noisy_max", trials=1000, performance=small).trials
        1000
    """

    block_size: int | None = None
    blocks_per_call: int | None = None
    devices: tuple[Any, ...] | None = None


def simulate(
    mechanism: Subject,
    data: Any = None,
    params: Any = None,
    *,
    trials: int,
    seed: int = 0,
    statistic: Statistic | None = None,
    first_trial: int = 0,
    record: str | Path | None = None,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> Tallies:
    """Seeded trials of one mechanism on one input: ``simulate_grid`` with one cell.

    Args:
      mechanism: what to run: a name, with the input of its default settings; what
        ``jaxsel.mechanism("noisy_max", scores=[3, 2, 1])`` made, with its own; or a
        mechanism, whose input is given.
      data, params: the input of a mechanism that comes without.
      trials, seed, statistic, first_trial, record, progress, performance: as in
        ``simulate_grid``.

    Raises:
      InputError: as ``simulate_grid``; or if a mechanism comes with two inputs.

    Example:
        >>> import jaxsel
        >>> built = jaxsel.mechanism("noisy_max", scores=[1, 1], epsilon=1)
        >>> tallies = jaxsel.simulate(built, trials=100_000)
        >>> print(tallies.labels, tallies.frequencies().value.round(1))
        ('0', '1') [[0.5 0.5]]
    """
    found = with_input(mechanism)
    if isinstance(found, Trial):
        if data is not None or params is not None:
            raise InputError("this mechanism comes with its input; give no data and no params")
        found, data, params = found[:3]
    return simulate_grid(
        found,
        [(data, params)],
        trials=trials,
        seed=seed,
        statistic=statistic,
        first_trial=first_trial,
        record=record,
        progress=progress,
        performance=performance,
    )


def simulate_grid(
    mechanism: Mechanism,
    cells: Sequence[tuple[Any, Any]],
    *,
    trials: int,
    seed: int = 0,
    statistic: Statistic | None = None,
    first_trial: int = 0,
    cell_numbers: Sequence[int] | None = None,
    record: str | Path | None = None,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> Tallies:
    """Runs the same number of trials in every cell of a grid, in one compiled program.

    The program does not depend on the grid: it serves any number of cells of these shapes.

    Args:
      mechanism: what to run.
      cells: (data, params) of each cell; all must prepare to equal shapes.
      trials: number of trials a cell, >= 1.
      seed: whole number in [0, 2**64). Same seed, same tallies, bit for bit.
      statistic: what to sum over trials; default: counts of ``mechanism.event``.
      first_trial: number of the first trial, so that several processes can each run a range
        of the trials of one run; their tallies add up (``+``) to those of the run.
      cell_numbers: for each cell the number in [0, 2**32) that selects its random stream,
        by default 0, 1, 2, ...; a part of a grid that is run under its cells' numbers gives
        the same tallies as in the whole grid.
      record: a file to resume from and to save to. A run that was killed resumes from its
        last save; a larger ``trials`` extends a finished run.
      progress: True, False, or None for a bar on a terminal after 1.5 seconds.
      performance: speed settings; they never change the result.

    Raises:
      InputError: for input that the mechanism refuses, cells of different shapes, or a
        record written by another configuration, by other code, for other trials, edited
        by hand, or being written by another process; and if outcomes fall outside the
        statistic's declared range.

    Example:
        >>> import jaxsel
        >>> cells = [([1, 1], {"epsilon": 1}), ([100, 0], {"epsilon": 1})]
        >>> tallies = jaxsel.simulate_grid(jaxsel.noisy_max(), cells, trials=100_000)
        >>> print(tallies.frequencies().value.round(1))
        [[0.5 0.5]
         [1.  0. ]]
    """
    trials = check_integer("trials", trials, 1)
    first_trial = check_integer("first_trial", first_trial, 0)
    seed = check_integer("seed", seed, 0)
    if seed >= 2**64:
        raise InputError(f"seed is {seed}; it must be a whole number below 2**64")
    if first_trial + trials > _MAX_TRIALS:
        raise InputError(f"trials is {trials}; a run has at most 2**62")
    if not cells:
        raise InputError("the grid is empty; it must have at least one cell")
    # Cells differ in their streams, not in their places: a part of a grid has the tallies of the
    # whole.
    numbers = _cell_numbers(cell_numbers, len(cells))

    with jax.enable_x64(True):
        labels = _labels(mechanism, *cells[0])
        if statistic is None:
            statistic = counts(mechanism.event, len(labels))
        # Once a cell, in float64 and with errors that name the input; nothing inside jit can raise.
        prepared = _checked([mechanism.prepare(*cell) for cell in cells])
        known = _configuration(mechanism, statistic, prepared, seed)
        # Left out where they are the usual ones, which follow from the number of cells.
        if cell_numbers is not None:
            known["cell_numbers"] = numbers
        whole = Work(
            mechanism,
            statistic,
            prepared,
            numbers,
            seed,
            first_trial,
            first_trial + trials,
            labels,
            Configuration(known, functools.partial(provenance, mechanism, statistic)),
            performance,
            progress,
        )
        # Shards and executors (`work.run_by`) take the work as it is, with the same addresses.
        runner = chosen_runner()
        if runner is not None:
            return runner(whole, record)
        return as_tallies(whole, recorded(whole, record, count_here))


def recorded(work: Work, record: str | Path | None, count: Count) -> Counted:
    """Runs the trials of a piece of work, resuming from its record and saving to it.

    Args:
      work: the trials to run.
      record: its file, or None.
      count: runs them: ``count_here``, or a function that has other processes run them.

    Raises:
      InputError: as ``simulate_grid``, for the record.
    """
    plan = _plan(work.performance)
    # Joined processes must agree on blocks and devices to split the trials alike.
    cut = (plan.block_size, plan.blocks_per_call, plan.mesh.size)
    if hosts.count() > 1:
        hosts.check_same(repr((dict(work.configuration), work.first, work.last, cut)))
    with contextlib.ExitStack() as held:
        write = None

        def resumed() -> Counted:
            nonlocal write
            if record is None:
                return zeros(work)
            # Locked, so that no other process resumes from this record meanwhile.
            write = held.enter_context(records.writer(record))
            return _resume(record, work)

        # Only process 0 sees the file; the others are told what it holds, so that all go on from
        # one place.
        start = hosts.from_first(resumed)
        return count(work, start, lambda counted: _save(write, work, counted))


def count_here(work: Work, start: Counted, save: Save) -> Counted:
    """Runs the trials of a piece of work on the devices of this process and of those joined to it.

    Args:
      work: the trials to run.
      start: the tallies to continue from.
      save: called with the tallies every ten seconds, at the end, and on interruption.
    """
    with jax.enable_x64(True):
        plan = _plan(work.performance)
        step = _compile(work.mechanism, work.statistic, plan.block_size, plan.mesh)
        return _run(step, work, plan, start, save)


def zeros(work: Work) -> Counted:
    """The tallies of a piece of work before its first trial."""
    plan = _plan(work.performance)
    step = _compile(work.mechanism, work.statistic, plan.block_size, plan.mesh)
    words = (np.uint32(0),) * 3
    # The statistic's sums have shapes that only tracing tells; nothing is run or compiled for them.
    ends = np.zeros(plan.mesh.size, np.int64)
    with jax.enable_x64(True):
        shapes = jax.eval_shape(step, words, work.prepared[0], ends, ends)
    cells = len(work.prepared)
    values = jax.tree.map(lambda s: np.zeros((cells, *s.shape[1:]), np.int64), shapes)
    return Counted(0, values, 0.0)


class _Plan(NamedTuple):
    block_size: int
    blocks_per_call: int | None
    mesh: Mesh


def block_size(performance: Performance) -> int:
    """Trials that a device runs at once; InputError unless a power of two."""
    devices = performance.devices or tuple(jax.local_devices())
    # On CPU a block stays in cache; a GPU is efficient with a million lanes at once.
    default = 8192 if devices[0].platform == "cpu" else 1 << 20
    given = default if performance.block_size is None else performance.block_size
    size = check_integer("block_size", given, 1)
    # Blocks then never straddle a multiple of 2**32, so that the high half of the trial number is
    # one for a whole block, and its hash is made once.
    if size & (size - 1) or size > 2**31:
        raise InputError(f"block_size is {size}; it must be a power of two <= 2**31")
    return size


def _plan(performance: Performance) -> _Plan:
    devices = performance.devices or tuple(jax.local_devices())
    size = block_size(performance)
    per_call = performance.blocks_per_call
    if per_call is not None:
        per_call = check_integer("blocks_per_call", per_call, 1)
    return _Plan(size, per_call, Mesh(np.asarray(devices), ("devices",)))


def _cell_numbers(given: Sequence[int] | None, cells: int) -> list[int]:
    if given is None:
        return list(range(cells))
    numbers = [check_integer("cell_numbers", number, 0) for number in given]
    if len(numbers) != cells or len(set(numbers)) != cells:
        raise InputError(
            f"cell_numbers are {numbers}; they must be {cells} different numbers, one a cell"
        )
    if max(numbers) >= 2**32:
        raise InputError(f"cell_numbers reach {max(numbers)}; they must be below 2**32")
    return numbers


def _checked(prepared: list) -> list:
    """The cells' input as arrays of equal shapes; InputError if they differ."""
    structures = {str(jax.tree.structure(cell)) for cell in prepared}
    cells = [jax.tree.map(np.asarray, cell) for cell in prepared]
    for leaf in jax.tree.leaves(cells):
        if leaf.dtype.kind in "OSUMm":  # objects, texts and times
            raise InputError(
                f"the input of a trial holds {leaf!r}, which is no number; data and params must "
                "be numbers and arrays, or prepare must make such of them"
            )
    shapes = {tuple(leaf.shape for leaf in jax.tree.leaves(cell)) for cell in cells}
    if len(structures) > 1 or len(shapes) > 1:
        raise InputError("the cells of a grid must have data and parameters of equal shapes")
    # One type for all cells: a whole number in one may be a fraction in another.
    types = jax.tree.map(lambda *leaves: np.result_type(*leaves), *cells)
    return [jax.tree.map(lambda x, dtype: x.astype(dtype), cell, types) for cell in cells]


def _stacked(cells: list) -> Any:
    return jax.tree.map(lambda *parts: np.stack(parts), *cells)


def _configuration(mechanism, statistic, prepared, seed) -> dict:
    return {
        "mechanism": mechanism.name,
        "statistic": statistic.name,
        "cells": len(prepared),
        # Of what was prepared: inputs that are written differently and mean the same share a
        # record.
        "input_digest": records.digest(_stacked(prepared)),
        "seed": seed,
        # No code reads it: a change of how words are addressed changes this text, so that old
        # tallies are not continued.
        "stream": "threefry2x32-20/v1",
    }


def forget_programs() -> None:
    """Drops the compiled programs; see ``jaxsel.kernel.compiled.forget``."""
    _compile.cache_clear()


def provenance(mechanism: Mechanism, statistic: Statistic) -> dict[str, str]:
    """The part of a run's configuration that names the code, backend and precision."""
    return {
        "code": source_digest.digest(mechanism, statistic, __name__),
        "jax": jax.__version__,
        "backend": jax.default_backend(),
    }


def _labels(mechanism, data, params) -> tuple[str, ...]:
    """What the events mean, one text each."""
    found = mechanism.labels(data, params)
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise InputError(
            f"the labels of {mechanism.name} are {on_one_line(repr(found))}; they must be a list "
            "of texts, one for each event"
        )
    return tuple(found)


def _drawn(mechanism, key: stream.Key, data, params) -> Any:
    """One outcome, whose parts are arrays or numbers."""
    outcome = mechanism.sample(key, data, params)
    for part in jax.tree.leaves(outcome):
        if isinstance(part, str | bytes):
            raise InputError(
                f"{mechanism.name} draws {on_one_line(repr(part))}; an outcome is made of numbers "
                "and arrays"
            )
    return outcome


@functools.lru_cache(maxsize=256)
def _compile(mechanism, statistic, block_size: int, mesh: Mesh) -> Callable:
    """A jitted ``(words, prepared cell, firsts, lasts) -> sums[device, ...]``.

    ``words`` are the two words of the seed and the number of the cell.
    """

    # Its own jit: traced once, although it is used twice below.
    @jax.jit
    def block(cell_key, data, params, number, first, last):
        start = number * block_size
        # Words wrap at a multiple of 2**32, where a block begins: never inside one.
        lane = start.astype(jnp.uint32) + jnp.arange(block_size, dtype=jnp.uint32)
        seed_low, seed_high, cell = cell_key
        high = (start >> 32).astype(jnp.uint32)
        key = stream.trial_key(seed_low, seed_high, cell, high, lane)
        # Only the lane is batched: hashes of what all trials share, such as `stream.fold`, are made
        # once a block.
        outcomes = jax.vmap(
            lambda lane: _drawn(mechanism, stream.Key(key.first, key.second, lane), data, params)
        )(lane)
        trial = start + jnp.arange(block_size, dtype=jnp.int64)
        # Blocks are whole whatever the range is, so that programs have one shape; trials outside
        # are drawn and not counted.
        return statistic.batch(outcomes, (trial >= first) & (trial < last))

    def one_device(cell_key, prepared, first, last):
        (data, params), (first,), (last,) = prepared, first, last

        def add(number, sums):
            more = block(cell_key, data, params, number, first, last)
            return jax.tree.map(lambda a, b: a + b.astype(jnp.int64), sums, more)

        # A block's counts may be int32; their sum over a call may be larger.
        shapes = jax.eval_shape(block, cell_key, data, params, first, first, last)
        zeros = jax.tree.map(lambda s: jnp.zeros(s.shape, jnp.int64), shapes)
        stop = (last + block_size - 1) // block_size
        # The ends are arguments: a call of another length needs no other program.
        sums = lax.fori_loop(first // block_size, stop, add, zeros)
        return jax.tree.map(lambda x: x[None], sums)

    sharded = jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P(), P(), P("devices"), P("devices")),
        out_specs=P("devices"),
        check_vma=False,
    )
    return jax.jit(sharded)


def _ranges(start: int, stop: int, parts: int, block_size: int):
    """Splits trials [start, stop) into whole-block ranges, one a device."""
    first_block, last_block = start // block_size, -(-stop // block_size)
    # In Python integers: floats are inexact from 2**53 blocks on.
    blocks = last_block - first_block
    edges = [(first_block + blocks * i // parts) * block_size for i in range(parts + 1)]
    edges = np.array([min(max(edge, start), stop) for edge in edges], np.int64)
    return edges[:-1], edges[1:]


def _run(step, work: Work, plan: _Plan, state: Counted, save: Save) -> Counted:
    words = [
        tuple(np.uint32(w) for w in (work.seed & 0xFFFFFFFF, work.seed >> 32, number))
        for number in work.numbers
    ]
    sharding = NamedSharding(plan.mesh, P("devices"))
    replicated = NamedSharding(plan.mesh, P())
    # Once for the run: a call then sends its ends alone.
    cells = jax.device_put(list(zip(words, work.prepared, strict=True)), replicated)
    # The devices of all processes: each has as many as this one.
    devices = plan.mesh.size * hosts.count()
    own = slice(plan.mesh.size * hosts.number(), plan.mesh.size * (hosts.number() + 1))
    per_block = plan.block_size * devices
    blocks = plan.blocks_per_call or 1
    trials = work.last - work.first
    saved = time.monotonic()
    first_call = True
    shown = work.progress if hosts.number() == 0 else False
    try:
        with progress_bar(trials, state.done, shown) as advance:
            while state.done < trials:
                started = time.monotonic()
                start = work.first + state.done
                # End on a block boundary, so that later calls start whole blocks.
                stop = (start // per_block + blocks) * per_block
                stop = min(stop, work.last)
                cut = _ranges(start, stop, devices, plan.block_size)
                ends = jax.device_put(tuple(end[own] for end in cut), sharding)
                # All cells are dispatched before the first result is waited for.
                sums = [step(*cell, *ends) for cell in cells]
                # Sums over devices are of integers: exact, and independent of the order.
                sums = _stacked(
                    [jax.tree.map(lambda x: np.asarray(x).sum(axis=0), s) for s in sums]
                )
                spent = time.monotonic() - started
                own_trials = int((cut[1] - cut[0])[own].sum())
                # Raised after the exchange: a process that raised alone would leave the others
                # waiting for it.
                outside = _miscounted(work, sums, own_trials)
                sums, spent, outside = _summed_over_processes(sums, spent, outside)
                if outside:
                    raise InputError(
                        f"{work.mechanism.name} gave outcomes outside the range of "
                        f"{work.statistic.name}; give an event for each of its labels, from 0 on"
                    )
                # Only sums that passed the check are kept.
                check_totals(work.statistic.totals(sums), start, stop, "one call of the run")
                values = jax.tree.map(np.add, state.values, sums)
                state = Counted(stop - work.first, values, state.seconds + spent)
                advance(stop - start)
                if plan.blocks_per_call is None:
                    # The first call includes compilation, so it is left out of the rate.
                    # A call that was measured as nearly 0 s says little: eightfold at most, so that
                    # one cannot take minutes.
                    growth = 1.0 if first_call else _CALL_SECONDS / max(spent, 1e-6)
                    blocks = max(1, int(blocks * min(8.0, growth)))
                    first_call = False
                if time.monotonic() - saved > _SAVE_SECONDS:
                    save(state)
                    saved = time.monotonic()
    finally:
        # Saves on interruption, too.
        if state.done:
            save(state)
    return state


def _miscounted(work: Work, sums: Any, trials: int) -> bool:
    """Whether sums count another number of trials than this process was to run."""
    return any((total != trials).any() for total in work.statistic.totals(sums))


def _summed_over_processes(sums: Any, spent: float, outside: bool) -> tuple[Any, float, bool]:
    """Sums over all processes, their mean time, and whether any has failed; the same in each."""
    if hosts.count() == 1:
        return sums, spent, outside
    about = np.array([spent * 1e6, outside], np.int64)
    sums, (microseconds, amiss) = hosts.sum_over_processes((sums, about))
    return sums, float(microseconds) * 1e-6 / hosts.count(), bool(amiss)


def _resume(record: str | Path, work: Work) -> Counted:
    fresh = zeros(work)
    if not Path(record).exists():
        return fresh
    stored = records.read(record, work.configuration)
    ranges = tallies.read_ranges(stored.attribute("ranges", list))
    # A merged file may have gaps; it begins nowhere, which the next line refuses.
    ((first, last),) = ranges if len(ranges) == 1 else ((-1, -1),)
    if first != work.first:
        raise InputError(
            f"{record} holds {tallies.shown(ranges)}, and this run begins at "
            f"{work.first}; name another file"
        )
    done = last - first
    if last > work.last:
        raise InputError(
            f"{record} already holds {done} trials; ask for at least as many, or name another file"
        )
    names = [f"values_{i}" for i in range(len(jax.tree.leaves(fresh.values)))]
    leaves = [stored.arrays[name] for name in names if name in stored.arrays]
    kept = Counted(done, leaves, stored.attribute("seconds", float))
    return restored(kept, work, fresh, str(record))


def restored(kept: Counted, work: Work, fresh: Counted, holder: str) -> Counted:
    """The tallies that a file holds of a piece of work, as a pytree again.

    Args:
      kept: the tallies in the file, their sums a flat list.
      work: the piece of work that they should be of.
      fresh: ``zeros(work)``.
      holder: the file, for messages.

    Raises:
      InputError: if they are of another statistic, or do not count each trial once.
    """
    expected = jax.tree.leaves(fresh.values)
    # The configuration names the statistic; a file that was edited can still hold other arrays.
    found = [(np.shape(leaf), np.asarray(leaf).dtype) for leaf in kept.values]
    if found != [(leaf.shape, leaf.dtype) for leaf in expected]:
        raise InputError(f"{holder} holds no tallies of this statistic")
    structure = jax.tree.structure(fresh.values)
    counted = kept._replace(values=jax.tree.unflatten(structure, kept.values))
    check_counted(work, counted, holder)
    return counted


def _save(write, work: Work, counted: Counted) -> None:
    if write is None:
        return
    leaves = jax.tree.leaves(counted.values)
    write(
        arrays={f"values_{i}": leaf for i, leaf in enumerate(leaves)},
        configuration=work.configuration,
        attributes={
            "ranges": [[work.first, work.first + counted.done]],
            "seconds": counted.seconds,
            "labels": list(work.labels),
        },
    )
