"""Clipped gradient sums by other libraries: jax_privacy and Opacus, on CPU.

Both get the network, the parameters and the batch of jaxsel's own sums; what they return
is brought to the same form, so that it can be compared.
"""

import importlib.metadata
import warnings
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import numpy as np
from jaxtyping import Array

from jaxsel.bench.peers import Unavailable

__all__ = [
    "OPACUS_MODES",
    "FlaxNetwork",
    "jax_privacy_sum",
    "opacus_sum",
    "torch_matmul",
    "version",
]

OPACUS_MODES = ("hooks", "functorch", "ew", "ghost")


class FlaxNetwork(nn.Module):
    """The network as one would write it, of Flax's own convolutions.

    Attributes:
      features: of the five convolutions.
      strides: likewise.
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


def version(package: str) -> str:
    """Name and version of an installed package."""
    return f"{package} {importlib.metadata.version(package)}"


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
      clip_norm: C.
      keep_batch_dim: whether the loss wants a batch axis of size 1, its default.
      microbatch: examples at a time; None for all at once, its default.

    Raises:
      Unavailable: if it is not installed.
    """
    try:
        from jax_privacy import clipping
    except ImportError as error:
        raise Unavailable(f"jax_privacy cannot be imported ({error})") from None
    return clipping.clipped_grad(
        loss, l2_clip_norm=clip_norm, batch_argnums=(1, 2),
        keep_batch_dim=keep_batch_dim, microbatch_size=microbatch,
    )  # fmt: skip


def _torch():
    try:
        import torch
    except ImportError as error:
        raise Unavailable(f"torch cannot be imported ({error})") from None
    torch.set_num_threads(1)
    return torch


def torch_matmul(size: int) -> Callable[[], Any]:
    """One product of two square float32 matrices by PyTorch.

    Raises:
      Unavailable: if it is not installed.
    """
    torch = _torch()
    left, right = torch.rand(size, size), torch.rand(size, size)
    return lambda: left @ right


def _torch_network(torch, params: Any, strides: tuple[int, ...]):
    """The network with these parameters, for images turned by half a turn.

    A convolution of stride 2 and padding 1 in PyTorch starts one pixel earlier than
    "SAME" padding does. On an even number of pixels it is the same one seen from the
    other end, so images and kernels are turned and nothing has to be padded by hand.
    """
    layers: list[Any] = []
    for number, stride in enumerate(strides):
        kernel = np.asarray(params[f"Conv_{number}"]["kernel"])
        layer = torch.nn.Conv2d(*kernel.shape[2:], 3, stride, padding=1)
        layers += [layer, torch.nn.ReLU()]
    dense = torch.nn.Linear(*params["Dense_0"]["kernel"].shape)
    layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), dense]
    model = torch.nn.Sequential(*layers)
    with torch.no_grad():
        for layer, values in zip(_weighted(model), _ordered(params), strict=True):
            kernel = np.array(_turned(np.asarray(values["kernel"])).T)
            layer.weight.copy_(torch.from_numpy(kernel))
            layer.bias.copy_(torch.from_numpy(np.array(values["bias"])))
    return model


def _turned(kernel: np.ndarray) -> np.ndarray:
    """A kernel turned by half a turn, and its two positions swapped for ``.T``."""
    if kernel.ndim == 2:
        return kernel
    return kernel[::-1, ::-1].transpose(1, 0, 2, 3)


def _ordered(params: Any) -> list[Any]:
    return [params[name] for name in sorted(params)]  # Conv_0 ... Conv_4, Dense_0


def _weighted(model) -> list[Any]:
    return [layer for layer in model if hasattr(layer, "weight")]


def opacus_sum(
    mode: str,
    params: Any,
    strides: tuple[int, ...],
    images: np.ndarray,
    labels: np.ndarray,
    clip_norm: float,
) -> Callable[[], Any]:
    """The clipped sum of one batch by Opacus, as a tree like ``params``.

    Args:
      mode: of the per-example gradients, one of ``OPACUS_MODES``.
      params: of the network.
      strides: of its convolutions.
      images: Float["batch height width channels"], height and width multiples of 4.
      labels: Int["batch"].
      clip_norm: C.

    Raises:
      Unavailable: if it is not installed.
    """
    torch = _torch()
    try:
        from opacus.grad_sample.utils import prepare_module
        from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
        from opacus.utils.fast_gradient_clipping_utils import (
            DPLossFastGradientClipping,
        )
    except ImportError as error:
        raise Unavailable(f"opacus cannot be imported ({error})") from None
    ghost = mode == "ghost"
    extra = {"max_grad_norm": clip_norm} if ghost else {}
    plain = _torch_network(torch, params, strides)
    model = prepare_module(plain, mode, loss_reduction="sum", **extra)
    optimiser = (DPOptimizerFastGradientClipping if ghost else DPOptimizer)(
        torch.optim.SGD(model.parameters(), lr=0.0),
        noise_multiplier=0.0,
        max_grad_norm=clip_norm,
        expected_batch_size=len(images),
        loss_reduction="sum",
    )
    criterion: Any = torch.nn.CrossEntropyLoss(reduction="sum")
    if ghost:
        criterion = DPLossFastGradientClipping(
            model, optimiser, criterion, loss_reduction="sum"
        )
    turned = np.ascontiguousarray(images[:, ::-1, ::-1].transpose(0, 3, 1, 2))
    inputs, targets = (
        torch.from_numpy(turned),
        torch.from_numpy(labels.astype(np.int64)),
    )

    def run():
        optimiser.zero_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            criterion(model(inputs), targets).backward()
            optimiser.clip_and_accumulate()
        summed = "grad" if ghost else "summed_grad"
        found = {}
        for name, layer in zip(sorted(params), _weighted(plain), strict=True):
            kernel = getattr(layer.weight, summed).detach().numpy().T
            if kernel.ndim == 4:
                kernel = kernel.transpose(1, 0, 2, 3)[::-1, ::-1]
            bias = getattr(layer.bias, summed).detach().numpy()
            found[name] = {"kernel": kernel, "bias": bias}
        return found

    return run
