"""The law of the halting query: by running it, and its counts in high precision."""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from jaxsel.families.sparse_vector.halting_law import (
    binomial_counts,
    halting_law,
    laplace_difference_tail,
)
from tests.conftest import ALPHA


def test_difference_of_laplace_noises_by_sampling():
    generator = np.random.default_rng(1)
    draws = generator.laplace(0, 3.0, 10**6) - generator.laplace(0, 1.5, 10**6)
    for t in (-4.0, 0.5, 6.0):
        exact = float(laplace_difference_tail(t, 3.0, 1.5))
        hits = int(np.sum(draws > t))
        assert stats.binomtest(hits, 10**6, exact).pvalue > ALPHA
        assert stats.binomtest(hits, 10**6, exact * 0.97).pvalue < ALPHA


def test_halting_law_by_running_the_algorithm():
    generator = np.random.default_rng(2)
    levels = [-1.0, 0.7, -2.5, 1.2]
    exact = halting_law(levels, 2.0, 0.8)
    n = 400_000
    threshold = generator.laplace(0.0, 0.8, (n, 1))
    passed = np.array(levels) + generator.laplace(0.0, 2.0, (n, 4)) > threshold
    halts = np.where(passed.any(axis=1), passed.argmax(axis=1), 4)
    counts = np.bincount(halts, minlength=5)
    assert stats.chisquare(counts, exact * n).pvalue > ALPHA
    wrong = halting_law(levels, 2.1, 0.8)
    assert stats.chisquare(counts, wrong / wrong.sum() * n).pvalue < ALPHA


@mp.workdps(30)
def test_binomial_counts_far_beyond_exact_integers():
    samples, share = 10**17, 9.8e-14
    counts = binomial_counts(samples, share)
    assert counts.weights.sum() == pytest.approx(1.0, abs=1e-9)
    place = int(np.flatnonzero(counts.values == 9800)[0])
    exact = (
        mp.loggamma(mp.mpf(samples) + 1) - mp.loggamma(9801) - mp.loggamma(mp.mpf(samples) - 9799)
    )
    exact += 9800 * mp.log(share) + (mp.mpf(samples) - 9800) * mp.log1p(-share)
    assert counts.weights[place] == pytest.approx(float(mp.exp(exact)), rel=1e-7)
    mirrored = binomial_counts(1000, 0.75)
    np.testing.assert_allclose(
        mirrored.weights, stats.binom.pmf(mirrored.values, 1000, 0.75), rtol=1e-10
    )
    assert np.all(mirrored.values + mirrored.failures == 1000)
