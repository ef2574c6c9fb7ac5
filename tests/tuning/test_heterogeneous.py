"""Thresholds for candidates that differ in noise and length (Section 6.2, Figure 8)."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import gaussian_delta
from jaxsel.host.errors import InputError
from jaxsel.tuning.bounds.heterogeneous import (
    candidate_thresholds,
    largest_steps,
    subsampled_gaussian_profile,
)
from jaxsel.tuning.bounds.profiles import negative_binomial_profile

THRESHOLDS = candidate_thresholds(1.5, 1e-6, laws.geometric(1 / 30))


def test_thresholds_of_figure_8():
    assert THRESHOLDS.noise_multiplier == pytest.approx(2.90406, abs=6e-6)
    assert THRESHOLDS.first == pytest.approx((0.567, 0.00941), abs=6e-4)
    assert THRESHOLDS.second.epsilon == pytest.approx(1.7385, abs=6e-5)
    assert THRESHOLDS.second.delta == pytest.approx(1e-6 / 30)
    assert THRESHOLDS.tuned.epsilon == pytest.approx(3.160, abs=6e-4)
    assert THRESHOLDS.tuned.delta == 1e-6
    # the Gaussian is just (1.5, 1e-6)-DP, and meets both thresholds with equality
    scale = THRESHOLDS.noise_multiplier
    assert gaussian_delta(1.5, scale) == pytest.approx(1e-6, rel=1e-10)
    for epsilon, delta in (THRESHOLDS.first, THRESHOLDS.second):
        assert gaussian_delta(epsilon, scale) == pytest.approx(delta, rel=1e-10)
    # Corollary 6.2 there is Theorem 5.2 for the Gaussian
    bound = negative_binomial_profile(lambda level: gaussian_delta(level, scale), 1.0, 1 / 30)
    assert THRESHOLDS.tuned.epsilon == pytest.approx(bound.epsilon(1e-6), rel=1e-10)


@pytest.mark.parametrize(
    ("noise", "steps", "paper"), [(2.0, 4003, 4e3), (3.0, 9925, 1e4), (4.0, 18222, 18e3)]
)
def test_steps_of_figure_8(noise, steps, paper):
    found = largest_steps(THRESHOLDS, 0.01, noise)
    # the discretisation decides the last of the steps
    assert found == pytest.approx(steps, rel=1e-3)
    assert found == pytest.approx(paper, rel=0.02)
    for each, allowed in ((found, True), (found + 1, False)):
        profile = subsampled_gaussian_profile(0.01, noise, each)
        met = [
            float(profile(np.asarray(epsilon))) <= delta
            for epsilon, delta in (THRESHOLDS.first, THRESHOLDS.second)
        ]
        assert all(met) == allowed
        assert met[0]  # the second threshold binds
    own = negative_binomial_profile(
        subsampled_gaussian_profile(0.01, noise, found), 1.0, 1 / 30
    ).epsilon(1e-6)
    assert 0.99 * THRESHOLDS.tuned.epsilon < own < THRESHOLDS.tuned.epsilon


def test_a_finer_interval_allows_more_steps():
    coarse = largest_steps(THRESHOLDS, 0.01, 2.0, interval=1e-3)
    fine = largest_steps(THRESHOLDS, 0.01, 2.0, interval=2e-4)
    assert 0.99 * fine < coarse < fine


def test_few_steps():
    scale = THRESHOLDS.noise_multiplier
    assert largest_steps(THRESHOLDS, 1.0, 0.999 * scale) == 0
    assert largest_steps(THRESHOLDS, 1.0, 1.001 * scale) == 1
    # five Gaussians of noise multiplier sqrt(5) s are one of s
    assert largest_steps(THRESHOLDS, 1.0, 1.001 * scale * math.sqrt(5.0)) == 5


@pytest.mark.parametrize(
    ("rate", "noise", "steps"), [(0.01, 2.0, 300), (0.3277, 21.1, 250), (1.0, 3.0, 2)]
)
def test_profile_is_that_of_the_distribution(rate, noise, steps):
    profile = subsampled_gaussian_profile(rate, noise, steps)
    loss = privacy_loss_distribution.from_gaussian_mechanism(
        noise, value_discretization_interval=1e-4, sampling_prob=rate
    ).self_compose(steps)
    levels = np.array([-0.4, -0.01, 0.0, 0.00003, 0.2, 0.6, 1.1, 2.0])
    expected = [loss.get_delta_for_epsilon(float(level)) for level in levels]
    np.testing.assert_allclose(profile(levels), expected, rtol=1e-9, atol=1e-14)
    wide = profile(np.linspace(-30.0, 60.0, 5001))
    assert np.all(np.diff(wide) <= 0.0)
    assert np.all((wide >= 0.0) & (wide <= 1.0))
    assert wide[0] == pytest.approx(1.0, abs=1e-12)


def test_profile_without_subsampling_is_gaussian():
    profile = subsampled_gaussian_profile(1.0, 6.0, 9)
    levels = np.linspace(-1.0, 1.5, 26)
    exact = gaussian_delta(levels, 2.0)
    assert np.all(profile(levels) >= exact * (1.0 - 1e-9))  # an upper estimate
    np.testing.assert_allclose(profile(levels), exact, rtol=1e-4)
    assert profile(0.3) == profile(np.array([0.3]))[0]


def test_bad_input():
    for call, message in (
        (lambda: candidate_thresholds(0.0, 1e-6, laws.geometric(0.1)), "epsilon"),
        (lambda: candidate_thresholds(1.0, 1.0, laws.geometric(0.1)), "delta"),
        (lambda: candidate_thresholds(1.0, 1e-6, laws.poisson(3.0)), "poisson"),
        (lambda: largest_steps(THRESHOLDS, 0.0, 1.0), "sampling_probability"),
        (lambda: largest_steps(THRESHOLDS, 0.1, -1.0), "noise_multiplier"),
        (lambda: largest_steps(THRESHOLDS, 0.1, 1.0, interval=1.0), "interval"),
        (lambda: largest_steps(THRESHOLDS, 1e-6, 100.0), "steps are allowed"),
        (lambda: subsampled_gaussian_profile(0.1, 1.0, 0), "steps"),
        (lambda: subsampled_gaussian_profile(1.5, 1.0, 1), "sampling_probability"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_other_shapes_of_k():
    for law in (laws.logarithmic(0.01), laws.truncated_negative_binomial(3.0, 0.05)):
        found = candidate_thresholds(1.5, 1e-6, law)
        eta, gamma = law.parameters["eta"], law.parameters["gamma"]
        bound = negative_binomial_profile(
            lambda level, s=found.noise_multiplier: gaussian_delta(level, s), eta, gamma
        )
        assert found.tuned.epsilon == pytest.approx(bound.epsilon(1e-6), rel=1e-10)
