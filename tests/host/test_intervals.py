"""Exact intervals and tests: coverage and levels by summing over every outcome."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from jaxsel.host.errors import InputError
from jaxsel.host.intervals import (
    _sequential_chi_square,
    binomial_p_value,
    check_tallies,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
    goodness_of_fit,
    mean_interval,
)
from tests.conftest import ALPHA

EPS = np.finfo(np.float64).eps
# Limits aim one part in 1e6 below the error probability, to be safe; never above it.
SLACK = 1e-5
PROBABILITIES = (1e-4, 0.01, 0.1, 0.3, 0.5, 0.77, 0.999)


def _compositions(n: int, cells: int) -> np.ndarray:
    """All tallies of n trials in the given number of cells."""
    bars = itertools.combinations(range(n + cells - 1), cells - 1)
    edges = np.array([(-1, *b, n + cells - 1) for b in bars])
    return np.diff(edges, axis=1) - 1


# ---------------------------------------------------------------- Clopper-Pearson


def _coverage(low, high, n: int, p: float) -> float:
    covered = (low <= p) & (p <= high)
    return float(scipy.stats.binom.pmf(np.arange(n + 1), n, p)[covered].sum())


@pytest.mark.parametrize("n", [1, 2, 7, 30, 200, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-6])
def test_coverage(n, confidence):
    k = np.arange(n + 1)
    rounding = 10 * n * EPS
    low, high = clopper_pearson(k, n, confidence)
    below = clopper_pearson_lower(k, n, error=1 - confidence)
    above = clopper_pearson_upper(k, n, error=1 - confidence)
    for p in PROBABILITIES:
        assert _coverage(low, high, n, p) >= confidence - rounding
        assert _coverage(below, 1, n, p) >= confidence - rounding
        assert _coverage(0, above, n, p) >= confidence - rounding


def test_coverage_check_rejects_the_normal_interval():
    n, confidence = 200, 0.95
    k = np.arange(n + 1)
    z = scipy.stats.norm.isf((1 - confidence) / 2)
    half = z * np.sqrt(k / n * (1 - k / n) / n)
    worst = min(_coverage(k / n - half, k / n + half, n, p) for p in PROBABILITIES)
    assert worst < confidence - 10 * n * EPS


@pytest.mark.parametrize("n", [1, 5, 40, 300])
@pytest.mark.parametrize("error", [0.4, 0.05, 1e-6])
def test_limits_are_the_best_possible(n, error):
    # Just outside a limit the probability of missing the truth is the error itself, so
    # that no shorter one-sided limit is valid.
    k = np.arange(1, n + 1)
    limits = clopper_pearson_lower(k, n, error=error)
    for p in limits:
        missed = limits > p * (1 - 1e-9)
        miss = scipy.stats.binom.sf(k[missed].min() - 1, n, p)
        assert error * (1 - SLACK) <= miss <= error


def test_limits_meet_the_error_up_to_1e12_trials(seed):
    rng = np.random.default_rng(seed)
    for n in (1, 2, 3, 10, 77, 1e3, 1e5, 1e7, 1e9, 628520326924, 1e12):
        near = np.arange(min(n, 8) + 1)
        spread = np.concatenate([[1000], n * rng.random(20), n ** rng.random(20)])
        k = np.concatenate([near, n - near, np.floor(spread), np.floor(n - spread)])
        k = np.unique(np.clip(k, 0, n))
        for error in (0.99, 0.5, 0.05, 1e-3, 1e-6, 1e-12, 1e-20, 1e-30):
            low = clopper_pearson_lower(k, n, error=error)
            assert np.all((low == 0) == (k == 0))
            some = k > 0
            a, b = k[some], n - k[some] + 1
            _meets(lambda p, a=a, b=b: scipy.special.betainc(a, b, p), low[some], error)

            high = clopper_pearson_upper(k, n, error=error)
            assert np.all(high[k == n] == 1)
            some = high < 1
            a, b = k[some] + 1, n - k[some]
            _meets(lambda p, a=a, b=b: scipy.special.betaincc(a, b, p), high[some], error)


def test_the_error_is_never_exceeded_next_to_one(seed):
    """Where all or all but a few trials succeed, limits are next to 1, where one unit in
    the last place moves the error by 1e-4 of itself at 1e12 trials. Exactly, by mpmath:
    p^n for all n, 1 - q^n - n q^(n-1) (1 - q) for all but one."""
    errors = 10.0 ** -np.random.default_rng(seed).uniform(0.01, 30.0, 30)
    with mpmath.workdps(60):
        for n in (10**12, 628_520_326_924, 10**9, 77):
            # Two units in the last place, at most, and what is asked for less.
            room = 1.0 - 1.01e-6 - 4.0 * n * EPS
            for error in errors:
                p = mpmath.mpf(float(clopper_pearson_lower(n, n, error=error)))
                assert room * error <= p**n <= error
                q = 1 - mpmath.mpf(float(clopper_pearson_upper(0, n, error=error)))
                assert room * error <= q**n <= error
                p = mpmath.mpf(float(clopper_pearson_lower(n - 1, n, error=error)))
                assert p**n + n * p ** (n - 1) * (1 - p) <= error


def _meets(tail, limits, error):
    """tail(limits) is just below error, but for three roundings of the limits."""
    ratio = tail(limits) / error
    moved = np.zeros_like(ratio)
    for towards in (0.0, 1.0):
        other = limits
        for _ in range(3):
            other = np.nextafter(other, towards)
        moved = np.maximum(moved, np.abs(tail(other) / error - ratio))
    assert np.all(ratio <= 1 + moved)
    assert np.all(ratio >= 1 - SLACK - moved)


@pytest.mark.parametrize("k", [999, 1000, 1001])
@pytest.mark.parametrize("error", [4e-11, 0.025, 0.99])
def test_limits_at_a_thousand_successes(k, error):
    # SciPy 1.17's inverse is off by a factor 1e10 in the error at k = 1000 exactly. The
    # Poisson limit is good to k^2 / n.
    n = 207540310141
    low = clopper_pearson_lower(k, n, error=error)
    high = clopper_pearson_upper(k - 1, n, error=error)
    assert scipy.special.gammainc(k, n * low) == pytest.approx(error, rel=SLACK)
    assert scipy.special.gammaincc(k, n * high) == pytest.approx(error, rel=SLACK)


def _upper_tail(k: int, n: int, p):
    """P[Bin(n, p) >= k] by quadrature of the beta density, p above the limit's side."""
    a, b = mpmath.mpf(k), mpmath.mpf(n - k + 1)
    p = mpmath.mpf(p)
    constant = mpmath.loggamma(a + b) - mpmath.loggamma(a) - mpmath.loggamma(b)

    def density(t):
        if not 0 < t < 1:
            return mpmath.mpf(0)
        log = (a - 1) * mpmath.log(t) + (b - 1) * mpmath.log1p(-t)
        return mpmath.exp(constant + log)

    scale = mpmath.sqrt(a * b / (a + b) ** 3)
    slope = (a - 1) / p - (b - 1) / (1 - p)
    width = min(scale, 1 / abs(slope))
    points = [max(p - 60 * width, mpmath.mpf(0)), p - 20 * width, p - 6 * width]
    points = [t for t in (*points, p - 2 * width, p) if t >= 0]
    return mpmath.quad(density, points)


@pytest.mark.parametrize(
    ("k", "n"), [(185600381467, 10**12), (5 * 10**11, 10**12), (10**6, 10**12), (499999, 10**6)]
)
@pytest.mark.parametrize("error", [0.025, 1e-12])
def test_limits_against_quadrature_in_forty_digits(k, n, error):
    with mpmath.workdps(40):
        low = float(clopper_pearson_lower(k, n, error=error))
        assert error * (1 - SLACK) <= _upper_tail(k, n, low) <= error
        # The upper limit is the lower limit of the failures.
        high = mpmath.mpf(float(clopper_pearson_upper(n - k, n, error=error)))
        assert error * (1 - SLACK) <= _upper_tail(k, n, 1 - high) <= error


def test_no_and_only_successes():
    n = np.array([1, 10, 10**6, 10**12])
    for confidence in (0.5, 0.95, 1 - 2.0**-30):
        half = (1 - confidence) / 2
        low, high = clopper_pearson(0, n, confidence)
        assert np.all(low == 0)
        np.testing.assert_allclose(high, -np.expm1(np.log(half) / n), rtol=SLACK)
        low, high = clopper_pearson(n, n, confidence)
        assert np.all(high == 1)
        np.testing.assert_allclose(low, np.exp(np.log(half) / n), rtol=SLACK)
    assert clopper_pearson(0, 0, 0.95) == (0.0, 1.0)


def test_interval_shapes_broadcast():
    low, high = clopper_pearson(np.array([[1], [2]]), np.array([10, 20, 30]), 0.9)
    assert low.shape == high.shape == (2, 3)
    one_low, one_high = clopper_pearson(2, 20, 0.9)
    assert (one_low, one_high) == (low[1, 1], high[1, 1])


# ------------------------------------------------------------ bounded means


def _mean_coverage(interval, values, probabilities, n: int, mean: float) -> float:
    tallies = _compositions(n, len(values))
    values = np.asarray(values)
    low, high = interval(np.full(len(tallies), n), tallies @ values, tallies @ values**2)
    covered = (low <= mean) & (mean <= high)
    pmf = scipy.stats.multinomial.pmf(tallies, n, probabilities)
    return float(pmf[covered].sum())


MEAN_LAWS = [
    ((-1, 0, 2), (0.2, 0.5, 0.3)),
    ((-1, 0, 2), (0.97, 0.02, 0.01)),
    ((-1, 1, 2), (0.01, 0.01, 0.98)),
]


@pytest.mark.parametrize(("values", "probabilities"), MEAN_LAWS)
@pytest.mark.parametrize("n", [2, 3, 10, 60])
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95])
def test_mean_interval_covers(values, probabilities, n, confidence):
    mean = float(np.dot(values, probabilities))
    found = _mean_coverage(
        lambda *moments: mean_interval(*moments, confidence, -1, 2), values, probabilities, n, mean
    )
    assert found >= confidence - 10 * len(_compositions(n, 3)) * EPS


def test_mean_coverage_check_rejects_the_normal_interval():
    def normal(n, total, squares):
        variance = np.maximum(squares - total**2 / n, 0) / (n - 1)
        half = scipy.stats.norm.isf(0.025) * np.sqrt(variance / n)
        return total / n - half, total / n + half

    values, probabilities = MEAN_LAWS[1]
    mean = float(np.dot(values, probabilities))
    assert _mean_coverage(normal, values, probabilities, 60, mean) < 0.9


def test_mean_interval_narrows_at_the_bernstein_rate():
    n = 10**12
    low, high = mean_interval(n, n // 4, n // 4, 0.95, 0, 1)
    half = math.sqrt(2 * (3 / 16) * math.log(3 / 0.05) / n)
    assert (high - low) / 2 == pytest.approx(half, rel=1e-4)
    assert (high + low) / 2 == pytest.approx(0.25, abs=1e-4 * half)


def test_mean_interval_does_not_cancel():
    # The same values far from 0: Python integers carry the moments exactly.
    n, ones, far = 10**6, 123456, 2**45
    low, high = mean_interval(n, ones, ones, 0.99, 0, 1)
    total = n * far + ones
    squares = (n - ones) * far**2 + ones * (far + 1) ** 2
    far_low, far_high = mean_interval(n, total, squares, 0.99, far, far + 1)
    assert far_high - far_low == pytest.approx(high - low, abs=2 * far * EPS)
    assert far_low - far == pytest.approx(low, abs=2 * far * EPS)


def test_mean_interval_of_floating_sums(seed):
    x = np.random.default_rng(seed).random(10_000)
    low, high = mean_interval(x.size, x.sum(), (x**2).sum(), 0.95, 0.0, 1.0)
    half = math.sqrt(2 * x.var(ddof=1) * math.log(60) / x.size)
    half += 7 * math.log(60) / (3 * (x.size - 1))
    assert (low, high) == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-12)
    constant = np.full(1000, 0.1)
    low, high = mean_interval(1000, constant.sum(), (constant**2).sum(), 0.95, 0, 1)
    assert low <= 0.1 <= high


def test_mean_interval_shapes_and_small_counts():
    low, high = mean_interval([0, 1, 50], [0, 1, 25], [0, 1, 25], 0.95, 0, 1)
    assert low.shape == high.shape == (3,)
    np.testing.assert_array_equal(low[:2], 0)
    np.testing.assert_array_equal(high[:2], 1)
    assert (low[2], high[2]) == mean_interval(50, 25, 25, 0.95, 0, 1)


# ------------------------------------------------------------ binomial p-values


def test_binomial_p_value_against_exact_fractions():
    n, p = 12, Fraction(3, 8)
    pmf = [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]
    for k in range(n + 1):
        less, greater = sum(pmf[: k + 1]), sum(pmf[k:])
        both = min(Fraction(1), 2 * min(less, greater))
        for alternative, exact in (("less", less), ("greater", greater), ("two-sided", both)):
            found = binomial_p_value(k, n, float(p), alternative)
            assert found == pytest.approx(float(exact), rel=1e-13)


def test_binomial_p_value_far_in_the_tail():
    # P[X >= 3] for Bin(1e12, 1e-14): 3 events where 0.01 is expected.
    with mpmath.workdps(40):
        n, p = mpmath.mpf(10) ** 12, mpmath.mpf(1e-14)
        terms = [mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in range(3, 20)]
        exact = float(sum(terms))
    found = binomial_p_value(3, 10**12, 1e-14, "greater")
    assert found == pytest.approx(exact, rel=1e-10)
    assert binomial_p_value(0, 10**5, 0.5, "less") == 0.0  # 2^-100000
    assert binomial_p_value(1000, 1000, 0.5) == pytest.approx(2.0**-999, rel=1e-10)


def test_binomial_p_value_at_the_ends():
    found = binomial_p_value([0, 1, 9, 10], 10, [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(found, [1, 0, 0, 1])
    assert binomial_p_value(0, 0, 0.3) == 1.0


# ------------------------------------------------------------ goodness of fit


def _false_alarm_excess(p_values: np.ndarray, pmf: np.ndarray) -> float:
    """The largest P[p-value <= level] / level, over every level that occurs."""
    order = np.argsort(p_values)
    levels, reached = p_values[order], np.cumsum(pmf[order])
    last = np.append(levels[1:] > levels[:-1], True) & (levels > 0)
    return float(np.max(reached[last] / levels[last]))


FIT_LAWS = [
    (1000, (0.005, 0.995)),
    (400, (0.5, 0.5)),
    (40, (1 / 3, 1 / 3, 1 / 3)),
    (60, (0.01, 0.14, 0.85)),
    (12, (0.05, 0.15, 0.3, 0.5)),
    (3, (0.2, 0.3, 0.5)),
]


@pytest.mark.parametrize(("n", "law"), FIT_LAWS)
def test_goodness_of_fit_level(n, law):
    tallies = _compositions(n, len(law))
    pmf = scipy.stats.multinomial.pmf(tallies, n, law)
    p_values = np.array([goodness_of_fit(t, law) for t in tallies])
    assert _false_alarm_excess(p_values, pmf) <= 1 + 1e-9


def test_level_check_rejects_pearson():
    n, law = FIT_LAWS[0]
    tallies = _compositions(n, len(law))
    pmf = scipy.stats.multinomial.pmf(tallies, n, law)
    p_values = scipy.stats.chisquare(tallies, n * np.array(law), axis=1).pvalue
    alarm = pmf[p_values <= ALPHA].sum()
    assert alarm > 50 * ALPHA
    assert _false_alarm_excess(p_values, pmf) > 50


def test_goodness_of_fit_level_with_many_cells(seed):
    rng = np.random.default_rng(seed)
    law = 1.0 / np.arange(1, 101)
    law /= law.sum()
    runs, level = 400, 0.05
    p_values = [goodness_of_fit(t, law) for t in rng.multinomial(2000, law, runs)]
    alarms = int(np.sum(np.array(p_values) <= level))
    p = binomial_p_value(alarms, runs, level, "greater")
    assert p >= ALPHA, f"{alarms} false alarms of {runs} at {level}, p={p}"


def test_sequential_chi_square_is_pearson_for_large_counts(seed):
    law = np.array([0.05, 0.1, 0.15, 0.3, 0.4])
    tallies = np.random.default_rng(seed).multinomial(10**12, law, 20)
    for t in tallies:
        pearson = scipy.stats.chisquare(t, t.sum() * law).pvalue
        assert _sequential_chi_square(t, law) == pytest.approx(pearson, rel=1e-3)


def test_goodness_of_fit_sees_small_deviations(seed):
    rng = np.random.default_rng(seed)
    law = np.full(20, 0.05)
    wrong = law.copy()
    wrong[:10] *= 1.05
    wrong[10:] *= 0.95
    assert goodness_of_fit(rng.multinomial(10**6, wrong), law) < ALPHA
    one = law.copy()
    one[3] *= 1.05
    one /= one.sum()
    assert goodness_of_fit(rng.multinomial(10**6, one), law) < ALPHA
    assert goodness_of_fit(rng.multinomial(10**6, law), law) >= ALPHA


def test_goodness_of_fit_sees_a_rare_cell():
    # 12 where 0.01 are expected; Pearson's pooled cells would hide it.
    law = np.array([1e-8] * 10 + [0.5 - 5e-8] * 2)
    counts = np.zeros(12, dtype=int)
    counts[2], counts[10], counts[11] = 12, 499_994, 499_994
    assert goodness_of_fit(counts, law) < ALPHA


def test_goodness_of_fit_impossible_counts():
    assert goodness_of_fit([5, 5, 1], [0.5, 0.5, 0.0]) == 0.0
    assert goodness_of_fit([5, 5, 0], [0.5, 0.5, 0.0]) > 0.1
    assert goodness_of_fit([0, 0], [0.5, 0.5]) == 1.0
    assert goodness_of_fit([7], [1.0]) == 1.0
    assert goodness_of_fit([10**6, 0], [0.5, 0.5]) == 0.0  # 2^-999999


# ------------------------------------------------------------ bad input


@pytest.mark.parametrize("bad", [-1, 0.5, math.nan, math.inf, 2.0**54, "x", []])
def test_bad_tallies(bad):
    with pytest.raises(InputError):
        check_tallies("counts", bad)
    with pytest.raises(InputError):
        clopper_pearson(bad, 10, 0.95)
    with pytest.raises(InputError):
        clopper_pearson_upper(0, bad, error=0.1)
    with pytest.raises(InputError):
        binomial_p_value(bad, 10, 0.5)
    with pytest.raises(InputError):
        goodness_of_fit([3, bad], [0.5, 0.5])


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 1.5, math.nan, "most"])
def test_bad_confidence(bad):
    with pytest.raises(InputError, match="confidence"):
        clopper_pearson(1, 10, bad)
    with pytest.raises(InputError, match="confidence"):
        mean_interval(10, 5, 5, bad, 0, 1)
    with pytest.raises(InputError, match="error"):
        clopper_pearson_lower(1, 10, error=1e-31 if bad == 0.0 else bad)


def test_successes_above_trials():
    with pytest.raises(InputError, match="exceed"):
        clopper_pearson([3, 11], 10, 0.95)
    with pytest.raises(InputError, match="exceed"):
        binomial_p_value(11, 10, 0.5)


def test_shapes_that_do_not_match():
    with pytest.raises(InputError, match="broadcast"):
        clopper_pearson([1, 2, 3], [4, 5], 0.95)
    with pytest.raises(InputError, match="broadcast"):
        binomial_p_value([1, 2, 3], 5, [0.5, 0.5])
    with pytest.raises(InputError, match="broadcast"):
        mean_interval([10, 10], [1, 2, 3], 1, 0.95, 0, 1)
    with pytest.raises(InputError, match="one count a cell"):
        goodness_of_fit([1, 2, 3], [0.5, 0.5])


def test_bad_probabilities():
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(InputError, match="probability"):
            binomial_p_value(1, 10, bad)
    with pytest.raises(InputError, match="alternative"):
        binomial_p_value(1, 10, 0.5, "either")
    with pytest.raises(InputError, match="probabilities"):
        goodness_of_fit([1, 2], [0.5, 0.6])


@pytest.mark.parametrize(
    ("count", "total", "squares"),
    [
        (10, 11, 11),  # mean above high
        (10, -1, 1),  # mean below low
        (10, 5, 2),  # variance below 0
        (10, 5, 6),  # more spread than [0, 1] allows
        (-1, 0, 0),
        (1.5, 1, 1),
        (10, math.nan, 1),
        (10, 5, "x"),
    ],
)
def test_impossible_moments(count, total, squares):
    with pytest.raises(InputError):
        mean_interval(count, total, squares, 0.95, 0, 1)


def test_bad_range():
    for low, high in ((1, 0), (0, 0), (math.nan, 1), (0, math.inf)):
        with pytest.raises(InputError):
            mean_interval(10, 5, 5, 0.95, low, high)
