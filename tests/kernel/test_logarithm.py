"""The logarithms: of float32 against float64, of float64 against mpmath."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxsel.kernel.logarithm import join, log, log1p, split

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
    exponent, fraction = (np.asarray(part, dtype=np.float64) for part in jax.jit(split)(POINTS))
    np.testing.assert_array_equal(2.0**exponent * (1 + fraction), POINTS)
    assert fraction.min() >= 0.5**0.5 - 1 - 2.0**-24
    assert fraction.max() < 2**0.5 - 1 + 2.0**-24


def test_join_keeps_tiny_fractions():
    tiny = np.float32(2.0) ** -np.arange(20, 120, dtype=np.float32)
    found = join(jnp.zeros_like(tiny), -jnp.asarray(tiny))
    np.testing.assert_allclose(found, np.log1p(-tiny.astype(np.float64)), rtol=2.0**-22)


# --- float64 --------------------------------------------------------------------------

NEAR_ONE = RANDOM.choice([-1, 1], 1000) * 2.0 ** RANDOM.uniform(-52, -1.1, 1000)
DOUBLES = np.concatenate(
    [
        2.0 ** RANDOM.uniform(-1000, 1000, 1000),
        1.0 + NEAR_ONE,
        2.0 ** np.arange(-1022.0, 1024.0, 31.0),
        [0.5**0.5, np.nextafter(0.5**0.5, 0), np.finfo(float).tiny, np.finfo(float).max],
    ]
)
FRACTIONS = np.concatenate(
    [
        NEAR_ONE,
        -(2.0 ** -np.arange(1.0, 1022.0, 17.0)),
        2.0 ** RANDOM.uniform(-900, 300, 1000),
        [0.0, -0.29, -0.3, 0.41, 0.42, -1 + 2.0**-53, 1.0, np.nextafter(1, 2)],
    ]
)


def units(function, exact, points) -> np.ndarray:
    """Errors in units of the last place."""
    with jax.enable_x64(True), mpmath.workdps(60):
        found = np.asarray(jax.jit(function)(points))
        assert found.dtype == np.float64
        right = [exact(mpmath.mpf(float(x))) for x in points]
        gaps = [float(mpmath.mpf(float(a)) - b) for a, b in zip(found, right, strict=True)]
        return np.abs(gaps) / np.spacing(np.abs(np.array(right, dtype=float)))


@pytest.mark.parametrize("fused", [False, True])
def test_the_wide_logarithm_is_right_to_its_last_place(fused):
    assert units(functools.partial(log, fused=fused), mpmath.log, DOUBLES).max() < 1.0


def test_the_wide_logarithm_of_one_more_is_right_to_its_last_places():
    between = np.concatenate([-RANDOM.uniform(0.29, 1, 2000), RANDOM.uniform(0.4, 3, 2000)])
    assert units(log1p, mpmath.log1p, np.append(FRACTIONS, between)).max() < 3.0


def test_wide_numbers_are_taken_apart_exactly():
    with jax.enable_x64(True):
        exponent, fraction = (np.asarray(part) for part in jax.jit(split)(DOUBLES))
    np.testing.assert_array_equal(np.ldexp(1 + fraction, exponent.astype(int)), DOUBLES)
    assert fraction.min() >= 0.5**0.5 - 1 - 2.0**-52
    assert fraction.max() < 2**0.5 - 1 + 2.0**-52


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_more_than_nothing_has_no_logarithm(dtype):
    with jax.enable_x64(True):
        assert float(log1p(jnp.asarray(0, dtype))) == 0.0
