"""Planted faults in DP-SGD are caught, and DP-SGD without them passes the same tests.

Noise that is wrong or used twice is in ``test_noise``; audits of faults in ``test_audit``.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import stream
from jaxsel.training import dp_sgd
from jaxsel.training.canaries import ConstantClassifier, WithCanaries, blank_out, blanks
from jaxsel.training.dp_sgd import noisy_gradient
from tests.conftest import ALPHA, seed
from tests.training import faults

EXAMPLES, CLIP, KEYS = 8, 0.5, 64
COUPLED_FAULTS = (faults.realised_mean, faults.noise_on_realised_mean, faults.unclipped)


def _vector(tree) -> np.ndarray:
    leaves = [np.asarray(x, np.float64).reshape(KEYS, -1) for x in jax.tree.leaves(tree)]
    return np.concatenate(leaves, axis=1)


@functools.cache
def moves(gradient) -> np.ndarray:
    """How far the noisy sum moves, in units of C, when the last example is removed.

    Coins and noise are addressed by example and by parameter, so the two runs share them:
    what is left is what that example did. Float["keys"].
    """
    model = WithCanaries(ConstantClassifier(), EXAMPLES)
    images, _ = blanks(EXAMPLES)
    labels = 2 + np.arange(EXAMPLES, dtype=np.int32)  # a canary each
    params = dp_sgd.initialise(model, jnp.asarray(images[0]), optax.sgd(0.1), 1).params
    run = stream.make_key(seed(), 5)

    data = (images, labels)
    plan = dp_sgd.recipe(EXAMPLES, EXAMPLES / 2, clip_norm=CLIP, clipping="plain")

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(None, 0))
    def noisy(data, step):
        return gradient(model, plan, params, data, stream.at_round(run, step, first=0))[0]

    steps = jnp.arange(KEYS, dtype=jnp.uint32)
    with_it, without = (
        _vector(noisy(jax.tree.map(jnp.asarray, here), steps))
        for here in (data, blank_out(data, EXAMPLES - 1))
    )
    gap = (with_it - without) * plan.batch_size
    return np.linalg.norm(gap, axis=1) / CLIP


def test_removing_an_example_moves_the_sum_by_at_most_c():
    found = moves(noisy_gradient)
    # the sums are float32, of norm up to 8 C + noise
    assert np.all(found < 1.0 + 1e-4)
    inside = found > 0.5
    assert np.all(found[inside] > 1.0 - 1e-3)
    assert np.all(found[~inside] < 1e-4)
    assert stats.binomtest(int(inside.sum()), KEYS, 0.5).pvalue > ALPHA


@pytest.mark.parametrize("fault", COUPLED_FAULTS)
def test_faults_of_sensitivity_are_caught(fault):
    assert moves(fault).max() > 1.05


SIZE_PLAN = dp_sgd.recipe(12, 4.0, noise_multiplier=0.0, clipping="plain")


def batch_sizes(gradient) -> np.ndarray:
    """Sizes of the batches that enter the sum: every example adds C to one parameter."""
    model = WithCanaries(ConstantClassifier(), 1)
    images = jnp.asarray(blanks(12)[0])
    data = (images, jnp.full(12, 2, jnp.int32))
    params = dp_sgd.initialise(model, images[0], optax.sgd(0.1), 0).params
    run = stream.make_key(seed(), 6)

    def one(step):
        key = stream.at_round(run, step, first=0)
        return gradient(model, SIZE_PLAN, params, data, key)[0]["canaries"][0]

    found = jax.jit(jax.vmap(one))(jnp.arange(20_000, dtype=jnp.uint32))
    sizes = -np.asarray(found) * SIZE_PLAN.batch_size
    assert np.abs(sizes - np.round(sizes)).max() < 1e-2
    return np.round(sizes).astype(int)


def size_pvalue(sizes: np.ndarray) -> float:
    counts = np.bincount(sizes, minlength=13)
    return goodness_of_fit(counts, stats.binom.pmf(np.arange(13), 12, 4.0 / 12.0))


def test_summed_batches_are_poisson_and_fixed_ones_are_caught():
    assert size_pvalue(batch_sizes(noisy_gradient)) > ALPHA
    assert size_pvalue(batch_sizes(faults.fixed_size)) < ALPHA
    # power: a rate 3 % too high is seen
    other = np.random.default_rng(seed()).binomial(12, 1.03 / 3.0, 20_000)
    assert size_pvalue(other) < ALPHA
