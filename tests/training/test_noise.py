"""The noise of DP-SGD: its law, its scale, and that none of it is used twice."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import special, stats

from jaxsel.kernel import stream
from jaxsel.training import dp_sgd
from jaxsel.training.canaries import Linear, WithCanaries, blanks
from jaxsel.training.dp_sgd import noisy_gradient
from tests.conftest import ALPHA, seed
from tests.training import faults

STEPS, SIDE, CLASSES, CANARIES = 1500, 8, 10, 50
# 700 numbers a step in three leaves: more than a million
PLAN = dp_sgd.recipe(6, 3.0, clip_norm=0.5, noise_multiplier=1.3, clipping="plain")
SCALE = 1.3 * 0.5 / 3.0


@functools.cache
def samples(gradient) -> list[np.ndarray]:
    """Noisy gradients of no data, Float["steps numbers"] for each leaf, over SCALE."""
    model = WithCanaries(Linear(CLASSES), CANARIES)
    data = tuple(jnp.asarray(leaf) for leaf in blanks(6, (SIDE, SIDE, 1)))
    params = dp_sgd.initialise(model, data[0][0], optax.sgd(0.1), 0).params
    run = stream.make_key(seed(), 11)

    def one(step):
        return gradient(model, PLAN, params, data, stream.at_round(run, step, first=0))[0]

    found = jax.jit(jax.vmap(one))(jnp.arange(STEPS, dtype=jnp.uint32))
    return [np.asarray(x).reshape(STEPS, -1) / SCALE for x in jax.tree.leaves(found)]


def shape_pvalue(numbers: np.ndarray) -> float:
    """Kolmogorov & Smirnov against the standard normal law; for many numbers."""
    found = special.ndtr(np.sort(numbers).astype(np.float64))
    steps = np.arange(numbers.size + 1) / numbers.size
    distance = max(np.max(steps[1:] - found), np.max(found - steps[:-1]))
    return float(stats.kstwobign.sf(distance * np.sqrt(numbers.size)))


def scale_pvalue(numbers: np.ndarray) -> float:
    """Chi-squared test of variance 1, both sides."""
    total = float(np.sum(np.square(numbers, dtype=np.float64)))
    law = stats.chi2(numbers.size)
    return 2.0 * min(law.cdf(total), law.sf(total))


def correlation_pvalue(a: np.ndarray, b: np.ndarray) -> float:
    return float(stats.pearsonr(a, b).pvalue)


def all_of(gradient) -> np.ndarray:
    return np.concatenate([leaf.ravel() for leaf in samples(gradient)])


def test_noise_is_normal_with_the_stated_deviation():
    numbers = all_of(noisy_gradient)
    assert numbers.size > 1_000_000
    assert shape_pvalue(numbers) > ALPHA
    assert scale_pvalue(numbers) > ALPHA
    # power: a wrong scale is seen
    assert shape_pvalue(1.02 * numbers) < ALPHA
    assert shape_pvalue(0.98 * numbers) < ALPHA
    assert scale_pvalue(1.01 * numbers) < ALPHA
    assert scale_pvalue(0.99 * numbers) < ALPHA


def test_every_leaf_has_the_same_noise_law():
    for leaf in samples(noisy_gradient):
        assert scale_pvalue(leaf.ravel()) > ALPHA
        assert shape_pvalue(leaf.ravel()) > ALPHA


def test_tails_are_normal():
    """Counts beyond 3, 3.5 and 4 deviations, where noise protects."""
    numbers = np.abs(all_of(noisy_gradient))
    for limit in (3.0, 3.5, 4.0):
        beyond = int(np.sum(numbers > limit))
        chance = 2.0 * stats.norm.sf(limit)
        assert stats.binomtest(beyond, numbers.size, chance).pvalue > ALPHA


def test_noise_of_steps_and_of_leaves_is_uncorrelated():
    leaves = samples(noisy_gradient)
    everything = np.concatenate(leaves, axis=1)
    for lag in (1, 2, 7):
        pair = everything[lag:].ravel(), everything[:-lag].ravel()
        assert correlation_pvalue(*pair) > ALPHA
    width = min(leaf.shape[1] for leaf in leaves)
    for i, first in enumerate(leaves):
        for second in leaves[:i]:
            pair = first[:, :width].ravel(), second[:, :width].ravel()
            assert correlation_pvalue(*pair) > ALPHA
    # power: one part in a hundred of the last step's noise is seen
    mixed = everything[1:] + 0.01 * everything[:-1]
    assert correlation_pvalue(mixed.ravel(), everything[:-1].ravel()) < ALPHA


def test_faulty_noise_laws_are_caught():
    assert scale_pvalue(all_of(faults.unscaled_noise)) < ALPHA
    assert scale_pvalue(all_of(faults.realised_mean)) < ALPHA
    # even if the mean scale were right: the law is a mixture
    mixed = all_of(faults.realised_mean)
    assert shape_pvalue(mixed / mixed.std()) < ALPHA


class Hashes(NamedTuple):
    """Addresses (key words, counter words) that a program hashed, one list a run.

    Attributes:
      all: of keys and of random numbers.
      drawn: of random numbers.
    """

    all: list[list[tuple[int, ...]]]
    drawn: list[list[tuple[int, ...]]]


def hashes(monkeypatch, gradient) -> Hashes:
    """What two runs of three steps hash while they run."""
    found = Hashes([[], []], [[], []])
    current = 0

    def watch(lists, original, address):
        def record(*words):
            both = np.broadcast_arrays(*(np.asarray(word) for word in words))
            rows = np.stack([word.ravel() for word in both], axis=1)
            lists[current].extend(map(tuple, rows.tolist()))

        def watched(*arguments):
            words = [jnp.asarray(word, jnp.uint32) for word in address(*arguments)]
            jax.debug.callback(record, *words)
            return original(*arguments)

        return watched

    threefry, words = stream.threefry_2x32, stream.words
    # a recipe of this test alone: what is compiled here is of no use elsewhere
    plan = dp_sgd.recipe(5, 2.0, noise_multiplier=1.7, clipping="plain")
    model = Linear(3)
    images = jnp.asarray(np.random.default_rng(0).random((5, 2, 2, 1), np.float32))
    data = (images, jnp.asarray([0, 1, 2, 0, 1], jnp.int32))
    keys = [stream.make_key(7, run) for run in range(2)]
    start = dp_sgd.initialise(model, images[0], optax.sgd(0.1), 0)
    monkeypatch.setattr(stream, "threefry_2x32", watch(found.all, threefry, lambda *words: words))
    monkeypatch.setattr(stream, "words", watch(found.drawn, words, lambda key, draw: (*key, draw)))
    for current, key in enumerate(keys):  # noqa: B007
        end = dp_sgd.train(
            model,
            plan,
            optax.sgd,
            start,
            data,
            key,
            jnp.float32(0.1),
            jnp.int32(3),
            gradient=gradient,
        )
        assert int(end.step) == 3
        jax.effects_barrier()
    return found


def distinct(found: Hashes) -> bool:
    """Whether no run hashes twice, and no number is drawn twice in either run."""
    drawn = found.drawn[0] + found.drawn[1]
    runs = [len(set(run)) == len(run) for run in found.all]
    return all(runs) and len(set(drawn)) == len(drawn)


def test_no_address_is_hashed_twice(monkeypatch):
    """One key, one use: no coin and no noise can repeat."""
    found = hashes(monkeypatch, noisy_gradient)
    # a step: a coin for each of 5 examples, a number for each of 15 parameters, and
    # keys for the step, the batch, the noise and its 2 leaves
    assert [len(run) for run in found.drawn] == [3 * (5 + 15)] * 2
    assert [len(run) for run in found.all] == [3 * (5 + 15 + 5)] * 2
    assert distinct(found)
    # power: the same run again is a reuse
    assert not distinct(Hashes(found.all, [found.drawn[0]] * 2))


@pytest.mark.parametrize("fault", [faults.same_noise_every_step, faults.same_noise_every_leaf])
def test_reused_addresses_are_caught(monkeypatch, fault):
    found = hashes(monkeypatch, fault)
    assert len(found.all[0]) > 0
    assert not distinct(found)
