"""K given K <= maximum, and min(K, maximum), against enumeration and closed forms."""

import math

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from jaxsel.repetitions.special import log_power_sum, power_sum
from tests.repetitions.oracle import EXAMPLES, SUPPORT, TAILS

MAXIMUM = 12


@pytest.fixture(name="law", params=EXAMPLES.values(), ids=EXAMPLES.keys())
def _law(request) -> laws.Repetitions:
    return request.param


def test_conditioned_by_enumeration(law):
    cut = laws.conditioned(law, MAXIMUM)
    p = law.pmf(SUPPORT) * (SUPPORT <= MAXIMUM)
    np.testing.assert_allclose(cut.pmf(SUPPORT), p / p.sum(), rtol=1e-12)
    assert cut.inner is law or law.family == "conditioned"
    assert cut.maximum is not None
    assert cut.maximum <= MAXIMUM


def test_capped_by_enumeration(law):
    cut = laws.capped(law, MAXIMUM)
    p = law.pmf(SUPPORT)
    expected = np.where(SUPPORT < MAXIMUM, p, 0.0)
    expected[MAXIMUM] = p[MAXIMUM:].sum()
    np.testing.assert_allclose(cut.pmf(SUPPORT), expected, rtol=1e-11, atol=1e-25)
    values = np.sum(np.minimum(SUPPORT, MAXIMUM) * p)
    assert cut.mean == pytest.approx(values, rel=1e-12)


def test_truncation_keeps_the_derivative_between_the_bounds_of_lemma_22(law):
    # f~' P[K <= m] <= f' <= f~' P[K <= m] (1 + E[K; K > m]/E[K; K <= m])
    # (Papernot & Steinke 2022, proof of Lemma 22).
    kept = float(np.sum(law.pmf(SUPPORT[: MAXIMUM + 1]) * SUPPORT[: MAXIMUM + 1]))
    if kept == 0:
        pytest.skip("K is never in 1..maximum")
    cut = laws.conditioned(law, MAXIMUM)
    scaled = cut.pgf_derivative_tail(TAILS) * law.cdf(MAXIMUM)
    full = law.pgf_derivative_tail(TAILS)
    assert np.all(scaled <= full * (1 + 1e-11))
    assert np.all(full <= scaled * (law.mean / kept) * (1 + 1e-11))


@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.1, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("maximum", [2, 3, 36, 1000, 70_000])
def test_capped_geometric_closed_form_is_the_sum(gamma, maximum):
    cut = laws.capped(laws.geometric(gamma), maximum)
    k = np.arange(1, maximum + 1)
    p = np.exp(math.log(gamma) + (k - 1) * math.log1p(-gamma))
    p[-1] = math.exp((maximum - 1) * math.log1p(-gamma))
    np.testing.assert_allclose(cut.pmf(k), p, rtol=1e-12, atol=1e-300)
    log_x = np.log1p(-TAILS)
    table = np.append(0.0, p)
    np.testing.assert_allclose(cut.pgf_tail(TAILS), power_sum(table, log_x), rtol=1e-11)
    np.testing.assert_allclose(
        cut.log_pgf_derivative_tail(TAILS), log_power_sum(k * p, log_x), atol=1e-11
    )
    survival = np.exp(np.arange(maximum) * math.log1p(-gamma))
    np.testing.assert_allclose(cut.pgf_gap(TAILS), TAILS * power_sum(survival, log_x), rtol=1e-11)
    assert cut.mean == pytest.approx(survival.sum(), rel=1e-12)
    # Var = Var(maximum - K): free of cancellation when the cap is nearly always hit.
    missing = maximum - k
    lost = np.sum(p * missing)
    variance = np.sum(p * (missing - lost) ** 2)
    assert cut.variance == pytest.approx(variance, rel=1e-9)
    np.testing.assert_allclose(cut.survival(k[:-1]), survival[1:], rtol=1e-12)
    np.testing.assert_allclose(cut.cdf(k[:-1]) + cut.survival(k[:-1]), 1, rtol=1e-14)


def test_hard_stop_as_printed():
    # Liu & Talwar 2019, Algorithm 2 stopped after T = 36 runs.
    gamma, stop = 0.003, 36
    x = np.linspace(0, 0.99, 12)
    r = (1 - gamma) * x
    printed = gamma * x * (1 - r ** (stop - 1)) / (1 - r)
    printed += (1 - gamma) ** (stop - 1) * x**stop
    cut = laws.capped(laws.geometric(gamma), stop)
    np.testing.assert_allclose(cut.pgf(x), printed, rtol=1e-12)


def test_late_hard_stop_is_no_stop_and_early_one_is_a_single_run():
    law = laws.geometric(1e-6)
    late = laws.capped(law, 10**10)
    np.testing.assert_allclose(late.pgf_gap(TAILS), law.pgf_gap(TAILS), rtol=1e-11)
    assert late.mean == pytest.approx(1e6, rel=1e-12)
    assert late.variance == pytest.approx(law.variance, rel=1e-11)
    single = laws.capped(law, 1)
    assert (single.minimum, single.maximum, single.mean) == (1, 1, 1.0)
    np.testing.assert_allclose(single.pgf_gap(TAILS), TAILS, rtol=1e-15)


def test_restrictions_that_restrict_nothing():
    law = laws.binomial(20, 0.3)
    for restrict, name in ((laws.conditioned, "conditioned"), (laws.capped, "capped")):
        same = restrict(law, 20)
        assert same.family == name
        assert same.inner is law
        assert same.parameters == {"maximum": 20}
        assert same.pgf_tail(0.3) == law.pgf_tail(0.3)


def test_poisson_given_no_run_is_no_run():
    none = laws.conditioned(laws.poisson(2.0), 0)
    assert (none.mean, none.variance, none.probability_zero) == (0.0, 0.0, 1.0)
    np.testing.assert_array_equal(none.pgf_gap(TAILS), 0.0)
    np.testing.assert_array_equal(none.pgf_tail([0.0, 1.0]), 1.0)


def test_log_derivative_beyond_the_float64_range():
    # f'(x) = k x^(k-1) underflows, its logarithm does not.
    cut = laws.capped(laws.point_mass(10**5), 70_000)
    expected = math.log(70_000) + 69_999 * math.log(0.5)
    assert cut.log_pgf_derivative_tail(0.5) == pytest.approx(expected, rel=1e-14)
    assert cut.pgf_derivative_tail(0.5) == 0.0
    assert cut.log_pgf_derivative_tail(1.0) == -math.inf


def test_tables_of_many_terms_keep_their_digits():
    # Half a million terms: sums in blocks agree with the closed form of the whole law.
    law = laws.logarithmic(4e-5)
    cut = laws.conditioned(law, 2**19)
    lost = law.survival(2**19)
    assert 0 < lost < 1e-9
    u = np.array([1e-12, 1e-6, 1e-3, 0.5])
    np.testing.assert_allclose(cut.pgf_tail(u) * (1 - lost), law.pgf_tail(u), rtol=1e-9)
    assert cut.mean == pytest.approx(law.mean, rel=1e-6)


@pytest.mark.parametrize("bad", [-1, 2.5, math.nan, "ten", None])
def test_bad_maxima_are_refused(bad):
    with pytest.raises(InputError, match=r"maximum is .*a whole number >= 0"):
        laws.conditioned(laws.poisson(3.0), bad)
    with pytest.raises(InputError, match=r"maximum is .*a whole number in \[1, 1e\+15\]"):
        laws.capped(laws.poisson(3.0), bad)


def test_maxima_too_large_or_too_small_are_refused():
    with pytest.raises(InputError, match="must be <= 4194304"):
        laws.conditioned(laws.geometric(1e-9), 10**8)
    with pytest.raises(InputError, match="must be <= 4194304"):
        laws.capped(laws.logarithmic(1e-9), 10**8)
    with pytest.raises(InputError, match="choose a larger maximum"):
        laws.conditioned(laws.geometric(0.1), 0)
    with pytest.raises(InputError, match="choose a larger maximum"):
        laws.conditioned(laws.poisson(1e6), 1000)
    for beyond in (0, 10**15 + 1):
        with pytest.raises(InputError, match=r"a whole number in \[1, 1e\+15\]"):
            laws.capped(laws.geometric(0.1), beyond)
