"""Canaries: examples whose effect on a training run bounds its privacy loss from below.

A gradient canary ("Dirac canary") owns one extra parameter of the model: its clipped
gradient is C along that parameter whatever the weights, and no other example has a gradient
along it. No example is easier to detect in a step of DP-SGD, so such canaries audit the
mechanism itself and need no useful model. An input canary, for example an image with a
wrong label, acts through the network, and gives weaker bounds.

The neighbour of a data set with a canary has a blank in its place: an example without a
gradient, the same to DP-SGD with Poisson batches as no example at all.

``jaxsel.training.audits`` compares the resulting bounds with the accounted epsilon.
"""

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from jaxsel.host.errors import InputError
from jaxsel.host.former_names import warn
from jaxsel.kernel import stream
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import validated
from jaxsel.training.dp_sgd import Recipe, State, initialise, noisy_gradient, train
from jaxsel.training.extras import nn, optax
from jaxsel.training.network import cross_entropy

_AUDIT_TAG = 0xD0
_BLANK = -1.0  # value of every pixel of a blank; images are in [0, 1]
_OFFSET = 1e4  # e^-_OFFSET is 0: no example is ever classified as a canary
_STEEPNESS = 1e6  # norm of a canary's gradient before clipping
_BLOCK = 1024  # runs at a time

Data = tuple[Any, Any]


class Linear(nn.Module):
    """A linear classifier of images."""

    classes: int = 2

    @nn.compact
    def __call__(self, images: Array) -> Array:
        return nn.Dense(self.classes)(images.reshape(*images.shape[:-3], -1))


class ConstantClassifier(nn.Module):
    """A classifier without parameters that finds all classes equally likely."""

    classes: int = 2

    def __call__(self, images: Array) -> Array:
        return jnp.zeros((*images.shape[:-3], self.classes), images.dtype)


class WithCanaries(nn.Module):
    """A classifier with one more class, and one more parameter, for each canary.

    An example with a blank picture has gradient 0 if its label is an ordinary class, and
    gradient -1e6 along parameter i of "canaries" if it is the i-th class beyond them. All
    others have the gradient they have without the canaries, and 0 along these.

    Attributes:
      inner: the classifier.
      canaries: the number of canaries.
    """

    inner: nn.Module
    canaries: int

    @nn.compact
    def __call__(self, images: Array) -> Array:
        own = self.param("canaries", nn.initializers.zeros_init(), (self.canaries,), images.dtype)
        blank = jnp.all(images < 0.0, axis=(-3, -2, -1))[..., None]
        logits = jnp.where(blank, 0.0, self.inner(jnp.maximum(images, 0.0)))
        # The logits do not depend on the values of these parameters, only their gradients
        # do.
        steep = _STEEPNESS * (own - jax.lax.stop_gradient(own)) - _OFFSET
        extra = jnp.broadcast_to(steep, (*logits.shape[:-1], self.canaries))
        return jnp.concatenate([logits, extra], axis=-1)


def blanks(count: int, shape: tuple[int, ...] = (1, 1, 1)) -> Data:
    """Blank examples, which have no gradient, with images of that shape."""
    images = np.full((count, *shape), _BLANK, dtype=np.float32)
    return images, np.zeros(count, dtype=np.int32)


def add_canaries(data: Data, included: ArrayLike, classes: int) -> Data:
    """Data with a row for each canary at the end: the canary, or a blank.

    Args:
      data: images Float32["n height width channels"] in [0, 1], labels Int32["n"].
      included: Bool["canaries"].
      classes: of the data; canary i has label classes + i.
    """
    coins = np.asarray(included)
    if coins.dtype != bool or coins.ndim != 1:
        raise InputError(
            f"included is {coins.dtype} of shape {coins.shape}; it must be one bool a canary"
        )
    images, labels = (np.asarray(leaf) for leaf in data)
    pictures, _ = blanks(coins.size, images.shape[1:])
    theirs = np.where(coins, classes + np.arange(coins.size), 0).astype(labels.dtype)
    return np.concatenate([images, pictures]), np.concatenate([labels, theirs])


def blank_out(data: Data, row: int) -> Data:
    """Data without the example in that row, a blank in its place."""
    images, labels = (np.array(leaf) for leaf in data)
    images[row], labels[row] = _BLANK, 0
    return images, labels


class _Record(NamedTuple):
    sgd: Any
    ratio: Float[Array, " canaries"]


def step_ratio(seen: Array, plan: Recipe) -> Array:
    """The log-likelihood ratio of one step, for a canary that is in against out.

    Args:
      seen: the noisy sum along the canary's parameter, over C.
      plan: the recipe, with noise.
    """
    rate = plan.batch_size / plan.examples
    absent = math.log1p(-rate) if rate < 1.0 else -math.inf
    variance = plan.noise_multiplier**2
    present = math.log(rate) + (seen - 0.5) / variance
    return jnp.logaddexp(jnp.full_like(present, absent), present)


class Recorder(NamedTuple):
    """Plain SGD that also accumulates the log-likelihood ratios of the canaries.

    A step's noisy sum along a canary's parameter, divided by C, is normal with deviation
    sigma and mean 1 if the canary is in the batch, and else 0. The accounting of DP-SGD
    assumes an adversary who sees just this, whose best statistic is the log-likelihood
    ratio.

    Attributes:
      plan: the recipe, with noise.
    """

    plan: Recipe

    def __call__(self, learning_rate) -> optax.GradientTransformation:
        plan, sgd = self.plan, optax.sgd(learning_rate)
        positive().read("noise_multiplier", plan.noise_multiplier)

        def init(params) -> _Record:
            return _Record(sgd.init(params), jnp.zeros_like(params["canaries"]))

        def update(gradient, state, params=None):
            updates, inner = sgd.update(gradient, state.sgd, params)
            seen = gradient["canaries"] * (-plan.batch_size / plan.clip_norm)
            return updates, _Record(inner, state.ratio + step_ratio(seen, plan))

        return optax.GradientTransformation(init, update)  # type: ignore[arg-type]


def likelihood_ratio(state: State) -> Float[Array, " canaries"]:
    """The log-likelihood ratio of each canary, from a ``Recorder``."""
    return state.optimiser.ratio


def loss_score(model: nn.Module, example: Data) -> Callable[[State], Array]:
    """Score of an input canary: minus its loss after training. Create it once."""
    image, label = jnp.asarray(example[0]), jnp.asarray(example[1])
    return lambda state: -cross_entropy(model, state.params, (image, label))


class Training(NamedTuple):
    """One run of DP-SGD, as an audit makes it.

    Attributes:
      plan: the recipe.
      steps: of the run.
      learning_rate: of plain SGD.
      gradient: as for ``train``.
    """

    plan: Recipe
    steps: int
    learning_rate: float = 0.1
    gradient: Callable[..., Any] = noisy_gradient


P = ParamSpec("P")
R = TypeVar("R")


def reads_recipe(door: Callable[P, R]) -> Callable[P, R]:
    """A door that takes a recipe, and the rest of the training by name, too, as in 0.2.0."""

    today: Any = door

    @functools.wraps(door)
    def asked(*given: Any, **named: Any) -> R:
        placed = list(given)
        if "plan" in named:
            placed = [*(placed or [named.pop("model")]), named.pop("plan")]
        if len(placed) > 1 and isinstance(placed[1], Recipe):
            said = {name: named.pop(name) for name in Training._fields[1:] if name in named}
            warn(f"{door.__name__}(plan, steps=)", f"{door.__name__}(Training(plan, steps))")
            placed[1] = Training(placed[1], **said)
        return today(*placed, **named)

    return asked


class _Program(NamedTuple):
    """What is compiled: other values are another program."""

    model: nn.Module
    plan: Recipe
    optimiser: Recorder
    score: Callable[[State], Array]
    gradient: Callable[..., Any]


@functools.partial(jax.jit, static_argnames="program")
def _block(program: _Program, start, data, key, lanes, rate, steps):
    model, plan, optimiser, score, gradient = program

    def one(lane):
        own = stream.Key(key.first, key.second, lane)
        end = train(model, plan, optimiser, start, data, own, rate, steps, gradient=gradient)
        return score(end), end.overflow

    return jax.vmap(one)(lanes)


@reads_recipe
@validated
def canary_scores(
    model: nn.Module,
    training: Training,
    data: Data,
    *,
    runs: Annotated[int, whole("of training", at_least=1)] = 1,
    seed: int = 0,
    tag: int = 0,
    score: Callable[[State], Array] = likelihood_ratio,
) -> np.ndarray:
    """Trains many times on the same data and scores each run.

    Args:
      model: a ``WithCanaries``.
      training: how each run is made.
      data: the data, with rows for canaries.
      runs: the number of runs.
      seed: of the initial parameters, the same in all runs, and of all other randomness.
      tag: runs of different tags share no randomness except the initial parameters.
      score: computes the score from a run's final state.

    Returns:
      Float32["runs ..."].

    Raises:
      InputError: without noise, with ghost norms, or if the number of examples is not that
        of the recipe.
      RuntimeError: if a batch exceeded the capacity (probability below 1e-18 per step).
    """
    plan, rate = training.plan, training.learning_rate
    steps = whole(at_least=1).read("steps", training.steps)
    if plan.clipping == "ghost":
        raise InputError("ghost norms do not see canaries; audit with clipping microbatch or plain")
    optimiser = Recorder(plan)
    data = (jnp.asarray(data[0]), jnp.asarray(data[1]))
    start = initialise(model, data[0][0], optimiser(rate), seed)
    program = _Program(model, plan, optimiser, score, training.gradient)
    key = stream.fold(stream.fold(stream.make_key(seed), _AUDIT_TAG), tag)
    size = min(runs, _BLOCK)
    found = []
    for first in range(0, runs, size):
        lanes = jnp.asarray(np.arange(first, first + size, dtype=np.uint32))
        scores, overflow = _block(
            program, start, data, key, lanes, jnp.float32(rate), jnp.int32(steps)
        )
        if bool(jnp.any(overflow)):
            raise RuntimeError("a batch did not fit; the audit is void")
        found.append(np.asarray(scores))
    return np.concatenate(found)[:runs]
