"""Sums of clipped per-example gradients for DP-SGD.

Each example's gradient is scaled to l2 norm at most C, and the scaled gradients are added:
adding or removing one example changes the sum by at most C. Every method gives the same sum up to
float32 rounding:

============  ====================================================================
method        how
============  ====================================================================
"plain"       one vmap of the gradient over the whole batch; the oracle
"microbatch"  a loop over a few examples at a time, whose gradients stay in cache
"ghost"       norms from layer inputs and output gradients, then one weighted
              gradient of the batch (see ``jaxsel.training.ghost``)
============  ====================================================================

Norms are rounded in float32, so gradients are clipped to C (1 - 2**-14): the sum then
moves by at most C whatever the data. An example whose gradient is not finite, or so large
that its squared norm is not, contributes nothing.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

_MARGIN = 1.0 - 2.0**-14
# Up to this many gradients are added in one pass; more, by a matrix product.
_ONE_PASS = 16

Loss = Callable[[Any, Any], Float[Array, ""]]


def _squared_norm(tree: Any) -> Float[Array, ""]:
    """Squared l2 norm of a pytree."""
    return sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree))  # type: ignore


def clip_factors(
    squared: Float[Array, "..."], clip_norm, keep: Bool[Array, "..."]
) -> Float[Array, "..."]:
    """Factors that clip gradients: min(1, C/norm), and 0 where not kept or not finite.

    Args:
      squared: squared norms of the gradients.
      clip_norm: C.
      keep: which gradients belong to the batch.
    """
    limit = jnp.asarray(clip_norm, squared.dtype) * _MARGIN
    usable = keep & jnp.isfinite(squared)
    norm = jnp.sqrt(jnp.where(usable, squared, 1.0))
    return jnp.where(usable, limit / jnp.maximum(norm, limit), 0.0)


def _weighted(gradients: Any, factors: Float[Array, " batch"]) -> Any:
    """Sum over the batch of factor times gradient; nothing where the factor is 0."""

    def add(leaf: Array) -> Array:
        # 0 times infinity is not 0
        if factors.size <= _ONE_PASS:
            pairs = zip(factors, leaf, strict=True)
            return sum(jnp.where(f > 0, f * each, 0.0) for f, each in pairs)  # type: ignore
        flat = leaf.reshape(leaf.shape[0], -1)
        kept = jnp.where(factors[:, None] > 0, flat, 0.0)
        return (factors @ kept).reshape(leaf.shape[1:])

    return jax.tree.map(add, gradients)


def _sum(loss: Loss, params, examples, clip_norm, keep) -> Any:
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0))(params, examples)
    squared = jax.vmap(_squared_norm)(gradients)
    return _weighted(gradients, clip_factors(squared, clip_norm, keep))


def _take(data: Any, rows: Int[Array, " rows"]) -> Any:
    return jax.tree.map(lambda leaf: jnp.take(leaf, rows, axis=0), data)


def _is_tall(leaf: Array) -> bool:
    return leaf.ndim > 1 and leaf.size > leaf.shape[-1] ** 2


def _transposed(params: Any) -> Any:
    """Transposes kernels with more inputs than outputs, to matrices with a row per output."""
    return jax.tree.map(
        lambda leaf: leaf.reshape(-1, leaf.shape[-1]).T if _is_tall(leaf) else leaf, params
    )


def _transposed_back(transposed: Any, params: Any) -> Any:
    """Undoes ``_transposed``; only the shapes of ``params`` are used."""
    return jax.tree.map(
        lambda leaf, like: leaf.T.reshape(like.shape) if _is_tall(like) else leaf,
        transposed,
        params,
    )


def plain_sum(
    loss: Loss,
    params: Any,
    data: Any,
    rows: Int[Array, " capacity"],
    count: Int[Array, ""],
    clip_norm,
) -> Any:
    """The clipped sum over ``data[rows[:count]]``, with all gradients in memory at once.

    Args:
      loss: ``(params, example) -> scalar`` of one example.
      params: pytree of Float arrays.
      data: pytree with a leading axis of examples.
      rows: indices of the examples; entries from ``count`` on are padding.
      count: the number of examples.
      clip_norm: C > 0.

    Returns:
      A pytree like ``params``.
    """
    keep = jnp.arange(rows.shape[0], dtype=jnp.int32) < count
    return _sum(loss, params, _take(data, rows), clip_norm, keep)


def microbatched_sum(
    loss: Loss,
    params: Any,
    data: Any,
    rows: Int[Array, " capacity"],
    count: Int[Array, ""],
    clip_norm,
    *,
    microbatch: int = 8,
) -> Any:
    """``plain_sum`` computed ``microbatch`` examples at a time, in as many rounds as necessary.

    ``microbatch`` need not divide the number of examples.
    """
    # The network computes per-example gradients transposed (see its ``_product``): their
    # norms and sum are computed in that form, and only the sum is transposed back.
    transposed = _transposed(params)

    def transposed_loss(transposed, example):
        return loss(_transposed_back(transposed, params), example)

    padding = -rows.shape[0] % microbatch
    rows = jnp.pad(rows, (0, padding))
    rounds = (count + (microbatch - 1)) // microbatch

    def add(number, total):
        start = number * microbatch
        here = lax.dynamic_slice_in_dim(rows, start, microbatch)
        keep = start + jnp.arange(microbatch, dtype=jnp.int32) < count
        part = _sum(transposed_loss, transposed, _take(data, here), clip_norm, keep)
        return jax.tree.map(jnp.add, total, part)

    total = lax.fori_loop(0, rounds, add, jax.tree.map(jnp.zeros_like, transposed))
    return _transposed_back(total, params)
