"""One limit at the whole error: sound by enumeration and by simulation, and hardly above."""

import bisect
import math

import numpy as np
import pytest
import scipy.stats

from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.auditing.event_limits import (
    conditional_delta,
    conditional_epsilon,
    event_epsilon,
    event_epsilon_upper,
    log_ratio_lower,
    poisson_counts,
    thinned,
)
from jaxsel.host.intervals import binomial_p_value
from tests.conftest import ALPHA

RUNS = 4000


@pytest.mark.parametrize("error", [0.1, 0.4])
@pytest.mark.parametrize("means", [(30.0, 20.0), (300.0, 250.0), (400.0, 60.0)])
def test_ratio_limit_has_the_whole_error_by_enumeration(means, error):
    x, y = (np.arange(int(m + 9 * math.sqrt(m)) + 1) for m in means)
    law = np.multiply.outer(
        *(scipy.stats.poisson.pmf(k, m) for k, m in zip((x, y), means, strict=True))
    )
    truth = math.log(means[0] / means[1])
    # The limit rises in x: the smallest x at which it is above the truth, for each y.
    above = np.zeros_like(law)
    for place, other in enumerate(y):
        first = bisect.bisect_left(x, True, key=lambda k: log_ratio_lower(k, other, error) > truth)
        above[first:, place] = 1.0
    share = float((law * above).sum())
    assert share <= error
    assert share >= (0.88 if min(means) >= 200 else 0.7) * error


@pytest.mark.parametrize(("p", "q", "delta"), [(0.03, 0.02, 0.004), (0.2, 0.001, 0.05)])
def test_limits_at_a_positive_delta_are_sound_and_use_their_error(p, q, delta, seed):
    generator = np.random.default_rng(seed)
    error, trials = 0.1, np.array([30_000.0, 50_000.0])
    rates = (float(trials[0]), float(trials[1]))
    epsilon = math.log((p - delta) / q)
    above = np.zeros(2, dtype=int)
    for x, y in zip(*(generator.poisson(trials * [p, q], (RUNS, 2)).T), strict=True):
        above += [
            conditional_epsilon((x, y), rates, delta, error, generator) > epsilon,
            conditional_delta((x, y), rates, epsilon, error, generator) > delta,
        ]
    for count in above.tolist():
        assert binomial_p_value(count, RUNS, error, "greater") >= ALPHA
        assert binomial_p_value(count, RUNS, 0.75 * error, "less") >= ALPHA


def test_a_thinned_count_is_poisson_and_keeps_to_the_trials(seed):
    generator = np.random.default_rng(seed)
    counts, error = np.array([400, 0, 90, 10]), 0.01
    kept, rates = zip(*(thinned(counts, error, generator) for _ in range(RUNS)), strict=True)
    kept, (rate,) = np.array(kept), set(rates)
    assert scipy.stats.poisson.sf(500, rate) == pytest.approx(error, rel=1e-9)
    assert np.all((kept >= 0) & (kept <= counts))
    # Given the tallies, each is hypergeometric of a Poisson number; over binomial tallies of
    # the same probability it is Poisson.
    drawn = np.array(
        [
            thinned(np.array([k, 500 - k]), 1e-6, generator)[0][0]
            for k in generator.binomial(500, 0.8, RUNS)
        ]
    )
    mean = 0.8 * scipy.stats.gamma.ppf(1e-6, 501)
    z = scipy.stats.norm.isf(ALPHA / 2)
    assert abs(drawn.mean() - mean) < z * math.sqrt(mean / RUNS)
    # The variance of a Poisson variance's estimate: 2 m^2 + m, over the number of draws.
    assert abs(drawn.var() - mean) < z * math.sqrt((2 * mean**2 + mean) / RUNS)


def test_everything_is_used_where_the_poisson_number_is_above_the_trials():
    counts = np.array([3, 2])
    found = [thinned(counts, 0.9, np.random.default_rng(k))[0].sum() for k in range(200)]
    assert max(found) == 5
    assert found.count(5) > 100


@pytest.mark.parametrize(("p", "q", "n"), [(0.3, 0.271, 100_000), (0.01, 0.00905, 300_000)])
def test_a_fixed_event_pays_little_more_than_the_asymptotic_score_limit(p, q, n, seed):
    """Share above the truth 9 to 10 % at 90 %, and slack at most 1.2 times."""
    generator = np.random.default_rng(seed)
    runs, event = 1000, np.array([[True, False]])
    sure = ([10**6, 10**6], [1, 2 * 10**6])  # the selection knows the event and the order
    truth, found = math.log(p / q), []
    for x, y in generator.binomial(n, [p, q], (runs, 2)):
        sides = ([x, n - x], [y, n - y])
        found.append(epsilon_lower_bound(*sides, 0.0, 0.9, event, sure).lower)
    above = int((np.array(found) > truth).sum())
    assert binomial_p_value(above, runs, 0.1, "greater") >= ALPHA
    assert binomial_p_value(above, runs, 0.09, "less") >= ALPHA
    spread = math.sqrt((1 / p - 1 + 1 / q - 1) / n)
    score = scipy.stats.norm.isf(0.1) * spread
    # Five standard errors of the mean of 1,000 limits, whose deviation is about the spread.
    assert truth - np.mean(found) < 1.2 * score + 5.0 * spread / math.sqrt(runs)


class _Given:
    """A generator whose Poisson and gamma numbers are given."""

    def __init__(self, poisson=0, gamma=None):
        self.given, self.gamma = poisson, gamma

    def poisson(self, rate):
        return self.given

    def standard_gamma(self, shape):
        return self.gamma(shape)

    def binomial(self, number, probability):
        assert number == 0
        assert 0.0 <= probability <= 1.0
        return 0

    def choice(self, *given, **options):
        return np.random.default_rng(0).choice(*given, **options)


@pytest.mark.parametrize("error", [0.05, 1e-6])
def test_thinning_both_sides_costs_a_hundredth_of_the_error(error):
    used = np.array([[970, 30], [1990, 10]])
    counts, rates, rest = poisson_counts(used, error, _Given(10**9))
    # All trials are used where the Poisson number is above them.
    assert counts == (30, 10)
    assert rest == pytest.approx(0.99 * error, rel=1e-12)
    lost = [scipy.stats.poisson.sf(trials, rate) for trials, rate in
            zip((1000, 2000), rates, strict=True)]  # fmt: skip
    assert lost == pytest.approx([0.005 * error] * 2, rel=1e-5)
    assert rest + sum(lost) == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2, 0.5])
@pytest.mark.parametrize("error", [0.1, 1e-4])
def test_the_upper_limit_shares_its_error_between_two_exact_ones(delta, error):
    (n, x), (m, y) = (400, 90), (700, 40)
    p = scipy.stats.beta.ppf(1.0 - error / 2.0, x + 1, n - x)
    q = scipy.stats.beta.ppf(error / 2.0, y, m - y + 1)
    expected = max(0.0, math.log((p - delta) / q)) if p > delta else 0.0
    found = event_epsilon_upper(np.array([[n - x, x], [m - y, y]]), delta, error)
    # Clopper-Pearson limits are rounded outwards.
    assert found == pytest.approx(expected, rel=1e-5)
    assert (expected > 0.0) == (delta < 0.5)


@pytest.mark.parametrize("rates", [(1000.0, 1000.0), (900.0, 1300.0)])
@pytest.mark.parametrize(("x", "y"), [(40, 3), (500, 100), (7, 0), (1, 5), (0, 0)])
def test_delta_is_of_the_fewest_points_that_explain_the_event(x, y, rates):
    epsilon, error = 0.4, 0.02
    share = math.exp(epsilon) * rates[0] / (math.exp(epsilon) * rates[0] + rates[1])
    points = next(
        z for z in range(10_000)
        if scipy.stats.binom.sf(x - 1, x + y + z, share) > error
    )  # fmt: skip
    found = conditional_delta(
        (x, y), rates, epsilon, error, _Given(gamma=lambda shape: 2.0 * shape)
    )
    assert found == pytest.approx(min(1.0, 2.0 * points * math.exp(epsilon) / rates[1]), rel=1e-9)


@pytest.mark.parametrize("rates", [(1000.0, 1000.0), (900.0, 1300.0)])
def test_epsilon_at_delta_0_is_the_limit_of_the_ratio_of_rates(rates):
    error = 0.03
    for x, y in ((60, 12), (5, 0), (3, 3), (0, 8)):
        share = scipy.stats.beta.ppf(error, x, y + 1) if x else 0.0
        ratio = share / (1.0 - share) * rates[1] / rates[0]
        expected = max(0.0, math.log(ratio)) if ratio else 0.0
        found = conditional_epsilon((x, y), rates, 0.0, error, _Given())
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("error", [0.05, 1e-6])
def test_the_limit_of_an_event_is_at_most_what_was_observed(delta, error):
    """Of sides of unlike numbers of trials; and else it is the limit of the thinned counts."""
    for x, n, y, m in ((90, 400, 20, 900), (20, 300, 0, 500), (40, 600, 60, 600), (5, 5, 900, 900)):
        used = np.array([[n - x, x], [m - y, y]])
        seen = math.log((x / n - delta) / (y / m)) if y else math.inf
        found = [event_epsilon(used, delta, error, np.random.default_rng(k)) for k in range(30)]
        for k, one in enumerate(found):
            generator = np.random.default_rng(k)
            counts, rates, rest = poisson_counts(used, error, generator)
            limit = conditional_epsilon(counts, rates, delta, rest, generator)
            assert one == max(0.0, min(limit, seen))
    # What delta allows shows nothing.
    for x, shown in ((20, 0.0), (21, 0.0), (200, 1.0)):
        used = np.array([[400 - x, x], [400, 0]])
        found = event_epsilon(used, 0.05, 0.05, np.random.default_rng(1))
        assert (found > 0.0) == (shown > 0.0)


def test_an_event_that_delta_allows_shows_nothing_however_few_points_stand_for_delta():
    class Fewest(_Given):
        """All trials are used, and no point is drawn."""

        def __init__(self):
            self.numbers = iter([400, 400, 0])

        def poisson(self, rate):
            return next(self.numbers)

    used = np.array([[380, 20], [400, 0]])
    counts, rates, rest = poisson_counts(used, 0.05, Fewest())
    assert conditional_epsilon(counts, rates, 0.05, rest, _Given(0)) > 1.0
    assert event_epsilon(used, 0.05, 0.05, Fewest()) == 0.0


def test_trials_that_are_left_out_are_of_the_events_that_they_were_in():
    for counts in ([1, 0, 1, 3], [0, 2], [5, 1, 0]):
        assert thinned(np.array(counts), 0.1, _Given(0))[0].tolist() == [0] * len(counts)
        kept, _ = thinned(np.array(counts), 0.1, _Given(10**9))
        assert kept.tolist() == counts
