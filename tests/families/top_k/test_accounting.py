"""Accounting of top-k sets: published numbers, conversions, calibration, tests of gaps."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from jaxsel.accounting.single_run.closed_forms import gaussian_renyi
from jaxsel.accounting.single_run.conversions import (
    mironov_epsilon_at_order,
    renyi_to_delta,
    zcdp_to_epsilon,
)
from jaxsel.families.top_k import curves
from jaxsel.families.top_k.baselines import (
    advanced_composition,
    advanced_composition_share,
    exponential_top_k_rho,
    exponential_top_k_scale,
    labels_renyi,
    limited_domain_epsilon,
    limited_domain_share,
    limited_domain_threshold,
    top_stable,
)
from jaxsel.families.top_k.calibration import calibrate, largest_rho, stable_top_k_calibration
from jaxsel.families.top_k.gaps import (
    fail_probability,
    gap_for_success,
    gap_for_success_printed,
    needed_noise,
    pass_probability,
    threshold_factor,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation

EXP3 = (50.0, 60.0, 1e-9, 40)  # the multi-label experiment


# --- Published numbers ----------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "rho"), [(0.4, 0.004635), (0.8, 0.018128), (1.0, 0.028015)])
def test_noise_of_exp1(epsilon, rho):
    found = stable_top_k_calibration(epsilon, 1 / 2293)
    assert found.rho == pytest.approx(rho, abs=5e-7)
    assert found.delta_t == pytest.approx(0.5 / 2293)
    assert found.selection_epsilon == pytest.approx(2 * math.sqrt(found.rho))
    assert found.selection_scale == found.test_scale == pytest.approx(rho**-0.5, rel=1e-4)


def test_noise_of_exp2():
    rho = largest_rho(0.1, 1e-6)
    assert rho == pytest.approx(1.80304e-4, abs=5e-10)
    assert exponential_top_k_scale(rho / 10, 15) == pytest.approx(322.5, abs=0.05)
    days = stable_top_k_calibration(0.1, 1e-6, releases=10)
    assert 10 * days.rho == pytest.approx(1.71720e-4, abs=5e-10)
    assert days.test_scale == pytest.approx(241.3, abs=0.05)
    assert days.selection_epsilon == pytest.approx(0.00829, abs=5e-6)
    assert 10 * days.delta_t == pytest.approx(5e-7)


def test_costs_of_exp3():
    def epsilon(curve, rule=mironov_epsilon_at_order):
        total = curves.compose_curves(curve, times=600)
        return curves.approximate_renyi_to_epsilon(total, 1e-6, rule=rule).epsilon

    gaussian = curves.stable_top_k_variant_curve(*EXP3)
    assert epsilon(gaussian) == pytest.approx(71.4, abs=0.05)
    gumbel = curves.stable_top_k_variant_curve(25.0, *EXP3[1:], selection="gumbel")
    assert epsilon(gumbel) == pytest.approx(6.32, abs=0.006)
    assert epsilon(curves.gap_test_curve(60.0, 1e-9)) == pytest.approx(2.30, abs=0.005)
    sharp = curves.stable_top_k_variant_curve(*EXP3, sharp=True)
    assert epsilon(sharp) < epsilon(gaussian)


# --- Curves ---------------------------------------------------------------------------


def test_proposition_7_as_printed():
    for epsilon in (0.05, 1.0, 6.0):
        for order in (1.01, 2.0, 7.5, 60.0):
            with mpmath.workdps(50):
                e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
                ratio = (mpmath.sinh(a * e) - mpmath.sinh((a - 1) * e)) / mpmath.sinh(e)
                pure = mpmath.log(ratio) / (a - 1)
                printed = float(min(e**2 * a / 8, pure))
            found = curves.largest_gap_renyi(order, epsilon)
            assert found == pytest.approx(printed, rel=1e-10)
    assert curves.largest_gap_renyi(np.inf, 2.0) == 2.0


def test_the_sharp_curve_of_bounded_range():
    """Against a search over all pairs of two outcomes whose losses differ by epsilon."""
    epsilon, orders = 1.3, np.array([1.1, 2.0, 9.0, 80.0])
    with pytest.raises(InputError, match="epsilon is 0"):
        curves.largest_gap_bounded_range_renyi(orders, 0.0)
    found = curves.largest_gap_bounded_range_renyi(orders, epsilon)
    shift = np.linspace(0.0, epsilon, 200_001)[1:-1]
    p = -np.expm1(epsilon - shift) / (np.exp(-shift) - np.exp(epsilon - shift))
    for order, value in zip(orders, found, strict=True):
        moment = p * np.exp((order - 1) * shift)
        moment += (1 - p) * np.exp((order - 1) * (shift - epsilon))
        best = np.log(moment.max()) / (order - 1)
        assert best <= value + 1e-12
        assert value == pytest.approx(best, rel=1e-8)
        assert value < curves.largest_gap_renyi(order, epsilon)
    assert curves.largest_gap_bounded_range_renyi(np.inf, epsilon) == epsilon
    # by 50 digits where float64 might cancel
    for order, small in ((1.001, 0.02), (1.5, 0.01), (30.0, 0.001), (2000.0, 3.0)):
        with mpmath.workdps(50):
            a, e = mpmath.mpf(order), mpmath.mpf(small)
            top, low = (mpmath.exp(e) - mpmath.exp((1 - a) * e), 1 - mpmath.exp((1 - a) * e))
            t = mpmath.log((a - 1) * top / (a * low))
            moment = top * mpmath.exp((a - 1) * t) - low * mpmath.exp(a * t)
            exact = float(mpmath.log(moment / (mpmath.exp(e) - 1)) / (a - 1))
        found = curves.largest_gap_bounded_range_renyi(order, small)
        assert found == pytest.approx(exact, rel=1e-5)
        assert found > exact * (1 - 1e-9)


def test_curves_of_other_noises():
    order = np.array([1.5, 4.0])
    gaussian = curves.noisy_gap_renyi(order, "gaussian", 3.0, 40)
    assert gaussian == pytest.approx(2 * order / 9 + math.log(40) / (order - 1))
    sharp = curves.noisy_gap_renyi(order, "gaussian", 3.0, 40, sharp=True)
    assert sharp == pytest.approx(2 * order / 9 + math.log(39) / (order - 1))
    gumbel = curves.noisy_gap_renyi(order, "gumbel", 4.0, 40)
    assert gumbel == pytest.approx(curves.largest_gap_renyi(order, 0.5))
    for noise in ("laplace", "exponential"):
        assert curves.noisy_gap_renyi(np.inf, noise, 4.0, 40) == pytest.approx(0.5)
    laplace = curves.noisy_gap_renyi(order, "laplace", 4.0, 2, sharp=True)
    exponential = curves.noisy_gap_renyi(order, "exponential", 4.0, 2)
    assert np.all(laplace < exponential)


def test_composition_and_conversion_of_stable_top_k():
    rho, delta_t, times = 0.02, 1e-7, 5
    one = curves.stable_top_k_curve(rho, delta_t)
    total = curves.compose_curves(one, times=times)
    assert total.failure == pytest.approx(times * delta_t)
    assert total.renyi(np.array([2.0, 3.0])) == pytest.approx([0.2, 0.3])
    left = 1e-5 - times * delta_t
    simple = curves.approximate_renyi_to_epsilon(total, 1e-5, rule=mironov_epsilon_at_order)
    assert simple.epsilon == pytest.approx(zcdp_to_epsilon(times * rho, left), rel=1e-9)
    tight = curves.approximate_renyi_to_epsilon(total, 1e-5)
    assert tight.epsilon < simple.epsilon
    back = renyi_to_delta(total.renyi, tight.epsilon) + total.failure
    assert back == pytest.approx(1e-5, rel=1e-6)
    sharp = curves.stable_top_k_curve(rho, delta_t, as_zcdp=False)
    orders = np.array([1.5, 10.0, 100.0])
    assert np.all(sharp.renyi(orders) < one.renyi(orders))
    assert curves.fixed_top_k_curve(rho, delta_t).renyi(2.0) == pytest.approx(2 * rho)


def test_calibration_meets_its_target():
    for conversion in ("zcdp", "tight", "sharp"):
        found = stable_top_k_calibration(
            0.8, 1e-5, releases=3, test_share=0.2, conversion=conversion
        )
        one = curves.stable_top_k_curve(found.rho, found.delta_t, as_zcdp=conversion != "sharp")
        total = curves.compose_curves(one, times=3)
        rule = {"rule": mironov_epsilon_at_order} if conversion == "zcdp" else {}
        cost = curves.approximate_renyi_to_epsilon(total, 1e-5, **rule).epsilon
        assert cost == pytest.approx(0.8, rel=1e-6)
    rhos = [
        stable_top_k_calibration(0.8, 1e-5, conversion=conversion).rho
        for conversion in ("zcdp", "tight", "sharp")
    ]
    assert rhos == sorted(rhos)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 30.0])
def test_the_largest_rho_by_mpmath(epsilon):
    """rho + 2 sqrt(rho log(1/delta)) = epsilon solved; the best order says more."""
    delta = 1e-6
    simple = largest_rho(epsilon, delta)
    log = mpmath.log(1 / mpmath.mpf(delta))
    assert simple == pytest.approx(
        float((mpmath.sqrt(log + epsilon) - mpmath.sqrt(log)) ** 2), rel=1e-12
    )
    tight = largest_rho(epsilon, delta, conversion="tight")

    def delta_at(order):  # Canonne, Kamath & Steinke 2020, Proposition 12
        a = mpmath.mpf(order)
        log_delta = (a - 1) * (a * tight - epsilon) - mpmath.log(a)
        return log_delta + (a - 1) * mpmath.log1p(-1 / a)

    centre = (1 + epsilon / tight) / 2
    best = optimize.minimize_scalar(
        lambda a: float(delta_at(a)),
        bounds=(1.0 + 1e-3 * (centre - 1.0), 2.0 * centre),
        method="bounded",
        options={"xatol": 1e-7 * centre},
    )
    assert math.exp(best.fun) == pytest.approx(delta, rel=1e-6)
    assert tight > simple


def test_least_noise_for_labels():
    def curve(scale):
        return curves.ApproximateRenyiCurve(lambda a: labels_renyi(a, scale, 40.0))

    scale = calibrate(curve, 1.0, 1e-6, releases=20)
    total = curves.compose_curves(curve(scale), times=20)
    cost = curves.approximate_renyi_to_epsilon(total, 1e-6).epsilon
    assert cost == pytest.approx(1.0, rel=1e-8)
    assert cost <= 1.0
    with pytest.raises(InputError, match="no noise"):
        calibrate(
            lambda s: curves.ApproximateRenyiCurve(lambda a: np.full(np.shape(a), 1.0)), 0.5, 0.1
        )


# --- Gaps -----------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])
def test_pass_probability_is_that_of_the_algorithm(noise, law):
    """By integrating the noise over what passes, as Algorithms 4 and 5 are printed."""
    for gap in (0.0, 1.0, 1.5, 7.0):
        for scale, delta_t in ((1.0, 0.1), (2.5, 1e-3)):
            if noise == "gaussian":
                centre, cut = (max(1.0, gap), scale * math.sqrt(2 * math.log(1 / delta_t)))
            else:
                centre, cut = gap, scale * math.log(1 / delta_t)
            low = (1.0 - centre + cut) / scale
            exact, _ = integrate.quad(law.pdf, low, 60.0, points=[max(low, 0.0)])
            found = pass_probability(gap, scale, delta_t, noise)
            assert found == pytest.approx(exact, rel=1e-7)
            failed = fail_probability(gap, scale, delta_t, noise)
            assert found + failed == pytest.approx(1.0)
    # far in the tail nothing is lost
    assert 0.0 < fail_probability(30.0, 1.0, 0.1, noise) < 1e-11


def test_pass_probabilities_at_gaps_up_to_1():
    # (5, 5, 0) and (5, 6, 0): gaps 0 and 1, the same chance on both sides
    for gap in (0.0, 1.0):
        assert pass_probability(gap, 1.0, 0.05) == pytest.approx(0.0071876, abs=5e-8)
    assert pass_probability(1.0, 3.0, 1e-6) == pytest.approx(7.3e-8, rel=0.01)
    assert pass_probability(1.0, 3.0, 1e-3, "laplace") == pytest.approx(5e-4)


def test_thresholds():
    for delta_t in (0.9, 0.5, 0.1, 1e-9):
        for noise, law in (("gaussian", stats.norm), ("laplace", stats.laplace)):
            quantile = threshold_factor(delta_t, noise, quantile=True)
            assert law.sf(quantile) == pytest.approx(delta_t)
            assert threshold_factor(delta_t, noise) >= quantile


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_gap_for_success_is_least(noise):
    for scale, delta_t, failure in ((1.0, 0.1, 0.1), (20.0, 1e-6, 1e-3), (3.0, 0.6, 0.6)):
        gap = gap_for_success(scale, delta_t, failure, noise)
        assert fail_probability(gap, scale, delta_t, noise) <= failure * (1 + 1e-9)
        if gap > 1.0:
            below = fail_probability(gap - 1e-3, scale, delta_t, noise)
            assert below > failure


def test_theorem_20():
    epsilon, delta, beta = 0.5, 1e-6, 0.05
    scale = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    printed = gap_for_success_printed(epsilon, delta, beta)
    assert printed == pytest.approx(1 + 4 * math.log(1 / (delta * beta)) / epsilon)
    assert gap_for_success(scale, delta, beta) < printed
    laplace = gap_for_success_printed(epsilon, delta, beta, "laplace")
    assert laplace == pytest.approx(1 + math.log(1 / (delta * beta)) / epsilon)
    # fails with half of beta
    assert fail_probability(laplace, 1 / epsilon, delta, "laplace") == pytest.approx(beta / 2)
    # at equal zCDP the Gaussian test needs less
    assert gap_for_success(1 / epsilon, delta, beta) < laplace


# --- Baselines ------------------------------------------------------------------------


def test_peeling():
    for relation, factor in ((Relation.MONOTONE, 8.0), (Relation.GENERAL, 2.0)):
        assert exponential_top_k_rho(3.0, 5, relation) == pytest.approx(5 / (factor * 9))
        scale = exponential_top_k_scale(0.1, 5, relation)
        assert exponential_top_k_rho(scale, 5, relation) == pytest.approx(0.1)


def test_shares_of_compositions():
    for share, cost in (
        (advanced_composition_share, advanced_composition),
        (limited_domain_share, limited_domain_epsilon),
    ):
        for times in (1, 3, 1000):
            each = share(0.7, times, 1e-6)
            assert cost(each, times, 1e-6) <= 0.7
            assert cost(each, times, 1e-6) == pytest.approx(0.7)
    assert advanced_composition(0.01, 10_000, 1e-6) < 0.01 * 10_000 / 10
    assert limited_domain_epsilon(0.01, 100, 1e-6) < advanced_composition(0.01, 100, 1e-6)
    assert limited_domain_threshold(0.5, 0.01, 4) == pytest.approx(1 + math.log(400) / 0.5)


def test_top_stable_settings():
    for epsilon, delta, tests in ((1.0, 1e-6, 10), (0.1, 0.1, 1), (3.0, 1e-9, 1500)):
        found = top_stable(epsilon, delta, tests)
        c, q = 2 * 0.37 / 0.63, found.delta_query
        root = tests * (2 * q**c + q - c * (q**c + 2 * q)) / (4 - 4 * c)
        assert root == pytest.approx(delta, rel=1e-9)
        assert found.threshold == pytest.approx(math.log(1 / q) / (0.63 * epsilon / 2))
        assert found.threshold_scale == pytest.approx(1 / (0.37 * epsilon))
        assert found.query_scale == pytest.approx(2 / (0.63 * epsilon))


def test_label_curves():
    assert labels_renyi(3.0, 4.0, 40.0) == pytest.approx(3.0 * 40 / 32)
    assert labels_renyi(3.0, 4.0, 1.0) == pytest.approx(gaussian_renyi(3.0, 4.0))


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: curves.approximate_renyi_to_epsilon(curves.stable_top_k_curve(0.1, 0.1), 0.1),
            "must exceed the failure",
        ),
        (lambda: curves.stable_top_k_curve(-1.0, 0.1), "rho is -1"),
        (lambda: curves.noisy_gap_renyi(2.0, "cauchy", 1.0, 3), "noise is 'cauchy'"),
        (lambda: curves.noisy_gap_renyi(2.0, "gaussian", 1.0, 1), "candidates is 1"),
        (lambda: curves.gap_test_curve(1.0, 0.1, noise="gumbel"), "noise is 'gumbel'"),
        (lambda: curves.compose_curves(times=0), "times is 0"),
        (lambda: stable_top_k_calibration(1.0, 1.5), "delta is 1.5"),
        (lambda: largest_rho(1.0, 0.1, conversion="sharp"), "conversion is 'sharp'"),
        (lambda: largest_rho(0.0, 0.1), "epsilon is 0"),
        (lambda: largest_rho(1.0, 1.0, conversion="tight"), "delta is 1"),
        (lambda: stable_top_k_calibration(1.0, 0.1, test_share=1.0), "test_share is 1"),
        (lambda: stable_top_k_calibration(1.0, 0.1, conversion="rdp"), "conversion is"),
        (lambda: needed_noise(-1.0, 1.0, 0.1), "gaps must be >= 0"),
        (lambda: pass_probability(1.0, 0.0, 0.1), "noise_scale is 0"),
        (lambda: gap_for_success(1.0, 0.1, 1.0), "failure is 1"),
        (lambda: top_stable(1.0, 0.9, 1), "too large for 1 tests"),
        (lambda: exponential_top_k_scale(1.0, 0), "k is 0"),
        (lambda: exponential_top_k_rho(1.0, 1, Relation.BASE), "relation"),
        (lambda: limited_domain_epsilon(1.0, 2, 0.0), "slack is 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
