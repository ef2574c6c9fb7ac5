"""The float32 logarithm, against float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.logarithm import join, log, split

RANDOM = np.random.default_rng(20260101)
POINTS = np.concatenate(
    [
        2.0 ** RANDOM.uniform(-120, 120, 200_000),
        1.0 + np.linspace(-0.5, 1.0, 200_001),
        1.0 + RANDOM.choice([-1, 1], 50_000) * 2.0 ** RANDOM.uniform(-23, -1, 50_000),
        2.0 ** np.arange(-126.0, 128.0),
        [np.float32(0.5) ** 0.5, np.finfo(np.float32).tiny],
    ]
).astype(np.float32)


def test_log_is_right_to_its_last_places():
    found = np.asarray(jax.jit(log)(POINTS), dtype=np.float64)
    exact = np.log(POINTS.astype(np.float64))
    zero = exact == 0
    assert np.all(found[zero] == 0)
    error = np.abs(found[~zero] / exact[~zero] - 1)
    # One unit in the last place of float32 is up to 1.2e-7.
    assert error.max() < 2 * 2.0**-23


def test_split_takes_the_number_apart_exactly():
    exponent, fraction = (
        np.asarray(part, dtype=np.float64) for part in jax.jit(split)(POINTS)
    )
    np.testing.assert_array_equal(2.0**exponent * (1 + fraction), POINTS)
    assert fraction.min() >= 0.5**0.5 - 1 - 2.0**-24
    assert fraction.max() < 2**0.5 - 1 + 2.0**-24


def test_join_keeps_tiny_fractions():
    tiny = np.float32(2.0) ** -np.arange(20, 120, dtype=np.float32)
    found = join(jnp.zeros_like(tiny), -jnp.asarray(tiny))
    np.testing.assert_allclose(found, np.log1p(-tiny.astype(np.float64)), rtol=2.0**-22)


@pytest.mark.parametrize("x", [0.3, 1.0, 7e-9])
def test_float64_is_the_built_in_logarithm(x):
    with jax.enable_x64(True):
        assert float(log(jnp.float64(x))) == pytest.approx(np.log(x), rel=1e-15)
