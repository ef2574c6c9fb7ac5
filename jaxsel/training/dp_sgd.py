"""DP-SGD: Poisson batches, clipped gradients, Gaussian noise on their sum.

Abadi et al. 2016, with the batches that the accounting assumes: every example is sampled
independently, and the noisy sum is divided by the EXPECTED batch size, never by the
realised one. Neighbours differ by adding or removing one example.
"""

import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, stream
from jaxsel.language.domains import choice, number, positive, whole
from jaxsel.language.signature import validated
from jaxsel.training.clipping import microbatched_sum, plain_sum
from jaxsel.training.extras import nn, optax
from jaxsel.training.ghost import ghost_sum
from jaxsel.training.network import cross_entropy
from jaxsel.training.sampling import Examples, batch_capacity, in_batch, poisson_batch

__all__ = [
    "Recipe",
    "State",
    "accuracy",
    "initial_state",
    "initialise",
    "noisy_gradient",
    "recipe",
    "sum_along_one",
    "train",
]

CLIPPING = ("microbatch", "plain", "ghost")
_BATCH_TAG, _NOISE_TAG = 0xA0, 0xA1


class Recipe(NamedTuple):
    """The settings that are fixed when training is compiled.

    Attributes:
      examples: n, size of the training set. Public.
      batch_size: expected batch size; each example is sampled with probability
        batch_size/examples.
      clip_norm: C.
      noise_multiplier: standard deviation of the noise on the sum, over C; 0 trains
        without privacy.
      clipping: "microbatch", "plain" or "ghost".
      microbatch: number of examples at a time, for clipping "microbatch".
      capacity: the size of the arrays for a batch, hence the largest possible batch.
    """

    examples: int
    batch_size: float
    clip_norm: float
    noise_multiplier: float
    clipping: str
    microbatch: int
    capacity: int


@validated
def recipe(
    examples: Examples,
    batch_size: float,
    *,
    clip_norm: Annotated[float, positive("C, in l2")] = 1.0,
    noise_multiplier: Annotated[float, number("sigma, noise over C", at_least=0.0)] = 1.1,
    clipping: Annotated[str, choice(CLIPPING)] = "microbatch",
    microbatch: Annotated[int, whole("gradients at a time", at_least=1)] = 8,
) -> Recipe:
    """A validated ``Recipe``; arguments as its attributes.

    Raises:
      InputError: for a batch size that is not above 0 and at most the number of examples.
    """
    batch_size = number(above=0.0, at_most=examples).read("batch_size", batch_size)
    capacity = batch_capacity(examples, batch_size / examples)
    return Recipe(examples, batch_size, clip_norm, noise_multiplier, clipping, microbatch, capacity)


class State(NamedTuple):
    """The state of a training run between two steps.

    Attributes:
      params: of the network.
      optimiser: its state.
      step: Int[Array, ""], steps done.
      overflow: Bool[Array, ""], whether a batch exceeded the capacity; the run is then
        invalid.
    """

    params: Any
    optimiser: Any
    step: Int[Array, ""]
    overflow: Bool[Array, ""]


Optimiser = Callable[[Any], optax.GradientTransformation]


def initialise(
    model: nn.Module, image: Array, optimiser: optax.GradientTransformation, seed: int
) -> State:
    """Initial parameters from ``seed``, independent of the data.

    Args:
      model: the network.
      image: one image, for its shape.
      optimiser: an optax transformation.
      seed: whole number in [0, 2**64).
    """
    keys = jax.random.key(seed & 0xFFFFFFFF), seed >> 32
    return initial_state(model, image, optimiser, jax.random.fold_in(*keys))


def initial_state(
    model: nn.Module, image: Array, optimiser: optax.GradientTransformation, key: Array
) -> State:
    """``initialise`` with a key of ``jax.random``."""
    params = model.init(key, image[None])["params"]
    return State(params, optimiser.init(params), jnp.int32(0), jnp.asarray(False))


def _gaussian(key: stream.Key, tree: Any, deviation) -> Any:
    """Gaussian noise of the shape of a tree; each leaf has its own stream."""
    leaves, structure = jax.tree.flatten(tree)
    noisy = []
    for place, leaf in enumerate(leaves):
        draws = jnp.arange(leaf.size, dtype=jnp.uint32)
        own = stream.fold(key, place)
        normal = noise.normal(noise.number(own, draws, "tail"))
        noisy.append(deviation * normal.reshape(leaf.shape).astype(leaf.dtype))
    return jax.tree.unflatten(structure, noisy)


def sum_along_one(plan: Recipe, present, key: stream.Key, step) -> Float[Array, ""]:
    """One step's noisy sum along the only parameter, which only the last example may move, over C.

    It is the sum that ``noisy_gradient`` divides, of the same random numbers, without a network.

    Args:
      plan: the recipe.
      present: whether the last example has a gradient, whose clipped norm then is C.
      key: the stream of the run.
      step: number of the step.
    """
    own = stream.at_round(key, step, first=0)
    batch = stream.fold(own, _BATCH_TAG)
    drawn = in_batch(batch, np.uint32(plan.examples - 1), plan.batch_size / plan.examples)
    added = _gaussian(stream.fold(own, _NOISE_TAG), jnp.float32(0.0), plan.noise_multiplier)
    return (drawn & present).astype(added.dtype) - added


def noisy_gradient(
    model: nn.Module, plan: Recipe, params: Any, data: tuple[Array, Array], key: stream.Key
) -> tuple[Any, Bool[Array, ""]]:
    """One step's gradient: (sum of clipped gradients + noise)/expected batch size.

    Args:
      model: the network.
      plan: the recipe.
      params: of the network.
      data: images Float["n height width channels"] and labels Int["n"].
      key: the stream of this step of this run, used for nothing else.

    Returns:
      A pytree like ``params``, and whether the batch exceeded the capacity.
    """
    batch = poisson_batch(
        stream.fold(key, _BATCH_TAG), plan.examples, plan.batch_size / plan.examples, plan.capacity
    )
    inputs = (params, data, batch.rows, batch.count, plan.clip_norm)
    if plan.clipping == "ghost":
        total = ghost_sum(model, *inputs)
    elif plan.clipping == "plain":
        total = plain_sum(functools.partial(cross_entropy, model), *inputs)
    else:
        loss = functools.partial(cross_entropy, model)
        total = microbatched_sum(loss, *inputs, microbatch=plan.microbatch)
    if plan.noise_multiplier > 0.0:
        deviation = plan.noise_multiplier * plan.clip_norm
        added = _gaussian(stream.fold(key, _NOISE_TAG), total, deviation)
        total = jax.tree.map(jnp.add, total, added)
    return jax.tree.map(lambda leaf: leaf / plan.batch_size, total), batch.overflow


@functools.partial(jax.jit, static_argnames=("model", "plan", "optimiser", "gradient"))
def train(
    model: nn.Module,
    plan: Recipe,
    optimiser: Optimiser,
    state: State,
    data: tuple[Array, Array],
    key: stream.Key,
    learning_rate: Float[Array, ""],
    steps: Int[Array, ""],
    gradient: Callable[..., tuple[Any, Bool[Array, ""]]] = noisy_gradient,
) -> State:
    """``steps`` steps of DP-SGD; vmap over state, key and learning_rate for many runs.

    Args:
      model: the network.
      plan: the recipe.
      optimiser: learning rate -> optax transformation, for example ``optax.sgd``.
      state: the state to continue from.
      data: images and labels.
      key: the stream of this run; step t draws from ``stream.at_round(key, t, first=0)``
        alone, so a resumed run neither repeats nor skips any noise.
        learning_rate: of the optimiser; a change does not recompile.
        steps: the number of steps; a change does not recompile.
        gradient: computes a step's gradient; tests of audits use a faulty one.
    """
    if data[0].shape[0] != plan.examples:
        raise InputError(
            f"the training set has {data[0].shape[0]} examples; the recipe is for {plan.examples}"
        )
    transformation = optimiser(learning_rate)

    def one_step(_, state: State) -> State:
        own = stream.at_round(key, state.step, first=0)
        mean, overflow = gradient(model, plan, state.params, data, own)
        updates, inner = transformation.update(mean, state.optimiser, state.params)
        params = optax.apply_updates(state.params, updates)
        return State(params, inner, state.step + 1, state.overflow | overflow)

    return lax.fori_loop(0, steps, one_step, state)


@functools.partial(jax.jit, static_argnames=("model", "block"))
def accuracy(
    model: nn.Module, params: Any, data: tuple[Array, Array], *, block: int = 64
) -> Int[Array, ""]:
    """The number of correctly classified images; evaluates ``block`` images at a time."""
    images, labels = data
    padding = -images.shape[0] % block
    shape = (-1, block)
    images = jnp.pad(images, [(0, padding), *[(0, 0)] * (images.ndim - 1)])
    images = images.reshape(*shape, *images.shape[1:])
    labels = jnp.pad(labels, (0, padding), constant_values=-1).reshape(shape)

    def right(both):
        logits = cast(Array, model.apply({"params": params}, both[0]))
        found = jnp.argmax(logits, axis=-1)
        return jnp.sum(found == both[1], dtype=jnp.int32)

    return jnp.sum(lax.map(right, (images, labels)))
