"""What every law of K promises, whatever its family."""

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from tests.repetitions.oracle import ACCURACY, EXAMPLES, SUPPORT, TAILS

FUNCTIONS_OF_U = ("pgf", "pgf_tail", "pgf_gap", "pgf_derivative_tail", "log_pgf_derivative_tail")
FUNCTIONS_OF_K = ("pmf", "cdf", "survival")


@pytest.fixture(name="law", params=EXAMPLES.values(), ids=EXAMPLES.keys())
def _law(request) -> laws.Repetitions:
    return request.param


def test_probabilities_sum_to_one_and_give_the_moments(law):
    p = law.pmf(SUPPORT)
    assert np.all(p >= 0)
    assert p.sum() == pytest.approx(1.0, abs=ACCURACY)
    mean = np.sum(p * SUPPORT)
    assert law.mean == pytest.approx(mean, rel=ACCURACY)
    variance = np.sum(p * (SUPPORT - mean) ** 2)
    assert law.variance == pytest.approx(variance, rel=1e-11, abs=1e-25)
    assert law.probability_zero == pytest.approx(p[0], rel=ACCURACY, abs=0)
    support = np.flatnonzero(p)
    assert law.minimum == support[0]
    if law.maximum is not None:
        assert law.maximum == support[-1]


def test_cdf_and_survival_are_sums_of_probabilities(law):
    p = law.pmf(SUPPORT)
    below = np.cumsum(p)
    above = np.append(np.cumsum(p[::-1])[::-1][1:], 0.0)
    np.testing.assert_allclose(law.cdf(SUPPORT), below, rtol=1e-11, atol=0)
    tail = above > 1e-10 * p[-1] if law.maximum is not None else above > 1e-30
    tail &= SUPPORT < 300  # the sums themselves are cut off at 4000
    np.testing.assert_allclose(law.survival(SUPPORT)[tail], above[tail], rtol=1e-11)


def test_generating_function_is_the_sum_of_powers(law):
    x = 1.0 - TAILS
    p = law.pmf(SUPPORT)
    powers = np.where(
        SUPPORT == 0, 1.0, np.exp(SUPPORT * np.log1p(-TAILS)[:, None])
    )  # x^k without rounding x = 1 - u
    np.testing.assert_allclose(law.pgf_tail(TAILS), powers @ p, rtol=1e-11)
    np.testing.assert_allclose(law.pgf(x), law.pgf_tail(1.0 - x), rtol=1e-11)
    gap = -np.expm1(SUPPORT * np.log1p(-TAILS)[:, None]) @ p
    np.testing.assert_allclose(law.pgf_gap(TAILS), gap, rtol=1e-11)
    k = SUPPORT[1:]
    slope = np.exp((k - 1) * np.log1p(-TAILS)[:, None]) @ (k * p[1:])
    np.testing.assert_allclose(law.pgf_derivative_tail(TAILS), slope, rtol=1e-11)
    log_slope = law.log_pgf_derivative_tail(TAILS)
    np.testing.assert_allclose(np.exp(log_slope), slope, rtol=1e-11)


def test_values_at_the_ends(law):
    assert law.pgf(1.0) == 1.0
    assert law.pgf_tail(0.0) == 1.0
    assert law.pgf_gap(0.0) == 0.0
    assert law.pgf_tail(1.0) == pytest.approx(law.probability_zero, rel=ACCURACY)
    assert law.pgf(0.0) == law.pgf_tail(1.0)
    assert law.pgf_gap(1.0) == pytest.approx(1 - law.probability_zero, rel=ACCURACY)
    assert law.pgf_derivative_tail(0.0) == pytest.approx(law.mean, rel=ACCURACY)
    assert law.pgf_derivative_tail(1.0) == pytest.approx(law.pmf(1), rel=1e-11)
    assert laws.success_probability(law, 1e-18) == pytest.approx(1e-18 * law.mean, rel=1e-10, abs=0)


def test_outside_the_support(law):
    assert law.pmf(-1) == law.cdf(-1) == 0.0
    assert law.survival(-1) == 1.0
    assert law.pmf(law.minimum - 1) == law.cdf(law.minimum - 1) == 0.0
    assert law.survival(law.minimum - 1) == 1.0
    assert law.pmf(law.minimum + 0.5) == 0.0
    assert law.cdf(law.minimum + 0.5) == law.cdf(law.minimum)
    assert law.survival(law.minimum + 0.5) == law.survival(law.minimum)
    assert law.cdf(np.inf) == 1.0
    assert law.survival(np.inf) == law.pmf(np.inf) == 0.0
    if law.maximum is not None:
        assert law.cdf(law.maximum) == 1.0
        assert law.survival(law.maximum) == law.pmf(law.maximum + 1) == 0.0


def test_functions_keep_shapes_and_are_float64(law):
    grid = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    for name in (*FUNCTIONS_OF_U, *FUNCTIONS_OF_K):
        function = getattr(law, name)
        value = function(grid)
        assert value.shape == grid.shape, name
        assert value.dtype == np.float64, name
        assert value[0, 0] == pytest.approx(function(0), rel=1e-14), name
        assert value[0, 1] == pytest.approx(function(1), rel=1e-14), name
        assert np.ndim(function(1)) == 0, name
        assert function(np.zeros((0, 2))).shape == (0, 2), name
        assert function([1.0, 0.0]).shape == (2,), name


def test_tails_outside_the_unit_interval_are_refused(law):
    for name in FUNCTIONS_OF_U:
        for bad in (-1e-6, 1.000001, np.nan, np.inf, [0.5, 2.0], "half"):
            with pytest.raises(InputError, match=r"must (be numbers|lie) in \[0, 1\]"):
                getattr(law, name)(bad)


def test_rounding_errors_of_probabilities_are_clipped(law):
    assert law.pgf_gap(1.0 + 1e-13) == law.pgf_gap(1.0)
    assert law.pgf_gap(-1e-13) == 0.0


def test_counts_that_are_no_numbers_are_refused(law):
    for name in FUNCTIONS_OF_K:
        with pytest.raises(InputError, match="k holds NaN"):
            getattr(law, name)([1.0, np.nan])
        with pytest.raises(InputError, match="k must be numbers"):
            getattr(law, name)("three")


def test_families_are_listed(law):
    assert law.family in laws.FAMILIES
