"""The k-th smallest of many numbers, k traced: by the bits of the numbers, no sort.

XLA's sort on CPU costs ten times more than one comparison and one sum a bit, and its
top_k needs k when the program is compiled.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float


def _ascending_bits(values: Float[Array, " n"]) -> tuple[Array, int]:
    """Unsigned integers in the order of the values, and their number of bits."""
    wide = values.dtype == jnp.float64
    signed, unsigned = (jnp.int64, jnp.uint64) if wide else (jnp.int32, jnp.uint32)
    count = 64 if wide else 32
    bits = lax.bitcast_convert_type(values, signed)
    top = jnp.asarray(1, unsigned) << (count - 1)
    flipped = lax.bitcast_convert_type(jnp.where(bits < 0, ~bits, bits), unsigned)
    return jnp.where(bits < 0, flipped, flipped | top), count


def largest(
    values: Float[Array, " n"], count, inside: Bool[Array, " n"] | None = None
) -> Bool[Array, " n"]:
    """The ``count`` largest values, the first ones among equals.

    Args:
      values: no NaN.
      count: Int[Array, ""], how many; all of ``inside`` if there are fewer.
      inside: which values compete; None for all.

    Returns:
      Bool[Array, " n"].
    """
    code, width = _ascending_bits(values)
    competing = jnp.ones(values.shape, bool) if inside is None else inside
    code = jnp.where(competing, code, jnp.zeros_like(code))
    count = jnp.asarray(count, jnp.int32)
    one = jnp.asarray(1, code.dtype)

    def next_bit(step, cut):
        # The largest cut that at least ``count`` codes reach is the last code taken.
        trial = cut | (one << (width - 1 - step).astype(code.dtype))
        enough = jnp.sum(code >= trial, dtype=jnp.int32) >= count
        return jnp.where(enough, trial, cut)

    cut = lax.fori_loop(0, width, next_bit, jnp.zeros((), code.dtype))
    above = competing & (code > cut)
    equal = competing & (code == cut)
    room = count - jnp.sum(above, dtype=jnp.int32)
    return above | (equal & (jnp.cumsum(equal, dtype=jnp.int32) <= room))
