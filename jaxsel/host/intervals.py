"""Exact confidence intervals and exact tests for tallies.

No normal approximation is used: every interval has its coverage, and every p-value is
valid, at every sample size, also at very small error probabilities.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from jaxsel.host.errors import (
    InputError,
    check_choice,
    check_finite,
    check_interval,
    check_probability_vector,
)

# Nothing below this error probability is tested.
_SMALLEST_ERROR = 1e-30
# Limits meet the error probability to one part in 1e6 (tested up to 1e12 trials);
# asking for that much less keeps them on the safe side. Next to 0 and 1 neighbouring
# floats are further apart than that, so that limits are rounded outwards besides.
_SAFETY = 1.0 - 1e-6
_LARGEST_TALLY = 2.0**53
_SMALLEST_EXPECTED = 5.0


def check_tallies(name: str, values: object) -> np.ndarray:
    """Returns whole numbers in [0, 2^53] as float64; raises InputError otherwise."""
    array = check_finite(name, values)
    bad = (array < 0) | (array > _LARGEST_TALLY) | (array != np.floor(array))
    if bad.any():
        raise InputError(
            f"{name} holds {array[bad].flat[0]:g}; tallies must be whole numbers from 0 to 2^53"
        )
    return array


def _successes_and_trials(successes: ArrayLike, trials: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    k = check_tallies("successes", successes)
    n = check_tallies("trials", trials)
    if k.shape != n.shape:
        try:
            k, n = np.broadcast_arrays(k, n)
        except ValueError:
            raise InputError(
                f"successes of shape {k.shape} and trials of shape {n.shape} do not match;"
                " they must broadcast together"
            ) from None
    if (k > n).any():
        raise InputError(
            f"successes {k[k > n].flat[0]:.0f} exceed trials {n[k > n].flat[0]:.0f}; they must not"
        )
    return k, n


def _bisect(tail: Callable, rising: bool, a: np.ndarray, b: np.ndarray, error: float) -> np.ndarray:
    """Solves tail(a, b, p) = error for p, rounded to the conservative side."""
    # Bisection in log-odds: 2^-60 of the interval's width is below the rounding of the
    # result.
    low, high = np.full(a.shape, -745.0), np.full(a.shape, 40.0)
    for _ in range(60):
        middle = (low + high) / 2.0
        go_up = (tail(a, b, scipy.special.expit(middle)) < error) == rising
        low, high = np.where(go_up, middle, low), np.where(go_up, high, middle)
    return scipy.special.expit(low if rising else high)


def _newton(
    p: np.ndarray, tail: Callable, a: np.ndarray, b: np.ndarray, error: float
) -> np.ndarray:
    """One step on log tail(a, b, p) = log error."""
    step = 1e-3 * np.minimum(np.sqrt(p * (1.0 - p) / (a + b)), np.minimum(p, 1.0 - p))
    above, below = p + step, p - step
    slope = np.log(tail(a, b, above) / tail(a, b, below)) / (above - below)
    better = p - np.log(tail(a, b, p) / error) / slope
    # Near 0 and 1 the step is no larger than rounding errors, and could gain no more.
    return np.where((step > 16.0 * np.spacing(p)) & np.isfinite(better), better, p)


def _solve(
    inverse: Callable, tail: Callable, rising: bool, a: np.ndarray, b: np.ndarray, error: float
) -> np.ndarray:
    """Solves tail(a, b, p) = error for p, for one of SciPy's incomplete beta functions.

    The functions are accurate to 1e-8 at 1e12 trials. Their inverses are not: above 1e7
    trials they miss the error probability by percents, and at 1000 successes by up to a
    factor of 1e13. So the result of the inverse is checked: p is found by bisection where
    it is wrong, and refined by a Newton step where it is inaccurate.
    """
    p = np.array(inverse(a, b, error))
    with np.errstate(all="ignore"):
        off = np.abs(tail(a, b, p) - error)
        bad = ~(off <= 1e-3 * min(error, 1.0 - error))  # also where NaN
        if bad.any():
            p[bad] = _bisect(tail, rising, a[bad], b[bad], error)
        near = bad | (off > 1e-8 * error)
        if near.any():
            p[near] = _newton(p[near], tail, a[near], b[near], error)
    return p


def _lower(k: np.ndarray, n: np.ndarray, error: float) -> np.ndarray:
    """p with P[Bin(n, p) >= k] just below error; 0 for k = 0."""
    error *= _SAFETY
    a = np.maximum(k, 1.0)
    b = np.maximum(n - a + 1.0, 1.0)  # below 1 only for n = 0, where k = 0
    limit = _solve(scipy.special.betaincinv, scipy.special.betainc, True, a, b, error)
    limit = np.where(k == n, np.exp(math.log(error) / np.maximum(n, 1.0)), limit)
    return np.where(k == 0, 0.0, np.nextafter(limit, 0.0))


def _upper(k: np.ndarray, n: np.ndarray, error: float) -> np.ndarray:
    """p with P[Bin(n, p) <= k] just below error; 1 for k = n."""
    error *= _SAFETY
    a, b = k + 1.0, np.maximum(n - k, 1.0)
    limit = _solve(scipy.special.betainccinv, scipy.special.betaincc, False, a, b, error)
    limit = np.where(k == 0, -np.expm1(math.log(error) / np.maximum(n, 1.0)), limit)
    return np.where(k == n, 1.0, np.nextafter(limit, 1.0))


def _error(error: float) -> float:
    return check_interval("error", error, _SMALLEST_ERROR, 1.0, low_open=False)


def clopper_pearson_lower(successes: ArrayLike, trials: ArrayLike, *, error: float) -> np.ndarray:
    """One-sided exact lower confidence limit of a binomial probability.

    Args:
      successes, trials: whole numbers, any shapes that broadcast; trials up to 1e12.
      error: the largest probability, in [1e-30, 1), that the limit exceeds the truth.

    Returns:
      float64 of the common shape; 0 where successes are 0.

    Raises:
      InputError: for negative or fractional tallies, NaN, successes above trials, or an
        error probability out of range.

    References: Clopper & Pearson 1934.
    """
    k, n = _successes_and_trials(successes, trials)
    return _lower(k, n, _error(error))[()]


def clopper_pearson_upper(successes: ArrayLike, trials: ArrayLike, *, error: float) -> np.ndarray:
    """One-sided exact upper confidence limit: as ``clopper_pearson_lower``, from above.

    Equals one minus the lower limit for the failures, without the cancellation; 1 where
    all trials are successes.
    """
    k, n = _successes_and_trials(successes, trials)
    return _upper(k, n, _error(error))[()]


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Exact two-sided confidence interval of a binomial probability.

    Args:
      successes, trials: whole numbers, any shapes that broadcast; trials up to 1e12.
      confidence: in (0, 1); each end errs with probability at most (1 - confidence)/2.

    Returns:
      ``(low, high)``, float64 of the common shape; [0, 1] where there are no trials.

    Raises:
      InputError: as for ``clopper_pearson_lower``.

    References: Clopper & Pearson 1934.
    """
    confidence = check_interval("confidence", confidence, 0.0, 1.0)
    k, n = _successes_and_trials(successes, trials)
    error = (1.0 - confidence) / 2.0
    return _lower(k, n, error)[()], _upper(k, n, error)[()]


def _exact(name: str, value: object) -> Fraction:
    try:
        return Fraction(value.item() if isinstance(value, np.generic) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value}; it must be a finite number") from None


def _mean_and_variance(
    count: object, total: object, total_of_squares: object, low: float, high: float
) -> tuple[float, float]:
    """Sample mean and unbiased sample variance, from exact arithmetic."""
    n = _exact("count", count)
    s1, s2 = _exact("total", total), _exact("total_of_squares", total_of_squares)
    if n.denominator != 1 or n < 0:
        raise InputError(f"count is {count}; it must be a whole number >= 0")
    a, b = Fraction(low), Fraction(high)
    # Whole totals are exact; a floating sum of n terms is off by up to n roundings.
    slack = Fraction(0)
    if s1.denominator != 1 or s2.denominator != 1:
        slack = n * n * max(a * a, b * b) * Fraction(2) ** -52
    spread = n * s2 - s1 * s1  # n^2 times the variance
    # The sum of (x - low)(high - x) is >= 0 exactly if values can lie in [low, high].
    if spread < -n * slack or (a + b) * s1 - s2 - n * a * b < -slack:
        raise InputError(
            f"total {total} and total_of_squares {total_of_squares} of {count} values"
            f" are impossible for values in [{low:g}, {high:g}]"
        )
    if n < 2:
        return float(s1) if n else math.nan, math.nan
    return float(s1 / n), float(max(spread, Fraction(0)) / (n * (n - 1)))


def mean_interval(
    count: ArrayLike,
    total: ArrayLike,
    total_of_squares: ArrayLike,
    confidence: float,
    low: float,
    high: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Confidence interval of the mean of a bounded variable, valid at every count.

    The empirical Bernstein interval: with R = high - low, n = count, V the unbiased
    sample variance and L = log(3 / (1 - confidence)), the mean differs from the sample
    mean by more than sqrt(2 V L / n) + 7 R L / (3 (n - 1)) with probability at most
    1 - confidence. L has 3, not the 4 of two one-sided bounds, since both sides share
    the one event that V underestimates the variance.

    Args:
      count, total, total_of_squares: the number of independent values, their sum and
        the sum of their squares; any shapes that broadcast. Whole numbers (Python or
        NumPy) are used exactly, hence no cancellation in the variance.
      confidence: in (0, 1).
      low, high: bounds that every value satisfies.

    Returns:
      ``(low, high)`` of the mean, float64, inside [low, high]; the whole range for count <
      2.

    Raises:
      InputError: if no values in [low, high] have such moments, or for bad arguments.

    References: Maurer & Pontil 2009, "Empirical Bernstein bounds and sample variance
      penalization", Theorem 4 and (variance) Theorem 10.
    """
    confidence = check_interval("confidence", confidence, 0.0, 1.0)
    low = check_interval("low", low, -math.inf, math.inf)
    high = check_interval("high", high, low, math.inf)
    moments = [np.asarray(x, dtype=object) for x in (count, total, total_of_squares)]
    try:
        shape = np.broadcast_shapes(*(x.shape for x in moments))
    except ValueError:
        raise InputError(
            "count, total and total_of_squares must have shapes that broadcast together"
        ) from None
    cells = zip(*(np.broadcast_to(x, shape).ravel() for x in moments), strict=True)
    both = [_mean_and_variance(c, s1, s2, low, high) for c, s1, s2 in cells]
    mean, variance = np.moveaxis(np.reshape(both, (*shape, 2)), -1, 0)
    n = np.broadcast_to(moments[0], shape).astype(np.float64)
    log_term = math.log(3.0 / (1.0 - confidence))
    m = np.maximum(n, 2.0)
    half = np.sqrt(2.0 * variance * log_term / m)
    half = half + 7.0 * (high - low) * log_term / (3.0 * (m - 1.0))
    below = np.where(n < 2, low, np.maximum(mean - half, low))
    above = np.where(n < 2, high, np.minimum(mean + half, high))
    return below[()], above[()]


def _binomial_tails(k: np.ndarray, n: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P[X <= k] and P[X >= k] for X ~ Bin(n, p), each to full relative accuracy."""
    below = scipy.special.betaincc(k + 1.0, np.maximum(n - k, 1.0), p)
    above = scipy.special.betainc(np.maximum(k, 1.0), n - np.maximum(k, 1.0) + 1.0 + (n == 0), p)
    return np.where(k == n, 1.0, below), np.where(k == 0, 1.0, above)


def binomial_p_value(
    successes: ArrayLike, trials: ArrayLike, probability: ArrayLike, alternative: str = "two-sided"
) -> np.ndarray:
    """Exact p-value of a binomial tally.

    Args:
      successes, trials: whole numbers; trials up to 1e12.
      probability: of success under the hypothesis, in [0, 1]. All three broadcast.
      alternative: "greater" gives P[X >= successes], "less" gives P[X <= successes],
        "two-sided" twice the smaller of them, at most 1 (valid, since each tail
        rejects with at most half of the level).

    Returns:
      float64 of the common shape.

    Raises:
      InputError: for impossible tallies, NaN, or a probability outside [0, 1].
    """
    check_choice("alternative", alternative, ("two-sided", "greater", "less"))
    k, n = _successes_and_trials(successes, trials)
    p = check_finite("probability", probability)
    if np.any((p < 0) | (p > 1)):
        raise InputError("probability is outside [0, 1]; it must be a probability")
    try:
        k, n, p = np.broadcast_arrays(k, n, p)
    except ValueError:
        raise InputError(
            f"probability of shape {p.shape} does not match tallies of shape {k.shape};"
            " they must broadcast together"
        ) from None
    below, above = _binomial_tails(k, n, p)
    if alternative == "less":
        return below[()]
    if alternative == "greater":
        return above[()]
    return np.minimum(1.0, 2.0 * np.minimum(below, above))[()]


def _merged(
    counts: np.ndarray, probabilities: np.ndarray, trials: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pools the rarest cells until each expects 5, rarest first, whatever the counts are."""
    order = np.argsort(probabilities, kind="stable")
    counts, probabilities = counts[order], probabilities[order]
    starts, expected = [0], 0.0
    for i, p in enumerate(probabilities):
        if expected >= _SMALLEST_EXPECTED:
            starts.append(i)
            expected = 0.0
        expected += trials * p
    if expected < _SMALLEST_EXPECTED and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(counts, starts), np.add.reduceat(probabilities, starts)


def _sequential_chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square p-value with exact tails, for cells in order of probability.

    Given the cells before it, each count is binomial. Its exact two-sided p-value is
    turned back into a chi-square of one degree of freedom; these are independent, and
    stochastically at most chi-square however few the counts, so their sum is too. For
    large counts it equals Pearson's statistic to first order.
    """
    rest_counts = np.cumsum(counts[::-1])[::-1]
    rest = np.cumsum(probabilities[::-1])[::-1]
    if counts.size < 2:
        return 1.0
    p = binomial_p_value(counts[:-1], rest_counts[:-1], (probabilities / rest)[:-1])
    statistic = scipy.special.chdtri(1, p).sum()
    return float(scipy.special.chdtrc(counts.size - 1, statistic))


def goodness_of_fit(counts: ArrayLike, probabilities: ArrayLike) -> float:
    """P-value for multinomial counts against given probabilities, valid at every size.

    Twice the smaller (at most 1) of two valid p-values: a chi-square over cells merged
    until each expects 5, which sees many small deviations, and the least exact
    two-sided binomial p-value of a cell times the number of cells (Bonferroni), which
    sees one large deviation, rare cells included. The chi-square is a sum of exact
    conditional binomial tests, not Pearson's approximation, whose false-alarm rate at
    level 1e-6 can be 70 times too high when a cell expects 5.

    Args:
      counts: whole numbers, one a cell.
      probabilities: of the cells, summing to 1 (within 1e-9).

    Returns:
      The p-value; 0 if a cell of probability 0 has been counted, 1 if nothing has.

    Raises:
      InputError: for bad tallies or probabilities, or lengths that differ.
    """
    law = check_probability_vector("probabilities", probabilities)
    tallies = check_tallies("counts", counts)
    if tallies.shape != law.shape:
        raise InputError(
            f"counts of shape {tallies.shape} and probabilities of shape {law.shape}"
            " differ; there must be one count a cell"
        )
    if np.any(tallies[law == 0] > 0):
        return 0.0
    tallies, law = tallies[law > 0], law[law > 0]
    law = np.minimum(law / law.sum(), 1.0)
    trials = tallies.sum()
    single = law.size * float(np.min(binomial_p_value(tallies, trials, law)))
    overall = _sequential_chi_square(*_merged(tallies, law, trials))
    return min(1.0, 2.0 * min(single, overall))
