"""Special functions against mpmath where cancellation would hurt."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from jaxsel.repetitions import special
from tests.repetitions.oracle import worst


@pytest.mark.parametrize("b", [1e-6, 0.3, 1.0, 9.99, 10.0, 1e3, 1e8])
@pytest.mark.parametrize("a", [1.0, 5.0, 10.0, 1e4, 1e8, 1e12])
def test_log_beta(a, b):
    with mpmath.workdps(60):
        exact = mpmath.loggamma(mpf(a)) + mpmath.loggamma(mpf(b)) - mpmath.loggamma(mpf(a) + mpf(b))
    # absolute: what matters is the relative accuracy of the exponential
    scale = 1 + min(a, b)
    assert abs(float(special.log_beta(a, b)) - float(exact)) < 1e-14 * scale + abs(
        float(exact) * 4e-16
    )
    assert special.log_beta(a, b) == special.log_beta(b, a)


def test_stirling_remainder():
    z = np.array([1e-3, 0.5, 1.0, 5.0, 9.999, 10.0, 10.001, 50.0, 1e6, 1e12])
    with mpmath.workdps(60):
        exact = [
            mpmath.loggamma(mpf(v))
            - ((mpf(v) - 0.5) * mpmath.log(v) - mpf(v) + mpmath.log(2 * mpmath.pi) / 2)
            for v in z
        ]
    assert worst(special.stirling_remainder(z), exact) < 1e-12


@pytest.mark.parametrize("b", [-700.0, -0.3, -1e-9, 0.0, 1e-9, 0.4999, 0.6, 30.0])
@pytest.mark.parametrize("a", [1e-12, 1e-3, 0.4999, 0.5001, 40.0])
def test_exprel_difference(a, b):
    with mpmath.workdps(60):
        exact = mpmath.expm1(a) / mpf(a) - (mpmath.expm1(b) / mpf(b) if b else 1)
    value = special.exprel_difference(a, b)
    if max(abs(a), abs(b)) < 0.5:
        assert value == pytest.approx(float(exact), rel=1e-14, abs=0)
    else:  # a few roundings of the larger term
        assert value == pytest.approx(float(exact), abs=2e-15 * math.exp(max(a, b, 0)))


@pytest.mark.parametrize("x", [-800.0, -1.0, -1e-12, 0.0, 1e-12, 1.0, 800.0, 1e5])
def test_log_exprel(x):
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.expm1(x) / mpf(x)) if x else mpf(0)
    assert special.log_exprel(x) == pytest.approx(float(exact), rel=1e-14, abs=1e-16)


@pytest.mark.parametrize("length", [1, 2, 3, 17, 64, 1000])
def test_power_sums(length):
    rng = np.random.default_rng(length)
    coefficients = rng.random(length)
    log_x = np.array([[-np.inf, -800.0, -5.0], [-1e-3, -1e-12, 0.0]])
    value = special.power_sum(coefficients, log_x)
    with np.errstate(invalid="ignore"):
        exponents = np.arange(length) * log_x[..., None]
    powers = np.where(np.arange(length) == 0, 1.0, np.exp(exponents))
    np.testing.assert_allclose(value, np.sum(powers * coefficients, -1), rtol=1e-13)
    np.testing.assert_allclose(
        special.log_power_sum(coefficients, log_x), np.log(value), atol=1e-13
    )


def test_power_sums_of_many_points_are_chunked_without_a_seam():
    coefficients = np.random.default_rng(0).random(100_000)
    log_x = -np.geomspace(1e-9, 1.0, 6000)
    whole = special.power_sum(coefficients, log_x)
    parts = [special.power_sum(coefficients, part) for part in np.split(log_x, 6)]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-13)
    assert np.all(np.diff(whole) < 0)


def test_log_power_sum_below_the_float64_range():
    coefficients = np.array([0.0, 0.0, 0.25, 0.75])
    assert special.log_power_sum(coefficients, np.array(-500.0)) == pytest.approx(
        math.log(0.25) - 1000.0 + math.log1p(3 * math.exp(-500.0)), rel=1e-15
    )
    with np.errstate(divide="ignore"):
        none = special.log_power_sum(np.zeros(3), np.array([-1.0]))
    np.testing.assert_array_equal(none, -np.inf)


def test_suffix_sums():
    np.testing.assert_array_equal(special.suffix_sums(np.array([1.0, 2.0, 4.0])), [7.0, 6.0, 4.0])
