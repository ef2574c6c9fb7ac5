"""A candidate at a time is all candidates at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel import noise, rows, stream


def lanes(function):
    """``function`` of the keys of 300 trials, as the engine runs them."""
    key = stream.make_key(5)
    each = jax.vmap(lambda lane: function(stream.Key(key.first, key.second, lane)))
    return np.asarray(jax.jit(each)(jnp.arange(300, dtype=jnp.uint32)))


def test_by_row_is_the_function_of_each_row():
    table, other = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    found = rows.by_row(lambda row, number: row * number, table, other)
    np.testing.assert_array_equal(found, table * other[:, None])


@pytest.mark.parametrize("law", noise.LAWS)
def test_each_variate_is_the_variate_of_each_draw(law):
    draws = jnp.asarray([3, 0, 70_000], jnp.uint32)
    found = lanes(lambda key: noise.each_variate(law, key, draws))
    for place, draw in enumerate(draws):
        alone = lanes(lambda key, draw=draw: noise.variate(law, key, draw))
        np.testing.assert_array_equal(found[:, place], alone)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (7, 1), (40, 2)])
def test_argmax_is_the_first_of_the_largest(shape, dtype, seed):
    generator = np.random.default_rng(seed)
    with jax.enable_x64(True):
        # Few values: ties abound.
        values = generator.integers(0, 5, (200, *shape)).astype(dtype)
        values[:20] = -np.inf
        values[20:40, -1] = np.inf

        def best(table):
            def step(number):
                return [table[number, c] for c in range(shape[1])]

            return rows.argmax(step, shape, dtype)

        found = jax.jit(jax.vmap(best))(values)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, values.reshape(200, -1).argmax(1))
