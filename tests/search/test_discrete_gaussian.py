"""The exact sampler of the discrete Gaussian law, and what its noise guarantees."""

import math
import random
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from dp_accounting.pld import privacy_loss_distribution

from jaxsel import account
from jaxsel.accounting.single_run import curves
from jaxsel.host.errors import InputError
from jaxsel.repetitions import geometric
from jaxsel.search.discrete_gaussian import discrete_gaussian


def _law(sigma):
    x = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    weights = np.exp(-0.5 * (x / sigma) ** 2)
    return x, weights / weights.sum()


def _p_value(drawn, x, law):
    """Of a chi-square test, with cells of less than 10 expected draws put together."""
    counts = Counter(drawn)
    observed = np.array([counts[value] for value in x.tolist()])
    expected = len(drawn) * law
    often = expected >= 10.0
    observed = np.append(observed[often], observed[~often].sum())
    expected = np.append(expected[often], expected[~often].sum())
    return scipy.stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.7, 40.0])
def test_draws_have_the_law(sigma):
    source = random.Random(7)
    drawn = [discrete_gaussian(sigma, source) for _ in range(20_000)]
    x, law = _law(sigma)
    assert _p_value(drawn, x, law) > 1e-6
    # A sigma that is a tenth larger would be seen.
    assert _p_value(drawn, *_law(1.1 * sigma)) < 1e-6


@pytest.mark.parametrize(("sigma", "sensitivity"), [(0.5, 1), (1.3, 1), (8.0, 1), (3.3, 4)])
def test_its_profile_lies_between_those_of_another_accountant(sigma, sensitivity):
    base = curves.discrete_gaussian(sigma, sensitivity)
    above, below = (
        privacy_loss_distribution.from_discrete_gaussian_mechanism(
            sigma, sensitivity, pessimistic_estimate=pessimistic
        )
        for pessimistic in (True, False)
    )
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
        found = base.delta(epsilon)
        assert found <= above.get_delta_for_epsilon(epsilon) * (1 + 1e-9)
        if found > 1e-20:
            assert found >= below.get_delta_for_epsilon(epsilon) * (1 - 1e-9)


def test_continuous_noise_of_the_same_sigma_does_not_cover_it():
    base, continuous = curves.discrete_gaussian(1.3), curves.gaussian(1.3)
    assert base.delta(0.5) > continuous.delta(0.5) * 1.02
    law = geometric(0.2)
    found = [account(one, law, 1e-6).best.epsilon for one in (base, continuous)]
    assert found[0] > found[1]


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_the_largest_shift_is_the_worst(shift):
    largest = curves.discrete_gaussian(2.0, 4)
    smaller = curves.discrete_gaussian(2.0, shift)
    for epsilon in np.linspace(0.0, 4.0, 17):
        assert smaller.delta(epsilon) <= largest.delta(epsilon)


@pytest.mark.parametrize(("sigma", "sensitivity"), [(0.0, 1), (math.inf, 1), (1.0, 0), (1.0, 1.5)])
def test_bad_noise_is_refused(sigma, sensitivity):
    with pytest.raises(InputError):
        curves.discrete_gaussian(sigma, sensitivity)
