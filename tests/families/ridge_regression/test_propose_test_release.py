"""Ridge regression, its posterior sample, and propose-test-release around it."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_noise_multiplier,
)
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.families.ridge_regression import posterior_privacy as ridge
from jaxsel.families.ridge_regression import settings as ptr
from jaxsel.families.ridge_regression import tuned as tuning
from jaxsel.host.errors import InputError
from jaxsel.tuning.bounds.profiles import two_point_epsilon
from jaxsel.tuning.bounds.random_stopping import hard_stop_approximate

# --- The posterior sample -------------------------------------------------------------


def _random_data(generator, most=4):
    d, n = int(generator.integers(1, most)), int(generator.integers(0, 8))
    rows = generator.standard_normal((n + 1, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows *= generator.uniform(0.2, 1.0, (n + 1, 1))
    return (rows, generator.uniform(-1.0, 1.0, n + 1), float(10 ** generator.uniform(-1, 1.5)))


def _posterior(rows, targets, regularisation):
    curvature = rows.T @ rows + regularisation * np.eye(rows.shape[1])
    return curvature, np.linalg.solve(curvature, rows.T @ targets)


def _log_density(point, curvature, mean, precision):
    """Of N(mean, (precision curvature)^-1), up to a constant of the dimension."""
    away = point - mean
    return 0.5 * np.linalg.slogdet(curvature)[1] - 0.5 * precision * (away @ curvature @ away)


def test_the_likelihood_ratio_is_that_of_two_gaussians_on_the_line():
    generator = np.random.default_rng(1)
    for _ in range(100):
        rows, targets, lam = _random_data(generator)
        small, mean = _posterior(rows[:-1], targets[:-1], lam)
        large, moved = _posterior(rows, targets, lam)
        precision = float(10.0 ** generator.uniform(-1, 2))
        point = mean + generator.standard_normal(len(mean)) / math.sqrt(precision)
        ratio = _log_density(point, small, mean, precision) - _log_density(
            point, large, moved, precision
        )
        x, residual = rows[-1], targets[-1] - rows[-1] @ mean
        mu = x @ np.linalg.solve(small, x)
        u = math.sqrt(precision * mu) * abs(residual)
        z = math.copysign(math.sqrt(precision / mu), residual) * (x @ (point - mean))
        formula = 0.5 * u**2 / (1 + mu) - 0.5 * math.log1p(mu) - u * z + 0.5 * mu * z**2
        assert ratio == pytest.approx(formula, abs=1e-8 * max(1.0, abs(formula)))


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 1.0])
@pytest.mark.parametrize(("mu", "u"), [(0.5, 0.3), (0.01, 1.0), (3.0, 2.0), (1e-4, 0.2)])
def test_posterior_delta_by_quadrature(mu, u, epsilon):
    z = np.linspace(-40.0, 60.0, 400_001)
    ratio = 0.5 * u**2 / (1 + mu) - 0.5 * math.log1p(mu) - u * z + 0.5 * mu * z**2
    first = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    second = np.exp(-0.5 * z**2 - ratio) / math.sqrt(2 * math.pi)
    assert np.trapezoid(second, z) == pytest.approx(1.0, abs=1e-9)
    odds = math.exp(epsilon)
    expected = [
        np.trapezoid(np.maximum(a - odds * b, 0.0), z)
        for a, b in ((first, second), (second, first))
    ]
    found = ridge.posterior_delta(epsilon, mu, u)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_posterior_delta_without_leverage_is_gaussian():
    for u in (0.05, 0.5, 2.0):
        for epsilon in (0.0, 0.3, 1.0):
            found = ridge.posterior_delta(epsilon, 1e-9, u)
            expected = gaussian_delta(epsilon, 1.0 / u)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-15)


def test_posterior_epsilon_is_a_bound_and_monotone():
    generator = np.random.default_rng(2)
    mu, u = (10.0 ** generator.uniform(-5, 1, 4000), 10.0 ** generator.uniform(-3, 1, 4000))
    tail = generator.uniform(ridge.LEAST_TAIL, 5.5, 4000)
    epsilon = ridge.posterior_epsilon(tail, mu, u)
    ratio = ridge.posterior_delta(epsilon, mu, u) / (2.0 * special.ndtr(-tail))
    assert ratio.max() <= 1.0 + 1e-6
    assert ratio.max() > 0.5  # not idle
    grown = ridge.posterior_epsilon(tail, 1.1 * mu, math.sqrt(1.1) * u)
    assert np.all(grown >= epsilon)
    assert np.all(ridge.posterior_epsilon(tail, mu, 1.1 * u) >= epsilon)
    back = ridge.posterior_shift(epsilon, tail, mu)
    np.testing.assert_allclose(back, u, rtol=1e-6, atol=1e-9)


def test_a_smaller_tail_is_not_enough():
    """Power: with sqrt(log(2/delta)) for the tail the same search finds violations."""
    delta, u = 1e-6, 0.25
    printed = u * math.sqrt(math.log(2.0 / delta)) + 0.5 * u**2
    seen = ridge.posterior_delta(printed, 1e-6, u).max()
    assert seen / delta == pytest.approx(3.88, abs=0.01)


def test_posterior_precision_is_private_on_all_neighbours():
    generator = np.random.default_rng(3)
    epsilon, tail = 0.7, 3.0
    worst = 0.0
    for _ in range(400):
        rows, targets, lam = _random_data(generator)
        lam += 5.0
        small, mean = _posterior(rows[:-1], targets[:-1], lam)
        x, y = rows[-1], targets[-1]
        mu, residual = x @ np.linalg.solve(small, x), abs(y - x @ mean)
        for part in (slice(None, -1), slice(None)):
            _, own = _posterior(rows[part], targets[part], lam)
            least = max(np.linalg.eigvalsh(rows[part].T @ rows[part])[0], 0.0)
            precision = ridge.posterior_precision(
                epsilon, tail, ridge.leverage_bound(lam, least), 1 + np.linalg.norm(own)
            )
            u = math.sqrt(precision * mu) * residual
            worst = max(worst, ridge.posterior_delta(epsilon, mu, u).max())
    assert 0.0 < worst <= 2.0 * special.ndtr(-tail)
    assert ridge.posterior_precision(epsilon, tail, 100.0, 1.0) == 0.0


@pytest.mark.parametrize("lam", [0.04, 0.5, 1.0, 30.0, 2e4])
def test_norm_bound_and_sensitivity_are_attained(lam):
    n = 2000
    height = min(1.0, math.sqrt(lam / n))  # X'X = lambda, or all rows 1
    largest = n * height / (n * height**2 + lam)
    assert largest <= ridge.ridge_norm_bound(lam, n) * (1 + 1e-12)
    if height < 1.0:
        assert largest == pytest.approx(ridge.ridge_norm_bound(lam, n))
    if lam >= 1.0:
        # the first record: theta moves from 0 to 1/(1 + lambda), the residual is 1
        moved = 1.0 / (1.0 + lam) * (1.0 + ridge.ridge_norm_bound(lam, 1))
        assert ridge.ridge_sensitivity(lam, 1) == pytest.approx(moved)
    gains = np.sqrt(np.linspace(0.0, min(1.0, 1 / lam), 1000))
    best = np.max(gains / (1 + gains**2)) / math.sqrt(lam)
    expected = best * (1 + ridge.ridge_norm_bound(lam, n))
    assert ridge.ridge_sensitivity(lam, n) >= expected * (1 - 1e-12)


# --- One run --------------------------------------------------------------------------


def test_gaussian_noise_multiplier_inverts():
    for epsilon, delta in ((0.01, 1e-9), (1.0, 1e-6), (8.0, 1e-2), (0.05, 0.04)):
        scale = gaussian_noise_multiplier(epsilon, delta)
        assert gaussian_epsilon(delta, scale) <= epsilon
        assert gaussian_epsilon(delta, scale) == pytest.approx(epsilon, rel=1e-9)


def test_propose_test_release_adds():
    found = ptr.propose_test_release(
        ApproximateGuarantee(1.0, 0.1), ApproximateGuarantee(0.5, 0.2), 0.3
    )
    assert found == ApproximateGuarantee(1.5, pytest.approx(0.6))
    sure, test = ApproximateGuarantee(1.0, 0.0), ApproximateGuarantee(0.5, 0.0)
    assert ptr.propose_test_release(sure, test, 0.0) == (1.5, 0.0)
    # A test that always passes promises nothing; no delta is above 1.
    assert ptr.propose_test_release(sure, test, 1.0) == (1.5, 1.0)
    assert ptr.propose_test_release(found, found, 0.5) == (3.0, 1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-8), (1.0, 1e-6), (6.0, 0.05)])
def test_a_calibrated_run_adds_up(epsilon, delta):
    run = ptr.calibrate_run(epsilon, delta)
    found = ptr.run_guarantee(run, delta / 3.0, run.tail)
    assert found.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert found.delta == pytest.approx(delta, rel=1e-9)
    # Two bounds of noise multiplier s are one release of s/sqrt(2).
    joint = gaussian_delta(0.5 * epsilon, run.noise_multiplier / math.sqrt(2.0))
    assert joint == pytest.approx(delta / 3.0, rel=1e-6)
    assert 2.0 * special.ndtr(-run.margin) == pytest.approx(delta / 3.0, rel=1e-9)
    # The sample's epsilon at the least tail is u^2/2 + u sqrt(2), u its shift.
    least = ptr.run_guarantee(run, delta / 3.0, ridge.LEAST_TAIL)
    shift = float(ridge.posterior_shift(run.sample_epsilon, run.tail, 0.0))
    assert least.epsilon - 0.5 * epsilon == pytest.approx(
        shift**2 / 2 + math.sqrt(2.0) * shift, rel=1e-6
    )
    assert least.delta == pytest.approx(
        2.0 / 3.0 * delta + 2.0 * special.ndtr(-math.sqrt(2.0)), rel=1e-9
    )
    larger = np.geomspace(delta, 0.1, 8)
    epsilons = [ptr.run_epsilon(run, d) for d in larger]
    assert epsilons[0] == epsilon
    assert np.all(np.diff(epsilons) < 0.0)


def test_smaller_tails_are_worst_without_leverage():
    """What run_guarantee rests on, at the shift that each leverage leaves."""
    generator = np.random.default_rng(4)
    epsilon, tail = (10.0 ** generator.uniform(-2, 1, 5000), generator.uniform(1.5, 9.0, 5000))
    largest = 2.0 * epsilon / tail**2  # above it hardly any shift is left
    mu = largest * generator.uniform(0.0, 1.1, 5000)
    inner = generator.uniform(ridge.LEAST_TAIL, tail)
    shift = ridge.posterior_shift(epsilon, tail, mu)
    found = ridge.posterior_epsilon(inner, mu, shift)[shift > 0.0]
    flat = ridge.posterior_epsilon(inner, 0.0, ridge.posterior_shift(epsilon, tail, 0.0))
    assert np.all(found <= flat[shift > 0.0] * (1 + 1e-12))
    # From the larger set, whatever |Z| <= sqrt(2).
    z = ridge.LEAST_TAIL * generator.uniform(0.0, 1.0, 5000)
    back = (
        0.5 * np.log1p(mu)
        + 0.5 * (shift / (1 + mu)) ** 2
        + shift * z / (1 + mu) ** 1.5
        - 0.5 * mu / (1 + mu) * z**2
    )
    least = ridge.posterior_epsilon(ridge.LEAST_TAIL, mu, shift)
    assert np.all(back[shift > 0.0] <= least[shift > 0.0])


@pytest.mark.parametrize("shift", [0.05, 0.6, 2.0])
def test_profile_of_the_tails(shift):
    least = ridge.LEAST_TAIL
    for epsilon in (-2.0, -0.1, 0.0, 0.05, 0.7, 2.0, 5.0):

        def integrand(z, epsilon=epsilon):
            loss = 0.5 * shift**2 + shift * z
            density = 2.0 * math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            return density * max(0.0, -math.expm1(epsilon - loss))

        kink = min(max((epsilon - 0.5 * shift**2) / shift, least), 40.0)
        expected = sum(
            integrate.quad(integrand, a, b, epsabs=1e-14, limit=200)[0]
            for a, b in zip(sorted({least, kink}), [*sorted({least, kink})[1:], 45.0], strict=True)
        )
        found = ptr._tail_profile(np.asarray(epsilon), shift)
        assert found == pytest.approx(expected, abs=1e-11)


def test_run_profile_is_the_composition():
    run = ptr.calibrate_run(1.2, 1e-3)
    profile = ptr.run_profile(run)
    scale = math.sqrt(2.0) / run.noise_multiplier
    shift = float(ridge.posterior_shift(run.sample_epsilon, run.tail, 0.0))
    edge = 0.5 * shift**2 + ridge.LEAST_TAIL * shift
    failing = 2e-3 / 3.0
    for epsilon in (0.0, 0.3, 0.8, 1.2):

        def integrand(z, epsilon=epsilon):
            rest = epsilon - 0.5 * scale**2 - scale * z
            density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            atom = max(0.0, -math.expm1(rest - edge)) * special.chdtr(1, 2.0)
            return density * (atom + float(ptr._tail_profile(np.asarray(rest), shift)))

        kinks = [(epsilon - edge - 0.5 * scale**2) / scale]
        found = integrate.quad(integrand, -12, 12, limit=400, points=kinks)
        expected = failing + found[0]
        assert profile(np.asarray(epsilon)) == pytest.approx(expected, rel=1e-5)
    levels = np.linspace(0.0, 4.0, 50)
    assert np.all(np.diff(profile(levels)) <= 0.0)
    # Sharper than Theorem 6.1 at its own point.
    assert profile(np.asarray(1.2)) < 1e-3


# --- Tuning ---------------------------------------------------------------------------

LAW = laws.geometric(0.1)


@pytest.mark.parametrize("theorem", tuning.TUNING_THEOREMS)
@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_tuned_calibrations_meet_their_total(theorem, epsilon):
    delta = 1e-6
    found = tuning.calibrate_tuned(epsilon, delta, LAW, theorem)
    total = tuning.tuned_guarantee(found.run, theorem, LAW, delta)
    assert epsilon * (1 - 1.1e-4) < total.epsilon <= epsilon
    assert total.delta <= delta * (1 + 1e-12)
    assert (found.theorem, found.epsilon, found.delta) == (theorem, epsilon, delta)
    if theorem == "LT-Thm3.4":
        assert found.repetitions.family == "capped"
        steps = int(found.repetitions.parameters["maximum"])
        assert steps == math.ceil(10.0 * math.log(2.0 / delta))
        printed = hard_stop_approximate(found.run.epsilon, found.run.delta, 0.1, delta / 2)
        assert total == printed
    else:
        assert found.repetitions == LAW
    if theorem == "KRW-Cor5.4-sharp":
        assert found.run.epsilon == pytest.approx(epsilon / 3.0, rel=2e-4)
        assert LAW.pgf_gap(found.run.delta) == pytest.approx(delta, rel=1e-12)


def test_two_points_are_the_best_of_a_grid():
    run = ptr.calibrate_run(0.5, 1e-7)
    found = tuning.tuned_guarantee(run, "KRW-Cor6.2", LAW, 1e-6).epsilon
    grid = [
        two_point_epsilon(0.5, ptr.run_epsilon(run, d), d, 1.0, 0.1)
        for d in np.geomspace(1e-7, 0.1, 60)
    ]
    assert found <= min(grid) * (1 + 1e-4)
    assert found >= min(grid) * (1 - 1e-2)


def test_runs_get_more_the_sharper_the_theorem():
    runs = [
        tuning.calibrate_tuned(1.0, 1e-6, LAW, theorem).run
        for theorem in ("LT-Thm3.4", "KRW-Cor5.4-sharp", "KRW-Cor6.2", "JX-Envelope")
    ]
    # The first two share epsilon = 1/3 up to rounding and differ in delta.
    assert runs[0].epsilon == pytest.approx(runs[1].epsilon, rel=2e-4)
    assert runs[0].delta < 1e-9 * runs[1].delta
    assert runs[1].epsilon < runs[2].epsilon < runs[3].epsilon


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ridge.posterior_delta(0.1, 0.0, 1.0), "leverage"),
        (lambda: ridge.posterior_epsilon(1.0, 0.1, 1.0), "tail"),
        (lambda: ridge.posterior_epsilon(2.0, -0.1, 1.0), "leverage"),
        (lambda: ridge.posterior_shift(-1.0, 2.0, 0.1), "epsilon"),
        (lambda: ridge.leverage_bound(0.0, 1.0), "regularisation"),
        (lambda: ridge.ridge_norm_bound(1.0, math.inf), "records"),
        (lambda: ridge.tail_of(0.5), "delta"),
        (lambda: gaussian_noise_multiplier(1.0, 1.0), "delta"),
        (lambda: ptr.calibrate_run(0.0, 1e-6), "epsilon"),
        (lambda: ptr.calibrate_run(0.999e-6, 1e-6), "epsilon"),
        (lambda: ptr.calibrate_run(1e4, 1e-6), "epsilon"),
        (lambda: ptr.calibrate_run(1.0, 0.0), "delta"),
        (lambda: ptr.calibrate_run(1.0, 0.11), "delta is 0.11"),
        (lambda: ptr.run_epsilon(ptr.calibrate_run(1.0, 1e-3), 1e-6), "delta"),
        (lambda: ptr.run_guarantee(ptr.calibrate_run(1, 1e-3), 1e-3, 9.0), "sample_tail"),
        (lambda: tuning.calibrate_tuned(1.0, 1e-6, LAW, "x"), "theorem"),
        (lambda: tuning.calibrate_tuned(1.0, 1e-6, laws.poisson(3.0), "KRW-Cor6.2"), "geometric"),
        (lambda: tuning.calibrate_tuned(0.0, 1e-6, LAW, "KRW-Cor6.2"), "epsilon"),
        (lambda: tuning.calibrate_tuned(1.0, 0.11, LAW, "KRW-Cor6.2"), "delta is 0.11"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    # the least and the largest that are promised
    for epsilon, delta in ((1e-6, 1e-6), (9999.0, 0.1)):
        assert ptr.calibrate_run(epsilon, delta).epsilon == epsilon
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
