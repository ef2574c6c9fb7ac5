"""Loops over candidates that keep the block of trials as the innermost axis.

Under ``vmap`` one call for all candidates makes arrays of trials by candidates, and XLA on
CPU vectorises the last axis: for a few candidates this takes several times as long as one
candidate after another, each for all trials of a block. The draws and the results are the
same, bit for bit.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from jaxsel.host.errors import InputError

# The index is carried in a float32, which is exact up to here.
MAX_CANDIDATES = 2**24


def by_row(function: Callable[..., Array], *tables) -> Array:
    """Stacks ``function(*row)`` over the rows of the tables: Array["n ..."].

    Args:
      function: of one entry of every table.
      tables: arrays whose first axes are equally long.
    """
    tables = jax.tree.map(jnp.asarray, tables)
    return lax.map(lambda row: function(*row), tables)


def check_candidates(count: int) -> None:
    """InputError if there are more candidates than ``argmax`` can tell apart."""
    if count > MAX_CANDIDATES:
        raise InputError(f"there are {count} candidates; there may be at most {MAX_CANDIDATES}")


def argmax(
    candidates: Callable[[Array], list[Array]], shape: tuple[int, int], dtype
) -> Int[Array, ""]:
    """Index of the largest of all candidates, the lowest among equals.

    The loop carries a single complex number, the best value so far and its index: carrying
    the two apart makes XLA on CPU compute every draw twice, and packing them into one
    64-bit integer halves the width of its vectors.

    Args:
      candidates: the values of a step, as many as ``shape`` says.
      shape: how many steps there are, and how many candidates each; at most
        MAX_CANDIDATES in all.
      dtype: of the values.

    Raises:
      InputError: for more candidates.
    """
    steps, per_step = shape
    check_candidates(steps * per_step)
    # More than ten candidates an iteration spill registers; at fifty XLA on CPU stops
    # fusing (a tenfold loss).
    unroll = min(5, steps)

    def visit(step, best):
        value, index = lax.real(best), lax.imag(best)
        for c, candidate in enumerate(candidates(step)):
            better = candidate > value
            value = jnp.where(better, candidate, value)
            number = jnp.asarray(step * per_step + c, dtype)
            index = jnp.where(better, number, index)
        return lax.complex(value, index)

    nothing = lax.complex(jnp.asarray(-jnp.inf, dtype), jnp.asarray(0.0, dtype))
    best = lax.fori_loop(0, steps, visit, nothing, unroll=unroll)
    return lax.imag(best).astype(jnp.int32)
