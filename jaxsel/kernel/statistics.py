"""The statistics of a simulation: exact integer sums over trials, never single outcomes.

Real values are counted in bins or summed in fixed point, so that every sum is exact and
independent of the order in which trials are added.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.host.errors import InputError, check_finite, check_integer

_BITS = 30


class Statistic(NamedTuple):
    """A summable summary of trials.

    Attributes:
      name: identifies the statistic and its settings in records.
      batch: ``(outcomes, valid) -> pytree of integer arrays``: the sum over a block of
        trials; ``outcomes`` has a leading axis of trials, ``valid`` is Bool["trials"].
      totals: ``pytree -> list of int arrays``: the number of trials that the sums account
        for, one array per part; used to detect outcomes outside the declared range.
    """

    name: str
    batch: Callable[[Any, Any], Any]
    totals: Callable[[Any], list[np.ndarray]]


@functools.cache
def counts(event: Callable[[Any], Any], num_events: int) -> Statistic:
    """How often each event happened: Int["num_events"].

    Args:
      event: ``outcome -> int`` in ``[0, num_events)``.
      num_events: how many there are.
    """
    num_events = check_integer("num_events", num_events, 1)

    def batch(outcomes, valid):
        index = jax.vmap(event)(outcomes)
        whole = jnp.issubdtype(index.dtype, jnp.integer) or index.dtype == jnp.bool_
        if not whole or index.shape != valid.shape:
            shape = f" of shape {index.shape[1:]}" if index.ndim > 1 else ""
            raise InputError(
                f"an event is a {index.dtype}{shape}; it must be one whole number, of type int32"
            )
        index = index.astype(jnp.int32)
        kept = valid & (index >= 0)
        index = jnp.where(kept, index, jnp.int32(num_events))
        return jnp.bincount(index, length=num_events + 1)[:num_events]

    return Statistic(f"counts({num_events})", batch, lambda sums: [sums.sum(axis=-1)])


@functools.cache
def _histogram(value, edges: tuple[float, ...]) -> Statistic:
    def batch(outcomes, valid):
        values = jax.vmap(value)(outcomes)
        bins = jnp.searchsorted(jnp.asarray(edges, values.dtype), values, side="right")
        bins = jnp.where(valid, bins.astype(jnp.int32), jnp.int32(len(edges) + 1))
        return jnp.bincount(bins, length=len(edges) + 2)[: len(edges) + 1]

    return Statistic(f"histogram({edges})", batch, lambda sums: [sums.sum(axis=-1)])


def histogram(value: Callable[[Any], Any], edges) -> Statistic:
    """Counts below, between and above the edges: Int["edges + 1"].

    Args:
      value: ``outcome -> float``; NaN counts as above the last edge.
      edges: increasing bin edges; bin i holds edges[i-1] <= value < edges[i].
    """
    array = check_finite("edges", edges)
    if array.ndim != 1 or np.any(np.diff(array) <= 0):
        raise InputError("edges must be a strictly increasing list of numbers")
    return _histogram(value, tuple(float(edge) for edge in array))


@functools.cache
def moments(value: Callable[[Any], Any], low: float, high: float) -> Statistic:
    """Exact sums of a bounded real value and of its square, in fixed point.

    A value is rounded to one of 2**30 steps of [low, high]; values outside, and NaN, are
    counted separately and enter no sum. Read the result with ``read_moments``.

    Args:
      value: ``outcome -> float``.
      low, high: finite range, low < high.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"the range [{low}, {high}] must be finite with low < high")

    def batch(outcomes, valid):
        values = jax.vmap(value)(outcomes).astype(jnp.float64)
        inside = valid & (values >= low) & (values <= high)
        steps = jnp.round((values - low) / (high - low) * 2.0**_BITS)
        q = jnp.where(inside, steps, 0.0).astype(jnp.int64)
        square = q * q
        mask = (1 << _BITS) - 1
        return {
            "count": inside.sum(dtype=jnp.int64),
            "outside": (valid & ~inside).sum(dtype=jnp.int64),
            "sum": q.sum(),
            # The square has 60 bits; halves keep a sum of 2**33 trials inside int64.
            "square_high": (square >> _BITS).sum(),
            "square_low": (square & mask).sum(),
        }

    return Statistic(
        f"moments({low},{high})", batch, lambda sums: [sums["count"] + sums["outside"]]
    )


class Moments(NamedTuple):
    """Count, mean and variance of the values inside the range, and the number outside it."""

    count: int
    mean: float
    variance: float
    outside: int


def read_moments(sums: Mapping[str, Any], low: float, high: float) -> Moments:
    """Moments from the integer sums of one cell; exact up to the 2**-30 rounding."""
    count, outside = int(sums["count"]), int(sums["outside"])
    if count == 0:
        return Moments(0, math.nan, math.nan, outside)
    # Python integers: the centred sum of squares is exact.
    total = int(sums["sum"])
    square = (int(sums["square_high"]) << _BITS) + int(sums["square_low"])
    step = (high - low) / 2.0**_BITS
    centred = (count * square - total * total) / (count * count)
    return Moments(count, low + step * total / count, step * step * centred, outside)


@functools.cache
def sums(value: Callable[[Any], Any]) -> Statistic:
    """Sums of a pytree of integers or booleans: ``value(outcome) -> pytree``.

    Raises:
      InputError: if a leaf is real-valued; use ``moments`` or ``histogram`` for those.
    """

    def total(leaf, valid):
        if not (jnp.issubdtype(leaf.dtype, jnp.integer) or leaf.dtype == jnp.bool_):
            raise InputError(
                "sums takes whole numbers and booleans; use moments or histogram for "
                f"{leaf.dtype} values"
            )
        shape = valid.shape + (1,) * (leaf.ndim - 1)
        kept = jnp.where(valid.reshape(shape), leaf.astype(jnp.int64), 0)
        return kept.sum(axis=0)

    def batch(outcomes, valid):
        leaves = jax.vmap(value)(outcomes)
        return jax.tree.map(lambda leaf: total(jnp.asarray(leaf), valid), leaves)

    return Statistic("sums", batch, lambda sums: [])


def combine(parts: Mapping[str, Statistic]) -> Statistic:
    """Combines several statistics of the same trials; the sums are a dict with these keys."""
    return _combine(tuple(sorted(parts.items())))


@functools.cache
def _combine(parts: tuple[tuple[str, Statistic], ...]) -> Statistic:
    def batch(outcomes, valid):
        return {key: part.batch(outcomes, valid) for key, part in parts}

    def totals(values):
        return [total for key, part in parts for total in part.totals(values[key])]

    name = ",".join(f"{key}={part.name}" for key, part in parts)
    return Statistic(f"combine({name})", batch, totals)
