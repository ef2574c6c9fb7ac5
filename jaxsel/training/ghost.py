"""Clipped gradient sums without per-example gradients ("ghost" norms).

For a layer outputs = inputs @ kernel + bias the gradient of one example is A^T B, A its
inputs and B the gradient of its outputs (a row for every position). Its squared norm is
the inner product of A A^T and B B^T, which for few positions is cheaper than A^T B; a
second, ordinary gradient of the loss, weighted with the clipping factors, gives the sum.
Li, Tramer, Liang & Hashimoto 2022; Bu, Mao & Xu 2022.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxsel.training.clipping import clip_factors
from jaxsel.training.extras import nn


def _losses(found: Any, labels: Array) -> Array:
    logits = jnp.asarray(found)
    picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    return jax.nn.logsumexp(logits, axis=-1) - picked


def _layer_norm(inputs: Array, gradients: Array) -> Float[Array, " batch"]:
    """The squared norm of A^T B plus that of the bias gradient, for each example."""
    batch = inputs.shape[0]
    a = inputs.reshape(batch, -1, inputs.shape[-1])
    b = gradients.reshape(batch, -1, gradients.shape[-1])
    positions, width, features = a.shape[1], a.shape[2], b.shape[2]
    if positions * (width + features) < width * features:
        kernel = jnp.sum(
            jnp.einsum("npi,nqi->npq", a, a) * jnp.einsum("npj,nqj->npq", b, b), (1, 2)
        )
    else:
        kernel = jnp.sum(jnp.square(jnp.einsum("npi,npj->nij", a, b)), (1, 2))
    return kernel + jnp.sum(jnp.square(b.sum(axis=1)), axis=1)


def ghost_norms(
    model: nn.Module, params: Any, images: Array, labels: Int[Array, " batch"]
) -> Float[Array, " batch"]:
    """Squared l2 norms of the gradients of the cross-entropy, one for each example.

    Args:
      model: a model whose layers record their inputs and perturb their outputs
        (``ConvolutionalNetwork`` does).
      params: of the model.
      images: with a leading batch axis.
      labels: of the images.
    """
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), images)["perturbations"])
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def total(perturbations):
        logits, seen = model.apply(
            {"params": params, "perturbations": perturbations}, images, mutable=["inputs"]
        )
        return _losses(logits, labels).sum(), seen["inputs"]

    gradients, inputs = jax.grad(total, has_aux=True)(nothing)
    norms = [
        _layer_norm(inputs[layer]["value"][0], gradients[layer]["outputs"]) for layer in gradients
    ]
    return jnp.sum(jnp.stack(norms), axis=0)


def ghost_sum(
    model: nn.Module,
    params: Any,
    data: tuple[Array, Array],
    rows: Int[Array, " capacity"],
    count: Int[Array, ""],
    clip_norm,
) -> Any:
    """The clipped sum of ``clipping.plain_sum`` for this network's cross-entropy."""
    images, labels = (jnp.take(leaf, rows, axis=0) for leaf in data)
    keep = jnp.arange(rows.shape[0]) < count
    factors = clip_factors(ghost_norms(model, params, images, labels), clip_norm, keep)
    # Infinities of an example with weight 0 must not make the sum NaN.
    usable = factors > 0
    clean = jnp.where(usable.reshape(-1, *[1] * (images.ndim - 1)), images, 0.0)

    def weighted(params):
        losses = _losses(model.apply({"params": params}, clean), labels)
        return jnp.sum(jnp.where(usable, losses * factors, 0.0))

    return jax.grad(weighted)(params)
