"""Selects the largest of some numbers; how many is known only at run time.

XLA's top_k needs a static number, and its sort on CPU costs more than these algorithms. Few
numbers are compared pairwise; for many, the smallest one selected is found bit by bit, with
one comparison and one sum per bit.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

# Up to FEW numbers the comparisons are unrolled; up to SOME they are a loop.
FEW, SOME = 12, 128


def _ascending_bits(values: Float[Array, " n"]) -> tuple[Array, int]:
    """Maps floats to unsigned integers of the same order; also returns their number of bits."""
    wide = values.dtype == jnp.float64
    signed, unsigned = (jnp.int64, jnp.uint64) if wide else (jnp.int32, jnp.uint32)
    count = 64 if wide else 32
    bits = lax.bitcast_convert_type(values, signed)
    top = jnp.asarray(1, unsigned) << (count - 1)
    flipped = lax.bitcast_convert_type(jnp.where(bits < 0, ~bits, bits), unsigned)
    return jnp.where(bits < 0, flipped, flipped | top), count


def _places(values: Float[Array, " n"], competing: Bool[Array, " n"]) -> Int[Array, " n"]:
    """The number of competing values that precede each: larger ones, and earlier equal ones."""
    n = values.shape[0]
    if n > FEW:
        index = jnp.arange(n, dtype=jnp.int32)

        def add(other, place):
            before = (values[other] > values) | ((values[other] == values) & (other < index))
            return place + (before & competing[other]).astype(jnp.int32)

        return lax.fori_loop(0, n, add, jnp.zeros(n, jnp.int32))
    # Separate scalars: XLA would vectorise along a short array instead of along trials.
    each = [(values[i], competing[i]) for i in range(n)]
    places = [jnp.int32(0)] * n
    for i in range(n):
        for j in range(i + 1, n):
            (first, first_in), (second, second_in) = each[i], each[j]
            earlier = first >= second
            places[j] = places[j] + (earlier & first_in).astype(jnp.int32)
            places[i] = places[i] + (~earlier & second_in).astype(jnp.int32)
    return jnp.stack(places)


def largest(
    values: Float[Array, " n"], count, inside: Bool[Array, " n"] | None = None
) -> Bool[Array, " n"]:
    """Which values are the ``count`` largest, the first ones among equals: Bool[Array, " n"].

    Args:
      values: without NaN.
      count: Int[Array, ""], number of values to select; if fewer compete, all of them are.
      inside: which values compete; None for all.
    """
    count = jnp.asarray(count, jnp.int32)
    competing = jnp.ones(values.shape, bool) if inside is None else inside
    if values.shape[0] <= SOME:
        return competing & (_places(values, competing) < count)
    code, width = _ascending_bits(values)
    code = jnp.where(competing, code, jnp.zeros_like(code))
    one = jnp.asarray(1, code.dtype)

    def next_bit(step, cut):
        # The largest cut that at least ``count`` codes reach is the smallest code selected.
        trial = cut | (one << (width - 1 - step).astype(code.dtype))
        enough = jnp.sum(code >= trial, dtype=jnp.int32) >= count
        return jnp.where(enough, trial, cut)

    cut = lax.fori_loop(0, width, next_bit, jnp.zeros((), code.dtype))
    above = competing & (code > cut)
    equal = competing & (code == cut)
    room = count - jnp.sum(above, dtype=jnp.int32)
    return above | (equal & (jnp.cumsum(equal, dtype=jnp.int32) <= room))
