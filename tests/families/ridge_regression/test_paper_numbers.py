"""Settings of private regression, worked out from the papers' text by mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.families.ridge_regression import baseline_settings as baselines
from jaxsel.families.ridge_regression import posterior, settings, tuned
from jaxsel.families.ridge_regression.linear_regression import records_of

mp.mp.dps = 30


def _number(found) -> float:
    return float(mp.nstr(found, 17))


def _tail(probability):
    """z with P(Z > z) = probability."""
    return _number(mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(probability)))


def _gaussian_noise(epsilon, delta):
    """Deviation at sensitivity 1, by the profile of Balle & Wang 2018, Theorem 8."""

    def excess(scale):
        shift = 1 / scale
        return (
            mp.ncdf(shift / 2 - epsilon / shift)
            - mp.e**epsilon * mp.ncdf(-shift / 2 - epsilon / shift)
        ) / mp.mpf(delta) - 1

    low, high = mp.mpf("0.05"), mp.mpf(1000)
    for _ in range(70):
        middle = mp.sqrt(low * high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return _number(high)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.4, 1e-3), (6.0, 0.05)])
def test_shares_of_a_run(epsilon, delta):
    # Koskela, Redberg & Wang, Section 6.1 (Redberg et al. 2023, Algorithm 7): epsilon/4
    # for each of the two released bounds and epsilon/2 for the sample; delta/3 for the
    # releases, for the sample, and for a wrong bound.
    run = settings.calibrate_run(epsilon, delta)
    assert run.sample_epsilon == epsilon / 2
    # Two independent releases of noise s are one of noise s/sqrt(2).
    joint = _gaussian_noise(epsilon / 2, delta / 3)
    assert run.noise_multiplier == pytest.approx(math.sqrt(2) * joint, rel=1e-9)
    # Each of two bounds is wrong with probability delta/6; |Z| > t with delta/3.
    assert run.margin == pytest.approx(_tail(delta / 6), rel=1e-12)
    assert run.tail == pytest.approx(_tail(delta / 6), rel=1e-12)


def test_the_sample_at_its_calibration_by_hand():
    # One record x = y = 1 joins an empty set: leverage 1/lambda, residual 1. The bound
    # on the loss over |Z| <= t is u^2/(2 (1 + mu)) + u t + mu t^2/2 - log(1 + mu)/2.
    run = settings.calibrate_run(2.0, 1e-3)
    mu = mp.mpf(1) / 50
    t = mp.mpf(run.tail)
    u = mp.findroot(
        lambda u: u**2 / 2 / (1 + mu) + u * t + mu * t**2 / 2 - mp.log(1 + mu) / 2 - 1, 0.2
    )
    # The precision allows for a neighbour whose residual is 1 + mu times as large.
    expected = _number((u / (1 + mu)) ** 2 / mu)
    found = settings.ridge_posterior.posterior_precision(1.0, run.tail, 0.02, 1.0)
    assert found == pytest.approx(expected, rel=1e-12)


def test_validation_noise_spends_epsilon_once():
    # |x x'|^2 + 2 |x y|^2 <= 3 for |x|, |y| <= 1: Gaussian noise of sqrt(3) times the
    # multiplier at the whole (epsilon, delta), which the runs leave untouched.
    law = laws.geometric(0.2)
    calibration = tuned.calibrate_tuned(2.0, 1e-4, law, "KRW-Cor6.2")
    data = {"features": np.eye(2), "targets": np.array([0.3, -0.2])}
    data |= {"validation_features": np.eye(2), "validation_targets": np.ones(2)}
    params = {"calibration": calibration, "regularisation": [5.0]}
    prepared, _ = posterior.tuned_posterior_sampling().prepare(data, params)
    expected = math.sqrt(3.0) * _gaussian_noise(2.0, 1e-4)
    assert prepared["validation"]["deviation"] == pytest.approx(expected, rel=1e-9)
    assert records_of(data, "validation_")[1].size == 2


def test_a_run_of_the_tuned_algorithm_gets_its_share_of_delta():
    law = laws.geometric(0.1)
    # Corollary 6.2: (epsilon, delta/m)-DP runs, m = E[K] = 10.
    assert tuned.run_delta("KRW-Cor6.2", law, 1e-6) == pytest.approx(1e-7, rel=1e-12)
    # 1 - f(1 - x) = delta with f(x) = x/10/(1 - 0.9 x): x = delta/(10 - 9 delta).
    delta = 1e-3
    found = tuned.run_delta("KRW-Cor5.4-sharp", law, delta)
    assert found == pytest.approx(delta / (10.0 - 9.0 * delta), rel=1e-12)
    # Theorem 3.4 of Liu & Talwar: sqrt(2 delta_1) T + delta_2, T = 10 log(1/delta_2).
    steps = math.ceil(10.0 * math.log(2.0 / delta))
    found = tuned.run_delta("LT-Thm3.4", law, delta)
    assert math.sqrt(2.0 * found) * steps == pytest.approx(delta / 2.0, rel=1e-12)


def test_baselines():
    # |theta| <= R = min(sqrt(n)/(2 sqrt(lambda)), n/lambda); one record moves theta by
    # (1 + R)/(1 + lambda) at most for lambda >= 1.
    n, lam, epsilon, delta = 600, 20.0, 1.0, 1e-5
    size = min(math.sqrt(n) / (2.0 * math.sqrt(lam)), n / lam)
    expected = _gaussian_noise(epsilon, delta) * (1.0 + size) / (1.0 + lam)
    found = baselines.output_perturbation_scale(lam, n, epsilon, delta)
    assert found == pytest.approx(expected, rel=1e-9)
    # Wang 2018: l = log 20, C = (d/2 + sqrt(d l) + l) t^2/e^2, e = min(epsilon/2,
    # sqrt(epsilon/2)), with t^2 for log(2/delta); lambda = max((C n/2)^(1/3), t^2/epsilon).
    t, logarithm, d = _tail(delta / 2), math.log(20.0), 7
    spread = d / 2.0 + math.sqrt(d * logarithm) + logarithm
    for epsilon, slope in ((1.0, 0.5), (8.0, 2.0)):
        constant = spread * t**2 / slope**2
        expected = max((constant * n / 2.0) ** (1.0 / 3.0), t**2 / epsilon)
        found = baselines.balanced_regularisation(n, d, epsilon, delta)
        assert found == pytest.approx(expected, rel=1e-10)
    # Precision of the worst data: u with u^2/(2 (1 + mu)) + u t + mu t^2/2
    # - log(1 + mu)/2 = epsilon at mu = 1/lambda, residual 1 + R.
    lam = 80.0
    mu = 1.0 / lam
    room = 1.0 - mu * t**2 / 2.0 + math.log1p(mu) / 2.0
    u = (1.0 + mu) * (math.sqrt(t**2 + 2.0 * room / (1.0 + mu)) - t)
    size = 1.0 + min(math.sqrt(n) / (2.0 * math.sqrt(lam)), n / lam)
    found = baselines.balanced_precision(lam, n, 1.0, delta)
    assert found == pytest.approx((u / size) ** 2 * lam, rel=1e-9)
