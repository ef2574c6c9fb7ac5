"""Claims on Liu & Talwar 2019, Section 4: verdicts as expected, and power."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxsel.families.percentile.claims import (
    above_threshold as percentile,
)
from jaxsel.families.percentile.claims import (
    concentration as percentile_concentration,
)
from jaxsel.families.percentile.claims import (
    estimates as percentile_estimates,
)
from jaxsel.families.percentile.claims import (
    online as percentile_online,
)
from jaxsel.families.percentile.claims import (
    pipeline as percentile_pipeline,
)
from jaxsel.families.percentile.claims import (
    pipeline_privacy as percentile_pipeline_privacy,
)
from jaxsel.families.percentile.settings import algorithm_4

CLAIMS = (
    *percentile.CLAIMS,
    *percentile_estimates.CLAIMS,
    *percentile_concentration.CLAIMS,
    *percentile_pipeline_privacy.CLAIMS,
    *percentile_pipeline.CLAIMS,
    *percentile_online.CLAIMS,
)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_false_claims_name_an_erratum(claim):
    assert claim.holds or claim.erratum


def test_ids_are_unique_and_errata_name_claims():
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids)
    for erratum in percentile_pipeline.ERRATA:
        assert set(erratum.refuted) | set(erratum.corrected) <= set(ids)


def test_counts_of_different_coins_against_sampling_theory():
    chances = np.array([0.1, 0.5, 0.9, 0.3])
    law = percentile_concentration.mixed_law(chances)
    assert law.weights.sum() == pytest.approx(1.0)
    assert law.values @ law.weights == pytest.approx(chances.sum())
    assert law.at_least(4.0) == pytest.approx(np.prod(chances))
    assert law.at_most(0.0) == pytest.approx(np.prod(1.0 - chances))


@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (percentile_concentration.poisson_law(7.3), stats.poisson(7.3)),
        (percentile_concentration.binomial_law(200, 0.07), stats.binom(200, 0.07)),
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
        found = percentile_estimates.coupling_failure(0.3, 0.45, test, sensitivity)
        assert found == pytest.approx(apart.mean(), abs=2e-5)


def test_low_then_high_moves_every_log_odds_by_two_epsilon():
    first, second = percentile.low_then_high(0.7, 3)
    moved = np.log(first / (1 - first)) - np.log(second / (1 - second))
    np.testing.assert_allclose(moved, [-1.4, -1.4, -1.4, 1.4])


def test_rescaled_target_leaves_room_for_the_far_query():
    """Theorem 1.5: Phi(p*) exceeds the test's target by the factor of 4.4(d)."""
    test = percentile_online.rescaled()
    added = test.shift / test.samples

    def potential(p):
        return math.log((p + added) / (1.0 - p + added))

    needed = 0.1 - test.exponent * math.log(0.1)
    assert potential(0.5) - potential(test.target) >= needed
