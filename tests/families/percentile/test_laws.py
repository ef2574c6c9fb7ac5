"""Exact laws of the percentile sparse vectors against routes of their own."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.catalogue import find_claim
from jaxsel.families.percentile import laws as percentile_laws
from jaxsel.families.percentile import median_laws as better_than_median
from jaxsel.families.percentile import pipeline_laws as pipelines
from jaxsel.families.percentile.score_percentile_laws import percentile_law, rank_range
from jaxsel.families.percentile.settings import algorithm_4, algorithm_5, log_potential
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.families.thresholds.laws import threshold_law
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.exact_laws import tuned_law

FOUR = algorithm_4(queries=5)._replace(samples=12, shift=3.0)
FIVE = algorithm_5(thresholds=4)._replace(samples=3, shift=1.0, offset=0.7)


def integrated(levels, weights, query_scale, threshold_scale):
    """The halting law by adaptive quadrature, split at every kink."""

    def passing(z, row, weight):
        return float(weight @ stats.laplace.sf(z - row, scale=query_scale))

    law, cuts = [], np.unique(np.concatenate([[0.0], *levels]))
    ends = [-50.0 * threshold_scale, *cuts, 50.0 * threshold_scale]
    for halt in range(len(levels) + 1):

        def density(z, halt=halt):
            value = stats.laplace.pdf(z, scale=threshold_scale)
            for row, weight in zip(levels[:halt], weights[:halt], strict=True):
                value *= 1.0 - passing(z, row, weight)
            if halt < len(levels):
                value *= passing(z, levels[halt], weights[halt])
            return value

        parts = [
            integrate.quad(density, low, high, epsabs=1e-12, epsrel=1e-10)[0]
            for low, high in itertools.pairwise(ends)
        ]
        law.append(sum(parts))
    return np.array(law)


def test_oracle_law_by_adaptive_quadrature_and_by_hand():
    shares = [0.2, 0.2, 0.6]
    law = percentile_laws.oracle_law(shares, target=0.4, base_epsilon=0.3, final_epsilon=1.0)
    levels = [np.array([math.log(p / (1 - p)) - math.log(0.4 / 0.6)]) for p in shares]
    oracle = integrated(levels, [np.ones(1)] * 3, 2.4, 1.2)
    np.testing.assert_allclose(law, oracle, atol=1e-9)
    # One query at the level (1/beta)^(12 epsilon_1/epsilon_3): a closed form.
    beta = 0.1
    ratio = beta ** -(12 * 0.3)
    law = percentile_laws.oracle_law(
        [ratio / (1 + ratio)], target=0.5, base_epsilon=0.3, final_epsilon=1.0
    )
    assert law[1] == pytest.approx((4 * beta**1.5 - beta**3) / 6, rel=1e-9)


def test_certain_and_impossible_queries():
    law = percentile_laws.oracle_law(
        [0.0, 1.0, 0.5], target=0.5, base_epsilon=1.0, final_epsilon=1.0
    )
    np.testing.assert_allclose(law, [0.0, 1.0, 0.0, 0.0], atol=1e-15)


def test_extended_law_by_adaptive_quadrature():
    shares, counts = [0.1, 0.7], np.arange(13.0)
    level = np.log((counts + 3.0) / (12.0 - counts + 3.0))
    level = level - log_potential(0.5, FOUR)
    weights = [stats.binom.pmf(counts, 12, p) for p in shares]
    oracle = integrated([level] * 2, weights, FOUR.query_scale, FOUR.threshold_scale)
    np.testing.assert_allclose(percentile_laws.extended_law(shares, FOUR), oracle, atol=1e-9)


def test_extended_law_with_all_samples_in_the_world_is_the_oracle_law():
    """As N grows with Delta fixed, estimates become the chances themselves."""
    shares = [0.2, 0.5, 0.9]
    test = algorithm_4(queries=3)._replace(samples=10**26, shift=1.0)
    oracle = halting_law(
        list(percentile_laws.oracle_levels(shares, test.target)),
        test.query_scale,
        test.threshold_scale,
    )
    np.testing.assert_allclose(percentile_laws.extended_law(shares, test), oracle, atol=1e-9)


@pytest.mark.parametrize("share", [0.3, 0.9, 1e-3])
def test_coarse_and_fine_sums_over_counts_agree(share, monkeypatch):
    test = FOUR._replace(samples=60_000, shift=20.0)
    coarse = percentile_laws.extended_law([share] * 2, test)
    monkeypatch.setattr(percentile_laws, "_DENSE", 10**9)
    fine = percentile_laws.extended_law([share] * 2, test)
    np.testing.assert_allclose(coarse, fine, atol=1e-12)


@pytest.mark.parametrize(
    ("samples", "share"), [(1e6, 0.3), (1e13, 0.7), (1e17, 1e-6), (1e45, 1e-41)]
)
def test_counts_of_many_samples(samples, share):
    """Against 40-digit arithmetic, and the exact mean and variance."""
    counts = percentile_laws.share_counts(samples, share)
    rare = min(share, 1.0 - share)
    values = counts.values if share <= 0.5 else counts.failures
    mean = samples * rare
    assert counts.weights @ (values - mean) == pytest.approx(0.0, abs=1e-6 * mean**0.5)
    variance = counts.weights @ (values - mean) ** 2
    assert variance == pytest.approx(mean * (1 - rare), rel=1e-6)
    middle = values.size // 2
    with mpmath.workdps(60):
        n, p = mpmath.mpf(samples), mpmath.mpf(rare)

        def weight(k):
            log = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1)
            log -= mpmath.loggamma(n - k + 1)
            return log + k * mpmath.log(p) + (n - k) * mpmath.log1p(-p)

        ratio = mpmath.exp(
            weight(mpmath.mpf(values[middle + 9])) - weight(mpmath.mpf(values[middle]))
        )
    found = counts.weights[middle + 9] / counts.weights[middle]
    assert found == pytest.approx(float(ratio), rel=1e-6)


def test_found_threshold_law_by_enumeration():
    shares = np.array([0.1, 0.1, 0.5, 0.8])
    cells = np.diff(np.concatenate([[0.0], shares, [1.0]]))
    aim = math.log(3 * FIVE.target + 1.0) - FIVE.offset
    total = np.zeros(5)
    for split in itertools.product(range(4), repeat=5):
        if sum(split) != 3:
            continue
        reached = np.cumsum(split)[:4]
        law = halting_law(list(np.log(reached + 1.0) - aim), FIVE.query_scale, FIVE.threshold_scale)
        total += stats.multinomial.pmf(split, 3, cells) * law
    np.testing.assert_allclose(percentile_laws.found_threshold_law(shares, FIVE), total, atol=1e-13)


def test_found_threshold_law_on_a_coarser_grid_of_counts(monkeypatch):
    test = FIVE._replace(samples=3000, shift=40.0)
    shares = [0.1, 0.3, 0.6, 1.0]
    coarse = percentile_laws.found_threshold_law(shares, test)
    original = percentile_laws._windows

    def finest(shares, chances, test):
        found = original(shares, chances, test)
        windows = []
        for counts, spacing in found:
            assert counts is not None
            every = np.arange(counts[0], counts[-1] + 1.0)
            windows.append(percentile_laws._Window(every, float(spacing > 0)))
        return windows

    monkeypatch.setattr(percentile_laws, "_windows", finest)
    fine = percentile_laws.found_threshold_law(shares, test)
    np.testing.assert_allclose(coarse, fine, atol=1e-9)


@pytest.mark.parametrize("samples", [1e9, 1e17, 1e60])
def test_found_threshold_law_of_many_samples_is_that_of_the_chances(samples):
    test = algorithm_5(thresholds=4)._replace(samples=samples, shift=1.0)
    shares = np.array([0.1, 0.1, 0.5, 0.8])
    aim = math.log(samples * test.target + 1.0) - test.offset
    oracle = halting_law(
        list(np.log(samples * shares + 1.0) - aim), test.query_scale, test.threshold_scale
    )
    law = percentile_laws.found_threshold_law(shares, test)
    np.testing.assert_allclose(law, oracle, atol=1e-8)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)


def test_pure_bound_is_attained_as_the_counts_become_certain():
    """All runs pass on one side and none on the other, the last query reversed."""
    test = FOUR._replace(samples=2, shift=1.0)
    low = np.append(np.zeros(400), 1.0)
    laws = [percentile_laws.extended_law(s, test) for s in (low, 1.0 - low)]
    bound = find_claim("LT-Thm4.4(a)-sharp").evaluate(samples=2, shift=1.0)
    assert 0.98 * bound < exact_epsilon(*laws) <= bound * (1 + 1e-9)


# --- the pipeline ---------------------------------------------------------------------


def test_pipeline_law_by_composing_its_parts():
    settings = pipelines.pipeline(base_epsilon=0.1, slack=1.0)
    settings = settings._replace(
        test=settings.test._replace(samples=30, shift=6.0, offset=1.0),
        stop_probability=0.1,
        max_draws=20,
    )
    scores, mass = np.array([0.0, 0.8, 0.3]), np.array([0.5, 0.1, 0.4])
    law = pipelines.pipeline_law(scores, mass, settings)
    # thresholds 1, 3/4, 1/2, 1/4, 0
    shares = [0.0, 0.1, 0.1, 0.5, 1.0]
    found = percentile_laws.found_threshold_law(shares, settings.test)
    order = [1, 2, 0]
    expected = np.zeros(4)
    expected[3] = found[5] + found[0]
    for chance, accepted in zip(found[1:5], (1, 1, 2, 3), strict=True):
        part = threshold_law(mass[order], accepted, 0.1, 20)
        expected[order[:accepted]] += chance * part[:-1]
        expected[3] += chance * part[-1]
    np.testing.assert_allclose(law, expected, atol=1e-12)


def test_honest_numbers_of_calls():
    """The numbers quoted in the documentation."""
    settings = pipelines.pipeline()
    assert settings.test.exponent == pytest.approx(6.0 + 12.0 * 0.1)
    assert math.log10(pipelines.most_calls(settings)) == pytest.approx(32.29, abs=0.01)
    sharp = pipelines.pipeline(reading="sharp")
    ratio = settings.test.samples / sharp.test.samples
    assert ratio == pytest.approx(16**7.2, rel=1e-6)
    assert math.log10(pipelines.most_calls(sharp)) == pytest.approx(23.62, abs=0.01)
    # Theorem 4 of Cohen et al. at the same total epsilon: alpha = epsilon_0/epsilon_1.
    assert better_than_median.median_rounds(0.1, 10.0) == 16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: percentile_laws.checked_shares([]), "not empty"),
        (lambda: percentile_laws.checked_shares([0.5, 1.5]), "outside"),
        (lambda: percentile_laws.oracle_levels([0.5], 1.0), "target is 1"),
        (lambda: percentile_laws.found_threshold_law([0.5, 0.4], FIVE), "fall"),
        (
            lambda: percentile_laws.found_threshold_law(
                [0.5, 0.5001], FIVE._replace(samples=10**7)
            ),
            "too near",
        ),
        (lambda: pipelines.pipeline(slack=1e-3), "more than 1e"),
        (lambda: pipelines.pipeline(reading="bold"), "reading"),
        (lambda: pipelines.run_outcomes([0.5, 2.0], [0.5, 0.5]), "scores must lie"),
        (lambda: pipelines.run_outcomes([0.5], [0.5, 0.5]), "equally many"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


# --- Percentiles of the scores --------------------------------------------------------


@pytest.mark.parametrize("rank", ["median", "random", 1, 3, 5])
def test_percentile_law_by_enumeration(rank):
    q, count = np.array([0.2, 0.5, 0.3]), 5
    low, high = rank_range(count, rank)
    expected = np.zeros(3)
    for draws in itertools.product(range(3), repeat=count):
        chance = math.prod(q[i] for i in draws)
        for k in range(low, high + 1):
            expected[sorted(draws)[k - 1]] += chance / (high - low + 1)
    np.testing.assert_allclose(percentile_law(q, count, rank), expected, rtol=1e-12)


def test_first_rank_is_the_best_of_a_fixed_number():
    q = np.array([1e-9, 0.3, 0.6999999990])
    best = tuned_law(q, laws.point_mass(40))[:-1]
    np.testing.assert_allclose(percentile_law(q, 40, 1), best, rtol=1e-7)


def test_rare_medians_are_accurate():
    found = percentile_law([0.7, 0.3], 1001)[1]
    expected = stats.binom.cdf(500, 1001, 0.7)
    assert expected < 1e-35
    assert found == pytest.approx(expected, rel=1e-9)
    found = percentile_law([0.3, 0.7], 1001)[0]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("rank", "message"), [("best", "median, random"), (0, ">= 1"), (6, "at most the 5")]
)
def test_bad_ranks(rank, message):
    with pytest.raises(InputError, match=message):
        rank_range(5, rank)
