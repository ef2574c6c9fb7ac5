"""Looking up by comparison is looking up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.kernel import look_up

SIZES = (1, 2, 7, look_up.SMALL, look_up.SMALL + 1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_position_is_searchsorted(size, side):
    random = np.random.default_rng(size)
    with jax.enable_x64(True):
        table = np.sort(random.integers(0, 2 * size, size) / (2 * size))
        # Between, below, above, and exactly at the entries.
        values = np.concatenate([random.random(200), table, [-1.0, 2.0]])
        found = jax.jit(jax.vmap(lambda value: look_up.position(table, value, side)))(values)
    np.testing.assert_array_equal(found, np.searchsorted(table, values, side))
    assert found.dtype == np.int32


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint32])
def test_pick_is_indexing(size, dtype):
    with jax.enable_x64(True):
        table = np.random.default_rng(size).integers(0, 2**32, size).astype(dtype)
        for index_dtype in (jnp.int32, jnp.uint32, jnp.int64):
            index = jnp.arange(size, dtype=index_dtype)
            found = jax.jit(jax.vmap(lambda i: look_up.pick(table, i)))(index)
            np.testing.assert_array_equal(found, table)
            assert found.dtype == dtype
