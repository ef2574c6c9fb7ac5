"""Expected quantiles, success probabilities and look-up tables."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from tests.repetitions.oracle import EXAMPLES, SUPPORT, truncated_negative_binomial


@pytest.fixture(name="law", params=EXAMPLES.values(), ids=EXAMPLES.keys())
def _law(request) -> laws.Repetitions:
    return request.param


def test_expected_quantile_is_its_sum(law):
    direct = np.sum(law.pmf(SUPPORT) * SUPPORT / (SUPPORT + 1))
    assert laws.expected_quantile(law) == pytest.approx(direct, rel=1e-12)


def _closed_form(eta: float, gamma: float) -> float:
    """Papernot & Steinke 2022, Equation (8)."""
    log_inverse = math.log(1 / gamma)
    if eta == 0:
        return 1 - 1 / log_inverse + gamma / (1 - gamma)
    if eta == 1:
        return 1 - (log_inverse / (1 - gamma) - 1) / (1 / gamma - 1)
    integral = (1 - gamma ** (1 - eta)) / ((1 - gamma) * (1 - eta)) - 1
    return 1 - integral / (gamma**-eta - 1)


@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.3])
@pytest.mark.parametrize("eta", [-0.5, 0.0, 0.5, 1.0, 2.0])
def test_closed_forms_of_the_expected_quantile(eta, gamma):
    law = laws.truncated_negative_binomial(eta, gamma)
    assert laws.expected_quantile(law) == pytest.approx(_closed_form(eta, gamma), rel=1e-11)
    exact = truncated_negative_binomial(eta, gamma)
    with mpmath.workdps(30):
        breaks = [mpf(0), *(1 - mpf(10) ** -j for j in range(1, 12)), mpf(1)]
        integral = 1 - mpmath.quad(exact.pgf, breaks)
    assert laws.expected_quantile(law) == pytest.approx(float(integral), rel=1e-12)


def test_closed_forms_of_the_expected_quantile_of_other_families():
    for mean in (1e-6, 0.5, 10.0, 1e6):
        expected = 1 - -math.expm1(-mean) / mean
        if mean > 0.1:  # the printed form cancels below
            assert laws.expected_quantile(laws.poisson(mean)) == pytest.approx(expected, rel=1e-13)
    assert laws.expected_quantile(laws.poisson(1e-6)) == pytest.approx(
        5e-7 - 1e-12 / 6, rel=1e-12, abs=0
    )
    for k in (1, 4, 10**9):
        assert laws.expected_quantile(laws.point_mass(k)) == pytest.approx(k / (k + 1), rel=1e-13)
    for n, p in ((12, 10 / 12), (1000, 0.01), (10**9, 1e-8)):
        expected = 1 + math.expm1((n + 1) * math.log1p(-p)) / ((n + 1) * p)
        assert laws.expected_quantile(laws.binomial(n, p)) == pytest.approx(expected, rel=1e-12)


def test_success_probability_is_the_chance_of_one_good_run():
    # Geometric: s/(gamma + (1-gamma) s) (Liu & Talwar 2019, Theorem 3.3).
    gamma = 1e-3
    s = np.array([0.0, 1e-12, 1e-3, 0.5, 1.0])
    np.testing.assert_allclose(
        laws.success_probability(laws.geometric(gamma), s),
        s / (gamma + (1 - gamma) * s),
        rtol=1e-14,
    )
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        laws.success_probability(laws.geometric(gamma), 1.5)


def test_table_is_the_distribution_function(law):
    first, table = laws.quantile_table(law)
    k = first + np.arange(len(table))
    assert table[-1] == 1.0
    assert np.all(np.diff(table) >= 0)
    np.testing.assert_allclose(table, law.cdf(k), rtol=1e-13)
    # The tails left out, and nothing more.
    assert first == law.minimum or law.cdf(first - 1) <= 2.0**-53
    assert law.survival(k[-1]) <= 2.0**-53
    assert len(table) == 1 or law.survival(k[-2]) > 2.0**-53


def test_table_draws_the_law(law):
    # The set of V with first + searchsorted(table, V) = k has length P[K = k].
    first, table = laws.quantile_table(law)
    k = first + np.arange(len(table))
    lengths = np.diff(table, prepend=0.0)
    np.testing.assert_allclose(lengths, law.pmf(k), rtol=1e-9, atol=3e-16)
    middles = table - lengths / 2
    wide = lengths > 1e-12
    drawn = first + np.searchsorted(table, middles[wide], side="left")
    np.testing.assert_array_equal(drawn, k[wide])


def test_quantile_is_the_least_count_with_a_smaller_tail(law):
    for tail in (1.0, 0.7, 0.1, 1e-6, 2.0**-65):
        k = laws.quantile(law, tail)
        assert law.minimum <= k <= (law.maximum or math.inf)
        assert law.survival(k) < tail
        assert k == law.minimum or law.survival(k - 1) >= tail
    with pytest.raises(InputError, match="tail is 0"):
        laws.quantile(law, 0.0)


def test_table_of_a_large_mean_skips_both_tails():
    law = laws.poisson(1e6)
    first, table = laws.quantile_table(law)
    assert 990_000 < first < 992_500
    assert 15_000 < len(table) < 17_500
    np.testing.assert_allclose(
        table, law.cdf(first + np.arange(len(table))), rtol=1e-11, atol=1e-15
    )


def test_table_keeps_the_tail_mass_it_is_given():
    law = laws.geometric(0.1)
    first, table = laws.quantile_table(law, tail_mass=1e-3)
    assert first == 1
    assert len(table) == math.ceil(math.log(1e-3) / math.log(0.9))
    bounded = laws.binomial(30, 0.5)
    first, table = laws.quantile_table(bounded, tail_mass=0.0)
    assert (first, len(table)) == (0, 31)


def test_tables_too_long_are_refused():
    with pytest.raises(InputError, match="needs a table of 349 entries; at most 348"):
        laws.quantile_table(laws.geometric(0.1), limit=348)
    assert len(laws.quantile_table(laws.geometric(0.1), limit=349)[1]) == 349
    with pytest.raises(InputError, match="at most 4194304 are allowed"):
        laws.quantile_table(laws.truncated_negative_binomial(-0.9, 1e-9))
    with pytest.raises(InputError, match="tail_mass > 0"):
        laws.quantile_table(laws.poisson(1.0), tail_mass=0.0)
    with pytest.raises(InputError, match=r"tail_mass is 0.7; it must be a number in \[0, 0.5\)"):
        laws.quantile_table(laws.poisson(1.0), tail_mass=0.7)
    with pytest.raises(InputError, match="limit is 0"):
        laws.quantile_table(laws.poisson(1.0), limit=0)
