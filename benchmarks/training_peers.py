"""Sums of clipped gradients by other libraries: jax_privacy and Opacus, on CPU.

Both get the network, the parameters and the batch of jaxsel's own sums. What they return is
converted to the same form, so that it can be compared.
"""

import warnings
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from benchmarks.peers import imported

OPACUS_MODES = ("hooks", "functorch", "ew", "ghost")


class FlaxNetwork(nn.Module):
    """The network as one would usually write it, with Flax's own convolutions.

    Attributes:
      features: numbers of features of the convolutions.
      strides: strides of the convolutions.
      classes: number of classes.
    """

    features: tuple[int, ...]
    strides: tuple[int, ...]
    classes: int = 10

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for features, stride in zip(self.features, self.strides, strict=True):
            x = nn.relu(nn.Conv(features, (3, 3), stride)(x))
        return nn.Dense(self.classes)(x.mean(axis=(-3, -2)))


def usual_loss(params: Any, strides: tuple[int, ...]) -> Callable[..., Array]:
    """``(params, images, labels) -> mean cross-entropy`` of a ``FlaxNetwork``.

    Args:
      params: parameters of jaxsel's network, which fit this one, too.
      strides: strides of its convolutions.
    """
    kernels = [params[name]["kernel"] for name in sorted(params)]
    features = tuple(kernel.shape[-1] for kernel in kernels)
    model = FlaxNetwork(features[:-1], tuple(strides), features[-1])

    def loss(params, images, labels):
        logits: Any = model.apply({"params": params}, images)
        picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)

    return loss


def jax_privacy_sum(
    loss: Callable[..., Array],
    clip_norm: float,
    *,
    keep_batch_dim: bool,
    microbatch: int | None = None,
) -> Callable[..., Any]:
    """``(params, images, labels) -> sum`` by jax_privacy's clipped_grad, not compiled.

    Args:
      loss: ``(params, image, label) -> scalar``.
      clip_norm: the clipping norm C.
      keep_batch_dim: whether the loss expects a batch axis, which has size 1.
      microbatch: number of examples at a time; None for all at once, its default.

    Raises:
      Unavailable: if it is not installed.
    """
    return imported("jax_privacy.clipping").clipped_grad(
        loss,
        l2_clip_norm=clip_norm,
        batch_argnums=(1, 2),
        keep_batch_dim=keep_batch_dim,
        microbatch_size=microbatch,
    )


def _torch():
    torch = imported("torch")
    torch.set_num_threads(1)
    return torch


def torch_matmul(left: np.ndarray, right: np.ndarray) -> Callable[[], Any]:
    """One product of two matrices by PyTorch.

    Raises:
      Unavailable: if it is not installed.
    """
    torch = _torch()
    first, second = torch.from_numpy(left), torch.from_numpy(right)
    return lambda: first @ second


def _rotated(kernel: np.ndarray) -> np.ndarray:
    """Converts a kernel from Flax to PyTorch, rotated by 180 degrees."""
    return kernel[::-1, ::-1].transpose(3, 2, 0, 1) if kernel.ndim == 4 else kernel.T


def _rotated_back(kernel: np.ndarray) -> np.ndarray:
    return kernel.transpose(2, 3, 1, 0)[::-1, ::-1] if kernel.ndim == 4 else kernel.T


def _torch_network(torch, params: Any, strides: tuple[int, ...]):
    """The network with these parameters, for images rotated by 180 degrees, and its layers.

    A convolution of stride 2 and padding 1 in PyTorch starts one pixel earlier than with
    "SAME" padding. On an even number of pixels it is the same convolution seen from the other
    end. Images and kernels are therefore rotated, and nothing has to be padded by hand.
    """
    weighted = []
    for name in sorted(params):  # Conv_0, Conv_1, ..., Dense_0
        kernel = np.array(_rotated(np.asarray(params[name]["kernel"])))
        outputs, inputs = kernel.shape[:2]
        if kernel.ndim == 4:
            stride = strides[len(weighted)]
            layer = torch.nn.Conv2d(inputs, outputs, 3, stride, padding=1)
        else:
            layer = torch.nn.Linear(inputs, outputs)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(kernel))
            layer.bias.copy_(torch.from_numpy(np.array(params[name]["bias"])))
        weighted.append(layer)
    layers = [part for layer in weighted[:-1] for part in (layer, torch.nn.ReLU())]
    layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), weighted[-1]]
    return torch.nn.Sequential(*layers), weighted


def opacus_sum(
    mode: str,
    params: Any,
    strides: tuple[int, ...],
    images: np.ndarray,
    labels: np.ndarray,
    clip_norm: float,
    *,
    physical_batch: int | None = None,
) -> Callable[[], Any]:
    """The clipped sum of one batch by Opacus, as a tree like ``params``.

    Args:
      mode: how per-example gradients are computed, one of ``OPACUS_MODES``.
      params: parameters of the network.
      strides: strides of its convolutions.
      images: Float["batch height width channels"], height and width multiples of 4.
      labels: Int["batch"].
      clip_norm: the clipping norm C.
      physical_batch: number of examples at a time, as in Opacus's BatchMemoryManager; None
        for all at once. Not for "ghost".

    Raises:
      Unavailable: if it is not installed.
    """
    torch = _torch()
    optimizers = imported("opacus.optimizers")
    samples = imported("opacus.grad_sample.utils")
    losses = imported("opacus.utils.fast_gradient_clipping_utils")
    ghost = mode == "ghost"
    plain, weighted = _torch_network(torch, params, strides)
    extra = {"max_grad_norm": clip_norm} if ghost else {}
    model = samples.prepare_module(plain, mode, loss_reduction="sum", **extra)
    kind = optimizers.DPOptimizerFastGradientClipping if ghost else optimizers.DPOptimizer
    optimiser = kind(
        torch.optim.SGD(model.parameters(), lr=0.0),
        noise_multiplier=0.0,
        max_grad_norm=clip_norm,
        expected_batch_size=len(images),
        loss_reduction="sum",
    )
    criterion = torch.nn.CrossEntropyLoss(reduction="sum")
    if ghost:
        criterion = losses.DPLossFastGradientClipping(
            model, optimiser, criterion, loss_reduction="sum"
        )
    size = physical_batch or len(images)
    turned = np.ascontiguousarray(images[:, ::-1, ::-1].transpose(0, 3, 1, 2))
    inputs = torch.from_numpy(turned).split(size)
    targets = torch.from_numpy(labels.astype(np.int64)).split(size)
    attribute = "grad" if ghost else "summed_grad"

    def summed(parameter) -> np.ndarray:
        return getattr(parameter, attribute).detach().numpy()

    def run() -> Any:
        optimiser.zero_grad(set_to_none=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for batch, classes in zip(inputs, targets, strict=True):
                criterion(model(batch), classes).backward()
                if not ghost:
                    optimiser.clip_and_accumulate()
                    model.zero_grad(set_to_none=True)
        return {
            name: {"kernel": _rotated_back(summed(layer.weight)), "bias": summed(layer.bias)}
            for name, layer in zip(sorted(params), weighted, strict=True)
        }

    return run
