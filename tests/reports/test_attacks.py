"""What any attack can do, against closed forms and by other routes."""

import numpy as np
import pytest
from scipy import stats

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.dominating import DominatingPair, pair_from_laws
from jaxsel.host.errors import InputError
from jaxsel.reports import attacks
from jaxsel.reports.proven_pairs import proven_pairs
from tests.releases import one_release as release

RATES = np.array([1e-3, 1e-2, 0.1, 0.5, 0.9])


@pytest.mark.parametrize("noise", [0.7, 2.0, 8.0])
def test_one_run_of_a_gaussian_is_that_gaussian(noise):
    found = proven_pairs([release(f"gaussian:noise_multiplier={noise}", "point_mass:count=1")])
    mu = 1.0 / noise
    assert mu <= attacks.gaussian_mu(found) * (1 + 1e-12) <= mu * 1.001
    power = stats.norm.cdf(stats.norm.ppf(RATES) + mu)
    rates = attacks.true_positive_rate(found, RATES)
    assert np.all(rates >= power * (1 - 1e-12))
    np.testing.assert_allclose(rates, power, rtol=1e-3)
    total = 2.0 * stats.norm.cdf(mu / 2.0) - 1.0
    assert total <= attacks.advantage(found) <= total * 1.001


def test_two_directions_are_tested_each_for_itself():
    """All events of a pair of laws, one by one; the direction that is worse counts."""
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.45, 0.1, 0.15, 0.3])
    pairs = (pair_from_laws(p, q), pair_from_laws(q, p))
    events = (np.arange(16)[:, None] >> np.arange(4)) & 1
    worst = 0.0
    for first, second in ((p, q), (q, p)):
        falses, trues = events @ first, events @ second
        rates = attacks.true_positive_rate(pairs, falses)
        assert np.all(rates >= trues - 1e-12)
        worst = max(worst, np.max(trues - falses))
    np.testing.assert_allclose(attacks.advantage(pairs), worst)
    # The most powerful tests take outcomes of small ratio first.
    np.testing.assert_allclose(attacks.true_positive_rate(pairs, 0.05), 0.3)
    np.testing.assert_allclose(attacks.true_positive_rate(pairs[1:], 0.1), 0.3)


def test_the_gaussian_covers_every_rate_and_no_smaller_one_does():
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.45, 0.1, 0.15, 0.3])
    pairs = (pair_from_laws(p, q), pair_from_laws(q, p))
    mu = attacks.gaussian_mu(pairs)
    grid = np.linspace(0.0, 1.0, 100_001)[1:-1]
    wanted = attacks.true_positive_rate(pairs, grid)
    scores = stats.norm.ppf(grid)
    assert np.all(stats.norm.cdf(scores + mu) >= wanted - 1e-11)
    assert np.any(stats.norm.cdf(scores + 0.999 * mu) < wanted)


def test_what_is_lost_whole_leaves_no_gaussian_without_a_floor():
    (pair,) = curves.approximate(0.5, 1e-7).pairs()  # type: ignore[misc]
    assert attacks.gaussian_mu([pair], 0.5e-7) == np.inf
    floor = attacks.floor_of([pair])
    np.testing.assert_allclose(floor, 2e-7)
    mu = attacks.gaussian_mu([pair], floor)
    assert 0.5 < mu < 1.0
    grid = np.geomspace(1e-9, 1.0, 4001)[:-1]
    gaussian = stats.norm.cdf(stats.norm.ppf(grid) + mu) + floor
    assert np.all(gaussian >= attacks.true_positive_rate([pair], grid) - 1e-12)


def test_a_rate_is_the_least_over_the_profile():
    """min over epsilon of delta(epsilon) + e^epsilon x, by brute force."""
    found = proven_pairs([release("gaussian:noise_multiplier=4", "geometric:mean=10")])
    levels = np.linspace(0.0, 8.0, 40_001)
    deltas = attacks.profile(found, levels)
    for rate in (1e-3, 1e-2):
        least = np.min(deltas + np.exp(levels) * rate)
        found_rate = attacks.true_positive_rate(found, rate)
        assert found_rate <= least * (1 + 1e-12)
        np.testing.assert_allclose(found_rate, least, rtol=1e-6)


def test_randomised_response_by_hand():
    (pair,) = curves.pure(1.0).pairs()  # type: ignore[misc]
    assert isinstance(pair, DominatingPair)
    # e^1 x below the corner x = 1/(1 + e), where the rate is e/(1 + e).
    np.testing.assert_allclose(attacks.true_positive_rate([pair], 0.01), 0.01 * np.e)
    corner = 1.0 / (1.0 + np.e)
    np.testing.assert_allclose(attacks.advantage([pair]), np.tanh(0.5))
    mu = attacks.gaussian_mu([pair], 0.0)
    np.testing.assert_allclose(mu, -2.0 * stats.norm.ppf(corner), rtol=1e-12)


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan])
def test_a_rate_outside_is_refused(rate):
    (pair,) = curves.pure(1.0).pairs()  # type: ignore[misc]
    with pytest.raises(InputError, match="false positive rate"):
        attacks.true_positive_rate([pair], rate)


def test_the_worst_of_several_pairs_counts_wherever_it_stands():
    small, large = (curves.gaussian(noise).pairs() for noise in (4.0, 2.0))
    assert small is not None
    for pairs in (small + large, large + small):
        np.testing.assert_allclose(attacks.gaussian_mu(pairs), 0.5, rtol=1e-3)
        np.testing.assert_allclose(
            attacks.true_positive_rate(pairs, 0.01),
            stats.norm.cdf(stats.norm.ppf(0.01) + 0.5),
            rtol=1e-3,
        )
