"""The truncated negative binomial law against mpmath, mixtures and limits."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from tests.repetitions import oracle
from tests.repetitions.oracle import ACCURACY, TAILS, worst

ETAS = [-0.99, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0, 2.0, 5.5, 100.0]
GAMMAS = [1e-30, 1e-9, 1e-4, 0.1, 0.5, 0.9, 1 - 1e-9]


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("eta", ETAS)
def test_moments_and_generating_function(eta, gamma):
    law = laws.truncated_negative_binomial(eta, gamma)
    exact = oracle.truncated_negative_binomial(eta, gamma)
    assert worst(law.mean, [exact.mean]) < ACCURACY
    assert worst(law.variance, [exact.variance]) < ACCURACY
    with mpmath.workdps(80):
        points = [1 - mpf(u) for u in TAILS]
        values = [exact.pgf(x) for x in points]
        slopes = [exact.derivative(x) for x in points]
        gaps = [1 - value for value in values]
    assert worst(law.pgf_tail(TAILS), values) < ACCURACY
    assert worst(law.pgf_gap(TAILS), gaps) < ACCURACY
    assert worst(law.pgf(TAILS), [exact.pgf(mpf(x)) for x in TAILS]) < ACCURACY
    assert worst(law.pgf_derivative_tail(TAILS), slopes) < ACCURACY


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("eta", ETAS)
def test_probabilities_are_the_products_of_definition_1(eta, gamma):
    law = laws.truncated_negative_binomial(eta, gamma)
    exact = oracle.truncated_negative_binomial(eta, gamma)
    counts = [1, 2, 3, 9, 10, 11, 100, 1500]
    assert worst(law.pmf(counts), [exact.pmf(k) for k in counts]) < ACCURACY


@pytest.mark.parametrize("eta", [-0.5, 0.0, 0.5, 2.0])
def test_probabilities_of_huge_counts(eta):
    # log Gamma near 1e10 has an absolute error of 1e-5: only cancelled forms survive.
    law = laws.truncated_negative_binomial(eta, 1e-9)
    counts = [10**6, 10**9, 10**10, 5 * 10**11]
    with mpmath.workdps(60):
        e, g = mpf(eta), mpf(1e-9)
        scale = e / (g**-e - 1) if e else 1 / mpmath.log(1 / g)
        exact = [
            (1 - g) ** k
            * scale
            * mpmath.exp(
                mpmath.loggamma(k + e) - mpmath.loggamma(1 + e) - mpmath.loggamma(mpf(k + 1))
            )
            for k in counts
        ]
    assert worst(law.pmf(counts), exact) < ACCURACY


@pytest.mark.parametrize("eta", [-0.5, 0.0, 1.0, 3.0])
def test_probabilities_are_derivatives_of_the_generating_function_at_zero(eta):
    def printed(x):
        base, scale = 1 - 4 * x / 5, mpf(1) / 5
        if eta == 0:
            return mpmath.log(base) / mpmath.log(scale)
        return (base ** (-eta) - 1) / (scale ** (-eta) - 1)

    with mpmath.workdps(60):
        taylor = mpmath.taylor(printed, 0, 8)
    law = laws.truncated_negative_binomial(eta, 0.2)
    assert worst(law.pmf(range(1, 9)), taylor[1:]) < ACCURACY


@pytest.mark.parametrize("gamma", [0.05, 0.5, 0.97])
@pytest.mark.parametrize("eta", [-0.9, -1e-6, 0.0, 1e-6, 0.5, 1.0, 8.0])
def test_tail_probabilities_down_to_1e_300(eta, gamma):
    law = laws.truncated_negative_binomial(eta, gamma)
    longest = math.ceil(720 / -math.log1p(-gamma))
    counts = np.unique(np.geomspace(1, longest, 12).astype(int))
    with mpmath.workdps(50):
        e, g = mpf(eta), mpf(gamma)
        probability = oracle.truncated_negative_binomial(eta, gamma).pmf(1)
        probabilities = [mpf(0), probability]
        for k in range(1, longest + math.ceil(80 / -math.log1p(-gamma))):
            probability *= (1 - g) * (k + e) / (k + 1)
            probabilities.append(probability)
        above = [mpmath.fsum(probabilities[k + 1 :]) for k in counts]
        below = [mpmath.fsum(probabilities[: k + 1]) for k in counts]
    assert float(min(above)) < 1e-290
    assert worst(law.survival(counts), above) < 2e-12
    assert worst(law.cdf(counts), below) < ACCURACY


def test_geometric_tail_at_tiny_gamma():
    law = laws.geometric(1e-9)
    counts = np.array([1, 10**3, 10**9, 10**10, 10**11, 6 * 10**11])
    with mpmath.workdps(40):
        exact = [(1 - mpf(1e-9)) ** int(k) for k in counts]
        lower = [1 - value for value in exact]
    assert worst(law.survival(counts), exact) < ACCURACY
    assert worst(law.cdf(counts), lower) < ACCURACY


@pytest.mark.parametrize("eta", [-0.5, 0.0])
def test_tail_at_tiny_gamma_of_small_eta(eta):
    # P[K > k] = (1+eta)_k/k! times a mixture over p of (1-p)^k, density ~ p^(eta-1) on
    # [gamma, 1]: here as an incomplete beta function, by its hypergeometric form.
    law = laws.truncated_negative_binomial(eta, 1e-9)
    counts = [1, 30, 10**6]
    with mpmath.workdps(60):
        e, g = mpf(eta), mpf(1e-9)
        exact = []
        for k in counts:
            breaks = [g, *(10 * mpf(10) ** j for j in range(-9, 0)), 1]
            rising = mpmath.rf(1 + e, k) / mpmath.factorial(k)
            scale = e / (1 - g**e) if e else 1 / mpmath.log(1 / g)
            exact.append(
                rising * scale * mpmath.quad(lambda p, k=k: p ** (e - 1) * (1 - p) ** k, breaks)
            )
    assert worst(law.survival(counts), exact) < ACCURACY


def test_geometric_and_logarithmic_as_printed():
    k = np.arange(1, 200)
    geometric = laws.geometric(0.1)
    np.testing.assert_allclose(geometric.pmf(k), 0.1 * 0.9 ** (k - 1), rtol=1e-13)
    assert geometric.mean == pytest.approx(10.0, rel=1e-15)
    logarithmic = laws.logarithmic(0.1)
    np.testing.assert_allclose(logarithmic.pmf(k), 0.9**k / (k * math.log(10)), rtol=1e-13)
    assert logarithmic.mean == pytest.approx(9 / math.log(10), rel=1e-14)
    for law in (geometric, logarithmic):
        assert law.family == "truncated_negative_binomial"
    assert geometric.parameters == {"eta": 1.0, "gamma": 0.1}


def _distance(law, other) -> float:
    """Total variation, up to a tail below 1e-12."""
    k = np.arange(1, 400)
    return 0.5 * float(np.sum(np.abs(law(k) - other(k))))


@pytest.mark.parametrize("sign", [-1, 1])
def test_eta_to_zero_is_the_logarithmic_law(sign):
    gamma, limit = 0.1, laws.logarithmic(0.1)
    gaps = [
        _distance(laws.truncated_negative_binomial(sign * eta, gamma).pmf, limit.pmf)
        for eta in (1e-2, 1e-3, 1e-12)
    ]
    assert 9 < gaps[0] / gaps[1] < 11  # first order in eta
    assert gaps[2] < 1e-11


def test_eta_to_infinity_is_the_poisson_law_given_k_positive():
    mu = 6.0
    poisson = laws.poisson(mu)

    def truncated(k):
        return poisson.pmf(k) / poisson.pgf_gap(1.0)

    gaps = [
        _distance(laws.truncated_negative_binomial(eta, eta / (eta + mu)).pmf, truncated)
        for eta in (1e3, 1e4, 1e7)
    ]
    assert 9 < gaps[0] / gaps[1] < 11  # first order in 1/eta
    assert gaps[2] < 1e-5


@pytest.mark.parametrize("eta", [0.3, 1.0, 4.0])
def test_compound_poisson_of_logarithmic_is_negative_binomial(eta):
    # A Poisson(eta L) number of logarithmic terms is negative binomial with
    # f_NB(0) = gamma^eta; given that it is positive it is D(eta, gamma).
    gamma = 0.07
    number = laws.poisson(eta * math.log(1 / gamma))
    term = laws.logarithmic(gamma)
    composed = number.pgf_tail(term.pgf_gap(TAILS))
    none = number.probability_zero
    assert none == pytest.approx(gamma**eta, rel=1e-13)
    law = laws.truncated_negative_binomial(eta, gamma)
    np.testing.assert_allclose(
        law.pgf_gap(TAILS), number.pgf_gap(term.pgf_gap(TAILS)) / (1 - none), rtol=1e-11
    )
    np.testing.assert_allclose(
        law.pgf_tail(TAILS)[TAILS < 0.9], ((composed - none) / (1 - none))[TAILS < 0.9], rtol=1e-10
    )


@pytest.mark.parametrize("eta", [0.3, 1.0, 4.0])
def test_poisson_with_gamma_distributed_mean_is_negative_binomial(eta):
    gamma = 0.2
    odds = (1 - gamma) / gamma
    law = laws.truncated_negative_binomial(eta, gamma)
    with mpmath.workdps(30):
        positive = 1 - mpf(gamma) ** eta
        for k in (1, 2, 5, 20):
            mixed = mpmath.quad(
                lambda m, k=k: (
                    m ** (eta - 1)
                    * mpmath.exp(-m / odds)
                    / (mpmath.gamma(eta) * mpf(odds) ** eta)
                    * mpmath.exp(-m)
                    * m**k
                    / mpmath.factorial(k)
                ),
                [0, 1, 5, 20, 60, mpmath.inf],
            )
            assert worst(law.pmf(k), [mixed / positive]) < ACCURACY


def test_negative_eta_tends_to_a_proper_law_of_infinite_mean():
    # f -> 1 - (1-x)^0.5: the expected quantile saturates at 2/3 (Papernot & Steinke
    # 2022, Figure 5, eta = -0.5).
    law = laws.truncated_negative_binomial(-0.5, 1e-280)
    np.testing.assert_allclose(law.pgf_gap(TAILS), np.sqrt(TAILS), rtol=1e-12)
    assert law.mean > 1e139
    assert laws.expected_quantile(law) == pytest.approx(2 / 3, rel=1e-12)


@pytest.mark.parametrize("eta", [-1.0, -2.0, math.nan, math.inf, "one"])
def test_bad_eta_is_refused(eta):
    with pytest.raises(InputError, match=r"eta is .*must"):
        laws.truncated_negative_binomial(eta, 0.1)


@pytest.mark.parametrize("gamma", [0.0, 1.0, -0.1, 1.5, 1e-310, math.nan])
def test_bad_gamma_is_refused(gamma):
    for factory in (laws.geometric, laws.logarithmic):
        with pytest.raises(InputError, match=r"gamma is .*number in \[1e-300, 1\)"):
            factory(gamma)
