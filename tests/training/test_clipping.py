"""Clipped sums: every method gives the same one, and no example moves it by more than C."""

import functools
import itertools
import math

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.training.clipping import clip_factors, microbatched_sum, plain_sum
from jaxsel.training.ghost import ghost_norms, ghost_sum
from jaxsel.training.network import ConvolutionalNetwork, cross_entropy, network, patches

CLIP, ROWS = 0.5, 20


def leaves(tree) -> np.ndarray:
    return np.concatenate([np.asarray(x, np.float64).ravel() for x in jax.tree.leaves(tree)])


@pytest.fixture(scope="module")
def setting():
    generator = np.random.default_rng(0)
    images = generator.random((24, 12, 12, 1), dtype=np.float32)
    labels = generator.integers(0, 10, 24).astype(np.int32)
    model = network()
    params = jax.jit(model.init)(jax.random.key(1), images[:1])["params"]
    return model, params, (jnp.asarray(images), jnp.asarray(labels))


@functools.cache
def methods(model):
    """Compiled once for all tests, which all pass lists of ROWS rows."""
    loss = functools.partial(cross_entropy, model)
    found = {
        "plain": functools.partial(plain_sum, loss),
        "ghost": functools.partial(ghost_sum, model),
        "microbatch 8": functools.partial(microbatched_sum, loss, microbatch=8),
        "microbatch 5": functools.partial(microbatched_sum, loss, microbatch=5),
    }
    return {name: jax.jit(method) for name, method in found.items()}


def rows_of(values) -> jax.Array:
    return jnp.asarray(np.resize(np.asarray(values, np.int32), ROWS))


class _FlaxNetwork(nn.Module):
    """The same network of Flax's own convolutions."""

    strides: tuple[int, ...]

    @nn.compact
    def __call__(self, x):
        for features, stride in zip((32, 32, 64, 64, 64), self.strides, strict=True):
            x = nn.relu(nn.Conv(features, (3, 3), stride)(x))
        return nn.Dense(10)(x.mean(axis=(-3, -2)))


@pytest.mark.parametrize("strides", ["strided", "dense"])
@pytest.mark.parametrize("size", [8, 11])
def test_network_is_the_one_of_flax_convolutions(setting, strides, size):
    model, params = network(strides), setting[1]
    images = jax.random.uniform(jax.random.key(0), (3, size, size, 1))
    other = _FlaxNetwork(tuple(model.strides))

    with jax.numpy_rank_promotion("allow"):
        # the shapes do not depend on the strides: fresh parameters would cost compilation
        for each in (model, other):
            fresh = jax.eval_shape(each.init, jax.random.key(1), images)["params"]
            assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, fresh)
        expected = jax.jit(other.apply)({"params": params}, images)
        found = jax.jit(model.apply)({"params": params}, images)
    assert np.allclose(found, expected, atol=1e-5)
    assert sum(x.size for x in jax.tree.leaves(params)) == 102_570


def test_patches_are_the_neighbourhoods_of_the_pixels():
    image = np.arange(1.0, 26.0).reshape(5, 5, 1)
    found = np.asarray(patches(jnp.asarray(image), 1))
    assert found.shape == (5, 5, 9)
    assert found[2, 3].tolist() == image[1:4, 2:5, 0].ravel().tolist()
    assert found[0, 0].tolist() == [0, 0, 0, 0, 1, 2, 0, 6, 7]


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("shape", [(5, 8, 2), (8, 5, 1), (6, 9, 3), (1, 4, 1)])
def test_patches_of_images_that_are_no_squares(shape, stride):
    """Pixel by pixel: of an odd number of padded rows the last side has one more."""
    image = np.random.default_rng(2).random((2, *shape), np.float32)
    found = np.asarray(patches(jnp.asarray(image), stride))
    height, width, channels = shape
    rows, columns = math.ceil(height / stride), math.ceil(width / stride)
    assert found.shape == (2, rows, columns, 9 * channels)
    above, left = (
        max((n - 1) * stride + 3 - size, 0) // 2 for n, size in ((rows, height), (columns, width))
    )
    for number, row, column in itertools.product(range(2), range(rows), range(columns)):
        expected = []
        for y, x, channel in itertools.product(range(3), range(3), range(channels)):
            down, across = row * stride + y - above, column * stride + x - left
            inside = 0 <= down < height and 0 <= across < width
            expected.append(image[number, down, across, channel] if inside else 0.0)
        assert found[number, row, column].tolist() == expected


def test_bad_networks_are_refused():
    with pytest.raises(InputError, match="strides"):
        network("wide")
    with pytest.raises(InputError, match="classes is 1; it must be a whole number >= 2"):
        network(classes=1)
    assert network(classes=2) == ConvolutionalNetwork((1, 2, 1, 2, 1), 2)
    assert network("dense", 3) == ConvolutionalNetwork((1, 1, 1, 1, 1), 3)
    assert network() == ConvolutionalNetwork((1, 2, 1, 2, 1), 10)


@pytest.mark.parametrize("count", [0, 1, 13, 20])
def test_every_method_gives_the_clipped_sum(setting, count):
    model, params, data = setting
    rows = rows_of(np.random.default_rng(1).permutation(24)[:20])
    # the oracle: one gradient at a time, clipped and added in float64
    loss = functools.partial(cross_entropy, model)
    one = jax.jit(jax.grad(loss))
    expected = np.zeros(102_570)
    for row in rows[:count]:
        gradient = leaves(one(params, (data[0][row], data[1][row])))
        norm = np.linalg.norm(gradient)
        assert norm > CLIP
        expected += gradient * min(1.0, CLIP / norm)
    for name, method in methods(model).items():
        found = method(params, data, rows, jnp.int32(count), CLIP)
        tolerance = 1.2e-4 * CLIP * max(count, 1) / np.sqrt(102_570)
        assert np.linalg.norm(leaves(found) - expected) < 1.2e-4 * CLIP * max(count, 1), name
        assert np.abs(leaves(found) - expected).max() < 100 * tolerance, name


def test_gradients_within_the_clip_norm_are_left_alone(setting):
    model, params, data = setting
    rows, large = rows_of(np.arange(6)), 1e6
    sums = [leaves(m(params, data, rows, jnp.int32(6), large)) for m in methods(model).values()]
    loss = functools.partial(cross_entropy, model)

    def total(params):
        first = (data[0][:6], data[1][:6])
        return jax.vmap(loss, in_axes=(None, 0))(params, first).sum()

    expected = leaves(jax.jit(jax.grad(total))(params))
    for found in sums:
        assert np.allclose(found, expected, rtol=2e-4, atol=1e-6)


def test_ghost_norms_are_the_norms(setting):
    model, params, data = setting
    gradient = jax.grad(functools.partial(cross_entropy, model))
    gradients = jax.jit(jax.vmap(gradient, in_axes=(None, 0)))(params, data)
    squared = sum(
        np.square(np.asarray(leaf, np.float64)).reshape(24, -1).sum(axis=1)
        for leaf in jax.tree.leaves(gradients)
    )
    found = jax.jit(functools.partial(ghost_norms, model))(params, *data)
    assert np.allclose(found, squared, rtol=1e-4)


@pytest.mark.parametrize("kind", ["ordinary", "huge", "infinite", "nan", "wrong label"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-4])
def test_one_example_moves_the_sum_by_at_most_c(setting, kind, scale):
    """The contract of the accounting, on inputs chosen to break it."""
    model, params, data = setting
    images, labels = np.array(data[0]), np.array(data[1])
    params = jax.tree.map(lambda leaf: leaf * np.float32(scale), params)
    last = 9
    if kind == "huge":
        images[last] = 1e30
    elif kind == "infinite":
        images[last] = np.inf
    elif kind == "nan":
        images[last, 0, 0] = np.nan
    elif kind == "wrong label":
        images[last] *= 1e4
        labels[last] = (labels[last] + 5) % 10
    changed = (jnp.asarray(images), jnp.asarray(labels))
    rows, itself = rows_of(np.arange(10)), rows_of([last])
    for name, method in methods(model).items():
        with_it = leaves(method(params, changed, rows, jnp.int32(10), CLIP))
        without = leaves(method(params, changed, rows, jnp.int32(9), CLIP))
        alone = leaves(method(params, changed, itself, jnp.int32(1), CLIP))
        assert np.all(np.isfinite(with_it)), name
        # a single example, exactly; a difference of sums, up to rounding of the sums
        assert np.linalg.norm(alone) <= CLIP, name
        assert np.linalg.norm(with_it - without) <= CLIP * (1 + 1e-5), name


def test_factors_clip_and_drop():
    squared = jnp.asarray([0.0, 0.04, 4.0, jnp.inf, jnp.nan, 4.0])
    keep = jnp.asarray([True, True, True, True, True, False])
    found = np.asarray(clip_factors(squared, CLIP, keep))
    assert found[:2].tolist() == [1.0, 1.0]
    assert found[2] == pytest.approx(CLIP * (1.0 - 2.0**-14) / 2.0, rel=2e-7)
    assert found[2] * 2.0 <= CLIP
    assert found[3:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("examples", [3, 29])
def test_parameters_of_every_shape_are_clipped_together(examples):
    """A loss that is linear in them: each example's gradient is the example itself."""
    shapes = {"one": (), "few": (4,), "tall": (7, 2), "wide": (2, 7), "kernel": (3, 2, 2, 3)}
    generator = np.random.default_rng(3)
    sizes = generator.uniform(0.01, 0.2, examples)
    data = {
        name: np.float32(generator.normal(size=(examples, *shape)))
        * np.float32(sizes).reshape(-1, *[1] * len(shape))
        for name, shape in shapes.items()
    }
    params = {name: jnp.zeros(shape) for name, shape in shapes.items()}

    def loss(params, example):
        return sum(jnp.sum(params[name] * example[name]) for name in shapes)

    squared = sum(
        np.square(leaf.astype(np.float64)).reshape(examples, -1).sum(1) for leaf in data.values()
    )
    lengths = np.sqrt(squared)
    assert lengths.min() < 0.5 < lengths.max()
    weights = np.minimum(1.0, 0.5 / lengths)
    given = (params, jax.tree.map(jnp.asarray, data), jnp.arange(examples), jnp.int32(examples))
    with jax.numpy_rank_promotion("allow"):
        for method in (plain_sum, functools.partial(microbatched_sum, microbatch=17)):
            found = jax.jit(functools.partial(method, loss))(*given, 0.5)
            for name, leaf in data.items():
                expected = np.tensordot(weights, leaf.astype(np.float64), 1)
                assert found[name].shape == shapes[name]
                np.testing.assert_allclose(found[name], expected, rtol=2e-4, atol=2e-5)


def test_unclipped_sums_break_the_contract(setting):
    """Power: the contract's test would notice a sum that is not clipped."""
    model, params, data = setting
    found = methods(model)["plain"](params, data, rows_of([0]), jnp.int32(1), 1e6)
    assert np.linalg.norm(leaves(found)) > CLIP


def test_classes_can_be_chosen():
    model = ConvolutionalNetwork(classes=3)
    logits, _ = jax.eval_shape(model.init_with_output, jax.random.key(0), jnp.zeros((2, 8, 8, 1)))
    assert logits.shape == (2, 3)
