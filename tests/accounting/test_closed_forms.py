"""Gaussian, Laplace and randomised response curves, against mpmath and quadrature."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from scipy import integrate, stats

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.accounting.single_run import closed_forms as cf
from jaxsel.accounting.single_run import divergences, pairs
from jaxsel.host.errors import InputError
from tests.accounting.worst_pair import approximate_pair


def mp_gaussian_log_delta(epsilon, scale):
    with mpmath.workdps(400):
        e, s = mpmath.mpf(epsilon), mpmath.mpf(scale)
        near, far = e * s - 1 / (2 * s), e * s + 1 / (2 * s)
        upper = lambda z: mpmath.erfc(z / mpmath.sqrt(2)) / 2  # noqa: E731
        return float(mpmath.log(upper(near) - mpmath.exp(e) * upper(far)))


@pytest.mark.parametrize("scale", [0.05, 0.7, 4.0, 300.0])
def test_gaussian_profile_far_in_the_tail(scale):
    for epsilon in (-3.0, -1e-3, 0.0, 1e-3, 0.3, 2.0, 9.0, 60.0):
        if epsilon * scale > 400.0:
            continue
        want = mp_gaussian_log_delta(epsilon, scale)
        got = cf.gaussian_log_delta(epsilon, scale)
        # log delta is -near^2/2 to leading order: that square is rounded once
        assert got == pytest.approx(want, rel=1e-14, abs=1e-9)


def test_gaussian_log_delta_where_delta_underflows():
    assert cf.gaussian_delta(60.0, 4.0) == 0.0
    want = mp_gaussian_log_delta(60.0, 4.0)
    assert want < -2.8e4
    assert cf.gaussian_log_delta(60.0, 4.0) == pytest.approx(want, rel=1e-14)


@pytest.mark.parametrize("scale", [0.4, 4.0, 50.0])
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-6, 1e-30, 1e-250])
def test_gaussian_epsilon_inverts(scale, delta):
    epsilon = cf.gaussian_epsilon(delta, scale)
    if epsilon == 0.0:
        assert delta >= cf.gaussian_total_variation(scale)
    else:
        log_delta = cf.gaussian_log_delta(epsilon, scale)
        assert log_delta == pytest.approx(math.log(delta), rel=1e-9)


def test_gaussian_total_variation():
    for scale in (0.3, 4.0):
        want = 2 * stats.norm.cdf(0.5 / scale) - 1
        assert cf.gaussian_total_variation(scale) == pytest.approx(want, rel=1e-12)
        assert cf.gaussian_delta(0.0, scale) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("order", [0.5, 0.9, 1.0, 1.01, 2.0, 6.0])
@pytest.mark.parametrize(
    ("curve", "log_density", "scale"),
    [
        (cf.gaussian_renyi, stats.norm.logpdf, 1.3),
        (cf.laplace_renyi, stats.laplace.logpdf, 0.8),
        (cf.laplace_renyi, stats.laplace.logpdf, 5.0),
    ],
)
def test_renyi_by_quadrature(curve, log_density, scale, order):
    def integrand(y):
        p, q = log_density(y, 0, scale), log_density(y, 1, scale)
        if order == 1:
            return math.exp(p) * (p - q)
        return math.exp(order * p + (1 - order) * q)

    width = 15 * scale
    value, _ = integrate.quad(
        integrand, -width * 2, width * 2, points=[0.0, 1.0], epsabs=1e-13, limit=400
    )
    want = value if order == 1 else math.log(value) / (order - 1)
    assert curve(order, scale) == pytest.approx(want, rel=1e-7)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 7.0, 300.0])
def test_randomised_response_is_the_finite_pair(epsilon):
    p, q = pairs.randomised_response(epsilon)
    orders = np.array([0.5, 1.0, 1.001, 1.5, 2.0, 40.0, math.inf])
    np.testing.assert_allclose(
        cf.randomised_response_renyi(orders, epsilon),
        divergences.renyi_divergence(p, q, orders),
        rtol=1e-8,
    )
    levels = np.array([-2 * epsilon, -epsilon / 2, 0.0, epsilon / 2, 2 * epsilon])
    np.testing.assert_allclose(
        cf.randomised_response_delta(levels, epsilon),
        divergences.profile_delta(p, q, levels),
        atol=1e-13,
    )


def test_randomised_response_renyi_at_tiny_epsilon():
    # to leading order: order * epsilon^2 / 2
    got = cf.randomised_response_renyi(np.array([1.5, 2.0, 50.0]), 1e-9)
    np.testing.assert_allclose(got, np.array([1.5, 2.0, 50.0]) * 5e-19, rtol=1e-8)


def test_approximate_profile_is_the_finite_pair():
    p, q = approximate_pair(1.2, 0.03)
    levels = np.linspace(-3, 3, 41)
    np.testing.assert_allclose(
        cf.approximate_profile(levels, 1.2, 0.03),
        divergences.profile_delta(p, q, levels),
        atol=1e-13,
    )


def test_laplace_profile_matches_dp_accounting():
    loss = privacy_loss_mechanism.LaplacePrivacyLoss(2.0)
    for level in (-0.4, 0.0, 0.2, 0.45, 0.6):
        want = loss.get_delta_for_epsilon(level)
        assert cf.laplace_delta(level, 2.0) == pytest.approx(want, abs=1e-12)
    assert cf.laplace_delta(-3.0, 2.0) == pytest.approx(1 - math.exp(-3.0))


def test_gaussian_profile_matches_dp_accounting():
    loss = privacy_loss_mechanism.GaussianPrivacyLoss(4.0)
    for level in (0.0, 0.5, 1.0):
        want = loss.get_delta_for_epsilon(level)
        assert cf.gaussian_delta(level, 4.0) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(
    ("tradeoff", "profile"),
    [
        (lambda x: cf.gaussian_tradeoff(x, 1.5), lambda e: cf.gaussian_delta(e, 1.5)),
        (lambda x: cf.laplace_tradeoff(x, 0.9), lambda e: cf.laplace_delta(e, 0.9)),
        (
            lambda x: cf.randomised_response_tradeoff(x, 1.3),
            lambda e: cf.randomised_response_delta(e, 1.3),
        ),
        (
            lambda x: cf.approximate_tradeoff(x, 0.6, 0.02),
            lambda e: cf.approximate_profile(e, 0.6, 0.02),
        ),
    ],
)
def test_tradeoff_is_the_conjugate_of_the_profile(tradeoff, profile):
    # T(x) = inf over real epsilon of e^epsilon x + delta(epsilon)
    for x in (1e-4, 0.01, 0.2, 0.5, 0.8, 0.999):
        _, least = minimise(lambda e, x=x: np.exp(e) * x + profile(e), -14.0, 14.0)
        assert tradeoff(x) == pytest.approx(min(1.0, float(least)), abs=1e-10)
    assert tradeoff(1.0) == pytest.approx(1.0)
    xs = np.linspace(0, 1, 101)
    assert np.all(np.diff(tradeoff(xs)) >= -1e-15)
    assert np.all(tradeoff(xs) >= xs - 1e-15)


@pytest.mark.parametrize(
    "call",
    [
        lambda: cf.gaussian_epsilon(0.0, 1.0),
        lambda: cf.gaussian_epsilon(1e-6, 0.0),
        lambda: cf.gaussian_log_delta(1.0, -1.0),
        lambda: cf.gaussian_renyi(0.0, 1.0),
        lambda: cf.laplace_renyi(-1.0, 1.0),
        lambda: cf.gaussian_tradeoff(1.5, 1.0),
        lambda: cf.laplace_tradeoff(math.nan, 1.0),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 40.0, 1e9])
@pytest.mark.parametrize("delta", [1e-30, 1e-6, 0.4])
def test_least_noise_is_just_private(epsilon, delta):
    """Balle & Wang 2018, Theorem 8, in mpmath at the noise and a little below it."""
    scale = cf.gaussian_noise_multiplier(epsilon, delta)
    with mpmath.workdps(60):

        def exact(noise):
            noise = mpmath.mpf(noise)
            half, level = 1 / (2 * noise), mpmath.mpf(epsilon) * noise
            lower = mpmath.log(mpmath.ncdf(-half - level))
            return mpmath.ncdf(half - level) - mpmath.exp(epsilon + lower)

        assert exact(scale) <= delta
        assert exact(scale * (1 - 1e-10)) > delta


@pytest.mark.parametrize("epsilon", [1e-13, 1e-300, 1e300])
def test_noise_beyond_float64_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        cf.gaussian_noise_multiplier(epsilon, 1e-6)


@pytest.mark.parametrize("epsilon", [1e-4, 0.17, 30.0])
def test_gaussian_profile_where_the_tail_is_tiny_and_its_width_too(epsilon):
    """Both tails agree to almost all digits there: the asymptotic series takes over."""
    for scale in (1e3, 3e5, 1e9):
        if epsilon * scale > 1e6:
            continue
        with mpmath.workdps(60):
            near, far = (
                mpmath.mpf(epsilon) * scale + sign / (2 * mpmath.mpf(scale)) for sign in (-1, 1)
            )
            tails = [mpmath.ncdf(-near), mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(-far)]
            exact = float(mpmath.log(tails[0] - tails[1]))
        assert float(cf.gaussian_log_delta(epsilon, scale)) == pytest.approx(
            exact, rel=1e-12, abs=1e-9
        )


def test_least_noise_exists_for_every_wish_in_its_domain():
    generator = np.random.default_rng(0)
    for _ in range(300):
        epsilon = 10.0 ** generator.uniform(-9.0, 9.0)
        delta = 10.0 ** generator.uniform(-100.0, -0.001)
        assert math.isfinite(cf.gaussian_noise_multiplier(epsilon, delta))


@pytest.mark.parametrize("order", [0.9, 1.0, 1.0 + 1e-12, 1.5, 2.0, 64.0, 1e4])
@pytest.mark.parametrize("scale", [0.05, 1.0, 99.0, 300.0, 1e5, 1e12, 1e50])
def test_renyi_of_laplace_noise_of_any_scale(order, scale):
    """Its moment's first orders cancel, and must not leave less than the truth."""
    with mpmath.workdps(150):
        a, b = mpmath.mpf(order), mpmath.mpf(scale)
        moment = a * mpmath.exp((a - 1) / b) + (a - 1) * mpmath.exp(-a / b)
        expected = (
            mpmath.log(moment / (2 * a - 1)) / (a - 1) if a != 1 else 1 / b + mpmath.expm1(-1 / b)
        )
        assert float(cf.laplace_renyi(order, scale)) == pytest.approx(
            float(expected), rel=1e-9, abs=0
        )
