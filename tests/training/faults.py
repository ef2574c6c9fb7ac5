"""Versions of DP-SGD with one planted fault each; the tests must notice all of them.

Each function can replace ``noisy_gradient``.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from jaxsel.kernel import noise, stream
from jaxsel.training import dp_sgd
from jaxsel.training.canaries import Recorder, likelihood_ratio
from jaxsel.training.clipping import plain_sum
from jaxsel.training.dp_sgd import State
from jaxsel.training.network import cross_entropy
from jaxsel.training.sampling import Batch, poisson_batch

UNCLIPPED = 1e30


def _batch(plan, key) -> Batch:
    rate = plan.batch_size / plan.examples
    own = stream.fold(key, dp_sgd._BATCH_TAG)
    return poisson_batch(own, plan.examples, rate, plan.capacity)


def _sum(model, plan, params, data, batch, clip_norm=None):
    clip_norm = plan.clip_norm if clip_norm is None else clip_norm
    loss = functools.partial(cross_entropy, model)
    return plain_sum(loss, params, data, batch.rows, batch.count, clip_norm)


def _noise(plan, key, tree, scale=None):
    scale = plan.clip_norm if scale is None else scale
    own = stream.fold(key, dp_sgd._NOISE_TAG)
    return dp_sgd._gaussian(own, tree, plan.noise_multiplier * scale)


def _mean(total, added, size):
    return jax.tree.map(lambda a, b: (a + b) / size, total, added)


def _realised(batch):
    return jnp.maximum(batch.count, 1).astype(jnp.float32)


def realised_mean(model, plan, params, data, key):
    """Sum and noise are divided by the realised batch size instead of the expected one."""
    batch = _batch(plan, key)
    total = _sum(model, plan, params, data, batch)
    mean = _mean(total, _noise(plan, key, total), _realised(batch))
    return mean, batch.overflow


def noise_on_realised_mean(model, plan, params, data, key):
    """The mean is over the realised batch, but its noise is for the expected batch size."""
    batch = _batch(plan, key)
    total = _sum(model, plan, params, data, batch)
    mean = jax.tree.map(lambda leaf: leaf / _realised(batch), total)
    added = _noise(plan, key, total, plan.clip_norm / plan.batch_size)
    return jax.tree.map(jnp.add, mean, added), batch.overflow


def fixed_size(model, plan, params, data, key):
    """Batches have a fixed size and are drawn without replacement."""
    own = stream.fold(key, dp_sgd._BATCH_TAG)
    coins = noise.ends(own, jnp.arange(plan.examples, dtype=jnp.uint32), "tail")[0]
    size = int(plan.batch_size + 0.5)
    rows = jnp.argsort(noise.uniform(coins))[:size].astype(jnp.int32)
    batch = Batch(rows, jnp.int32(size), jnp.asarray(False))
    total = _sum(model, plan, params, data, batch)
    return _mean(total, _noise(plan, key, total), plan.batch_size), batch.overflow


def unscaled_noise(model, plan, params, data, key):
    """The noise has standard deviation sigma, whatever the clipping norm C is."""
    batch = _batch(plan, key)
    total = _sum(model, plan, params, data, batch)
    mean = _mean(total, _noise(plan, key, total, 1.0), plan.batch_size)
    return mean, batch.overflow


def unclipped(model, plan, params, data, key):
    """Per-example gradients are not clipped."""
    batch = _batch(plan, key)
    total = _sum(model, plan, params, data, batch, UNCLIPPED)
    return _mean(total, _noise(plan, key, total), plan.batch_size), batch.overflow


def same_noise_every_step(model, plan, params, data, key):
    """The key of the noise does not depend on the step."""
    batch = _batch(plan, key)
    total = _sum(model, plan, params, data, batch)
    added = _noise(plan, stream.make_key(1, 2), total)
    return _mean(total, added, plan.batch_size), batch.overflow


def same_noise_every_leaf(model, plan, params, data, key):
    """All leaves of the gradient draw the same noise."""
    batch = _batch(plan, key)
    total = _sum(model, plan, params, data, batch)
    own = stream.fold(key, dp_sgd._NOISE_TAG)

    def draw(leaf):
        draws = jnp.arange(leaf.size, dtype=jnp.uint32)
        normal = noise.normal(noise.ends(own, draws, "tail")[0])
        return plan.noise_multiplier * plan.clip_norm * normal.reshape(leaf.shape)

    return _mean(total, jax.tree.map(draw, total), plan.batch_size), batch.overflow


@functools.partial(jax.jit, static_argnames=("model", "plan", "runs"))
def _shuffled(model, plan, runs, start, data, base, steps):
    size, optimiser = int(plan.batch_size), Recorder(plan)(0.1)

    def one(lane):
        key = stream.Key(base.first, base.second, lane)
        rows = jnp.arange(plan.examples, dtype=jnp.uint32)
        coins = noise.ends(stream.fold(key, 0), rows, "tail")[0]
        order = jnp.argsort(noise.uniform(coins)).astype(jnp.int32)

        def step(number, state):
            place = (number * size) % plan.examples
            here = lax.dynamic_slice_in_dim(order, place, size)
            batch = Batch(here, jnp.int32(size), jnp.asarray(False))
            total = _sum(model, plan, state.params, data, batch)
            own = stream.at_round(key, number)
            mean = _mean(total, _noise(plan, own, total), plan.batch_size)
            updates, inner = optimiser.update(mean, state.optimiser, state.params)
            params = optax.apply_updates(state.params, updates)
            return State(params, inner, state.step + 1, state.overflow)

        return likelihood_ratio(lax.fori_loop(0, steps, step, start))

    return jax.vmap(one)(jnp.arange(runs, dtype=jnp.uint32))


def shuffled_scores(model, training, data, *, runs, seed, tag) -> np.ndarray:
    """``canary_scores`` of DP-SGD that shuffles the data once and goes through it in order."""
    plan, steps = training.plan, jnp.int32(training.steps)
    data = (jnp.asarray(data[0]), jnp.asarray(data[1]))
    start = dp_sgd.initialise(model, data[0][0], Recorder(plan)(0.1), seed)
    base = stream.fold(stream.make_key(seed), tag)
    return np.asarray(_shuffled(model, plan, runs, start, data, base, steps))
