"""Fixed, Poisson, binomial and beta-binomial laws against mpmath and quadrature."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from tests.repetitions.oracle import ACCURACY, TAILS, worst


def _compare(law, pgf, derivative, accuracy: float = ACCURACY) -> None:
    """All forms of the generating function against mpmath functions of the tail u."""
    with mpmath.workdps(60):
        tails = [mpf(u) for u in TAILS]
        values = [pgf(u) for u in tails]
        gaps = [1 - value for value in values]
        slopes = [derivative(u) for u in tails]
        mirrored = [pgf(1 - mpf(x)) for x in TAILS]
    assert worst(law.pgf_tail(TAILS), values) < accuracy
    assert worst(law.pgf_gap(TAILS), gaps) < accuracy
    assert worst(law.pgf(TAILS), mirrored) < accuracy
    assert worst(law.pgf_derivative_tail(TAILS), slopes) < accuracy


@pytest.mark.parametrize("count", [1, 2, 50, 10**9])
def test_point_mass(count):
    law = laws.point_mass(count)
    _compare(law, lambda u: (1 - u) ** count, lambda u: count * (1 - u) ** (count - 1))
    assert (law.minimum, law.maximum, law.mean, law.variance) == ((count, count, count, 0.0))


@pytest.mark.parametrize("mean", [1e-9, 0.3, 5.0, 1e3, 1e6])
def test_poisson_generating_function(mean):
    _compare(
        laws.poisson(mean),
        lambda u: mpmath.exp(-mpf(mean) * u),
        lambda u: mpf(mean) * mpmath.exp(-mpf(mean) * u),
    )


@pytest.mark.parametrize("mean", [1e-9, 0.3, 30.0, 1500.0, 1e6])
@pytest.mark.parametrize("score", [-36, -12, -4.2, -1, 0, 1, 4.2, 12, 36])
def test_poisson_probabilities_and_tails(mean, score):
    # Sums outward from k, at `score` standard deviations from the mean.
    k = max(0, math.floor(mean + score * math.sqrt(mean)))
    law = laws.poisson(mean)
    with mpmath.workdps(40):
        m = mpf(mean)
        here = mpmath.exp(-m + k * mpmath.log(m) - mpmath.loggamma(k + 1))
        up = term = here * m / (k + 1)
        j = k + 1
        while term > up * mpf(10) ** -30:
            j += 1
            term *= m / j
            up += term
        down = term = here
        j = k
        while j > 0 and term > down * mpf(10) ** -30:
            term *= j / m
            j -= 1
            down += term
        # Each sum is short on its own side only; the other one is the complement.
        above, below = (up, 1 - up) if k > mean else (1 - down, down)
    assert worst(law.pmf(k), [here]) < 4e-12
    assert worst(law.survival(k), [above]) < 4e-12
    assert worst(law.cdf(k), [below]) < 4e-12


@pytest.mark.parametrize(
    ("count", "p"), [(1, 0.3), (5, 1e-9), (20, 0.5), (1000, 0.01), (50, 1.0), (30, 1 - 1e-9)]
)
def test_binomial(count, p):
    law = laws.binomial(count, p)
    with mpmath.workdps(60):
        q = mpf(p)
        exact = [
            mpmath.binomial(count, k) * q**k * (1 - q) ** (count - k) for k in range(count + 1)
        ]
        above = [mpmath.fsum(exact[k + 1 :]) for k in range(count + 1)]
        below = [mpmath.fsum(exact[: k + 1]) for k in range(count + 1)]
    k = np.arange(count + 1)
    assert worst(law.pmf(k), exact) < ACCURACY
    assert worst(law.survival(k), above) < ACCURACY
    assert worst(law.cdf(k), below) < ACCURACY
    _compare(law, lambda u: (1 - q * u) ** count, lambda u: count * q * (1 - q * u) ** (count - 1))


def test_binomial_of_huge_count_is_nearly_poisson():
    # Le Cam: the total variation is at most count p^2 = 1e-7.
    binomial, poisson = laws.binomial(10**9, 1e-8), laws.poisson(10.0)
    k = np.arange(60)
    distance = 0.5 * np.sum(np.abs(binomial.pmf(k) - poisson.pmf(k)))
    assert 1e-9 < distance < 1e-7
    np.testing.assert_allclose(binomial.pgf_gap(TAILS), poisson.pgf_gap(TAILS), rtol=1e-6)


def _beta_binomial_pgf(count: int, gamma: float):
    """E(1 - p u)^count by its finite sum over k, P[K = k] from Beta functions."""
    g = mpf(gamma)
    probabilities = [
        mpmath.binomial(count, k) * mpmath.beta(k + g, count - k + 1) * g for k in range(count + 1)
    ]

    def pgf(u):
        return mpmath.fsum(p * (1 - u) ** k for k, p in enumerate(probabilities))

    def derivative(u):
        return mpmath.fsum(k * p * (1 - u) ** (k - 1) for k, p in enumerate(probabilities) if k)

    return probabilities, pgf, derivative


@pytest.mark.parametrize(
    ("count", "gamma"),
    [(1, 0.5), (5, 1.0), (20, 2.0), (100, 0.01), (100, 30.0), (300, 200.0), (40, 1e4)],
)
def test_beta_binomial(count, gamma):
    law = laws.beta_binomial(count, gamma)
    with mpmath.workdps(60):
        exact, pgf, derivative = _beta_binomial_pgf(count, gamma)
        above = [mpmath.fsum(exact[k + 1 :]) for k in range(count + 1)]
        below = [mpmath.fsum(exact[: k + 1]) for k in range(count + 1)]
    k = np.arange(count + 1)
    assert worst(law.pmf(k), exact) < ACCURACY
    assert worst(law.survival(k), above) < ACCURACY
    assert worst(law.cdf(k), below) < ACCURACY
    _compare(law, pgf, derivative)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 4.5])
def test_beta_binomial_is_the_mixture_over_the_prior(gamma):
    # p = U^(1/gamma) has density gamma p^(gamma-1) (Cohen et al. 2022, Algorithm 1).
    law = laws.beta_binomial(10**6, gamma)
    with mpmath.workdps(30):
        for u in (1e-8, 1e-6, 1e-3, 0.5):
            scale = 1 / mpf(u * 10**6)  # of the p that matter
            breaks = [0, *(scale * j for j in (1, 3, 10, 30, 100, 300)), 1]
            mean_power = mpmath.quad(
                lambda p, u=u: (
                    gamma * p ** (mpf(gamma) - 1) * mpmath.exp(10**6 * mpmath.log1p(-p * u))
                ),
                sorted({min(mpf(1), mpf(b)) for b in breaks}),
            )
            assert worst(law.pgf_tail(u), [mean_power]) < ACCURACY


@pytest.mark.parametrize("count", [10**5, 10**9])
def test_beta_binomial_tails_of_large_counts(count):
    # P[K <= j] = prod_{i > j} i/(i + gamma); near the top the tail is a short sum.
    gamma = 2.5
    law = laws.beta_binomial(count, gamma)
    with mpmath.workdps(40):
        for j in (count - 1, count - 5000, count // 2, 3):
            log_cdf = (
                mpmath.loggamma(mpf(j) + 1 + gamma)
                - mpmath.loggamma(mpf(j) + 1)
                - mpmath.loggamma(mpf(count) + 1 + gamma)
                + mpmath.loggamma(mpf(count) + 1)
            )
            assert worst(law.cdf(j), [mpmath.exp(log_cdf)]) < ACCURACY
            # An error of one rounding in a product of terms near 1 - gamma/count.
            assert worst(law.survival(j), [-mpmath.expm1(log_cdf)]) < 1e-10


def test_beta_binomial_limits():
    uniform = laws.beta_binomial(9, 1.0)
    np.testing.assert_allclose(uniform.pmf(range(10)), 0.1, rtol=1e-14)
    sure = laws.beta_binomial(9, 1e9)  # p tends to 1
    np.testing.assert_allclose(sure.pgf_tail(TAILS), laws.point_mass(9).pgf_tail(TAILS), atol=1e-7)
    # One half-good run in T better-than-median draws: (2 - 2^-T)/(T + 1) for gamma = 1
    # (Cohen et al. 2022, Theorem 4).
    for rounds in (1, 5, 200):
        assert laws.beta_binomial(rounds, 1.0).pgf_tail(0.5) == pytest.approx(
            (2 - 2.0**-rounds) / (rounds + 1), rel=1e-13
        )


@pytest.mark.parametrize("bad", [0, -3, 2.5, math.nan, math.inf, "many", None, True])
def test_bad_counts_are_refused(bad):
    for make in (
        lambda: laws.point_mass(bad),
        lambda: laws.binomial(bad, 0.5),
        lambda: laws.beta_binomial(bad, 1.0),
    ):
        with pytest.raises(InputError, match=r"count is .*a whole number >= 1"):
            make()


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "few"])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(InputError, match=r"mean is .*must"):
        laws.poisson(bad)
    with pytest.raises(InputError, match=r"probability is .*must"):
        laws.binomial(5, bad)
    with pytest.raises(InputError, match=r"gamma is .*must"):
        laws.beta_binomial(5, bad)


def test_a_probability_above_one_is_refused():
    with pytest.raises(InputError, match=r"probability is 1.1; it must be a number in \(0, 1\]"):
        laws.binomial(5, 1.1)
