"""Look-ups in small tables by comparison instead of a gather.

On CPU a gather is computed element by element, together with the random words it is fused
with: a few comparisons of whole vectors are faster. Long tables are read by a gather as
usual; the results are the same, bit for bit.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

# Tables of at most this many entries are searched by comparison.
SMALL = 64


def position(table, value, side: str = "left") -> Int[Array, "..."]:
    """``jnp.searchsorted(table, value, side)`` as int32.

    Args:
      table: ["n"], increasing.
      value: a number, not NaN.
      side: "left" counts the entries below the value, "right" those not above it.
    """
    table = jnp.asarray(table)
    if table.shape[-1] > SMALL:
        return jnp.searchsorted(table, value, side=side).astype(jnp.int32)

    def add(k, count):
        below = table[k] < value if side == "left" else table[k] <= value
        return count + below.astype(jnp.int32)

    # Deliberately a loop: unrolled, it would be fused into every use of the position, and
    # the random words of the value would be drawn again for each.
    return lax.fori_loop(0, table.shape[-1], add, jnp.zeros(jnp.shape(value), jnp.int32))


def pick(table, index) -> Array:
    """``table[index]`` for an index in [0, n).

    Args:
      table: ["n ..."].
      index: a whole number.
    """
    table, index = jnp.asarray(table), jnp.asarray(index)
    if table.size > SMALL:
        # The barrier keeps XLA from fusing the computation of the index into the gather.
        return table[lax.optimization_barrier(index)]
    found = table[0]
    for k in range(1, table.shape[0]):
        found = jnp.where(index == np.array(k, index.dtype), table[k], found)
    return found
