"""1 - exp(-x) of float64 against mpmath."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxsel.kernel.exponential import one_minus_exp
from tests.kernel.test_logarithm import units

RANDOM = np.random.default_rng(20261129)
HALVES = (np.arange(64) + 0.5) * np.log(2)  # where the multiple of log 2 changes
POINTS = np.concatenate(
    [
        2.0 ** RANDOM.uniform(-1000, 6, 2000),
        RANDOM.uniform(0, 3, 2000),
        *(HALVES * (1 + step * 2.0**-51) for step in (-1, 0, 1)),
        [np.finfo(float).tiny, 43.9, 44.0, 44.1, 700.0, 1e300],
    ]
)


def test_it_is_right_to_its_last_places():
    # Half a unit for the last difference, and what is taken away, at most .71 of the result, or the
    # result itself, has one and a half.
    assert units(one_minus_exp, lambda x: -mpmath.expm1(-x), POINTS).max() < 2.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_its_ends(dtype):
    with jax.enable_x64(True):
        found = one_minus_exp(jnp.asarray([0, np.inf], dtype))
        assert found.dtype == dtype
        assert found.tolist() == [0, 1]
