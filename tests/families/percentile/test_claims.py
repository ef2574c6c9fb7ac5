"""Claims on Liu & Talwar 2019, Section 4: verdicts as expected, and power."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxsel.catalogue import find_claim
from jaxsel.families.percentile.claims import (
    above_threshold,
    concentration,
    estimates_privacy,
    online,
)
from jaxsel.families.percentile.settings import algorithm_4
from jaxsel.host.errors import InputError


@pytest.mark.parametrize(
    ("claim", "given", "value"),
    [
        ("LT-Thm4.4(a)-sharp", {}, 2.0 * math.log(9.0) / 1.2),
        ("LT-Thm4.6(a)-sharp", {"final_epsilon": 2.0}, 2.0 * math.log(9.0) / 0.6),
        ("LT-Thm4.7(a)-sharp", {}, math.log(7.25) * 0.5 / 0.6 + 0.7),
        ("LT-Thm4.4(d)", {"beta": 0.01}, (4e-3 - 1e-6) / 6.0 + 1e-3 / 20.0),
        ("CL-Thm4-privacy", {"epsilon": 0.5, "alpha": 3.0}, 2.5),
        ("LT-B.3", {"shift": 0.5, "count": 101}, 50.5 * math.log(4 / 3) - math.log(2)),
    ],
)
def test_values(claim, given, value):
    assert find_claim(claim).evaluate(**given) == pytest.approx(value)


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        ("LT-Thm4.1(b)", {"beta": 0.95}),
        ("LT-Thm4.4(d)", {"queries": 1}),
        ("LT-Thm4.7(c)", {"slack": 1.1}),
        ("LT-Thm4.7-nothing", {"beta": 0.6}),
        ("CL-Thm4-delta", {"alpha": 0.0}),
        ("LT-B.3", {"shift": 1.0}),
    ],
)
def test_bad_parameters(claim, given):
    with pytest.raises(InputError):
        find_claim(claim).evaluate(**given)


def test_counts_of_different_coins_against_sampling_theory():
    chances = np.array([0.1, 0.5, 0.9, 0.3])
    law = concentration.mixed_law(chances)
    assert law.weights.sum() == pytest.approx(1.0)
    assert law.values @ law.weights == pytest.approx(chances.sum())
    assert law.at_least(4.0) == pytest.approx(np.prod(chances))
    assert law.at_most(0.0) == pytest.approx(np.prod(1.0 - chances))


@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (concentration.poisson_law(7.3), stats.poisson(7.3)),
        (concentration.binomial_law(200, 0.07), stats.binom(200, 0.07)),
    ],
)
def test_tails_are_scipys(law, exact):
    for k in (0, 3, 7.5, 20):
        assert law.at_least(k) == pytest.approx(exact.sf(math.ceil(k) - 1), rel=1e-9)
        assert law.at_most(k) == pytest.approx(exact.cdf(math.floor(k)), rel=1e-9)


def test_coupled_counts_by_enumeration():
    test = algorithm_4()._replace(samples=6, shift=1.0)
    counts = np.arange(7)
    height = np.log((counts + 1.0) / (7.0 - counts))
    ranks = (np.arange(200_000) + 0.5) / 200_000
    first, second = (stats.binom.ppf(ranks, 6, p).astype(int) for p in (0.3, 0.45))
    for sensitivity in (0.3, 0.7, 1.5):
        apart = np.abs(height[first] - height[second]) > sensitivity + 1e-12
        found = estimates_privacy.coupling_failure(0.3, 0.45, test, sensitivity)
        assert found == pytest.approx(apart.mean(), abs=2e-5)


def test_coupled_counts_of_each_query():
    claim = find_claim("LT-Thm4.4(a)-coupling")
    small = {"slack": 0.05, "base_epsilon": 0.5, "samples": 3, "shift": 0.1}
    p, q = 0.3, 0.3 * math.exp(0.5)
    rows = claim.evaluate(**small, shares=[p, p, p], others=[q, q, q])
    assert rows == pytest.approx(claim.evaluate(**small, share=p, queries=3))
    assert rows > 0.01
    for wrong in ({"shares": [p]}, {"shares": [p, p], "others": [q]}):
        with pytest.raises(InputError):
            claim.evaluate(**small, **wrong)


def test_low_then_high_moves_every_log_odds_by_two_epsilon():
    first, second = above_threshold.low_then_high(0.7, 3)
    moved = np.log(first / (1 - first)) - np.log(second / (1 - second))
    np.testing.assert_allclose(moved, [-1.4, -1.4, -1.4, 1.4])


def test_rescaled_target_leaves_room_for_the_far_query():
    """Theorem 1.5: Phi(p*) exceeds the test's target by the factor of 4.4(d)."""
    test = online.rescaled()
    added = test.shift / test.samples

    def potential(p):
        return math.log((p + added) / (1.0 - p + added))

    needed = 0.1 - test.exponent * math.log(0.1)
    assert potential(0.5) - potential(test.target) >= needed
