"""A candidate at a time is all candidates at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.top_k import exponential, noisy_gaps
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, rows, stream


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


@pytest.mark.parametrize("shape", [(2**24 + 1, 1), (2**23 + 1, 2)])
def test_argmax_refuses_more_candidates_than_float32_counts(shape):
    def best(values):
        return rows.argmax(lambda step: [values[step]] * shape[1], shape, np.float32)

    least = (2**24 // shape[1], shape[1])
    assert int(np.float32(2**24)) == 2**24 == int(np.float32(2**24 + 1))
    table = jax.ShapeDtypeStruct((shape[0],), np.float32)
    with pytest.raises(InputError, match="there may be at most 16777216"):
        jax.eval_shape(best, table)
    shape = least
    assert jax.eval_shape(best, table).shape == ()


def test_mechanisms_that_look_for_a_largest_refuse_too_many():
    levels = jax.ShapeDtypeStruct((2**24 + 1,), np.float32)
    key = stream.make_key(1)
    with pytest.raises(InputError, match="at most 16777216"):
        jax.eval_shape(lambda x: exponential._peeled(key, x, np.int32(1), "tail"), levels)
    whole = jax.ShapeDtypeStruct((2**24 + 1,), np.int32)
    many = noisy_gaps.Contest(levels, levels, whole, whole)
    with pytest.raises(InputError, match="at most 16777216"):
        jax.eval_shape(lambda c: noisy_gaps.winner(key, c, "gumbel", "tail"), many)
    with pytest.raises(InputError, match="at most 16777216"):
        noisy_max().prepare(np.zeros(2**24 + 1), {"epsilon": 1.0})
